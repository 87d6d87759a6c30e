//! Links a HIP kernel with a function in LLVM IR, and with the device libraries that the function calls.

use rocm_llvm::comgr::{self, Input, Options};

const KERNEL: &str = r#"
extern "C" __device__ float wave(float);
extern "C" __global__ void waves(float *x) { x[threadIdx.x] = wave(x[threadIdx.x]); }"#;

const FUNCTION: &str = r#"
target triple = "amdgcn-amd-amdhsa"
declare float @__ocml_sin_f32(float)
define float @wave(float %x) {
  %y = call float @__ocml_sin_f32(float %x)
  ret float %y
}
"#;

fn main() -> comgr::Result<()> {
    let kernel = comgr::hip_to_bitcode("waves.hip", KERNEL, "gfx90a", &Options::new().option("-fgpu-rdc"))?.bytes;
    let options = Options::new().device_libraries();
    let modules = [("waves.bc", Input::from(&kernel)), ("wave.ll", Input::from(FUNCTION))];
    let linked = comgr::link_bitcode(&modules, "gfx90a", &options)?.bytes;
    let code = comgr::ir_to_code_object("waves.bc", &linked, "gfx90a", &options)?.bytes;
    println!("{} bytes of code", code.len());
    Ok(())
}
