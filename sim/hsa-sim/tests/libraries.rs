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
