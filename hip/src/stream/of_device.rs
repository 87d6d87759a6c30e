//! The streams of a device: those that it has by itself, and all of them together.

use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::capture::apart_from_captures;
use super::{Stream, StreamInner, StreamOptions};
use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;
use crate::core::per_device::PerDevice;
use crate::stream::event::SpareEvents;

/// What is kept of the streams of a device.
#[derive(Default)]
pub(crate) struct DeviceStreams {
    /// The legacy default stream.
    default: OnceLock<Arc<StreamInner>>,
    /// What calls go over that are done when they return.
    blocking: OnceLock<Arc<StreamInner>>,
    /// All that there are.
    all: Mutex<Vec<Weak<StreamInner>>>,
    /// For waits between streams.
    spare_events: SpareEvents,
}

impl DeviceStreams {
    /// Notes a new stream.
    pub(super) fn add(&self, stream: &Arc<StreamInner>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == all.capacity() {
            all.retain(|stream| stream.strong_count() > 0);
        }
        all.push(Arc::downgrade(stream));
    }

    fn all(&self) -> Vec<Arc<StreamInner>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).iter().filter_map(Weak::upgrade).collect()
    }

    /// See [`crate::event::PooledEvent`].
    pub(crate) fn spare_events(&self) -> &SpareEvents {
        &self.spare_events
    }
}

/// Those of each device.
static STREAMS: PerDevice<DeviceStreams> = PerDevice::new();

impl Device {
    pub(super) fn streams(&self) -> &'static DeviceStreams {
        STREAMS.of(*self)
    }

    /// Blocks until all work on all streams of the device is done (`hipDeviceSynchronize`). An error of it comes back here.
    ///
    /// While a stream of any device is [captured](Stream::capture), HIP waits for no device. Then this waits for each stream of this crate that is
    /// not captured; streams that only other code knows are not waited for.
    #[doc(alias("hipDeviceSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.activate()?;
        // One by one first: each is credited, and little is left for the call below, during which no capture can begin.
        let streams = self.streams().all();
        let mut waited = Ok(());
        for stream in &streams {
            match stream.wait_for_device() {
                // A stream that is captured has no work.
                Err(Error::Capture { .. }) => {}
                one => waited = waited.and(one),
            }
        }
        let whole = apart_from_captures(|| {
            // SAFETY: takes nothing.
            let status = unsafe { hip_sys::hipDeviceSynchronize() };
            check(status, "hipDeviceSynchronize", || format!("device {}", self.index()))
        });
        later::catch_up();
        waited.and(whole.unwrap_or(Ok(())))
    }

    /// The device's legacy default stream, the null stream of C. It waits for, and is waited for by, every stream
    /// that was made [`blocking`](StreamOptions::blocking). Better make streams with [`Stream::new`].
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        let new = || StreamInner::new(ptr::null_mut(), *self);
        Stream { inner: Arc::clone(self.streams().default.get_or_init(new)) }
    }

    /// A stream of this crate's own, which waits for no other and is never captured, for calls that are done when they return.
    ///
    /// HIP does such calls on the device's default stream, and refuses them while any stream of any thread is captured.
    pub(crate) fn blocking_stream(&self) -> Result<Stream> {
        let streams = self.streams();
        if let Some(inner) = streams.blocking.get() {
            return Ok(Stream { inner: Arc::clone(inner) });
        }
        let Stream { inner } = Stream::with_options(self, StreamOptions::new())?;
        Ok(Stream { inner: Arc::clone(streams.blocking.get_or_init(|| inner)) })
    }
}
