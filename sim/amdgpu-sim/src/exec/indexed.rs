//! Indexed vector registers: the code between `s_set_gpr_idx_on` and `s_set_gpr_idx_off`.
//!
//! The instruction determines which operands are indexed, so that is known when the code is lowered; the index is in
//! `m0`. This static knowledge holds for straight-line code: an instruction that leaves the region in another way
//! traps, and one that is reached in another way finds an unexpected MODE or `m0`.

use super::constant::constant32;
use super::program::{Indexed, plain};
use super::unsupported::unsupported;
use super::{Ctx, Flow, Micro, Mode, Trap, Wave};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst, Operand};

/// The destination's position among the operands.
const DESTINATION: usize = 3;

/// Tracks the index mode through the code.
#[derive(Debug, Default)]
pub(super) struct Indexing {
    mode: u32,
    indexed: Vec<Indexed>,
}

impl Indexing {
    /// Returns `micro`, or a micro-operation that runs it with an index if the mode is on.
    pub(super) fn apply(&mut self, inst: &Inst, micro: Micro) -> Micro {
        let field = |operand| constant32(operand).unwrap_or(0) & 15;
        match inst.op {
            Op::s_set_gpr_idx_on => self.mode = field(inst.src[1]),
            Op::s_set_gpr_idx_mode => self.mode = field(inst.src[0]),
            Op::s_set_gpr_idx_off => self.mode = 0,
            _ if self.mode != 0 => return self.index(inst, micro),
            _ => {}
        }
        micro
    }

    /// Returns whether registers are indexed here.
    pub(super) fn is_on(&self) -> bool {
        self.mode != 0
    }

    fn index(&mut self, inst: &Inst, micro: Micro) -> Micro {
        match inst.format {
            Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3b | Format::Vopc => {}
            // The mode would apply to code that is lowered without it.
            Format::Sopp if inst.op != Op::s_nop => return plain(unsupported, micro.source),
            _ if leaves(inst.op) => return plain(unsupported, micro.source),
            _ => return micro,
        }
        if matches!(inst.op, Op::v_readlane_b32 | Op::v_writelane_b32 | Op::v_readfirstlane_b32) {
            return plain(unsupported, micro.source);
        }
        let mut which = 0;
        for (i, operand) in inst.src[..3].iter().enumerate() {
            if let Operand::Vgpr(n) = operand {
                if self.mode >> i & 1 == 1 {
                    if micro.src[i] != *n {
                        // The operand must be prepared first, from a register that is not known yet.
                        return plain(unsupported, micro.source);
                    }
                    which |= 1 << i;
                }
            }
        }
        if matches!(inst.dst, Operand::Vgpr(_)) {
            which |= self.mode & 1 << DESTINATION;
        }
        let types = inst.op.info();
        let counts = [types.src[0], types.src[1], types.src[2], types.dst].map(|ty| ty.dwords().max(1) as u16);
        self.indexed.push(Indexed { micro, which, mode: self.mode, counts });
        Micro { aux: self.indexed.len() as u32 - 1, ..plain(run, micro.source) }
    }

    /// The operations that were found.
    pub(super) fn finish(self) -> Vec<Indexed> {
        self.indexed
    }
}

/// Returns whether control continues elsewhere after the instruction.
fn leaves(op: Op) -> bool {
    matches!(
        op,
        Op::s_setpc_b64
            | Op::s_swappc_b64
            | Op::s_call_b64
            | Op::s_cbranch_g_fork
            | Op::s_cbranch_i_fork
            | Op::s_cbranch_join
    )
}

fn run(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Indexed { mut micro, which, mode, counts } = ctx.program.indexed[m.aux as usize];
    if w.mode.0 & Mode::GPR_IDX_EN == 0 || w.m0() >> 12 & 15 != mode {
        return w
            .fail(Trap::Unsupported("a jump into code that indexes registers, or a change of its mode through m0"));
    }
    let index = (w.m0() & 0xff) as u16;
    // Compilers index before they check the index: it is harmless, as the manual says under "Out-of-Range behavior".
    let beyond = |first: u16, place: usize| first + counts[place] > ctx.program.allocation.vgprs;
    for i in 0..DESTINATION {
        if which >> i & 1 == 1 {
            micro.src[i] += index;
            if beyond(micro.src[i], i) {
                micro.src[i] = 0;
            }
        }
    }
    if which >> DESTINATION & 1 == 1 {
        micro.dst += index;
        if beyond(micro.dst, DESTINATION) {
            return Flow::Next;
        }
    }
    // SAFETY: as in `run`: the handler was chosen for this CPU.
    unsafe { (micro.run)(w, &micro, ctx) }
}
