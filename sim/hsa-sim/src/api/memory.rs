//! Memory: pools, pointers, locked host memory, copies.

use std::ffi::{c_int, c_void};

use super::function::{agents, all_agents, each, functions, list, put};
use crate::abi::*;
use crate::agent::AgentSet;
use crate::memory::{Copy, Deallocated, GRANULE, Pool, PoolKind, Rect, copy_bytes, fill_words, pointer};
use crate::result::Result;
use crate::runtime::{Runtime, runtime};
use crate::signal::Signal;

/// Called for each pool.
type PoolCallback = Option<unsafe extern "C" fn(hsa_amd_memory_pool_t, *mut c_void) -> hsa_status_t>;
/// Called for each region.
type RegionCallback = Option<unsafe extern "C" fn(hsa_region_t, *mut c_void) -> hsa_status_t>;
/// Allocates memory for a list.
type Alloc = Option<unsafe extern "C" fn(usize) -> *mut c_void>;

/// The known allocation flags. None has an effect here.
const FLAGS: u32 = HSA_AMD_MEMORY_POOL_PCIE_FLAG
    | HSA_AMD_MEMORY_POOL_CONTIGUOUS_FLAG
    | HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG
    | HSA_AMD_MEMORY_POOL_UNCACHED_FLAG;

/// The pool behind a region: regions are the older name of pools.
fn region(runtime: &Runtime, region: hsa_region_t) -> Result<Pool> {
    let pool = Pool::get(&runtime.agents, hsa_amd_memory_pool_t { handle: region.handle });
    pool.map_err(|_| HSA_STATUS_ERROR_INVALID_REGION)
}

/// The signals that a copy waits for.
unsafe fn signals(runtime: &'static Runtime, count: u32, first: *const hsa_signal_t) -> Result<Vec<Signal>> {
    // SAFETY: the caller vouches for the list.
    let handles = unsafe { list(first, count as usize) }?;
    handles.into_iter().map(|handle| runtime.signal(handle)).collect()
}

#[allow(clippy::too_many_arguments)]
unsafe fn copy(
    to: *mut c_void,
    to_agent: hsa_agent_t,
    from: *const c_void,
    from_agent: hsa_agent_t,
    len: usize,
    count: u32,
    after: *const hsa_signal_t,
    done: hsa_signal_t,
) -> Result<()> {
    let runtime = runtime()?;
    for agent in [to_agent, from_agent] {
        runtime.agents.alive(runtime.agents.get(agent)?)?;
    }
    if to.is_null() || from.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller vouches for the list.
    let after = unsafe { signals(runtime, count, after) }?;
    let done = runtime.signal(done)?;
    Copy::Linear { to: to as u64, from: from as u64, len: len as u64 }.start(runtime, after, Some(done))
}

unsafe fn lock(
    address: *mut c_void,
    size: usize,
    gpus: *const hsa_agent_t,
    count: c_int,
    result: *mut *mut c_void,
) -> Result<()> {
    let runtime = runtime()?;
    let count = usize::try_from(count).map_err(|_| HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
    if address.is_null() || size == 0 || result.is_null() || (count == 0) != gpus.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller vouches for the list.
    let access = if count == 0 { all_agents(runtime) } else { unsafe { agents(runtime, gpus, count) }? };
    // SAFETY: the caller vouches that the memory exists until it is unlocked, as HSA requires.
    unsafe { runtime.memory.lock(&runtime.agents, address as u64, size as u64, access) }?;
    // SAFETY: the caller vouches for it.
    unsafe { put(result, address) }
}

functions! {
    /// Calls a function for each pool of an agent.
    fn hsa_amd_agent_iterate_memory_pools(agent: hsa_agent_t, callback: PoolCallback, data: *mut c_void) {
        let agent = runtime()?.agents.get(agent)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(Pool::of(agent), |pool| unsafe { callback(pool.handle(), data) })
    }

    /// Returns an attribute of a pool.
    fn hsa_amd_memory_pool_get_info(pool: hsa_amd_memory_pool_t, attribute: u32, value: *mut c_void) {
        let runtime = runtime()?;
        let pool = Pool::get(&runtime.agents, pool)?;
        let size = pool.size(&runtime.agents);
        let granule = if pool.allocates() { GRANULE } else { 0 };
        let segment = if pool.kind == PoolKind::Group { HSA_AMD_SEGMENT_GROUP } else { HSA_AMD_SEGMENT_GLOBAL };
        let location = match pool.agent.is_cpu() {
            true => HSA_AMD_MEMORY_POOL_LOCATION_CPU,
            false => HSA_AMD_MEMORY_POOL_LOCATION_GPU,
        };
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_AMD_MEMORY_POOL_INFO_SEGMENT => put(value, segment),
                HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS => put(value, pool.kind.flags()),
                HSA_AMD_MEMORY_POOL_INFO_SIZE => put(value, size),
                HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED => put(value, pool.allocates()),
                HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE
                | HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALIGNMENT
                | HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE => put(value, granule),
                HSA_AMD_MEMORY_POOL_INFO_ACCESSIBLE_BY_ALL => put(value, pool.agent.is_cpu()),
                HSA_AMD_MEMORY_POOL_INFO_ALLOC_MAX_SIZE => put(value, if pool.allocates() { size } else { 0 }),
                HSA_AMD_MEMORY_POOL_INFO_LOCATION => put(value, location),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// Allocates from a pool.
    fn hsa_amd_memory_pool_allocate(pool: hsa_amd_memory_pool_t, size: usize, flags: u32, result: *mut *mut c_void) {
        let runtime = runtime()?;
        let pool = Pool::get(&runtime.agents, pool)?;
        if result.is_null() || flags & !FLAGS != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let address = runtime.memory.allocate(&runtime.agents, pool, size as u64)?;
        // The host fills it: HIP 7.2 keeps kernel arguments and its fill patterns in such memory of a gfx942.
        if flags & HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG != 0 {
            runtime.agents.space().shared_with_host(address);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(result, pointer(address)) }
    }

    /// Frees memory of a pool.
    fn hsa_amd_memory_pool_free(address: *mut c_void) {
        let runtime = runtime()?;
        if address.is_null() {
            return Ok(());
        }
        crate::leaving::take_down();
        runtime.memory.free(&runtime.agents, address as u64)
    }

    /// Gives agents access to an allocation, and revokes that of all others.
    fn hsa_amd_agents_allow_access(
        count: u32,
        first: *const hsa_agent_t,
        flags: *const u32,
        address: *const c_void,
    ) {
        let runtime = runtime()?;
        if count == 0 || !flags.is_null() || address.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for the list.
        let access = unsafe { agents(runtime, first, count as usize) }?;
        runtime.memory.allow(&runtime.agents, address as u64, access)
    }

    /// Returns whether memory can migrate between pools: never.
    fn hsa_amd_memory_pool_can_migrate(from: hsa_amd_memory_pool_t, to: hsa_amd_memory_pool_t, result: *mut bool) {
        let runtime = runtime()?;
        Pool::get(&runtime.agents, from)?;
        Pool::get(&runtime.agents, to)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, false) }
    }

    /// Makes memory of the program accessible to agents (all, if the list is empty), at the same address.
    fn hsa_amd_memory_lock(
        address: *mut c_void,
        size: usize,
        gpus: *mut hsa_agent_t,
        count: c_int,
        result: *mut *mut c_void,
    ) {
        // SAFETY: the caller vouches for all of it.
        unsafe { lock(address, size, gpus, count, result) }
    }

    /// The same, with the flags of a host pool.
    fn hsa_amd_memory_lock_to_pool(
        address: *mut c_void,
        size: usize,
        gpus: *mut hsa_agent_t,
        count: c_int,
        pool: hsa_amd_memory_pool_t,
        flags: u32,
        result: *mut *mut c_void,
    ) {
        let pool = Pool::get(&runtime()?.agents, pool)?;
        if !pool.agent.is_cpu() {
            return Err(HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
        }
        if flags & !FLAGS != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for all of it.
        unsafe { lock(address, size, gpus, count, result) }
    }

    /// Undoes a lock.
    fn hsa_amd_memory_unlock(address: *mut c_void) {
        let runtime = runtime()?;
        runtime.memory.unlock(&runtime.agents, address as u64)
    }

    /// Fills words, synchronously.
    fn hsa_amd_memory_fill(address: *mut c_void, value: u32, count: usize) {
        let runtime = runtime()?;
        if address.is_null() || address as usize % 4 != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        fill_words(runtime.agents.space(), address as u64, value, count as u64)
    }

    /// Copies synchronously. Host memory may be any memory of the program.
    fn hsa_memory_copy(to: *mut c_void, from: *const c_void, len: usize) {
        let runtime = runtime()?;
        if len == 0 {
            return Ok(());
        }
        if to.is_null() || from.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        copy_bytes(runtime.agents.space(), to as u64, from as u64, len as u64)
    }

    /// Copies when all signals are 0, then decrements the completion signal.
    fn hsa_amd_memory_async_copy(
        to: *mut c_void,
        to_agent: hsa_agent_t,
        from: *const c_void,
        from_agent: hsa_agent_t,
        len: usize,
        count: u32,
        after: *const hsa_signal_t,
        done: hsa_signal_t,
    ) {
        // SAFETY: the caller vouches for the list.
        unsafe { copy(to, to_agent, from, from_agent, len, count, after, done) }
    }

    /// The same, on an engine that the program selects. All engines are equal.
    fn hsa_amd_memory_async_copy_on_engine(
        to: *mut c_void,
        to_agent: hsa_agent_t,
        from: *const c_void,
        from_agent: hsa_agent_t,
        len: usize,
        count: u32,
        after: *const hsa_signal_t,
        done: hsa_signal_t,
        _engine: u32,
        _force: bool,
    ) {
        // SAFETY: the caller vouches for the list.
        unsafe { copy(to, to_agent, from, from_agent, len, count, after, done) }
    }

    /// Copies a block of rows when all signals are 0, then decrements the completion signal.
    fn hsa_amd_memory_async_copy_rect(
        to: *const hsa_pitched_ptr_t,
        to_offset: *const hsa_dim3_t,
        from: *const hsa_pitched_ptr_t,
        from_offset: *const hsa_dim3_t,
        range: *const hsa_dim3_t,
        agent: hsa_agent_t,
        direction: u32,
        count: u32,
        after: *const hsa_signal_t,
        done: hsa_signal_t,
    ) {
        let runtime = runtime()?;
        runtime.agents.alive(runtime.agents.get(agent)?)?;
        if to.is_null() || to_offset.is_null() || from.is_null() || from_offset.is_null() || range.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        if direction > 3 {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the caller vouches for them.
        let (to, from) = unsafe { (to.read_unaligned(), from.read_unaligned()) };
        // SAFETY: as above.
        let (to_offset, from_offset, range) =
            unsafe { (to_offset.read_unaligned(), from_offset.read_unaligned(), range.read_unaligned()) };
        let rect = |pointer: &hsa_pitched_ptr_t, offset: &hsa_dim3_t| {
            let (pitch, slice) = (pointer.pitch as u64, pointer.slice as u64);
            let skipped = u64::from(offset.y).checked_mul(pitch)?.checked_add(u64::from(offset.z).checked_mul(slice)?)?;
            let base = (pointer.base as u64).checked_add(skipped)?.checked_add(u64::from(offset.x))?;
            Some(Rect { base, pitch, slice })
        };
        let invalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
        let (to, from) = (rect(&to, &to_offset).ok_or(invalid)?, rect(&from, &from_offset).ok_or(invalid)?);
        // SAFETY: the caller vouches for the list.
        let after = unsafe { signals(runtime, count, after) }?;
        let done = runtime.signal(done)?;
        let range = [range.x, range.y, range.z].map(u64::from);
        Copy::Rect { to, from, range }.start(runtime, after, Some(done))
    }

    /// Returns the engines that are free for copies between two agents: both.
    fn hsa_amd_memory_copy_engine_status(to: hsa_agent_t, from: hsa_agent_t, mask: *mut u32) {
        let runtime = runtime()?;
        let (to, from) = (runtime.agents.get(to)?, runtime.agents.get(from)?);
        if to.is_cpu() && from.is_cpu() {
            return Err(HSA_STATUS_ERROR_INVALID_AGENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(mask, 3_u32) }
    }

    /// Returns the preferred engines for copies between two agents: any.
    fn hsa_amd_memory_get_preferred_copy_engine(to: hsa_agent_t, from: hsa_agent_t, mask: *mut u32) {
        let runtime = runtime()?;
        let (to, from) = (runtime.agents.get(to)?, runtime.agents.get(from)?);
        if to.is_cpu() && from.is_cpu() {
            return Err(HSA_STATUS_ERROR_INVALID_AGENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(mask, 3_u32) }
    }

    /// Returns information about the memory at an address.
    fn hsa_amd_pointer_info(
        address: *const c_void,
        info: *mut hsa_amd_pointer_info_t,
        alloc: Alloc,
        count: *mut u32,
        accessible: *mut *mut hsa_agent_t,
    ) {
        let runtime = runtime()?;
        if address.is_null() || info.is_null() || (alloc.is_some() && (count.is_null() || accessible.is_null())) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: not null, so the caller vouches for it; its first field is the size of the program's own struct.
        let size = unsafe { info.cast::<u32>().read_unaligned() } as usize;
        if size < size_of::<u32>() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let record = runtime.memory.find(address as u64);
        let none = std::ptr::null_mut();
        let mut out = hsa_amd_pointer_info_t {
            size: size.min(size_of::<hsa_amd_pointer_info_t>()) as u32,
            r#type: HSA_EXT_POINTER_TYPE_UNKNOWN,
            agentBaseAddress: none,
            hostBaseAddress: none,
            sizeInBytes: 0,
            userData: none,
            agentOwner: hsa_agent_t::default(),
            global_flags: 0,
            registered: false,
        };
        if let Some(record) = &record {
            out.r#type = record.kind;
            out.agentBaseAddress = pointer(record.base);
            // The host can access GPU memory too.
            out.hostBaseAddress = pointer(record.base);
            out.sizeInBytes = record.size as usize;
            out.userData = pointer(record.user_data);
            out.agentOwner = record.pool.agent.handle();
            out.global_flags = record.pool.kind.flags();
            out.registered = record.kind == HSA_EXT_POINTER_TYPE_LOCKED;
        }
        // SAFETY: the bytes that the program's struct and ours have in common; the caller vouches for them.
        unsafe { std::ptr::copy_nonoverlapping((&raw const out).cast::<u8>(), info.cast::<u8>(), out.size as usize) };
        if let Some(alloc) = alloc {
            let access: Vec<_> = record.map_or(AgentSet::default(), |record| record.access).iter().collect();
            let bytes = access.len() * size_of::<hsa_agent_t>();
            // SAFETY: the caller vouches for the function.
            let place = unsafe { alloc(bytes.max(size_of::<hsa_agent_t>())) }.cast::<hsa_agent_t>();
            if place.is_null() {
                return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
            }
            for (n, agent) in access.iter().enumerate() {
                // SAFETY: the program allocated room for that many.
                unsafe { place.add(n).write_unaligned(agent.handle()) };
            }
            // SAFETY: neither is null, so the caller vouches for them.
            unsafe {
                put(count, access.len() as u32)?;
                put(accessible, place)?;
            }
        }
        Ok(())
    }

    /// Sets the user data of an allocation.
    fn hsa_amd_pointer_info_set_userdata(address: *const c_void, data: *mut c_void) {
        let data = data as u64;
        runtime()?.memory.change(address as u64, |record| record.user_data = data)
    }

    /// Registers a callback for the deallocation of memory.
    fn hsa_amd_register_deallocation_callback(
        address: *mut c_void,
        callback: hsa_amd_deallocation_callback_t,
        data: *mut c_void,
    ) {
        let runtime = runtime()?;
        let callback: Deallocated = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        if address.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.add_callback(address as u64, callback, data as u64)
    }

    /// Removes a deallocation callback.
    fn hsa_amd_deregister_deallocation_callback(address: *mut c_void, callback: hsa_amd_deallocation_callback_t) {
        let runtime = runtime()?;
        let callback: Deallocated = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        if address.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        runtime.memory.remove_callback(address as u64, callback)
    }

    /// Announces that GPUs will use host memory. No effect: locking makes it accessible.
    fn hsa_memory_register(address: *mut c_void, size: usize) {
        runtime()?;
        if address.is_null() != (size == 0) { Err(HSA_STATUS_ERROR_INVALID_ARGUMENT) } else { Ok(()) }
    }

    /// Undoes `hsa_memory_register`.
    fn hsa_memory_deregister(_address: *mut c_void, _size: usize) {
        runtime().map(drop)
    }

    /// Assigns an allocation to an agent. No effect: all agents see the same memory.
    fn hsa_memory_assign_agent(address: *mut c_void, agent: hsa_agent_t, access: u32) {
        let runtime = runtime()?;
        runtime.agents.get(agent)?;
        if address.is_null() || !(HSA_ACCESS_PERMISSION_RO..=HSA_ACCESS_PERMISSION_RW).contains(&access) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        Ok(())
    }

    /// Calls a function for each region of an agent.
    fn hsa_agent_iterate_regions(agent: hsa_agent_t, callback: RegionCallback, data: *mut c_void) {
        let agent = runtime()?.agents.get(agent)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each(Pool::of(agent), |pool| unsafe { callback(hsa_region_t { handle: pool.handle().handle }, data) })
    }

    /// Returns an attribute of a region.
    fn hsa_region_get_info(handle: hsa_region_t, attribute: u32, value: *mut c_void) {
        let runtime = runtime()?;
        let pool = region(runtime, handle)?;
        let size = pool.size(&runtime.agents);
        let granule = if pool.allocates() { GRANULE } else { 0 };
        let segment = if pool.kind == PoolKind::Group { HSA_REGION_SEGMENT_GROUP } else { HSA_REGION_SEGMENT_GLOBAL };
        // SAFETY: the caller vouches for `value`.
        unsafe {
            match attribute {
                HSA_REGION_INFO_SEGMENT => put(value, segment),
                HSA_REGION_INFO_GLOBAL_FLAGS => put(value, pool.kind.flags()),
                HSA_REGION_INFO_SIZE => put(value, size),
                HSA_REGION_INFO_ALLOC_MAX_SIZE => put(value, if pool.allocates() { size } else { 0 }),
                HSA_REGION_INFO_ALLOC_MAX_PRIVATE_WORKGROUP_SIZE => put(value, amdgpu_sim::MAX_SCRATCH),
                HSA_REGION_INFO_RUNTIME_ALLOC_ALLOWED => put(value, pool.allocates()),
                HSA_REGION_INFO_RUNTIME_ALLOC_GRANULE | HSA_REGION_INFO_RUNTIME_ALLOC_ALIGNMENT => put(value, granule),
                _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
            }
        }
    }

    /// Allocates from a region.
    fn hsa_memory_allocate(handle: hsa_region_t, size: usize, result: *mut *mut c_void) {
        let runtime = runtime()?;
        let pool = region(runtime, handle)?;
        if result.is_null() {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        let address = runtime.memory.allocate(&runtime.agents, pool, size as u64)?;
        runtime.memory.allow(&runtime.agents, address, all_agents(runtime))?;
        // SAFETY: the caller vouches for it.
        unsafe { put(result, pointer(address)) }
    }

    /// Frees memory of a region.
    fn hsa_memory_free(address: *mut c_void) {
        let runtime = runtime()?;
        if address.is_null() {
            return Ok(());
        }
        runtime.memory.free(&runtime.agents, address as u64)
    }
}
