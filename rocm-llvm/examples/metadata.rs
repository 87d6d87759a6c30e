//! Compiles a HIP kernel, and prints the metadata of its code object.

use rocm_llvm::comgr::{self, Options};

const SOURCE: &str = r#"
extern "C" __global__ void saxpy(float a, const float *x, float *y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}"#;

fn main() -> comgr::Result<()> {
    let code = comgr::hip_to_code_object("saxpy.hip", SOURCE, "gfx90a", &Options::new())?.bytes;
    let metadata = comgr::metadata(&code)?;
    for kernel in metadata["amdhsa.kernels"].list() {
        let number = |key: &str| kernel[key].as_u64().unwrap_or_default();
        println!("{}", kernel[".name"].as_str().unwrap_or_default());
        println!("  vector registers: {}, scalar registers: {}", number(".vgpr_count"), number(".sgpr_count"));
        for argument in kernel[".args"].list() {
            let kind = argument[".value_kind"].as_str().unwrap_or_default();
            println!("  argument at {:>3}: {kind}", argument[".offset"].as_u64().unwrap_or_default());
        }
    }
    println!("all of it:{metadata}");
    Ok(())
}
