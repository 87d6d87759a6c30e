//! The clock, and the delivery of faults to the program.

use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use amdgpu_sim::{Access, Denied, Fault, FaultKind, LaunchError, Space};

use crate::abi::{
    HSA_AMD_GPU_HW_EXCEPTION_EVENT, HSA_AMD_GPU_MEMORY_FAULT_EVENT, HSA_AMD_HW_EXCEPTION_CAUSE_GPU_HANG,
    HSA_AMD_HW_EXCEPTION_RESET_TYPE_OTHER, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, HSA_AMD_MEMORY_FAULT_READ_ONLY,
    HSA_STATUS_ERROR_EXCEPTION, HSA_STATUS_ERROR_FATAL, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION,
    HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_INVALID_CODE_OBJECT, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, HSA_STATUS_ERROR_MEMORY_FAULT,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_amd_event_info_t, hsa_amd_event_t, hsa_amd_gpu_hw_exception_info_t,
    hsa_amd_gpu_memory_fault_info_t, hsa_status_t,
};
use crate::agent::{AgentId, AgentSet};

/// Ticks per second of the clock that [`now`] reads.
pub(crate) const FREQUENCY: u64 = 1_000_000_000;

/// The system's clock in ticks.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for the write.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).wrapping_mul(FREQUENCY).wrapping_add(time.tv_nsec as u64)
}

/// A function of the program that handles system events.
pub(crate) type Handler = unsafe extern "C" fn(*const hsa_amd_event_t, *mut c_void) -> hsa_status_t;

/// The registered system event handlers, with their arguments.
#[derive(Default)]
pub(crate) struct Events {
    handlers: Mutex<Vec<(Handler, u64)>>,
    /// The GPUs whose loss has been reported.
    lost: Mutex<AgentSet>,
}

impl Events {
    /// Adds a handler.
    pub(crate) fn add(&self, handler: Handler, data: u64) {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner).push((handler, data));
    }

    /// Removes all handlers.
    pub(crate) fn clear(&self) {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Reports a GPU's memory fault to every handler. Returns whether one has handled it.
    pub(crate) fn memory_fault(&self, agent: AgentId, address: u64, reason: u32) -> bool {
        let memory_fault = hsa_amd_gpu_memory_fault_info_t {
            agent: agent.handle(),
            virtual_address: address,
            fault_reason_mask: reason,
        };
        self.tell(&hsa_amd_event_t {
            event_type: HSA_AMD_GPU_MEMORY_FAULT_EVENT,
            info: hsa_amd_event_info_t { memory_fault },
        })
    }

    /// Reports to every handler that a GPU has been reset and is lost to this process, once per GPU. Returns whether a
    /// handler has handled it.
    pub(crate) fn lost(&self, agent: AgentId) -> bool {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.contains(agent) {
            return false;
        }
        *lost = lost.with(agent);
        drop(lost);
        eprintln!("hsa-sim: GPU {} is lost", agent.0 - 1);
        let hw_exception = hsa_amd_gpu_hw_exception_info_t {
            agent: agent.handle(),
            reset_type: HSA_AMD_HW_EXCEPTION_RESET_TYPE_OTHER,
            reset_cause: HSA_AMD_HW_EXCEPTION_CAUSE_GPU_HANG,
        };
        self.tell(&hsa_amd_event_t {
            event_type: HSA_AMD_GPU_HW_EXCEPTION_EVENT,
            info: hsa_amd_event_info_t { hw_exception },
        })
    }

    fn tell(&self, event: &hsa_amd_event_t) -> bool {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut handled = false;
        for (handler, data) in handlers {
            // SAFETY: the program registered this function with this argument.
            let status = unsafe { handler(event, crate::memory::pointer(data)) };
            handled |= status.0 == 0;
        }
        handled
    }
}

/// The faulting address and the reason code for system events; `None` for other kinds of fault.
pub(crate) fn bad_address(fault: &Fault) -> Option<(u64, u32)> {
    match fault.kind {
        FaultKind::Memory { space: Space::Global, address, why, .. } => {
            let reason = match why {
                Denied::ReadOnly => HSA_AMD_MEMORY_FAULT_READ_ONLY,
                _ => HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT,
            };
            Some((address, reason))
        }
        FaultKind::WildJump(address) => Some((address, HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT)),
        _ => None,
    }
}

/// The status of a fault for a queue's error callback.
pub(crate) fn status_of(fault: &Fault) -> hsa_status_t {
    match &fault.kind {
        FaultKind::Memory { space: Space::Global, access: Access::Fetch, .. } | FaultKind::WildJump(_) => {
            HSA_STATUS_ERROR_MEMORY_FAULT
        }
        FaultKind::Memory { space: Space::Global, .. } => HSA_STATUS_ERROR_MEMORY_FAULT,
        FaultKind::Memory { .. } => HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
        FaultKind::UnknownInstruction(_) | FaultKind::Unsupported(_) | FaultKind::StrayRegister(_) => {
            HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION
        }
        FaultKind::Lost => HSA_STATUS_ERROR_FATAL,
        FaultKind::Launch(error) => match error {
            LaunchError::KernelObject { .. } => HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
            LaunchError::ScratchTooLarge { .. } => HSA_STATUS_ERROR_OUT_OF_RESOURCES,
            LaunchError::LdsTooLarge { .. } => HSA_STATUS_ERROR_INVALID_ALLOCATION,
            LaunchError::WorkgroupTooLarge { .. } => HSA_STATUS_ERROR_INVALID_ARGUMENT,
            _ => HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS,
        },
        _ => HSA_STATUS_ERROR_EXCEPTION,
    }
}
