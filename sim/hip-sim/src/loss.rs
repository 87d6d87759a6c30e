//! Device loss: the status of every call on a lost device.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_sim::Fault;
use hip_sys::rocm_7_2::{hipError_t, hipErrorUnknown};

use crate::fault::Failure;

/// HIP has no dedicated status. ROCm 7.2's runtime returns this one after a GPU reset; earlier ones end the process.
const LOST: hipError_t = hipErrorUnknown;

/// Whether any device is lost. Usually false, and then nothing else is checked.
static ANY: AtomicBool = AtomicBool::new(false);

/// Returns whether any device is lost.
pub(crate) fn any() -> bool {
    ANY.load(Ordering::Acquire)
}

/// The description of a device's loss, once it is lost.
#[derive(Default)]
pub(crate) struct Loss(OnceLock<Failure>);

impl Loss {
    /// Records the loss of the device with this ordinal. Returns the failure of all later work.
    pub(crate) fn record(&self, device: usize, fault: &Fault) -> Failure {
        let text = || format!("device {device}: {fault}, nor does any later call");
        let failure = self.0.get_or_init(|| Failure::new(LOST, text())).clone();
        ANY.store(true, Ordering::Release);
        failure
    }

    /// Returns the failure if the device is lost.
    pub(crate) fn carries_on(&self) -> Result<(), Failure> {
        match self.0.get() {
            Some(failure) if any() => Err(failure.clone()),
            _ => Ok(()),
        }
    }
}
