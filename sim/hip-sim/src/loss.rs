//! A device that is lost: what HIP says of it from then on.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_sim::Fault;
use hip_sys::rocm_7_2::{hipError_t, hipErrorUnknown, hipStream_t};

use crate::fault::Failure;
use crate::queue::Scope;
use crate::runtime::{Device, Runtime, Target};
use crate::status::{Outcome, Refusal};

/// HIP has no status of its own for it. The runtime of ROCm 7.2 answers with this one after a GPU was reset; those before end the process.
const LOST: hipError_t = hipErrorUnknown;

/// Whether any device is lost: as a rule there is nothing more to be asked.
static ANY: AtomicBool = AtomicBool::new(false);

/// The account of a device's loss, once it is lost.
#[derive(Default)]
pub(crate) struct Loss(OnceLock<Failure>);

impl Device {
    /// The launch that found the device lost: the failure of this one and of all that comes after.
    pub(crate) fn lost(&self, fault: &Fault) -> Failure {
        let text = || format!("device {}: {fault}, nor does any later call", self.ordinal);
        let failure = self.loss.0.get_or_init(|| Failure::new(LOST, text())).clone();
        ANY.store(true, Ordering::Release);
        failure
    }

    /// The failure of everything on a device that is lost.
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

    /// What remains to be said of a scope when its own failures have been told: whether its device is lost.
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
