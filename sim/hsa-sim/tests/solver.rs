//! rocSOLVER through hipSOLVER, unmodified, on the software GPU. Its results are checked by their definition, in f64 on
//! the host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_schar, c_void};
use std::ptr::null_mut;

use hip::{Device, DeviceBuffer};
use hipsolver_sys::*;
use libloading::os::unix::{Library, Symbol};
use num_complex::{Complex32, Complex64};
use support::libraries::{elsewhere, function, on_each, open};
use support::numbers::{assert_close, raw, values};
use support::scalar::{Scalar, assert_agree, real, sample};

const FILES: [&str; 5] = ["libhipsolver.so", "librocsolver.so", "librocblas.so", "librocsparse.so", "libhipsparse.so"];

/// The rounding error bound for numbers near 1 in these small systems.
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

/// Workspace with the number of elements that a function requested.
fn work(device: &Device, length: c_int) -> DeviceBuffer<f64> {
    DeviceBuffer::zeroed(device, usize::try_from(length).unwrap().max(1)).unwrap()
}

/// Cholesky: L times its transpose is the matrix. Above 64 rows `potf2_kernel_small` of rocSOLVER 7.2 reads a pivot in
/// several waves and replaces it by its square root in one, without a barrier in between: that works only if waves run
/// side by side, as on a chip.
#[test]
fn potrf_gives_a_factor_of_the_matrix() {
    if elsewhere("potrf_gives_a_factor_of_the_matrix", &FILES, &[]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let handle = handle();
    for n in [24_usize, 64, 65, 100, 200] {
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

/// LU with pivoting: L times U is the matrix with permuted rows, and no element of L exceeds 1.
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

/// Singular values are sorted, the vectors are orthonormal, and the product of the three factors is the matrix.
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

/// rocSOLVER through its own functions.
struct Solver {
    library: Library,
    blas: Library,
    device: Device,
    handle: *mut c_void,
}

impl Solver {
    fn new() -> Self {
        let device = Device::get(0).unwrap();
        let (blas, library, mut handle) = (open("librocblas.so"), open("librocsolver.so"), null_mut());
        // SAFETY: the type is that of rocblas.h, and `handle` is valid for the write.
        let status = unsafe {
            type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
            function::<Create>(&blas, "rocblas_create_handle")(&mut handle)
        };
        assert_eq!(status, 0);
        Self { library, blas, device, handle }
    }

    /// A function `rocsolver_NAME`.
    ///
    /// # Safety
    /// It has the type `F`.
    unsafe fn function<F>(&self, name: &str) -> Symbol<F> {
        // SAFETY: as the caller vouches.
        unsafe { function(&self.library, &format!("rocsolver_{name}")) }
    }

    fn upload<T: Scalar>(&self, values: &[T]) -> DeviceBuffer<T> {
        DeviceBuffer::from_slice(&self.device, values).unwrap()
    }

    fn download<T: Scalar>(&self, buffer: &DeviceBuffer<T>) -> Vec<T> {
        self.device.synchronize().unwrap();
        buffer.to_vec().unwrap()
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: the type is that of rocblas.h; the handle is live.
        let status = unsafe {
            type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
            function::<Destroy>(&self.blas, "rocblas_destroy_handle")(self.handle)
        };
        assert!(status == 0 || std::thread::panicking());
    }
}

/// Element of a product: a row of one and a column of another.
fn product(inner: usize, left: impl Fn(usize) -> Complex64, right: impl Fn(usize) -> Complex64) -> Complex64 {
    (0..inner).map(|i| left(i) * right(i)).sum()
}

/// `potrf` of both triangles, and `potrs`; `getrf`, `getrs` and `geqrf`; `syevd` or `heevd`.
fn factor<T: Scalar, R: Scalar>(solver: &Solver, orders: &[usize]) {
    type Any = *mut c_void;
    type Potrf = unsafe extern "C" fn(Any, c_int, c_int, Any, c_int, *mut c_int) -> c_int;
    type Potrs = unsafe extern "C" fn(Any, c_int, c_int, c_int, Any, c_int, Any, c_int) -> c_int;
    type Getrf = unsafe extern "C" fn(Any, c_int, c_int, Any, c_int, *mut c_int, *mut c_int) -> c_int;
    type Getrs = unsafe extern "C" fn(Any, c_int, c_int, c_int, Any, c_int, *mut c_int, Any, c_int) -> c_int;
    type Geqrf = unsafe extern "C" fn(Any, c_int, c_int, Any, c_int, Any) -> c_int;
    type Orgqr = unsafe extern "C" fn(Any, c_int, c_int, c_int, Any, c_int, Any) -> c_int;
    type Syevd = unsafe extern "C" fn(Any, c_int, c_int, c_int, Any, c_int, Any, Any, *mut c_int) -> c_int;
    let name = |of: &str| format!("{}{of}", T::LETTER);
    let of = |values: &[T]| values.iter().map(|value| value.value()).collect::<Vec<_>>();
    let all = |n: usize, element: &dyn Fn(usize, usize) -> Complex64| -> Vec<T> {
        (0..n * n).map(|at| T::of(element(at % n, at / n))).collect()
    };
    for &n in orders {
        let slack = T::ROUNDING * 40.0 * n as f64;
        let root = of(&sample::<T>(n * n, 61));
        // Hermitian, with eigenvalues of at least 1.
        let strong = |row: usize, column: usize| {
            let sum = product(n, |i| root[row + i * n], |i| root[column + i * n].conj());
            sum / n as f64 + if row == column { 1.0 } else { 0.0 }
        };
        let a = all(n, &strong);
        let a_values = of(&a);
        let right: Vec<T> = sample(3 * n, 62);
        let right_values = of(&right);
        let order = n as c_int;
        let at = |buffer: &DeviceBuffer<T>| -> Any { raw(buffer).cast() };
        for fill in [UPPER, LOWER] {
            let (buffer, b, info) = (solver.upload(&a), solver.upload(&right), solver.upload(&[-1_i32]));
            // SAFETY: types are those of rocsolver-functions.h, buffers hold the matrices.
            let statuses = unsafe {
                [
                    solver.function::<Potrf>(&name("potrf"))(
                        solver.handle,
                        fill,
                        order,
                        at(&buffer),
                        order,
                        raw(&info),
                    ),
                    solver.function::<Potrs>(&name("potrs"))(
                        solver.handle,
                        fill,
                        order,
                        3,
                        at(&buffer),
                        order,
                        at(&b),
                        order,
                    ),
                ]
            };
            assert_eq!((statuses, solver.download(&info)), ([0; 2], vec![0]), "{} of {n}", name("potrf"));
            let out = of(&solver.download(&buffer));
            // L, even if it is stored as its transpose.
            let l = |row: usize, column: usize| match fill == LOWER {
                _ if row < column => real(0.0),
                true => out[row + column * n],
                false => out[column + row * n].conj(),
            };
            let got = all(n, &|row, column| product(n, |i| l(row, i), |i| l(column, i).conj()));
            assert_agree(&format!("{} {fill} of {n}", name("potrf")), &got, &a_values, slack);
            let x = of(&solver.download(&b));
            let back = |at: usize| product(n, |i| a_values[at % n + i * n], |i| x[i + at / n * n]);
            let got: Vec<T> = (0..3 * n).map(|at| T::of(back(at))).collect();
            assert_agree(&format!("{} {fill} of {n}", name("potrs")), &got, &right_values, slack);
        }

        // Not symmetric, and with rows to be permuted.
        let a: Vec<T> = sample(n * n, 63);
        let a_values = of(&a);
        let (buffer, b) = (solver.upload(&a), solver.upload(&right));
        let (pivots, info) = (solver.upload(&vec![0_i32; n]), solver.upload(&[-1_i32]));
        // SAFETY: as above.
        let statuses = unsafe {
            let (handle, a) = (solver.handle, at(&buffer));
            [
                solver.function::<Getrf>(&name("getrf"))(handle, order, order, a, order, raw(&pivots), raw(&info)),
                solver.function::<Getrs>(&name("getrs"))(
                    handle,
                    PLAIN,
                    order,
                    3,
                    a,
                    order,
                    raw(&pivots),
                    at(&b),
                    order,
                ),
            ]
        };
        assert_eq!((statuses, solver.download(&info)), ([0; 2], vec![0]), "{} of {n}", name("getrf"));
        let out = of(&solver.download(&buffer));
        let l = |row: usize, column: usize| match row.cmp(&column) {
            std::cmp::Ordering::Less => real(0.0),
            std::cmp::Ordering::Equal => real(1.0),
            std::cmp::Ordering::Greater => out[row + column * n],
        };
        let u = |row: usize, column: usize| if row <= column { out[row + column * n] } else { real(0.0) };
        let mut rows: Vec<usize> = (0..n).collect();
        for (row, pivot) in solver.download(&pivots).into_iter().enumerate() {
            rows.swap(row, pivot as usize - 1);
        }
        assert!(rows.iter().enumerate().any(|(at, row)| at != *row), "no row was exchanged");
        let expected: Vec<Complex64> = (0..n * n).map(|at| a_values[rows[at % n] + at / n * n]).collect();
        let got = all(n, &|row, column| product(n, |i| l(row, i), |i| u(i, column)));
        assert_agree(&format!("{} of {n}", name("getrf")), &got, &expected, slack);
        let x = of(&solver.download(&b));
        let back = |at: usize| product(n, |i| a_values[at % n + i * n], |i| x[i + at / n * n]);
        let got: Vec<T> = (0..3 * n).map(|at| T::of(back(at))).collect();
        // The solution is large if the matrix is nearly singular.
        let largest = x.iter().map(|x| x.norm()).fold(1.0, f64::max);
        assert_agree(&format!("{} of {n}", name("getrs")), &got, &right_values, slack * largest);

        let (buffer, tau) = (solver.upload(&a), solver.upload(&vec![T::of(real(0.0)); n]));
        // SAFETY: as above.
        let status = unsafe {
            solver.function::<Geqrf>(&name("geqrf"))(solver.handle, order, order, at(&buffer), order, at(&tau))
        };
        assert_eq!(status, 0);
        let r = of(&solver.download(&buffer));
        let make_q = name(if T::COMPLEX { "ungqr" } else { "orgqr" });
        // SAFETY: as above.
        let status = unsafe {
            solver.function::<Orgqr>(&make_q)(solver.handle, order, order, order, at(&buffer), order, at(&tau))
        };
        assert_eq!(status, 0);
        let q = of(&solver.download(&buffer));
        let r = |row: usize, column: usize| if row <= column { r[row + column * n] } else { real(0.0) };
        let got = all(n, &|row, column| product(n, |i| q[row + i * n], |i| r(i, column)));
        assert_agree(&format!("{} of {n}", name("geqrf")), &got, &a_values, slack);
        let got = all(n, &|row, column| product(n, |i| q[i + row * n].conj(), |i| q[i + column * n]));
        let identity: Vec<Complex64> = (0..n * n).map(|at| real(f64::from(u8::from(at % n == at / n)))).collect();
        assert_agree(&format!("{make_q} of {n}"), &got, &identity, slack);

        let a = all(n, &strong);
        let a_values = of(&a);
        let (buffer, info) = (solver.upload(&a), solver.upload(&[-1_i32]));
        let (d, e) = (solver.upload(&vec![R::of(real(0.0)); n]), solver.upload(&vec![R::of(real(0.0)); n]));
        let syevd = name(if T::COMPLEX { "heevd" } else { "syevd" });
        // SAFETY: as above.
        let status = unsafe {
            let (d, e) = (raw(&d).cast(), raw(&e).cast());
            solver.function::<Syevd>(&syevd)(solver.handle, VECTORS, LOWER, order, at(&buffer), order, d, e, raw(&info))
        };
        assert_eq!((status, solver.download(&info)), (0, vec![0]), "{syevd} of {n}");
        let (d, v) = (solver.download(&d), of(&solver.download(&buffer)));
        assert!(d.windows(2).all(|pair| pair[0].value().re <= pair[1].value().re), "{syevd}: {d:?}");
        let got = all(n, &|row, column| product(n, |i| v[row + i * n] * d[i].value(), |i| v[column + i * n].conj()));
        assert_agree(&format!("{syevd} of {n}"), &got, &a_values, slack);
    }
}

/// `rocblas_fill_upper`, `rocblas_fill_lower`, `rocblas_operation_none`, `rocblas_evect_original`.
const UPPER: c_int = 121;
const LOWER: c_int = 122;
const PLAIN: c_int = 111;
const VECTORS: c_int = 211;

/// Factorisations and solutions in each type, through rocSOLVER's own functions: they reproduce the matrix and the
/// right-hand sides.
#[test]
fn factors_of_each_type_give_the_matrix() {
    if on_each("factors_of_each_type_give_the_matrix", &FILES, &[]).is_some() {
        return;
    }
    let solver = Solver::new();
    factor::<f64, f64>(&solver, &[5, 33, 100]);
    factor::<f32, f32>(&solver, &[40, 70]);
    factor::<Complex32, f32>(&solver, &[20]);
    factor::<Complex64, f64>(&solver, &[70]);
}
