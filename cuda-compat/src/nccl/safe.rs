//! Communicators, and collectives with buffers of [`crate::driver`].

use core::ffi::{c_char, c_int, c_void};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::{group, result, sys};
use crate::driver::safe::{LaterUse, Sealed, Shared, between};
use crate::driver::sys::CUdeviceptr;
use crate::driver::{CudaContext, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, SyncOnDrop};

pub use super::result::{NcclError, NcclStatus, group_end, group_start};

/// The result of a queued call.
type Queued = Result<NcclStatus, NcclError>;

const INVALID: NcclError = NcclError(sys::ncclResult_t::ncclInvalidArgument);
const INVALID_USAGE: NcclError = NcclError(sys::ncclResult_t::ncclInvalidUsage);
/// The device or a buffer is not usable; [`CudaContext::check_err`] returns the reason.
const NOT_READY: NcclError = NcclError(sys::ncclResult_t::ncclUnhandledCudaError);

/// A rank's communicator, on a stream.
///
/// Dropping it aborts it: queued work ends, complete or not. Synchronize the stream first if the results matter. While
/// a group of the thread is open, and while graphs exist, which may use it, the communicator is kept; it is aborted
/// after the last of them.
#[derive(Debug)]
pub struct Comm {
    comm: Rc<Raw>,
    stream: Arc<CudaStream>,
    rank: usize,
    world_size: usize,
}

/// A communicator of the library.
#[derive(Debug)]
struct Raw {
    /// Written when the group ends in which it was made, at the latest.
    comm: Cell<sys::ncclComm_t>,
    /// Whether that group has ended.
    is_made: Cell<bool>,
}

impl Raw {
    fn get(&self) -> sys::ncclComm_t {
        self.comm.get()
    }
}

/// The id of a set of ranks: 128 bytes that one rank creates, and a program passes to the others.
#[derive(Debug, Clone, Copy)]
pub struct Id {
    id: sys::ncclUniqueId,
}

impl Id {
    /// Creates the id of a new set of ranks.
    ///
    /// # Errors
    /// If RCCL cannot be loaded: [`sys::load_error`] returns the reason; if it finds no network interface.
    #[doc(alias("ncclGetUniqueId"))]
    pub fn new() -> Result<Self, NcclError> {
        Ok(Self { id: result::get_uniqueid()? })
    }

    /// Returns the id with these bytes, which another rank created.
    pub fn uninit(internal: [c_char; 128]) -> Self {
        Self { id: sys::ncclUniqueId { internal } }
    }

    /// Returns the bytes.
    pub fn internal(&self) -> &[c_char; 128] {
        &self.id.internal
    }
}

/// The operator that combines the elements of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceOp {
    /// The sum.
    Sum,
    /// The product.
    Prod,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The average. As with NCCL itself, it is the sum of integers, which may wrap, divided by the number of ranks: the
    /// average of 200 and 201 in `u8` is 72.
    Avg,
}

impl ReduceOp {
    fn raw(self) -> sys::ncclRedOp_t {
        match self {
            Self::Sum => sys::ncclRedOp_t::ncclSum,
            Self::Prod => sys::ncclRedOp_t::ncclProd,
            Self::Max => sys::ncclRedOp_t::ncclMax,
            Self::Min => sys::ncclRedOp_t::ncclMin,
            Self::Avg => sys::ncclRedOp_t::ncclAvg,
        }
    }
}

/// A type that NCCL supports.
#[diagnostic::on_unimplemented(note = "`half::f16` and `bf16` need the feature `f16` of `cuda-compat`")]
pub trait NcclType {
    /// Returns NCCL's name of the type.
    fn as_nccl_type() -> sys::ncclDataType_t;
}

macro_rules! types {
    ($($(#[$attribute:meta])* $ty:ty: $name:ident;)+) => {$(
        $(#[$attribute])*
        impl NcclType for $ty {
            fn as_nccl_type() -> sys::ncclDataType_t {
                sys::ncclDataType_t::$name
            }
        }
    )+};
}

types! {
    f32: ncclFloat32;
    f64: ncclFloat64;
    i8: ncclInt8;
    i32: ncclInt32;
    i64: ncclInt64;
    u8: ncclUint8;
    u32: ncclUint32;
    u64: ncclUint64;
    #[cfg(feature = "f16")]
    half::f16: ncclFloat16;
    #[cfg(feature = "f16")]
    half::bf16: ncclBfloat16;
}

/// Returns an error unless `fits`.
fn ensure(fits: bool) -> Result<(), NcclError> {
    if fits { Ok(()) } else { Err(INVALID) }
}

/// Returns whether a buffer has room for one part per rank.
fn fits_all(whole: usize, part: usize, ranks: usize) -> bool {
    part.checked_mul(ranks).is_some_and(|needed| whole >= needed)
}

impl Comm {
    /// Creates communicators for the devices of these streams, in one process: stream `i` is rank `i`.
    ///
    /// # Errors
    /// `ncclInvalidArgument` for an empty list; `ncclInvalidUsage` within a group; an error from the library, for
    /// example if two ranks share a device.
    #[doc(alias("ncclCommInitAll"))]
    pub fn from_devices(streams: Vec<Arc<CudaStream>>) -> Result<Vec<Self>, NcclError> {
        // The library would write to `comms` when the group ends.
        if group::is_open() {
            return Err(INVALID_USAGE);
        }
        let world_size = streams.len();
        let count = c_int::try_from(world_size).ok().filter(|&count| count > 0).ok_or(INVALID)?;
        let mut comms = vec![std::ptr::null_mut(); world_size];
        let ordinals: Vec<c_int> = streams.iter().map(|stream| stream.context().ordinal() as c_int).collect();
        // SAFETY: a place for each communicator, and as many devices.
        unsafe { result::comm_init_all(comms.as_mut_ptr(), count, ordinals.as_ptr()) }?;
        let ranks = comms.into_iter().zip(streams).enumerate();
        Ok(ranks
            .map(|(rank, (comm, stream))| {
                let comm = Rc::new(Raw { comm: Cell::new(comm), is_made: Cell::new(true) });
                Self { comm, stream, rank, world_size }
            })
            .collect())
    }

    /// Creates the communicator of a rank on the device of a stream. Waits for all ranks; within a group, the group's
    /// end waits, and until then calls of the communicator return an error.
    ///
    /// # Errors
    /// If the library returns an error: for a rank that is too large, or already taken.
    ///
    /// # Panics
    /// If a number does not fit an `i32`.
    #[doc(alias("ncclCommInitRank"))]
    pub fn from_rank(stream: Arc<CudaStream>, rank: usize, world_size: usize, id: Id) -> Result<Self, NcclError> {
        let ranks = c_int::try_from(world_size).expect("world_size must fit an i32");
        let number = c_int::try_from(rank).expect("rank must fit an i32");
        stream.context().make_current(NOT_READY)?;
        let comm = Rc::new(Raw { comm: Cell::new(std::ptr::null_mut()), is_made: Cell::new(false) });
        let made = Self { comm, stream, rank, world_size };
        // SAFETY: room for the result, which stays until the groups of this thread have ended: `drop` ensures it.
        if let Err(error) = unsafe { result::comm_init_rank(made.comm.comm.as_ptr(), ranks, id.id, number) } {
            // No communicator was made.
            made.comm.comm.set(std::ptr::null_mut());
            return Err(error);
        }
        let comm = Rc::clone(&made.comm);
        group::later(move || comm.is_made.set(true));
        Ok(made)
    }

    /// Returns the stream.
    pub fn stream(&self) -> Arc<CudaStream> {
        self.stream.clone()
    }

    /// Returns the context of the stream.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.stream.context()
    }

    /// Returns the index of the device.
    pub fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// Returns the rank.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn world_size(&self) -> usize {
        self.world_size
    }

    /// Returns an error for a rank that does not exist.
    fn peer(&self, rank: i32) -> Result<usize, NcclError> {
        usize::try_from(rank).ok().filter(|&rank| rank < self.world_size).ok_or(INVALID)
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        let (stream, comm) = (Arc::clone(&self.stream), Rc::clone(&self.comm));
        group::later(move || {
            let raw = Shared(comm.get());
            if raw.get().is_null() {
                return;
            }
            let context = Arc::clone(stream.context());
            context.destroy_after_graphs(move || {
                // If it fails, its context keeps the reason.
                let _ = stream.context().make_current(());
                // A communicator that the library does not abort is leaked: a panic in `drop` could end the process.
                // SAFETY: it is alive, and not used again.
                let _ = unsafe { result::comm_abort(raw.get()) };
            });
        });
    }
}

/// A buffer of a call.
struct Operand<'a> {
    used: SyncOnDrop<'a>,
    /// `Some` within a group.
    later: Option<LaterUse>,
}

impl Operand<'_> {
    const NONE: Self = Operand { used: SyncOnDrop::Record(None), later: None };
}

impl Comm {
    /// Returns how long a call needs a buffer. A group cannot keep memory that the host also accesses.
    fn later(&self, memory: &impl Sealed, writes: bool) -> Result<Option<LaterUse>, NcclError> {
        if !group::is_open() {
            return Ok(None);
        }
        LaterUse::new(memory, &self.stream, writes).map(Some).ok_or(INVALID_USAGE)
    }

    /// Returns the address of a buffer that a call reads.
    fn read<'a, S: DevicePtr<T>, T>(&'a self, buffer: &'a S) -> Result<(CUdeviceptr, Operand<'a>), NcclError> {
        let later = self.later(buffer, false)?;
        let (from, used) = buffer.device_ptr(&self.stream);
        Ok((from, Operand { used, later }))
    }

    /// Returns the address of a buffer that a call writes.
    fn write<'a, S: DevicePtrMut<T>, T>(&'a self, buffer: &'a mut S) -> Result<(CUdeviceptr, Operand<'a>), NcclError> {
        let later = self.later(buffer, true)?;
        let (to, used) = buffer.device_ptr_mut(&self.stream);
        Ok((to, Operand { used, later }))
    }

    /// Makes a call, ordered with its buffers.
    fn queue<const N: usize>(&self, operands: [Operand<'_>; N], call: impl FnOnce() -> Queued) -> Queued {
        // Otherwise the group in which it was made has not ended, or could not make it.
        ensure(self.comm.is_made.get() && !self.comm.get().is_null())?;
        // RCCL accepts collectives in a capture, but the launch of the graph never completes.
        if self.stream.is_captured() {
            return Err(INVALID_USAGE);
        }
        let used = operands.map(|Operand { used, later }| {
            later.into_iter().for_each(group::keep);
            used
        });
        between(NOT_READY, self.stream.context(), used, call)
    }
}

/// Collectives on addresses: sizes were compared, and `queue` keeps buffers until the work is recorded.
impl Comm {
    fn raw_stream(&self) -> sys::cudaStream_t {
        self.stream.cu_stream() as _
    }

    fn queue_send<T: NcclType>(&self, from: CUdeviceptr, count: usize, peer: i32) -> Queued {
        let (ty, stream) = (T::as_nccl_type(), self.raw_stream());
        // SAFETY: handles are alive, and the buffer has these elements.
        unsafe { result::send(from as *const c_void, count, ty, peer, self.comm.get(), stream) }
    }

    fn queue_recv<T: NcclType>(&self, to: CUdeviceptr, count: usize, peer: i32) -> Queued {
        let (ty, stream) = (T::as_nccl_type(), self.raw_stream());
        // SAFETY: handles are alive, and the buffer has these elements.
        unsafe { result::recv(to as *mut c_void, count, ty, peer, self.comm.get(), stream) }
    }

    fn queue_broadcast<T: NcclType>(&self, from: CUdeviceptr, to: CUdeviceptr, count: usize, root: i32) -> Queued {
        let (ty, stream) = (T::as_nccl_type(), self.raw_stream());
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: handles are alive, and buffers have these elements.
        unsafe { result::broadcast(from, to, count, ty, root, self.comm.get(), stream) }
    }

    fn queue_all_gather<T: NcclType>(&self, from: CUdeviceptr, to: CUdeviceptr, count: usize) -> Queued {
        let (ty, stream) = (T::as_nccl_type(), self.raw_stream());
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: handles are alive, and buffers have these elements; the result buffer has room for those of all ranks.
        unsafe { result::all_gather(from, to, count, ty, self.comm.get(), stream) }
    }

    fn queue_all_reduce<T: NcclType>(
        &self,
        from: CUdeviceptr,
        to: CUdeviceptr,
        count: usize,
        reduce_op: ReduceOp,
    ) -> Queued {
        let (ty, op, stream) = (T::as_nccl_type(), reduce_op.raw(), self.raw_stream());
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: handles are alive, and buffers have these elements.
        unsafe { result::all_reduce(from, to, count, ty, op, self.comm.get(), stream) }
    }

    fn queue_reduce<T: NcclType>(
        &self,
        from: CUdeviceptr,
        to: CUdeviceptr,
        count: usize,
        reduce_op: ReduceOp,
        root: i32,
    ) -> Queued {
        let (ty, op, stream) = (T::as_nccl_type(), reduce_op.raw(), self.raw_stream());
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: handles are alive, and buffers have these elements.
        unsafe { result::reduce(from, to, count, ty, op, root, self.comm.get(), stream) }
    }

    fn queue_reduce_scatter<T: NcclType>(
        &self,
        from: CUdeviceptr,
        to: CUdeviceptr,
        count: usize,
        reduce_op: ReduceOp,
    ) -> Queued {
        let (ty, op, stream) = (T::as_nccl_type(), reduce_op.raw(), self.raw_stream());
        let (from, to) = (from as *const c_void, to as *mut c_void);
        // SAFETY: handles are alive, and buffers have these elements; the input buffer has those of all ranks.
        unsafe { result::reduce_scatter(from, to, count, ty, op, self.comm.get(), stream) }
    }
}

impl Comm {
    /// Queues a send to a rank, which must receive as many elements.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist.
    #[doc(alias("ncclSend"))]
    pub fn send<S: DevicePtr<T>, T: NcclType>(&self, data: &S, peer: i32) -> Result<(), NcclError> {
        self.peer(peer)?;
        let (from, read) = self.read(data)?;
        self.queue([read], || self.queue_send::<T>(from, data.len(), peer)).map(drop)
    }

    /// Queues a receive from a rank, which must send as many elements.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist.
    #[doc(alias("ncclRecv"))]
    pub fn recv<R: DevicePtrMut<T>, T: NcclType>(&self, buff: &mut R, peer: i32) -> Queued {
        self.peer(peer)?;
        let count = buff.len();
        let (to, written) = self.write(buff)?;
        self.queue([written], || self.queue_recv::<T>(to, count, peer))
    }

    /// Queues a broadcast of the root's `sendbuff` to the `recvbuff` of all ranks. Other ranks may pass `None`.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist, or the root's `sendbuff` is missing or shorter than
    /// `recvbuff`.
    #[doc(alias("ncclBroadcast"))]
    pub fn broadcast<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: Option<&S>,
        recvbuff: &mut R,
        root: i32,
    ) -> Queued {
        let count = recvbuff.len();
        let is_root = self.peer(root)? == self.rank;
        ensure(!is_root || sendbuff.is_some_and(|sendbuff| sendbuff.len() >= count))?;
        let (from, read) = sendbuff.filter(|_| is_root).map(|buff| self.read(buff)).transpose()?.unzip();
        let (to, written) = self.write(recvbuff)?;
        let call = || self.queue_broadcast::<T>(from.unwrap_or(to), to, count, root);
        self.queue([read.unwrap_or(Operand::NONE), written], call)
    }

    /// Queues a broadcast of the root's buffer to those of all ranks.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist.
    #[doc(alias("ncclBroadcast"))]
    pub fn broadcast_in_place<R: DevicePtrMut<T>, T: NcclType>(&self, recvbuff: &mut R, root: i32) -> Queued {
        self.peer(root)?;
        let count = recvbuff.len();
        let (to, written) = self.write(recvbuff)?;
        self.queue([written], || self.queue_broadcast::<T>(to, to, count, root))
    }

    /// Queues a concatenation: rank `i`'s elements are part `i` of all results.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if `recvbuff` is shorter than the parts of all ranks.
    #[doc(alias("ncclAllGather"))]
    pub fn all_gather<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
    ) -> Queued {
        ensure(fits_all(recvbuff.len(), sendbuff.len(), self.world_size))?;
        let ((from, read), (to, written)) = (self.read(sendbuff)?, self.write(recvbuff)?);
        self.queue([read, written], || self.queue_all_gather::<T>(from, to, sendbuff.len()))
    }

    /// Queues an elementwise reduction to all ranks.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if `recvbuff` is shorter than `sendbuff`.
    #[doc(alias("ncclAllReduce"))]
    pub fn all_reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Queued {
        ensure(recvbuff.len() >= sendbuff.len())?;
        let ((from, read), (to, written)) = (self.read(sendbuff)?, self.write(recvbuff)?);
        self.queue([read, written], || self.queue_all_reduce::<T>(from, to, sendbuff.len(), *reduce_op))
    }

    /// Queues an elementwise in-place reduction to all ranks.
    ///
    /// # Errors
    /// If the library returns an error.
    #[doc(alias("ncclAllReduce"))]
    pub fn all_reduce_in_place<R: DevicePtrMut<T>, T: NcclType>(&self, buff: &mut R, reduce_op: &ReduceOp) -> Queued {
        let count = buff.len();
        let (to, written) = self.write(buff)?;
        self.queue([written], || self.queue_all_reduce::<T>(to, to, count, *reduce_op))
    }

    /// Queues an elementwise reduction to the root. Other ranks may pass `None`.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist, or the root's `recvbuff` is missing or shorter than
    /// `sendbuff`.
    #[doc(alias("ncclReduce"))]
    pub fn reduce<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: Option<&mut R>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Queued {
        let is_root = self.peer(root)? == self.rank;
        ensure(!is_root || recvbuff.as_ref().is_some_and(|recvbuff| recvbuff.len() >= sendbuff.len()))?;
        let (from, read) = self.read(sendbuff)?;
        let (to, written) = recvbuff.filter(|_| is_root).map(|buff| self.write(buff)).transpose()?.unzip();
        let call = || self.queue_reduce::<T>(from, to.unwrap_or(0), sendbuff.len(), *reduce_op, root);
        self.queue([read, written.unwrap_or(Operand::NONE)], call)
    }

    /// Queues an elementwise in-place reduction to the root. Buffers of other ranks are not changed.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if the rank does not exist.
    #[doc(alias("ncclReduce"))]
    pub fn reduce_in_place<R: DevicePtrMut<T>, T: NcclType>(
        &self,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Queued {
        self.peer(root)?;
        let count = recvbuff.len();
        let (to, written) = self.write(recvbuff)?;
        self.queue([written], || self.queue_reduce::<T>(to, to, count, *reduce_op, root))
    }

    /// Queues an elementwise reduction, of which rank `i` receives part `i`.
    ///
    /// # Errors
    /// `ncclInvalidArgument` if `sendbuff` is shorter than the parts of all ranks.
    #[doc(alias("ncclReduceScatter"))]
    pub fn reduce_scatter<S: DevicePtr<T>, R: DevicePtrMut<T>, T: NcclType>(
        &self,
        sendbuff: &S,
        recvbuff: &mut R,
        reduce_op: &ReduceOp,
    ) -> Queued {
        let count = recvbuff.len();
        ensure(fits_all(sendbuff.len(), count, self.world_size))?;
        let ((from, read), (to, written)) = (self.read(sendbuff)?, self.write(recvbuff)?);
        self.queue([read, written], || self.queue_reduce_scatter::<T>(from, to, count, *reduce_op))
    }

    /// Starts a group of calls, which is queued as one when the [`Group`] is dropped.
    ///
    /// # Panics
    /// If the library returns an error.
    #[doc(alias("ncclGroupStart"))]
    pub fn group(&self) -> Group<'_> {
        if let Err(error) = group_start() {
            panic!("ncclGroupStart: {error}");
        }
        Group { comm: self }
    }
}

/// A group of calls on a communicator, which is queued as one when this is dropped.
///
/// Its methods take views. Their memory is kept until the calls are queued, and the calls are ordered after earlier
/// uses of it and before later ones. Create the views before the group: they must live longer.
///
/// # Panics
/// Dropping it panics if a call of the group failed, unless the thread is panicking.
#[derive(Debug)]
#[must_use = "the calls are queued when this is dropped"]
pub struct Group<'a> {
    comm: &'a Comm,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let ended = group_end();
        if let Err(error) = ended {
            if !std::thread::panicking() {
                panic!("ncclGroupEnd: {error}");
            }
        }
    }
}

impl<'g> Group<'g> {
    /// Returns the communicator.
    pub fn comm(&self) -> &'g Comm {
        self.comm
    }

    /// Adds [`Comm::send`].
    ///
    /// # Errors
    /// The errors of [`Comm::send`].
    pub fn send<'s: 'g, T: NcclType>(&mut self, data: CudaView<'s, T>, peer: i32) -> Result<(), NcclError> {
        self.comm.send(&data, peer)
    }

    /// Adds [`Comm::recv`].
    ///
    /// # Errors
    /// The errors of [`Comm::recv`].
    pub fn recv<'r: 'g, T: NcclType>(&mut self, mut buff: CudaViewMut<'r, T>, peer: i32) -> Queued {
        self.comm.recv(&mut buff, peer)
    }

    /// Adds [`Comm::broadcast`].
    ///
    /// # Errors
    /// The errors of [`Comm::broadcast`].
    pub fn broadcast<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: Option<CudaView<'s, T>>,
        mut recvbuff: CudaViewMut<'r, T>,
        root: i32,
    ) -> Queued {
        self.comm.broadcast(sendbuff.as_ref(), &mut recvbuff, root)
    }

    /// Adds [`Comm::broadcast_in_place`].
    ///
    /// # Errors
    /// The errors of [`Comm::broadcast_in_place`].
    pub fn broadcast_in_place<'r: 'g, T: NcclType>(&mut self, mut recvbuff: CudaViewMut<'r, T>, root: i32) -> Queued {
        self.comm.broadcast_in_place(&mut recvbuff, root)
    }

    /// Adds [`Comm::all_gather`].
    ///
    /// # Errors
    /// The errors of [`Comm::all_gather`].
    pub fn all_gather<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        mut recvbuff: CudaViewMut<'r, T>,
    ) -> Queued {
        self.comm.all_gather(&sendbuff, &mut recvbuff)
    }

    /// Adds [`Comm::all_reduce`].
    ///
    /// # Errors
    /// The errors of [`Comm::all_reduce`].
    pub fn all_reduce<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        mut recvbuff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Queued {
        self.comm.all_reduce(&sendbuff, &mut recvbuff, reduce_op)
    }

    /// Adds [`Comm::all_reduce_in_place`].
    ///
    /// # Errors
    /// The errors of [`Comm::all_reduce_in_place`].
    pub fn all_reduce_in_place<'r: 'g, T: NcclType>(
        &mut self,
        mut buff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Queued {
        self.comm.all_reduce_in_place(&mut buff, reduce_op)
    }

    /// Adds [`Comm::reduce`].
    ///
    /// # Errors
    /// The errors of [`Comm::reduce`].
    pub fn reduce<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        mut recvbuff: Option<CudaViewMut<'r, T>>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Queued {
        self.comm.reduce(&sendbuff, recvbuff.as_mut(), reduce_op, root)
    }

    /// Adds [`Comm::reduce_in_place`].
    ///
    /// # Errors
    /// The errors of [`Comm::reduce_in_place`].
    pub fn reduce_in_place<'s: 'g, T: NcclType>(
        &mut self,
        mut recvbuff: CudaViewMut<'s, T>,
        reduce_op: &ReduceOp,
        root: i32,
    ) -> Queued {
        self.comm.reduce_in_place(&mut recvbuff, reduce_op, root)
    }

    /// Adds [`Comm::reduce_scatter`].
    ///
    /// # Errors
    /// The errors of [`Comm::reduce_scatter`].
    pub fn reduce_scatter<'s: 'g, 'r: 'g, T: NcclType>(
        &mut self,
        sendbuff: CudaView<'s, T>,
        mut recvbuff: CudaViewMut<'r, T>,
        reduce_op: &ReduceOp,
    ) -> Queued {
        self.comm.reduce_scatter(&sendbuff, &mut recvbuff, reduce_op)
    }
}

/// Queues the calls of a block as one.
///
/// # Panics
/// If a call of the group fails.
#[macro_export]
macro_rules! group {
    ($x:block) => {
        $crate::nccl::result::group_start().unwrap();
        $x
        $crate::nccl::result::group_end().unwrap();
    };
}
