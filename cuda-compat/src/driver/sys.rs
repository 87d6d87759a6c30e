//! The names of `cuda.h`.

#![allow(non_camel_case_types, non_snake_case, reason = "names are C's")]

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};

#[doc(no_inline)]
pub use hip_sys::{has, load_error, symbol_error};

pub use crate::generated::driver::*;

/// The constants of [`CUresult`], by the other name of CUDA's enum: a module, because `use cudaError_enum::CUDA_SUCCESS` does not compile
/// for an associated constant. As a type, write `CUresult`.
pub mod cudaError_enum {
    pub use crate::generated::driver::{
        CUDA_ERROR_ALREADY_ACQUIRED, CUDA_ERROR_ALREADY_MAPPED, CUDA_ERROR_ARRAY_IS_MAPPED, CUDA_ERROR_ASSERT,
        CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, CUDA_ERROR_CAPTURED_EVENT, CUDA_ERROR_CDP_NOT_SUPPORTED,
        CUDA_ERROR_CDP_VERSION_MISMATCH, CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, CUDA_ERROR_CONTAINED,
        CUDA_ERROR_CONTEXT_ALREADY_CURRENT, CUDA_ERROR_CONTEXT_ALREADY_IN_USE, CUDA_ERROR_CONTEXT_IS_DESTROYED,
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, CUDA_ERROR_DEINITIALIZED, CUDA_ERROR_DEVICE_NOT_LICENSED,
        CUDA_ERROR_DEVICE_UNAVAILABLE, CUDA_ERROR_ECC_UNCORRECTABLE, CUDA_ERROR_EXTERNAL_DEVICE,
        CUDA_ERROR_FILE_NOT_FOUND, CUDA_ERROR_FUNCTION_NOT_LOADED, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
        CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
        CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_INSTRUCTION,
        CUDA_ERROR_ILLEGAL_STATE, CUDA_ERROR_INVALID_ADDRESS_SPACE, CUDA_ERROR_INVALID_CLUSTER_SIZE,
        CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
        CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_PC, CUDA_ERROR_INVALID_PTX,
        CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_SOURCE,
        CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_JIT_COMPILATION_DISABLED, CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        CUDA_ERROR_KEY_ROTATION, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_LAUNCH_TIMEOUT, CUDA_ERROR_LOSSY_QUERY, CUDA_ERROR_MAP_FAILED,
        CUDA_ERROR_MISALIGNED_ADDRESS, CUDA_ERROR_MPS_CLIENT_TERMINATED, CUDA_ERROR_MPS_CONNECTION_FAILED,
        CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, CUDA_ERROR_MPS_RPC_FAILURE,
        CUDA_ERROR_MPS_SERVER_NOT_READY, CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_NO_DEVICE, CUDA_ERROR_NOT_FOUND,
        CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_NOT_MAPPED, CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
        CUDA_ERROR_NOT_MAPPED_AS_POINTER, CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_SUPPORTED,
        CUDA_ERROR_NVLINK_UNCORRECTABLE, CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_OUT_OF_MEMORY,
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
        CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, CUDA_ERROR_PROFILER_ALREADY_STARTED, CUDA_ERROR_PROFILER_ALREADY_STOPPED,
        CUDA_ERROR_PROFILER_DISABLED, CUDA_ERROR_PROFILER_NOT_INITIALIZED, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
        CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_MERGE,
        CUDA_ERROR_STREAM_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, CUDA_ERROR_STREAM_DETACHED, CUDA_ERROR_STUB_LIBRARY,
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, CUDA_ERROR_SYSTEM_NOT_READY, CUDA_ERROR_TENSOR_MEMORY_LEAK,
        CUDA_ERROR_TIMEOUT, CUDA_ERROR_TOO_MANY_PEERS, CUDA_ERROR_UNKNOWN, CUDA_ERROR_UNMAP_FAILED,
        CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, CUDA_ERROR_UNSUPPORTED_LIMIT,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_SUCCESS,
    };
}

#[cfg(feature = "rocm-7-1")]
pub use super::image::{cuLibraryLoadData, cuLibraryLoadFromFile, cuModuleLoadFatBinary};
pub use super::image::{cuModuleLoad, cuModuleLoadData, cuModuleLoadDataEx};
pub use super::tensor_map::{
    CUtensorMap, CUtensorMap_st, cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide, cuTensorMapEncodeTiled,
    cuTensorMapReplaceAddress,
};

use hip_sys::{
    hipDrvGetErrorName, hipDrvGetErrorString, hipError_t, hipErrorInvalidValue, hipErrorNotSupported, hipFunction_t,
    hipGraph_t, hipGraphExec_t, hipGraphExecUpdate, hipGraphExecUpdateResult, hipGraphNode_t, hipMemcpy,
    hipMemcpyAsync, hipMemcpyDefault, hipModuleOccupancyMaxPotentialBlockSize,
    hipModuleOccupancyMaxPotentialBlockSizeWithFlags, hipStream_t, hipStreamWaitValue32, hipStreamWaitValue64,
    hipSuccess,
};

use crate::CudaName;

/// The release of CUDA that a program is written for, as `1000 * major + 10 * minor`: the newest enabled feature
/// `cuda-…`, or 12.8 without one.
///
/// It does not describe a GPU or a runtime.
pub const CUDA_VERSION: u32 = cuda_version();

const fn cuda_version() -> u32 {
    const RELEASES: [(bool, u32); 19] = [
        (cfg!(feature = "cuda-13040"), 13040),
        (cfg!(feature = "cuda-13030"), 13030),
        (cfg!(feature = "cuda-13020"), 13020),
        (cfg!(feature = "cuda-13010"), 13010),
        (cfg!(feature = "cuda-13000"), 13000),
        (cfg!(feature = "cuda-12090"), 12090),
        (cfg!(feature = "cuda-12080"), 12080),
        (cfg!(feature = "cuda-12060"), 12060),
        (cfg!(feature = "cuda-12050"), 12050),
        (cfg!(feature = "cuda-12040"), 12040),
        (cfg!(feature = "cuda-12030"), 12030),
        (cfg!(feature = "cuda-12020"), 12020),
        (cfg!(feature = "cuda-12010"), 12010),
        (cfg!(feature = "cuda-12000"), 12000),
        (cfg!(feature = "cuda-11080"), 11080),
        (cfg!(feature = "cuda-11070"), 11070),
        (cfg!(feature = "cuda-11060"), 11060),
        (cfg!(feature = "cuda-11050"), 11050),
        (cfg!(feature = "cuda-11040"), 11040),
    ];
    let mut index = 0;
    while index < RELEASES.len() {
        if RELEASES[index].0 {
            return RELEASES[index].1;
        }
        index += 1;
    }
    12080
}

/// An address on a device: an integer, as in CUDA. HIP's [`hipDeviceptr_t`](hip_sys::hipDeviceptr_t) is a pointer.
pub type CUdeviceptr = u64;

/// The same as [`CUdeviceptr`].
pub type CUdeviceptr_v2 = CUdeviceptr;

/// Parameters of a context, which HIP lacks: [`create_v4`](super::result::ctx::create_v4) takes null.
#[derive(Debug)]
#[repr(C)]
pub struct CUctxCreateParams {
    _private: [u8; 0],
}

/// [`CUctxCreateParams`].
pub type CUctxCreateParams_st = CUctxCreateParams;

/// A function that returns the bytes of shared memory for a block size.
pub type CUoccupancyB2DSize = Option<unsafe extern "C" fn(block_size: c_int) -> usize>;

/// The result of [`cuGraphExecUpdate`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUgraphExecUpdateResultInfo {
    /// Whether the graph was updated, or the reason why not.
    pub result: hipGraphExecUpdateResult,
    /// The node that prevented it; null if no node did.
    pub errorNode: hipGraphNode_t,
    /// Always null: HIP does not report edges.
    pub errorFromNode: hipGraphNode_t,
}

impl Default for CUgraphExecUpdateResultInfo {
    fn default() -> Self {
        Self {
            result: hipGraphExecUpdateResult::default(),
            errorNode: core::ptr::null_mut(),
            errorFromNode: core::ptr::null_mut(),
        }
    }
}

/// Returns the name of a status that HIP lacks.
pub(crate) fn name_of(error: hipError_t) -> Option<&'static CStr> {
    error.cuda_name()
}

/// The description of statuses that HIP lacks.
pub(crate) const LACKING: &CStr = c"a status of CUDA that no function of HIP returns";

/// A preference for caches or shared memory, which AMD GPUs ignore. It is a Rust enum, because programs match it
/// without a wildcard.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CUfunc_cache {
    /// No preference.
    #[default]
    CU_FUNC_CACHE_PREFER_NONE = hip_sys::hipFuncCachePreferNone.0,
    /// Prefer shared memory.
    CU_FUNC_CACHE_PREFER_SHARED = hip_sys::hipFuncCachePreferShared.0,
    /// Prefer the cache.
    CU_FUNC_CACHE_PREFER_L1 = hip_sys::hipFuncCachePreferL1.0,
    /// The same size for both.
    CU_FUNC_CACHE_PREFER_EQUAL = hip_sys::hipFuncCachePreferEqual.0,
}

pub use CUfunc_cache::{
    CU_FUNC_CACHE_PREFER_EQUAL, CU_FUNC_CACHE_PREFER_L1, CU_FUNC_CACHE_PREFER_NONE, CU_FUNC_CACHE_PREFER_SHARED,
};

/// [`CUfunc_cache`].
pub use CUfunc_cache as CUfunc_cache_enum;

/// Writes the preference of the current device. AMD's runtime has none, which is `CU_FUNC_CACHE_PREFER_NONE`; unknown
/// values are written as that, too.
///
/// # Safety
/// `pconfig` must be valid for the write, or null, which is an error.
#[doc(alias("hipCtxGetCacheConfig", "hipDeviceGetCacheConfig"))]
pub unsafe extern "C" fn cuCtxGetCacheConfig(pconfig: *mut CUfunc_cache) -> hipError_t {
    if pconfig.is_null() {
        return hipErrorInvalidValue;
    }
    let mut config = hip_sys::hipFuncCache_t::default();
    // SAFETY: room for the result.
    let status = unsafe { hip_sys::hipDeviceGetCacheConfig(&mut config) };
    if status != hipSuccess {
        return status;
    }
    let config = match config {
        hip_sys::hipFuncCachePreferShared => CU_FUNC_CACHE_PREFER_SHARED,
        hip_sys::hipFuncCachePreferL1 => CU_FUNC_CACHE_PREFER_L1,
        hip_sys::hipFuncCachePreferEqual => CU_FUNC_CACHE_PREFER_EQUAL,
        _ => CU_FUNC_CACHE_PREFER_NONE,
    };
    // SAFETY: the caller ensures that it is valid.
    unsafe { pconfig.write(config) };
    status
}

/// Sets the preference of the current device, which AMD's runtime ignores.
///
/// # Safety
/// Always safe to call; it is `unsafe` as all functions here are.
#[doc(alias("hipCtxSetCacheConfig", "hipDeviceSetCacheConfig"))]
pub unsafe extern "C" fn cuCtxSetCacheConfig(config: CUfunc_cache) -> hipError_t {
    // SAFETY: a number.
    unsafe { hip_sys::hipDeviceSetCacheConfig(hip_sys::hipFuncCache_t(config as _)) }
}

impl From<CUdevice_attribute> for hip_sys::hipDeviceAttribute_t {
    fn from(attribute: CUdevice_attribute) -> Self {
        Self(attribute as _)
    }
}

/// Writes an attribute of a device. The compute capability and the size of warps are those of
/// [`device`](crate::device); other values are HIP's.
///
/// # Safety
/// `pi` must be valid for the write, or null, which is an error.
#[doc(alias("hipDeviceGetAttribute"))]
pub unsafe extern "C" fn cuDeviceGetAttribute(pi: *mut c_int, attrib: CUdevice_attribute, dev: c_int) -> hipError_t {
    // SAFETY: the caller's contract.
    unsafe { crate::device::get_attribute(pi, attrib.into(), dev) }
}

/// Writes the [compute capability](crate::device::COMPUTE_CAPABILITY) of a device.
///
/// # Safety
/// `major` and `minor` must be valid for the writes, or null, which is an error.
#[doc(alias("hipDeviceComputeCapability"))]
pub unsafe extern "C" fn cuDeviceComputeCapability(
    major: *mut c_int,
    minor: *mut c_int,
    dev: hip_sys::hipDevice_t,
) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    let status = unsafe { hip_sys::hipDeviceComputeCapability(major, minor, dev) };
    if status == hipSuccess {
        let (first, second) = crate::device::COMPUTE_CAPABILITY;
        // SAFETY: the call has written both.
        unsafe { major.write(first) };
        // SAFETY: the same.
        unsafe { minor.write(second) };
    }
    status
}

/// Writes the address of a status's name: HIP's name, or CUDA's if HIP lacks the status.
///
/// # Safety
/// `pStr` must be valid for the write, or null, which is an error.
#[doc(alias("hipDrvGetErrorName"))]
pub unsafe extern "C" fn cuGetErrorName(error: hipError_t, pStr: *mut *const c_char) -> hipError_t {
    if pStr.is_null() {
        return hipErrorInvalidValue;
    }
    match name_of(error) {
        Some(name) => {
            // SAFETY: the caller ensures that it is valid.
            unsafe { pStr.write(name.as_ptr()) };
            hipSuccess
        }
        // SAFETY: the caller's contract is that of the function called.
        None => unsafe { hipDrvGetErrorName(error, pStr) },
    }
}

/// Writes the address of the description of a status.
///
/// # Safety
/// `pStr` must be valid for the write, or null, which is an error.
#[doc(alias("hipDrvGetErrorString"))]
pub unsafe extern "C" fn cuGetErrorString(error: hipError_t, pStr: *mut *const c_char) -> hipError_t {
    if pStr.is_null() {
        return hipErrorInvalidValue;
    }
    match name_of(error) {
        Some(_) => {
            // SAFETY: the caller ensures that it is valid.
            unsafe { pStr.write(LACKING.as_ptr()) };
            hipSuccess
        }
        // SAFETY: the caller's contract is that of the function called.
        None => unsafe { hipDrvGetErrorString(error, pStr) },
    }
}

/// Writes the address of a function of HIP; `symbol` is HIP's name, such as `hipMalloc`.
///
/// # Safety
/// `symbol` must be a C string, and `pfn` valid for the write.
#[doc(alias("hipGetProcAddress"))]
#[cfg(feature = "rocm-6-2")]
#[inline]
pub unsafe extern "C" fn cuGetProcAddress(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    cudaVersion: c_int,
    flags: u64,
) -> hipError_t {
    let mut status = hip_sys::hipDriverProcAddressQueryResult::default();
    // SAFETY: the caller's contract, and room for the result.
    unsafe { hip_sys::hipGetProcAddress(symbol, pfn, cudaVersion, flags, &mut status) }
}

/// Updates an executable graph from a graph of the same shape; writes the result to `resultInfo`.
///
/// # Safety
/// The handles must be alive, and `resultInfo` valid for the write.
#[doc(alias("hipGraphExecUpdate"))]
#[inline]
pub unsafe extern "C" fn cuGraphExecUpdate(
    hGraphExec: hipGraphExec_t,
    hGraph: hipGraph_t,
    resultInfo: *mut CUgraphExecUpdateResultInfo,
) -> hipError_t {
    if resultInfo.is_null() {
        return hipErrorInvalidValue;
    }
    let mut info = CUgraphExecUpdateResultInfo::default();
    // SAFETY: the caller's contract, and room for two results.
    let status = unsafe { hipGraphExecUpdate(hGraphExec, hGraph, &mut info.errorNode, &mut info.result) };
    // SAFETY: the caller ensures that it is valid.
    unsafe { resultInfo.write(info) };
    status
}

pub use cuGraphExecUpdate as cuGraphExecUpdate_v2;

/// Writes the sizes of grid and block that keep a device busiest.
///
/// `blockSizeToDynamicSMemSize` must be null: HIP only supports one size of shared memory for all blocks, and a
/// function is `hipErrorNotSupported`.
///
/// # Safety
/// The function must be alive, and the results valid for the writes.
#[doc(alias("hipModuleOccupancyMaxPotentialBlockSize"))]
#[inline]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSize(
    minGridSize: *mut c_int,
    blockSize: *mut c_int,
    func: hipFunction_t,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: c_int,
) -> hipError_t {
    if blockSizeToDynamicSMemSize.is_some() {
        return hipErrorNotSupported;
    }
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hipModuleOccupancyMaxPotentialBlockSize(minGridSize, blockSize, func, dynamicSMemSize, blockSizeLimit) }
}

/// As [`cuOccupancyMaxPotentialBlockSize`], with flags.
///
/// # Safety
/// The requirements of [`cuOccupancyMaxPotentialBlockSize`].
#[doc(alias("hipModuleOccupancyMaxPotentialBlockSizeWithFlags"))]
#[inline]
pub unsafe extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    minGridSize: *mut c_int,
    blockSize: *mut c_int,
    func: hipFunction_t,
    blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
    dynamicSMemSize: usize,
    blockSizeLimit: c_int,
    flags: c_uint,
) -> hipError_t {
    if blockSizeToDynamicSMemSize.is_some() {
        return hipErrorNotSupported;
    }
    // SAFETY: the caller's contract is that of the function called.
    unsafe {
        hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
            minGridSize,
            blockSize,
            func,
            dynamicSMemSize,
            blockSizeLimit,
            flags,
        )
    }
}

/// Copies bytes between any two addresses, on the host or a device, and blocks until the copy is done.
///
/// # Safety
/// Both must be valid for this many bytes.
#[doc(alias("hipMemcpy"))]
#[inline]
pub unsafe extern "C" fn cuMemcpy(dst: CUdeviceptr, src: CUdeviceptr, ByteCount: usize) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hipMemcpy(dst as usize as *mut c_void, src as usize as *const c_void, ByteCount, hipMemcpyDefault) }
}

/// Queues a copy of bytes between any two addresses, on the host or a device.
///
/// # Safety
/// Both must be valid for this many bytes until the copy is done, and the stream must be alive.
#[doc(alias("hipMemcpyAsync"))]
#[inline]
pub unsafe extern "C" fn cuMemcpyAsync(
    dst: CUdeviceptr,
    src: CUdeviceptr,
    ByteCount: usize,
    hStream: hipStream_t,
) -> hipError_t {
    let (dst, src) = (dst as usize as *mut c_void, src as usize as *const c_void);
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hipMemcpyAsync(dst, src, ByteCount, hipMemcpyDefault, hStream) }
}

/// Copies bytes between two devices. HIP finds the devices from the addresses; the contexts are not used.
///
/// # Safety
/// Both must be valid for this many bytes.
#[doc(alias("hipMemcpy"))]
pub unsafe extern "C" fn cuMemcpyPeer(
    dstDevice: CUdeviceptr,
    _dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    _srcContext: CUcontext,
    ByteCount: usize,
) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { cuMemcpy(dstDevice, srcDevice, ByteCount) }
}

/// Queues a copy of bytes between two devices, as [`cuMemcpyPeer`] does.
///
/// # Safety
/// Both must be valid for this many bytes until the copy is done, and the stream must be alive.
#[doc(alias("hipMemcpyAsync"))]
pub unsafe extern "C" fn cuMemcpyPeerAsync(
    dstDevice: CUdeviceptr,
    _dstContext: CUcontext,
    srcDevice: CUdeviceptr,
    _srcContext: CUcontext,
    ByteCount: usize,
    hStream: hipStream_t,
) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { cuMemcpyAsync(dstDevice, srcDevice, ByteCount, hStream) }
}

/// Makes a stream wait for a 32-bit value in memory. All bits are compared.
///
/// # Safety
/// The stream must be alive, and the memory valid until the wait is over.
#[doc(alias("hipStreamWaitValue32"))]
#[inline]
pub unsafe extern "C" fn cuStreamWaitValue32(
    stream: hipStream_t,
    addr: CUdeviceptr,
    value: u32,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hipStreamWaitValue32(stream, addr as usize as *mut c_void, value, flags, u32::MAX) }
}

pub use cuStreamWaitValue32 as cuStreamWaitValue32_v2;

/// Makes a stream wait for a 64-bit value in memory. All bits are compared.
///
/// # Safety
/// The stream must be alive, and the memory valid until the wait is over.
#[doc(alias("hipStreamWaitValue64"))]
#[inline]
pub unsafe extern "C" fn cuStreamWaitValue64(
    stream: hipStream_t,
    addr: CUdeviceptr,
    value: u64,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the caller's contract is that of the function called.
    unsafe { hipStreamWaitValue64(stream, addr as usize as *mut c_void, value, flags, u64::MAX) }
}

pub use cuStreamWaitValue64 as cuStreamWaitValue64_v2;
