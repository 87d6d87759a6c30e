//! Kernels that `nvcc` compiles, loaded and launched.

use std::ffi::{CString, c_void};
use std::fs;
use std::io::Write as _;
use std::ptr::{null, null_mut};
use std::sync::Once;

use cuda_compat::driver::text::MAGIC;
use cuda_compat::driver::*;
use cuda_compat::nvrtc::Ptx;
use tempfile::TempDir;

use crate::{command, error, put, run, stderr, stdout, text, toolkit};

fn skip(why: &str) {
    // Past libtest's capture, which shows nothing of tests that pass; `cargo xtask test` counts it.
    let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
}

/// Returns whether there are a compiler and a device.
fn start() -> bool {
    if std::env::var_os("ROCM_RS_RELEASE").is_none() {
        skip("kernels need a HIPRTC: cargo xtask test 'cuda-compat 7.2'");
        return false;
    }
    static BACKEND: Once = Once::new();
    let embedded = std::env::var("HIP_RS_BACKEND").is_ok_and(|backend| backend == "sim");
    let backend = if embedded { hip::Backend::Sim } else { hip::Backend::Rocm };
    BACKEND.call_once(|| hip::select_backend(backend).unwrap());
    true
}

/// A kernel with a header, which shifts by 32: all bits are gone on NVIDIA's GPUs, and so here.
const SOURCE: &str = r#"#include "shift.cuh"
#include <cuda_fp16.h>
#include "cuda.h"
#if __CUDA_ARCH__ != 800
#error "another architecture"
#endif
constexpr int twice(int x) { return 2 * x; }
extern "C" __global__ void scale(float *x, float by, unsigned n, unsigned *bits) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * by + ADDED + twice(1);
    if (i == 0) *bits = low_bits(n + 29);
}
"#;
const HEADER: &str = "#pragma once\n__device__ inline unsigned low_bits(int n) { return (1u << n) - 1; }\n";

/// Loads a text, and launches the kernel.
fn check(code: &str) {
    let context = CudaContext::new(0).unwrap();
    let stream = context.default_stream();
    let module = context.load_module(Ptx::from_src(code)).unwrap();
    let scale = module.load_function("scale").unwrap();
    let mut x = stream.clone_htod(&[1.0_f32, 2.0, 3.0]).unwrap();
    let mut bits = stream.alloc_zeros::<u32>(1).unwrap();
    let mut launch = stream.launch_builder(&scale);
    launch.arg(&mut x).arg(&10.0_f32).arg(&3_u32).arg(&mut bits);
    // SAFETY: the parameters of the kernel, which stays in the slices.
    unsafe { launch.launch(LaunchConfig::for_num_elems(3)) }.unwrap();
    assert_eq!(stream.clone_dtoh(&x).unwrap(), [17.0, 27.0, 37.0]);
    assert_eq!(stream.clone_dtoh(&bits).unwrap(), [u32::MAX]);
}

#[test]
fn a_text_is_loaded_from_memory_and_from_files() {
    if !start() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let source = put(folder.path(), "src/k.cu", SOURCE);
    put(folder.path(), "include/shift.cuh", HEADER);
    let include = format!("-I{}", folder.path().join("include").display());
    let ptx = folder.path().join("k.ptx");
    let options = ["-arch=sm_80", "--ptx", "-DADDED=5", &include, "-MD", "-o", text(&ptx), text(&source)];
    let output = command().env("CUDA_COMPAT_ARCH", "gfx90a;gfx942").arg("nvcc").args(options).output().unwrap();
    stdout(&output);
    let code = fs::read_to_string(&ptx).unwrap();
    assert!(code.starts_with(MAGIC) && code.lines().nth(1) == Some("// for gfx90a, gfx942"));
    let rule = fs::read_to_string(folder.path().join("k.d")).unwrap();
    assert!(rule.starts_with(&format!("{} : ", ptx.display())) && rule.contains("include/shift.cuh"), "{rule}");
    check(&code);

    // `ptxas` copies what is whole, and C names load it from memory with and without a null at the end, and from the file.
    let cubin = folder.path().join("k.cubin");
    stdout(&run("ptxas", &["-arch=sm_80", "-O3", text(&ptx), "-o", text(&cubin)]));
    assert_eq!(fs::read_to_string(&cubin).unwrap(), code);
    let (with, name) = (CString::new(code.clone()).unwrap(), CString::new(text(&cubin)).unwrap());
    let load = |image: *const c_void| {
        let mut module = null_mut();
        // SAFETY: room for the result, and a whole text.
        (unsafe { cuModuleLoadData(&mut module, image) }, module)
    };
    for image in [with.as_ptr().cast(), code.as_ptr().cast()] {
        let (status, module) = load(image);
        assert_eq!(status, CUDA_SUCCESS);
        let (mut function, mut from_file) = (null_mut(), null_mut());
        // SAFETY: the module is loaded until the end; room for the results; C strings.
        unsafe {
            assert_eq!(cuModuleGetFunction(&mut function, module, c"scale".as_ptr()), CUDA_SUCCESS);
            assert_eq!(cuModuleUnload(module), CUDA_SUCCESS);
            assert_eq!(cuModuleLoad(&mut from_file, name.as_ptr()), CUDA_SUCCESS);
            assert_eq!(cuModuleUnload(from_file), CUDA_SUCCESS);
        }
    }
    let cut = CString::new(&code[..code.len() / 2]).unwrap();
    assert_eq!(load(cut.as_ptr().cast()).0, CUDA_ERROR_INVALID_IMAGE);
    assert_eq!(load(null()).0, CUDA_ERROR_INVALID_VALUE);
    fs::write(&cubin, cut.as_bytes()).unwrap();
    assert!(error(&run("ptxas", &[text(&cubin), "-o", text(&ptx)])).contains("cut off"));
    let refused = CudaContext::new(0).unwrap().load_module(Ptx::from_file(&cubin)).unwrap_err();
    assert!(refused.to_string().contains("cut off"), "{refused}");
}

#[test]
fn messages_name_the_files_as_they_were_given() {
    if !start() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let source = put(folder.path(), "k.cu", "#include \"h.cuh\"\n__global__ void k(int *x) { *x = none; }\n");
    let header = put(folder.path(), "h.cuh", "__device__ int f(int n) { return 1 << missing; }\n");
    let output = run("nvcc", &["--ptx", "-odir", text(folder.path()), text(&source)]);
    let told = error(&output);
    assert!(told.contains(&format!("{}:2:", source.display())), "{told}");
    assert!(told.contains(&format!("{}:1:", header.display())) && !told.contains("cuda-compat-nvcc"), "{told}");
    assert!(told.contains("does not compile for gfx90a") && !folder.path().join("k.ptx").exists(), "{told}");
}

/// A file with a kernel, which needs warps of 32 lanes, and functions of the host under CUDA's names.
const HOST: &str = r#"#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <iostream>
#include <vector>
#ifdef __CUDACC_RTC__
#error "this is no run-time compiler"
#endif
template <class T> __global__ void sums(const T *in, T *out) {
    T v = in[threadIdx.x];
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = v;
}
extern "C" int run_sums(const float *in, float *out, int n, cudaStream_t stream) {
    float *a, *b;
    cudaDeviceProp properties;
    if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess || properties.major != 8 || properties.warpSize != 32) return 1;
    if (cudaMalloc(&a, n * 4) != cudaSuccess || cudaMalloc((void **)&b, n / 8) != cudaSuccess) return 2;
    cudaMemcpyAsync(a, in, n * 4, cudaMemcpyHostToDevice, stream);
    sums<<<dim3(1), dim3(n), 0, stream>>>(a, b);
    cudaError_t error = cudaMemcpy(out, b, n / 8, cudaMemcpyDeviceToHost);
    if (error != cudaSuccess) std::cerr << cudaGetErrorString(error) << std::endl;
    cudaFree(a);
    cudaFree(b);
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 3;
}
"#;

#[cfg(unix)]
#[test]
fn functions_of_the_host_are_compiled_under_cudas_names() {
    let folder = TempDir::new().unwrap();
    let (source, object) = (put(folder.path(), "k.cu", HOST), folder.path().join("k.o"));
    let output = run("nvcc", &["-c", "-std=c++17", "-O3", "-Xcompiler", "-fPIC", "-o", text(&object), text(&source)]);
    if stderr(&output).contains("none is usable") {
        skip("there is no clang of ROCm's");
        return;
    }
    stdout(&output);
    let symbols = stdout(&std::process::Command::new("nm").arg(&object).output().unwrap());
    assert!(symbols.contains(" T run_sums") && symbols.contains("hipLaunchKernel"), "{symbols}");
    assert!(!symbols.contains("cuda"), "{symbols}");
}

/// The build script: calls nvidia-smi and nvcc as `bindgen_cuda` 0.1 does.
const BUILD: &str = r#"use std::process::Command;

fn main() {
    let out_dir = std::env::var("OUT_DIR").unwrap();
    let smi = Command::new("nvidia-smi").arg("--query-gpu=compute_cap").arg("--format=csv").output().unwrap();
    let smi = String::from_utf8(smi.stdout).unwrap();
    let mut lines = smi.lines();
    assert_eq!(lines.next().unwrap(), "compute_cap");
    let cap = lines.next().unwrap().replace('.', "").parse::<usize>().unwrap();
    let codes = Command::new("nvcc").arg("--list-gpu-code").output().unwrap();
    let codes = String::from_utf8(codes.stdout).unwrap();
    assert!(codes.lines().any(|code| code == format!("sm_{cap}")));
    let root = ["CUDA_PATH", "CUDA_ROOT"].into_iter().filter_map(|name| std::env::var(name).ok());
    let root = root.map(std::path::PathBuf::from).find(|path| path.join("include").join("cuda.h").is_file()).unwrap();
    let output = Command::new("nvcc")
        .arg(format!("--gpu-architecture=sm_{cap}"))
        .arg("--ptx")
        .args(["--default-stream", "per-thread"])
        .args(["--output-directory", &out_dir])
        .args(["--expt-relaxed-constexpr", "-std=c++17", "-O3", "-DADDED=5"])
        .args(["-Isrc".to_owned(), format!("-I{}", root.join("include").display())])
        .args(["-allow-unsupported-compiler", "-ccbin", "c++"])
        .arg("src/k.cu")
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert!(output.status.success());
}
"#;

#[cfg(unix)]
#[test]
fn a_project_whose_build_script_calls_nvcc_builds_and_its_kernels_run() {
    if !start() {
        return;
    }
    let (folder, toolkit) = toolkit();
    let project = folder.path().join("project");
    put(&project, "Cargo.toml", "[package]\nname = \"project\"\nedition = \"2021\"\n\n[workspace]\n");
    put(&project, "build.rs", BUILD);
    put(&project, "src/k.cu", SOURCE);
    put(&project, "src/shift.cuh", HEADER);
    put(
        &project,
        "src/main.rs",
        "const K: &str = include_str!(concat!(env!(\"OUT_DIR\"), \"/k.ptx\"));\nfn main() {\n    print!(\"{K}\");\n}\n",
    );
    let mut build = command();
    build.arg("env").arg("--dir").arg(&toolkit).arg("--");
    build.arg(std::env::var_os("CARGO").unwrap_or("cargo".into())).args(["run", "--quiet", "--offline"]);
    build.current_dir(&project).env("CARGO_TARGET_DIR", project.join("target"));
    let output = build.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    check(&String::from_utf8(output.stdout).unwrap());
}
