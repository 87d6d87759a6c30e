//! The order of work on several streams that uses one slice, and the lifetime of its memory.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use super::capture::Kept;
use super::{CudaContext, CudaEvent, CudaStream};
use crate::driver::result::DriverError;
use crate::driver::sys;

/// The uses of some memory. The memory is freed with the last of its handles: a slice has one, and so has each graph
/// that uses it.
#[derive(Clone, Debug)]
pub struct Usage(Arc<Uses>);

/// Methods that only types of this crate can implement.
pub(crate) mod sealed {
    use super::Usage;

    pub trait Sealed {
        /// Returns the uses of the memory, which lives as long as one of their handles; `None` for memory that is only
        /// borrowed.
        #[doc(hidden)]
        fn usage(&self) -> Option<&Usage> {
            None
        }
    }
}

/// The events of the last read and the last write; `None` if the program orders uses.
pub struct Uses {
    pub(super) read: Option<CudaEvent>,
    pub(super) write: Option<CudaEvent>,
    memory: Mutex<Option<Box<dyn Memory>>>,
    /// The module that has the memory as a variable.
    code: OnceLock<Weak<dyn Any + Send + Sync>>,
}

/// Memory that is freed after its uses.
pub(super) trait Memory: Send {
    /// Frees the memory. Work on other streams that uses it is in the events.
    fn free(self: Box<Self>, uses: &Uses);
}

impl std::fmt::Debug for Uses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uses").field("read", &self.read).field("write", &self.write).finish_non_exhaustive()
    }
}

impl Uses {
    /// Returns the events that a read waits for.
    fn before_read(&self) -> impl Iterator<Item = &CudaEvent> {
        self.write.iter()
    }

    /// Returns the events that a write, or the end of the memory, waits for.
    pub(super) fn before_write(&self) -> impl Iterator<Item = &CudaEvent> {
        self.read.iter().chain(&self.write)
    }
}

impl Drop for Uses {
    fn drop(&mut self) {
        let memory = self.memory.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(memory) = memory {
            memory.free(self);
        }
    }
}

impl std::ops::Deref for Usage {
    type Target = Uses;

    fn deref(&self) -> &Uses {
        &self.0
    }
}

impl Usage {
    /// Uses of new memory.
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, DriverError> {
        if !context.is_event_tracking() {
            return Ok(Self::untracked());
        }
        Ok(Self::of(Some(context.new_event(None)?), Some(context.new_event(None)?)))
    }

    /// Uses of memory that is not tracked.
    pub(super) fn untracked() -> Self {
        Self::of(None, None)
    }

    fn of(read: Option<CudaEvent>, write: Option<CudaEvent>) -> Self {
        Self(Arc::new(Uses { read, write, memory: Mutex::new(None), code: OnceLock::new() }))
    }

    /// Frees `memory` with the last handle.
    pub(super) fn own(&self, memory: impl Memory + 'static) {
        *self.0.memory.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(memory));
    }

    /// Marks the memory as a variable of a module.
    pub(super) fn set_code(&self, module: Weak<dyn Any + Send + Sync>) {
        // The value is the same each time.
        let _ = self.0.code.set(module);
    }

    /// Returns whether the stream is captured; its graph then keeps the memory.
    pub(super) fn is_kept_on(&self, stream: &CudaStream) -> bool {
        let captured = stream.is_kept_by_capture(|| self.0.clone());
        if let (true, Some(code)) = (captured, self.0.code.get().and_then(Weak::upgrade)) {
            stream.is_kept_by_capture(|| code);
        }
        captured
    }

    /// The memory of something that a graph keeps, if that is memory.
    pub(super) fn of_kept(kept: &Kept) -> Option<Self> {
        Arc::clone(kept).downcast().ok().map(Self)
    }

    /// Gives up the memory, which is no longer freed.
    pub(super) fn disown(&self) {
        let memory = self.0.memory.lock().unwrap_or_else(PoisonError::into_inner).take();
        std::mem::forget(memory);
    }

    /// Makes a stream wait for the events that a read of `owner`'s memory waits for. While the stream is captured, the
    /// graph keeps the memory.
    pub(super) fn read_on<'a>(&'a self, owner: &CudaStream, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        if self.is_kept_on(stream) {
            return SyncOnDrop::Record(None);
        }
        match wait(owner, stream, self.before_read()) {
            Ok(()) => SyncOnDrop::record_event(&self.0.read, stream),
            Err(error) => SyncOnDrop::failed(error, stream),
        }
    }

    /// As [`read_on`](Self::read_on), for a write.
    pub(super) fn write_on<'a>(&'a self, owner: &CudaStream, stream: &'a CudaStream) -> SyncOnDrop<'a> {
        if self.is_kept_on(stream) {
            return SyncOnDrop::Record(None);
        }
        match wait(owner, stream, self.before_write()) {
            Ok(()) => SyncOnDrop::record_event(&self.0.write, stream),
            Err(error) => SyncOnDrop::failed(error, stream),
        }
    }

    /// Makes a stream wait for all uses, before the launch of a graph that uses the memory.
    pub(super) fn wait_on(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.before_write().try_for_each(|event| stream.wait(event))
    }

    /// Records the launch of a graph that uses the memory.
    pub(super) fn record_on(&self, stream: &CudaStream) -> Result<(), DriverError> {
        self.0.write.as_ref().map_or(Ok(()), |event| event.extend(stream))
    }
}

fn wait<'a>(
    owner: &CudaStream,
    stream: &CudaStream,
    mut events: impl Iterator<Item = &'a CudaEvent>,
) -> Result<(), DriverError> {
    if owner.context().is_managing_stream_synchronization() {
        return events.try_for_each(|event| stream.wait(event));
    }
    Ok(())
}

/// A use of memory by work that a library queues later, on a stream. It keeps the memory and the stream.
#[derive(Debug)]
#[allow(dead_code, reason = "of the features for libraries")]
pub(crate) struct LaterUse {
    usage: Usage,
    stream: Arc<CudaStream>,
    writes: bool,
}

#[allow(dead_code, reason = "of the features for libraries")]
impl LaterUse {
    /// Returns `None` for memory that is only borrowed.
    pub(crate) fn new(memory: &impl sealed::Sealed, stream: &Arc<CudaStream>, writes: bool) -> Option<Self> {
        Some(Self { usage: memory.usage()?.clone(), stream: Arc::clone(stream), writes })
    }

    /// Called before the work is queued: makes the stream wait for earlier uses. Keep the result until the work is
    /// queued.
    pub(crate) fn before(&self) -> SyncOnDrop<'_> {
        if self.usage.is_kept_on(&self.stream) {
            return SyncOnDrop::Record(None);
        }
        let (events, of): (Vec<_>, _) = match self.writes {
            true => (self.usage.before_write().collect(), &self.usage.0.write),
            false => (self.usage.before_read().collect(), &self.usage.0.read),
        };
        let context = self.stream.context();
        if context.is_managing_stream_synchronization() {
            // The work is queued in any case.
            events.iter().for_each(|event| context.record_err(self.stream.wait(event)));
        }
        SyncOnDrop::record_event(of, &self.stream)
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }
}

/// Makes a library call between the guards of its operands. It returns `failed` without the call if the stream cannot
/// use an operand, and also if the use cannot be recorded. [`CudaContext::check_err`] returns the reason, because
/// library statuses have no message.
#[allow(dead_code, reason = "of the features for libraries")]
pub(crate) fn between<R, E, const N: usize>(
    failed: E,
    context: &CudaContext,
    mut guards: [SyncOnDrop<'_>; N],
    call: impl FnOnce() -> Result<R, E>,
) -> Result<R, E> {
    let ready = guards.iter_mut().map(SyncOnDrop::ready).fold(Ok(()), Result::and);
    if let Err(reason) = ready {
        context.record_err(Err::<(), _>(reason));
        return Err(failed);
    }
    let queued = call()?;
    match guards.into_iter().map(SyncOnDrop::finish).fold(Ok(()), Result::and) {
        Ok(()) => Ok(queued),
        Err(reason) => {
            context.record_err(Err::<(), _>(reason));
            Err(failed)
        }
    }
}

/// Returns the address of memory for work that is ordered; null for work that must not be queued.
pub(super) fn address<'a>(ptr: sys::CUdeviceptr, used: SyncOnDrop<'a>) -> (sys::CUdeviceptr, SyncOnDrop<'a>) {
    (if matches!(used, SyncOnDrop::Failed(_)) { 0 } else { ptr }, used)
}

/// Returns the error for memory that a graph cannot keep.
pub(super) fn not_captured() -> DriverError {
    DriverError(sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// The action after work was queued: dropping it records an event, or waits for the stream.
#[derive(Debug)]
#[must_use]
pub enum SyncOnDrop<'a> {
    /// Records the event on the stream.
    Record(Option<(&'a CudaEvent, &'a CudaStream)>),
    /// Blocks until the work of the stream is done, unless the stream is captured.
    Sync(Option<&'a CudaStream>),
    /// Records the event on the stream, even if no other streams exist: the host waits for it. cudarc lacks this
    /// variant.
    RecordAlways(Option<(&'a CudaEvent, &'a CudaStream)>),
    /// The stream could not be made to wait, or its graph cannot keep the memory. cudarc lacks this variant.
    Failed(Option<(DriverError, &'a CudaStream)>),
}

impl<'a> SyncOnDrop<'a> {
    /// Records the event, if any, when this is dropped.
    pub fn record_event(event: &'a Option<CudaEvent>, stream: &'a CudaStream) -> Self {
        Self::Record(event.as_ref().map(|event| (event, stream)))
    }

    /// Blocks until the work of the stream is done when this is dropped.
    pub fn sync_stream(stream: &'a CudaStream) -> Self {
        Self::Sync(Some(stream))
    }

    /// Records the event when this is dropped, even if no other streams exist: for events that the host waits for.
    pub(super) fn always(event: &'a CudaEvent, stream: &'a CudaStream) -> Self {
        Self::RecordAlways(Some((event, stream)))
    }

    /// A guard of work that must not be queued.
    pub(super) fn failed(error: DriverError, stream: &'a CudaStream) -> Self {
        Self::Failed(Some((error, stream)))
    }

    /// Returns `Ok` if the work may be queued. Otherwise it returns the error, which no other call returns again.
    pub(super) fn ready(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Failed(target) => target.take().map_or(Ok(()), |(error, _)| Err(error)),
            _ => Ok(()),
        }
    }

    /// Runs the action of `Drop` now, and returns its error.
    pub(crate) fn finish(mut self) -> Result<(), DriverError> {
        self.act()
    }

    fn act(&mut self) -> Result<(), DriverError> {
        match self {
            Self::Record(target) => match target.take() {
                Some((event, stream)) if stream.context().is_managing_stream_synchronization() => event.extend(stream),
                _ => Ok(()),
            },
            Self::RecordAlways(target) => target.take().map_or(Ok(()), |(event, stream)| event.extend(stream)),
            Self::Sync(target) => match target.take() {
                Some(stream) if !stream.is_captured() => stream.synchronize(),
                _ => Ok(()),
            },
            Self::Failed(target) => target.take().map_or(Ok(()), |(error, _)| Err(error)),
        }
    }
}

impl Drop for SyncOnDrop<'_> {
    fn drop(&mut self) {
        let context = match self {
            Self::Record(Some((_, stream))) | Self::RecordAlways(Some((_, stream))) | Self::Sync(Some(stream)) => {
                stream.context()
            }
            Self::Failed(Some((_, stream))) => stream.context(),
            _ => return,
        };
        context.record_err(self.act());
    }
}
