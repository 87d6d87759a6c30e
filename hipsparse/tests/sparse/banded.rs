//! Solves with tridiagonal and pentadiagonal matrices.

use hip::{Device, DeviceBuffer};
use hipsparse::{MatrixBuffer, Pentadiagonals, Sparse, Tridiagonal, TridiagonalMethod, Tridiagonals, Value};
use linalg_testing::{Host, Number, Rng, assert_close};

use crate::bad_input::refused;
use crate::{download, for_all_types, is_5, random, sparse};

/// The diagonals from the lowest to the uppermost, of one matrix: dominant, with zeros outside of the matrix.
fn diagonals<T: Number>(rng: &mut Rng, order: usize, reach: usize) -> (Vec<Vec<T>>, Host) {
    let all: Vec<Vec<T>> = (0..=2 * reach)
        .map(|at| {
            let inside = |row: usize| (row + at).checked_sub(reach).is_some_and(|col| col < order);
            (0..order)
                .map(|row| match inside(row) {
                    true if at == reach => T::narrow((4.0 * reach as f64 + 1.0).into()),
                    true => rng.number(),
                    false => T::ZERO,
                })
                .collect()
        })
        .collect();
    let host = Host::from_fn(order, order, |row, col| match (col + reach).checked_sub(row) {
        Some(at) if at <= 2 * reach => all[at][row].wide(),
        _ => 0.0.into(),
    });
    (all, host)
}

#[track_caller]
fn solved<T: Number>(what: &str, a: &Host, x: &Host, b: &Host) {
    let size = a.abs().mul(&x.abs()).add(&b.abs()).map(|x| x * 8.0);
    assert_close::<T>(what, &a.mul(x), b, &size, a.rows);
}

fn tridiagonal<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    let upload = |elements: &[T]| DeviceBuffer::from_slice(device, elements).unwrap();
    for order in [3, 5, 17, 100] {
        let (all, host) = diagonals::<T>(rng, order, 1);
        let [lower, main, upper] = [0, 1, 2].map(|at| upload(&all[at]));
        let a = Tridiagonal { lower: lower.as_slice(), main: main.as_slice(), upper: upper.as_slice() };
        for pivoting in [false, true] {
            let (mut b, b_host) = random::<T>(device, rng, order, 2);
            sparse.gtsv(pivoting, a, &mut b).unwrap();
            solved::<T>(&format!("gtsv {order}, pivoting {pivoting}"), &host, &download(&b), &b_host);
        }
        // Two systems: this one, and a different one after it.
        let (more, other) = diagonals::<T>(rng, order, 1);
        let joined = |at: usize| upload(&[&all[at][..], &more[at][..]].concat());
        let [lower, main, upper] = [0, 1, 2].map(joined);
        let a = Tridiagonal { lower: lower.as_slice(), main: main.as_slice(), upper: upper.as_slice() };
        let right = rng.numbers::<T>(2 * order);
        let mut x = upload(&right);
        sparse.gtsv_batch(a, &mut x, 2).unwrap();
        let got = x.to_vec().unwrap();
        for (member, host) in [&host, &other].into_iter().enumerate() {
            let part = |all: &[T]| Host::of(&all[member * order..], order, 1, order);
            solved::<T>(&format!("gtsv_batch {order}"), host, &part(&got), &part(&right));
        }
        // Side by side.
        let weave = |at: usize| -> Vec<T> { (0..order).flat_map(|row| [all[at][row], more[at][row]]).collect() };
        for method in [TridiagonalMethod::Thomas, TridiagonalMethod::Lu, TridiagonalMethod::Qr] {
            let [mut lower, mut main, mut upper] = [0, 1, 2].map(|at| upload(&weave(at)));
            let a =
                Tridiagonals { lower: lower.as_slice_mut(), main: main.as_slice_mut(), upper: upper.as_slice_mut() };
            let mut x = upload(&right);
            sparse.gtsv_interleaved(method, a, &mut x, 2).unwrap();
            let got = x.to_vec().unwrap();
            for (member, host) in [&host, &other].into_iter().enumerate() {
                let part = |all: &[T]| Host::from_fn(order, 1, |row, _| all[row * 2 + member].wide());
                solved::<T>(&format!("gtsv_interleaved {order} {method:?}"), host, &part(&got), &part(&right));
            }
        }
    }
}

#[test]
fn tridiagonal_systems() {
    for_all_types!(tridiagonal);
}

fn pentadiagonal<T: Number + Value>(device: &Device, sparse: &Sparse, rng: &mut Rng) {
    for order in [4, 5, 20] {
        let made = [diagonals::<T>(rng, order, 2), diagonals::<T>(rng, order, 2)];
        let mut memory: [DeviceBuffer<T>; 5] = std::array::from_fn(|at| {
            let woven: Vec<T> = (0..order).flat_map(|row| [made[0].0[at][row], made[1].0[at][row]]).collect();
            DeviceBuffer::from_slice(device, &woven).unwrap()
        });
        let [lowest, lower, main, upper, uppermost] = &mut memory;
        let a = Pentadiagonals {
            lowest: lowest.as_slice_mut(),
            lower: lower.as_slice_mut(),
            main: main.as_slice_mut(),
            upper: upper.as_slice_mut(),
            uppermost: uppermost.as_slice_mut(),
        };
        let right = rng.numbers::<T>(2 * order);
        let mut x = DeviceBuffer::from_slice(device, &right).unwrap();
        let done = sparse.gpsv_interleaved(a, &mut x, 2);
        if is_5() {
            return refused(done, "on ROCm 6");
        }
        done.unwrap();
        let got = x.to_vec().unwrap();
        for (member, (_, host)) in made.iter().enumerate() {
            let part = |all: &[T]| Host::from_fn(order, 1, |row, _| all[row * 2 + member].wide());
            solved::<T>(&format!("gpsv {order}"), host, &part(&got), &part(&right));
        }
    }
}

#[test]
fn pentadiagonal_systems() {
    for_all_types!(pentadiagonal);
}

#[test]
fn lengths_of_diagonals_that_do_not_fit() {
    let Some((device, sparse)) = sparse() else { return };
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let (three, four) = (vector(3), vector(4));
    let a = Tridiagonal { lower: three.as_slice(), main: four.as_slice(), upper: four.as_slice() };
    let matrix = |rows| hipsparse::MatrixBuffer::<f32>::zeroed(&device, rows, 1).unwrap();
    refused(sparse.gtsv(true, a, &mut matrix(4)), "lower diagonal");
    refused(sparse.gtsv(true, a, &mut matrix(3)), "rows of B");
    let two = vector(2);
    let small = Tridiagonal { lower: two.as_slice(), main: two.as_slice(), upper: two.as_slice() };
    refused(sparse.gtsv(true, small, &mut matrix(2)), "at least 3");
    let a = Tridiagonal { lower: four.as_slice(), main: four.as_slice(), upper: four.as_slice() };
    refused(sparse.gtsv_batch(a, &mut vector(4), 3), "divisor");
    let mut memory = [3; 5].map(&vector);
    let [lowest, lower, main, upper, uppermost] = memory.each_mut().map(DeviceBuffer::as_slice_mut);
    let a = Pentadiagonals { lowest, lower, main, upper, uppermost };
    refused(sparse.gpsv_interleaved(a, &mut vector(3), 1), if is_5() { "on ROCm 6" } else { "at least 4" });
}

/// A row of zeros: no method reports it, and none returns numbers.
#[test]
fn singular_matrices_have_no_numbers() {
    let Some((device, sparse)) = sparse() else { return };
    let buffer = |numbers: &[f64]| DeviceBuffer::from_slice(&device, numbers).unwrap();
    let not_finite = |what: &str, numbers: Vec<f64>| {
        assert!(numbers.iter().any(|number| !number.is_finite()), "{what}: {numbers:?}");
    };
    let (zero, main) = (buffer(&[0.0; 4]), buffer(&[2.0, 0.0, 1.0, 1.0]));
    let a = Tridiagonal { lower: zero.as_slice(), main: main.as_slice(), upper: zero.as_slice() };
    for pivoting in [false, true] {
        let mut b = MatrixBuffer::from_columns(&device, &[3.0; 4], 4, 1).unwrap();
        sparse.gtsv(pivoting, a, &mut b).unwrap();
        not_finite("gtsv", b.to_vec().unwrap());
    }
    let mut x = buffer(&[3.0; 4]);
    sparse.gtsv_batch(a, &mut x, 1).unwrap();
    not_finite("gtsv_batch", x.to_vec().unwrap());
    for method in [TridiagonalMethod::Thomas, TridiagonalMethod::Lu, TridiagonalMethod::Qr] {
        let (mut lower, mut main, mut upper) = (buffer(&[0.0; 4]), buffer(&[2.0, 0.0, 1.0, 1.0]), buffer(&[0.0; 4]));
        let mut x = buffer(&[3.0; 4]);
        let a = Tridiagonals { lower: (&mut lower).into(), main: (&mut main).into(), upper: (&mut upper).into() };
        sparse.gtsv_interleaved(method, a, &mut x, 1).unwrap();
        not_finite("gtsv_interleaved", x.to_vec().unwrap());
    }
}
