//! A software AMD GPU: runs amdgcn code objects on the CPU, with every access checked.
//!
//! A [`CodeObject`] (what `hipcc`, HIPRTC or Comgr make for `gfx90a`) is read and checked, [loaded](Gpu::load) to the GPU's
//! [`Memory`], and its kernels are [launched](Gpu::launch). A device address is the host address of the same byte. A kernel
//! that reads or writes outside a live allocation, meets an unknown instruction or never ends gives a [`Fault`] that names
//! kernel, instruction, workgroup, lane, address and the nearest allocation; the host never crashes.
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
//! let kernel = module.kernel("vector_add").expect("it is in there");
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
//! // `n` is wrong: the kernel writes past the end, and is told so.
//! let arguments = [&arguments[..24], &1024_u32.to_le_bytes()].concat();
//! let fault = gpu.launch(&kernel, &arguments, &Dispatch::of_blocks([4, 1, 1], [256, 1, 1])?).unwrap_err();
//! assert!(fault.to_string().contains("0 bytes past the end of 4000 bytes of device memory"), "{fault}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a GPU does not tell
//! [`Config::checks`] finds reads of memory that nothing has written, races in LDS and global memory, and waves that miss barriers
//! ([`Checks`]); [`Config::profile`] counts instructions, lanes, bytes, lines and bank conflicts, and tells how full a
//! real chip would be ([`Profile`]: text, flame graph, JSON); [`Config::schedule`] gives a dispatch the same order every time, or an order
//! by a seed ([`Schedule`]). With the feature `profile` findings, faults and profiles name lines of the kernel's source, where the
//! code object has debug information. None of this costs anything until it is asked for. [`Settings`] reads it all from the environment.
//!
//! The crate knows nothing of HIP or HSA: `hip-sim` puts HIP's functions on it.

// What unit tests share with integration tests names the crate as these do.
#[cfg(test)]
extern crate self as amdgpu_sim;

pub mod bundle;
mod code_object;
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

pub use code_object::{
    Arg, CodeObject, Feature, Global, Hidden, KernelDescriptor, KernelInfo, KernelKind, LoadError, TargetId, ValueKind,
};
pub use delay::Delay;
pub use dispatch::{Cancel, Dispatch, MAX_LDS, MAX_SCRATCH, MAX_WORKGROUP_SIZE, PACKET_BYTES, Packet, Schedule, Stats};
pub use exec::mem::{PRIVATE_BASE as PRIVATE_APERTURE, SHARED_BASE as SHARED_APERTURE};
pub use exec::unsupported;
pub use fault::{Access, Denied, Fault, FaultKind, FaultPlace, LaunchError, SourceFrame, Space, StrayRegister};
pub use gpu::{BeyondLds, Config, Gpu, Misaligned};
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

#[cfg(any(target_endian = "big", not(target_pointer_width = "64")))]
compile_error!("amdgpu-sim needs a 64-bit little-endian host: device memory is host memory");

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
