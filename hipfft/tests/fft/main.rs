//! hipFFT on a device with ROCm's own libraries: the GPU if there is one, or the software GPU under `hsa-sim`. Every
//! result is held to a naive transform or to `rustfft` on the host, with the error bound of theory. Without the
//! libraries the tests pass by saying that they were skipped.

mod bad_input;
mod cache;
mod callbacks;
mod devices;
mod known;
mod layouts;
mod reference;
mod running;

use hip::{Device, Stream};
use linalg_testing::skipped;

/// The device with hipFFT, and a stream of it.
pub(crate) fn device() -> Option<(Device, Stream)> {
    let device = linalg_testing::device()?;
    if !hipfft::is_available() {
        skipped(&"hipFFT is not available (cargo xtask rocm fetch 7.2 --with hipfft)");
        return None;
    }
    let stream = Stream::new(&device).unwrap();
    Some((device, stream))
}
