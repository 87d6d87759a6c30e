//! Launch costs: an empty kernel, waited for each time and in a row.

#![allow(missing_docs)] // criterion_group! makes a public function without any

use std::ffi::c_void;
use std::hint::black_box;
use std::ptr::null_mut;

use criterion::{Criterion, criterion_group, criterion_main};
use hip_sys::rocm_7_2::*;

const CODE: &[u8] = include_bytes!("../tests/kernels/basic.gfx90a.co");

fn launch(function: hipFunction_t, stream: hipStream_t) {
    // SAFETY: the kernel takes no arguments.
    let status = unsafe { hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, null_mut(), null_mut()) };
    assert_eq!(status, hipSuccess);
}

fn launches(c: &mut Criterion) {
    hip_sys::set_provider(hip_sim::provider()).expect("nothing has called HIP yet");
    let (mut module, mut empty, mut stream) = (null_mut(), null_mut(), null_mut());
    let mut buffer: *mut c_void = null_mut();
    // SAFETY: places for results, a whole code object, a C string.
    unsafe {
        assert_eq!(hipModuleLoadData(&mut module, CODE.as_ptr().cast()), hipSuccess);
        assert_eq!(hipModuleGetFunction(&mut empty, module, c"empty".as_ptr()), hipSuccess);
        assert_eq!(hipStreamCreateWithFlags(&mut stream, hipStreamNonBlocking), hipSuccess);
        assert_eq!(hipMalloc(&mut buffer, 4), hipSuccess);
    }
    // SAFETY (of all below): live handles, and memory of the sizes given.
    c.bench_function("launch and synchronize", |b| {
        b.iter(|| {
            launch(empty, stream);
            // SAFETY: see above.
            assert_eq!(unsafe { hipStreamSynchronize(stream) }, hipSuccess);
        });
    });
    c.bench_function("100 launches and synchronize", |b| {
        b.iter(|| {
            for _ in 0..100 {
                launch(empty, stream);
            }
            // SAFETY: see above.
            assert_eq!(unsafe { hipStreamSynchronize(stream) }, hipSuccess);
        });
    });
    c.bench_function("copy 4 bytes to the host", |b| {
        let mut word = 0_u32;
        b.iter(|| {
            // SAFETY: see above.
            let status = unsafe { hipMemcpyDtoH((&raw mut word).cast(), buffer, 4) };
            assert_eq!(black_box(status), hipSuccess);
        });
    });
}

criterion_group!(benches, launches);
criterion_main!(benches);
