//! The driver API: CUDA's C names over HIP, with cudarc's types on top.
//!
//! | layer | contents |
//! |---|---|
//! | [`safe`] | the types of cudarc: [`CudaContext`], [`CudaStream`], [`CudaSlice`], launches; re-exported here |
//! | [`result`] | functions that only convert statuses to [`DriverError`] |
//! | [`sys`] | the names of `cuda.h`; re-exported here |
//!
//! ```
//! use cuda_compat::driver::{CudaContext, DriverError};
//!
//! fn doubled() -> Result<Vec<f32>, DriverError> {
//!     let context = CudaContext::new(0)?;
//!     let stream = context.default_stream();
//!     let numbers = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
//!     let numbers = stream.clone_dtoh(&numbers)?;
//!     Ok(numbers.iter().map(|number| 2.0 * number).collect())
//! }
//!
//! match doubled() {
//!     Ok(numbers) => assert_eq!(numbers, [2.0, 4.0, 6.0]),
//!     Err(error) => println!("no GPU is available: {error}"),
//! }
//! ```
//!
//! # Implementation of `safe`
//! The types, traits, methods and signatures are those of cudarc 0.19.10. A program that uses cudarc only changes its
//! `Cargo.toml`: `cudarc = { package = "cuda-compat", … }`.
//!
//! - Modules and kernels use [`hip::Module`]: an image is checked before HIP sees it, and a launch is checked against
//!   the kernel's parameters.
//! - Memory, streams and events are C handles of HIP. cudarc's interface exposes and accepts raw handles
//!   ([`CudaStream::cu_stream`], [`DevicePtr::device_ptr`], [`CudaSlice::leak`], [`CudaStream::upgrade_device_ptr`],
//!   the whole layer [`result`]). Buffers and streams of [`hip`] cannot allow that, because they track all work that
//!   uses them. So this module implements cudarc's own model: a slice has an event for its last read and one for its
//!   last write, and work on another stream waits for them.
//! - Handles of this crate and of [`hip`] are interchangeable, and both use one runtime: select the software GPU with
//!   [`hip::sim_if_no_gpu`].
//!
//! # Differences from cudarc
//! - A copy between a device and pageable host memory (`[T]`, `Vec<T>`) is complete when the method returns, and cannot
//!   be captured: it is `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, because the graph would use the memory when it is
//!   freed or borrowed.
//! - A [`CudaGraph`] keeps the device memory and the modules that it uses. Dropped library handles are destroyed once
//!   no graphs exist.
//! - A wait for a device or its default stream, a new context, its first stream and a library handle wait until no
//!   other thread captures a stream, which CUDA would return an error for. In a thread that captures a stream,
//!   [`CudaContext::synchronize`] is `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, and the capture continues. The mode of a
//!   capture only decides which thread may end it.
//! - Waits, and the order between streams, take effect even if they return an earlier error
//!   ([`CudaContext::check_err`]). A library call whose buffers cannot be ordered queues nothing, and returns a status
//!   of the library; `check_err` returns the reason.
//! - A slice without elements has no memory, and its address is 0. CUDA cannot allocate 0 bytes.
//! - PTX is an error, `CUDA_ERROR_INVALID_PTX`, whose message explains what to do. [`nvrtc`](crate::nvrtc) compiles
//!   CUDA C++.
//! - A launch with fewer arguments than the kernel has parameters, or with an argument that is smaller than its
//!   parameter, is `CUDA_ERROR_INVALID_VALUE`. cudarc would let the kernel read out of bounds.
//! - [`CudaFunction::set_attribute`] only checks the size of dynamic shared memory: AMD GPUs have no limit to raise.
//! - Clusters of blocks, and contexts for graphics, are absent.
//! - A missing HIP library is an error from [`CudaContext::new`]; cudarc panics.
//!
//! # Differences from CUDA
//! - `CUdeviceptr` is an integer, as in CUDA; functions convert it to HIP's pointer.
//! - HIP has one context for each device, the primary one. `cuCtxCreate` returns a handle to it: contexts of one device
//!   share memory, modules and the default stream, and `cuCtxDestroy` frees nothing. AMD has deprecated these
//!   functions. `cuCtxSynchronize` waits for the device (AMD's `hipCtxSynchronize` is not supported).
//! - The compute capability is 8.0 on every GPU, and warps have 32 lanes unless the program asks for waves:
//!   [`device`](crate::device).
//! - `cuModuleLoadData` accepts code objects, bundles, [texts](text) of this crate's `nvcc`, and the output of [`nvrtc`](crate::nvrtc); PTX is an error:
//!   [`image::explain`] returns what to do, and so does the log of `cuModuleLoadDataEx`.
//! - Memory allocated by HIP can be used with every stream; `CU_STREAM_PER_THREAD` and `CU_STREAM_LEGACY` are handles,
//!   as in CUDA.

pub mod image;
pub mod result;
pub mod safe;
pub mod sys;
mod tensor_map;
pub mod text;
pub use safe::*;
pub use sys::*;
