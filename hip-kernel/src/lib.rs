#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(target_arch = "amdgpu", no_std)]
#![cfg_attr(target_arch = "amdgpu", feature(abi_gpu_kernel, ffi_const, panic_internals, repr_simd, simd_ffi))]
#![cfg_attr(target_arch = "amdgpu", allow(internal_features))]
// The first definition of a link is used: README's own are for a checkout.
#![doc = "[first-kernel]: https://docs.rs/crate/hip-kernel/latest/source/FIRST_KERNEL.md\n"]
#![doc = "[numba]: https://docs.rs/crate/hip-kernel/latest/source/NUMBA_HIP.md\n"]
#![doc = "[build]: https://docs.rs/hip-kernel-build\n"]
#![doc = include_str!("../README.md")]

#[macro_use]
mod raw;

pub mod atomic;
mod clock;
#[cfg(not(target_arch = "amdgpu"))]
#[doc(hidden)]
pub mod code;
pub mod group;
pub mod half;
#[cfg(not(target_arch = "amdgpu"))]
pub mod host;
#[doc(hidden)]
pub mod identity;
mod index;
#[doc(hidden)]
pub mod launched;
pub mod math;
pub mod matrix;
mod output;
#[cfg(target_arch = "amdgpu")]
#[doc(hidden)]
pub mod panic;
pub mod print;
pub mod shared;
pub mod sync;
#[doc(hidden)]
pub mod value;
pub mod vector;
pub mod wave;

pub use clock::{clock, wall_clock};
#[cfg(not(target_arch = "amdgpu"))]
pub use code::{Code, Kernels};
#[cfg(not(target_arch = "amdgpu"))]
pub use hip;
pub use hip_kernel_macros::{DeviceCopy, kernel, printf};
pub use identity::{Layout, Plain};
pub use index::{Dim3, block_dim, block_idx, global_dim, global_idx, grid_dim, thread_idx};
pub use output::{DisjointChunks, DisjointGrid, DisjointSlice};
pub use value::Value;

/// The items that most kernels use.
pub mod prelude {
    pub use crate::atomic::{Atomic, AtomicSlice, Scope};
    pub use crate::group::{GridBarrier, Tile};
    pub use crate::half::{bf16, f16};
    pub use crate::math::Float;
    pub use crate::print::Printer;
    pub use crate::shared::{Shared, SharedSlice};
    pub use crate::sync::barrier;
    pub use crate::{
        DeviceCopy, Dim3, DisjointChunks, DisjointGrid, DisjointSlice, block_dim, block_idx, clock, global_dim,
        global_idx, grid_dim, kernel, printf, thread_idx, wave,
    };
}

/// The folder of this crate's source: `hip-kernel-build` compiles it for the device.
#[doc(hidden)]
pub const SOURCE: &str = {
    #[cfg(not(target_arch = "amdgpu"))]
    {
        env!("CARGO_MANIFEST_DIR")
    }
    #[cfg(target_arch = "amdgpu")]
    {
        ""
    }
};

/// Returns the code that the build script wrote with `hip_kernel_build::Build::compile`, by the name of the source:
/// `code!("kernels")` for `src/kernels.rs`. It is a [`Code`], which [`Code::load`] loads on a device.
#[cfg(not(target_arch = "amdgpu"))]
#[macro_export]
macro_rules! code {
    ($name:literal) => {{
        const { assert!($crate::code::is_name($name), "the name of a module's source, such as \"kernels\"") };
        static CODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".hipfb"));
        // SAFETY: the build script's `Build::compile` wrote the file.
        unsafe { $crate::Code::new(CODE) }
    }};
}

/// `panic!` for kernels: the text is kept as written, and values are not inserted.
#[cfg(target_arch = "amdgpu")]
#[macro_export]
macro_rules! panic {
    ($text:literal $(, $($values:tt)*)?) => {{
        // The compiler checks the values.
        if false {
            ::core::panic!($text $(, $($values)*)?);
        }
        $crate::panic::with_text($text)
    }};
    ($($other:tt)*) => { ::core::panic!($($other)*) };
}

/// `assert!` for kernels: its text is like that of `panic!`.
#[cfg(target_arch = "amdgpu")]
#[macro_export]
macro_rules! assert {
    ($condition:expr $(,)?) => { ::core::assert!($condition) };
    ($condition:expr, $($text:tt)+) => {{
        let condition: bool = $condition;
        if !condition {
            $crate::panic!($($text)+)
        }
    }};
}
