//! The overhead of the crate over hipBLAS: `gemm` and `axpy` through the crate and through the raw functions of the
//! same library, with the same handle settings.
//!
//! `cargo bench -p hipblas`, with an AMD GPU and hipBLAS. Small sizes show the cost of a call, 512³ the whole. Both
//! variants take turns within one run, `ROUNDS` times.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use hip::{Device, DeviceBuffer, Stream};
use hipblas::{Blas, MatrixBuffer};
use linalg_testing::Turns;

type Gemm = unsafe extern "C" fn(
    *mut c_void,
    u32,
    u32,
    i32,
    i32,
    i32,
    *const f32,
    *const f32,
    i32,
    *const f32,
    i32,
    *const f32,
    *mut f32,
    i32,
) -> u32;
type Axpy = unsafe extern "C" fn(*mut c_void, i32, *const f32, *const f32, i32, *mut f32, i32) -> u32;
type Create = unsafe extern "C" fn(*mut *mut c_void) -> u32;
type SetStream = unsafe extern "C" fn(*mut c_void, *mut c_void) -> u32;

/// Returns a function of the library that the crate has opened.
fn function<F: Copy>(name: &std::ffi::CStr) -> F {
    let address = hipblas_sys::BINDING.symbol(name).expect("hipBLAS has it");
    // SAFETY: a function pointer of the type that the caller names.
    unsafe { std::mem::transmute_copy(&address) }
}

fn main() {
    let Ok(device) = Device::get(0) else { return println!("no GPU is available") };
    if !hipblas::is_available() {
        return println!("hipBLAS is not available");
    }
    let stream = Stream::new(&device).expect("a stream");
    let blas = Blas::new(&stream).expect("a handle");
    let (create, set_stream): (Create, SetStream) = (function(c"hipblasCreate"), function(c"hipblasSetStream"));
    let (gemm, axpy): (Gemm, Axpy) = (function(c"hipblasSgemm"), function(c"hipblasSaxpy"));
    let mut handle = ptr::null_mut();
    // SAFETY: the calls write a handle, and set it to a stream that is alive.
    assert_eq!(unsafe { create(&mut handle) | set_stream(handle, stream.as_raw().cast()) }, 0);
    let largest = std::env::var("HIPBLAS_BENCH_SIZE").ok().and_then(|size| size.parse().ok()).unwrap_or(512);
    let rounds: Option<usize> = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    // For size 0, the library does nothing.
    for size in [0, 4, largest] {
        let a = MatrixBuffer::<f32>::zeroed(&device, size, size).expect("memory");
        let mut c = MatrixBuffer::<f32>::zeroed(&device, size, size).expect("memory");
        let x = DeviceBuffer::<f32>::zeroed(&device, size).expect("memory");
        let mut y = DeviceBuffer::<f32>::zeroed(&device, size).expect("memory");
        let (from, to) =
            (a.buffer().as_device_ptr().address() as *const f32, c.buffer().as_device_ptr().address() as *mut f32);
        let (raw_x, raw_y) = (x.as_device_ptr().address() as *const f32, y.as_device_ptr().address() as *mut f32);
        let (n, one, zero) = (size as i32, 1.0_f32, 0.0_f32);
        let (calls, whole) = if size > 4 { (&[1][..], true) } else { (&[1, 32][..], false) };
        for &calls in calls {
            let rounds = if size > 4 { rounds.unwrap_or(200) } else { rounds.unwrap_or(5000) / calls as usize };
            let turns = Turns { stream: &stream, rounds, whole, calls };
            turns.compare(
                &format!("gemm {size}³, {calls} at once"),
                || blas.gemm(1.0, &a, &a, 0.0, black_box(&mut c)).expect("gemm"),
                // SAFETY: matrices of n x n elements.
                || unsafe { assert_eq!(gemm(handle, 111, 111, n, n, n, &one, from, n, from, n, &zero, to, n), 0) },
            );
            turns.compare(
                &format!("axpy {size}, {calls} at once"),
                || blas.axpy(1.0, &x, black_box(&mut y)).expect("axpy"),
                // SAFETY: vectors of n elements.
                || unsafe { assert_eq!(axpy(handle, n, &one, raw_x, 1, raw_y, 1), 0) },
            );
        }
    }
}
