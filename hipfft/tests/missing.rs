//! Devices without hipFFT: the error says how to get it.

use hip::{Backend, Device, Stream};
use hipfft::{C2C, Error, Layout, Plan};

#[test]
fn a_missing_library_is_an_error_that_says_what_to_do() {
    if let Err(error) = hip::sim_if_no_gpu() {
        return linalg_testing::skipped(&error);
    }
    let embedded = !matches!(hip::backend(), Ok(Backend::Rocm));
    if !embedded && hipfft::is_available() {
        return linalg_testing::skipped(&"hipFFT is available");
    }
    let stream = Stream::new(&Device::get(0).unwrap()).unwrap();
    let error = Plan::<C2C<f32>>::new(&stream, &Layout::new([8]).unwrap()).unwrap_err();
    assert!(matches!(error, Error::NoLibrary { .. }) != embedded, "{error}");
    let todo = if embedded { "`hip-sim run`" } else { "`rocm-sdk install 7.2 --with hipfft`" };
    assert!(error.to_string().contains(todo), "{error}");
}
