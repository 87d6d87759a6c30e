//! Disassembles bytes of machine code, without a file around them.

use rocm_llvm::comgr::{self, Disassembler, Isa};

fn main() -> comgr::Result<()> {
    // s_mov_b32 s0, 0x12345678; v_mov_b32 v1, s0; s_endpgm
    let program = [0xbe80_00ff_u32, 0x1234_5678, 0x7e02_0200, 0xbf81_0000];
    let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_le_bytes()).collect();
    let disassembler = Disassembler::new(&Isa::new("gfx90a")?)?;
    // SAFETY: these are instructions of the architecture.
    for instruction in unsafe { disassembler.instructions(0, &bytes) }? {
        println!("{:4x}: {}", instruction.address, instruction.text.as_deref().unwrap_or("(not an instruction)"));
    }
    Ok(())
}
