//! What the crate adds to hipBLAS: `gemm` and `axpy` through it and through the raw functions on the same library, with the same handle's settings.
//!
//! `cargo bench -p hipblas`, with an AMD GPU and hipBLAS. Small sizes show what a call costs, 512³ the whole.

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;
use std::time::{Duration, Instant};

use hip::{Device, DeviceBuffer, Stream};
use hipblas::{Blas, MatrixBuffer};

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

/// A function of the library that the crate has opened.
fn function<F: Copy>(name: &std::ffi::CStr) -> F {
    let address = hipblas_sys::BINDING.symbol(name).expect("hipBLAS has it");
    // SAFETY: a function pointer of the type that the caller names.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The median of the host's time for a call, with all work waited for behind it counted if `whole`.
fn time(stream: &Stream, rounds: usize, whole: bool, mut call: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            call();
            if whole {
                stream.synchronize().expect("the work");
            }
            let time = start.elapsed();
            if !whole {
                stream.synchronize().expect("the work");
            }
            time
        })
        .collect();
    times.sort();
    times[times.len() / 2]
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
    // SAFETY: a handle is written, and set to a stream that is alive.
    assert_eq!(unsafe { create(&mut handle) | set_stream(handle, stream.as_raw().cast()) }, 0);
    let largest = std::env::var("HIPBLAS_BENCH_SIZE").ok().and_then(|size| size.parse().ok()).unwrap_or(512);
    for size in [4, largest] {
        let a = MatrixBuffer::<f32>::zeroed(&device, size, size).expect("memory");
        let mut c = MatrixBuffer::<f32>::zeroed(&device, size, size).expect("memory");
        let x = DeviceBuffer::<f32>::zeroed(&device, size).expect("memory");
        let mut y = DeviceBuffer::<f32>::zeroed(&device, size).expect("memory");
        let (from, to) =
            (a.buffer().as_device_ptr().address() as *const f32, c.buffer().as_device_ptr().address() as *mut f32);
        let (raw_x, raw_y) = (x.as_device_ptr().address() as *const f32, y.as_device_ptr().address() as *mut f32);
        let (n, one, zero) = (size as i32, 1.0_f32, 0.0_f32);
        let (rounds, whole) = (if size == 4 { 2000 } else { 20 }, size != 4);
        let mut safe_gemm = || blas.gemm(1.0, &a, &a, 0.0, black_box(&mut c)).expect("gemm");
        safe_gemm();
        let ours = time(&stream, rounds, whole, safe_gemm);
        // SAFETY: matrices of n x n elements.
        let raw_call =
            || unsafe { assert_eq!(gemm(handle, 111, 111, n, n, n, &one, from, n, from, n, &zero, to, n), 0) };
        raw_call();
        let raw = time(&stream, rounds, whole, raw_call);
        println!("gemm {size}³: {ours:?}, raw {raw:?}");
        let mut safe_axpy = || blas.axpy(1.0, &x, black_box(&mut y)).expect("axpy");
        safe_axpy();
        let ours = time(&stream, rounds, whole, safe_axpy);
        // SAFETY: vectors of n elements.
        let raw_call = || unsafe { assert_eq!(axpy(handle, n, &one, raw_x, 1, raw_y, 1), 0) };
        raw_call();
        let raw = time(&stream, rounds, whole, raw_call);
        println!("axpy {size}: {ours:?}, raw {raw:?}");
    }
}
