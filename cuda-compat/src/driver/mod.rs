//! The driver API: CUDA's C names over HIP, and cudarc's types over them.
//!
//! | floor | what it has |
//! |---|---|
//! | [`safe`] | the types of cudarc: [`CudaContext`], [`CudaStream`], [`CudaSlice`], launches; re-exported here |
//! | [`result`] | thin functions that return [`DriverError`] |
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
//! # What `safe` rests on
//! The types, traits, methods and signatures are those of cudarc 0.19.10. A program that uses cudarc changes its `Cargo.toml` alone:
//! `cudarc = { package = "cuda-compat", … }`.
//!
//! - Modules and kernels rest on [`hip::Module`]: an image is checked before HIP sees it, and a launch is checked against the kernel's
//!   parameters.
//! - Memory, streams and events are C handles of HIP. cudarc's interface hands them out and takes them back ([`CudaStream::cu_stream`],
//!   [`DevicePtr::device_ptr`], [`CudaSlice::leak`], [`CudaStream::upgrade_device_ptr`], the whole floor [`result`]), which buffers
//!   and streams of [`hip`] cannot allow: they know of all work that uses them. cudarc has a model of its own: a slice has an event for
//!   its last read and one for its last write, and work on another stream waits for them. That model is here.
//! - A handle of the one crate is a handle of the other, and both use one runtime: select the software GPU by [`hip::sim_if_no_gpu`].
//!
//! # What differs from cudarc
//! - A copy between a device and memory of the host is complete when the method returns if the memory is pageable (`[T]`, `Vec<T>`), and cannot be
//!   captured: it is `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`, as the graph would use the memory when it is gone or borrowed.
//! - A [`CudaGraph`] keeps the device memory and the modules that it uses. Handles of libraries that were dropped are destroyed when there are no graphs.
//! - Waits, and the order between streams, are done also where they return an earlier error ([`CudaContext::check_err`]). A call of a library whose
//!   buffers cannot be ordered queues nothing, and returns a status of the library; `check_err` has the reason.
//! - A slice without elements has no memory, and its address is 0. CUDA cannot allocate 0 bytes.
//! - PTX is an error, `CUDA_ERROR_INVALID_PTX`, which prints what to do. [`nvrtc`](crate::nvrtc) compiles CUDA C++.
//! - A launch with fewer arguments than the kernel has parameters, or with one that is smaller than its parameter, is
//!   `CUDA_ERROR_INVALID_VALUE`. cudarc would let the kernel read beyond it.
//! - [`CudaFunction::set_attribute`] checks the size of dynamic shared memory, and has nothing to set: AMD GPUs have no limit to raise.
//! - Clusters of blocks, and contexts for graphics, are absent.
//! - A missing HIP library is an error of [`CudaContext::new`]; cudarc panics.
//!
//! # What differs from CUDA
//! - `CUdeviceptr` is an integer, as in CUDA; functions convert it to HIP's pointer.
//! - HIP has one context for each device, the primary one. `cuCtxCreate` returns a handle to it: contexts of one device share memory,
//!   modules and the default stream, and `cuCtxDestroy` frees nothing. AMD has deprecated these functions. `cuCtxSynchronize` waits
//!   for the device (AMD's `hipCtxSynchronize` is not supported).
//! - A wave of MI GPUs has 64 lanes: ask for `CU_DEVICE_ATTRIBUTE_WARP_SIZE`.
//! - `cuModuleLoadData` takes code objects, bundles and what [`nvrtc`](crate::nvrtc) compiles; PTX is an error:
//!   [`image::explain`] says what to do, and so does the log of `cuModuleLoadDataEx`.
//! - Memory allocated by HIP can be used with every stream; `CU_STREAM_PER_THREAD` and `CU_STREAM_LEGACY` are handles, as in CUDA.

pub mod image;
pub mod result;
pub mod safe;
pub mod sys;
pub use safe::*;
pub use sys::*;
