//! The output of each pipeline runs on the software GPU, with the right results, for the Comgr of each release.

#![cfg(feature = "sim")]

mod common;

use common::SAXPY;
use hip::{Backend, Device, DeviceBuffer, LaunchConfig, Module, Stream};
use rocm_llvm::comgr::{self, Input, Options};

on_each_release! {
    hip_source_runs
    ir_runs
    linked_bitcodes_and_device_libraries_run
    assembly_and_linked_objects_run
}

const N: u32 = 1000;

fn device() -> Device {
    hip::select_backend(Backend::Sim).unwrap();
    Device::get(0).unwrap()
}

/// Launches `saxpy` of the code, and compares all results with the CPU's.
fn check_saxpy(code: &[u8]) {
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let kernel = Module::load(&device, code).unwrap().kernel("saxpy").unwrap();
    let x: Vec<f32> = (0..N).map(|i| i as f32 * 0.5).collect();
    let dx = DeviceBuffer::from_slice(&device, &x).unwrap();
    let mut dy = DeviceBuffer::from_slice(&device, &x).unwrap();
    // SAFETY: the kernel reads x and changes y, both of N elements, and checks its index.
    unsafe { kernel.launch(&stream, LaunchConfig::for_elements(N as usize, 64), (3.0f32, &dx, &mut dy, N)).unwrap() };
    let y = dy.to_vec().unwrap();
    for (i, (y, x)) in y.iter().zip(&x).enumerate() {
        assert_eq!(*y, 3.0 * x + (2.0 * x + 1.0), "{i}");
    }
}

/// Launches a kernel that writes one value for each of 64 threads.
fn run(code: &[u8], name: &str) -> Vec<f32> {
    let device = device();
    let stream = Stream::new(&device).unwrap();
    let kernel = Module::load(&device, code).unwrap().kernel(name).unwrap();
    let mut to = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    // SAFETY: the kernel writes at most the 64 elements.
    unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (&mut to, 0.5f32)).unwrap() };
    to.to_vec().unwrap()
}

fn hip_source_runs() {
    for options in [Options::new(), Options::new().optimize(0), Options::new().optimize(2).debug()] {
        check_saxpy(&comgr::hip_to_code_object("saxpy.hip", SAXPY, "gfx90a", &options).unwrap().bytes);
    }
    let bitcode = comgr::hip_to_bitcode("saxpy.hip", SAXPY, "gfx90a", &Options::new()).unwrap().bytes;
    check_saxpy(&comgr::ir_to_code_object("saxpy.bc", &bitcode, "gfx90a", &Options::new()).unwrap().bytes);
}

const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @store(ptr addrspace(1) %to, float %value) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %place = getelementptr float, ptr addrspace(1) %to, i32 %i
  %number = uitofp i32 %i to float
  %sum = fadd float %number, %value
  store float %sum, ptr addrspace(1) %place
  ret void
}
"#;

fn sums() -> Vec<f32> {
    (0..64).map(|i| i as f32 + 0.5).collect()
}

fn ir_runs() {
    let code = comgr::ir_to_code_object("store.ll", IR, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(run(&code, "store"), sums());
}

const SINE: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare float @__ocml_sin_f32(float)
define amdgpu_kernel void @sine(ptr addrspace(1) %to, float %factor) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %place = getelementptr float, ptr addrspace(1) %to, i32 %i
  %number = uitofp i32 %i to float
  %x = fmul float %number, %factor
  %y = call float @__ocml_sin_f32(float %x)
  store float %y, ptr addrspace(1) %place
  ret void
}
"#;

fn linked_bitcodes_and_device_libraries_run() {
    let rdc = Options::new().option("-fgpu-rdc");
    let a = "__device__ float f(float, float);
        extern \"C\" __global__ void store(float *to, float v) { to[threadIdx.x] = f(threadIdx.x, v); }";
    let b = "__device__ float f(float a, float b) { return a + b; }";
    let a = comgr::hip_to_bitcode("a.hip", a, "gfx90a", &rdc).unwrap().bytes;
    let b = comgr::hip_to_bitcode("b.hip", b, "gfx90a", &rdc).unwrap().bytes;
    let with = Options::new().device_libraries();
    let modules = [("a.bc", Input::from(&a)), ("b.bc", Input::from(&b)), ("sine.ll", Input::from(SINE))];
    let linked = comgr::link_bitcode(&modules, "gfx90a", &with).unwrap().bytes;
    let code = comgr::ir_to_code_object("linked.bc", &linked, "gfx90a", &with).unwrap().bytes;
    assert_eq!(run(&code, "store"), sums());
    for (i, y) in run(&code, "sine").into_iter().enumerate() {
        assert!((y - (i as f32 * 0.5).sin()).abs() < 1e-5, "sin of {i} / 2: {y}");
    }
}

fn assembly_and_linked_objects_run() {
    let assembly = comgr::ir_to_assembly("store.ll", IR, "gfx90a", &Options::new()).unwrap();
    let code = comgr::assembly_to_code_object("store.s", &assembly, "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(run(&code, "store"), sums());
    // A kernel, and a number of another object file.
    let ir = IR
        .replace("define", "@shift = external hidden addrspace(1) global float\ndefine")
        .replace(
            "%value\n  store",
            "%value\n  %shift = load float, ptr addrspace(1) @shift\n  %shifted = fadd float %sum, %shift\n  store",
        )
        .replace("store float %sum", "store float %shifted");
    let data = ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n.data\n.globl shift\n.hidden shift\n.p2align 2\n\
                .type shift,@object\n.size shift,4\nshift:\n.long 0x42000000\n";
    let kernel = comgr::ir_to_object("store.ll", &ir, "gfx90a", &Options::new()).unwrap().bytes;
    let data = comgr::assemble("data.s", data, "gfx90a", &Options::new()).unwrap().bytes;
    let code = comgr::link_objects(&[("kernel", &kernel), ("data", &data)], "gfx90a", &Options::new()).unwrap().bytes;
    let shifted: Vec<f32> = sums().into_iter().map(|sum| sum + 32.0).collect();
    assert_eq!(run(&code, "store"), shifted);
    // Kernels of two object files, each with metadata of its own.
    let [plain, double] = [("store", "%sum"), ("double", "%twice")].map(|(name, stored)| {
        let ir = IR
            .replace("@store(", &format!("@{name}("))
            .replace("%value\n  store", "%value\n  %twice = fadd float %sum, %sum\n  store")
            .replace("store float %sum", &format!("store float {stored}"));
        comgr::ir_to_object(name, &ir, "gfx90a", &Options::new()).unwrap().bytes
    });
    let both = comgr::link_objects(&[("a", &plain), ("b", &double)], "gfx90a", &Options::new()).unwrap().bytes;
    assert_eq!(run(&both, "store"), sums());
    assert_eq!(run(&both, "double"), sums().into_iter().map(|sum| 2.0 * sum).collect::<Vec<_>>());
}
