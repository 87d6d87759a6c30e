//! The C functions: every RCCL function that this crate calls is declared here, and nowhere else.
//!
//! They are declared once for all releases. The only types that differ are the configuration, which states its own size
//! and version ([`RawConfig`](crate::raw_config::RawConfig)), and windows, which are opaque. A test compares each
//! declaration with those of `rccl-sys` at every level. The comments between the declarations are the headings of
//! `RCCL_FUNCTIONS.md`.

use std::ffi::{c_char, c_int, c_uint, c_void};

pub(crate) use rccl_sys::{
    BINDING, load_error, ncclAvg, ncclComm_t, ncclDataType_t, ncclInvalidUsage, ncclMax, ncclMin, ncclProd,
    ncclRedOp_t, ncclResult_t, ncclScalarDevice, ncclScalarHostImmediate, ncclScalarResidence_t, ncclSuccess, ncclSum,
    ncclSystemError, ncclUniqueId, symbol_error,
};

use crate::raw_config::RawConfig;

/// Work is in progress: named in the headers since ROCm 6.2.
pub(crate) const IN_PROGRESS: ncclResult_t = ncclResult_t(7);

/// A stream of HIP or CUDA.
pub(crate) type RawStream = *mut c_void;

/// A window of any release.
#[cfg_attr(not(feature = "windows"), allow(dead_code, reason = "of functions that the feature calls"))]
pub(crate) type RawWindow = *mut c_void;

/// `ncclWaitSignalDesc_t`: a number of signals from a rank.
#[cfg_attr(not(feature = "one-sided"), allow(dead_code, reason = "of a function that the feature calls"))]
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RawWaitSignal {
    pub(crate) count: c_int,
    pub(crate) peer: c_int,
    pub(crate) signal: c_int,
    pub(crate) context: c_int,
}

rocm_loader::bindings! { binding = BINDING;
    // Versions and errors
    "5.7" pub fn ncclGetVersion(version: *mut c_int) -> ncclResult_t;
    "5.7" pub fn ncclGetErrorString(result: ncclResult_t) -> *const c_char;
    "5.7" pub fn ncclGetLastError(comm: ncclComm_t) -> *const c_char;
    "5.7" pub fn ncclCommGetAsyncError(comm: ncclComm_t, asyncError: *mut ncclResult_t) -> ncclResult_t;

    // Communicators
    "5.7" pub fn ncclGetUniqueId(uniqueId: *mut ncclUniqueId) -> ncclResult_t;
    "5.7" pub fn ncclCommInitRank(comm: *mut ncclComm_t, nranks: c_int, commId: ncclUniqueId, rank: c_int) -> ncclResult_t;
    "6.2" pub fn ncclCommInitRankConfig(comm: *mut ncclComm_t, nranks: c_int, commId: ncclUniqueId, rank: c_int, config: *mut RawConfig) -> ncclResult_t;
    "6.2" pub fn ncclCommSplit(comm: ncclComm_t, color: c_int, key: c_int, newcomm: *mut ncclComm_t, config: *mut RawConfig) -> ncclResult_t;
    "7.1" pub fn ncclCommShrink(comm: ncclComm_t, excludeRanksList: *mut c_int, excludeRanksCount: c_int, newcomm: *mut ncclComm_t, config: *mut RawConfig, shrinkFlags: c_int) -> ncclResult_t;
    "5.7" pub fn ncclCommCount(comm: ncclComm_t, count: *mut c_int) -> ncclResult_t;
    "5.7" pub fn ncclCommUserRank(comm: ncclComm_t, rank: *mut c_int) -> ncclResult_t;
    "6.2" pub fn ncclCommFinalize(comm: ncclComm_t) -> ncclResult_t;
    "5.7" pub fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
    "5.7" pub fn ncclCommAbort(comm: ncclComm_t) -> ncclResult_t;

    // Memory
    "6.2" pub fn ncclMemAlloc(ptr: *mut *mut c_void, size: usize) -> ncclResult_t;
    "6.2" pub fn ncclMemFree(ptr: *mut c_void) -> ncclResult_t;
    "6.2" pub fn ncclCommRegister(comm: ncclComm_t, buff: *mut c_void, size: usize, handle: *mut *mut c_void) -> ncclResult_t;
    "6.2" pub fn ncclCommDeregister(comm: ncclComm_t, handle: *mut c_void) -> ncclResult_t;
    "7.1" pub fn ncclCommWindowRegister(comm: ncclComm_t, buff: *mut c_void, size: usize, win: *mut RawWindow, winFlags: c_int) -> ncclResult_t;
    "7.1" pub fn ncclCommWindowDeregister(comm: ncclComm_t, win: RawWindow) -> ncclResult_t;
    "10.0" pub fn ncclWinGetUserPtr(comm: ncclComm_t, win: RawWindow, outUserPtr: *mut *mut c_void) -> ncclResult_t;

    // One-sided operations
    "10.0" pub fn ncclPutSignal(localbuff: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int, peerWin: RawWindow, peerWinOffset: usize, sigIdx: c_int, ctx: c_int, flags: c_uint, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "10.0" pub fn ncclSignal(peer: c_int, sigIdx: c_int, ctx: c_int, flags: c_uint, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "10.0" pub fn ncclWaitSignal(nDesc: c_int, signalDescs: *mut RawWaitSignal, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;

    // Groups
    "5.7" pub fn ncclGroupStart() -> ncclResult_t;
    "5.7" pub fn ncclGroupEnd() -> ncclResult_t;

    // Operators
    "5.7" pub fn ncclRedOpCreatePreMulSum(op: *mut ncclRedOp_t, scalar: *mut c_void, datatype: ncclDataType_t, residence: ncclScalarResidence_t, comm: ncclComm_t) -> ncclResult_t;
    "5.7" pub fn ncclRedOpDestroy(op: ncclRedOp_t, comm: ncclComm_t) -> ncclResult_t;

    // Collectives
    "5.7" pub fn ncclAllReduce(sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclReduce(sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, op: ncclRedOp_t, root: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclBroadcast(sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, root: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclAllGather(sendbuff: *const c_void, recvbuff: *mut c_void, sendcount: usize, datatype: ncclDataType_t, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclReduceScatter(sendbuff: *const c_void, recvbuff: *mut c_void, recvcount: usize, datatype: ncclDataType_t, op: ncclRedOp_t, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclGather(sendbuff: *const c_void, recvbuff: *mut c_void, sendcount: usize, datatype: ncclDataType_t, root: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclScatter(sendbuff: *const c_void, recvbuff: *mut c_void, recvcount: usize, datatype: ncclDataType_t, root: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclAllToAll(sendbuff: *const c_void, recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclAllToAllv(sendbuff: *const c_void, sendcounts: *const usize, sdispls: *const usize, recvbuff: *mut c_void, recvcounts: *const usize, rdispls: *const usize, datatype: ncclDataType_t, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclSend(sendbuff: *const c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
    "5.7" pub fn ncclRecv(recvbuff: *mut c_void, count: usize, datatype: ncclDataType_t, peer: c_int, comm: ncclComm_t, stream: RawStream) -> ncclResult_t;
}
