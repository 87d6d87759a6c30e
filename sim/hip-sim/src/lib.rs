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
//! Devices, memory (device, pinned, managed, registered, stream-ordered), copies and fills in one and two dimensions, streams,
//! events, host functions, modules, launches and occupancy. The other functions of HIP return
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
//! - Asynchronous copies from or to pageable memory return when they are done.
//! - Devices cannot reach each other's memory; copies between them work.
//! - `hipMallocAsync` allocates at once, `hipFreeAsync` frees when the stream comes to it.
//! - One process, one thread pool: in the child of a `fork`, every function returns `hipErrorNotInitialized`.
//!
//! # Settings
//! Environment variables, read on the first call:
//! - `HIP_SIM_DEVICES`: how many devices (default 1),
//! - `HIP_SIM_TARGET`: what they are: `gfx90a` (default) or `gfx942`, with `:sramecc+` or `-` and `:xnack+` or `-` behind it (default `+`, `-`),
//! - `HIP_SIM_MEMORY`: memory of each, in bytes or with K, M, G, T (default 64G; taken from the host as it is used),
//! - `HIP_SIM_BUDGET`: wave instructions after which a launch is cut off (default none),
//! - `HIP_SIM_THREADS`: threads that run workgroups (default one a core),
//! - `HIP_SIM_MISALIGNED`: what a load or store at an address that is no multiple of its size does: `allow` (as the hardware), `words`
//!   (the default: a fault from 4 bytes on at addresses that are no multiple of 4), `fault`,
//! - `HIP_SIM_CHECK`: checks beyond those of addresses, with commas between: `init` (reads of memory that nothing has written), `race`
//!   (LDS and global memory, between waves and workgroups), `barrier` (waves that do not come to the same barriers), `all`.
//!   A launch with findings fails with `hipErrorLaunchFailure`, the findings in [`last_fault`] and on standard error; with `warn` in the
//!   list it only tells them. `memory` names the check of addresses, which is always on. A checked launch takes one thread and many times longer,
//! - `HIP_SIM_PROFILE`: a file for a profile of all launches, written when the process ends: `.json` (feature `profile`),
//!   `.svg` (a flame graph), anything else for text. `%p` in the name is the process's number. With the feature `profile` source
//!   lines are in it, for kernels compiled with `-g`,
//! - `HIP_SIM_SEED`: a number: workgroups and waves run in an order that it decides, on one thread: the same for the same
//!   number, so that a race that shows can be had again,
//! - `HIP_SIM_SCHEDULE`: `parallel` (the default), `in-order` (one thread, workgroups in order), or a number, as `HIP_SIM_SEED`.
//!
//! A value that makes no sense is `hipErrorInitializationError` (3) from every call, with the reason in [`last_fault`].

mod api;
mod config;
mod fault;
mod handles;
mod image;
mod memory;
mod observe;
mod properties;
mod provider;
mod queue;
mod runtime;
mod status;

pub use fault::last_fault;
pub use provider::{is_supported, provider};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
