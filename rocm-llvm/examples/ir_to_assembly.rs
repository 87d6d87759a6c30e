//! Compiles LLVM IR, and HIP source, to assembly.

use rocm_llvm::comgr::{self, Options};

const IR: &str = r#"
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @store(ptr addrspace(1) %to, float %value) {
  store float %value, ptr addrspace(1) %to
  ret void
}
"#;

fn main() -> comgr::Result<()> {
    print!("{}", comgr::ir_to_assembly("store.ll", IR, "gfx90a", &Options::new())?);
    let source = "extern \"C\" __global__ void store(float *to, float value) { *to = value; }";
    let bitcode = comgr::hip_to_bitcode("store.hip", source, "gfx90a", &Options::new())?.bytes;
    print!("{}", comgr::ir_to_assembly("store.bc", &bitcode, "gfx90a", &Options::new().optimize(3))?);
    Ok(())
}
