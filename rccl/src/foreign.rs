//! Communicators for memory and streams of other code: CUDA's, with NVIDIA's NCCL, or HIP's through its C functions.
//!
//! Nothing is tracked: the caller must keep memory and streams alive. States, deadlines, errors and aborting work as in
//! the safe [`Communicator`](crate::Communicator). [`use_nccl`](crate::use_nccl) selects NCCL.

use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::call::{self, Submission, error_of, submit};
use crate::communicator::{UniqueId, check_rank, init};
use crate::config::Config;
use crate::element::{DataType, RawOp};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::library;
use crate::raw::{self, RawStream};
use crate::summary::{Kind, Parts, Summary};

/// The operator that a reduction applies to the elements of all ranks. Sums and products of integers wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Op {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The smallest.
    Min,
    /// The largest.
    Max,
    /// Their sum, divided by the number of ranks. As with NCCL itself, the sum of integers may wrap before the division:
    /// the average of 200 and 201 in `u8` is 72.
    Average,
    /// The sum of each rank's elements times a factor of the element type: its bytes, padded with zeros.
    Scaled([u8; 8]),
}

impl Op {
    fn to_raw(self) -> RawOp {
        match self {
            Self::Sum => RawOp::SUM,
            Self::Product => RawOp::Plain(raw::ncclProd),
            Self::Min => RawOp::Plain(raw::ncclMin),
            Self::Max => RawOp::Plain(raw::ncclMax),
            Self::Average => RawOp::Plain(raw::ncclAvg),
            Self::Scaled(bytes) => RawOp::Host(bytes),
        }
    }
}

/// One rank, with memory and streams of other code.
///
/// Dropping it aborts it, unless it was [destroyed](Self::destroy). Only one thread at a time can use it (it is `Send`,
/// not `Sync`), so a call takes no lock.
pub struct Communicator {
    pub(crate) handle: Arc<Handle>,
    /// The last call, for later errors.
    last: Cell<Option<Summary>>,
    /// Whether this thread waits, so that another one may abort it.
    waits: Cell<bool>,
}

/// Elements to send or to receive: an address in device memory.
pub type Memory = *mut c_void;

impl Communicator {
    /// Creates one rank, on the current device of this thread (`ncclCommInitRankConfig`). Waits for all other ranks.
    ///
    /// # Errors
    /// The errors of the safe [`init_rank`](crate::Communicator::init_rank). A [blocking](Config::blocking)
    /// communicator waits in the library, without a deadline.
    pub fn init_rank(id: UniqueId, rank: usize, size: usize, config: &Config) -> Result<Self> {
        library::settle()?;
        check_rank(rank, size)?;
        let mut pending = init(&[(None, rank)], size, id, config)?;
        let pending = pending.pop().ok_or_else(|| Error::invalid("the list of ranks", "empty", "one rank"))?;
        Ok(Self { handle: pending.wait_for_handle()?, last: Cell::new(None), waits: Cell::new(false) })
    }

    /// Returns this rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.handle.rank()
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.handle.size()
    }

    /// Returns an error of queued work, if the library has detected one. Does not wait.
    ///
    /// # Errors
    /// [`Error::Asynchronous`], after which the communicator is aborted. [`Error::Aborted`].
    pub fn poll_error(&self) -> Result<()> {
        self.note();
        self.handle.poll().map(drop).inspect_err(|error| self.handle.abort(&error.to_string()))
    }

    /// Waits until `done` returns that queued work is done, at most until the deadline. `done` queries the stream. If
    /// it blocks, another thread aborts the communicator, one or two seconds after the deadline: `done` must then
    /// return, as calls of HIP and CUDA do when the work ends.
    ///
    /// # Errors
    /// [`Error::Timeout`] and [`Error::Asynchronous`], after which it is aborted; an error from `done`.
    pub fn wait_until(&self, timeout: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        self.note();
        let _reset = Reset { place: &self.waits, before: self.waits.replace(true) };
        self.handle.wait_until_watched(timeout, || {
            if done()? {
                return Ok(true);
            }
            self.handle.poll().map(|_| false)
        })
    }

    /// Records the last call for later errors.
    fn note(&self) {
        if let Some(summary) = self.last.take() {
            self.handle.note(summary);
        }
    }

    /// Makes a call on a stream (`hipStream_t`, `cudaStream_t`), and returns when the library has queued its work. For
    /// several calls in a group, use [`Calls`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for a root or peer that is not a rank, and for lists whose length is not the number of ranks;
    /// the errors of the safe [`Group::end`](crate::Group::end).
    ///
    /// # Safety
    /// The requirements of [`Calls::end`].
    pub unsafe fn submit(&self, stream: *mut c_void, call: &Call) -> Result<()> {
        call.check(self.size())?;
        if self.handle.blocking && !self.waits.get() && call.0.is_one() {
            let comm = self.handle.comm_of_one_thread()?;
            self.last.set(Some(call.0.summary()));
            // SAFETY: as the caller ensures; the communicator is alive, and only this thread uses it.
            let made = unsafe { call.0.make(comm, self.handle.rank(), self.handle.size(), stream) };
            return made.or_else(|failed| error_of(failed, &self.handle, &call.0));
        }
        self.last.set(None);
        // SAFETY: as the caller ensures.
        unsafe { submit(&[Submission { handle: &self.handle, stream, calls: std::slice::from_ref(&call.0) }]) }
    }

    /// Aborts it, unless it was aborted before.
    pub fn abort(self) {
        self.handle.abort("the program asked for it");
    }

    /// Destroys it (`ncclCommDestroy`).
    ///
    /// # Errors
    /// An error from the library.
    ///
    /// # Safety
    /// No queued work may use it any more.
    pub unsafe fn destroy(self) -> Result<()> {
        // SAFETY: as the caller ensures.
        unsafe { self.handle.destroy() }
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        self.handle.abort("it was dropped");
    }
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator").field("rank", &self.rank()).field("size", &self.size()).finish()
    }
}

/// Restores a flag, even if the wait panics.
struct Reset<'a> {
    place: &'a Cell<bool>,
    before: bool,
}

impl Drop for Reset<'_> {
    fn drop(&mut self) {
        self.place.set(self.before);
    }
}

/// Calls that [`end`](Self::end) makes together: one call, or a group.
#[must_use = "no call is made unless it is ended"]
#[derive(Debug, Default)]
pub struct Calls<'a> {
    calls: SmallVec<[(&'a Communicator, RawStream, Call); 2]>,
}

impl<'a> Calls<'a> {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call of a rank, on a stream (`hipStream_t`, `cudaStream_t`).
    pub fn add(&mut self, communicator: &'a Communicator, stream: *mut c_void, call: Call) {
        self.calls.push((communicator, stream, call));
    }

    /// Makes the calls, and returns when the library has queued their work.
    ///
    /// # Errors
    /// The errors of [`Communicator::submit`].
    ///
    /// # Safety
    /// The streams must be alive, and of the communicators' devices. The memory must be as large as the calls state,
    /// and on these devices. It must stay so, and must not be used otherwise, until the streams' work is done.
    pub unsafe fn end(self) -> Result<()> {
        for (communicator, _, call) in &self.calls {
            call.check(communicator.size())?;
            communicator.last.set(None);
        }
        let submissions: Vec<Submission<'_>> = self
            .calls
            .iter()
            .map(|(communicator, stream, call)| Submission {
                handle: &communicator.handle,
                stream: *stream,
                calls: std::slice::from_ref(&call.0),
            })
            .collect();
        // SAFETY: as the caller ensures.
        unsafe { submit(&submissions) }
    }
}

/// A call of one rank. Counts are in elements of the type, as in the C functions.
#[derive(Clone, Debug)]
pub struct Call(call::Call);

impl Call {
    fn new(
        kind: Kind,
        memory: (*const c_void, Memory),
        count: usize,
        data_type: DataType,
        peer: Option<usize>,
    ) -> Self {
        let (send, receive) = memory;
        Self(call::Call { send, receive, peer, ..call::Call::new(kind, count, data_type) })
    }

    fn reducing(self, op: Op) -> Self {
        Self(call::Call { op: op.to_raw(), ..self.0 })
    }

    /// Returns an error for arguments that do not fit the number of ranks.
    fn check(&self, size: usize) -> Result<()> {
        if self.0.peer.is_some_and(|peer| peer >= size) {
            return check_rank(self.0.peer.unwrap_or(0), size);
        }
        let Some(parts) = &self.0.parts else { return Ok(()) };
        let lists = [&parts.send_counts, &parts.send_offsets, &parts.receive_counts, &parts.receive_offsets];
        match lists.iter().find(|list| list.len() != size) {
            Some(list) => {
                let allowed = format!("{size}, one for each rank");
                Err(Error::invalid("the number of counts or offsets", list.len().to_string(), allowed))
            }
            None => Ok(()),
        }
    }

    /// `ncclAllReduce` of `count` elements.
    #[must_use]
    pub fn all_reduce(send: *const c_void, receive: Memory, count: usize, data_type: DataType, op: Op) -> Self {
        Self::new(Kind::AllReduce, (send, receive), count, data_type, None).reducing(op)
    }

    /// `ncclReduce` of `count` elements.
    #[must_use]
    pub fn reduce(
        send: *const c_void,
        receive: Memory,
        count: usize,
        data_type: DataType,
        op: Op,
        root: usize,
    ) -> Self {
        Self::new(Kind::Reduce, (send, receive), count, data_type, Some(root)).reducing(op)
    }

    /// `ncclBroadcast` of `count` elements.
    #[must_use]
    pub fn broadcast(send: *const c_void, receive: Memory, count: usize, data_type: DataType, root: usize) -> Self {
        Self::new(Kind::Broadcast, (send, receive), count, data_type, Some(root))
    }

    /// `ncclAllGather`, of `count` elements from each rank.
    #[must_use]
    pub fn all_gather(send: *const c_void, receive: Memory, count: usize, data_type: DataType) -> Self {
        Self::new(Kind::AllGather, (send, receive), count, data_type, None)
    }

    /// `ncclReduceScatter`, of `count` elements to each rank.
    #[must_use]
    pub fn reduce_scatter(send: *const c_void, receive: Memory, count: usize, data_type: DataType, op: Op) -> Self {
        Self::new(Kind::ReduceScatter, (send, receive), count, data_type, None).reducing(op)
    }

    /// `ncclGather`, of `count` elements from each rank.
    #[must_use]
    pub fn gather(send: *const c_void, receive: Memory, count: usize, data_type: DataType, root: usize) -> Self {
        Self::new(Kind::Gather, (send, receive), count, data_type, Some(root))
    }

    /// `ncclScatter`, of `count` elements to each rank.
    #[must_use]
    pub fn scatter(send: *const c_void, receive: Memory, count: usize, data_type: DataType, root: usize) -> Self {
        Self::new(Kind::Scatter, (send, receive), count, data_type, Some(root))
    }

    /// `ncclAllToAll`, of `count` elements from each rank to each.
    #[must_use]
    pub fn all_to_all(send: *const c_void, receive: Memory, count: usize, data_type: DataType) -> Self {
        Self::new(Kind::AllToAll, (send, receive), count, data_type, None)
    }

    /// `ncclAllToAllv`: for each rank, counts and offsets of elements to send and to receive.
    #[must_use]
    pub fn all_to_all_v(
        (send, send_counts, send_offsets): (*const c_void, &[usize], &[usize]),
        (receive, receive_counts, receive_offsets): (Memory, &[usize], &[usize]),
        data_type: DataType,
    ) -> Self {
        let [send_counts, send_offsets, receive_counts, receive_offsets] =
            [send_counts, send_offsets, receive_counts, receive_offsets].map(<[usize]>::to_vec);
        let parts = Parts { send_counts, send_offsets, receive_counts, receive_offsets };
        let call = Self::new(Kind::AllToAllV, (send, receive), 0, data_type, None);
        Self(call::Call { parts: Some(Box::new(parts)), ..call.0 })
    }

    /// `ncclSend` of `count` elements.
    #[must_use]
    pub fn send(send: *const c_void, count: usize, data_type: DataType, peer: usize) -> Self {
        Self::new(Kind::Send, (send, std::ptr::null_mut()), count, data_type, Some(peer))
    }

    /// `ncclRecv` of `count` elements.
    #[must_use]
    pub fn receive(receive: Memory, count: usize, data_type: DataType, peer: usize) -> Self {
        Self::new(Kind::Receive, (std::ptr::null(), receive), count, data_type, Some(peer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_are_not_there_and_short_lists_are_refused() {
        let none = std::ptr::null_mut();
        assert!(Call::send(none, 1, DataType::U8, 2).check(2).is_err());
        assert!(Call::broadcast(none, none, 1, DataType::U8, 1).check(2).is_ok());
        let parts = |receive: &[usize]| {
            Call::all_to_all_v((none, &[1, 1], &[0, 1]), (none, receive, &[0, 1]), DataType::U8).check(2)
        };
        assert!(parts(&[1, 1]).is_ok());
        assert!(parts(&[1]).unwrap_err().to_string().contains("one for each rank"));
    }
}
