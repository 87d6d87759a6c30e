//! Waits for a device, its default stream, and this crate's own stream on it.

use std::ptr;
use std::sync::Arc;

use super::captures::apart_from_captures;
use super::handle::{Stream, StreamOptions};
use super::inner::StreamInner;
use crate::core::call::check;
use crate::core::context;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::later;

impl Device {
    /// Blocks until all work on all streams of the device is done (`hipDeviceSynchronize`). Returns an error of that
    /// work.
    ///
    /// While a stream of any device is [captured](Stream::capture), HIP cannot wait for a device. Then this waits for
    /// each stream of this crate that is not captured, but not for streams of other code.
    #[doc(alias("cuCtxSynchronize", "hipCtxSynchronize"))]
    #[doc(alias("hipDeviceSynchronize", "cudaDeviceSynchronize", "cudaThreadSynchronize"))]
    pub fn synchronize(&self) -> Result<()> {
        self.activate()?;
        // Wait for each stream first: this credits each one, and leaves little for the call below, during which no capture can begin.
        let streams = self.streams().all();
        let mut waited = Ok(());
        for stream in &streams {
            match stream.wait_for_device() {
                // A captured stream has no work.
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

    /// Returns the device's legacy default stream, C's null stream. It and every [`blocking`](StreamOptions::blocking)
    /// stream wait for each other. Prefer streams created with [`Stream::new`].
    #[must_use]
    pub fn default_stream(&self) -> Stream {
        if context::is_forked() {
            return Stream { inner: StreamInner::of_nobody(ptr::null_mut(), *self) };
        }
        let new = || StreamInner::new(ptr::null_mut(), *self);
        Stream { inner: Arc::clone(self.streams().default.get_or_init(new)) }
    }

    /// Returns a stream of this crate, which waits for no other and is never captured, for calls that are done when
    /// they return.
    ///
    /// HIP runs such calls on the device's default stream, and rejects them while any stream of any thread is captured.
    pub(crate) fn blocking_stream(&self) -> Result<Stream> {
        let streams = self.streams();
        if let Some(inner) = streams.blocking.get() {
            return Ok(Stream { inner: Arc::clone(inner) });
        }
        // Streams of one priority share a few hardware queues, and a stalled stream stalls the others on its queue. Most streams have
        // normal priority, so use another one.
        let first = *self.stream_priority_range()?.start();
        let Stream { inner } = Stream::with_options(self, StreamOptions::new().priority(first))?;
        Ok(Stream { inner: Arc::clone(streams.blocking.get_or_init(|| inner)) })
    }
}
