//! Safe Rust for RCCL on AMD GPUs: collectives over the GPUs of a process, between processes and between hosts.
//!
//! A [`Communicator`] is one rank: a device, and a stream that its collectives are queued on. Operands are buffers and
//! slices of [`hip`], which track the work that uses them. Nothing is linked: RCCL of ROCm 5.7 to 10.0 is loaded on
//! first use, or NVIDIA's NCCL on request ([`use_nccl`]).
//!
//! ```
//! use hip::{Device, DeviceBuffer};
//! use rccl::{Communicator, Config, Op};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !rccl::is_available() {
//!         return Ok(()); // no GPU or no RCCL is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let devices = Device::all()?;
//!     let ranks = Communicator::init_all(&devices, &Config::new())?;
//!     let mut buffers = Vec::new();
//!     for (rank, device) in devices.iter().enumerate() {
//!         buffers.push(DeviceBuffer::from_slice(device, &[rank as f32; 4])?);
//!     }
//!     // The calls of several ranks of one thread are made together, in a group.
//!     rccl::group(|group| {
//!         for (rank, buffer) in ranks.iter().zip(&mut buffers) {
//!             group.all_reduce_in_place(rank, buffer, Op::Sum)?;
//!         }
//!         Ok(())
//!     })?;
//!     let sum = (0..devices.len()).sum::<usize>() as f32;
//!     assert_eq!(buffers[0].to_vec()?, [sum; 4]); // waits for the sum
//!     Ok(())
//! }
//! ```
//!
//! # Ranks
//!
//! | ranks are | created by | calls are made |
//! |---|---|---|
//! | all devices of a process | [`Communicator::init_all`] | in a [`Group`] |
//! | threads, one per device | [`UniqueId::new`], [`Communicator::init_rank`] | by each thread |
//! | processes, on one host or many | [`start::World::from_environment`], [`start::World::communicator`] | by each process |
//!
//! # Deadlines and errors
//! Calls do not block in the library, unless [`Config::blocking`] is set. Creating a communicator, queueing a
//! collective and [`Communicator::synchronize`] wait at most for [`Config::timeout`]. At the deadline, and if the
//! library reports an error, the communicator is aborted, once: queued work ends, and every later call returns
//! [`Error::Aborted`]. The error names the rank, the collective and its peer. The remaining ranks create a new
//! communicator, with [`start::World::regroup`] or [`Communicator::shrink_after_error`].
//!
//! HIP can block any call for a device with unfinished work while another thread waits for the whole device. RCCL waits
//! for the device when it creates or destroys another communicator of the process. Deadlines hold nevertheless: a
//! thread of this crate, which does not call HIP, aborts the communicator one or two seconds after the deadline. HIP
//! then unblocks both threads, and the wait returns its error. The thread only exists during such waits, and shortly
//! afterwards.
//!
//! A deadline applies to a wait, not to the collective itself. Without a wait, nothing is aborted. So call
//! [`Communicator::synchronize`] before other HIP calls if a rank may be lost: a call outside this crate that HIP
//! blocks has no deadline. The same holds for destroying a communicator, until the collective that it waits for is
//! aborted. For a [`Completion`], the communicator is aborted when it is polled after its deadline, or if HIP blocks a
//! poll.
//!
//! Kernels of an aborted rank continue without waiting, and can write to other ranks. So a rank can see a collective
//! complete without an error, but with wrong results, while another rank aborts it. If a program continues after an
//! abort, it must only use results of calls that all ranks have finished: [`start::World::barrier`] returns an error if
//! one has not.
//!
//! If ranks call different collectives, types or sizes, the library hangs. [`Config::check_calls`] turns this into an
//! [`Error::Mismatch`].
//!
//! # Safety of memory
//! A group borrows its operands until [`Group::end`]. From then on, buffers track the collective like all work that
//! [`hip`] queues: reading, overwriting or dropping one waits for it. Such a wait has no deadline. Call
//! [`Communicator::synchronize`] first if a rank may be lost.
//!
//! Collectives cannot be captured: while a stream is captured, the end of a group is an error, before the library is
//! called. So no graph contains a communicator, and after a deadline, an abort or the end of a registration, nothing
//! that uses it can still be launched. Graphs keep buffers with memory of the library alive like all others. See
//! "Crates over hip" in `hip`'s SAFETY.md.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `rccl-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `windows` | memory that the library knows: `allocate`, `register`, `window` |
//! | `one-sided` | one-sided operations on windows: `memory::Target`; enables `windows` |
//! | `mpi` | `start::Mpi`: the MPI library, loaded at run time, hands out the id |
//! | `cli` | the command `rccl-run` |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod checks;
mod collectives;
mod communicator;
mod config;
mod element;
mod ending;
mod error;
pub mod foreign;
mod group;
mod handle;
mod library;
#[cfg(feature = "windows")]
#[cfg_attr(docsrs, doc(cfg(feature = "windows")))]
pub mod memory;
#[allow(missing_docs, unreachable_pub, clippy::missing_safety_doc, reason = "the functions are C's")]
mod raw;
mod raw_config;
mod records;
pub mod start;
mod summary;
mod ticker;
mod wait;
mod watchdog;

pub use communicator::{Communicator, Completion, Pending, UniqueId};
pub use config::Config;
pub use element::{DataType, Op, Reduce};
pub use ending::group;
pub use error::{Context, Error, Result};
pub use group::Group;
pub use library::{is_available, other_library, use_nccl, version};
pub use rccl_sys::ncclResult_t as Status;

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
