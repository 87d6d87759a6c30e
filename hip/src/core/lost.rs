//! Lost devices: after a fault or a reset, the runtime runs nothing on them until the process ends.
//!
//! The first failure that a device does not recover from is recorded here, with the launches in question. Every later
//! call on the device returns it. Errors in destructors are handled separately: an error counts as reported when a call
//! has returned it to the program, or when it was written to stderr.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::device::Device;
use super::error::{Error, HipError, Status};
use super::lock::Mutex;

/// A device on which nothing can run until the process ends, or all devices: in [`Error::DeviceLost`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceLost {
    /// The device's index; `None` if the runtime has lost all devices of the process.
    pub device: Option<usize>,
    /// The launches that may have caused the loss: all that were not known to be over. Empty if other work caused it.
    pub launches: Vec<String>,
    /// The runtime's first error: its status, and the call that returned it.
    pub first: HipError,
}

/// Maximum number of launches that an error names.
const SHOWN: usize = 12;

impl fmt::Display for DeviceLost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HipError { status, name, description, function, asked, fault } = &self.first;
        match self.device {
            Some(device) => write!(f, "device {device} is lost: ")?,
            None => f.write_str("the devices of this process are lost: ")?,
        }
        match &self.launches[..] {
            [] => f.write_str("work of this process")?,
            [one] => write!(f, "kernel {one}")?,
            all => {
                write!(f, "one of {}", all[..all.len().min(SHOWN)].join(", "))?;
                if all.len() > SHOWN {
                    write!(f, " and {} more", all.len() - SHOWN)?;
                }
            }
        }
        write!(f, " failed with {name} ({})", status.0)?;
        if !description.is_empty() && description != name {
            write!(f, ", {description}")?;
        }
        let it = if self.device.is_some() { "it" } else { "them" };
        write!(f, ", as {function} found ({asked}). No call on {it} succeeds any more: restart the process")?;
        match fault {
            Some(fault) => write!(f, "\n{fault}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DeviceLost {}

/// The loss of one device, if there was one.
#[derive(Default)]
pub(crate) struct Loss(OnceLock<Arc<Found>>);

/// A loss, of one device or of all.
struct Found {
    device: Option<usize>,
    first: HipError,
    launches: Mutex<Launches>,
    /// Whether the loss was reported to the program.
    told: AtomicBool,
}

/// Launches that were not known to be over when a device was lost.
#[derive(Default)]
pub(crate) struct Launches {
    pub(crate) names: Vec<String>,
    /// Streams whose launches could not be read, because a thread, perhaps the calling one, has locked them.
    pub(crate) unread: Vec<u64>,
}

impl Loss {
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.0.get().is_some()
    }
}

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
        let current = match Device::current_raw() {
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
                if current.is_some_and(|device| !device.repeats(error.status)) {
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
    fn it_says_what_and_where_and_what_to_do() {
        let first = HipError {
            status: Status::ILLEGAL_ADDRESS,
            name: "hipErrorIllegalAddress".to_owned(),
            description: "an illegal memory access was encountered".to_owned(),
            function: "hipStreamSynchronize",
            asked: "stream 3 of device 1".to_owned(),
            fault: None,
        };
        let text = |launches: &[&str]| {
            let launches = launches.iter().map(|name| (*name).to_owned()).collect();
            DeviceLost { device: Some(1), launches, first: first.clone() }.to_string()
        };
        assert_eq!(
            text(&["add<<<(1, 1, 1), (64, 1, 1)>>> on stream 3"]),
            "device 1 is lost: kernel add<<<(1, 1, 1), (64, 1, 1)>>> on stream 3 failed with hipErrorIllegalAddress (700), \
             an illegal memory access was encountered, as hipStreamSynchronize found (stream 3 of device 1). No call on \
             it succeeds any more: restart the process"
        );
        assert!(text(&[]).starts_with("device 1 is lost: work of this process failed"));
        assert!(text(&["a", "b"]).starts_with("device 1 is lost: one of a, b failed"));
        assert!(text(&["a"; 14]).contains("a, a and 2 more failed"));
        let all = DeviceLost { device: None, launches: Vec::new(), first: first.clone() }.to_string();
        assert!(all.starts_with("the devices of this process are lost: work of this process failed"), "{all}");
    }

    #[test]
    fn what_a_destructor_meets_is_not_told() {
        assert!(!QUIET.get());
        quietly(|| quietly(|| ()));
        let _ = std::panic::catch_unwind(|| quietly(|| panic!("as asked")));
        assert!(!QUIET.get());
        quietly(|| assert!(QUIET.get()));
    }
}
