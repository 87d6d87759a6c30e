//! Loads that poll a flag in LDS.
//!
//! An atomic load of workgroup scope from LDS is the same instruction as a plain one. A load in a loop that keeps its address
//! and changes no memory is not plain, though: the compiler would have moved it out of the loop. It is atomic or
//! volatile, and waits for another wave. So is the same load just before the loop, which the compiler has peeled off.

use super::liveness::{first_register, is_opaque, may_write};
use super::lower::branch_target;
use super::poll::may_change_memory;
use super::program::{Program, Source};
use crate::isa::inst::{Format, Inst};
use crate::isa::{Flags, Op};

/// Instructions of a loop that is looked at.
const MOST: usize = 32;

/// Instructions before a loop among which its load may have been peeled off.
const BEFORE: usize = 16;

/// Which of the [`sources`](Program::sources) are such loads.
pub(crate) fn polling_loads(program: &Program) -> Vec<bool> {
    let sources = program.sources();
    let mut found = vec![false; sources.len()];
    for (end, source) in sources.iter().enumerate() {
        let Some(start) = source.inst.as_ref().and_then(|inst| jump_back(sources, end, inst)) else { continue };
        let body = || sources[start..=end].iter().filter_map(|source| source.inst.as_ref());
        if end - start > MOST || body().any(changes) {
            continue;
        }
        for at in start..=end {
            let Some((load, register)) = sources[at].inst.as_ref().and_then(local_load) else { continue };
            if body().any(|inst| may_write(inst, register)) {
                continue;
            }
            found[at] = true;
            for (earlier, source) in sources[..start].iter().enumerate().rev().take(BEFORE) {
                let Some(inst) = &source.inst else { break };
                if is_same(inst, load) {
                    found[earlier] = true;
                    break;
                }
                if changes(inst) || may_write(inst, register) {
                    break;
                }
            }
        }
    }
    found
}

/// Where the loop begins that the branch `inst`, number `at`, ends.
fn jump_back(sources: &[Source], at: usize, inst: &Inst) -> Option<usize> {
    let words = branch_target(inst, 0)?;
    let target = sources[at].address.checked_add_signed(words * 4)?;
    let start = sources[..=at].partition_point(|source| source.address < target);
    (start <= at && sources[start].address == target).then_some(start)
}

/// A load from LDS, and the register that has its address.
fn local_load(inst: &Inst) -> Option<(&Inst, usize)> {
    let loads =
        inst.format == Format::Ds && inst.op.mnemonic().starts_with("ds_read") && !inst.op.info().is(Flags::gds);
    if loads { Some((inst, first_register(inst.src[0])?)) } else { None }
}

/// Whether two loads are the same.
fn is_same(a: &Inst, b: &Inst) -> bool {
    (a.op, a.src, a.mods) == (b.op, b.src, b.mods)
}

/// Whether plain loads may give something else after it.
fn changes(inst: &Inst) -> bool {
    may_change_memory(inst) || is_opaque(inst) || inst.op == Op::s_barrier
}
