//! Links object files: a kernel in LLVM IR, and a number in assembly that it reads.

use rocm_llvm::comgr::{self, Options};

const KERNEL: &str = r#"
target triple = "amdgcn-amd-amdhsa"
@number = external hidden addrspace(1) global float
define amdgpu_kernel void @get(ptr addrspace(1) %to) {
  %value = load float, ptr addrspace(1) @number
  store float %value, ptr addrspace(1) %to
  ret void
}
"#;

const NUMBER: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.data
.globl number
.hidden number
.p2align 2
.type number,@object
.size number,4
number:
  .long 0x42280000
"#;

fn main() -> comgr::Result<()> {
    let kernel = comgr::ir_to_object("get.ll", KERNEL, "gfx90a", &Options::new())?.bytes;
    let number = comgr::assemble("number.s", NUMBER, "gfx90a", &Options::new())?.bytes;
    let code = comgr::link_objects(&[("get.o", &kernel), ("number.o", &number)], "gfx90a", &Options::new())?.bytes;
    println!("{} bytes of code with these symbols:", code.len());
    for symbol in comgr::symbols(&code)? {
        println!("  {}", symbol.name);
    }
    // Without the number, the linker reports what is missing.
    if let Err(error) = comgr::link_objects(&[("get.o", &kernel)], "gfx90a", &Options::new()) {
        println!("{error}");
    }
    Ok(())
}
