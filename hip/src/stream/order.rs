//! The order between streams: waits of a stream for events and other streams, and the opt-out of this crate's own
//! order.

use super::event::Event;
use super::handle::Stream;
use super::raw_event::ISOLATED;
#[cfg(doc)]
use super::signal::Signal;
use crate::core::context;
#[cfg(doc)]
use crate::core::error::Error;
use crate::core::error::Result;

impl Stream {
    /// Makes all later work on this stream wait for the work that `event` was recorded after (`hipStreamWaitEvent`).
    /// The host does not wait. The event may be of another device.
    ///
    /// # Errors
    /// [`Error::EventNotRecorded`] if the event was never recorded, where HIP would not wait and return success.
    #[doc(alias("hipStreamWaitEvent", "cuStreamWaitEvent", "cudaStreamWaitEvent"))]
    pub fn wait_event(&self, event: &Event) -> Result<()> {
        let Some(recorded) = event.recorded_here()? else {
            // Other code records it.
            return self.inner.wait_held_event(event.raw());
        };
        if let Some(capture) = &recorded.capture {
            self.inner.join(capture)?;
            return self.inner.wait_raw_event(event.raw());
        }
        recorded.watched_by(&self.inner);
        for event in event.told_by(Some(&recorded)) {
            match self.inner.wait_raw_event(event) {
                // If the event's stream is being captured now, its earlier work is over.
                Err(error) if error.status() == Some(ISOLATED) && recorded.is_over() => {}
                other => other?,
            }
        }
        if event.still(&recorded) {
            recorded.awaited_by(&self.inner);
        }
        Ok(())
    }

    /// Makes all later work on this stream wait for all work that `other` has now (`hipEventRecord`,
    /// `hipStreamWaitEvent`). The host does not wait. `other` may be on another device.
    ///
    /// # Errors
    /// [`Error::Capture`] if one of the two streams is captured by another thread, or into another graph.
    #[doc(alias("hipEventRecord", "cuEventRecord", "cudaEventRecord"))]
    #[doc(alias("hipStreamWaitEvent", "cuStreamWaitEvent", "cudaStreamWaitEvent"))]
    pub fn wait_for(&self, other: &Self) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let event = Event::without_timing(&other.device())?;
        event.record(other)?;
        self.wait_event(&event)
    }

    /// Creates an event with timing and records it here; see [`Event::new`] and [`Event::record`].
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(&self.inner.device)?;
        event.record(self)?;
        Ok(event)
    }
}

/// Queues work without making streams wait for each other: the opt-out of this crate's order between streams.
///
/// Work that `body` queues from this thread, on any stream, starts as soon as its stream reaches it, even if another
/// stream still writes to a buffer that it reads. The host still waits before it touches or frees memory that this work
/// uses.
///
/// Use it for work that is independent though it shares a buffer (two streams that write to two halves of one), or that
/// your own events or [`Signal`]s order. Each wait that this saves would cost an event.
///
/// # Safety
/// If two pieces of work on two streams use the same bytes and at least one writes to them, the caller must order them,
/// for as long as either may run.
///
/// ```
/// # fn main() -> hip::Result<()> {
/// # if hip::sim_if_no_gpu().is_err() { return Ok(()) }
/// let device = hip::Device::get(0)?;
/// let mut data = hip::DeviceBuffer::<u32>::uninit(&device, 2000)?;
/// let (first, second) = (hip::Stream::new(&device)?, hip::Stream::new(&device)?);
/// let mut whole = data.as_slice_mut();
/// let (mut low, mut high) = whole.split_at_mut(1000)?;
/// // SAFETY: the halves have no byte in common.
/// unsafe {
///     hip::stream::without_stream_order(|| {
///         low.fill_async(&first, 1)?;
///         high.fill_async(&second, 2) // does not wait for the first stream
///     })?;
/// }
/// assert_eq!(data.to_vec()?[999..1001], [1, 2]);
/// # Ok(()) }
/// ```
pub unsafe fn without_stream_order<R>(body: impl FnOnce() -> R) -> R {
    context::unordered(body)
}
