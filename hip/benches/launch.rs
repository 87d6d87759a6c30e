//! Cost of launching an empty kernel on the software GPU, through `hip` and through raw `hip-sys` calls.
//!
//! `cargo bench -p hip --features sim --bench launch`

use std::ptr;

use criterion::Criterion;
use hip::sys::{
    hipFunction_t, hipModuleGetFunction, hipModuleLaunchKernel, hipModuleLoadData, hipStreamSynchronize, hipSuccess,
};
use hip::{Backend, Device, LaunchConfig, Module, Stream};

const CODE: &[u8] = include_bytes!("../tests/kernels/kernels.gfx90a.co");

fn main() -> Result<(), hip::Error> {
    hip::select_backend(Backend::Sim)?;
    let device = Device::get(0)?;
    let stream = Stream::new(&device)?;
    let empty = Module::load(&device, CODE)?.kernel("empty")?;
    let config = LaunchConfig::new(1, 64);
    let (raw_stream, raw_empty) = (stream.as_raw(), raw_function());

    let mut criterion = Criterion::default().configure_from_args();
    let mut group = criterion.benchmark_group("empty kernel");
    group.bench_function("launch and wait, hip", |b| {
        b.iter(|| {
            // SAFETY: the kernel does nothing.
            unsafe { empty.launch(&stream, config, ()) }.expect("launches");
            stream.synchronize().expect("ends");
        });
    });
    group.bench_function("launch and wait, hip-sys", |b| {
        b.iter(|| {
            launch_raw(raw_empty, raw_stream);
            // SAFETY: the stream is alive.
            assert_eq!(unsafe { hipStreamSynchronize(raw_stream) }, hipSuccess);
        });
    });
    // A thousand at a time, so that the wait at the end counts little.
    group.bench_function("1000 launches and one wait, hip", |b| {
        b.iter(|| {
            for _ in 0..1000 {
                // SAFETY: the kernel does nothing.
                unsafe { empty.launch(&stream, config, ()) }.expect("launches");
            }
            stream.synchronize().expect("ends");
        });
    });
    group.bench_function("1000 launches and one wait, hip-sys", |b| {
        b.iter(|| {
            for _ in 0..1000 {
                launch_raw(raw_empty, raw_stream);
            }
            // SAFETY: the stream is alive.
            assert_eq!(unsafe { hipStreamSynchronize(raw_stream) }, hipSuccess);
        });
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}

fn raw_function() -> hipFunction_t {
    let (mut module, mut function) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the code object is whole and lives as long as the program; so does the module, which is never unloaded.
    unsafe {
        assert_eq!(hipModuleLoadData(&mut module, CODE.as_ptr().cast()), hipSuccess);
        assert_eq!(hipModuleGetFunction(&mut function, module, c"empty".as_ptr()), hipSuccess);
    }
    function
}

fn launch_raw(function: hipFunction_t, stream: hip::sys::hipStream_t) {
    // SAFETY: function and stream are alive, and the kernel takes no arguments.
    let status =
        unsafe { hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, ptr::null_mut(), ptr::null_mut()) };
    assert_eq!(status, hipSuccess);
}
