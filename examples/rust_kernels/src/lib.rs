//! The kernels of the examples in Rust. The build script also compiles the module [`kernels`] for the GPU.

use hip::Device;
use hip_kernel::Kernels;

pub mod kernels;

/// Loads the code of [`kernels`].
///
/// # Errors
/// Those of [`hip_kernel::Code::load`], such as for a device of another architecture.
pub fn load(device: &Device) -> hip::Result<Kernels> {
    hip_kernel::code!("kernels").load(device)
}
