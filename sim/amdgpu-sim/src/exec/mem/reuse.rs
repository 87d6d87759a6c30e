//! Reuse of the layout of LDS addresses: consecutive reads often have the same ones.

use std::collections::{BTreeMap, BTreeSet};

use super::lying::Lying;
use crate::exec::control_flow::branch_target;
use crate::exec::{Ctx, Micro, Wave, liveness};
use crate::isa::Op;
use crate::isa::inst::Inst;

/// [`Micro::pre`] of an instruction with the same addresses and enabled lanes as the previous one.
const AS_BEFORE: u32 = 1;

impl Lying {
    /// The layout of an instruction's addresses, in `src[0]`, if all lanes are enabled.
    #[inline(always)]
    pub(super) fn of<const FAST: bool>(w: &mut Wave, m: &Micro) -> Option<Lying> {
        if w.exec() != u64::MAX {
            return None;
        }
        if m.pre != AS_BEFORE {
            w.lying = Self::find::<FAST>(w.row(m.src[0]));
        }
        Some(w.lying)
    }

    /// Returns whether `bytes` bytes at `offset` from all addresses are within LDS, and aligned. `false` is
    /// inconclusive: wrapping sums are not considered.
    #[inline(always)]
    pub(super) fn inside(&self, ctx: &Ctx<'_>, offset: u32, bytes: u32) -> bool {
        let end = u64::from(self.highest) + u64::from(offset) + u64::from(bytes);
        end <= ctx.lds.len() as u64 && u64::from(self.bits | offset) & ctx.env.align_mask(bytes) == 0
    }
}

/// Returns whether an instruction uses the layout of its addresses.
fn reads(inst: &Inst) -> bool {
    matches!(
        inst.op,
        Op::ds_read_b32
            | Op::ds_read_b64
            | Op::ds_read_b96
            | Op::ds_read_b128
            | Op::ds_read2_b32
            | Op::ds_read2_b64
            | Op::ds_read2st64_b32
            | Op::ds_read2st64_b64
    )
}

/// Marks LDS reads whose addresses are the same as those of the previous read: in the same registers, not written in
/// between, with the same lanes enabled, and reachable only through that read.
pub(in crate::exec) fn share(code: &BTreeMap<u32, Option<Inst>>, start: u32, index: &[u32], micros: &mut [Micro]) {
    let known = || code.iter().filter_map(|(at, inst)| Some((*at, inst.as_ref()?)));
    if !known().any(|(_, inst)| reads(inst)) || known().any(|(_, inst)| liveness::is_opaque(inst)) {
        return;
    }
    let targets: BTreeSet<i64> = known().filter_map(|(at, inst)| branch_target(inst, at)).collect();
    // The address registers of the last analysed read, and the next word.
    let mut last = None;
    let mut next = 0;
    for (at, inst) in known() {
        if at != next || at == start || targets.contains(&i64::from(at)) || liveness::changes_exec(inst) {
            last = None;
        }
        next = at + u32::from(inst.size) / 4;
        if reads(inst) {
            let micro = &mut micros[index[at as usize] as usize];
            if last == Some(inst.src[0]) {
                micro.pre = AS_BEFORE;
            }
            last = Some(inst.src[0]);
        }
        let address = last.and_then(liveness::first_register);
        if address.is_none_or(|address| liveness::may_write(inst, address)) {
            last = None;
        }
    }
}
