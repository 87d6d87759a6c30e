//! The control flow of decoded code.

use std::collections::BTreeMap;

use crate::isa::inst::{Format, Inst, Operand};
use crate::isa::{self, Op};

/// The word index of the target of a direct branch at word `at`.
pub(super) fn branch_target(inst: &Inst, at: u32) -> Option<i64> {
    let offset = match (inst.format, inst.op) {
        (
            Format::Sopp,
            Op::s_branch
            | Op::s_cbranch_scc0
            | Op::s_cbranch_scc1
            | Op::s_cbranch_vccz
            | Op::s_cbranch_vccnz
            | Op::s_cbranch_execz
            | Op::s_cbranch_execnz
            | Op::s_cbranch_cdbgsys
            | Op::s_cbranch_cdbguser
            | Op::s_cbranch_cdbgsys_or_user
            | Op::s_cbranch_cdbgsys_and_user,
        )
        | (Format::Sopk, Op::s_call_b64 | Op::s_cbranch_i_fork) => match inst.src[0] {
            Operand::Imm(n) => n,
            _ => return None,
        },
        _ => return None,
    };
    Some(i64::from(at) + 1 + i64::from(offset))
}

pub(super) fn ends_flow(op: Op) -> bool {
    matches!(op, Op::s_endpgm | Op::s_endpgm_saved | Op::s_branch | Op::s_setpc_b64)
}

/// Finds the instructions that are reachable from word `entry` by direct branches, and whether there is an indirect
/// branch among them.
pub(super) fn reachable(text: &[u32], entry: u32, arch: isa::Arch) -> (BTreeMap<u32, Option<Inst>>, bool) {
    let mut found = BTreeMap::new();
    let mut open = vec![entry];
    let mut indirect = false;
    while let Some(start) = open.pop() {
        let mut at = start;
        while (at as usize) < text.len() && !found.contains_key(&at) {
            let Ok(inst) = isa::decode(&text[at as usize..], arch) else {
                found.insert(at, None);
                break;
            };
            found.insert(at, Some(inst));
            if let Some(target) = branch_target(&inst, at) {
                if let Ok(target) = u32::try_from(target) {
                    open.push(target);
                }
            }
            indirect |= matches!(inst.op, Op::s_setpc_b64 | Op::s_swappc_b64 | Op::s_cbranch_g_fork);
            if ends_flow(inst.op) {
                break;
            }
            at += u32::from(inst.size) / 4;
        }
    }
    (found, indirect)
}

/// Adds all of the text, since calls and far branches may go anywhere.
pub(super) fn add_all(found: &mut BTreeMap<u32, Option<Inst>>, text: &[u32], arch: isa::Arch) {
    let mut at = 0;
    while (at as usize) < text.len() {
        let inst = match found.get(&at) {
            Some(known) => *known,
            None => {
                let inst = isa::decode(&text[at as usize..], arch).ok();
                found.insert(at, inst);
                inst
            }
        };
        at += inst.map_or(1, |i| u32::from(i.size) / 4);
    }
}
