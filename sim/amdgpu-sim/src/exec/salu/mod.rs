//! Scalar instructions: formats SOP1, SOP2, SOPK, SOPC, SOPP.

mod alu;
mod control;
mod operand;

pub(super) use control::mode_changes;

use super::constant::Wide;
use super::{Handler, Lowering, Micro};
use crate::isa::inst::{Inst, Operand};
use operand::Width;

/// Lowers a scalar instruction: resolves its operands into `m` and returns the handler.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    if let Some(handler) = control::lower(inst, l, m) {
        return Some(handler);
    }
    let (handler, widths) = alu::lower(inst.op)?;
    if let Some(dst) = widths.dst {
        m.dst = operand(l, inst.dst, dst)?;
    }
    let compares_register = widths.reads_dst && widths.dst.is_none();
    for (i, width) in widths.src.iter().enumerate() {
        // SOPK has one register, which is source, destination or both, and its constant is first in `src`.
        let source = match (widths.reads_dst, compares_register, i) {
            (true, true, 0) => inst.src[1],
            (true, false, 0) => inst.dst,
            (true, ..) => inst.src[0],
            _ => inst.src[i],
        };
        m.src[i] = operand(l, immediate(source, widths.unsigned), *width)?;
    }
    Some(handler)
}

/// A 16-bit constant, extended as the operation requires.
fn immediate(operand: Operand, unsigned: bool) -> Operand {
    match operand {
        Operand::Imm(n) if unsigned => Operand::Imm(n & 0xffff),
        Operand::Imm(n) => Operand::Imm(i32::from(n as i16)),
        other => other,
    }
}

fn operand(l: &mut Lowering, operand: Operand, width: Width) -> Option<u16> {
    match width {
        Width::W32 => l.slot(operand),
        Width::U64 => l.slot64(operand, Wide::Unsigned),
        Width::I64 => l.slot64(operand, Wide::Signed),
    }
}
