//! hipSOLVER on a device with ROCm's own libraries: the GPU if there is one, or the software GPU under `hsa-sim`.
//! Factors are multiplied again, and vectors are put into the equation that they solve: the error is that of backward
//! stability, c·n·ε·|A|.

mod bad_input;
mod dense;
mod eigen;
mod examples;
mod graphs;
mod ranges;
mod reductions;
mod workspace;

use hip::{Device, Stream};
use hipsolver::{MatrixBuffer, Solver, Uplo};
use linalg_testing::{Host, Number, Rng, skipped};

/// The device and hipSOLVER on a stream of it.
pub(crate) fn solver() -> Option<(Device, Solver)> {
    let device = linalg_testing::device()?;
    if !hipsolver::is_available() {
        skipped(&"hipSOLVER is not available (cargo xtask rocm fetch 7.2 --with hipsolver)");
        return None;
    }
    let solver = Solver::new(&Stream::new(&device).unwrap()).unwrap();
    Some((device, solver))
}

/// Returns whether the release's library is older than a function. The library of 7.2 has them all.
pub(crate) fn lacks(function: &str) -> bool {
    if !hipsolver::is_available() {
        return false; // `solver` says so
    }
    let name = std::ffi::CString::new(function).unwrap();
    let lacks = hipsolver_sys::BINDING.symbol(&name).is_none();
    if lacks {
        skipped(&format!("the library has no {function}"));
    }
    lacks
}

/// Returns the number of rows and columns.
pub(crate) fn sizes(rng: &mut Rng) -> (usize, usize) {
    let mut one = || rng.one_of(&[1, 2, 3, 5, 8, 13]);
    (one(), one())
}

/// A matrix on the device.
pub(crate) fn upload<T: Number>(device: &Device, host: &Host) -> MatrixBuffer<T> {
    let elements: Vec<T> = host.data.iter().map(|&x| T::narrow(x)).collect();
    MatrixBuffer::from_columns(device, &elements, host.rows, host.cols).unwrap()
}

/// A matrix of the device.
pub(crate) fn download<T: Number>(matrix: &MatrixBuffer<T>) -> Host {
    Host::of(&matrix.to_vec().unwrap(), matrix.rows(), matrix.cols(), matrix.rows().max(1))
}

/// Random elements.
pub(crate) fn random<T: Number>(rng: &mut Rng, rows: usize, cols: usize) -> Host {
    Host::of(&rng.numbers::<T>(rows * cols), rows, cols, rows.max(1))
}

/// A Hermitian matrix, positive definite.
pub(crate) fn positive<T: Number>(rng: &mut Rng, order: usize) -> Host {
    let half = random::<T>(rng, order, order);
    half.mul(&half.h()).add(&Host::identity(order).scale((order as f64).into()))
}

/// The two are the same, up to c·n·ε times the largest element that went into them.
#[track_caller]
pub(crate) fn close<T: Number>(what: &str, got: &Host, want: &Host, size: f64, terms: usize) {
    let size = want.map(|_| size.into());
    linalg_testing::assert_close::<T>(what, got, want, &size, 8 * terms + 8);
}

/// Calls a generic function for each type.
#[macro_export]
macro_rules! for_all_types {
    ($count:literal, $function:ident) => {{
        let Some((device, solver)) = $crate::solver() else { return };
        for seed in 0..$count {
            let mut rng = linalg_testing::Rng::new(seed + 1);
            $function::<f32>(&device, &solver, &mut rng);
            $function::<f64>(&device, &solver, &mut rng);
            $function::<num_complex::Complex32>(&device, &solver, &mut rng);
            $function::<num_complex::Complex64>(&device, &solver, &mut rng);
        }
    }};
}
