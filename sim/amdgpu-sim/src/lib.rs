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
//! The crate knows nothing of HIP or HSA: `hip-sim` puts HIP's functions on it.

pub mod bundle;
mod code_object;
mod dispatch;
mod exec;
mod fault;
mod gpu;
pub mod isa;
mod memory;
mod module;

pub use code_object::{
    Arg, CodeObject, Feature, Global, Hidden, KernelDescriptor, KernelInfo, LoadError, TargetId, ValueKind,
};
pub use dispatch::{Dispatch, MAX_LDS, MAX_SCRATCH, MAX_WORKGROUP_SIZE, Stats};
pub use fault::{Access, Denied, Fault, FaultKind, FaultPlace, LaunchError, Space};
pub use gpu::{Config, Gpu, Misaligned};
pub use isa::Arch;
pub use memory::{AllocKind, Allocation, MAX_ALIGN, MIN_ALIGN, Memory, MemoryError, Nearest};
pub use module::{Kernel, Module};

#[cfg(any(target_endian = "big", not(target_pointer_width = "64")))]
compile_error!("amdgpu-sim needs a 64-bit little-endian host: device memory is host memory");
