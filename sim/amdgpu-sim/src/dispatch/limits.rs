//! The limits of a workgroup.

/// The maximum number of work-items of a workgroup.
pub const MAX_WORKGROUP_SIZE: u32 = 1024;

/// The maximum LDS of a workgroup in bytes.
pub const MAX_LDS: u32 = 64 << 10;

/// The maximum scratch of a lane in bytes.
pub const MAX_SCRATCH: u32 = 128 << 10;

/// The minimum scratch of a lane in bytes if the compiler does not know the kernel's call depth, unless
/// [`Gpu::set_dynamic_stack`](crate::Gpu::set_dynamic_stack) sets another: the default of AMD's runtime.
pub const DYNAMIC_STACK: u32 = 1 << 10;
