//! Checks the table of device functions and headers of `cuda-compat check`: with the prelude, HIPRTC compiles the ones
//! listed as mapped, and rejects the ones listed as missing.

use std::ffi::CString;
use std::fmt::Write as _;
use std::ptr::{null, null_mut};

use cuda_compat::device::{COMPUTE_CAPABILITY, WarpSize, set_warp_size, warp_size};
use cuda_compat::driver::{CU_DEVICE_ATTRIBUTE_WARP_SIZE, cuDeviceComputeCapability, cuDeviceGetAttribute};
use cuda_compat::nvrtc::*;
use cuda_compat::runtime::{cudaDevAttrComputeCapabilityMajor, cudaDeviceGetAttribute, cudaGetDeviceProperties};

use crate::{alone, ok, start};

/// The table of the command: sort, name, status, text.
fn rows() -> Vec<[&'static str; 4]> {
    let table = include_str!("../../src/check/device.tsv");
    table.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>().try_into().unwrap()).collect()
}

/// Returns the compiler's messages, if it rejects a program.
fn compile(source: &str) -> Result<(), String> {
    let source = CString::new(source).unwrap();
    let (mut program, mut size) = (null_mut(), 0);
    let options = [c"--offload-arch=gfx90a".as_ptr()];
    // SAFETY: C strings, places for the results, and a buffer of the size that NVRTC states.
    unsafe {
        assert_eq!(nvrtcCreateProgram(&mut program, source.as_ptr(), null(), 0, null(), null()), NVRTC_SUCCESS);
        let status = nvrtcCompileProgram(program, 1, options.as_ptr());
        assert_eq!(nvrtcGetProgramLogSize(program, &mut size), NVRTC_SUCCESS);
        let mut log = vec![0_u8; size];
        assert_eq!(nvrtcGetProgramLog(program, log.as_mut_ptr().cast()), NVRTC_SUCCESS);
        nvrtcDestroyProgram(&mut program);
        if status == NVRTC_SUCCESS { Ok(()) } else { Err(String::from_utf8_lossy(&log).into_owned()) }
    }
}

fn is_without_compiler() -> bool {
    let lacks = load_error().is_some();
    if lacks {
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), "SKIPPED: there is no HIPRTC");
    }
    lacks
}

#[test]
fn what_is_mapped_compiles() {
    if is_without_compiler() {
        return;
    }
    let mut source = String::new();
    for [_, header, ..] in rows().into_iter().filter(|[sort, _, status, _]| (*sort, *status) == ("header", "mapped")) {
        writeln!(source, "#include <{header}>").unwrap();
    }
    for (index, [_, name, _, code]) in
        rows().into_iter().filter(|[sort, _, status, _]| (*sort, *status) == ("name", "mapped")).enumerate()
    {
        assert!(code.contains(name), "{name}");
        writeln!(
            source,
            "extern \"C\" __global__ void k{index}(float *p, int *pi, unsigned *pu, float f, int i, unsigned u) {{ {code}; p[0] += f; pi[0] += i; pu[0] += u; }}"
        )
        .unwrap();
    }
    compile(&source).unwrap_or_else(|log| panic!("{log}"));
}

#[test]
fn headers_that_are_missing_are_refused() {
    if is_without_compiler() {
        return;
    }
    for [_, header, ..] in rows().into_iter().filter(|[sort, _, status, _]| (*sort, *status) == ("header", "missing")) {
        let header = header.replace('*', "nothing.h");
        assert!(compile(&format!("#include <{header}>\n__global__ void k() {{}}")).is_err(), "{header}");
    }
}

/// Checks that everything reports warps of so many lanes, and that kernels are compiled for `macro_value`.
#[track_caller]
fn warps_are_of(lanes: i32, macro_value: u32) {
    let mut value = 0;
    // SAFETY: room for the result; the device exists.
    unsafe { ok(cuDeviceGetAttribute(&mut value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0)) };
    assert_eq!(value, lanes);
    // SAFETY: a struct of numbers and arrays of them.
    let mut properties = unsafe { std::mem::zeroed() };
    // SAFETY: room for the result; the device exists.
    unsafe { ok(cudaGetDeviceProperties(&mut properties, 0)) };
    assert_eq!((properties.warpSize, (properties.major, properties.minor)), (lanes, COMPUTE_CAPABILITY));
    if !is_without_compiler() {
        compile(&format!("#if CUDA_COMPAT_WARP_SIZE != {macro_value}\n#error\n#endif\n__global__ void k() {{}}"))
            .unwrap_or_else(|log| panic!("{log}"));
    }
}

#[test]
fn the_compute_capability_is_one_everywhere() {
    start();
    let (mut major, mut minor) = (0, 0);
    // SAFETY: room for the results; the device exists.
    unsafe { ok(cuDeviceComputeCapability(&mut major, &mut minor, 0)) };
    assert_eq!((major, minor), COMPUTE_CAPABILITY);
    // SAFETY: the same.
    unsafe { ok(cudaDeviceGetAttribute(&mut major, cudaDevAttrComputeCapabilityMajor, 0)) };
    assert_eq!(major, COMPUTE_CAPABILITY.0);
}

#[test]
fn attributes_and_the_compiler_have_one_size_of_warps() {
    start();
    assert_eq!(warp_size(), WarpSize::ThirtyTwo);
    warps_are_of(32, 32);
    alone("device::warps_are_waves_where_the_environment_says_so", "CUDA_COMPAT_WARP_SIZE", "native");
}

#[test]
fn warps_are_waves_where_the_environment_says_so() {
    if std::env::var_os("CUDA_COMPAT_WARP_SIZE").is_none() {
        return;
    }
    start();
    assert_eq!(warp_size(), WarpSize::Native);
    warps_are_of(64, 0);
    set_warp_size(WarpSize::ThirtyTwo);
    warps_are_of(32, 32);
    set_warp_size(WarpSize::Native);
    warps_are_of(64, 0);
}
