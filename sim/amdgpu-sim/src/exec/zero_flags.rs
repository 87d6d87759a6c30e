//! `src_vccz` and `src_execz`: updated just before an instruction that reads them.

use super::{Ctx, Flow, Micro, Wave, slot};
use crate::isa::inst::{Inst, Operand, Special};

/// Whether an instruction reads `src_vccz` or `src_execz`.
pub(super) fn reads_zero_flags(inst: &Inst) -> bool {
    inst.src.iter().any(|s| matches!(s, Operand::Special(Special::Vccz | Special::Execz)))
}

/// Updates the slots of `src_vccz` and `src_execz`.
pub(super) fn zero_flags(w: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    w.set_slot(slot::VCCZ, u32::from(w.vcc() == 0));
    w.set_slot(slot::EXECZ, u32::from(w.exec() == 0));
    Flow::Next
}
