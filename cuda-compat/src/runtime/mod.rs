//! The runtime API under CUDA's names, over HIP.
//!
//! # Differences from CUDA
//! - `cudaMemcpyKind` and the flags of streams, events and host memory have CUDA's values. `cudaHostRegisterReadOnly`
//!   is not supported.
//! - `cudaErrorMemoryAllocation` and the other statuses are HIP's constants: they print as `hipErrorOutOfMemory`.
//! - `cudaDeviceProp` needs the feature `rocm-6-2`. `warpSize`, `major` and `minor` are those of
//!   [`device`](crate::device). `cudaDevAttr…` constants have HIP's values, not CUDA's.
//! - A `<<<…>>>` launch needs a compiler; Rust loads kernels with [`driver`](crate::driver) or
//!   [`nvrtc`](crate::nvrtc).

pub mod sys;
pub use sys::*;
