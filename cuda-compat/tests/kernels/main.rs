//! Kernels in CUDA C++ give the right results: NVRTC's names compile them with the prelude, and the software GPU runs
//! them.
//!
//! They run with a ROCm release that has HIPRTC (`ROCM_RS_RELEASE`, set by `cargo xtask test 'cuda-compat 7.2'`), on
//! its own HIP runtime, or with `HIP_RS_BACKEND=sim` on the embedded one. Else the tests say that they were skipped.

mod atomics;
mod candle;
mod cub;
mod device;
mod groups;
mod headers;
mod heap;
mod integers;
mod leaders;
mod memory;
mod numbers;
mod nvidia;
mod prints;
mod ptx;
mod random;
mod rounding;
mod shifts;
mod shuffles;
mod standard;
mod templates;
mod textures;
mod votes;

/// A test of kernels: its name, and its function, which runs on an available device.
macro_rules! on_a_device {
    ($(fn $name:ident() $body:block)*) => {$(
        #[test]
        fn $name() {
            if $crate::device::start() $body
        }
    )*};
}
pub(crate) use on_a_device;
