//! NCCL functions that return results instead of statuses.

use core::ffi::{c_int, c_void};

use super::{group, sys};

pub use rccl_sys::cuda::{NcclError, NcclStatus};

/// Defines functions that return a status.
macro_rules! functions {
    ($($(#[$attribute:meta])* $name:ident($($argument:ident: $ty:ty),* $(,)?) = $function:ident;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the library returns an error, or an earlier call failed.
        ///
        /// # Safety
        /// Communicators and streams must be alive, and pointers valid for the sizes until the stream has done the
        /// work.
        #[allow(clippy::too_many_arguments, reason = "C's")]
        pub unsafe fn $name($($argument: $ty),*) -> Result<NcclStatus, NcclError> {
            // SAFETY: the caller's contract.
            unsafe { sys::$function($($argument),*) }.result()
        }
    )+};
}

functions! {
    /// Completes the work of a communicator, before [`comm_destroy`].
    #[cfg(feature = "rocm-6-2")]
    comm_finalize(comm: sys::ncclComm_t) = ncclCommFinalize;
    /// Destroys a communicator.
    comm_destroy(comm: sys::ncclComm_t) = ncclCommDestroy;
    /// Ends the work of a communicator, and destroys it.
    comm_abort(comm: sys::ncclComm_t) = ncclCommAbort;
    /// Makes the communicator of a rank, with settings. Waits for all ranks.
    #[cfg(feature = "rocm-10-0")]
    comm_init_rank_config(
        comm: *mut sys::ncclComm_t, nranks: c_int, comm_id: sys::ncclUniqueId, rank: c_int,
        config: *mut sys::ncclConfig_t,
    ) = ncclCommInitRankConfig;
    /// Makes the communicator of a rank. Waits for all ranks.
    comm_init_rank(comm: *mut sys::ncclComm_t, nranks: c_int, comm_id: sys::ncclUniqueId, rank: c_int) =
        ncclCommInitRank;
    /// Makes communicators for devices of this process.
    comm_init_all(comm: *mut sys::ncclComm_t, ndev: c_int, devlist: *const c_int) = ncclCommInitAll;
    /// Makes communicators of ranks with the same color, in the order of their keys.
    #[cfg(feature = "rocm-10-0")]
    comm_split(
        comm: sys::ncclComm_t, color: c_int, key: c_int, newcomm: *mut sys::ncclComm_t, config: *mut sys::ncclConfig_t,
    ) = ncclCommSplit;
    /// Makes an operator that multiplies by a scalar before it sums.
    reduce_op_create_pre_mul_sum(
        op: *mut sys::ncclRedOp_t, scalar: *mut c_void, datatype: sys::ncclDataType_t,
        residence: sys::ncclScalarResidence_t, comm: sys::ncclComm_t,
    ) = ncclRedOpCreatePreMulSum;
    /// Destroys an operator.
    reduce_op_destroy(op: sys::ncclRedOp_t, comm: sys::ncclComm_t) = ncclRedOpDestroy;
    /// Queues a reduction to one rank.
    reduce(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t, root: c_int, comm: sys::ncclComm_t, stream: sys::cudaStream_t,
    ) = ncclReduce;
    /// Queues a broadcast from one rank.
    broadcast(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: sys::ncclDataType_t, root: c_int,
        comm: sys::ncclComm_t, stream: sys::cudaStream_t,
    ) = ncclBroadcast;
    /// Queues a reduction to all ranks.
    all_reduce(
        sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t, comm: sys::ncclComm_t, stream: sys::cudaStream_t,
    ) = ncclAllReduce;
    /// Queues a reduction whose result is scattered to the ranks.
    reduce_scatter(
        sendbuff: *const c_void, recvbuff: *mut c_void, recvcount: usize, datatype: sys::ncclDataType_t,
        op: sys::ncclRedOp_t, comm: sys::ncclComm_t, stream: sys::cudaStream_t,
    ) = ncclReduceScatter;
    /// Queues a concatenation of all ranks' buffers, on all ranks.
    all_gather(
        sendbuff: *const c_void, recvbuff: *mut c_void, sendcount: usize, datatype: sys::ncclDataType_t,
        comm: sys::ncclComm_t, stream: sys::cudaStream_t,
    ) = ncclAllGather;
    /// Queues a send to a rank, which must receive.
    send(
        sendbuff: *const c_void, count: usize, datatype: sys::ncclDataType_t, peer: c_int, comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    ) = ncclSend;
    /// Queues a receive from a rank, which must send.
    recv(
        recvbuff: *mut c_void, count: usize, datatype: sys::ncclDataType_t, peer: c_int, comm: sys::ncclComm_t,
        stream: sys::cudaStream_t,
    ) = ncclRecv;
}

/// Returns the NCCL interface version of the library: 22707 is 2.27.7.
///
/// # Errors
/// If RCCL cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("ncclGetVersion"))]
pub fn get_nccl_version() -> Result<c_int, NcclError> {
    let mut version = 0;
    // SAFETY: room for the result.
    unsafe { sys::ncclGetVersion(&mut version) }.result()?;
    Ok(version)
}

/// Creates the id of a new set of ranks, which all of them need.
///
/// # Errors
/// If RCCL cannot be loaded: [`sys::load_error`] returns the reason; if it finds no network interface.
#[doc(alias("ncclGetUniqueId"))]
pub fn get_uniqueid() -> Result<sys::ncclUniqueId, NcclError> {
    let mut id = sys::ncclUniqueId::default();
    // SAFETY: room for the result.
    unsafe { sys::ncclGetUniqueId(&mut id) }.result()?;
    Ok(id)
}

/// Defines functions that write a number.
macro_rules! numbers {
    ($($(#[$attribute:meta])* $name:ident = $function:ident;)+) => {$(
        $(#[$attribute])*
        ///
        /// # Errors
        /// If the library returns an error.
        ///
        /// # Safety
        /// The communicator must be alive.
        pub unsafe fn $name(comm: sys::ncclComm_t) -> Result<c_int, NcclError> {
            let mut number = 0;
            // SAFETY: the caller's contract, and a place for the result.
            unsafe { sys::$function(comm, &mut number) }.result()?;
            Ok(number)
        }
    )+};
}

numbers! {
    /// Returns the number of ranks.
    comm_count = ncclCommCount;
    /// Returns the device.
    comm_cu_device = ncclCommCuDevice;
    /// Returns the rank.
    comm_user_rank = ncclCommUserRank;
}

/// Queues the calls since [`group_start`] as one. The end of the outermost group queues all of them.
///
/// # Errors
/// If one of the calls failed, or no group was started.
#[doc(alias("ncclGroupEnd"))]
pub fn group_end() -> Result<NcclStatus, NcclError> {
    // SAFETY: no arguments; the callers of the group's calls ensure their contract, and the resources of `Comm`'s calls are kept.
    group::end(|| unsafe { sys::ncclGroupEnd() }.result())
}

/// Starts a group of calls of this thread, which [`group_end`] queues as one.
///
/// # Errors
/// If RCCL cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("ncclGroupStart"))]
pub fn group_start() -> Result<NcclStatus, NcclError> {
    // SAFETY: no arguments.
    let started = unsafe { sys::ncclGroupStart() }.result()?;
    group::begun();
    Ok(started)
}
