//! Safe Rust for AMD GPUs: devices, memory, streams, events, graphs, modules and kernels over HIP.
//!
//! Nothing is linked: the HIP runtime of a ROCm installation is loaded on first use. A program that uses this crate
//! builds and starts on a machine without ROCm, and its first call returns an error that says what is missing. With the
//! feature `sim` it also *runs* there, on a software GPU that executes the same machine code.
//!
//! # Getting started
//!
//! 1. Choose a source of kernels. [`hiprtc`](https://docs.rs/hiprtc) compiles kernels in HIP C++, at run time or in a
//!    build script. [`hip-kernel`](https://docs.rs/hip-kernel) has kernels in Rust, whose launches are safe. Other code
//!    objects are loaded by [`Module::load`].
//! 2. Get a [`Device`], and create a [`Stream`], which runs the work that is queued on it in order.
//! 3. Load the code, and find the kernel by its name: a [`Kernel`].
//! 4. Copy the input to device memory: a [`DeviceBuffer`].
//! 5. [Launch](Kernel::launch) the kernel. Reading a buffer waits for the work that writes it.
//!
//! ```
//! use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
//!
//! const SOURCE: &str = r#"
//! extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned n) {
//!     unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < n) c[i] = a[i] + b[i];
//! }"#;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     # if hiprtc::available().is_err() || Device::count().is_err() { return Ok(()) }
//!     let device = Device::get(0)?; // an error that says what is missing, if there is no GPU or no ROCm
//!     let stream = Stream::new(&device)?;
//!     let code = hiprtc::Program::new("vector_add.hip", SOURCE).compile()?.load(&device)?;
//!     let vector_add = code.kernel("vector_add")?;
//!
//!     let a = DeviceBuffer::from_slice(&device, &[1.0f32, 2.0, 3.0])?;
//!     let b = DeviceBuffer::from_slice(&device, &[10.0f32, 20.0, 30.0])?;
//!     let mut c = DeviceBuffer::<f32>::zeroed(&device, 3)?;
//!     let config = LaunchConfig::for_elements(c.len(), 256);
//!     // SAFETY: the kernel reads a and b and writes c, each of 3 elements, and checks its index against n.
//!     unsafe { vector_add.launch(&stream, config, (&a, &b, &mut c, 3u32))? };
//!
//!     assert_eq!(c.to_vec()?, [11.0, 22.0, 33.0]); // waits for the launch
//!     Ok(())
//! }
//! ```
//!
//! [`kernel!`] declares the kernel's signature in Rust: it is checked once, and launches take typed parameters. Without
//! a GPU, run the program with the command `hip-sim`, or call [`sim_if_no_gpu`] first, with the feature `sim` and
//! kernels that were compiled ahead of time.
//!
//! # Modules
//!
//! The common types are at the root: devices, streams, events, buffers, modules, kernels, graphs, errors. The rest is
//! in the module of its subject, with the common types of that subject.
//!
//! | module | content |
//! |---|---|
//! | [`device`] | properties and attributes of devices, limits, links between devices |
//! | [`stream`] | streams, events, host functions, completions, signals |
//! | [`memory`] | device, pinned, managed, registered and pitched memory, slices, copies, IPC |
//! | [`memory::array`] | arrays and mipmapped arrays, for textures and surfaces |
//! | [`memory::pool`] | memory pools for stream-ordered allocation |
//! | [`memory::virtual_memory`] | reserved addresses and the physical memory that is mapped to them |
//! | `memory::external` (Unix) | memory and semaphores of Vulkan and other APIs |
//! | [`texture`] | textures and surfaces |
//! | [`module`] | modules, kernels and their arguments, launches, occupancy, libraries, the linker |
//! | [`graph`] | graphs, their nodes, capture |
//! | `execution` (10.0) | execution contexts: parts of a device with streams of their own |
//! | [`runtime`] | the choice of the backend, versions, the last error of raw calls, profilers |
//! | [`interop`] | calls of other libraries on this crate's streams and buffers |
//! | [`dlpack`] | exchange of tensors with other libraries and with Python |
//! | [`sys`] | the raw bindings |
//!
//! # HIP and CUDA names, and their counterparts here
//!
//! Most CUDA names differ from HIP's only in the prefix: `cudaMalloc` is `hipMalloc`, `cuModuleLoadData` is
//! `hipModuleLoadData`.
//!
//! | C | Here |
//! |---|---|
//! | `hipGetDeviceCount`, `hipSetDevice` | [`Device::count`], [`Device::get`]; every object knows its device |
//! | `hipDeviceProp_t`, `hipDeviceGetAttribute`, `hipDeviceGetName` | [`Device::properties`], [`Device::attribute`], [`Device::name`] |
//! | `hipStream_t`, `hipStreamCreateWithFlags` | [`Stream`], [`Stream::with_options`] |
//! | the null stream | [`Device::default_stream`]; prefer streams that you create |
//! | `hipExecutionCtx_t`, `hipGreenCtxCreate`, `hipDevSmResourceSplit` (10.0) | `ExecutionContext`, `ComputeUnits`, `Stream::in_context` |
//! | `hipStreamPerThread` | [`Stream::per_thread`] |
//! | `hipLaunchHostFunc` | [`Stream::launch_host_function`]; [`Stream::completion`] returns a future |
//! | `hipStreamWaitValue64`, `hipStreamWriteValue64` | [`Signal`](stream::Signal), [`Stream::wait_signal`], [`Stream::write_signal`], [`Stream::batch_signal_ops`] |
//! | `hipEvent_t`, `hipEventElapsedTime` | [`Event`], [`Event::elapsed_since`] |
//! | `hipIpcGetEventHandle` | [`Event::ipc_handle`], [`Event::open_ipc`] |
//! | `hipGraph_t`, `hipStreamBeginCapture` | [`Graph`], [`Stream::capture`] |
//! | `hipGraphExec_t`, `hipGraphLaunch` | [`GraphExec`], [`GraphExec::launch`] |
//! | `hipMalloc`, `hipFree` | [`DeviceBuffer::uninit`], `Drop` |
//! | `hipHostMalloc` | [`PinnedBuffer`] |
//! | `hipMemcpy` | [`DeviceBuffer::from_slice`], [`copy_from_slice`](DeviceBuffer::copy_from_slice), [`to_vec`](DeviceBuffer::to_vec) |
//! | `hipMemcpyWithStream` | [`DeviceBuffer::from_slice_on`], [`copy_from_slice_on`](DeviceBuffer::copy_from_slice_on), [`copy_to_slice_on`](DeviceBuffer::copy_to_slice_on) |
//! | `hipMemcpyAsync` | [`copy_from_pinned_async`](DeviceBuffer::copy_from_pinned_async), [`copy_to_pinned_async`](DeviceBuffer::copy_to_pinned_async), [`copy_from_device_async`](DeviceBuffer::copy_from_device_async) |
//! | `hipMemset*` | [`fill`](DeviceBuffer::fill), [`fill_async`](DeviceBuffer::fill_async) |
//! | `hipMemPrefetchBatchAsync`, `hipMemDiscardBatchAsync` (10.0) | `PrefetchBatch`, `DiscardBatch` |
//! | `hipIpcGetMemHandle`, `hipIpcOpenMemHandle` | [`DeviceBuffer::ipc_handle`], [`DeviceBuffer::open_ipc`] |
//! | `hipMemAddressReserve`, `hipMemCreate`, `hipMemMap` | [`AddressRange`](memory::virtual_memory::AddressRange), [`PhysicalMemory`](memory::virtual_memory::PhysicalMemory), [`AddressRange::map`](memory::virtual_memory::AddressRange::map) |
//! | `hipMallocArray`, `hipMalloc3DArray`, `hipMemcpy2DToArray`, ... | [`Array`](memory::array::Array), [`ArraySlice`](memory::array::ArraySlice) |
//! | `hipMallocMipmappedArray` | [`MipmappedArray`](memory::array::MipmappedArray) |
//! | `hipCreateTextureObject`, `hipCreateSurfaceObject` | [`Texture`](texture::Texture), [`Surface`](texture::Surface) |
//! | `hipImportExternalMemory`, `hipImportExternalSemaphore` | `ExternalMemory`, `ExternalSemaphore` (Unix) |
//! | `hipGLGetDevices`, `hipGraphicsGLRegisterBuffer`, `hipGraphicsMapResources`, ... | `devices`, `Buffer`, `Image` of the crate `hip-gl` (Linux) |
//! | `hipPointerGetAttributes` | [`DevicePtr::attributes`] |
//! | pointer arithmetic on device pointers | [`slice`](DeviceBuffer::slice), [`slice_mut`](DeviceBuffer::slice_mut), [`DevicePtr`] |
//! | `hipModule_t`, `hipModuleLoadData` | [`Module`], [`Module::load`] |
//! | `hipModuleGetGlobal` | [`Module::global`] |
//! | `hipFunction_t`, `hipFuncGetAttribute` | [`Kernel`], [`Kernel::info`], [`Kernel::attribute`] |
//! | `hipLibrary_t`, `hipKernel_t` (7.1) | `Library`, `LibraryKernel`; on a device (10.0): `LibraryKernel::on`, `Library::global` |
//! | `kernel<<<grid, block, shared, stream>>>(...)` | [`Kernel::launch`] |
//! | the same, with a typed signature | [`kernel!`] |
//! | `hipModuleLaunchCooperativeKernel`, `hipExtModuleLaunchKernel` | [`Kernel::launch_cooperative`], [`Kernel::launch_timed`] |
//! | `hipOccupancy*` | [`Kernel::max_potential_block_size`], [`Kernel::active_blocks_per_compute_unit`] |
//! | `hipDeviceGetLimit`, `hipSetDeviceFlags`, ... | [`Device::limit`], [`Device::wait_policy`], ... |
//! | `hipGetLastError` | [`take_last_error`](runtime::take_last_error), for raw calls; calls of this crate leave no error behind |
//! | `hipError_t` | [`Error`], [`Status`] |
//! | handles of other code | [`Stream::from_raw`], [`Stream::borrow_raw`], [`Event::from_raw`], [`DeviceBuffer::from_raw_parts`], [`DeviceBuffer::into_raw_parts`] |
//! | everything else | [`sys`]; `as_raw` returns an object's C handle |
//!
//! # Rules
//!
//! - **Memory in flight.** No safe call lets the host touch or free memory that queued work still uses, whatever the
//!   order of drops and whatever is forgotten. Buffers record the streams that use them. Work on another stream waits
//!   for conflicting work.
//! - **Host functions** run on a thread of the runtime and must not call HIP: such a call is an error, not a hang. So
//!   is any call in the child of a `fork`.
//! - **Launches** are `unsafe`, because a kernel can do anything. But arguments, grid, block and shared memory are
//!   checked against the code object and the device before the runtime is called.
//! - **Errors** are [`Error`]s, returned by the call that caused them where this is known. Nothing panics. A kernel's
//!   fault is returned by the call that waits for the kernel, with the names of the launches in question. On ROCm the
//!   device is lost then, and every later call on it says so ([`Error::DeviceLost`]).
//! - **Threads.** All types are [`Send`] and [`Sync`], except buffers of elements that are not.
//! - **The backend** is chosen once: in code ([`select_backend`], [`select_any_gpu`], [`sim_if_no_gpu`]) or by
//!   `HIP_RS_BACKEND=rocm|cuda|sim`. The default is ROCm.
//! - **NVIDIA's GPUs** are used with the feature `nvidia`, through their driver, if the program or its user asks for them.
//!   Code for them is a cubin or PTX, which [`hiprtc`](https://docs.rs/hiprtc) compiles from the same source. It does
//!   not tell a pointer from a number of 8 bytes ([`module::ParameterKind::PointerOrValue`]). After a kernel's fault the
//!   device is lost.
//! - **The software GPU** is a gfx90a device, or the one that `HIP_SIM_TARGET` names (gfx942). `HIP_SIM_DEVICES`,
//!   `HIP_SIM_MEMORY`, `HIP_SIM_BUDGET` (instructions of a launch) and `HIP_SIM_THREADS` configure it. It checks every
//!   access: an invalid one ends the kernel with an error that describes it ([`HipError::fault`]).
//! - **API levels.** A feature `rocm-*` adds the API over the functions that came with that release, and changes
//!   nothing else. The program runs on every HIP runtime from 5.7 on: where releases differ, the crate calls the form
//!   of the runtime that it finds. A call whose function its runtime lacks returns [`Error::NoSymbol`].
//!
//! # Tracing
//!
//! With the feature `tracing`, the crate reports to [`tracing`](https://docs.rs/tracing) under the target `hip`. Sizes
//! are in bytes. `device` is a device index; `stream` is the number of a stream in this program, which `Debug` of a
//! [`Stream`] shows too.
//!
//! | name | what | level | fields |
//! |---|---|---|---|
//! | `launch` | event: a kernel or graph is queued | trace | `device`, `stream`; `kernel`, `grid`, `block`, `shared_bytes`, or `graph` |
//! | `copy` | event: a copy is queued, or executed at once (without `stream`) | trace | `device`, `stream`, `kind` (`host to device`, `pitched`, ...), `bytes` |
//! | `fill` | event: a fill is queued | trace | `device`, `stream`, `bytes` |
//! | `allocation` | event: memory is allocated, registered or imported | trace | `device`, `kind` (`device`, `managed`, `pinned`, `registered`, `stream-ordered`, `other`), `bytes`, `address` |
//! | `free` | event: memory is given back, to be freed after the work that uses it | trace | `device`, `address` |
//! | `wait` | span: the host waits for a stream | trace | `device`, `stream` |
//! | `module_load` | span: code is checked and loaded | debug | `device`, `bytes` |
//! | `newer_release` | event: ROCm is newer than this crate knows; it is used as the newest release known | warn | `release`, `known` |
//!
//! Without the feature, none of this is compiled.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` `rocm-6-2` `rocm-6-3` `rocm-6-4` `rocm-7-0` `rocm-7-1` `rocm-7-2` `rocm-10-0` | API levels: each adds the API that the crate has over the functions of that release, and enables those before it; `rocm-6-4` is the default |
//! | `compressed` | loads compressed offload bundles (`CCOB`); part of `sim` |
//! | `half`, `complex` | `half::f16` and `bf16`, and `num_complex::Complex`, as elements and kernel arguments |
//! | `ndarray` | copies from and to arrays of `ndarray`; pinned memory as one |
//! | `bytes` | pinned memory as `bytes::Bytes` |
//! | `tracing` | reports launches, copies, fills, allocations, module loads and waits to `tracing` |
//! | `nvidia` | runs on NVIDIA's GPUs, through their driver, if the program selects them |
//! | `sim` | builds in the embedded runtime with its software GPU |
//! | `sim-profile` | the same, with kernel profiles as JSON, and source lines in profiles and findings |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layers: each folder uses itself and the ones below it (`cargo xtask ci layers`).
mod core;
#[cfg(feature = "rocm-10-0")]
pub mod execution;
pub mod graph;
pub mod interop;
mod macros;
pub mod memory;
pub mod module;
pub mod stream;
pub mod texture;

pub use bytemuck;
#[cfg(feature = "half")]
pub use half;
pub use hip_sys as sys;
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "complex")]
pub use num_complex;

pub use crate::core::{device, runtime};
pub use memory::dlpack;

// The common types. All others are in the module of their subject only.
#[doc(inline)]
pub use crate::core::backend::{backend, runtime_version, select_any_gpu, select_backend, sim_if_no_gpu};
#[doc(inline)]
pub use crate::core::backend_kind::Backend;
#[doc(inline)]
pub use crate::core::device_lost::DeviceLost;
#[doc(inline)]
pub use crate::core::error::{Error, HipError, Result, Status};
#[doc(inline)]
pub use crate::core::kernel_panic::KernelPanic;
#[doc(inline)]
pub use device::{Arch, Device, DeviceProperties};
#[doc(inline)]
pub use graph::{Graph, GraphExec};
#[doc(inline)]
pub use memory::{
    DeviceBuffer, DevicePtr, DeviceSlice, DeviceSliceMut, IntoSlice, IntoSliceMut, ManagedBuffer, PinnedBuffer,
    PinnedSlice, PinnedSliceMut, Pod,
};
#[doc(inline)]
pub use module::{Dim3, Kernel, LaunchConfig, Module};
#[doc(inline)]
pub use stream::{Event, EventOptions, Stream, StreamOptions};

/// Implementation details of [`kernel!`]; not part of the public interface.
#[doc(hidden)]
pub use module::typed;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
