//! Safe Rust for AMD GPUs: devices, memory, streams, events, graphs, modules and kernels over HIP.
//!
//! Nothing is linked: the HIP runtime of a ROCm installation is loaded on first use. A program that uses this crate
//! builds and starts on a machine without ROCm, and its first call returns an error that says what is missing. With the
//! feature `sim` it also *runs* there, on a software GPU that executes the same machine code.
//!
//! ```
//! use hip::{Device, DeviceBuffer, LaunchConfig, Module, Stream};
//!
//! fn main() -> Result<(), hip::Error> {
//!     // Selects the GPU if one is available, otherwise the software GPU if it is built in.
//!     match hip::sim_if_no_gpu() {
//!         Ok(backend) => eprintln!("running on {backend:?}"),
//!         Err(error) => {
//!             eprintln!("no GPU is available: {error}");
//!             return Ok(());
//!         }
//!     }
//!     let device = Device::get(0)?;
//!     # if device.properties()?.arch.name() != "gfx90a" { return Ok(()) }
//!     let stream = Stream::new(&device)?;
//!
//!     // extern "C" __global__ void vector_add(const float* a, const float* b, float* c, unsigned n)
//!     let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/kernels.gfx90a.co"));
//!     let vector_add = Module::load(&device, code)?.kernel("vector_add")?;
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
//! # HIP and CUDA names, and their counterparts here
//!
//! Most CUDA names differ from HIP's only in the prefix: `cudaMalloc` is `hipMalloc`, `cuModuleLoadData` is
//! `hipModuleLoadData`.
//!
//! | C | Here |
//! |---|---|
//! | `hipGetDeviceCount`, `hipSetDevice` | [`Device::count`], [`Device::get`]; every object knows its device |
//! | `hipDeviceProp_t`, `hipDeviceGetAttribute` | [`Device::properties`], [`Device::attribute`] |
//! | `hipStream_t`, `hipStreamCreateWithFlags` | [`Stream`], [`Stream::with_options`] |
//! | the null stream | [`Device::default_stream`]; prefer streams that you create |
//! | `hipExecutionCtx_t`, `hipGreenCtxCreate`, `hipDevSmResourceSplit` (10.0) | `ExecutionContext`, `ComputeUnits`, `Stream::in_context` |
//! | `hipStreamPerThread` | [`Stream::of_this_thread`] |
//! | `hipLaunchHostFunc` | [`Stream::launch_host_function`]; [`Stream::finished`] returns a future |
//! | `hipStreamWaitValue64`, `hipStreamWriteValue64` | [`Signal`], [`Stream::wait_signal`], [`Stream::write_signal`], [`Stream::signal_operations`] |
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
//! | `hipMemAddressReserve`, `hipMemCreate`, `hipMemMap` | [`AddressRange`], [`PhysicalMemory`], [`AddressRange::map`] |
//! | `hipMallocArray`, `hipMalloc3DArray`, `hipMemcpy2DToArray`, ... | [`Array`], [`ArraySlice`] |
//! | `hipMallocMipmappedArray` | [`MipmappedArray`] |
//! | `hipCreateTextureObject`, `hipCreateSurfaceObject` | [`Texture`], [`Surface`] |
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
//! | `hipOccupancy*` | [`Kernel::best_block`], [`Kernel::active_blocks_per_compute_unit`] |
//! | `hipDeviceGetLimit`, `hipSetDeviceFlags`, ... | [`Device::limit`], [`Device::wait_policy`], ... |
//! | `hipGetLastError` | [`take_last_error`], for raw calls; calls of this crate leave no error behind |
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
//!   fault is returned by the call that waits for the kernel, with the names of the launches in question.
//! - **Threads.** All types are [`Send`] and [`Sync`], except buffers of elements that are not.
//! - **The backend** is chosen once: in code ([`select_backend`], [`sim_if_no_gpu`]) or by `HIP_RS_BACKEND=rocm|sim`.
//!   The default is ROCm.
//! - **The software GPU** is a gfx90a device, or the one that `HIP_SIM_TARGET` names (gfx942). `HIP_SIM_DEVICES`,
//!   `HIP_SIM_MEMORY`, `HIP_SIM_BUDGET` (instructions of a launch) and `HIP_SIM_THREADS` configure it. It checks every
//!   access: an invalid one ends the kernel with an error that describes it ([`HipError::fault`]).
//! - **API levels.** The highest enabled `rocm-*` feature is the API level: the newest release whose functions this
//!   crate has. The program runs on every HIP runtime from 5.7 on. A call whose function its runtime lacks returns
//!   [`Error::NoSymbol`].
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
//!
//! Without the feature, none of this is compiled.

// Layers: each folder uses itself and the ones below it (`cargo xtask ci layers`).
mod core;
#[cfg(feature = "rocm-10-0")]
mod execution;
mod graph;
pub mod interop;
mod macros;
mod memory;
mod module;
mod stream;
mod texture;

pub use bytemuck;
#[cfg(feature = "half")]
pub use half;
pub use hip_sys as sys;
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "complex")]
pub use num_complex;

pub use crate::core::arch::{Arch, ArchFeature};
pub use crate::core::attribute::{DeviceAttribute, FunctionAttribute};
pub use crate::core::backend::{backend, runtime_version, select_backend, sim_if_no_gpu};
pub use crate::core::backend_kind::Backend;
pub use crate::core::device::{Device, MemoryInfo};
pub use crate::core::error::{Error, HipError, Result, Status};
pub use crate::core::geometry::{Dim3, LaunchConfig};
pub use crate::core::properties::{DeviceProperties, PciAddress};
#[cfg(feature = "rocm-6-2")]
pub use crate::core::runtime::proc_address;
pub use crate::core::runtime::{driver_version, peek_last_error, profiler_start, profiler_stop, take_last_error};
pub use crate::core::settings::{CachePreference, Limit, Uuid, WaitPolicy};
#[cfg(feature = "rocm-10-0")]
pub use execution::{ComputeUnits, ExecutionContext, UnitGroup, UnitSplit, WorkQueues};
pub use graph::{Graph, GraphExec, GraphFill, GraphMemoryInfo, InstantiateOptions, Node, NodeKind};
#[cfg(unix)]
pub use memory::PoolPointer;
#[cfg(feature = "rocm-10-0")]
pub use memory::array::MemoryRequirements;
pub use memory::array::{
    Array, ArrayShape, ArraySlice, ArraySliceMut, ChannelFormat, ChannelKind, MipmappedArray, Texel,
};
pub use memory::dlpack;
#[cfg(unix)]
pub use memory::external::{ExternalMemory, ExternalSemaphore, ExternalSemaphoreKind};
pub use memory::peer::{Link, LinkType, PeerAttribute};
pub use memory::{
    AddressRange, Attachment, Chunks, ChunksMut, Coherence, DeviceBuffer, DevicePtr, DeviceSlice, DeviceSliceMut,
    Extent, F8E4M3, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, GraphCopy, GraphCopy3, IpcMemoryHandle, ManagedBuffer,
    MemoryAccess, MemoryAdvice, MemoryPlace, MemoryPool, PhysicalMemory, PinnedBuffer, PinnedOptions, PinnedSlice,
    PinnedSliceMut, PitchedBuffer, PitchedSlice, PitchedSliceMut, Pod, PointerAttributes, PointerKind, PoolOptions,
    PoolReuse, PoolUsage, RegisterOptions, Registered, RegisteredBuffer,
};
#[cfg(feature = "rocm-7-1")]
pub use memory::{CopyBatch, CopyBatch3};
#[cfg(feature = "rocm-10-0")]
pub use memory::{DiscardBatch, PrefetchBatch};
#[cfg(feature = "rocm-7-0")]
pub use module::LaunchAttributes;
#[cfg(feature = "rocm-7-1")]
pub use module::library::{Library, LibraryKernel};
pub use module::{Arguments, Kernel, KernelArg, KernelArgs, KernelInfo, Module, Occupancy, Parameter, ParameterKind};
pub use module::{DevicePart, launch_cooperative_on_devices};
#[cfg(feature = "rocm-6-4")]
pub use module::{LinkInput, Linker};
pub use module::{LoadLog, LoadOptions};
pub use stream::event::{Event, EventOptions, IpcEventHandle};
pub use stream::{Finished, Signal, SignalOp, Stream, StreamOptions, WaitCondition, without_stream_order};
pub use texture::{AddressMode, FilterMode, MipmapOptions, ReadMode, Surface, Texture, TextureOptions};

/// Implementation details of [`kernel!`]; not part of the public interface.
#[doc(hidden)]
pub use module::typed;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
