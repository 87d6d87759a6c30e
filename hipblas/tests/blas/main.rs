//! hipBLAS on a device with ROCm's own libraries: the GPU if there is one, or the software GPU under `hsa-sim`. Every
//! result is held to a reference on the host, with the error bound of theory. Without them the tests pass by saying
//! that they were skipped.

mod bad_input;
mod devices;
mod lapack;
mod level1;
mod level2;
mod level3;
mod mixed;
mod netlib;
mod running;

use hip::{Device, Stream};
use hipblas::Blas;
use linalg_testing::{Rng, skipped};
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// The device and hipBLAS on a stream of it.
pub(crate) fn blas() -> Option<(Device, Stream, Blas)> {
    let device = linalg_testing::device()?;
    if !hipblas::is_available() {
        skipped(&"hipBLAS is not available (cargo xtask rocm fetch 7.2 --with hipblas)");
        return None;
    }
    let stream = Stream::new(&device).unwrap();
    let blas = Blas::new(&stream).unwrap();
    Some((device, stream, blas))
}

/// So many times, with numbers, shapes and layouts of a seed each. `HIPBLAS_CASES` multiplies them.
pub(crate) fn cases(count: u32, test: impl Fn(&mut Rng)) {
    let times = std::env::var("HIPBLAS_CASES").ok().and_then(|text| text.parse::<u32>().ok()).unwrap_or(1);
    let seed = std::env::var("HIPBLAS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(16);
    let config = Config {
        cases: count * times,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(seed),
        max_shrink_iters: 0,
        ..Config::default()
    };
    let found = TestRunner::new(config).run(&proptest::num::u64::ANY, |seed| {
        test(&mut Rng::new(seed));
        Ok(())
    });
    if let Err(error) = found {
        panic!("{error}");
    }
}

/// 0, 1, and sizes around those of kernels' tiles.
pub(crate) fn size(rng: &mut Rng) -> usize {
    rng.one_of(&[0, 1, 1, 2, 3, 5, 7, 8, 15, 16, 17, 33])
}

/// Calls a generic function for each type.
#[macro_export]
macro_rules! for_types {
    ($count:literal, $blas:expr, $function:ident: $($t:ty),+) => {{
        let Some((device, _stream, blas)) = $blas else { return };
        $($crate::cases($count, |rng| $function::<$t>(&device, &blas, rng));)+
    }};
}
