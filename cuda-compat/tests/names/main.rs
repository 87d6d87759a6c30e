//! CUDA's names on the software GPU: each function that differs from HIP's, and pitfalls of ports. They run on AMD's
//! own HIP runtime if one is promised (`ROCM_RS_RELEASE`), otherwise on the embedded one; tests of functions that the
//! latter lacks print that they were skipped.

mod arguments;
mod context;
mod copies;
mod device;
mod graphs;
mod memory;
#[cfg(feature = "nvml")]
mod nvml;
mod recorded;
mod traps;

use std::ffi::CString;
use std::ptr::null_mut;

use cuda_compat::driver::*;

/// Runs a test in a separate process, with a variable set; returns its output if it failed. `cargo xtask test` starts
/// this program with the loader of another C library, which starts it again.
#[track_caller]
pub(crate) fn alone(test: &str, variable: &str, value: &str) {
    let program = std::env::args_os().next().unwrap();
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let mut start: Vec<String> = words.take_while(|word| program != word.as_str()).collect();
    start.push(program.into_string().unwrap());
    let child = std::process::Command::new(&start[0])
        .args(&start[1..])
        .args(["--exact", test, "--nocapture"])
        .env(variable, value)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stdout);
    let passed = child.status.success() && text.contains("1 passed");
    assert!(passed, "{variable}={value}: {text}{}", String::from_utf8_lossy(&child.stderr));
}

/// Returns whether AMD's own HIP runtime is available.
pub(crate) fn is_amds() -> bool {
    std::env::var_os("ROCM_RS_RELEASE").is_some()
}

/// Returns whether the runtime in use has these functions of HIP; says which it lacks.
pub(crate) fn has(functions: &[&str]) -> bool {
    use std::io::Write as _;
    let lacks = functions.iter().find(|name| !is_amds() && !hip_sim::is_supported(name));
    if let Some(name) = lacks {
        // Past libtest's capture, which shows nothing of tests that pass; `cargo xtask test` counts it.
        let _ = writeln!(std::io::stdout(), "SKIPPED: the embedded runtime has no {name}");
    }
    lacks.is_none()
}

/// Selects a runtime on the software GPU, and makes its primary context current.
pub(crate) fn start() {
    hip::select_backend(if is_amds() { hip::Backend::Rocm } else { hip::Backend::Sim }).unwrap();
    let mut context = null_mut();
    // SAFETY: room for the result; the device exists.
    unsafe {
        ok(cuInit(0));
        ok(cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(cuCtxSetCurrent(context));
    }
}

#[track_caller]
pub(crate) fn ok(status: CUresult) {
    assert_eq!(status, CUDA_SUCCESS);
}

/// A buffer with these words.
pub(crate) fn upload(words: &[u32]) -> CUdeviceptr {
    let mut pointer: CUdeviceptr = 0;
    // SAFETY: room for the result, and a source of the size.
    unsafe {
        ok(cuMemAlloc_v2(&mut pointer, size_of_val(words)));
        ok(cuMemcpyHtoD_v2(pointer, words.as_ptr().cast(), size_of_val(words)));
    }
    pointer
}

/// So many words at an address.
pub(crate) fn download(pointer: CUdeviceptr, count: usize) -> Vec<u32> {
    let mut words = vec![0; count];
    // SAFETY: a destination of the size.
    unsafe { ok(cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), pointer, 4 * count)) };
    words
}

pub(crate) fn free(pointer: CUdeviceptr) {
    // SAFETY: it was allocated, and nothing uses it.
    unsafe { ok(cuMemFree_v2(pointer)) };
}

/// Creates a stream.
pub(crate) fn stream() -> CUstream {
    let mut stream = null_mut();
    // SAFETY: room for the result.
    unsafe { ok(cuStreamCreate(&mut stream, CU_STREAM_NON_BLOCKING)) };
    stream
}

/// The kernel of the examples: `vector_add(a, b, c, n)`.
pub(crate) fn vector_add() -> (CUmodule, CUfunction) {
    let (mut module, mut function) = (null_mut(), null_mut());
    let image = include_bytes!("../../../examples/kernels/vector_add.hipfb");
    let name = CString::new("vector_add").unwrap();
    // SAFETY: a whole bundle, a C string, and room for the results.
    unsafe {
        ok(cuModuleLoadData(&mut module, image.as_ptr().cast()));
        ok(cuModuleGetFunction(&mut function, module, name.as_ptr()));
    }
    (module, function)
}
