//! VSKIP: a MODE bit that skips vector instructions, as an alternative to branching around them.
//!
//! Only code that can set the bit pays for checking it.

use super::constant::constant32;
use super::program::plain;
use super::{Ctx, Flow, Micro, Mode, Wave};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst, Operand};

/// Returns whether an instruction can set VSKIP.
pub(super) fn may_begin(inst: &Inst) -> bool {
    let reaches = || {
        let field = inst.src.iter().find_map(|s| match s {
            Operand::Imm(n) => Some(*n as u32),
            _ => None,
        });
        // Register 1 is MODE; then first bit and width of the field.
        field.is_some_and(|f| f & 63 == 1 && (f >> 6 & 31..=(f >> 6 & 31) + (f >> 11 & 31)).contains(&28))
    };
    match inst.op {
        Op::s_setvskip => true,
        Op::s_setreg_b32 => reaches(),
        Op::s_setreg_imm32_b32 => reaches() && constant32(inst.src[1]).is_none_or(|value| value != 0),
        _ => false,
    }
}

/// Vector operations that may be skipped.
#[derive(Debug, Default)]
pub(super) struct Skipping {
    skipped: Vec<Micro>,
}

impl Skipping {
    /// Returns `micro`, or a micro-operation that checks MODE before running it.
    pub(super) fn apply(&mut self, inst: &Inst, micro: Micro) -> Micro {
        use Format::{Smem, Sop1, Sop2, Sopc, Sopk, Sopp};
        if matches!(inst.format, Sop1 | Sop2 | Sopc | Sopk | Sopp | Smem) {
            return micro;
        }
        self.skipped.push(micro);
        Micro { aux: self.skipped.len() as u32 - 1, ..plain(unless_skipped, micro.source) }
    }

    /// The operations that were found.
    pub(super) fn finish(self) -> Vec<Micro> {
        self.skipped
    }
}

fn unless_skipped(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    if w.mode.0 & Mode::VSKIP != 0 {
        return Flow::Next;
    }
    let micro = ctx.program.skipped[m.aux as usize];
    // SAFETY: as in `run`: the handler was chosen for this CPU.
    unsafe { (micro.run)(w, &micro, ctx) }
}
