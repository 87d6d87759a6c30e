//! Writes the part of the device library that is LLVM IR: `cargo run -p hip-kernel-build --example device_ir [FOLDER]`, the folder being
//! `hip-kernel/ir` if none is given.
//!
//! The bitcode is read by the LLVM of the Rust that compiles kernels, so that it is written by one that is not newer.

use std::path::PathBuf;

use rocm_llvm::llvm::Context;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../hip-kernel/ir");
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from(default), PathBuf::from);
    let ir = hip_kernel_build::ir::device_ir();
    std::fs::write(folder.join("device.ll"), &ir)?;
    let context = Context::new()?;
    let bitcode = context.parse_ir("device.ll", &ir)?.to_bitcode()?;
    std::fs::write(folder.join("device.bc"), &bitcode)?;
    println!("{}: {} bytes of text, {} of bitcode", folder.display(), ir.len(), bitcode.len());
    Ok(())
}
