//! The runtime API under CUDA's names, over HIP.
//!
//! # What differs
//! - `cudaMemcpyKind` and the flags of streams, events and host memory have CUDA's values. `cudaHostRegisterReadOnly` is not supported.
//! - `cudaErrorMemoryAllocation` and the other statuses are HIP's constants: they print as `hipErrorOutOfMemory`.
//! - `cudaDeviceProp` needs the feature `rocm-6-2`. `warpSize` is 64 on MI GPUs. `cudaDevAttr…` constants have HIP's values, not CUDA's.
//! - A launch by `<<<…>>>` needs a compiler; Rust loads kernels by [`driver`](crate::driver) or [`nvrtc`](crate::nvrtc).

pub mod sys;
pub use sys::*;
