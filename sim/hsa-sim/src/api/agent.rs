//! Agent properties.

use std::ffi::c_void;

use super::function::{each, field, functions, put};
use crate::abi::*;
use crate::agent::AgentId;
use crate::driver;
use crate::events;
use crate::memory::Pool;
use crate::queue;
use crate::result::Result;
use crate::runtime::{Runtime, runtime};

/// Called for each agent.
type AgentCallback = Option<unsafe extern "C" fn(hsa_agent_t, *mut c_void) -> hsa_status_t>;
/// Called for each cache.
type CacheCallback = Option<unsafe extern "C" fn(hsa_cache_t, *mut c_void) -> hsa_status_t>;

/// The base of cache handles. Agent and level follow.
const CACHE: u64 = 0x4753_4300_0000_0000;

/// The cache sizes of an agent in bytes, by level.
fn caches(runtime: &Runtime, agent: AgentId) -> [u32; 4] {
    if agent.is_cpu() { [32 << 10, 0, 0, 0] } else { [16 << 10, runtime.agents.chip.l2, 0, 0] }
}

/// A name of the host's processor.
fn cpu_name() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("model name"));
    line.and_then(|line| line.split_once(": ")).map_or_else(|| "CPU".to_owned(), |(_, name)| name.to_owned())
}

/// The attributes that CPU and GPU agents share.
unsafe fn common(runtime: &Runtime, agent: AgentId, attribute: u32, value: *mut c_void) -> Result<()> {
    // SAFETY: the caller vouches that `value` has room for the attribute.
    unsafe {
        match attribute {
            HSA_AGENT_INFO_MACHINE_MODEL => put(value, HSA_MACHINE_MODEL_LARGE),
            HSA_AGENT_INFO_DEFAULT_FLOAT_ROUNDING_MODE => put(value, HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR),
            HSA_AGENT_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
                put(value, 1_u32 << HSA_DEFAULT_FLOAT_ROUNDING_MODE_NEAR)
            }
            HSA_AGENT_INFO_NODE => put(value, u32::from(agent.0)),
            HSA_AGENT_INFO_CACHE_SIZE => put(value, caches(runtime, agent)),
            HSA_AGENT_INFO_EXTENSIONS => {
                let mut bits = [0_u8; 128];
                let mut set = |extension: u32| bits[extension as usize / 8] |= 1 << (extension % 8);
                set(HSA_EXTENSION_AMD_LOADER);
                // Every GPU of AMD supports it, and without it HIP has no row pitch. On a GPU without image support only the limits exist.
                if !agent.is_cpu() {
                    set(HSA_EXTENSION_IMAGES);
                }
                put(value, bits)
            }
            HSA_AGENT_INFO_VERSION_MAJOR => put(value, 1_u16),
            HSA_AGENT_INFO_VERSION_MINOR => put(value, 1_u16),
            HSA_AMD_AGENT_INFO_CACHELINE_SIZE => put(value, if agent.is_cpu() { 64_u32 } else { 128 }),
            HSA_AMD_AGENT_INFO_DRIVER_NODE_ID => put(value, u32::from(agent.0)),
            HSA_AMD_AGENT_INFO_DOMAIN => put(value, 0_u32),
            HSA_AMD_AGENT_INFO_MEMORY_AVAIL => put(value, runtime.memory.available(&runtime.agents, agent)),
            HSA_AMD_AGENT_INFO_TIMESTAMP_FREQUENCY => put(value, events::FREQUENCY),
            HSA_AMD_AGENT_INFO_NEAREST_CPU => put(value, AgentId::CPU.handle()),
            HSA_AMD_AGENT_INFO_MEMORY_PROPERTIES => put(value, [0_u8; 8]),
            HSA_AMD_AGENT_INFO_AQL_EXTENSIONS => put(value, [0_u8; 8]),
            HSA_AMD_AGENT_INFO_IOMMU_SUPPORT => put(value, HSA_IOMMU_SUPPORT_NONE),
            HSA_AMD_AGENT_INFO_DRIVER_UID => put(value, u32::from(agent.0)),
            HSA_AMD_AGENT_INFO_MAX_ADDRESS_WATCH_POINTS => put(value, 0_u32),
            HSA_AMD_AGENT_INFO_CLOCK_COUNTERS => {
                let now = events::now();
                put(
                    value,
                    hsa_amd_clock_counters_t {
                        gpu_clock_counter: now,
                        cpu_clock_counter: now,
                        system_clock_counter: now,
                        system_clock_frequency: events::FREQUENCY,
                    },
                )
            }
            HSA_EXT_AGENT_INFO_IMAGE_1D_MAX_ELEMENTS..=HSA_EXT_AGENT_INFO_IMAGE_ARRAY_MAX_LAYERS => {
                super::image::limit(attribute, value)
            }
            HSA_EXT_AGENT_INFO_MAX_IMAGE_RD_HANDLES => put(value, 128_u32),
            HSA_EXT_AGENT_INFO_MAX_IMAGE_RORW_HANDLES => put(value, 64_u32),
            HSA_EXT_AGENT_INFO_MAX_SAMPLER_HANDLERS => put(value, 16_u32),
            HSA_EXT_AGENT_INFO_IMAGE_LINEAR_ROW_PITCH_ALIGNMENT => put(value, 256_u32),
            _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }
}

unsafe fn cpu(runtime: &Runtime, attribute: u32, value: *mut c_void) -> Result<()> {
    // SAFETY: as for `common`.
    unsafe {
        match attribute {
            HSA_AGENT_INFO_NAME => put(value, field::<64>(&cpu_name())),
            HSA_AMD_AGENT_INFO_PRODUCT_NAME => put(value, field::<64>(&cpu_name())),
            HSA_AGENT_INFO_VENDOR_NAME => put(value, field::<64>("CPU")),
            HSA_AGENT_INFO_FEATURE => put(value, 0_u32),
            HSA_AGENT_INFO_PROFILE => put(value, HSA_PROFILE_FULL),
            HSA_AGENT_INFO_FAST_F16_OPERATION => put(value, false),
            HSA_AGENT_INFO_DEVICE => put(value, HSA_DEVICE_TYPE_CPU),
            HSA_AGENT_INFO_WORKGROUP_MAX_DIM => put(value, [0_u16; 3]),
            HSA_AGENT_INFO_GRID_MAX_DIM => put(value, hsa_dim3_t::default()),
            HSA_AGENT_INFO_ISA => put(value, hsa_isa_t::default()),
            HSA_AGENT_INFO_WAVEFRONT_SIZE
            | HSA_AGENT_INFO_WORKGROUP_MAX_SIZE
            | HSA_AGENT_INFO_GRID_MAX_SIZE
            | HSA_AGENT_INFO_FBARRIER_MAX_SIZE
            | HSA_AGENT_INFO_QUEUES_MAX
            | HSA_AGENT_INFO_QUEUE_MIN_SIZE
            | HSA_AGENT_INFO_QUEUE_MAX_SIZE
            | HSA_AGENT_INFO_QUEUE_TYPE
            | HSA_AMD_AGENT_INFO_CHIP_ID
            | HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY
            | HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY
            | HSA_AMD_AGENT_INFO_BDFID
            | HSA_AMD_AGENT_INFO_MEMORY_WIDTH
            | HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU
            | HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU
            | HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES
            | HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE
            | HSA_AMD_AGENT_INFO_ASIC_REVISION
            | HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID
            | HSA_AMD_AGENT_INFO_UCODE_VERSION
            | HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION
            | HSA_AMD_AGENT_INFO_NUM_SDMA_ENG
            | HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG
            | HSA_AMD_AGENT_INFO_NUM_XCC => put(value, 0_u32),
            HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT => {
                put(value, std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
            }
            HSA_AMD_AGENT_INFO_UUID => put(value, field::<21>("CPU-XX")),
            HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES | HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS => put(value, false),
            _ => common(runtime, AgentId::CPU, attribute, value),
        }
    }
}

unsafe fn gpu(runtime: &Runtime, agent: AgentId, attribute: u32, value: *mut c_void) -> Result<()> {
    let config = runtime.agents.gpu(agent)?.config();
    let chip = &runtime.agents.chip;
    // SAFETY: as for `common`.
    unsafe {
        match attribute {
            HSA_AGENT_INFO_NAME => put(value, field::<64>(config.arch.name())),
            HSA_AMD_AGENT_INFO_PRODUCT_NAME => put(value, field::<64>(chip.product)),
            HSA_AGENT_INFO_VENDOR_NAME => put(value, field::<64>("AMD")),
            HSA_AGENT_INFO_FEATURE => put(value, HSA_AGENT_FEATURE_KERNEL_DISPATCH),
            HSA_AGENT_INFO_PROFILE => put(value, HSA_PROFILE_BASE),
            HSA_AGENT_INFO_FAST_F16_OPERATION => put(value, true),
            HSA_AGENT_INFO_WAVEFRONT_SIZE => put(value, 64_u32),
            HSA_AGENT_INFO_WORKGROUP_MAX_DIM => put(value, [1024_u16; 3]),
            HSA_AGENT_INFO_WORKGROUP_MAX_SIZE => put(value, amdgpu_sim::MAX_WORKGROUP_SIZE),
            HSA_AGENT_INFO_GRID_MAX_DIM => put(value, hsa_dim3_t { x: u32::MAX, y: u32::MAX, z: u32::MAX }),
            HSA_AGENT_INFO_GRID_MAX_SIZE => put(value, u32::MAX),
            HSA_AGENT_INFO_FBARRIER_MAX_SIZE => put(value, 32_u32),
            HSA_AGENT_INFO_QUEUES_MAX => put(value, queue::MAX_QUEUES),
            HSA_AGENT_INFO_QUEUE_MIN_SIZE => put(value, queue::MIN_SIZE),
            HSA_AGENT_INFO_QUEUE_MAX_SIZE => put(value, queue::MAX_SIZE),
            HSA_AGENT_INFO_QUEUE_TYPE => put(value, HSA_QUEUE_TYPE_MULTI),
            HSA_AGENT_INFO_DEVICE => put(value, HSA_DEVICE_TYPE_GPU),
            HSA_AGENT_INFO_ISA => put(value, agent.isa()),
            HSA_AMD_AGENT_INFO_CHIP_ID => put(value, chip.chip_id),
            HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT | HSA_AMD_AGENT_INFO_COOPERATIVE_COMPUTE_UNIT_COUNT => {
                put(value, chip.compute_units)
            }
            HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY => put(value, chip.clock),
            HSA_AMD_AGENT_INFO_BDFID => put(value, driver::location(agent)),
            HSA_AMD_AGENT_INFO_DOMAIN => put(value, driver::PCI_DOMAIN),
            HSA_AMD_AGENT_INFO_MEMORY_WIDTH => put(value, chip.memory_width),
            HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY => put(value, chip.memory_clock),
            HSA_AMD_AGENT_INFO_MAX_WAVES_PER_CU => put(value, 32_u32),
            HSA_AMD_AGENT_INFO_NUM_SIMDS_PER_CU => put(value, 4_u32),
            HSA_AMD_AGENT_INFO_NUM_SHADER_ENGINES => put(value, chip.shader_engines),
            HSA_AMD_AGENT_INFO_NUM_SHADER_ARRAYS_PER_SE => put(value, 1_u32),
            HSA_AMD_AGENT_INFO_HDP_FLUSH => {
                let none = std::ptr::null_mut();
                put(value, hsa_amd_hdp_flush_t { HDP_MEM_FLUSH_CNTL: none, HDP_REG_FLUSH_CNTL: none })
            }
            HSA_AMD_AGENT_INFO_COOPERATIVE_QUEUES => put(value, true),
            HSA_AMD_AGENT_INFO_UUID => put(value, field::<21>(&format!("GPU-{:016x}", driver::unique_id(agent)))),
            HSA_AMD_AGENT_INFO_ASIC_REVISION => put(value, chip.asic_revision),
            HSA_AMD_AGENT_INFO_SVM_DIRECT_HOST_ACCESS => put(value, false),
            HSA_AMD_AGENT_INFO_ASIC_FAMILY_ID => put(value, chip.family),
            HSA_AMD_AGENT_INFO_UCODE_VERSION | HSA_AMD_AGENT_INFO_SDMA_UCODE_VERSION => put(value, 1_u32),
            HSA_AMD_AGENT_INFO_NUM_SDMA_ENG => put(value, 2_u32),
            HSA_AMD_AGENT_INFO_NUM_SDMA_XGMI_ENG => put(value, 0_u32),
            HSA_AMD_AGENT_INFO_NUM_XCC => put(value, chip.xccs),
            HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_MAX | HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT => put(value, 4_u64 << 30),
            _ => common(runtime, agent, attribute, value),
        }
    }
}

functions! {
    /// Calls a function for each agent.
    fn hsa_iterate_agents(callback: AgentCallback, data: *mut c_void) {
        let runtime = runtime()?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(runtime.agents.ids(), |agent| unsafe { callback(agent.handle(), data) })
    }

    /// Returns an attribute of an agent.
    fn hsa_agent_get_info(agent: hsa_agent_t, attribute: u32, value: *mut c_void) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        // SAFETY: the caller vouches for `value`.
        unsafe {
            if agent.is_cpu() { cpu(runtime, attribute, value) } else { gpu(runtime, agent, attribute, value) }
        }
    }

    /// Returns the floating-point exceptions that an agent can detect: none.
    fn hsa_agent_get_exception_policies(agent: hsa_agent_t, profile: u32, mask: *mut u16) {
        runtime()?.agents.get(agent)?;
        if profile > HSA_PROFILE_FULL {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(mask, 0_u16) }
    }

    /// Calls a function for each cache of an agent.
    fn hsa_agent_iterate_caches(agent: hsa_agent_t, callback: CacheCallback, data: *mut c_void) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let sizes = caches(runtime, agent);
        let levels = (0..4_u64).filter(|level| sizes[*level as usize] > 0);
        each(levels, |level| {
            let cache = hsa_cache_t { handle: CACHE | u64::from(agent.0) << 8 | level };
            // SAFETY: the caller vouches for the function.
            unsafe { callback(cache, data) }
        })
    }

    /// Returns an attribute of a cache.
    fn hsa_cache_get_info(cache: hsa_cache_t, attribute: u32, value: *mut c_void) {
        let runtime = runtime()?;
        let bits = cache.handle ^ CACHE;
        let agent = runtime.agents.ids().find(|agent| u64::from(agent.0) == bits >> 8);
        let agent = agent.ok_or(HSA_STATUS_ERROR_INVALID_CACHE)?;
        let level = (bits & 0xff) as usize;
        let size = caches(runtime, agent).get(level).copied().filter(|size| *size > 0);
        let size = size.ok_or(HSA_STATUS_ERROR_INVALID_CACHE)?;
        let name = format!("L{}", level + 1);
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_CACHE_INFO_NAME_LENGTH => put(value, name.len() as u32),
                HSA_CACHE_INFO_NAME => super::function::put_bytes(value, format!("{name}\0").as_bytes()),
                HSA_CACHE_INFO_LEVEL => put(value, (level + 1) as u8),
                HSA_CACHE_INFO_SIZE => put(value, size),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// Limits the scratch memory that an agent keeps. No scratch is kept, so any limit is accepted.
    fn hsa_amd_agent_set_async_scratch_limit(agent: hsa_agent_t, _threshold: usize) {
        let runtime = runtime()?;
        runtime.agents.gpu(runtime.agents.get(agent)?).map(drop)
    }

    /// Returns the coherency mode of host and GPU memory, which is always coherent.
    fn hsa_amd_coherency_get_type(agent: hsa_agent_t, kind: *mut u32) {
        let runtime = runtime()?;
        runtime.agents.gpu(runtime.agents.get(agent)?)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(kind, HSA_AMD_COHERENCY_TYPE_COHERENT) }
    }

    /// Sets the coherency mode of host and GPU memory, which is always coherent.
    fn hsa_amd_coherency_set_type(agent: hsa_agent_t, kind: u32) {
        let runtime = runtime()?;
        runtime.agents.gpu(runtime.agents.get(agent)?)?;
        if kind <= HSA_AMD_COHERENCY_TYPE_NONCOHERENT { Ok(()) } else { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) }
    }

    /// Returns an agent's access to a pool. All agents share one address space.
    fn hsa_amd_agent_memory_pool_get_info(
        agent: hsa_agent_t,
        pool: hsa_amd_memory_pool_t,
        attribute: u32,
        value: *mut c_void,
    ) {
        let runtime = runtime()?;
        let agent = runtime.agents.get(agent)?;
        let pool = Pool::get(&runtime.agents, pool)?;
        let own = agent == pool.agent;
        let access = match (own || pool.agent.is_cpu(), pool.allocates()) {
            (_, false) if !own => HSA_AMD_MEMORY_POOL_ACCESS_NEVER_ALLOWED,
            (true, _) => HSA_AMD_MEMORY_POOL_ACCESS_ALLOWED_BY_DEFAULT,
            (false, _) => HSA_AMD_MEMORY_POOL_ACCESS_DISALLOWED_BY_DEFAULT,
        };
        let between_gpus = !agent.is_cpu() && !pool.agent.is_cpu();
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_AMD_AGENT_MEMORY_POOL_INFO_ACCESS => put(value, access),
                HSA_AMD_AGENT_MEMORY_POOL_INFO_NUM_LINK_HOPS => put(value, u32::from(!own)),
                HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO if own => Ok(()),
                HSA_AMD_AGENT_MEMORY_POOL_INFO_LINK_INFO => put(
                    value,
                    hsa_amd_memory_pool_link_info_t {
                        atomic_support_32bit: true,
                        atomic_support_64bit: true,
                        coherent_support: true,
                        link_type: if between_gpus { HSA_AMD_LINK_INFO_TYPE_XGMI } else { HSA_AMD_LINK_INFO_TYPE_PCIE },
                        numa_distance: if between_gpus { 15 } else { 20 },
                        ..Default::default()
                    },
                ),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }
}
