//! Communicators over memory and streams of other code: CUDA's, with NVIDIA's NCCL, or HIP's by its C functions.
//!
//! Nothing is tracked here: who calls keeps memory and streams alive. All else is as in the safe [`Communicator`](crate::Communicator): states, deadlines,
//! errors, one abort. [`use_nccl`](crate::use_nccl) chooses NCCL.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;

use crate::call::{Call, Kind, Parts, Submission, submit};
use crate::communicator::{UniqueId, check_rank, init};
use crate::config::Config;
use crate::element::{DataType, RawOp};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::library;
use crate::raw::{self, RawStream};

/// What a reduction does with the elements of all ranks.
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
    /// Their sum, divided by the number of ranks.
    Average,
    /// The sum of each rank's elements times a factor of the element type: its bytes, the rest zeros.
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
/// It is aborted when it is dropped, unless it was [destroyed](Self::destroy).
pub struct Communicator {
    handle: Arc<Handle>,
}

/// Elements to send or to receive: an address in device memory.
pub type Memory = *mut c_void;

impl Communicator {
    /// One rank, on the current device of this thread (`ncclCommInitRankConfig`). Waits for all other ranks.
    ///
    /// # Errors
    /// Those of the safe [`init_rank`](crate::Communicator::init_rank). A [blocking](Config::blocking) communicator waits in the library, without a
    /// deadline.
    pub fn init_rank(id: UniqueId, rank: usize, size: usize, config: &Config) -> Result<Self> {
        library::settle()?;
        check_rank(rank, size)?;
        let mut pending = init(&[(None, rank)], size, id, config)?;
        let pending = pending.pop().ok_or_else(|| Error::invalid("the list of ranks", "empty", "one rank"))?;
        Ok(Self { handle: pending.wait_for_handle()? })
    }

    /// This rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.handle.rank()
    }

    /// Number of ranks.
    #[must_use]
    pub fn size(&self) -> usize {
        self.handle.size()
    }

    /// An error of work that was queued, if the library knows of one by now. Does not wait.
    ///
    /// # Errors
    /// [`Error::Asynchronous`]; the communicator is aborted then. [`Error::Aborted`].
    pub fn poll_error(&self) -> Result<()> {
        self.handle.poll().map(drop).inspect_err(|error| self.handle.abort(&error.to_string()))
    }

    /// Waits until `done` says that queued work is done: at the latest until the deadline. `done` asks the stream.
    ///
    /// # Errors
    /// [`Error::Timeout`] and [`Error::Asynchronous`], after which it is aborted; those of `done`.
    pub fn wait_until(&self, timeout: Duration, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
        self.handle.wait_until(timeout, || {
            if done()? {
                return Ok(true);
            }
            self.handle.poll().map(|_| false)
        })
    }

    /// Aborts it, once.
    pub fn abort(self) {
        self.handle.abort("the program asked for it");
    }

    /// Destroys it (`ncclCommDestroy`).
    ///
    /// # Errors
    /// The library's.
    ///
    /// # Safety
    /// Nothing that is queued uses it any more.
    pub unsafe fn destroy(self) -> Result<()> {
        // SAFETY: the caller's.
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

/// Calls that are made together, by [`end`](Self::end): one, or a group.
///
/// Counts are of elements of the type, as the C functions count.
#[must_use = "no call is made unless it is ended"]
#[derive(Debug, Default)]
pub struct Calls<'a> {
    parts: SmallVec<[OfRank<'a>; 1]>,
}

type OfRank<'a> = (&'a Arc<Handle>, RawStream, SmallVec<[Call; 1]>);

impl<'a> Calls<'a> {
    /// No calls yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Those of a rank, on a stream (`hipStream_t`, `cudaStream_t`).
    pub fn on<'b>(&'b mut self, communicator: &'a Communicator, stream: *mut c_void) -> On<'b, 'a> {
        self.parts.push((&communicator.handle, stream, SmallVec::new()));
        On { calls: self }
    }

    /// Makes the calls, and returns when the library has queued their work.
    ///
    /// # Errors
    /// Those of the safe [`Group::end`](crate::Group::end).
    ///
    /// # Safety
    /// The streams are alive, and of the communicators' devices. The memory is as large as the calls say, and on these devices. It stays so, and is not used
    /// otherwise, until the streams' work is done.
    pub unsafe fn end(self) -> Result<()> {
        fn submission<'s>((handle, stream, calls): &'s OfRank<'_>) -> Submission<'s> {
            Submission { handle, stream: *stream, calls }
        }
        match &self.parts[..] {
            [] => Ok(()),
            // SAFETY: the caller's.
            [one] => unsafe { submit(&[submission(one)]) },
            // SAFETY: the caller's.
            several => unsafe { submit(&several.iter().map(submission).collect::<Vec<_>>()) },
        }
    }
}

/// The calls of one rank: of [`Calls::on`].
#[derive(Debug)]
pub struct On<'b, 'a> {
    calls: &'b mut Calls<'a>,
}

impl On<'_, '_> {
    fn add(self, call: Call, send: *const c_void, receive: Memory, peer: Option<usize>) -> Self {
        if let Some((.., calls)) = self.calls.parts.last_mut() {
            calls.push(Call { send, receive, peer, ..call });
        }
        self
    }

    fn reduction(kind: Kind, count: usize, data_type: DataType, op: Op) -> Call {
        Call { op: op.to_raw(), ..Call::new(kind, count, data_type) }
    }

    /// `ncclAllReduce` of `count` elements.
    pub fn all_reduce(self, send: *const c_void, receive: Memory, count: usize, data_type: DataType, op: Op) -> Self {
        self.add(Self::reduction(Kind::AllReduce, count, data_type, op), send, receive, None)
    }

    /// `ncclReduce` of `count` elements.
    pub fn reduce(
        self,
        send: *const c_void,
        receive: Memory,
        count: usize,
        data_type: DataType,
        op: Op,
        root: usize,
    ) -> Self {
        self.add(Self::reduction(Kind::Reduce, count, data_type, op), send, receive, Some(root))
    }

    /// `ncclBroadcast` of `count` elements.
    pub fn broadcast(
        self,
        send: *const c_void,
        receive: Memory,
        count: usize,
        data_type: DataType,
        root: usize,
    ) -> Self {
        self.add(Call::new(Kind::Broadcast, count, data_type), send, receive, Some(root))
    }

    /// `ncclAllGather`, of `count` elements from each rank.
    pub fn all_gather(self, send: *const c_void, receive: Memory, count: usize, data_type: DataType) -> Self {
        self.add(Call::new(Kind::AllGather, count, data_type), send, receive, None)
    }

    /// `ncclReduceScatter`, of `count` elements to each rank.
    pub fn reduce_scatter(
        self,
        send: *const c_void,
        receive: Memory,
        count: usize,
        data_type: DataType,
        op: Op,
    ) -> Self {
        self.add(Self::reduction(Kind::ReduceScatter, count, data_type, op), send, receive, None)
    }

    /// `ncclGather`, of `count` elements from each rank.
    pub fn gather(self, send: *const c_void, receive: Memory, count: usize, data_type: DataType, root: usize) -> Self {
        self.add(Call::new(Kind::Gather, count, data_type), send, receive, Some(root))
    }

    /// `ncclScatter`, of `count` elements to each rank.
    pub fn scatter(self, send: *const c_void, receive: Memory, count: usize, data_type: DataType, root: usize) -> Self {
        self.add(Call::new(Kind::Scatter, count, data_type), send, receive, Some(root))
    }

    /// `ncclAllToAll`, of `count` elements from each rank to each.
    pub fn all_to_all(self, send: *const c_void, receive: Memory, count: usize, data_type: DataType) -> Self {
        self.add(Call::new(Kind::AllToAll, count, data_type), send, receive, None)
    }

    /// `ncclAllToAllv`: for each rank, counts and offsets of elements to send and to receive.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless each list has a number for each rank.
    pub fn all_to_all_v(
        self,
        (send, send_counts, send_offsets): (*const c_void, &[usize], &[usize]),
        (receive, receive_counts, receive_offsets): (Memory, &[usize], &[usize]),
        data_type: DataType,
    ) -> Result<Self> {
        let size = self.calls.parts.last().map_or(0, |(handle, ..)| handle.size());
        for list in [send_counts, send_offsets, receive_counts, receive_offsets] {
            if list.len() != size {
                let allowed = format!("{size}, one for each rank");
                return Err(Error::invalid("the number of counts or offsets", list.len().to_string(), allowed));
            }
        }
        let [send_counts, send_offsets, receive_counts, receive_offsets] =
            [send_counts, send_offsets, receive_counts, receive_offsets].map(<[usize]>::to_vec);
        let parts = Parts { send_counts, send_offsets, receive_counts, receive_offsets };
        let call = Call { parts: Some(Box::new(parts)), ..Call::new(Kind::AllToAllV, 0, data_type) };
        Ok(self.add(call, send, receive, None))
    }

    /// `ncclSend` of `count` elements.
    pub fn send(self, send: *const c_void, count: usize, data_type: DataType, peer: usize) -> Self {
        self.add(Call::new(Kind::Send, count, data_type), send, std::ptr::null_mut(), Some(peer))
    }

    /// `ncclRecv` of `count` elements.
    pub fn receive(self, receive: Memory, count: usize, data_type: DataType, peer: usize) -> Self {
        self.add(Call::new(Kind::Receive, count, data_type), std::ptr::null(), receive, Some(peer))
    }
}
