//! Compiles a HIP kernel, and prints its instructions.

use rocm_llvm::comgr::{self, Options};

fn main() -> comgr::Result<()> {
    let source = "extern \"C\" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }";
    let code = comgr::hip_to_code_object("scale.hip", source, "gfx90a", &Options::new())?.bytes;
    // SAFETY: the compiler has just written the code.
    print!("{}", unsafe { comgr::disassemble(&code) }?);
    Ok(())
}
