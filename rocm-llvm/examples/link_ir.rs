//! Links two modules in bitcode, inlines a function of the one into the kernel of the other, and compiles the result.
//!
//! `cargo run -p rocm-llvm --example link_ir`

use rocm_llvm::llvm::{Context, Optimization, TargetMachine};

const KERNEL: &str = "
declare float @square(float)
define amdgpu_kernel void @kernel(ptr addrspace(1) %p) {
  %x = load float, ptr addrspace(1) %p
  %y = call float @square(float %x)
  store float %y, ptr addrspace(1) %p
  ret void
}
";
const LIBRARY: &str = "
define float @square(float %x) alwaysinline {
  %y = fmul float %x, %x
  ret float %y
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let machine = TargetMachine::new("gfx90a", Optimization::Default)?;
    let context = Context::new()?;
    // Bitcode as it is stored in files.
    let library = context.parse_ir("library.ll", LIBRARY)?.to_bitcode()?;
    let kernel = context.parse_ir("kernel.ll", KERNEL)?.to_bitcode()?;

    // SAFETY: LLVM wrote both above.
    let (mut module, library) =
        unsafe { (context.parse_bitcode("kernel.bc", kernel)?, context.parse_bitcode("library.bc", library)?) };
    module.link(library)?;
    machine.run_passes(&mut module, "default<O2>")?;
    println!("{module}");
    let assembly = machine.emit_assembly(&module)?;
    match assembly.contains("v_mul_f32") && !assembly.contains("s_swappc_b64") {
        true => println!("{} bytes of object, with the function inlined", machine.emit_object(&module)?.len()),
        false => return Err("the function is not inlined".into()),
    }
    Ok(())
}
