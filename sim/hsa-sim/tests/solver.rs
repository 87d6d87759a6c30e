//! rocSOLVER through hipSOLVER, unmodified, on the software GPU: what it finds is held to what defines it, in f64 on the host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_schar};
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use hipsolver_sys::*;
use support::numbers::{assert_close, elsewhere, raw, values};

const FILES: [&str; 5] =
    ["libhipsolver.so.1", "librocsolver.so.0", "librocblas.so.5", "librocsparse.so.1", "libhipsparse.so.4"];

/// What rounding may make of numbers near 1 in these small systems.
const TOLERANCE: f64 = 1e-11;

/// A matrix by columns.
#[derive(Clone)]
struct Matrix {
    rows: usize,
    columns: usize,
    at: Vec<f64>,
}

impl Matrix {
    fn new(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let at = (0..columns).flat_map(|column| (0..rows).map(move |row| (row, column)));
        Self { rows, columns, at: at.map(|(row, column)| value(row, column)).collect() }
    }

    fn sample(rows: usize, columns: usize, seed: u64) -> Self {
        Self { rows, columns, at: values(rows * columns, seed) }
    }

    fn get(&self, row: usize, column: usize) -> f64 {
        self.at[row + column * self.rows]
    }

    fn transposed(&self) -> Self {
        Self::new(self.columns, self.rows, |row, column| self.get(column, row))
    }

    fn times(&self, other: &Self) -> Self {
        let product = |row, column| (0..self.columns).map(|i| self.get(row, i) * other.get(i, column)).sum();
        Self::new(self.rows, other.columns, product)
    }

    fn identity(n: usize) -> Self {
        Self::new(n, n, |row, column| f64::from(u8::from(row == column)))
    }
}

fn handle() -> hipsolverHandle_t {
    let mut handle = null_mut();
    // SAFETY: `handle` is valid for the write.
    let status = unsafe { hipsolverCreate(&mut handle) };
    assert_eq!(status, HIPSOLVER_STATUS_SUCCESS, "{:?}", load_error());
    handle
}

fn check(status: hipsolverStatus_t) {
    assert_eq!(status, HIPSOLVER_STATUS_SUCCESS);
}

/// Work space of as many numbers as a function asked for.
fn work(device: &Device, length: c_int) -> DeviceBuffer<f64> {
    DeviceBuffer::zeroed(device, usize::try_from(length).unwrap().max(1)).unwrap()
}

/// Cholesky: L by its transpose is the matrix. Not above 65 rows: `potf2_kernel_small` of rocSOLVER 7.2 has a race there, that of the pivot's
/// square root with the second wave's read of the pivot, which waves that run one after the other lose.
#[test]
fn potrf_gives_a_factor_of_the_matrix() {
    if elsewhere("potrf_gives_a_factor_of_the_matrix", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    for n in [24_usize, 64] {
        let root = Matrix::sample(n, n, 1);
        let product = root.times(&root.transposed());
        let a =
            Matrix::new(n, n, |row, column| product.get(row, column) / n as f64 + f64::from(u8::from(row == column)));
        let buffer = DeviceBuffer::from_slice(&device, &a.at).unwrap();
        let info = DeviceBuffer::from_slice(&device, &[-1_i32]).unwrap();
        let (lower, size) = (HIPSOLVER_FILL_MODE_LOWER, n as c_int);
        let mut length = 0;
        // SAFETY: places are valid for the writes, buffers hold the matrix and what was asked for.
        unsafe {
            check(hipsolverDpotrf_bufferSize(handle, lower, size, raw(&buffer), size, &mut length));
            let work = work(&device, length);
            check(hipsolverDpotrf(handle, lower, size, raw(&buffer), size, raw(&work), length, raw(&info)));
            device.synchronize().unwrap();
        }
        assert_eq!(info.to_vec().unwrap(), [0]);
        let out = Matrix { at: buffer.to_vec().unwrap(), ..a };
        let l = Matrix::new(n, n, |row, column| if row >= column { out.get(row, column) } else { 0.0 });
        assert_close(&format!("L Lt of {n}"), &l.times(&l.transposed()).at, &a.at, TOLERANCE);
    }
    // SAFETY: the handle is live.
    check(unsafe { hipsolverDestroy(handle) });
}

/// LU with pivots: L by U is the matrix with its rows exchanged, and no factor of L is above 1.
#[test]
fn getrf_gives_factors_of_the_matrix() {
    if elsewhere("getrf_gives_factors_of_the_matrix", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (m, n) = (50_usize, 40_usize);
    let a = Matrix::sample(m, n, 2);
    let buffer = DeviceBuffer::from_slice(&device, &a.at).unwrap();
    let pivots = DeviceBuffer::<c_int>::zeroed(&device, n).unwrap();
    let info = DeviceBuffer::from_slice(&device, &[-1_i32]).unwrap();
    let (rows, columns) = (m as c_int, n as c_int);
    let mut length = 0;
    // SAFETY: places are valid for the writes, buffers hold the matrix and what was asked for.
    unsafe {
        check(hipsolverDgetrf_bufferSize(handle, rows, columns, raw(&buffer), rows, &mut length));
        let work = work(&device, length);
        let [a, work] = [raw(&buffer), raw(&work)];
        check(hipsolverDgetrf(handle, rows, columns, a, rows, work, length, raw(&pivots), raw(&info)));
        device.synchronize().unwrap();
        check(hipsolverDestroy(handle));
    }
    assert_eq!(info.to_vec().unwrap(), [0]);
    let out = Matrix { at: buffer.to_vec().unwrap(), ..a };
    let l = Matrix::new(m, n, |row, column| match row.cmp(&column) {
        std::cmp::Ordering::Less => 0.0,
        std::cmp::Ordering::Equal => 1.0,
        std::cmp::Ordering::Greater => out.get(row, column),
    });
    let u = Matrix::new(n, n, |row, column| if row <= column { out.get(row, column) } else { 0.0 });
    assert!(l.at.iter().all(|factor| factor.abs() <= 1.0));
    let mut order: Vec<usize> = (0..m).collect();
    for (at, pivot) in pivots.to_vec().unwrap().into_iter().enumerate() {
        order.swap(at, pivot as usize - 1);
    }
    let exchanged = Matrix::new(m, n, |row, column| a.get(order[row], column));
    assert_close("L U", &l.times(&u).at, &exchanged.at, TOLERANCE);
}

/// Singular values come in order, the vectors are orthonormal, and the three factors make the matrix.
#[test]
fn gesvd_gives_factors_of_the_matrix() {
    if elsewhere("gesvd_gives_factors_of_the_matrix", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    let (m, n) = (12_usize, 8_usize);
    let a = Matrix::sample(m, n, 3);
    let buffer = DeviceBuffer::from_slice(&device, &a.at).unwrap();
    let s = DeviceBuffer::<f64>::zeroed(&device, n).unwrap();
    let (u, vt) = (DeviceBuffer::zeroed(&device, m * n).unwrap(), DeviceBuffer::zeroed(&device, n * n).unwrap());
    let info = DeviceBuffer::from_slice(&device, &[-1_i32]).unwrap();
    let (rows, columns, job) = (m as c_int, n as c_int, b'S' as c_schar);
    let mut length = 0;
    // SAFETY: places are valid for the writes, buffers hold the matrices and what was asked for.
    unsafe {
        check(hipsolverDgesvd_bufferSize(handle, job, job, rows, columns, &mut length));
        let work = work(&device, length);
        check(hipsolverDgesvd(
            handle,
            job,
            job,
            rows,
            columns,
            raw(&buffer),
            rows,
            raw(&s),
            raw(&u),
            rows,
            raw(&vt),
            columns,
            raw(&work),
            length,
            null_mut(),
            raw(&info),
        ));
        device.synchronize().unwrap();
        check(hipsolverDestroy(handle));
    }
    assert_eq!(info.to_vec().unwrap(), [0]);
    let s = s.to_vec().unwrap();
    assert!(s.windows(2).all(|pair| pair[0] >= pair[1]) && s[n - 1] > 0.0, "{s:?}");
    let u = Matrix { rows: m, columns: n, at: u.to_vec().unwrap() };
    let vt = Matrix { rows: n, columns: n, at: vt.to_vec().unwrap() };
    assert_close("Ut U", &u.transposed().times(&u).at, &Matrix::identity(n).at, TOLERANCE);
    assert_close("Vt V", &vt.times(&vt.transposed()).at, &Matrix::identity(n).at, TOLERANCE);
    let scaled = Matrix::new(m, n, |row, column| u.get(row, column) * s[column]);
    assert_close("U S Vt", &scaled.times(&vt).at, &a.at, TOLERANCE);
}
