//! Lost devices: after a fault or a reset, the runtime runs nothing on them until the process ends.
//!
//! The first failure that a device does not recover from is recorded here, with the launches in question. Every later
//! call on the device returns it. Errors in destructors are handled separately: an error counts as reported when a call
//! has returned it to the program, or when it was written to stderr.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::device_lost::DeviceLost;
use super::device_table::Device;
use super::error::Error;
use super::hip_error::HipError;
use super::lock::Mutex;
use super::loss::{Found, Launches};
use super::status::Status;

/// Locked while a loss is recorded, as one loss can affect all devices.
static NOTING: Mutex<()> = Mutex::new(());

/// Reads the launches of a device. The layer that has streams sets it.
static LAUNCHES: OnceLock<fn(Device, &mut Launches)> = OnceLock::new();

/// Sets the function that reads the launches of a device. There is only one.
pub(crate) fn read_launches_by(read: fn(Device, &mut Launches)) {
    let _ = LAUNCHES.set(read);
}

thread_local! {
    /// Whether errors that are created now do not reach the program.
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs the calls of a destructor: their errors do not count as reported.
pub(crate) fn quietly<R>(body: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            QUIET.set(self.0);
        }
    }
    let _restore = Restore(QUIET.replace(true));
    body()
}

/// Statuses after which a device may be lost.
fn is_fault(status: Status) -> bool {
    /// `hipErrorContextIsDestroyed`, `hipErrorECCNotCorrectable`
    const OTHERS: [Status; 2] = [Status(709), Status(214)];
    matches!(
        status,
        Status::ILLEGAL_ADDRESS | Status::LAUNCH_FAILURE | Status::LAUNCH_TIMEOUT | Status::ASSERT | Status::UNKNOWN
    ) || OTHERS.contains(&status)
}

/// Returns the current device, or the runtime's status; `None` for a device that this crate has not listed.
fn current() -> Result<Option<Device>, Status> {
    let mut index: c_int = 0;
    // SAFETY: `index` is valid for a write.
    let status = unsafe { hip_sys::hipGetDevice(&mut index) };
    if status.0 == 0 { Ok(usize::try_from(index).ok().and_then(Device::known)) } else { Err(Status(status.0)) }
}

/// Returns whether a call that is unrelated to queued work fails with `status` too, on the current device.
fn repeats(status: Status) -> bool {
    let (mut free, mut total) = (0usize, 0usize);
    // SAFETY: both are valid for a write.
    let repeated = unsafe { hip_sys::hipMemGetInfo(&mut free, &mut total) };
    // The probe must not leave a last error either.
    // SAFETY: takes nothing and only resets a value that belongs to this thread.
    let _ = unsafe { hip_sys::hipGetLastError() };
    Status(repeated.0) == status
}

/// Devices that may be lost after a call has failed, and the launches that may be the cause.
pub(crate) struct Suspects {
    devices: Vec<Device>,
    /// The current device; `None` if the runtime cannot report it, because it has lost all devices.
    current: Option<Device>,
    launches: Launches,
}

impl Suspects {
    /// Collects the suspects of a call that has failed with `status`; `None` if the status does not mean a loss.
    pub(crate) fn of(status: Status) -> Option<Self> {
        if !is_fault(status) {
            return None;
        }
        let current = match current() {
            Ok(device) => Some(device?),
            Err(status) if is_fault(status) => None,
            Err(_) => return None,
        };
        let devices = current.map_or_else(Device::all_known, |device| vec![device]);
        let mut launches = Launches::default();
        if let Some(read) = LAUNCHES.get() {
            devices.iter().filter(|device| !device.loss().is_some()).for_each(|device| read(*device, &mut launches));
        }
        Some(Self { devices, current, launches })
    }

    /// Returns the loss, if the call that failed with `error` was due to one.
    pub(crate) fn lost(self, error: &HipError) -> Option<Error> {
        let Self { devices, current, launches } = self;
        let device = *devices.first()?;
        {
            let _noting = NOTING.lock();
            if !device.loss().is_some() {
                // A runtime that continues after a fault succeeds here.
                if current.is_some() && !repeats(error.status) {
                    return None;
                }
                let alone = current.or(Some(device).filter(|device| device.siblings() == 1));
                let found = Arc::new(Found {
                    device: alone.map(|device| device.index()),
                    first: error.clone(),
                    launches: Mutex::new(launches),
                    told: AtomicBool::new(false),
                });
                devices.iter().for_each(|device| _ = device.loss().0.set(Arc::clone(&found)));
            }
        }
        device.lost_error()
    }
}

impl Device {
    /// Returns the error of a call on this device, if the device is lost.
    #[cold]
    pub(crate) fn lost_error(&self) -> Option<Error> {
        let Found { device, first, launches, told } = &**self.loss().0.get()?;
        if !QUIET.get() {
            told.store(true, Ordering::Release);
        }
        let launches = launches.lock().names.clone();
        Some(Error::DeviceLost(Box::new(DeviceLost { device: *device, launches, first: first.clone() })))
    }

    /// Adds launches to the error of a call that failed while the caller had a stream locked: those of that stream, if
    /// they could not be read then.
    #[cold]
    pub(crate) fn lost_with(&self, error: Error, stream: u64, names: impl FnOnce() -> Vec<String>) -> Error {
        let (Error::DeviceLost(_), Some(found)) = (&error, self.loss().0.get()) else { return error };
        {
            let mut launches = found.launches.lock();
            let Some(at) = launches.unread.iter().position(|id| *id == stream) else { return error };
            launches.unread.swap_remove(at);
            launches.names.extend(names());
        }
        self.lost_error().unwrap_or(error)
    }
}

/// Returns the loss that an error reports.
fn found(error: &Error) -> Option<&'static Arc<Found>> {
    let Error::DeviceLost(lost) = error else { return None };
    Device::known(lost.device.unwrap_or(0))?.loss().0.get()
}

/// Marks a loss as reported: the error reaches the program.
pub(crate) fn tell(error: &Error) {
    if let Some(found) = found(error) {
        found.told.store(true, Ordering::Release);
    }
}

/// Returns whether the error's loss was already reported, so that an error without a recipient need not be printed.
pub(crate) fn is_told(error: &Error) -> bool {
    found(error).is_some_and(|found| found.told.load(Ordering::Acquire))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_destructor_meets_is_not_told() {
        assert!(!QUIET.get());
        quietly(|| quietly(|| ()));
        let _ = std::panic::catch_unwind(|| quietly(|| panic!("as asked")));
        assert!(!QUIET.get());
        quietly(|| assert!(QUIET.get()));
    }
}
