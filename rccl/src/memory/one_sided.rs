//! One-sided operations: a rank writes to another's window, which does not take part, and signals it.
//!
//! Since ROCm 10.0. No library of that release was at hand: the calls are those of the declarations, and were not run.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use hip::interop::{Uses, call_on_streams};
use hip::{DeviceBuffer, DeviceSlice, Pod};

use super::library::Registration;
use super::{Window, library};
use crate::communicator::{Communicator, check_rank};
use crate::element::DataType;
use crate::error::{Context, Error, Result, check};
use crate::handle::Handle;
use crate::raw::{self, RawStream, RawWaitSignal, RawWindow, ncclComm_t, ncclResult_t};

/// A window that other ranks write to: of [`Window::into_target`].
///
/// Other ranks may write to it until all have [closed](Self::close) theirs. One that is dropped without that leaks its buffer.
///
/// ```no_run
/// # use rccl::Communicator;
/// # fn each_rank(rank: &Communicator) -> rccl::Result<()> {
/// let (next, last) = ((rank.rank() + 1) % rank.size(), (rank.rank() + rank.size() - 1) % rank.size());
/// let mut target = rank.window(rank.allocate::<f32>(1000)?, true)?.into_target()?;
/// let own = rank.allocate::<f32>(10)?;
/// target.put(&own, next, 500)?; // to elements 500 to 509 of the next rank's window
/// target.wait(&[(last, 1)])?; // until the last rank has written to this one
/// let numbers = target.as_slice(); // with its elements
/// # drop(numbers);
/// target.close()?;
/// # Ok(()) }
/// ```
#[must_use = "the buffer is leaked unless the target is closed"]
#[doc(alias("ncclPutSignal", "ncclSignal", "ncclWaitSignal"))]
pub struct Target<'a, T: Pod> {
    /// There until it is closed.
    window: ManuallyDrop<Window<'a, T>>,
}

impl<'a, T: Pod> Window<'a, T> {
    /// Lets other ranks write to it. All ranks do so.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] before ROCm 10.0; [`Error::Invalid`] if the library does not [use](Self::is_used) the window; those of
    /// [`Communicator::barrier`], after which the buffer is leaked.
    pub fn into_target(self) -> Result<Target<'a, T>> {
        ["ncclPutSignal", "ncclSignal", "ncclWaitSignal"].into_iter().try_for_each(library::expect)?;
        if !self.is_used() {
            return Err(Error::invalid("a window", "one that the library makes no use of", "registered"));
        }
        let communicator = self.0.communicator;
        let target = Target { window: ManuallyDrop::new(self) };
        // Nobody writes before all have agreed.
        communicator.barrier()?;
        Ok(target)
    }
}

impl<T: Pod> Target<'_, T> {
    fn communicator(&self) -> &Communicator {
        self.window.0.communicator
    }

    /// All of the buffer. After [`wait`](Self::wait), reading it waits for the signals.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.window.as_slice()
    }

    /// Writes elements to a rank's window, from its element `at` on, and signals the rank (`ncclPutSignal`).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank that is not there, and for elements beyond the window's end; [`Error::InGroup`]; those of
    /// [`Group::end`](crate::Group::end).
    #[doc(alias = "ncclPutSignal")]
    pub fn put<'b>(&'b self, send: impl Into<DeviceSlice<'b, T>>, peer: usize, at: usize) -> Result<()> {
        let (send, communicator, len) = (send.into(), self.communicator(), self.as_slice().len());
        check_rank(peer, communicator.size())?;
        if at.checked_add(send.len()).is_none_or(|end| end > len) {
            let found = format!("{} from element {at} on", send.len());
            return Err(Error::invalid("the elements to write", found, format!("within the {len} of the window")));
        }
        let (data_type, each) = DataType::to_move::<T>();
        let (count, offset) = (send.len() * each, at * size_of::<T>());
        let mut uses = Uses::on(communicator.stream());
        let send = uses.read("the elements to write", send)?.cast();
        let put = Put { window: &self.window.0.registration, send, count, data_type, peer, offset };
        // SAFETY: memory of so many elements, kept until the work is done. The peer's window is as large as this one, which was checked when they were
        // made, and stays until all ranks close theirs.
        queue(communicator, uses, |handle, stream| unsafe { self::put(handle, stream, &put) })
    }

    /// Signals a rank (`ncclSignal`): after all that was [put](Self::put) there before.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    #[doc(alias = "ncclSignal")]
    pub fn signal(&self, peer: usize) -> Result<()> {
        let communicator = self.communicator();
        let uses = Uses::on(communicator.stream());
        // SAFETY: the stream is the communicator's.
        queue(communicator, uses, |handle, stream| unsafe { self::signal(handle, stream, peer) })
    }

    /// Has the communicator's stream wait for so many signals of these ranks (`ncclWaitSignal`). What is queued afterwards, and what reads the buffer, sees
    /// what was put with them.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no ranks, for one that is not there, and for no signals; those of [`put`](Self::put).
    #[doc(alias = "ncclWaitSignal")]
    pub fn wait(&mut self, signals: &[(usize, usize)]) -> Result<()> {
        let communicator = self.window.0.communicator;
        let mut uses = Uses::on(communicator.stream());
        // Its elements are those of other ranks from then on.
        uses.write("the window", self.window.as_slice_mut())?;
        // SAFETY: the stream is the communicator's.
        queue(communicator, uses, |handle, stream| unsafe { self::wait(handle, stream, signals) })
    }

    /// Waits for the communicator's work and for all ranks to do the same, and gives the buffer back.
    ///
    /// # Errors
    /// Those of [`Communicator::barrier`] and [`Window::close`]. The buffer is leaked then.
    pub fn close(self) -> Result<DeviceBuffer<T>> {
        let communicator = self.window.0.communicator;
        // What this rank has put is there, and so is what the others have.
        communicator.synchronize()?;
        communicator.barrier()?;
        ManuallyDrop::into_inner(self.window).close()
    }
}

impl<T: Pod> fmt::Debug for Target<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&*self.window).finish()
    }
}

/// Queues one operation on the communicator's stream.
fn queue<'a>(
    communicator: &'a Communicator,
    mut uses: Uses<'a>,
    call: impl FnOnce(&Arc<Handle>, RawStream) -> Result<()>,
) -> Result<()> {
    communicator.refuse_in_group("a one-sided operation")?;
    if let Some(tracked) = communicator.tracked() {
        uses.tracked(tracked);
    }
    let stream = communicator.stream().as_raw().cast();
    // SAFETY: the library queues its work on this stream, and uses nothing but what was named: on this rank.
    unsafe { call_on_streams(&[uses], || call(&communicator.handle, stream)) }
}

/// What is written to a rank's window.
pub(super) struct Put<'a> {
    pub(super) window: &'a Registration,
    pub(super) send: *const c_void,
    pub(super) count: usize,
    pub(super) data_type: DataType,
    pub(super) peer: usize,
    /// In bytes.
    pub(super) offset: usize,
}

/// # Safety
/// That of [`foreign::Communicator::put`](crate::foreign::Communicator::put).
pub(super) unsafe fn put(handle: &Arc<Handle>, stream: RawStream, put: &Put<'_>) -> Result<()> {
    let Put { window, send, count, data_type, peer, offset } = *put;
    check_rank(peer, handle.size())?;
    let room = window.target(handle)?;
    if count == 0 {
        // SAFETY: the caller's.
        return unsafe { signal(handle, stream, peer) };
    }
    let bytes = count.checked_mul(data_type.size());
    if !bytes.and_then(|bytes| offset.checked_add(bytes)).is_some_and(|end| end <= room) {
        let found = format!("{count} {data_type:?} from byte {offset} on");
        return Err(Error::invalid("the elements to write", found, format!("within the {room} bytes of the window")));
    }
    // NCCL refuses other sources. On a communicator that does not block, its refusal would end the communicator.
    let bytes = bytes.unwrap_or(0);
    let from = send.addr();
    if !handle.windows().iter().any(|of| of.contains(&from) && of.end - from >= bytes) {
        let found = format!("{bytes} bytes at {send:?}");
        return Err(Error::invalid("the memory to write from", found, "within a symmetric window of the communicator"));
    }
    let window: RawWindow = window.raw();
    let asked = format!("{count} {data_type:?}");
    let context = Context { call: "put", peer: Some(peer), asked, ..Context::default() };
    make(handle, context, "ncclPutSignal", |comm| {
        let (ty, peer) = (data_type.as_raw(), peer as c_int);
        // SAFETY: the caller's. Signal, context and flags are 0, as the library demands.
        unsafe { raw::ncclPutSignal(send, count, ty, peer, window, offset, 0, 0, 0, comm, stream) }
    })
}

/// # Safety
/// The stream is alive, and of the communicator's device.
pub(super) unsafe fn signal(handle: &Arc<Handle>, stream: RawStream, peer: usize) -> Result<()> {
    check_rank(peer, handle.size())?;
    let context = Context { call: "signal", peer: Some(peer), ..Context::default() };
    make(handle, context, "ncclSignal", |comm| {
        // SAFETY: the caller's.
        unsafe { raw::ncclSignal(peer as c_int, 0, 0, 0, comm, stream) }
    })
}

/// # Safety
/// The stream is alive, and of the communicator's device.
pub(super) unsafe fn wait(handle: &Arc<Handle>, stream: RawStream, signals: &[(usize, usize)]) -> Result<()> {
    let mut list = signals
        .iter()
        .map(|(peer, count)| {
            check_rank(*peer, handle.size())?;
            let number = c_int::try_from(*count).ok().filter(|count| *count > 0);
            let number = number.ok_or_else(|| {
                Error::invalid("a number of signals", count.to_string(), "1 or more, and less than 2^31")
            })?;
            Ok(RawWaitSignal { count: number, peer: *peer as c_int, signal: 0, context: 0 })
        })
        .collect::<Result<Vec<_>>>()?;
    if list.is_empty() {
        return Err(Error::invalid("the list of signals", "empty", "one rank or more"));
    }
    let context = Context { call: "wait", asked: format!("{signals:?}"), ..Context::default() };
    make(handle, context, "ncclWaitSignal", |comm| {
        // SAFETY: so many entries, which are read before the call returns; the rest is the caller's.
        unsafe { raw::ncclWaitSignal(list.len() as c_int, list.as_mut_ptr(), comm, stream) }
    })
}

/// Makes a call, and waits until the library has queued its work.
fn make(
    handle: &Arc<Handle>,
    context: Context,
    function: &'static str,
    call: impl FnOnce(ncclComm_t) -> ncclResult_t,
) -> Result<()> {
    let _calls = handle.calls();
    let context = Context { rank: handle.rank(), size: handle.size(), ..context };
    let asked = context.to_string();
    handle.note(context);
    let live = handle.live()?;
    let status = call(live.comm);
    drop(live);
    let made = check(status, function, || asked);
    // The library has nothing to do if it has no such function.
    if matches!(made, Err(Error::NoSymbol { .. } | Error::NoLibrary { .. })) {
        return made;
    }
    handle.wait_ready().and(made)
}

#[cfg(all(test, feature = "rocm-10-0"))]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn signals_to_wait_for_have_the_layout_of_c() {
        use rccl_sys::ncclWaitSignalDesc_t as Theirs;
        assert_eq!(size_of::<RawWaitSignal>(), size_of::<Theirs>());
        assert_eq!(offset_of!(RawWaitSignal, count), offset_of!(Theirs, opCnt));
        assert_eq!(offset_of!(RawWaitSignal, peer), offset_of!(Theirs, peer));
        assert_eq!(offset_of!(RawWaitSignal, signal), offset_of!(Theirs, sigIdx));
        assert_eq!(offset_of!(RawWaitSignal, context), offset_of!(Theirs, ctx));
    }
}
