//! Determines which registers may be held as runs at each instruction.

use super::held::REGISTERS;
use crate::exec::control_flow::{branch_target, ends_flow};
use crate::exec::liveness;
use crate::isa::inst::Inst;
use std::collections::BTreeMap;

/// A set of vector registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set([u64; REGISTERS / 64]);

impl Set {
    pub(super) fn of(registers: impl IntoIterator<Item = usize>) -> Self {
        let mut set = Set::default();
        for register in registers.into_iter().filter(|r| *r < REGISTERS) {
            set.0[register / 64] |= 1 << (register % 64);
        }
        set
    }

    fn zip(self, other: Set, f: impl Fn(u64, u64) -> u64) -> Self {
        Set(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    pub(super) fn and(self, other: Set) -> Self {
        self.zip(other, |a, b| a & b)
    }

    pub(super) fn or(self, other: Set) -> Self {
        self.zip(other, |a, b| a | b)
    }

    pub(super) fn without(self, other: Set) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Set::default()
    }

    pub(super) fn meets(self, other: Set) -> bool {
        !self.and(other).is_empty()
    }

    pub(super) fn iter(self) -> impl Iterator<Item = u16> {
        (0..REGISTERS as u16).filter(move |r| (self.0[usize::from(r / 64)] >> (r % 64)) & 1 == 1)
    }
}

/// The effect of an instruction on held rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It settles the rows that it names.
    Settles,
    /// It loads or stores at addresses in these registers, which stay held. It settles or overwrites the data registers
    /// itself.
    Moves { addresses: Set, data: Set, stores: bool },
    /// It leaves runs in `results` if all of `operands` are held.
    Holds { operands: Set, results: Set },
}

/// The properties of an instruction that matter here.
pub(super) struct Line<'i> {
    /// Its word in the text.
    pub(super) at: u32,
    pub(super) inst: &'i Inst,
    /// All registers that it uses.
    pub(super) named: Set,
    /// The registers that it overwrites in all enabled lanes without reading them.
    pub(super) overwritten: Set,
    pub(super) role: Role,
    /// The next instruction in control flow.
    pub(super) next: Option<usize>,
    pub(super) target: Option<usize>,
}

/// The instructions of `code` in order, all with [`Role::Settles`].
pub(super) fn lines(code: &BTreeMap<u32, Option<Inst>>) -> Vec<Line<'_>> {
    let known = || code.iter().filter_map(|(at, inst)| Some((*at, inst.as_ref()?)));
    let numbers: BTreeMap<u32, usize> = known().enumerate().map(|(n, (at, _))| (at, n)).collect();
    known()
        .map(|(at, inst)| {
            let (read, written) = (Set::of(liveness::reads(inst)), Set::of(liveness::destination(inst)));
            let whole = liveness::writes_whole(inst);
            let next = at + u32::from(inst.size) / 4;
            let target = branch_target(inst, at).and_then(|t| u32::try_from(t).ok());
            Line {
                at,
                inst,
                named: read.or(written),
                overwritten: if whole { written.without(read) } else { Set::default() },
                role: Role::Settles,
                next: if ends_flow(inst.op) { None } else { numbers.get(&next).copied() },
                target: target.and_then(|t| numbers.get(&t).copied()),
            }
        })
        .collect()
}

/// The registers that may be held before each instruction, if `first` may be held at the instruction `start`.
pub(super) fn may_be_held(lines: &[Line<'_>], start: usize, first: Set) -> Vec<Set> {
    let mut held = vec![Set::default(); lines.len()];
    let mut seen = vec![false; lines.len()];
    held[start] = first;
    seen[start] = true;
    let mut open = vec![start];
    while let Some(n) = open.pop() {
        let line = &lines[n];
        let after = match line.role {
            Role::Moves { data, .. } => held[n].without(data),
            Role::Holds { operands, results } if operands.without(held[n]).is_empty() => held[n].or(results),
            _ => held[n].without(line.named),
        };
        for to in line.next.into_iter().chain(line.target) {
            let more = held[to].or(after);
            if more != held[to] || !seen[to] {
                (held[to], seen[to]) = (more, true);
                open.push(to);
            }
        }
    }
    held
}

#[cfg(test)]
thread_local! {
    /// Treats every run as worthwhile, so that tests reach every way in which a run ends.
    pub(in crate::exec) static HOLD_ALL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The maximum distance to search for uses.
const AHEAD: usize = 256;

/// Returns whether holding one of `results` from the instruction `after` on is worthwhile: the next use can work on a
/// run, or the result is overwritten first. Branches are assumed to be not taken.
pub(super) fn is_worth_holding(lines: &[Line<'_>], after: Option<usize>, results: Set) -> bool {
    #[cfg(test)]
    if HOLD_ALL.get() {
        return true;
    }
    let (mut open, mut used) = (results, false);
    let mut at = after;
    for _ in 0..AHEAD {
        let Some(line) = at.map(|n| &lines[n]) else { break };
        match line.role {
            Role::Holds { operands, results } => {
                used |= operands.meets(open);
                open = open.without(results);
            }
            Role::Moves { addresses, data, stores } => {
                if stores && data.meets(open) {
                    return false;
                }
                used |= addresses.meets(open);
                open = open.without(data);
            }
            Role::Settles => {
                if line.named.without(line.overwritten).meets(open) {
                    return false;
                }
                open = open.without(line.overwritten);
            }
        }
        if open.is_empty() {
            break;
        }
        at = line.next;
    }
    used
}
