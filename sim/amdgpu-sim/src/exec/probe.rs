//! Determines whether an instruction is supported, by executing it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::mem::{Env, Scratch, View};
use super::{Ctx, Outside, Program, Trap, Wave, cpu, run};
use crate::Misaligned;
use crate::isa::{Arch, Format, Inst, Op, Operand};
use crate::memory::{Agent, Memory};
use crate::units::Seat;

/// The MODE bits of `compute_pgm_rsrc1` that compilers normally set: all denormals, IEEE, DX10 clamp.
const USUAL_MODE: u32 = 0xf0 << 12 | 1 << 21 | 1 << 23;

/// The address of the instruction.
const START: u64 = 0x1000;

/// Why the software GPU does not support an instruction, if so. Reaching it is then a fault with this text.
///
/// The instruction is executed with no lane enabled and registers of zero, so that only its form matters: failing
/// memory accesses and requested traps are not reasons. Behaviour between `s_set_gpr_idx_on` and `_off` is not tested.
#[must_use]
pub fn unsupported(inst: &Inst, arch: Arch) -> Option<&'static str> {
    let words = u32::from(inst.size) / 4;
    let end = Inst {
        op: Op::s_endpgm,
        format: Format::Sopp,
        size: 4,
        dst: Operand::None,
        dst2: Operand::None,
        src: [Operand::Imm(0), Operand::None, Operand::None, Operand::None],
        mods: Default::default(),
    };
    let code = BTreeMap::from([(0, Some(*inst)), (words, Some(end))]);
    let text = vec![0; words as usize + 1];
    let program = Program { arch, ..Program::assemble(&code, &text, START, 0, USUAL_MODE, cpu::has_avx2()) };
    let mut wave = Wave::new(&program);
    wave.reset(&program);
    wave.set_exec(0);
    let mut view = View::new(Arc::new(Memory::new(Vec::new())), Agent::default(), 0..0);
    // SAFETY: there are no bytes that must be valid.
    let scratch = unsafe { Scratch::new(0, 0, 0) };
    let env = Env {
        seat: Seat::FIRST,
        view: &mut view,
        scratch,
        misaligned: Misaligned::default(),
        beyond_lds: crate::BeyondLds::default(),
        sramecc: false,
        start: Instant::now(),
        outside: &Outside::default(),
    };
    let mut ctx = Ctx { root: &program, program: &program, lds: &mut [], env };
    // It may be a branch to itself: one turn is enough.
    run(&mut wave, &mut ctx, 2);
    match wave.trap {
        // Not the trap at the end of the code.
        Some(Trap::Unsupported(why)) if program.source_at(wave.pc).address == START => Some(why),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::decode;

    fn of(words: &[u32]) -> Option<&'static str> {
        unsupported(&decode(words, Arch::Gfx90a).unwrap(), Arch::Gfx90a)
    }

    #[test]
    fn what_traps_says_why_and_what_is_carried_out_does_not() {
        // s_rfe_b64.
        assert!(of(&[0xbe80_1f00]).unwrap().contains("trap handler"));
        // s_setvskip, v_add_f32, s_load_dword from address 0, s_branch to itself, s_trap, s_endpgm, ds_read_b32, s_set_gpr_idx_on.
        for words in [
            [0xbf11_0102, 0],
            [0xbf10_8080, 0],
            [0x0202_0501, 0],
            [0xc002_0000, 0],
            [0xbf82_ffff, 0],
            [0xbf92_0002, 0],
            [0xbf81_0000, 0],
            [0xd86c_0000, 0x0100_0000],
        ] {
            assert_eq!(of(&words), None, "{words:x?}");
        }
    }
}
