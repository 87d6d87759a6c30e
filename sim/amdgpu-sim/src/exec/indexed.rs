//! Vector registers found with an index: the code between `s_set_gpr_idx_on` and `s_set_gpr_idx_off`.
//!
//! Which operands are indexed is in the instruction, so it is known when the code is lowered; the index is in `m0`.

use super::lower::{plain, unsupported};
use super::{Ctx, Flow, Micro, Trap, Wave};
use crate::isa::Op;
use crate::isa::inst::{Format, Inst, Operand};

/// An operation with registers to which the index is added.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    micro: Micro,
    /// Bit i for `src[i]`, bit 3 for the destination.
    which: u32,
    vgprs: u16,
}

const DESTINATION: u32 = 8;

/// Follows the index mode through the code.
#[derive(Debug, Default)]
pub(super) struct Indexing {
    mode: u32,
    indexed: Vec<Indexed>,
}

impl Indexing {
    /// `micro`, or what runs it with an index if the mode is on.
    pub(super) fn apply(&mut self, inst: &Inst, micro: Micro, vgprs: u16) -> Micro {
        let field = |operand| super::lower::constant32(operand).unwrap_or(0) & 15;
        match inst.op {
            Op::s_set_gpr_idx_on => self.mode = field(inst.src[1]),
            Op::s_set_gpr_idx_mode => self.mode = field(inst.src[0]),
            Op::s_set_gpr_idx_off => self.mode = 0,
            _ if self.mode != 0 => return self.index(inst, micro, vgprs),
            _ => {}
        }
        micro
    }

    fn index(&mut self, inst: &Inst, micro: Micro, vgprs: u16) -> Micro {
        match inst.format {
            Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3b | Format::Vopc => {}
            // The mode would reach code that is lowered without it.
            Format::Sopp if inst.op != Op::s_nop => return plain(unsupported, micro.source),
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
                        // It has to be prepared first, from a register that is not known yet.
                        return plain(unsupported, micro.source);
                    }
                    which |= 1 << i;
                }
            }
        }
        if matches!(inst.dst, Operand::Vgpr(_)) {
            which |= self.mode & DESTINATION;
        }
        self.indexed.push(Indexed { micro, which, vgprs });
        Micro { aux: self.indexed.len() as u32 - 1, ..plain(run, micro.source) }
    }

    /// The operations found.
    pub(super) fn finish(self) -> Vec<Indexed> {
        self.indexed
    }
}

fn run(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Indexed { mut micro, which, vgprs } = ctx.program.indexed[m.aux as usize];
    let index = (w.m0() & 0xff) as u16;
    let mut reach = 0;
    for i in 0..3 {
        if which >> i & 1 == 1 {
            micro.src[i] += index;
            reach = reach.max(micro.src[i]);
        }
    }
    if which & DESTINATION != 0 {
        micro.dst += index;
        reach = reach.max(micro.dst);
    }
    // Operands are at most two registers wide.
    if reach + 1 >= vgprs {
        return w.fail(Trap::Unsupported("a register index (m0) beyond the kernel's registers"));
    }
    // SAFETY: as in `run`: the handler was chosen for this CPU.
    unsafe { (micro.run)(w, &micro, ctx) }
}
