//! One-sided operations: a rank writes to the window of another, which does not take part, and signals it.
//!
//! Since ROCm 10.0, NCCL 2.29. The calls of [`foreign::Communicator`](crate::foreign::Communicator) were tested with
//! NCCL (`NCCL.md`); no RCCL with these functions was available.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use hip::interop::{Uses, call_on_streams};
use hip::{DeviceBuffer, DeviceSlice, IntoSlice, Pod};

use super::library::Registration;
use super::{Window, library};
use crate::communicator::{Communicator, check_rank};
use crate::element::DataType;
use crate::error::{Context, Error, Result, check};
use crate::handle::Handle;
use crate::raw::{self, RawStream, RawWaitSignal, RawWindow, ncclComm_t, ncclResult_t};

/// A window that other ranks write to. [`Window::into_target`] creates it.
///
/// Other ranks may write to it until all have [closed](Self::close) theirs. Dropping one without closing it leaks its
/// buffer.
///
/// The data of a put must be in a symmetric window, too: the library rejects other memory. Operations of a communicator
/// run one after the other. Those from one rank to another arrive in the order of the calls.
///
/// ```no_run
/// # use rccl::Communicator;
/// # fn each_rank(rank: &Communicator) -> rccl::Result<()> {
/// let (next, last) = ((rank.rank() + 1) % rank.size(), (rank.rank() + rank.size() - 1) % rank.size());
/// let mut target = rank.window(rank.allocate::<f32>(1000)?, true)?.into_target()?;
/// let own = rank.window(rank.allocate::<f32>(10)?, true)?;
/// target.put(own.as_slice(), next, 500)?; // to elements 500 to 509 of the next rank's window
/// target.wait(&[(last, 1)])?; // until the last rank has written to this one
/// let numbers = target.as_slice(); // with its elements
/// # drop(numbers);
/// target.close()?;
/// # Ok(()) }
/// ```
#[must_use = "the buffer is leaked unless the target is closed"]
#[doc(alias("ncclPutSignal", "ncclSignal", "ncclWaitSignal"))]
pub struct Target<'a, T: Pod> {
    /// Present until it is closed.
    window: ManuallyDrop<Window<'a, T>>,
}

impl<'a, T: Pod> Window<'a, T> {
    /// Allows other ranks to write to it. All ranks must call it, each on its own thread.
    ///
    /// # Errors
    /// [`Error::NoSymbol`] before ROCm 10.0; [`Error::Invalid`] if the window is not symmetric, and if the library does
    /// not [use](Self::is_used) it; the errors of [`Target::signal`] and of [`Communicator::barrier`], after which the
    /// buffer is leaked.
    pub fn into_target(self) -> Result<Target<'a, T>> {
        ["ncclPutSignal", "ncclSignal", "ncclWaitSignal"].into_iter().try_for_each(library::expect)?;
        let communicator = self.0.communicator;
        self.0.registration.target(&communicator.handle)?;
        let mut target = Target { window: ManuallyDrop::new(self) };
        // The first operation of a communicator waits for that of every rank (NCCL 2.29).
        let (rank, size) = (communicator.rank(), communicator.size());
        target.signal((rank + 1) % size)?;
        target.wait(&[((rank + size - 1) % size, 1)])?;
        // No rank writes before all have agreed.
        communicator.barrier()?;
        Ok(target)
    }
}

impl<T: Pod> Target<'_, T> {
    fn communicator(&self) -> &Communicator {
        self.window.0.communicator
    }

    /// Returns the whole buffer. After [`wait`](Self::wait), reading it waits for the signals.
    #[must_use]
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.window.as_slice()
    }

    /// Writes elements to a rank's window, starting at element `at`, and signals the rank (`ncclPutSignal`). Without
    /// elements, it only [signals](Self::signal).
    ///
    /// `send` must be in a symmetric [`Window`] of this communicator, or in a target.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a rank that does not exist, for elements beyond the window's end, and for elements that
    /// are not in a symmetric window; [`Error::InGroup`]; the errors of [`Group::end`](crate::Group::end).
    #[doc(alias = "ncclPutSignal")]
    pub fn put<'b>(&'b self, send: impl IntoSlice<'b, T>, peer: usize, at: usize) -> Result<()> {
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
        // SAFETY: memory of this many elements, kept until the work is done. The peer's window is as large as this one, which was checked
        // when they were made, and stays until all ranks close theirs.
        queue(communicator, uses, |handle, stream| unsafe { self::put(handle, stream, &put) })
    }

    /// Signals a rank (`ncclSignal`), after all earlier [puts](Self::put) to it.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put).
    #[doc(alias = "ncclSignal")]
    pub fn signal(&self, peer: usize) -> Result<()> {
        let communicator = self.communicator();
        let uses = Uses::on(communicator.stream());
        // SAFETY: the stream is the communicator's.
        queue(communicator, uses, |handle, stream| unsafe { self::signal(handle, stream, peer) })
    }

    /// Makes the communicator's stream wait for this many signals from these ranks (`ncclWaitSignal`). Work that is
    /// queued afterwards, and reads of the buffer, see the data that was put with them.
    ///
    /// Each signal is waited for once: a rank counts the signals of each other rank separately. If a signal never
    /// comes, the stream never continues: aborting the communicator does not end the wait, and only the end of the
    /// process does (NCCL 2.32).
    ///
    /// # Errors
    /// [`Error::Invalid`] for an empty list of ranks, for a rank that does not exist, and for 0 signals; the errors of
    /// [`put`](Self::put).
    #[doc(alias = "ncclWaitSignal")]
    pub fn wait(&mut self, signals: &[(usize, usize)]) -> Result<()> {
        let communicator = self.window.0.communicator;
        let mut uses = Uses::on(communicator.stream());
        // Other ranks write its elements from then on.
        uses.write("the window", self.window.as_slice_mut())?;
        // SAFETY: the stream is the communicator's.
        queue(communicator, uses, |handle, stream| unsafe { self::wait(handle, stream, signals) })
    }

    /// Waits for the communicator's work and until all ranks do the same, and returns the buffer.
    ///
    /// # Errors
    /// The errors of [`Communicator::barrier`] and [`Window::close`], after which the buffer is leaked.
    pub fn close(self) -> Result<DeviceBuffer<T>> {
        let communicator = self.window.0.communicator;
        // The puts of this rank have arrived, and so have those of the others.
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
    // SAFETY: on this rank, the library queues its work on this stream, and uses only the named memory.
    unsafe { call_on_streams(&[uses], || call(&communicator.handle, stream)) }
}

/// A write to a rank's window.
pub(super) struct Put<'a> {
    pub(super) window: &'a Registration,
    pub(super) send: *const c_void,
    pub(super) count: usize,
    pub(super) data_type: DataType,
    pub(super) peer: usize,
    /// In bytes.
    pub(super) offset: usize,
}

impl Put<'_> {
    /// Returns an error for operations that the library would reject, or that would write beyond the window.
    fn check(&self, handle: &Arc<Handle>) -> Result<()> {
        let Self { window, send, count, data_type, peer, offset } = *self;
        check_rank(peer, handle.size())?;
        let room = window.target(handle)?;
        let bytes = count
            .checked_mul(data_type.size())
            .filter(|bytes| offset.checked_add(*bytes).is_some_and(|end| end <= room));
        let Some(bytes) = bytes else {
            let found = format!("{count} {data_type:?} from byte {offset} on");
            return Err(Error::invalid("what is written", found, format!("within the {room} bytes of the window")));
        };
        // An error of the library would end a communicator that does not block.
        let from = send.addr();
        if count != 0 && !handle.windows().iter().any(|of| of.contains(&from) && of.end - from >= bytes) {
            let found = format!("{bytes} bytes at {send:?}");
            return Err(Error::invalid("what is written", found, "in a symmetric window of the communicator"));
        }
        Ok(())
    }
}

/// # Safety
/// The requirements of [`foreign::Communicator::put`](crate::foreign::Communicator::put).
pub(super) unsafe fn put(handle: &Arc<Handle>, stream: RawStream, put: &Put<'_>) -> Result<()> {
    put.check(handle)?;
    let Put { window, send, count, data_type, peer, offset } = *put;
    if count == 0 {
        // SAFETY: as the caller ensures.
        return unsafe { signal(handle, stream, peer) };
    }
    let window: RawWindow = window.raw();
    let asked = format!("{count} {data_type:?}");
    let context = Context { call: "put", peer: Some(peer), asked, ..Context::default() };
    make(handle, context, "ncclPutSignal", |comm| {
        let (ty, peer) = (data_type.as_raw(), peer as c_int);
        // SAFETY: as the caller ensures. Signal, context and flags are 0, as the library requires.
        unsafe { raw::ncclPutSignal(send, count, ty, peer, window, offset, 0, 0, 0, comm, stream) }
    })
}

/// # Safety
/// The stream must be alive, and of the communicator's device.
pub(super) unsafe fn signal(handle: &Arc<Handle>, stream: RawStream, peer: usize) -> Result<()> {
    check_rank(peer, handle.size())?;
    let context = Context { call: "signal", peer: Some(peer), ..Context::default() };
    make(handle, context, "ncclSignal", |comm| {
        // SAFETY: as the caller ensures.
        unsafe { raw::ncclSignal(peer as c_int, 0, 0, 0, comm, stream) }
    })
}

/// # Safety
/// The stream must be alive, and of the communicator's device.
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
        // SAFETY: a list of this length, which is read before the call returns; the caller ensures the rest.
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
    let watch = handle.watch_call();
    let live = handle.live()?;
    let status = call(live.comm);
    drop(live);
    let made = check(status, function, || asked);
    // If the library lacks the function, it has nothing to do.
    if matches!(made, Err(Error::NoSymbol { .. } | Error::NoLibrary { .. })) {
        return made;
    }
    let waited = handle.wait_ready();
    handle.end_watch(watch).and(waited).and(made)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::handle::Kept;

    /// Returns the error of a put with this many numbers, before any call of the library.
    fn refused(window: &Registration, handle: &Arc<Handle>, (send, count): (usize, usize), peer: usize, offset: usize) {
        let put =
            Put { window, send: std::ptr::without_provenance(send), count, data_type: DataType::F32, peer, offset };
        // SAFETY: the put is rejected before the call.
        let error = unsafe { super::put(handle, std::ptr::null_mut(), &put) }.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }), "{error}");
    }

    #[test]
    fn a_put_is_within_its_windows() {
        let new = || Handle::new(0, 2, Duration::from_secs(1), true, Kept::default());
        let (handle, other) = (new(), new());
        let window = Registration::of_addresses(&handle, Some(4096..8192));
        // From the last four bytes to the first: all arguments are valid, but no library is loaded.
        let right = |send, count, offset| {
            let put = Put {
                window: &window,
                send: std::ptr::without_provenance(send),
                count,
                data_type: DataType::F32,
                peer: 1,
                offset,
            };
            let within = put.check(&handle);
            assert!(within.is_ok(), "{within:?}");
        };
        right(8188, 1, 0);
        right(4096, 1024, 0);
        right(4096, 1, 4092);
        refused(&window, &handle, (4096, 1), 2, 0);
        refused(&window, &handle, (4096, 1), 1, 4093);
        refused(&window, &handle, (4096, 2), 1, usize::MAX - 3);
        refused(&window, &handle, (4096, usize::MAX / 2), 1, 0);
        refused(&window, &handle, (8188, 2), 1, 0);
        refused(&window, &handle, (4092, 1), 1, 0);
        refused(&window, &handle, (8192, 1), 1, 0);
        refused(&window, &other, (4096, 1), 1, 0);
        refused(&Registration::of_addresses(&handle, None), &handle, (4096, 1), 1, 0);
        drop(window);
    }

    #[cfg(feature = "rocm-10-0")]
    #[test]
    fn signals_to_wait_for_have_the_layout_of_c() {
        use std::mem::offset_of;

        use rccl_sys::ncclWaitSignalDesc_t as Theirs;
        assert_eq!(size_of::<RawWaitSignal>(), size_of::<Theirs>());
        assert_eq!(offset_of!(RawWaitSignal, count), offset_of!(Theirs, opCnt));
        assert_eq!(offset_of!(RawWaitSignal, peer), offset_of!(Theirs, peer));
        assert_eq!(offset_of!(RawWaitSignal, signal), offset_of!(Theirs, sigIdx));
        assert_eq!(offset_of!(RawWaitSignal, context), offset_of!(Theirs, ctx));
    }
}
