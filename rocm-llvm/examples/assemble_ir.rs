//! Assembles text to an object, disassembles it, and links it to a code object.
//!
//! `cargo run -p rocm-llvm --example assemble_ir -- gfx942`

use rocm_llvm::llvm::{Disassembler, Linker, Object, Optimization, TargetMachine};

const TEXT: &str = "
.text
.globl add
.type add,@function
add:
  v_add_f32_e32 v0, v1, v2
  s_nop 0
  s_endpgm
.Lend:
  .size add, .Lend-add
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gpu = std::env::args().nth(1).unwrap_or_else(|| "gfx90a".to_owned());
    let machine = TargetMachine::new(&gpu, Optimization::Default)?;
    let object = machine.assemble("add.s", TEXT)?;
    let disassembler = Disassembler::new(&gpu)?;
    for function in Object::parse(&object)?.functions()? {
        println!("{}:", function.name);
        // SAFETY: the assembler has just written them.
        for instruction in unsafe { disassembler.instructions(function.bytes, function.address) }? {
            println!("  {:4x}  {instruction}", instruction.address);
        }
    }
    match machine.assemble("wrong.s", "v_add_f32 v0\n") {
        Err(error) => println!("as expected: {error}"),
        Ok(_) => return Err("an instruction without operands was assembled".into()),
    }
    let code = Linker::find()?.link(&[object])?;
    println!("{} bytes of code object", code.len());
    Ok(())
}
