//! The life of a stream: its device lists it from its creation to the end of its work.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use hip_sys::hipStream_t;

#[cfg(feature = "rocm-10-0")]
use super::execution::ContextInner;
use super::inner::StreamInner;
use super::list::{self, DeviceStreams};
use super::report::Report;
use crate::core::context;
use crate::core::device::Device;
use crate::core::later;
use crate::core::lock::Mutex;
use crate::core::lost;
use crate::core::queue::Blocker;

impl StreamInner {
    pub(crate) fn new(raw: hipStream_t, device: Device) -> Arc<Self> {
        Self::unshared(raw, device).shared()
    }

    /// Creates the state of a stream that keeps its execution context.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn of_context(raw: hipStream_t, context: &Arc<ContextInner>) -> Arc<Self> {
        let mut stream = Self::unshared(raw, context.device());
        stream.context = Some(Arc::clone(context));
        stream.shared()
    }

    /// Creates the state of a stream that other code destroys, after the last use of this.
    pub(super) fn borrowed(raw: hipStream_t, device: Device) -> Arc<Self> {
        let mut stream = Self::unshared(raw, device);
        stream.owned = false;
        stream.hand_out();
        stream.shared()
    }

    /// Shares the state, and adds it to its device's list.
    pub(super) fn shared(self) -> Arc<Self> {
        let stream = Arc::new(self);
        stream.device.streams().add(&stream);
        later::at_end(tell_rest);
        lost::read_launches_by(list::read_launches);
        stream
    }

    /// Moves the C stream to a remnant that lives as long as the stream's work runs, after all handles were dropped. It
    /// does not destroy the stream.
    fn remains(&mut self) -> Self {
        let mut rest = Self::unshared(self.raw(), self.device);
        rest.owned = false;
        rest.id = self.id;
        rest.queue = Mutex::new(std::mem::take(&mut *self.lock()));
        rest.report = Arc::clone(&self.report);
        let numbers = [
            (&rest.completed, &self.completed),
            (&rest.over, &self.over),
            (&rest.unknown, &self.unknown),
            (&rest.held, &self.held),
        ];
        for (to, from) in numbers {
            to.store(from.load(Ordering::Acquire), Ordering::Release);
        }
        rest
    }
}

impl Drop for StreamInner {
    /// Destroys the stream when its work is over. It never blocks here, where locks may be held.
    fn drop(&mut self) {
        if !self.owned || context::is_forked() {
            return; // owned by other code, or by the parent process
        }
        let (raw, device) = (self.raw().expose_provenance(), self.device);
        let rest = Arc::new(self.remains());
        device.streams().add_leaving(&rest);
        #[cfg(feature = "rocm-10-0")]
        let context = self.context.take();
        let issued = rest.lock().issued;
        later::leave(vec![(rest, issued)], move || {
            if device.activate().is_ok() {
                // SAFETY: owned by this object, made by hipStreamCreate*, its work is over, and nothing else refers to it.
                let _ = unsafe { hip_sys::hipStreamDestroy(ptr::with_exposed_provenance_mut(raw)) };
            }
            #[cfg(feature = "rocm-10-0")]
            drop(context);
        });
    }
}

/// Reports errors of streams that were never dropped, at the end of the process, when their work is over.
fn tell_rest() {
    for stream in list::of_all_devices().iter().flat_map(DeviceStreams::all).filter(|stream| stream.is_ours()) {
        let blockers: Vec<Blocker> = stream.blocker(stream.issued()).into_iter().collect();
        if blockers.is_empty() {
            stream.report().tell();
            stream.watched_reports().iter().for_each(|report| report.tell());
        } else {
            let mut rest = Rest(stream.watched_reports());
            rest.0.push(Arc::clone(stream.report()));
            later::leave(blockers, move || drop(rest));
        }
    }
}

/// Writes the errors of the reports to stderr when it is dropped, whether the work is over or its state is unknown.
struct Rest(Vec<Arc<Report>>);

impl Drop for Rest {
    fn drop(&mut self) {
        self.0.iter().for_each(|report| report.tell());
    }
}
