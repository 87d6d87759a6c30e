//! Writes the LLVM IR part of the device library: `cargo run -p hip-kernel-build --example device_ir [FOLDER]`. The
//! default folder is `hip-kernel/ir`.
//!
//! The LLVM of the Rust that compiles kernels reads the bitcode, so a newer LLVM must not write it.

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
