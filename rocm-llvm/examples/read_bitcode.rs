//! Reads bitcode, or LLVM IR as text, and prints its functions, blocks and instructions.
//!
//! `cargo run -p rocm-llvm --example read_bitcode -- kernel.bc`; without a file it reads a kernel that it builds
//! itself.

use rocm_llvm::llvm::Context;

const TEXT: &str = "
define amdgpu_kernel void @twice(ptr addrspace(1) %p) {
entry:
  %x = load float, ptr addrspace(1) %p
  %y = fadd float %x, %x
  store float %y, ptr addrspace(1) %p
  ret void
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new()?;
    let (name, bytes) = match std::env::args().nth(1) {
        Some(path) => (path.clone(), std::fs::read(path)?),
        None => ("twice.bc".to_owned(), context.parse_ir("twice.ll", TEXT)?.to_bitcode()?),
    };
    let module = if bytes.starts_with(b"BC") {
        // SAFETY: the user who names a file vouches that a compiler wrote it.
        unsafe { context.parse_bitcode(&name, bytes) }?
    } else {
        context.parse_ir(&name, bytes)?
    };
    println!("{} for {:?}", module.name(), module.triple());
    for function in module.functions() {
        println!("{} of {}", function.name(), function.function_type());
        for block in function.blocks() {
            println!("  {}:", block.name());
            block.instructions().iter().for_each(|instruction| println!("    {instruction}"));
        }
    }
    Ok(())
}
