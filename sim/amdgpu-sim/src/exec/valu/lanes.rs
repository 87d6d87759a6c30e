//! Operations between lanes and scalars, and moves of whole registers.

use super::entry::{Entry, Mask, Place};
use super::lane_mask::write;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Wave};
use crate::isa::Op;
use crate::isa::inst::{Inst, Operand};

/// The lowest enabled lane, or lane 0 if all are disabled.
fn first_lane(exec: u64) -> usize {
    if exec == 0 { 0 } else { exec.trailing_zeros() as usize }
}

fn read_first_lane(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let value = w.row(m.src[0])[first_lane(w.exec())];
    w.set_slot(m.dst, value);
    Flow::Next
}

fn read_lane(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let value = w.row(m.src[0])[w.slot(m.src[1]) as usize % LANES];
    w.set_slot(m.dst, value);
    Flow::Next
}

/// Writes even if the lane is disabled.
fn write_lane(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let (value, lane) = (w.slot(m.src[0]), w.slot(m.src[1]) as usize % LANES);
    w.row_mut(m.dst)[lane] = value;
    Flow::Next
}

fn copy_scalar(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let value = w.slot(m.src[0]);
    w.set_slot(m.dst, value);
    Flow::Next
}

fn swap(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let (a, b, mask) = (*w.row(m.dst), *w.row(m.src[0]), w.exec());
    write::<false>(w.row_mut(m.dst), &b, mask);
    write::<false>(w.row_mut(m.src[0]), &a, mask);
    Flow::Next
}

fn move_pair(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
    let (low, high, mask) = (*w.row(m.src[0]), *w.row(m.src[1]), w.exec());
    write::<false>(w.row_mut(m.dst), &low, mask);
    write::<false>(w.row_mut(m.dst + 1), &high, mask);
    Flow::Next
}

fn nothing(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    Flow::Next
}

/// Lowers the instructions of this module with special operands.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    Some(match inst.op {
        Op::v_readfirstlane_b32 => {
            m.dst = l.slot(inst.dst)?;
            match l.row(inst.src[0]) {
                Some(row) => {
                    m.src[0] = row;
                    read_first_lane
                }
                None => {
                    m.src[0] = l.slot(inst.src[0])?;
                    copy_scalar
                }
            }
        }
        Op::v_readlane_b32 => {
            m.dst = l.slot(inst.dst)?;
            m.src = [l.row(inst.src[0])?, l.slot(inst.src[1])?, 0, 0];
            read_lane
        }
        Op::v_writelane_b32 => {
            m.dst = l.row(inst.dst)?;
            m.src = [l.slot(inst.src[0])?, l.slot(inst.src[1])?, 0, 0];
            write_lane
        }
        Op::v_swap_b32 => {
            m.dst = l.row(inst.dst)?;
            m.src[0] = l.row(inst.src[0])?;
            swap
        }
        Op::v_pk_mov_b32 if inst.mods.neg == 0 && inst.mods.neg_hi == 0 => {
            let half = |i: usize, operand: Operand| Some(l.row(operand)? + u16::from(inst.mods.op_sel >> i & 1));
            m.src[0] = half(0, inst.src[0])?;
            m.src[1] = half(1, inst.src[1])?;
            m.dst = l.row(inst.dst)?;
            move_pair
        }
        _ => return None,
    })
}

/// Operations without operands.
pub(super) fn table(op: Op) -> Option<Entry> {
    matches!(op, Op::v_nop | Op::v_clrexcp).then_some(Entry {
        run: nothing,
        src: &[],
        dst: Place::Nothing,
        mask: Mask::None,
    })
}
