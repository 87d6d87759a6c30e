//! Devices without hipRAND: the error says how to get it.

use hip::{Backend, Device, Stream};
use hiprand::{Error, Generator, Pseudo};

#[test]
fn a_missing_library_is_an_error_that_says_what_to_do() {
    if let Err(error) = hip::sim_if_no_gpu() {
        return linalg_testing::skipped(&error);
    }
    let embedded = !matches!(hip::backend(), Ok(Backend::Rocm));
    if !embedded && hiprand::is_available() {
        return linalg_testing::skipped(&"hipRAND is available");
    }
    let stream = Stream::new(&Device::get(0).unwrap()).unwrap();
    let error = Generator::new(&stream, Pseudo::Default).unwrap_err();
    assert!(matches!(error, Error::NoLibrary { .. }) != embedded, "{error}");
    let todo = if embedded { "`hip-sim run`" } else { "`rocm-sdk install 7.2 --with hiprand`" };
    assert!(error.to_string().contains(todo), "{error}");
}
