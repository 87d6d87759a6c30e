//! Compiles HIP source to LLVM bitcode with Comgr, and prints it as LLVM IR.
//!
//! `cargo run -p rocm-llvm --example hip_to_ir -- scale.bc` also writes the bitcode to a file.

use rocm_llvm::comgr::{self, Data, DataKind, Options};
use rocm_llvm::llvm::Context;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let source = "template<typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }
        template __global__ void scale<float>(float *, float);";
    let built = comgr::hip_to_bitcode("scale.hip", source, "gfx90a", &Options::new())?;
    eprint!("{}", built.log);
    println!("; {} bytes of bitcode with these names:", built.bytes.len());
    for name in Data::of(DataKind::Bitcode, "scale.bc", &built.bytes)?.mangled_names()? {
        println!(";   {name}: {}", comgr::demangle(&name)?);
    }
    let context = Context::new()?;
    // SAFETY: Comgr's compiler wrote it.
    let module = unsafe { context.parse_bitcode("scale.bc", &built.bytes) }?;
    println!("{module}");
    if let Some(path) = std::env::args_os().nth(1) {
        std::fs::write(path, built.bytes)?;
    }
    Ok(())
}
