//! The libraries through cudarc's interface, with ROCm's own libraries: on the GPU, or on the software GPU under
//! `hsa-sim`.
//! Results are held to references on the host. Without the libraries the tests pass by saying that they were skipped.

mod cublas;
mod cublaslt;
mod cufft;
mod curand;
mod cusolver;
mod cusparse;
mod nccl;
#[path = "../../../hip/tests/held/sleeper.rs"]
mod sleeper;

use std::sync::Arc;

use cuda_compat::driver::{CudaContext, CudaStream};

/// Returns a new stream on the first device, if a device and the library are available; `error` returns the reason if
/// the library is not.
pub(crate) fn stream(error: impl FnOnce() -> Option<String>) -> Option<Arc<CudaStream>> {
    linalg_testing::device()?;
    if let Some(why) = error() {
        linalg_testing::skipped(&why);
        return None;
    }
    Some(CudaContext::new(0).unwrap().new_stream().unwrap())
}

/// Whether ROCm has the library, by a function of its `sys`.
#[macro_export]
macro_rules! stream_with {
    ($module:ident, $function:literal) => {
        $crate::stream(|| {
            let why =
                || cuda_compat::$module::sys::load_error().map_or_else(|| $function.to_owned(), |why| format!("{why}"));
            (!cuda_compat::$module::sys::has(
                std::ffi::CStr::from_bytes_with_nul(concat!($function, "\0").as_bytes()).unwrap(),
            ))
            .then(why)
        })
    };
}

/// Compares with a reference: `size` is the sum of the absolute values of the terms.
#[track_caller]
pub(crate) fn assert_near(what: &str, got: f64, want: f64, size: f64, eps: f64) {
    let bound = eps * size + f64::MIN_POSITIVE;
    assert!((got - want).abs() <= bound, "{what}: {got} is not {want} ± {bound}");
}
