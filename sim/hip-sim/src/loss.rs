//! Device loss: the status of every call on a lost device.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_sim::Fault;
use hip_sys::rocm_7_2::{hipError_t, hipErrorUnknown, hipStream_t};

use crate::fault::Failure;
use crate::queue::Scope;
use crate::runtime::{Device, Runtime, Target};
use crate::status::{Outcome, Refusal};

/// HIP has no dedicated status. ROCm 7.2's runtime returns this one after a GPU reset; earlier ones end the process.
const LOST: hipError_t = hipErrorUnknown;

/// Whether any device is lost. Usually false, and then nothing else is checked.
static ANY: AtomicBool = AtomicBool::new(false);

/// The description of a device's loss, once it is lost.
#[derive(Default)]
pub(crate) struct Loss(OnceLock<Failure>);

impl Device {
    /// Records the loss that a launch found. Returns the failure of that launch and of all later work.
    pub(crate) fn lost(&self, fault: &Fault) -> Failure {
        let text = || format!("device {}: {fault}, nor does any later call", self.ordinal);
        let failure = self.loss.0.get_or_init(|| Failure::new(LOST, text())).clone();
        ANY.store(true, Ordering::Release);
        failure
    }

    /// Returns the loss as a failure if the device is lost.
    pub(crate) fn carries_on(&self) -> Result<(), Failure> {
        match self.loss.0.get() {
            Some(failure) if ANY.load(Ordering::Acquire) => Err(failure.clone()),
            _ => Ok(()),
        }
    }

    /// Refuses a call on a device that is lost.
    pub(crate) fn alive(&self) -> Outcome {
        self.carries_on().map_err(|failure| Refusal::from(&failure))
    }
}

impl Runtime {
    /// The calling thread's current device, unless it is lost.
    pub(crate) fn live_current(&self) -> Result<&Device, Refusal> {
        let device = self.current();
        device.alive()?;
        Ok(device)
    }

    /// The stream that `stream` names, unless its device is lost.
    pub(crate) fn live_target(&self, stream: hipStream_t) -> Result<Target, Refusal> {
        let target = self.target(stream)?;
        self.devices[target.device].alive()?;
        Ok(target)
    }

    /// Refuses with the device's loss, if the scope's device is lost. Called after the scope's own failures were
    /// reported.
    pub(crate) fn loss(&self, scope: Scope) -> Outcome {
        if !ANY.load(Ordering::Acquire) {
            return Ok(());
        }
        match self.scheduler.device_of(scope).and_then(|device| self.devices.get(device)) {
            Some(device) => device.alive(),
            None => Ok(()),
        }
    }
}
