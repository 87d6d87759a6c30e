//! HIP's functions over NVIDIA's CUDA driver: a program written for AMD's GPUs runs on NVIDIA's.
//!
//! [`provider`] replaces `libamdhip64` below [`hip_sys`]. HIP's functions then call the CUDA driver (`libcuda.so.1`, or
//! `nvcuda.dll`), which NVIDIA's display driver installs. It is loaded at run time: a build needs nothing of CUDA, and a
//! program starts without it.
//!
//! ```
//! use hip_sys::*;
//!
//! match hip_nvidia::devices() {
//!     Ok(count) => {
//!         hip_sys::set_provider(hip_nvidia::provider())?;
//!         let mut found = 0;
//!         // SAFETY: `found` is valid for a write.
//!         assert_eq!(unsafe { hipGetDeviceCount(&mut found) }, hipSuccess);
//!         assert_eq!(usize::try_from(found), Ok(count));
//!     }
//!     Err(reason) => println!("no NVIDIA GPU: {reason}"),
//! }
//! # Ok::<(), rocm_loader::Error>(())
//! ```
//!
//! # Code of kernels
//! `hipModuleLoadData` takes what the driver takes: PTX text, a cubin, or NVIDIA's fat binary. AMD's code objects and
//! bundles are not code of these GPUs. For PTX that does not compile, [`last_fault`] has the compiler's messages.
//!
//! # Devices and contexts
//! Each thread has a current device, as in HIP. Before a call, the primary context of that device is made current in the
//! thread: the context that CUDA's runtime and libraries use. It is retained until the process ends.
//!
//! # Supported functions
//! The functions that the crate `hip` calls; COVERAGE.md lists each. The others return `hipErrorNotSupported` (801);
//! [`is_supported`] returns whether a function is supported. So does a function that an old driver lacks.
//!
//! # Behaviour
//! It behaves like CUDA where the two differ:
//! - A fault of a kernel is final: the device's context is lost, and every later call returns the same error. Only a new
//!   process can use the device again.
//! - Statuses have HIP's numbers. CUDA's statuses for kinds of faults that HIP does not have are
//!   `hipErrorLaunchFailure` (719). [`last_fault`] returns CUDA's own.
//! - A kernel may use all shared memory that a block can have: the opt-in above 48 KiB, which CUDA demands, is done at
//!   the launch.
//! - `gcnArchName` of a device is `sm_90` and the like, and a warp has 32 lanes.
//! - Pinned memory is coherent and accessible by all devices, whatever its flags say.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod context;
mod driver;
mod ends;
mod functions;
mod generated;
mod provider;
mod status;
mod structures;
mod table;
#[cfg(test)]
mod tests;

pub use driver::devices;
pub use provider::{is_supported, provider};
pub use status::last_fault;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
