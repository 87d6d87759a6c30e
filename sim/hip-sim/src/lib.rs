//! The embedded runtime: HIP's functions over a software AMD GPU, built into the program.
//!
//! [`provider`] replaces `libamdhip64` below [`hip_sys`]: HIP then runs on the CPU, through [`amdgpu_sim`], with no GPU
//! and no ROCm installed. It runs the machine code of real AMD GPUs: gfx90a (MI200) and gfx942 (MI300).
//!
//! ```
//! use hip_sys::rocm_7_2::*;
//!
//! hip_sys::set_provider(hip_sim::provider())?;
//! let (mut buffer, mut back) = (std::ptr::null_mut(), [0_u32; 4]);
//! // SAFETY: the buffer has 16 bytes, and so has `back`.
//! unsafe {
//!     assert_eq!(hipMalloc(&mut buffer, 16), hipSuccess);
//!     assert_eq!(hipMemsetD32(buffer, 7, 4), hipSuccess);
//!     assert_eq!(hipMemcpyDtoH(back.as_mut_ptr().cast(), buffer, 16), hipSuccess);
//!     assert_eq!(hipFree(buffer), hipSuccess);
//! }
//! assert_eq!(back, [7; 4]);
//! # Ok::<(), rocm_loader::Error>(())
//! ```
//!
//! # Supported functions
//! - Devices with access to each other's memory.
//! - Memory: device, pinned, managed, registered and stream-ordered, memory pools, virtual memory management. On Linux
//!   also memory and events of other processes.
//! - Copies and fills in up to three dimensions and in batches; arrays (also with mip levels and cube maps); textures
//!   and surfaces if the device has image support (gfx90a).
//! - Streams, events, host functions, signals.
//! - Modules and libraries, launches (also cooperative, and on several devices), occupancy.
//! - Graphs and stream capture, execution contexts. On Linux also memory and semaphores of other APIs.
//!
//! The other functions of HIP return `hipErrorNotSupported` (801); [`is_supported`] returns whether a function is
//! supported.
//!
//! # Behaviour
//! It behaves like AMD's runtime. Streams are ordered queues that run concurrently with the program. The legacy default
//! stream and blocking streams wait for each other, non-blocking streams do not. A kernel's failure is returned by a
//! later call. Every handle is checked on every use: a destroyed, foreign or invented one is an error.
//!
//! The differences are stricter checks and more information:
//! - Every access of a kernel is checked against the live allocations. A bad access ends the kernel, and the next call
//!   that waits for it returns `hipErrorIllegalAddress` (700). Other faults are `hipErrorLaunchFailure` (719), and a
//!   launch that exceeds its instruction budget is `hipErrorLaunchTimeOut` (702). [`last_fault`] returns the full
//!   description.
//! - After a failure the device continues. Work queued on the stream after the failed kernel, or waiting for it through
//!   an event, is skipped. The first call that synchronises with that stream, or with an event on it, returns the
//!   failure. A call that waits for the whole device or for the default stream returns it as well, but clears it only
//!   on the thread that launched the kernel. On a real GPU the process would be lost.
//! - If a copy's kind says that an end is device memory, that end must be device memory.
//! - Memory is freed by its first address only, and registered once.
//! - Use of a destroyed stream or event is reported. AMD's runtime reads its freed memory.
//! - Memory is mapped only where nothing else is mapped, as a whole and within its range. Only `hipMemUnmap` removes a
//!   mapping, and it waits for all queued work. Copies and fills of memory without access for any device are rejected.
//! - A texture must lie completely in live memory, and its options must be supported ones: borders are transparent
//!   black. As on MI200 with ROCm, texels of volumes and of layered arrays are not filtered.
//! - Arrays with mip levels and cube maps, which ROCm supports on Windows only, are supported. A texture of levels
//!   reads the level that its bias selects within its clamps, because code for MI200 has no instruction that selects
//!   another; levels are not filtered. A texture covers one cube. A level is not freed by itself.
//! - A word that streams wait on or write to has an address that is a multiple of its size. The operations of a batch
//!   are executed in order, and a capture rejects them.
//! - Semaphores of other APIs are an `eventfd`, or a file in this crate's own format (see the README). Signalling a
//!   timeline with a value that is not larger is an error of the stream. They can be captured, and be nodes of graphs.
//! - Linking takes one code object or bundle and returns it. Kernels have no `printf` and no `malloc`: the only limit
//!   is the stack limit: 1 KiB at first, as on AMD's runtime.
//! - The blocks of a cooperative launch on several devices wait only for those on the same device: a kernel that waits
//!   for all of them is a fault.
//! - A recording of an event whose process has ended counts as complete, and [`last_fault`] says so.
//! - Asynchronous copies from or to pageable memory return after the copy.
//! - Execution contexts divide the device's compute units, and their streams report which they have. Where a workgroup
//!   runs makes no difference here, so streams are not restricted to their units. Creating a context consumes its
//!   resource description. An event recorded on a context without streams is complete at once. Streams created later
//!   also wait for what the context was told to wait for.
//! - Advice for managed memory and prefetches only change what is reported about the memory; attaching memory to a
//!   stream does not even that. Discarded memory is filled with `0xdd`.
//! - `hipMallocAsync` allocates at once; `hipFreeAsync` frees when the stream reaches it. A memory pool reserves memory
//!   like AMD's, but no addresses: freed memory is gone, and a kernel that uses it is a fault.
//! - The nodes of a graph run one after the other, in an order that its edges allow. A child graph or an executable
//!   graph cannot contain itself. A graph's memory is valid only from its allocation node to its free node. If two
//!   captures meet, both become invalid (902).
//! - A rejected call adds no node to a graph. A capture that ends with unjoined work (904) is over.
//! - It supports one process with one thread pool: in the child of a `fork`, every function returns
//!   `hipErrorNotInitialized`.
//!
//! # Settings
//! Environment variables named `HIP_SIM_*`, read on the first call: see the README's table, or
//! [`amdgpu_sim::SETTINGS`]. A checked launch (`HIP_SIM_CHECK`) runs on one thread and takes many times longer. Its
//! findings are in [`last_fault`] and on standard error, and it fails with `hipErrorLaunchFailure`. With the feature
//! `profile`, a profile has source lines of kernels compiled with `-g`.
//!
//! With an invalid value, every call returns `hipErrorInitializationError` (3), and [`last_fault`] returns the reason.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod allocation;
mod api;
mod array;
mod capture;
mod config;
mod copy;
mod device;
mod event;
mod execution;
#[cfg(target_os = "linux")]
mod external_memory;
mod fault;
mod fill;
mod graph;
mod handles;
mod image;
mod images;
#[cfg(target_os = "linux")]
mod ipc;
mod launch;
mod library;
mod linker;
mod loss;
mod memory;
mod mipmap;
mod module;
mod observe;
mod occupancy;
mod patience;
mod peers;
mod placement;
mod pool;
mod properties;
mod provider;
mod queue;
mod record;
mod runtime;
#[cfg(target_os = "linux")]
mod semaphore;
mod shared_event;
mod signal;
mod status;
mod stream;
mod target;
mod units;
mod variables;
mod virtual_memory;

pub use fault::last_fault;
pub use provider::{is_supported, provider};

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
