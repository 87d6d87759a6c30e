//! ROCm's mathematical libraries, unmodified, on the software GPU; their results are held to references on the host.
#![cfg(target_os = "linux")]

mod support;

use std::ffi::{c_int, c_void};

use hip::{Device, DeviceBuffer};
use libloading::os::unix::{Library, Symbol};

const RELEASE: &str = "7.2";

/// Runs `test` in a process that has the libraries; false in that process.
fn elsewhere(test: &str, files: &[&str]) -> bool {
    if support::inside().is_some() {
        return false;
    }
    support::run_on(RELEASE, &[&["libamdhip64.so.7"], files].concat(), test, &[]);
    true
}

fn open(file: &str) -> Library {
    // SAFETY: a library of ROCm, whose initialisers do what any program gets.
    unsafe { Library::new(file) }.unwrap()
}

/// A function of a library; the caller vouches for its type.
unsafe fn function<T>(library: &Library, name: &str) -> Symbol<T> {
    // SAFETY: as the caller vouches.
    unsafe { library.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A buffer as C's pointer.
fn raw<T: bytemuck::Pod>(buffer: &DeviceBuffer<T>) -> *mut T {
    std::ptr::with_exposed_provenance_mut(buffer.as_device_ptr().address() as usize)
}

type Generate = unsafe extern "C" fn(*mut c_void, *mut u32, usize) -> c_int;

/// Numbers of rocRAND's generators are those that its generators on the host make.
#[test]
fn rocrand_is_bit_equal_to_its_host_generators() {
    if elsewhere("rocrand_is_bit_equal_to_its_host_generators", &["librocrand.so.1"]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let library = open("librocrand.so.1");
    // SAFETY: types as in rocrand.h; every pointer is valid for its call, buffers hold `n` numbers.
    unsafe {
        type Create = unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int;
        let on_gpu = function::<Create>(&library, "rocrand_create_generator");
        let on_host = function::<Create>(&library, "rocrand_create_generator_host_blocking");
        let set_seed = function::<unsafe extern "C" fn(*mut c_void, u64) -> c_int>(&library, "rocrand_set_seed");
        let generate = function::<Generate>(&library, "rocrand_generate");
        let destroy = function::<unsafe extern "C" fn(*mut c_void) -> c_int>(&library, "rocrand_destroy_generator");
        // XORWOW, MRG32k3a, Philox4x32-10, MRG31k3p; Sobol32, which has no seed.
        for kind in [401, 402, 404, 405, 501] {
            let n = 4096;
            let (mut gpu, mut host) = (std::ptr::null_mut(), std::ptr::null_mut());
            assert_eq!(on_gpu(&mut gpu, kind), 0, "{kind}");
            assert_eq!(on_host(&mut host, kind), 0, "{kind}");
            if kind < 500 {
                assert_eq!((set_seed(gpu, 0xfeed), set_seed(host, 0xfeed)), (0, 0));
            }
            let buffer = DeviceBuffer::<u32>::zeroed(&device, n).unwrap();
            let mut expected = vec![0_u32; n];
            assert_eq!(generate(gpu, raw(&buffer), n), 0, "{kind}");
            assert_eq!(generate(host, expected.as_mut_ptr(), n), 0, "{kind}");
            device.synchronize().unwrap();
            let numbers = buffer.to_vec().unwrap();
            assert_eq!(numbers, expected, "{kind}");
            assert!(numbers.iter().any(|number| *number != numbers[0]));
            assert_eq!((destroy(gpu), destroy(host)), (0, 0));
        }
    }
}

type Gemm<T> = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const T,
    *const T,
    c_int,
    *const T,
    c_int,
    *const T,
    *mut T,
    c_int,
) -> c_int;

/// rocBLAS multiplies matrices as f64 arithmetic on the host does, to the precision of the type.
#[test]
fn rocblas_gemm_agrees_with_the_host() {
    if elsewhere("rocblas_gemm_agrees_with_the_host", &["librocblas.so.5"]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let library = open("librocblas.so.5");
    // SAFETY: types as in rocblas.h; every pointer is valid for its call, buffers hold the matrices.
    unsafe {
        let create = function::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>(&library, "rocblas_create_handle");
        let destroy = function::<unsafe extern "C" fn(*mut c_void) -> c_int>(&library, "rocblas_destroy_handle");
        let sgemm = function::<Gemm<f32>>(&library, "rocblas_sgemm");
        let mut handle = std::ptr::null_mut();
        assert_eq!(create(&mut handle), 0);
        let (m, n, k) = (64_usize, 48, 80);
        let value = |i: usize| ((i * 37 + 11) % 101) as f32 / 50.0 - 1.0;
        let a: Vec<f32> = (0..m * k).map(value).collect();
        let b: Vec<f32> = (0..k * n).map(|i| value(i + 17)).collect();
        let c: Vec<f32> = (0..m * n).map(|i| value(i + 29)).collect();
        let (da, db) = (DeviceBuffer::from_slice(&device, &a).unwrap(), DeviceBuffer::from_slice(&device, &b).unwrap());
        let dc = DeviceBuffer::from_slice(&device, &c).unwrap();
        let (alpha, beta) = (1.5_f32, -0.5_f32);
        let size = |n: usize| n as c_int;
        let none = 111;
        let status = sgemm(
            handle,
            none,
            none,
            size(m),
            size(n),
            size(k),
            &alpha,
            raw(&da),
            size(m),
            raw(&db),
            size(k),
            &beta,
            raw(&dc),
            size(m),
        );
        assert_eq!(status, 0);
        device.synchronize().unwrap();
        let out = dc.to_vec().unwrap();
        for column in 0..n {
            for row in 0..m {
                let products = (0..k).map(|i| f64::from(a[row + i * m]) * f64::from(b[i + column * k]));
                let at = row + column * m;
                let expected = 1.5 * products.sum::<f64>() - 0.5 * f64::from(c[at]);
                let error = (f64::from(out[at]) - expected).abs();
                assert!(error < 1e-4, "({row}, {column}): {} is not {expected}", out[at]);
            }
        }
        assert_eq!(destroy(handle), 0);
    }
}

/// A transform of every length here is that of its definition in f64, kernels compiled as the program runs.
#[test]
fn rocfft_agrees_with_the_definition() {
    if elsewhere("rocfft_agrees_with_the_definition", &["libhipfft.so.0", "librocfft.so.0"]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let library = open("libhipfft.so.0");
    // SAFETY: types as in hipfft.h; every pointer is valid for its call, the buffers hold `n` complex numbers.
    unsafe {
        type Plan = unsafe extern "C" fn(*mut *mut c_void, c_int, c_int, c_int) -> c_int;
        type Exec = unsafe extern "C" fn(*mut c_void, *mut f32, *mut f32, c_int) -> c_int;
        let plan_1d = function::<Plan>(&library, "hipfftPlan1d");
        let exec = function::<Exec>(&library, "hipfftExecC2C");
        let destroy = function::<unsafe extern "C" fn(*mut c_void) -> c_int>(&library, "hipfftDestroy");
        for n in [16_usize, 60, 128] {
            let input: Vec<f32> = (0..2 * n).map(|i| ((i * 29 + 7) % 31) as f32 / 15.0 - 1.0).collect();
            let (data, out) = (
                DeviceBuffer::from_slice(&device, &input).unwrap(),
                DeviceBuffer::<f32>::zeroed(&device, 2 * n).unwrap(),
            );
            let mut plan = std::ptr::null_mut();
            // Complex to complex, forwards.
            assert_eq!(plan_1d(&mut plan, n as c_int, 0x29, 1), 0);
            assert_eq!(exec(plan, raw(&data), raw(&out), -1), 0);
            device.synchronize().unwrap();
            let numbers = out.to_vec().unwrap();
            for k in 0..n {
                let (mut re, mut im) = (0.0, 0.0);
                for j in 0..n {
                    let angle = -std::f64::consts::TAU * ((j * k) % n) as f64 / n as f64;
                    let (a, b) = (f64::from(input[2 * j]), f64::from(input[2 * j + 1]));
                    re += a * angle.cos() - b * angle.sin();
                    im += a * angle.sin() + b * angle.cos();
                }
                let error = (f64::from(numbers[2 * k]) - re).hypot(f64::from(numbers[2 * k + 1]) - im);
                assert!(error < 1e-4, "{n}: {k} is off by {error}");
            }
            assert_eq!(destroy(plan), 0);
        }
    }
}

/// A sparse matrix times a vector is what f64 arithmetic on the host makes of it.
#[test]
fn rocsparse_spmv_agrees_with_the_host() {
    if elsewhere("rocsparse_spmv_agrees_with_the_host", &["librocsparse.so.1"]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let library = open("librocsparse.so.1");
    // SAFETY: types as in rocsparse.h; every pointer is valid for its call, buffers hold the matrix and vectors.
    unsafe {
        type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
        type CsrMv = unsafe extern "C" fn(
            *mut c_void,
            c_int,
            c_int,
            c_int,
            c_int,
            *const f32,
            *mut c_void,
            *const f32,
            *const i32,
            *const i32,
            *mut c_void,
            *const f32,
            *const f32,
            *mut f32,
        ) -> c_int;
        let create = function::<Create>(&library, "rocsparse_create_handle");
        let describe = function::<Create>(&library, "rocsparse_create_mat_descr");
        let multiply = function::<CsrMv>(&library, "rocsparse_scsrmv");
        let (mut handle, mut description) = (std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!((create(&mut handle), describe(&mut description)), (0, 0));
        // Row i has i % 7 entries.
        let n = 200_usize;
        let (mut rows, mut columns, mut values) = (vec![0_i32], Vec::new(), Vec::new());
        for i in 0..n {
            for j in 0..i % 7 {
                columns.push(((i * 13 + j * 29) % n) as i32);
                values.push((i as f32 - j as f32) / 50.0);
            }
            rows.push(columns.len() as i32);
        }
        let x: Vec<f32> = (0..n).map(|i| (i % 9) as f32 - 4.0).collect();
        let y: Vec<f32> = (0..n).map(|i| (i % 5) as f32).collect();
        let (d_rows, d_columns) =
            (DeviceBuffer::from_slice(&device, &rows).unwrap(), DeviceBuffer::from_slice(&device, &columns).unwrap());
        let (d_values, d_x) =
            (DeviceBuffer::from_slice(&device, &values).unwrap(), DeviceBuffer::from_slice(&device, &x).unwrap());
        let d_y = DeviceBuffer::from_slice(&device, &y).unwrap();
        let (alpha, beta) = (2.0_f32, 0.5_f32);
        let size = n as c_int;
        let status = multiply(
            handle,
            111,
            size,
            size,
            values.len() as c_int,
            &alpha,
            description,
            raw(&d_values),
            raw(&d_rows),
            raw(&d_columns),
            std::ptr::null_mut(),
            raw(&d_x),
            &beta,
            raw(&d_y),
        );
        assert_eq!(status, 0);
        device.synchronize().unwrap();
        let out = d_y.to_vec().unwrap();
        for i in 0..n {
            let entries = rows[i] as usize..rows[i + 1] as usize;
            let products = entries.map(|e| f64::from(values[e]) * f64::from(x[columns[e] as usize]));
            let expected = 2.0 * products.sum::<f64>() + 0.5 * f64::from(y[i]);
            assert!((f64::from(out[i]) - expected).abs() < 1e-4, "{i}: {} is not {expected}", out[i]);
        }
    }
}

/// A factor of a positive definite matrix, multiplied with its transpose, is the matrix.
#[test]
fn rocsolver_potrf_factors() {
    if elsewhere("rocsolver_potrf_factors", &["librocsolver.so.0", "librocblas.so.5"]) {
        return;
    }
    let device = Device::get(0).unwrap();
    let (blas, solver) = (open("librocblas.so.5"), open("librocsolver.so.0"));
    // SAFETY: types as in rocblas.h and rocsolver.h; every pointer is valid for its call, the buffer holds the matrix.
    unsafe {
        type Potrf = unsafe extern "C" fn(*mut c_void, c_int, c_int, *mut f32, c_int, *mut i32) -> c_int;
        let create = function::<unsafe extern "C" fn(*mut *mut c_void) -> c_int>(&blas, "rocblas_create_handle");
        let potrf = function::<Potrf>(&solver, "rocsolver_spotrf");
        let mut handle = std::ptr::null_mut();
        assert_eq!(create(&mut handle), 0);
        let n = 20_usize;
        let entry = |i: usize, j: usize| if i == j { 30.0 } else { 1.0 / (1.0 + i.abs_diff(j) as f32) };
        let matrix: Vec<f32> = (0..n * n).map(|at| entry(at % n, at / n)).collect();
        let (data, info) = (
            DeviceBuffer::from_slice(&device, &matrix).unwrap(),
            DeviceBuffer::from_slice(&device, &[-1_i32]).unwrap(),
        );
        // The lower triangle.
        assert_eq!(potrf(handle, 122, n as c_int, raw(&data), n as c_int, raw(&info)), 0);
        device.synchronize().unwrap();
        assert_eq!(info.to_vec().unwrap(), [0]);
        let factor = data.to_vec().unwrap();
        for i in 0..n {
            for j in 0..=i {
                let products = (0..=j).map(|k| f64::from(factor[i + k * n]) * f64::from(factor[j + k * n]));
                let (product, expected) = (products.sum::<f64>(), f64::from(entry(i, j)));
                assert!((product - expected).abs() < 1e-4, "({i}, {j}): {product} is not {expected}");
            }
        }
    }
}
