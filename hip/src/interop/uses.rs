//! The operands of a library call, and the call.

use std::fmt;
use std::result;

use hip_sys::hipStream_t;
use smallvec::SmallVec;

use super::Tracked;
use crate::core::device::Device;
use crate::core::error::{Error, Result};
use crate::core::lost;
use crate::core::releases::one_at_a_time;
use crate::memory::{Admission, Allocation, IntoSlice, IntoSliceMut, PinnedSlice, PinnedSliceMut};
use crate::stream::usage::{Access, AccessKind};
use crate::stream::{Stream, idle};

/// The operands of one library call on a stream.
///
/// Name every operand with [`read`](Self::read), [`write`](Self::write) and similar methods, which return the address
/// to pass to the library, then make the call. Name managed memory as device memory (`&ManagedBuffer`), or as pinned
/// memory to get its host address.
///
/// The memory is borrowed until the call has returned. After that it may be dropped: its buffer waits for the work.
pub struct Uses<'a> {
    stream: &'a Stream,
    accesses: SmallVec<[Access<'a>; 8]>,
    /// Memory of other devices, whose admission is checked when the work is queued.
    foreign: SmallVec<[Foreign<'a>; 1]>,
}

struct Foreign<'a> {
    memory: &'a Allocation,
    kind: AccessKind,
    what: &'static str,
}

impl<'a> Uses<'a> {
    /// Creates a list without operands, on a stream.
    #[must_use]
    #[inline]
    pub fn on(stream: &'a Stream) -> Self {
        Self { stream, accesses: SmallVec::new(), foreign: SmallVec::new() }
    }

    /// Returns the stream.
    #[must_use]
    pub fn stream(&self) -> &'a Stream {
        self.stream
    }

    /// Adds device memory that the call reads. `what` names the operand in errors. Returns its address on the device.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream's device cannot read the memory.
    #[inline]
    pub fn read<T: 'a>(&mut self, what: &'static str, memory: impl IntoSlice<'a, T>) -> Result<*const T> {
        let memory = memory.into();
        self.note(what, memory.memory(), memory.access())?;
        Ok(memory.pointer().cast_const().cast())
    }

    /// Adds device memory that the call writes, and may read. Returns its address on the device.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream's device cannot write to the memory.
    #[inline]
    pub fn write<T: 'a>(&mut self, what: &'static str, memory: impl IntoSliceMut<'a, T>) -> Result<*mut T> {
        let memory = memory.into();
        self.note(what, memory.memory(), memory.access())?;
        Ok(memory.pointer().cast())
    }

    /// Adds pinned, registered or managed memory that the call reads. Returns its address on the host.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream's device cannot read the memory.
    pub fn read_pinned<T: 'a>(
        &mut self,
        what: &'static str,
        memory: impl Into<PinnedSlice<'a, T>>,
    ) -> Result<*const T> {
        let memory = memory.into();
        self.note(what, memory.memory(), memory.access())?;
        Ok(memory.pointer().cast_const().cast())
    }

    /// Adds pinned, registered or managed memory that the call writes, and may read. Returns its address on the host.
    ///
    /// # Errors
    /// [`Error::WrongDevice`] if the stream's device cannot write to the memory.
    pub fn write_pinned<T: 'a>(
        &mut self,
        what: &'static str,
        memory: impl Into<PinnedSliceMut<'a, T>>,
    ) -> Result<*mut T> {
        let memory = memory.into();
        self.note(what, memory.memory(), memory.access())?;
        Ok(memory.pointer().cast())
    }

    /// Adds a resource of the library that the call uses exclusively: work of other calls that use it comes before or
    /// after this call's.
    #[inline]
    pub fn tracked(&mut self, tracked: &'a Tracked) {
        self.accesses.push(Access::write(&tracked.0));
    }

    /// Adds a resource of the library that the call only reads: it is kept, and calls on other streams may use it
    /// concurrently.
    #[inline]
    pub fn tracked_shared(&mut self, tracked: &'a Tracked) {
        self.accesses.push(Access::read(&tracked.0));
    }

    /// Like [`read`](Self::read), for memory whose content was checked, and on which the call relies: indices, offsets,
    /// a structure. `what` names the content, as a plural.
    ///
    /// A graph that is captured with it relies on the content for as long as it can be launched. Until then, writing to
    /// this memory is an [`Error::Graph`], in other graphs and directly, even after the borrow has ended. The content
    /// must have been checked after [`expect_unwritten`](crate::DeviceSlice::expect_unwritten), within the same borrow.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn read_trusted<T: 'a>(&mut self, what: &'static str, memory: impl IntoSlice<'a, T>) -> Result<*const T> {
        let memory = memory.into();
        self.note(what, memory.memory(), Access::read_trusted(memory.usage(), memory.span(), what))?;
        Ok(memory.pointer().cast_const().cast())
    }

    #[inline]
    fn note(&mut self, what: &'static str, memory: &'a Allocation, access: Access<'a>) -> Result<()> {
        let admission = memory.admit(self.stream.device(), access.kind, what)?;
        if !admission.is_own() {
            self.foreign.push(Foreign { memory, kind: access.kind, what });
        }
        self.accesses.push(access);
        Ok(())
    }

    pub(crate) fn from_accesses(stream: &'a Stream, accesses: &[Access<'a>]) -> Self {
        Self { stream, accesses: SmallVec::from_slice(accesses), foreign: SmallVec::new() }
    }

    /// Returns the admission, which is held until the work is queued.
    #[inline]
    fn admit(&self) -> Result<Admission> {
        let mut held = Admission::OWN;
        for Foreign { memory, kind, what } in &self.foreign {
            let admission = memory.admit(self.stream.device(), *kind, what)?;
            // The first admission covers all others while it is held.
            if held.is_own() {
                held = admission;
            }
        }
        Ok(held)
    }

    /// Makes a call that queues work, after all conflicting work, with the stream's device current. `call` gets the C
    /// stream. Its result is returned, errors included; the uses are recorded in any case.
    ///
    /// While the stream is captured, the work goes into the graph. If `call` fails then and has left a part of its work in the
    /// graph, the capture returns [`Error::Capture`] when it ends.
    ///
    /// The stream is locked meanwhile. `call` must not wait for other threads or for the device, and must not call this
    /// crate: [`call_blocking`](Self::call_blocking) is for functions that may wait.
    ///
    /// # Errors
    /// The error of `call`; an [`Error`] of this crate, converted, if the call could not be made.
    ///
    /// # Safety
    /// The work that `call` queues must be on the stream that it gets, access only the named memory, and write only to
    /// memory that was named as written. `call` must not change the stream's state, or begin or end a capture.
    #[inline]
    pub unsafe fn call<R, E: From<Error>>(
        self,
        call: impl FnOnce(hipStream_t) -> result::Result<R, E>,
    ) -> result::Result<R, E> {
        let _admitted = self.admit()?;
        let mut returned = None;
        self.stream.inner.submit_call(&self.accesses, |raw| {
            let _one = one_at_a_time();
            returned.insert(call(raw)).is_ok()
        })?;
        returned.unwrap_or_else(|| Err(not_made().into()))
    }

    /// Like [`call`](Self::call), for a function that may wait for the device, for other ranks or for other threads, or
    /// that makes blocking copies. The stream is not locked: other threads may use it. The call must not call this
    /// crate with this stream.
    ///
    /// # Errors
    /// Those of [`call`](Self::call); [`Error::Capture`] while the stream is captured, as it cannot be waited for then.
    ///
    /// # Safety
    /// That of [`call`](Self::call).
    pub unsafe fn call_blocking<R, E: From<Error>>(
        self,
        call: impl FnOnce(hipStream_t) -> result::Result<R, E>,
    ) -> result::Result<R, E> {
        let stream = self.stream;
        on_streams(&[self], "a call that may wait", || {
            stream.device().activate()?;
            call(stream.inner.raw())
        })
    }

    /// Like [`call_blocking`](Self::call_blocking), for a function that waits in the runtime for the whole device or
    /// uses its default stream: one that frees memory, waits for the device, or makes blocking copies. See
    /// [`wait_for_device`].
    ///
    /// # Errors
    /// Those of [`call`](Self::call); [`Error::Capture`] while the stream is captured, or this thread captures another.
    ///
    /// # Safety
    /// That of [`call`](Self::call).
    pub unsafe fn call_waiting_for_device<R, E: From<Error>>(
        self,
        call: impl FnOnce(hipStream_t) -> result::Result<R, E>,
    ) -> result::Result<R, E> {
        const WHAT: &str = "a call that may wait for the device";
        let (stream, uses, mut call) = (self.stream, [self], Some(call));
        loop {
            idle::wait_to_be_apart(WHAT)?;
            // Wait outside of this closure, which keeps the stream from other threads.
            let made = on_streams(&uses, WHAT, || {
                stream.device().activate()?;
                idle::try_apart(|| call.take().map(|call| call(stream.inner.raw()))).flatten().transpose()
            })?;
            if let Some(made) = made {
                return Ok(made);
            }
        }
    }

    /// Like [`call_blocking`](Self::call_blocking), for a function that queues a host function of the library.
    ///
    /// The library may take a lock in that host function that its calls take too. If another thread waits for the
    /// device at the same time, such a call does not return, and HIP waits for the host function: a deadlock. So calls
    /// that wait for the device ([`wait_for_device`], and freeing memory) are not made at the same time, nor before
    /// that work is done.
    ///
    /// # Errors
    /// Those of [`call_blocking`](Self::call_blocking).
    ///
    /// # Safety
    /// That of [`call`](Self::call).
    pub unsafe fn call_queueing_for_host<R, E: From<Error>>(
        self,
        call: impl FnOnce(hipStream_t) -> result::Result<R, E>,
    ) -> result::Result<R, E> {
        let stream = self.stream;
        let _held = idle::queueing_what_may_be_held()?;
        // SAFETY: the caller ensures it.
        let returned = unsafe { self.call_blocking(call) };
        // A failed call may have queued work too.
        stream.inner.note_held();
        returned
    }

    /// Makes the stream wait for all work that conflicts with the named uses, and records the uses again when the guard
    /// is dropped. For several calls, or for an interface that passes pointers and guards around. The stream's device
    /// is current afterwards.
    ///
    /// # Errors
    /// [`Error::WrongDevice`], [`Error::Capture`] and those of the runtime.
    ///
    /// # Safety
    /// That of [`call`](Self::call), for all work that is queued on the stream's C handle ([`Stream::as_raw`]) until
    /// the guard is dropped. The guard must be dropped, not leaked. Until then, the stream must not begin or leave a
    /// capture.
    pub unsafe fn guard(self) -> Result<Guard<'a>> {
        let _admitted = self.admit()?;
        self.stream.inner.submit_foreign(&self.accesses, |_| Ok(()))?;
        Ok(Guard(self))
    }
}

impl fmt::Debug for Uses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uses").field("stream", self.stream).field("operands", &self.accesses.len()).finish()
    }
}

/// Named memory on which work is being queued; see [`Uses::guard`].
#[must_use = "the uses end when it is dropped"]
#[derive(Debug)]
pub struct Guard<'a>(Uses<'a>);

impl Guard<'_> {
    /// Returns the stream's C handle, for the calls.
    #[must_use]
    pub fn as_raw(&self) -> hipStream_t {
        self.0.stream.inner.raw()
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let stream = &self.0.stream.inner;
        if let Err(error) = lost::quietly(|| stream.submit_foreign(&self.0.accesses, |_| Ok(()))) {
            // The memory does not track this work, so it must be over before anything else uses the memory.
            let _ = lost::quietly(|| stream.wait_all());
            if !lost::is_told(&error) {
                stream.report().put(error);
            }
        }
    }
}

/// Makes a call of another library that waits in the runtime for the whole device, or uses its default stream, and does
/// not use a stream of the caller. The device is current.
///
/// HIP ends the captures of all threads in such a call. It also waits for one stream after the other, and meanwhile no
/// other call on that stream returns. So a host function that waits for a thread which makes such a call never ends.
/// This function makes the call only when no stream is captured and no work waits for the host; a thread that begins
/// either meanwhile waits for the end of the call.
///
/// # Errors
/// The error of `call`; [`Error::Capture`] if this thread captures a stream.
pub fn wait_for_device<R, E: From<Error>>(
    device: &Device,
    call: impl FnOnce() -> result::Result<R, E>,
) -> result::Result<R, E> {
    wait_for_current_device(|| device.with_current(call)?)
}

/// Like [`wait_for_device`], for the device or the context that is current in the thread.
///
/// # Errors
/// Those of [`wait_for_device`].
pub fn wait_for_current_device<R, E: From<Error>>(call: impl FnOnce() -> result::Result<R, E>) -> result::Result<R, E> {
    let mut call = Some(call);
    loop {
        idle::wait_to_be_apart("the call")?;
        if let Some(made) = idle::try_apart(|| call.take().map(|call| call())).flatten() {
            return made;
        }
    }
}

/// Makes a call of HIP that frees memory of other code (`hipFree`, `hipHostFree`). HIP waits for the device in such a call,
/// but does not end captures: unlike [`wait_for_device`], this function does not wait for their end. It waits until no
/// work waits for the host, and no thread is inside of [`queue_for_host`].
///
/// # Errors
/// The error of `call`; [`Error::InHostFunction`] and others for a thread in which HIP cannot be called.
pub fn free_memory<R, E: From<Error>>(call: impl FnOnce() -> result::Result<R, E>) -> result::Result<R, E> {
    let mut call = Some(call);
    loop {
        idle::wait_to_be_unheld()?;
        if let Some(made) = idle::try_unheld(|| call.take().map(|call| call())).flatten() {
            return made;
        }
    }
}

/// Makes a call of another library that queues a host function of the library, on a stream that does not belong to this
/// crate. [`Uses::call_queueing_for_host`] is for streams of this crate.
///
/// The library may hold a lock in the call that its host function takes too. If another thread waits for the device at
/// the same time, HIP does not return from its calls to the library, and waits for the host function: a deadlock. So calls
/// that wait for the device ([`wait_for_device`], [`free_memory`] and destructors of this crate) are not made at the same
/// time: they wait for the end of this call, and this call for theirs. `call` must not make such a call, and must not be
/// part of one.
///
/// # Errors
/// The error of `call`; [`Error::InHostFunction`] and others for a thread in which HIP cannot be called.
pub fn queue_for_host<R, E: From<Error>>(call: impl FnOnce() -> result::Result<R, E>) -> result::Result<R, E> {
    let _queueing = idle::queueing_what_may_be_held()?;
    call()
}

/// Call this before memory is taken from a pool of the device with a call of HIP (`hipMallocAsync`), which allocations of
/// this crate do themselves. It only does something once, and while no stream is captured.
///
/// HIP 7.0 to 7.2 create the default stream of a device in the first allocation, with the lock of the pool held. A thread
/// that waits for the device at the same time takes the same locks in the opposite order: a deadlock.
///
/// # Errors
/// [`Error::InHostFunction`] and others for a thread in which HIP cannot be called.
#[inline]
pub fn prepare_pools(device: &Device) -> Result<()> {
    device.prepare_pools()
}

/// Makes one call that queues work on several streams, of one device or of several: `ncclGroupEnd`, a launch on several
/// devices. Each stream first waits for all work that conflicts with its own uses. The call may wait; no stream is
/// locked.
///
/// `call` must set the current device as needed.
///
/// # Errors
/// The error of `call`; [`Error::Capture`] if a stream is captured; [`Error::WrongDevice`] if an operand is no longer
/// accessible.
///
/// # Safety
/// That of [`Uses::call`], with the C handles of these streams, for each of them.
pub unsafe fn call_on_streams<R, E: From<Error>>(
    uses: &[Uses<'_>],
    call: impl FnOnce() -> result::Result<R, E>,
) -> result::Result<R, E> {
    on_streams(uses, "a call on several streams", call)
}

/// Makes one call on several streams, with the uses of each stream.
pub(crate) fn on_streams<R, E: From<Error>>(
    uses: &[Uses<'_>],
    what: &str,
    call: impl FnOnce() -> result::Result<R, E>,
) -> result::Result<R, E> {
    uses.iter().try_for_each(|uses| uses.stream.inner.refuse_captured(what))?;
    let _admitted = uses.iter().map(Uses::admit).collect::<Result<SmallVec<[Admission; 2]>>>()?;
    for uses in uses {
        uses.stream.inner.submit_foreign(&uses.accesses, |_| Ok(()))?;
    }
    // No capture of these streams begins during the call. All threads lock them in this order.
    let mut streams: SmallVec<[&Stream; 2]> = uses.iter().map(|uses| uses.stream).collect();
    streams.sort_by_key(|stream| stream.inner.id());
    streams.dedup_by_key(|stream| stream.inner.id());
    let direct = streams.iter().map(|stream| stream.inner.direct(what)).collect::<Result<SmallVec<[_; 2]>>>()?;
    let returned = call();
    // Work exists only now, so its uses are recorded here. The borrows have prevented other uses. A failed call may have queued some of it
    // too.
    let mut noted = Ok(());
    for uses in uses {
        noted = noted.and(uses.stream.inner.submit_foreign(&uses.accesses, |_| Ok(())));
    }
    drop(direct);
    if noted.is_err() {
        // Unrecorded uses are compensated for by waiting.
        streams.iter().for_each(|stream| drop(stream.inner.wait_all()));
    }
    let returned = returned?;
    noted?;
    Ok(returned)
}

/// Returns the error for an impossible case: a call that was accepted and not made.
fn not_made() -> Error {
    Error::Capture { reason: "the call was not made".to_owned() }
}
