//! The kernels of the examples in Rust. The build script compiles the module [`kernels`] for the GPU, too.

use hip::{Device, Module};

pub mod kernels;

/// Loads the code of [`kernels`].
///
/// # Errors
/// Those of [`Module::load`], such as for a device of another architecture.
pub fn load(device: &Device) -> hip::Result<Module> {
    Module::load(device, hip_kernel::code!("kernels"))
}
