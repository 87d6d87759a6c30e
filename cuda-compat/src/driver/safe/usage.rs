//! How work on several streams that uses one slice is ordered.

use std::sync::Arc;

use super::{CudaContext, CudaEvent, CudaStream};
use crate::driver::result::DriverError;

/// The events of the last read and the last write of some memory; none where the program orders uses.
#[derive(Debug)]
pub(super) struct Usage {
    pub(super) read: Option<CudaEvent>,
    pub(super) write: Option<CudaEvent>,
}

/// Of memory whose uses are not tracked.
pub(super) static UNTRACKED: Usage = Usage { read: None, write: None };

impl Usage {
    /// Of new memory.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        if !context.is_event_tracking() {
            return Ok(Self { read: None, write: None });
        }
        Ok(Self { read: Some(context.new_event(None)?), write: Some(context.new_event(None)?) })
    }

    /// What a read waits for.
    pub(super) fn before_read(&self) -> impl Iterator<Item = &CudaEvent> {
        self.write.iter()
    }

    /// What a write, or the end of the memory, waits for.
    pub(super) fn before_write(&self) -> impl Iterator<Item = &CudaEvent> {
        self.read.iter().chain(&self.write)
    }

    /// Makes a stream wait for what a read of `owner`'s memory waits for.
    pub(super) fn read_on<'a>(&'a self, owner: &CudaStream, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        wait(owner, stream, self.before_read());
        SyncOnDrop::record_event(&self.read, stream)
    }

    /// Makes a stream wait for what a write of `owner`'s memory waits for.
    pub(super) fn write_on<'a>(&'a self, owner: &CudaStream, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        wait(owner, stream, self.before_write());
        SyncOnDrop::record_event(&self.write, stream)
    }
}

fn wait<'a>(owner: &CudaStream, stream: &CudaStream, events: impl Iterator<Item = &'a CudaEvent>) {
    if owner.context().is_managing_stream_synchronization() {
        for event in events {
            stream.context().record_err(stream.wait(event));
        }
    }
}

/// What is done after work was queued: when this is dropped, an event is recorded, or the stream is waited for.
#[derive(Debug)]
#[must_use]
pub enum SyncOnDrop<'a> {
    /// Records the event on the stream.
    Record(Option<(&'a CudaEvent, &'a CudaStream)>),
    /// Blocks until the work of the stream is done, unless the stream is captured.
    Sync(Option<&'a CudaStream>),
    /// Records the event on the stream, whether or not other streams exist: the host waits for it. cudarc lacks this.
    RecordAlways(Option<(&'a CudaEvent, &'a CudaStream)>),
}

impl<'a> SyncOnDrop<'a> {
    /// Records the event, if there is one, when this is dropped.
    pub fn record_event(event: &'a Option<CudaEvent>, stream: &'a CudaStream) -> Self {
        Self::Record(event.as_ref().map(|event| (event, stream)))
    }

    /// Blocks until the work of the stream is done when this is dropped.
    pub fn sync_stream(stream: &'a CudaStream) -> Self {
        Self::Sync(Some(stream))
    }

    /// Records the event when this is dropped, whether or not other streams exist: for events that the host waits for.
    pub(super) fn always(event: &'a CudaEvent, stream: &'a CudaStream) -> Self {
        Self::RecordAlways(Some((event, stream)))
    }

    /// Does now what `Drop` would do, and returns the error.
    pub(super) fn finish(mut self) -> Result<(), DriverError> {
        self.act()
    }

    fn act(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Record(target) => match target.take() {
                Some((event, stream)) if stream.context().is_managing_stream_synchronization() => event.record(stream),
                _ => Ok(()),
            },
            Self::RecordAlways(target) => target.take().map_or(Ok(()), |(event, stream)| event.record(stream)),
            Self::Sync(target) => match target.take() {
                Some(stream) if !stream.is_captured() => stream.synchronize(),
                _ => Ok(()),
            },
        }
    }
}

impl Drop for SyncOnDrop<'_> {
    fn drop(&mut self) {
        let context = match self {
            Self::Record(Some((_, stream))) | Self::RecordAlways(Some((_, stream))) | Self::Sync(Some(stream)) => {
                stream.context()
            }
            _ => return,
        };
        context.record_err(self.act());
    }
}
