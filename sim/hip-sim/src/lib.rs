//! The HIP runtime's functions over a software AMD GPU, embedded in the program.
//!
//! [`provider`] takes the place of `libamdhip64` under [`hip_sys`]: from then on HIP runs on the CPU, through
//! [`amdgpu_sim`], with no GPU and no ROCm installed. It runs the machine code of real AMD GPUs, gfx90a (MI200).
//!
//! ```
//! use hip_sys::*;
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
//! # Ok::<(), rocm_sdk::Error>(())
//! ```
//!
//! # What is there
//! Devices with access to each other's memory, memory (device, pinned, managed, registered, stream-ordered and its pools), virtual memory
//! management, memory and events of other processes (these on Linux), copies and fills in
//! up to three dimensions and in batches, arrays (of levels and cubes too), textures and surfaces (where the device has images: gfx90a), streams, events, host functions, signals,
//! modules and libraries, launches (cooperative ones too, on several devices), occupancy, graphs and the
//! capture of streams into them, execution contexts, memory and semaphores of other APIs (on Linux). The other functions of HIP return
//! `hipErrorNotSupported` (801); [`is_supported`] tells which.
//!
//! # How it behaves
//! As the real runtime does: streams are ordered queues that run beside the program, the legacy default stream and
//! blocking streams wait for each other, non-blocking ones do not, a kernel's failure comes back from a later call. Every handle is
//! checked on every use: a destroyed, foreign or made-up one is an error.
//!
//! Where it differs, it is stricter, or tells more:
//! - Every access of a kernel is checked against the live allocations. A bad one ends the kernel, and the next call that waits for it returns
//!   `hipErrorIllegalAddress` (700); other faults are `hipErrorLaunchFailure` (719), a launch that is cut off
//!   `hipErrorLaunchTimeOut` (702). [`last_fault`] has the whole story.
//! - After a failure the device goes on. What was queued on the stream behind the failed kernel, or waits for it through an event, is
//!   left out. The failure is told by the first call that synchronises with that stream or with an event on it; one that waits for the whole device, or
//!   for the default stream, tells it as well, for good only to the thread that launched the kernel. On a real
//!   GPU the process would be lost.
//! - A copy whose kind says that an end is device memory must have it there.
//! - Memory is freed by its first address only, and registered once.
//! - Streams and events that are gone are told of, where the real runtime looks into what was there.
//! - Memory is mapped where nothing else is, in whole and within its range; a mapping is freed by `hipMemUnmap` alone, which waits for all work
//!   that is queued. Copies and fills of memory that no device was let use are refused.
//! - A texture has to be in live memory, all of it, and its options have to be what there is: a border is transparent black. Like on MI200 with
//!   ROCm, no texels of volumes and of layered arrays are blended.
//! - Arrays with levels and cubes, which ROCm has on Windows alone, are here. A texture of levels reads the one that its bias comes to within its clamps, as code for
//!   MI200 has no instruction that asks for another; no levels are blended. A texture is of one cube. What is a level is not freed by itself.
//! - A word that streams wait on or write to has an address that is a multiple of its size. Operations of a batch are done in their order, and a capture refuses them.
//! - Semaphores of other APIs are an `eventfd` or a file of this crate's own format (see the README): a timeline that is signalled with no larger value is an error of the stream.
//!   They can be captured, and be nodes of graphs.
//! - Linking takes one code object or bundle and gives it back. Kernels have neither `printf` nor `malloc`: of the limits there is the stack's, of which
//!   a kernel has 16 KiB in any case.
//! - The blocks of a cooperative launch on several devices wait for those of their device alone: a kernel that waits for all is a fault.
//! - A recording of an event whose process has ended counts as done, and [`last_fault`] says so.
//! - Asynchronous copies from or to pageable memory return when they are done.
//! - Execution contexts share out the device's compute units, and their streams tell which they have; where a kernel's workgroups run makes
//!   no difference here, so that they are not held to them. A description of resources is used up by the context that is made of it. What was recorded on a
//!   context without streams has happened, and streams that are made later wait as well for what the context was told to wait for.
//! - Advice for managed memory and prefetches change nothing but what is told of it, and streams that it is attached to not even that. Discarded memory is filled with `0xdd`.
//! - `hipMallocAsync` allocates at once, `hipFreeAsync` frees when the stream comes to it. A memory pool keeps room back as the real one's do, but not addresses:
//!   what is freed is gone, and a kernel that uses it is caught.
//! - The nodes of a graph run one after the other, in an order that its edges allow. A child graph or an executable graph cannot be in itself, a graph's memory is
//!   at its address from its allocation node to its free node alone, and two captures that meet are both invalid (902).
//! - What is refused adds no node to a graph, and a capture that ends with work unjoined (904) is over.
//! - One process, one thread pool: in the child of a `fork`, every function returns `hipErrorNotInitialized`.
//!
//! # Settings
//! Environment variables named `HIP_SIM_*`, read on the first call: the README's table has them all, and so has
//! [`amdgpu_sim::SETTINGS`]. A launch that is checked (`HIP_SIM_CHECK`) takes one thread and many times longer; its findings are in
//! [`last_fault`] and on standard error, and it fails with `hipErrorLaunchFailure`. With the feature `profile`, a profile has source lines
//! of kernels compiled with `-g`.
//!
//! A value that makes no sense is `hipErrorInitializationError` (3) from every call, with the reason in [`last_fault`].

mod api;
mod array;
mod capture;
mod config;
mod execution;
mod fault;
mod graph;
mod handles;
mod image;
mod images;
#[cfg(target_os = "linux")]
mod ipc;
mod loss;
mod memory;
mod mipmap;
mod observe;
mod patience;
mod peers;
mod placement;
mod pool;
mod properties;
mod provider;
mod queue;
mod runtime;
#[cfg(target_os = "linux")]
mod semaphore;
mod shared_event;
mod signal;
mod status;
mod units;
mod variables;
mod virtual_memory;

pub use fault::last_fault;
pub use provider::{is_supported, provider};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
