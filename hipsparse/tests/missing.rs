//! Devices without hipSPARSE: the error says how to get it.

use hip::{Backend, Device, Stream};
use hipsparse::{CallError, Error, Sparse};

#[test]
fn a_missing_library_is_an_error_that_says_what_to_do() {
    if let Err(error) = hip::sim_if_no_gpu() {
        return linalg_testing::skipped(&error);
    }
    let embedded = !matches!(hip::backend(), Ok(Backend::Rocm));
    if !embedded && hipsparse::is_available() {
        return linalg_testing::skipped(&"hipSPARSE is available");
    }
    let stream = Stream::new(&Device::get(0).unwrap()).unwrap();
    let error = Sparse::new(&stream).unwrap_err();
    assert!(matches!(error, Error::Call(CallError::NoLibrary { .. })) != embedded, "{error}");
    let todo = if embedded { "`hip-sim run`" } else { "`rocm-sdk install 7.2 --with hipsparse`" };
    assert!(error.to_string().contains(todo), "{error}");
}
