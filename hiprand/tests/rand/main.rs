//! hipRAND on a device with ROCm's own libraries: the GPU if there is one, or the software GPU under `hsa-sim`.
//! Sequences are held to published known answers and to the raw C calls, distributions to moments, chi-squared and
//! Kolmogorov-Smirnov with fixed seeds. Without the libraries the tests pass by saying that they were skipped.

mod bad_input;
mod devices;
mod host;
mod known;
mod lengths;
mod offsets;
mod raw_calls;
mod running;
mod statistics;

use hip::{Device, DeviceBuffer, Pod, Stream};
use hiprand::{Generator, Kind, Pseudo, Quasi};
use linalg_testing::skipped;

/// The device with hipRAND, and a stream of it.
pub(crate) fn device() -> Option<(Device, Stream)> {
    let device = linalg_testing::device()?;
    if !hiprand::is_available() {
        skipped(&"hipRAND is not available (cargo xtask rocm fetch 7.2 --with hiprand)");
        return None;
    }
    let stream = Stream::new(&device).unwrap();
    Some((device, stream))
}

/// All but MT19937: setting up its 8192 generators takes the software GPU many minutes.
pub(crate) const PSEUDO: [Pseudo; 5] =
    [Pseudo::Default, Pseudo::Xorwow, Pseudo::Mrg32k3a, Pseudo::Mtgp32, Pseudo::Philox4x32_10];

pub(crate) const QUASI: [Quasi; 5] =
    [Quasi::Default, Quasi::Sobol32, Quasi::ScrambledSobol32, Quasi::Sobol64, Quasi::ScrambledSobol64];

/// Returns the numbers that a generator writes to a buffer of this many elements.
pub(crate) fn filled<K: Kind, T: Pod>(
    generator: &mut Generator<K>,
    count: usize,
    fill: impl FnOnce(&mut Generator<K>, &mut DeviceBuffer<T>) -> hiprand::Result<()>,
) -> Vec<T> {
    let mut numbers = DeviceBuffer::<T>::zeroed(&generator.stream().device(), count).unwrap();
    fill(generator, &mut numbers).unwrap();
    numbers.to_vec().unwrap()
}

/// A generator with a seed.
pub(crate) fn seeded(stream: &Stream, kind: Pseudo, seed: u64) -> Generator {
    let mut generator = Generator::new(stream, kind).unwrap();
    generator.set_seed(seed).unwrap();
    generator
}
