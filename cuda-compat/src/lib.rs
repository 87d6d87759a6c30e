//! CUDA's names on AMD GPUs: the driver and runtime APIs, NVRTC and CUDA's libraries, over ROCm 5.7 to 10.0.
//!
//! ```
//! use cuda_compat::runtime::*;
//!
//! let mut count = 0;
//! // SAFETY: `count` is valid for the write.
//! let status = unsafe { cudaGetDeviceCount(&mut count) };
//! if status == cudaSuccess {
//!     println!("{count} devices");
//! } else {
//!     println!("{status:?}"); // HIP's name of the status, such as hipErrorNoDevice
//! }
//! ```
//!
//! | module | CUDA | over |
//! |---|---|---|
//! | [`driver`] | the driver API, `cu…`, and cudarc's types over it | HIP ([`hip_sys`], [`hip`]) |
//! | [`runtime`] | the runtime API, `cuda…` | HIP |
//! | [`nvrtc`] | NVRTC, and cudarc's types over it | HIPRTC ([`hiprtc_sys`]) |
//! | `cublas`, `cublaslt` | cuBLAS, cuBLASLt | hipBLAS, hipBLASLt |
//! | `curand`, `cufft`, `cusparse`, `cusolver` | cuRAND, cuFFT, cuSPARSE, cuSOLVER | hipRAND, hipFFT, hipSPARSE, hipSOLVER |
//! | `nccl` | NCCL | RCCL |
//! | `cufile`, `nvtx` | cuFile, NVTX | hipFile (ROCm 10.0), rocTX |
//! | `nvml` | NVML | AMD SMI (ROCm 6.2 and newer) |
//!
//! Each library has a feature with its name. Nothing is linked: a library is loaded on the first call, and a missing
//! library or function is a status, never a panic.
//!
//! # Names
//!
//! `MODULE::sys` has functions, types, enum types and constants under the names of CUDA's C headers; the module
//! re-exports them. cudarc has them in `sys`, too, and its safe items in the module itself, because their names do not
//! occur in CUDA's C headers.
//!
//! - If ROCm's item is the same, the name is a re-export: `cudaMalloc` *is* [`hip_sys::hipMalloc`], and `CUstream` is
//!   [`hip_sys::hipStream_t`]. Handles can be passed between crates without a conversion.
//! - If argument order, types or meaning differ, the name is a function that converts.
//! - `_v2` names and the names without a suffix are one function, as in CUDA's headers since CUDA 4. If CUDA 12 changed
//!   the meaning of a name (`cudaGraphInstantiate`), the name has the meaning of CUDA 12.
//! - A constant of an enum is also an associated constant of its type, as in cudarc: `CUresult::CUDA_SUCCESS` is
//!   `CUDA_SUCCESS`. Rust enums are `CUdevice_attribute`, and those whose values are plain numbers in ROCm
//!   (`CUevent_flags`). A status has the method `result`.
//! - A constant that ROCm lacks has a distinct value, which no function of ROCm returns. [`CudaName`] returns its name.
//! - A function that ROCm lacks is absent. [`CUDA_NAMES.md`] lists each with its replacement.
//! - A status is printed with HIP's name (`hipErrorOutOfMemory`) and HIP's number. CUDA's numbers are mostly the same;
//!   compare with constants.
//!
//! [`CUDA_NAMES.md`]: https://docs.rs/crate/cuda-compat/latest/source/CUDA_NAMES.md
//!
//! # API levels
//! The features `rocm-5-7` to `rocm-10-0` each enable the earlier ones, and `rocm-6-4` is the default. A feature adds
//! names, and does not change any. A name that ROCm changed has its newest form; older forms are in the modules of the
//! `-sys` crates. For hipBLAS functions that ROCm 7.0 renamed, the name that the library has is called.
//!
//! # Safety
//! These are C functions: the caller must ensure that pointers are valid for the function's reads and writes, that
//! handles are alive, and that kernels are correct. The crates [`hip`] and `hipblas` wrap them safely.

#![cfg_attr(docsrs, feature(doc_cfg))]

use std::ffi::CStr;

pub mod device;
pub mod driver;
pub mod nvrtc;
pub mod runtime;
pub mod types;

#[rustfmt::skip]
#[allow(non_camel_case_types, non_snake_case, non_upper_case_globals, reason = "names are C's")]
#[allow(clippy::too_many_arguments, reason = "functions are C's")]
#[allow(clippy::unnecessary_cast, reason = "numbers of HIP are of several types")]
#[allow(unreachable_pub, unused_imports, deprecated, reason = "levels differ in what they need")]
mod generated {
    pub(crate) mod driver;
    mod lacking;
    pub(crate) mod nvrtc;
    pub(crate) mod runtime;
    #[cfg(feature = "cublas")]
    pub(crate) mod cublas;
    #[cfg(feature = "cublaslt")]
    pub(crate) mod cublaslt;
    #[cfg(feature = "cufft")]
    pub(crate) mod cufft;
    #[cfg(feature = "cufile")]
    pub(crate) mod cufile;
    #[cfg(feature = "curand")]
    pub(crate) mod curand;
    #[cfg(feature = "cusolver")]
    pub(crate) mod cusolver;
    #[cfg(feature = "cusparse")]
    pub(crate) mod cusparse;
    #[cfg(feature = "nccl")]
    pub(crate) mod nccl;
    #[cfg(feature = "nvtx")]
    pub(crate) mod nvtx;
}

macro_rules! libraries {
    ($($feature:literal $module:ident: $about:literal, $library:ident;)*) => {$(
        #[doc = concat!($about, " under CUDA's names.")]
        #[cfg(feature = $feature)]
        pub mod $module {
            #[doc = concat!("The names of CUDA's C header.")]
            pub mod sys {
                pub use crate::generated::$module::*;
                #[doc(no_inline)]
                pub use $library::{has, load_error, symbol_error};
            }
            pub use sys::*;
        }
    )*};
}

libraries! {
    "nvtx" nvtx: "rocTX", roctx_sys;
}

#[cfg(feature = "cublas")]
pub mod cublas;
#[cfg(feature = "cublaslt")]
pub mod cublaslt;
#[cfg(feature = "cufft")]
pub mod cufft;
#[cfg(feature = "cufile")]
pub mod cufile;
#[cfg(feature = "curand")]
pub mod curand;
#[cfg(feature = "cusolver")]
pub mod cusolver;
#[cfg(feature = "cusparse")]
pub mod cusparse;
#[cfg(feature = "nccl")]
pub mod nccl;
#[cfg(feature = "nvml")]
pub mod nvml;

/// CUDA's name of a constant that ROCm lacks.
///
/// ```
/// use cuda_compat::{CudaName, runtime::*};
///
/// assert_eq!(cudaErrorStubLibrary.cuda_name(), Some(c"CUDA_ERROR_STUB_LIBRARY")); // the driver's name
/// assert_eq!(cudaErrorMemoryAllocation.cuda_name(), None); // ROCm has it: hipErrorOutOfMemory
/// ```
pub trait CudaName: Sized {
    /// Returns the name; `None` if ROCm has the constant. If the driver and the runtime have different names for one
    /// value, it is the driver's.
    fn cuda_name(self) -> Option<&'static CStr>;
}

/// Compiles the porting guide's examples.
#[cfg(doctest)]
#[doc = include_str!("../PORTING.md")]
struct Porting;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
