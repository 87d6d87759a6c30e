//! Instruction set architectures.

use std::ffi::{c_char, c_void};

use super::function::{each, functions, name, put, put_bytes};
use crate::abi::*;
use crate::runtime::runtime;

/// Called for each ISA.
type IsaCallback = Option<unsafe extern "C" fn(hsa_isa_t, *mut c_void) -> hsa_status_t>;
/// Called for each kind of wavefront.
type WavefrontCallback = Option<unsafe extern "C" fn(hsa_wavefront_t, *mut c_void) -> hsa_status_t>;

/// The only kind of wavefront: 64 lanes.
const WAVEFRONT: hsa_wavefront_t = hsa_wavefront_t { handle: 0x4753_5700_0000_0040 };

unsafe fn info(isa: hsa_isa_t, attribute: u32, value: *mut c_void) -> crate::result::Result<()> {
    let runtime = runtime()?;
    runtime.agents.of_isa(isa)?;
    let name = runtime.agents.isa_name();
    // SAFETY: the caller vouches for `value`.
    unsafe {
        match attribute {
            // Includes the terminating zero.
            HSA_ISA_INFO_NAME_LENGTH => put(value, name.len() as u32 + 1),
            HSA_ISA_INFO_NAME => put_bytes(value, format!("{name}\0").as_bytes()),
            HSA_ISA_INFO_CALL_CONVENTION_COUNT => put(value, 1_u32),
            HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONT_SIZE => put(value, 64_u32),
            HSA_ISA_INFO_CALL_CONVENTION_INFO_WAVEFRONTS_PER_COMPUTE_UNIT => put(value, 32_u32),
            HSA_ISA_INFO_MACHINE_MODELS => put(value, [false, true]),
            HSA_ISA_INFO_PROFILES => put(value, [true, false]),
            HSA_ISA_INFO_DEFAULT_FLOAT_ROUNDING_MODES | HSA_ISA_INFO_BASE_PROFILE_DEFAULT_FLOAT_ROUNDING_MODES => {
                put(value, [false, false, true])
            }
            HSA_ISA_INFO_FAST_F16_OPERATION => put(value, true),
            HSA_ISA_INFO_WORKGROUP_MAX_DIM => put(value, [1024_u16; 3]),
            HSA_ISA_INFO_WORKGROUP_MAX_SIZE => put(value, amdgpu_sim::MAX_WORKGROUP_SIZE),
            HSA_ISA_INFO_GRID_MAX_DIM => put(value, hsa_dim3_t { x: u32::MAX, y: u32::MAX, z: u32::MAX }),
            HSA_ISA_INFO_GRID_MAX_SIZE => put(value, u64::MAX),
            HSA_ISA_INFO_FBARRIER_MAX_SIZE => put(value, 32_u32),
            _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }
}

functions! {
    /// Finds an ISA by name.
    fn hsa_isa_from_name(text: *const c_char, isa: *mut hsa_isa_t) {
        let runtime = runtime()?;
        // SAFETY: the caller vouches for it.
        let text = unsafe { name(text) }?;
        let wanted = runtime.agents.gpu_ids().next().filter(|_| {
            // A name without features matches any features.
            let own = runtime.agents.isa_name();
            text == own || own.split(':').next() == Some(&text)
        });
        let gpu = wanted.ok_or(HSA_STATUS_ERROR_INVALID_ISA_NAME)?;
        // SAFETY: the caller vouches for it.
        unsafe { put(isa, gpu.isa()) }
    }

    /// Calls a function for each ISA of an agent.
    fn hsa_agent_iterate_isas(agent: hsa_agent_t, callback: IsaCallback, data: *mut c_void) {
        let agent = runtime()?.agents.get(agent)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        let isas = (!agent.is_cpu()).then(|| agent.isa());
        // SAFETY: the caller vouches for the function.
        each(isas, |isa| unsafe { callback(isa, data) })
    }

    /// Returns an attribute of an ISA.
    fn hsa_isa_get_info_alt(isa: hsa_isa_t, attribute: u32, value: *mut c_void) {
        // SAFETY: the caller vouches for `value`.
        unsafe { info(isa, attribute, value) }
    }

    /// Returns an attribute of an ISA; `index` selects a call convention, if it depends on that.
    fn hsa_isa_get_info(isa: hsa_isa_t, attribute: u32, index: u32, value: *mut c_void) {
        runtime()?.agents.of_isa(isa)?;
        if index != 0 {
            return Err(HSA_STATUS_ERROR_INVALID_INDEX);
        }
        // SAFETY: the caller vouches for `value`.
        unsafe { info(isa, attribute, value) }
    }

    /// Returns the floating-point exceptions that code of an ISA can detect: none.
    fn hsa_isa_get_exception_policies(isa: hsa_isa_t, profile: u32, mask: *mut u16) {
        runtime()?.agents.of_isa(isa)?;
        if profile > HSA_PROFILE_FULL {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(mask, 0_u16) }
    }

    /// Returns the rounding method of a multiply-add.
    fn hsa_isa_get_round_method(isa: hsa_isa_t, fp: u32, flush: u32, method: *mut u32) {
        runtime()?.agents.of_isa(isa)?;
        let known = [HSA_FP_TYPE_16, HSA_FP_TYPE_32, HSA_FP_TYPE_64].contains(&fp);
        if !known || ![HSA_FLUSH_MODE_FTZ, HSA_FLUSH_MODE_NON_FTZ].contains(&flush) {
            return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the caller vouches for it.
        unsafe { put(method, HSA_ROUND_METHOD_SINGLE) }
    }

    /// Returns an attribute of a kind of wavefront.
    fn hsa_wavefront_get_info(wavefront: hsa_wavefront_t, attribute: u32, value: *mut c_void) {
        runtime()?;
        if wavefront != WAVEFRONT {
            return Err(HSA_STATUS_ERROR_INVALID_WAVEFRONT);
        }
        match attribute {
            // SAFETY: the caller vouches for it.
            HSA_WAVEFRONT_INFO_SIZE => unsafe { put(value, 64_u32) },
            _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
        }
    }

    /// Calls a function for each kind of wavefront of an ISA.
    fn hsa_isa_iterate_wavefronts(isa: hsa_isa_t, callback: WavefrontCallback, data: *mut c_void) {
        runtime()?.agents.of_isa(isa)?;
        let callback = callback.ok_or(HSA_STATUS_ERROR_INVALID_ARGUMENT)?;
        // SAFETY: the caller vouches for the function.
        each([WAVEFRONT], |wavefront| unsafe { callback(wavefront, data) })
    }

    /// Returns whether code of one ISA runs on an agent with another.
    fn hsa_isa_compatible(code: hsa_isa_t, agent: hsa_isa_t, result: *mut bool) {
        let agents = &runtime()?.agents;
        agents.of_isa(code)?;
        agents.of_isa(agent)?;
        // SAFETY: the caller vouches for it. All GPUs have the same ISA.
        unsafe { put(result, true) }
    }
}
