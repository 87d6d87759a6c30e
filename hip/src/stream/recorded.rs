//! The places where events were recorded.

use std::sync::Arc;

use smallvec::SmallVec;

use super::capture::Capture;
use super::inner::StreamInner;

/// The place where an event was last recorded: its mark.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) stream: Arc<StreamInner>,
    /// The ticket of the last work before the event.
    pub(crate) ticket: u64,
    /// Further streams of an event that was recorded on all streams of an execution context, each with the ticket of
    /// its last work.
    others: Vec<(Arc<StreamInner>, u64)>,
    /// Counts the records of the event. It shows whether another thread has moved the mark.
    pub(super) generation: u64,
    /// The capture that it was recorded in: then the mark is a place in a graph.
    pub(crate) capture: Option<Arc<Capture>>,
}

impl Recorded {
    /// Returns the mark moved to after the work of `stream` up to `ticket`.
    pub(crate) fn moved(before: Option<&Self>, stream: &Arc<StreamInner>, ticket: u64) -> Self {
        let generation = before.map_or(1, |before| before.generation + 1);
        Self { stream: Arc::clone(stream), ticket, others: Vec::new(), generation, capture: stream.capture() }
    }

    /// Returns the mark moved to after the work of several streams, each up to its ticket; `None` if there are no
    /// streams.
    #[cfg(feature = "rocm-10-0")]
    pub(crate) fn moved_behind(before: Option<&Self>, mut streams: Vec<(Arc<StreamInner>, u64)>) -> Option<Self> {
        let (stream, ticket) = streams.pop()?;
        Some(Self { others: streams, ..Self::moved(before, &stream, ticket) })
    }

    /// Records that a wait for later work of `stream` covers the work before the mark. Call this before the wait is
    /// queued.
    pub(crate) fn watched_by(&self, stream: &Arc<StreamInner>) {
        self.behind().for_each(|(other, _)| stream.watch_stream(other));
    }

    /// Records that later work of `stream` waits for the mark.
    pub(crate) fn awaited_by(&self, stream: &Arc<StreamInner>) {
        self.behind().filter(|(other, _)| !Arc::ptr_eq(other, stream)).for_each(|(other, ticket)| {
            stream.note_waited(other.id(), ticket);
        });
    }

    /// Returns whether the work before the mark is known to be over.
    pub(crate) fn is_over(&self) -> bool {
        self.behind().all(|(stream, ticket)| stream.completed() >= ticket)
    }

    /// Returns the streams of the mark, with the ticket of the last work of each.
    pub(super) fn behind(&self) -> impl Iterator<Item = (&Arc<StreamInner>, u64)> {
        let others = self.others.iter().map(|(stream, ticket)| (stream, *ticket));
        std::iter::once((&self.stream, self.ticket)).chain(others)
    }
}

/// Runs `call`, which uses an event, unless a stream that the event was recorded on is being captured. No capture of it
/// begins meanwhile: HIP invalidates the capture if it is asked for an event of the stream, even one recorded before
/// the capture. If a stream is being captured, all its earlier work is over.
pub(super) fn without_captures<R>(recorded: Option<&Recorded>, call: impl FnOnce() -> R) -> Option<R> {
    let mut streams: SmallVec<[&StreamInner; 1]> =
        recorded.iter().flat_map(|recorded| recorded.behind()).map(|(stream, _)| &**stream).collect();
    // All threads lock streams in this order.
    streams.sort_by_key(|stream| stream.id());
    streams.dedup_by_key(|stream| stream.id());
    let mut direct: SmallVec<[_; 1]> = SmallVec::new();
    for stream in streams {
        direct.push(stream.direct("waiting for an event of it").ok()?);
    }
    Some(call())
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::core::device::Device;

    /// The generation shows a waiting thread whether another thread has moved the mark meanwhile.
    #[test]
    fn each_record_is_another_generation() {
        let stream = StreamInner::new(ptr::null_mut(), Device::of_tests());
        let first = Recorded::moved(None, &stream, 5);
        let second = Recorded::moved(Some(&first), &stream, 5);
        assert_ne!(first.generation, second.generation);
    }
}
