//! A device without hipBLAS, as the embedded software GPU is: the error names the command that installs it.

use hip::{Device, Stream};
use hipblas::{Blas, Error};

#[test]
fn a_missing_library_is_an_error_that_says_how_to_get_it() {
    if let Err(error) = hip::sim_if_no_gpu() {
        return linalg_testing::skipped(&error);
    }
    if hipblas::is_available() {
        return linalg_testing::skipped(&"hipBLAS is available");
    }
    let device = Device::get(0).unwrap();
    let error = Blas::new(&Stream::new(&device).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NoLibrary { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("`rocm-sdk install 7.2 --with hipblas`"), "{error}");
}
