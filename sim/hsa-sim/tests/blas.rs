//! rocBLAS through hipBLAS, unmodified, on the software GPU. Its results are compared with f64 arithmetic on the host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::c_int;
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use hipblas_sys::*;
use support::libraries::elsewhere;
use support::numbers::{assert_close, raw, singles, values};

const FILES: [&str; 2] = ["libhipblas.so", "librocblas.so"];

fn handle() -> hipblasHandle_t {
    let mut handle = null_mut();
    // SAFETY: `handle` is valid for the write.
    let status = unsafe { hipblasCreate(&mut handle) };
    assert_eq!(status, HIPBLAS_STATUS_SUCCESS, "{:?}", load_error());
    handle
}

fn check(status: hipblasStatus_t) {
    assert_eq!(status, HIPBLAS_STATUS_SUCCESS);
}

fn destroy(handle: hipblasHandle_t) {
    // SAFETY: the handle is live, and nothing of it runs.
    check(unsafe { hipblasDestroy(handle) });
}

/// Plain and transposed.
#[test]
fn gemv_agrees_with_the_host() {
    if elsewhere("gemv_agrees_with_the_host", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (m, n) = (130_usize, 70_usize);
    let (a, x, y) = (values(m * n, 1), values(m.max(n), 2), values(m.max(n), 3));
    let (alpha, beta) = (1.5_f32, -0.25_f32);
    let da = DeviceBuffer::from_slice(&device, &singles(&a)).unwrap();
    for (operation, inputs, outputs) in [(HIPBLAS_OP_N, n, m), (HIPBLAS_OP_T, m, n)] {
        let dx = DeviceBuffer::from_slice(&device, &singles(&x[..inputs])).unwrap();
        let dy = DeviceBuffer::from_slice(&device, &singles(&y[..outputs])).unwrap();
        let (rows, columns) = (m as c_int, n as c_int);
        let (a_at, x_at, y_at) = (raw(&da), raw(&dx), raw(&dy));
        // SAFETY: buffers hold the matrix and the vectors.
        check(unsafe { hipblasSgemv(handle, operation, rows, columns, &alpha, a_at, rows, x_at, 1, &beta, y_at, 1) });
        device.synchronize().unwrap();
        let entry =
            |to: usize, from: usize| if operation == HIPBLAS_OP_N { a[to + from * m] } else { a[from + to * m] };
        let line = |to| (0..inputs).map(|from| entry(to, from) * x[from]).sum::<f64>();
        let expected: Vec<f64> = (0..outputs).map(|to| 1.5 * line(to) - 0.25 * y[to]).collect();
        assert_close(&format!("y by {operation:?}"), &dy.to_vec().unwrap(), &expected, 2e-5);
    }
    destroy(handle);
}

/// Triangular systems from either side, small ones and ones that rocBLAS solves by blocks: the product with the
/// solution gives the right-hand side.
#[test]
fn trsm_solves_the_systems() {
    if elsewhere("trsm_solves_the_systems", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let alpha = 2.0_f64;
    for (side, operation, m, n) in [
        (HIPBLAS_SIDE_LEFT, HIPBLAS_OP_N, 20_usize, 7_usize),
        (HIPBLAS_SIDE_LEFT, HIPBLAS_OP_T, 64, 33),
        (HIPBLAS_SIDE_RIGHT, HIPBLAS_OP_T, 86, 64),
        (HIPBLAS_SIDE_LEFT, HIPBLAS_OP_N, 150, 40),
    ] {
        let size = if side == HIPBLAS_SIDE_LEFT { m } else { n };
        // Lower triangular and diagonally dominant; the part above the diagonal must not be read.
        let noise = values(size * size, 4);
        let a: Vec<f64> = (0..size * size)
            .map(|at| match (at % size).cmp(&(at / size)) {
                std::cmp::Ordering::Less => f64::NAN,
                std::cmp::Ordering::Equal => 2.0 + noise[at],
                std::cmp::Ordering::Greater => noise[at] / size as f64,
            })
            .collect();
        let b = values(m * n, 5);
        let (da, db) = (DeviceBuffer::from_slice(&device, &a).unwrap(), DeviceBuffer::from_slice(&device, &b).unwrap());
        let (rows, columns, order) = (m as c_int, n as c_int, size as c_int);
        let (a_at, b_at) = (raw(&da), raw(&db));
        let (lower, diagonal) = (HIPBLAS_FILL_MODE_LOWER, HIPBLAS_DIAG_NON_UNIT);
        // SAFETY: buffers hold the matrices.
        check(unsafe {
            hipblasDtrsm(handle, side, lower, operation, diagonal, rows, columns, &alpha, a_at, order, b_at, rows)
        });
        device.synchronize().unwrap();
        let x = db.to_vec().unwrap();
        let entry = |row: usize, column: usize| {
            let (row, column) = if operation == HIPBLAS_OP_N { (row, column) } else { (column, row) };
            if row >= column { a[row + column * size] } else { 0.0 }
        };
        let product = |row: usize, column: usize| -> f64 {
            if side == HIPBLAS_SIDE_LEFT {
                (0..m).map(|i| entry(row, i) * x[i + column * m]).sum()
            } else {
                (0..n).map(|i| x[row + i * m] * entry(i, column)).sum()
            }
        };
        let got: Vec<f64> = (0..m * n).map(|at| product(at % m, at / m)).collect();
        let expected: Vec<f64> = b.iter().map(|b| alpha * b).collect();
        assert_close(&format!("{side:?} {operation:?} {m} by {n}"), &got, &expected, 1e-12);
    }
    destroy(handle);
}

/// Complex matrices: one of Tensile's kernels, and conjugated.
#[test]
fn cgemm_agrees_with_the_host() {
    if elsewhere("cgemm_agrees_with_the_host", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (m, n, k) = (40_usize, 36_usize, 50_usize);
    let (a, b, c) = (values(2 * m * k, 6), values(2 * k * n, 7), values(2 * m * n, 8));
    let ([alpha, beta], sizes) = ([[1.5_f32, -0.5], [0.25_f32, 1.0]], [m, n, k].map(|n| n as c_int));
    // A is stored as its conjugate transpose in the second round.
    for operation in [HIPBLAS_OP_N, HIPBLAS_OP_C] {
        let buffers = [&a, &b, &c].map(|matrix| DeviceBuffer::from_slice(&device, &singles(matrix)).unwrap());
        let [a_at, b_at, c_at] = [0, 1, 2].map(|at| raw(&buffers[at]));
        let stride = if operation == HIPBLAS_OP_N { sizes[0] } else { sizes[2] };
        // SAFETY: buffers hold the matrices; a complex number is two f32.
        check(unsafe {
            hipblasCgemm(
                handle,
                operation,
                HIPBLAS_OP_N,
                sizes[0],
                sizes[1],
                sizes[2],
                alpha.as_ptr().cast(),
                a_at.cast(),
                stride,
                b_at.cast(),
                sizes[2],
                beta.as_ptr().cast(),
                c_at.cast(),
                sizes[0],
            )
        });
        device.synchronize().unwrap();
        let at = |matrix: &[f64], index: usize| (matrix[2 * index], matrix[2 * index + 1]);
        let times = |x: (f64, f64), y: (f64, f64)| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0);
        let entry = |row: usize, i: usize| match operation {
            HIPBLAS_OP_N => at(&a, row + i * m),
            _ => (at(&a, i + row * k).0, -at(&a, i + row * k).1),
        };
        let expected: Vec<f64> = (0..m * n)
            .flat_map(|index| {
                let (row, column) = (index % m, index / m);
                let products = (0..k).map(|i| times(entry(row, i), at(&b, i + column * k)));
                let sum = products.fold((0.0, 0.0), |sum, product| (sum.0 + product.0, sum.1 + product.1));
                let (scaled, old) = (times((1.5, -0.5), sum), times((0.25, 1.0), at(&c, index)));
                [scaled.0 + old.0, scaled.1 + old.1]
            })
            .collect();
        assert_close(&format!("C by {operation:?}"), &buffers[2].to_vec().unwrap(), &expected, 1e-4);
    }
    destroy(handle);
}

/// The value of an f16 that is finite.
fn from_half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction / 1024.0 * 2_f64.powi(-14),
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The f16 of a number that it represents exactly as a normal number.
fn to_half(number: f64) -> u16 {
    if number == 0.0 {
        return 0;
    }
    let bits = (number as f32).to_bits();
    let exponent = (bits >> 23 & 255) as i32 - 127 + 15;
    assert!((1..31).contains(&exponent) && bits & 0x1fff == 0, "{number} is not one of f16's");
    (bits >> 31 << 15) as u16 | (exponent as u16) << 10 | (bits >> 13 & 1023) as u16
}

/// Half precision, which the kernels accumulate in f32.
#[test]
fn hgemm_agrees_with_the_host() {
    if elsewhere("hgemm_agrees_with_the_host", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (m, n, k) = (72_usize, 64_usize, 40_usize);
    let (a, b, c) = (values(m * k, 9), values(k * n, 10), values(m * n, 11));
    let buffers = [&a, &b, &c].map(|matrix| {
        let halves: Vec<u16> = matrix.iter().map(|value| to_half(*value)).collect();
        DeviceBuffer::from_slice(&device, &halves).unwrap()
    });
    let (alpha, beta) = (to_half(1.5), to_half(-0.5));
    let [rows, columns, depth] = [m, n, k].map(|n| n as c_int);
    let [a_at, b_at, c_at] = [0, 1, 2].map(|at| raw(&buffers[at]));
    let plain = HIPBLAS_OP_N;
    // SAFETY: buffers hold the matrices.
    check(unsafe {
        hipblasHgemm(handle, plain, plain, rows, columns, depth, &alpha, a_at, rows, b_at, depth, &beta, c_at, rows)
    });
    device.synchronize().unwrap();
    let out: Vec<f64> = buffers[2].to_vec().unwrap().into_iter().map(from_half).collect();
    let product = |row: usize, column: usize| (0..k).map(|i| a[row + i * m] * b[i + column * k]).sum::<f64>();
    let expected: Vec<f64> = (0..m * n).map(|at| 1.5 * product(at % m, at / m) - 0.5 * c[at]).collect();
    // The result is rounded to eleven bits, and the numbers are below 32.
    assert_close("C", &out, &expected, 0.02);
    destroy(handle);
}
