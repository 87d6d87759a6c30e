//! `libhsa-runtime64.so.1` over a software AMD GPU: AMD's own, unmodified ROCm libraries run on a machine without a
//! GPU.
//!
//! ROCm's HIP runtime (`libamdhip64`), and through it rocBLAS, rocRAND and the rest, access the GPU through HSA: about
//! a hundred C functions of `libhsa-runtime64`. This crate implements them over [`amdgpu_sim`].
//! `cargo build -p hsa-sim` builds the shared library (`libhsa-runtime64` in Cargo's target directory). If it is the
//! first `libhsa-runtime64.so.1` on the library path, ROCm runs on it. The command `hip-sim` of this crate arranges
//! that.
//!
//! The modules:
//! - `abi`: HSA's C types. `api`: its C functions, which check their arguments and catch every panic.
//! - `runtime`: the process's state. `agent`: the properties of CPU and GPUs.
//! - `memory`: pools, locked host memory, copies. `signal`: signals and their waiters.
//! - `image`: images and samplers, as far as the GPU supports them.
//! - `queue`: AQL queues, each with a thread that executes its packets. `loader`: code objects and their symbols.
//! - `driver`: the files in which the kernel driver describes the GPUs, for programs that read them directly.
//! - `events`: faults, and how the program is notified of them. `leaving`: process exit while other threads are
//!   working.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(target_os = "linux")]

#[doc(hidden)]
pub mod abi;
mod agent;
mod api;
mod config;
mod driver;
mod events;
mod exempt;
mod handles;
mod image;
mod info;
mod leaving;
mod life;
mod loader;
mod log;
mod memory;
mod observe;
mod queue;
mod result;
mod runtime;
mod signal;

pub use api::{EXPORTS, Export};
pub use driver::{DriverFiles, driver_files, driver_files_with};
pub use info::{DeviceInfo, devices, devices_with};

/// Compiles the README's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
