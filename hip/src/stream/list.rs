//! The streams of each device.

use std::sync::{Arc, OnceLock, Weak};

#[cfg(feature = "rocm-10-0")]
use super::execution::ContextInner;
use super::inner::StreamInner;
use crate::core::device::Device;
#[cfg(feature = "rocm-10-0")]
use crate::core::error::Result;
use crate::core::lock::{Mutex, MutexGuard};
use crate::core::loss::Launches;
use crate::core::per_device::PerDevice;

/// The streams of a device.
#[derive(Default)]
pub(crate) struct DeviceStreams {
    /// The legacy default stream.
    pub(super) default: OnceLock<Arc<StreamInner>>,
    /// The stream for calls that are done when they return.
    pub(super) blocking: OnceLock<Arc<StreamInner>>,
    /// All streams.
    all: Mutex<Vec<Weak<StreamInner>>>,
    /// Remnants of dropped streams, until their work is over and they are destroyed.
    leaving: Mutex<Vec<Weak<StreamInner>>>,
}

impl DeviceStreams {
    /// Adds a new stream.
    pub(super) fn add(&self, stream: &Arc<StreamInner>) {
        add(&self.all, stream);
    }

    /// Adds the remnant of a dropped stream.
    pub(super) fn add_leaving(&self, stream: &Arc<StreamInner>) {
        add(&self.leaving, stream);
    }

    pub(super) fn all(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.all))
    }

    pub(super) fn leaving(&self) -> Vec<Arc<StreamInner>> {
        upgraded(&lock(&self.leaving))
    }
}

/// The streams of each device.
static STREAMS: PerDevice<DeviceStreams> = PerDevice::new();

fn lock(streams: &Mutex<Vec<Weak<StreamInner>>>) -> MutexGuard<'_, Vec<Weak<StreamInner>>> {
    streams.lock()
}

fn upgraded(streams: &[Weak<StreamInner>]) -> Vec<Arc<StreamInner>> {
    streams.iter().filter_map(Weak::upgrade).collect()
}

fn add(streams: &Mutex<Vec<Weak<StreamInner>>>, stream: &Arc<StreamInner>) {
    let mut streams = lock(streams);
    if streams.len() == streams.capacity() {
        streams.retain(|stream| stream.strong_count() > 0);
    }
    streams.push(Arc::downgrade(stream));
}

/// Returns the streams of all devices; none before the first stream is created.
pub(super) fn of_all_devices() -> &'static [DeviceStreams] {
    STREAMS.all()
}

/// Number of attempts to take a lock that another thread holds briefly.
const TRIES: u32 = 100;

/// Adds the launches on a device that are not known to be over. A stream that the calling thread has locked cannot be
/// read.
pub(super) fn read_launches(device: Device, launches: &mut Launches) {
    let streams = device.streams();
    for stream in streams.leaving().into_iter().chain(streams.all()) {
        let read = (0..TRIES).find_map(|_| {
            let names = stream.try_read_launches();
            if names.is_none() {
                std::thread::yield_now();
            }
            names
        });
        match read {
            Some(names) => launches.names.extend(names),
            None => launches.unread.push(stream.id()),
        }
    }
}

impl Device {
    pub(super) fn streams(&self) -> &'static DeviceStreams {
        STREAMS.of(*self)
    }
}
#[cfg(feature = "rocm-10-0")]
impl ContextInner {
    /// Returns its streams, for an operation that is not possible while one of them is captured.
    pub(crate) fn free_streams(self: &Arc<Self>, what: &str) -> Result<Vec<Arc<StreamInner>>> {
        let mut streams = self.device.streams().all();
        streams.retain(|stream| stream.context.as_ref().is_some_and(|context| Arc::ptr_eq(context, self)));
        streams.iter().try_for_each(|stream| stream.refuse_captured(what))?;
        Ok(streams)
    }
}
