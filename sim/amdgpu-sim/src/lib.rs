//! A software AMD GPU: runs amdgcn code objects on the CPU, and checks every access.
//!
//! A [`CodeObject`] (the output of `hipcc`, HIPRTC or Comgr for `gfx90a` or `gfx942`) is parsed and checked,
//! [loaded](Gpu::load) into the GPU's [`Memory`], and its kernels are [launched](Gpu::launch). A device address is the
//! host address of the same byte. A kernel that accesses memory outside a live allocation, reaches an unknown
//! instruction or exceeds its instruction budget ends with a [`Fault`]. It names the kernel, instruction, workgroup,
//! lane, address and the nearest allocation. The host never crashes.
//!
//! ```
//! use amdgpu_sim::{AllocKind, Config, Gpu};
//!
//! let gpu = Gpu::new(Config::default());
//! assert_eq!(gpu.target().to_string(), "gfx90a:sramecc+:xnack-");
//! let buffer = gpu.memory().alloc(4096, 0, AllocKind::Device)?;
//! gpu.memory().fill(buffer, &1.5_f32.to_le_bytes(), 1024)?;
//! let mut last = [0; 4];
//! gpu.memory().read(buffer + 4092, &mut last)?;
//! assert_eq!(f32::from_le_bytes(last), 1.5);
//! gpu.memory().free(buffer)?;
//! # Ok::<(), amdgpu_sim::MemoryError>(())
//! ```
//!
//! A kernel, from its code object to its result:
//!
//! ```
//! # use amdgpu_sim::{AllocKind, CodeObject, Config, Dispatch, Gpu};
//! # let code = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/basic-O3.co"));
//! let gpu = Gpu::new(Config::default());
//! let module = gpu.load(&CodeObject::parse(code)?)?;
//! // vector_add(const float *a, const float *b, float *c, unsigned n)
//! let kernel = module.kernel("vector_add").expect("the code object has this kernel");
//! let n = 1000_u32;
//! let [a, b, c] = [1.0_f32, 2.0, 0.0].map(|value| {
//!     let buffer = gpu.memory().alloc(4 * u64::from(n), 0, AllocKind::Device).unwrap();
//!     gpu.memory().fill(buffer, &value.to_le_bytes(), u64::from(n)).unwrap();
//!     buffer
//! });
//! let arguments = [&a.to_le_bytes()[..], &b.to_le_bytes(), &c.to_le_bytes(), &n.to_le_bytes()].concat();
//! let stats = gpu.launch(&kernel, &arguments, &Dispatch::of_blocks([4, 1, 1], [256, 1, 1])?)?;
//! assert_eq!(stats.waves, 16);
//! let mut last = [0; 4];
//! gpu.memory().read(c + 4 * 999, &mut last)?;
//! assert_eq!(f32::from_le_bytes(last), 3.0);
//!
//! // `n` is wrong: the kernel writes past the end, which is a fault.
//! let arguments = [&arguments[..24], &1024_u32.to_le_bytes()].concat();
//! let fault = gpu.launch(&kernel, &arguments, &Dispatch::of_blocks([4, 1, 1], [256, 1, 1])?).unwrap_err();
//! assert!(fault.to_string().contains("0 bytes past the end of 4000 bytes of device memory"), "{fault}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Checks, profiles and schedules
//! [`Config::checks`] finds reads of uninitialised memory, races in LDS and global memory, and waves that wait at
//! different barriers ([`Checks`]). [`Config::profile`] counts instructions, lanes, bytes, cache lines and bank
//! conflicts, and estimates the occupancy on a real chip ([`Profile`]: text, flame graph, JSON). [`Config::schedule`]
//! makes the order of a dispatch repeatable, or shuffles it by a seed ([`Schedule`]). With the feature `profile`,
//! findings, faults and profiles name source lines of the kernel if the code object has debug information. Each costs
//! nothing unless enabled. [`Settings`] reads all of them from environment variables.
//!
//! The crate does not depend on HIP or HSA: `hip-sim` implements HIP's functions on it, and `hsa-sim` HSA's.

#![cfg_attr(docsrs, feature(doc_cfg))]

// Code shared by unit and integration tests uses this crate name.
#[cfg(test)]
extern crate self as amdgpu_sim;

pub mod bundle;
mod code_object;
mod config;
mod delay;
mod dispatch;
mod exec;
mod fault;
mod gpu;
pub mod image;
pub mod isa;
mod loss;
mod memory;
mod module;
mod observe;
mod pool;
mod settings;
mod units;

pub use code_object::{
    Arg, CodeObject, Feature, Global, Hidden, KernelDescriptor, KernelInfo, KernelKind, LoadError, TargetId, ValueKind,
};
pub use config::{BeyondLds, Bounds, Config, Misaligned};
pub use delay::Delay;
pub use dispatch::{
    Cancel, DYNAMIC_STACK, Dispatch, MAX_LDS, MAX_SCRATCH, MAX_WORKGROUP_SIZE, PACKET_BYTES, Packet, Schedule, Stats,
};
pub use exec::mem::{PRIVATE_BASE as PRIVATE_APERTURE, SHARED_BASE as SHARED_APERTURE};
pub use exec::unsupported;
pub use fault::{Access, Denied, Fault, FaultKind, FaultPlace, LaunchError, SourceFrame, Space, StrayRegister};
pub use gpu::Gpu;
pub use isa::Arch;
#[cfg(target_os = "linux")]
pub use memory::SharedName;
pub use memory::{
    Agent, Agents, AllocKind, Allocation, MAX_AGENTS, MAX_ALIGN, MIN_ALIGN, Memory, MemoryError, Nearest, PAGE,
    Physical, Request, Rights,
};
pub use module::{Kernel, Module};
pub use observe::{
    Checks, Class, Counters, DispatchProfile, Finding, FindingKind, Hint, InstructionProfile, KernelProfile, Limit,
    Occupancy, Profile, ProfileFormat, SettingsError, occupancy,
};
pub use settings::{SETTINGS, Setting, Settings};
pub use units::ComputeUnits;

#[cfg(any(target_endian = "big", not(target_pointer_width = "64")))]
compile_error!("amdgpu-sim needs a 64-bit little-endian host: device memory is host memory");

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
