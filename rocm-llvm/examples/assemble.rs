//! Assembles and links a program to a code object.

use rocm_llvm::comgr::{self, Options};

const ASSEMBLY: &str = r#"
.amdgcn_target "amdgcn-amd-amdhsa--gfx90a"
.text
.globl nothing
.p2align 8
.type nothing,@function
nothing:
  s_endpgm
.rodata
.p2align 6
.amdhsa_kernel nothing
  .amdhsa_next_free_vgpr 1
  .amdhsa_next_free_sgpr 1
  .amdhsa_accum_offset 4
.end_amdhsa_kernel
"#;

fn main() -> comgr::Result<()> {
    let assembly = ASSEMBLY.replace(".rodata\n", ".section .rodata,\"a\",@progbits\n");
    let code = comgr::assembly_to_code_object("nothing.s", &assembly, "gfx90a", &Options::new())?.bytes;
    println!("{} bytes", code.len());
    for symbol in comgr::symbols(&code)? {
        println!("{:#x} {:?} {}", symbol.value, symbol.kind, symbol.name);
    }
    // If the assembler rejects the text, the error contains its message.
    if let Err(error) = comgr::assemble("bad.s", "s_nonsense v0", "gfx90a", &Options::new()) {
        println!("{error}");
    }
    Ok(())
}
