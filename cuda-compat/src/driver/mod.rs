//! The driver API under CUDA's names, over HIP.
//!
//! # What differs
//! - `CUdeviceptr` is an integer, as in CUDA; functions convert it to HIP's pointer.
//! - HIP has one context for each device, the primary one. `cuCtxCreate` returns a handle to it: contexts of one device share memory,
//!   modules and the default stream, and `cuCtxDestroy` frees nothing. AMD has deprecated these functions. `cuCtxSynchronize` waits
//!   for the device (AMD's `hipCtxSynchronize` is not supported).
//! - A wave of MI GPUs has 64 lanes: ask for `CU_DEVICE_ATTRIBUTE_WARP_SIZE`.
//! - `cuModuleLoadData` takes code objects, bundles and what [`nvrtc`](crate::nvrtc) compiles; PTX is an error:
//!   [`image::explain`] says what to do, and so does the log of `cuModuleLoadDataEx`.
//! - Memory allocated by HIP can be used with every stream; `CU_STREAM_PER_THREAD` and `CU_STREAM_LEGACY` are handles, as in CUDA.

pub mod image;
pub mod sys;
pub use sys::*;
