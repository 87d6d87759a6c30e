//! `libhsa-runtime64.so.1` over a software AMD GPU: ROCm's own, unmodified libraries run on a machine that has none.
//!
//! ROCm's HIP runtime (`libamdhip64`), and with it rocBLAS, rocRAND and the rest, reach the GPU through HSA: about a hundred C functions that
//! `libhsa-runtime64` has. This crate has them over [`amdgpu_sim`]. `cargo build -p hsa-sim` makes the shared library
//! (`libhsa-runtime64` in Cargo's target folder); where it is found first as `libhsa-runtime64.so.1`, ROCm runs on it.
//!
//! - `abi`: HSA's C types. `api`: its C functions, which check what they are given and catch every panic.
//! - `runtime`: the process's state. `agent`: what CPU and GPUs say of themselves.
//! - `memory`: pools, locked host memory, copies. `signal`: signals and who waits for them.
//! - `image`: images and samplers, as far as the GPU has them.
//! - `queue`: AQL queues, each with a thread that carries out its packets. `loader`: code objects and their symbols.
//! - `driver`: the files in which the kernel's driver tells of the GPUs, for programs that read them by themselves.
//! - `events`: faults, and how the program hears of them. `leaving`: the end of the process while others are at work.
#![cfg(target_os = "linux")]

#[doc(hidden)]
pub mod abi;
mod agent;
mod api;
mod config;
mod driver;
mod events;
mod handles;
mod image;
mod info;
mod leaving;
mod loader;
mod log;
mod memory;
mod observe;
mod queue;
mod runtime;
mod signal;

pub use api::{EXPORTS, Export};
pub use driver::{DriverFiles, driver_files, driver_files_with};
pub use info::{DeviceInfo, devices, devices_with};

/// The README's table and examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
