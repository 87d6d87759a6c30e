//! Finds the vector registers that a kernel may read before it has written them.
//!
//! A register that was never written reads as zero, so that all runs give the same result. Clearing all registers for
//! every workgroup takes longer than many kernels, and nearly all registers are written first. This module finds the
//! others.
//!
//! A write affects only the enabled lanes. For every register, two facts are tracked through the code: whether all
//! enabled lanes have been written (sufficient for most reads), and whether all lanes have (needed by reads across
//! lanes, and preserved when more lanes are enabled again). Both assume that all lanes were enabled at the start. An
//! instruction that is not understood counts as a read of everything it names and as a write of nothing. Some code is
//! not analysed at all.

use std::collections::{BTreeMap, HashMap};

use super::control_flow::{branch_target, ends_flow};
use super::layout::{Clear, Layout};
use crate::isa::inst::{Format, Inst, Operand, SdwaSel, Special};
use crate::isa::{Flags, Op, Type};

/// The size in instructions beyond which code is not analysed: for such kernels the cost of clearing is negligible.
pub(super) const MOST: usize = 20_000;

/// Vector and accumulation registers.
const REGISTERS: usize = 512;

/// A set of registers: `v0..v255`, then `a0..a255`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Set([u64; REGISTERS / 64]);

impl Set {
    const EMPTY: Set = Set([0; REGISTERS / 64]);

    fn has(&self, register: usize) -> bool {
        self.0[register / 64] >> (register % 64) & 1 == 1
    }

    fn add(&mut self, register: usize) {
        self.0[register / 64] |= 1 << (register % 64);
    }

    fn keep(&mut self, other: &Set) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a &= b);
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        (0..REGISTERS).filter(move |r| self.has(*r))
    }
}

/// Consecutive registers.
#[derive(Clone, Copy)]
struct Span {
    first: usize,
    count: usize,
}

impl Span {
    /// The registers of an operand of `bytes` bytes.
    fn of(operand: Operand, bytes: u32) -> Option<Span> {
        let first = match operand {
            Operand::Vgpr(n) if n < 256 => usize::from(n),
            Operand::Agpr(n) if n < 256 => 256 + usize::from(n),
            _ => return None,
        };
        Some(Span { first, count: bytes.div_ceil(4).max(1) as usize })
    }

    fn iter(self) -> impl Iterator<Item = usize> {
        self.first..(self.first + self.count).min(REGISTERS)
    }
}

/// The effect of an instruction on EXEC.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exec {
    Keeps,
    /// Lanes may be disabled, but none enabled.
    Narrows,
    Sets,
}

/// The facts that hold before an instruction on every path.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Known {
    /// Registers written in all enabled lanes.
    enabled: Set,
    /// Registers written in all lanes.
    all: Set,
    /// EXEC is unchanged since the start.
    start_exec: bool,
}

impl Known {
    /// Intersects the facts. Returns whether `self` has lost any.
    fn merge(&mut self, other: &Known) -> bool {
        let before = *self;
        self.enabled.keep(&other.enabled);
        self.all.keep(&other.all);
        self.start_exec &= other.start_exec;
        *self != before
    }

    /// Applies `inst`. Calls `unknown` with each register that it reads and that may be unwritten.
    fn step(&mut self, inst: &Inst, unknown: &mut impl FnMut(usize)) {
        let known = if crosses_lanes(inst) { &self.all } else { &self.enabled };
        for register in reads(inst) {
            if !known.has(register) {
                unknown(register);
            }
        }
        if writes_whole(inst) {
            for register in destination(inst) {
                self.enabled.add(register);
                if self.start_exec {
                    self.all.add(register);
                }
            }
        }
        match exec_effect(inst) {
            Exec::Keeps => {}
            Exec::Narrows => self.start_exec = false,
            Exec::Sets => (self.start_exec, self.enabled) = (false, self.all),
        }
    }
}

/// The registers that an instruction reads, or may read.
pub(super) fn reads(inst: &Inst) -> impl Iterator<Item = usize> {
    let info = inst.op.info();
    let bytes = |place: usize, kind: Type| match (inst.format, place) {
        // The descriptor determines the length of an image address; this is the maximum.
        (Format::Mimg, 0) => 16,
        _ => kind.bytes(),
    };
    let sources = inst.src.into_iter().zip(info.src).enumerate();
    let sources = sources.filter_map(move |(place, (operand, kind))| Span::of(operand, bytes(place, kind)));
    let kept = if !writes_whole(inst) || info.is(Flags::reads_dst) { Some(destination(inst)) } else { None };
    sources.flat_map(Span::iter).chain(kept.into_iter().flatten())
}

/// The registers that an instruction writes, or may write.
pub(super) fn destination(inst: &Inst) -> impl Iterator<Item = usize> {
    let info = inst.op.info();
    // Including the status word that a load from a buffer or an image may return.
    let status = if inst.mods.tfe || inst.mods.image.is_some_and(|image| image.lwe) { 4 } else { 0 };
    let places = [(inst.dst, info.dst.bytes() + status), (inst.dst2, info.dst2.bytes())];
    places.into_iter().filter_map(|(operand, bytes)| Span::of(operand, bytes)).flat_map(Span::iter)
}

/// Returns whether an instruction always writes every bit of its destination in all enabled lanes.
pub(super) fn writes_whole(inst: &Inst) -> bool {
    let (info, mods) = (inst.op.info(), &inst.mods);
    match inst.format {
        Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3b | Format::Vop3p | Format::Sdwa => {
            let part = mods.sdwa.is_some_and(|s| s.dst_sel != SdwaSel::Dword);
            // Accumulating operations write all bits; operations that keep bits write halves or bytes.
            let accumulates = inst.op.mnemonic().contains("mac") && info.dst.bytes() >= 4;
            let keeps = info.is(Flags::reads_dst) && !accumulates;
            info.dst.bytes() >= 4
                && !part
                && mods.dpp.is_none()
                && !info.is(Flags::mfma)
                && !keeps
                && !matches!(inst.op, Op::v_writelane_b32 | Op::v_swap_b32)
        }
        Format::Flat | Format::Global | Format::Scratch | Format::Ds => {
            let part = info.is(Flags::d16) || info.is(Flags::d16_hi);
            let plain = !info.is(Flags::atomic) && !info.is(Flags::lds_only) && !mods.lds && !mods.tfe;
            plain && !part && !info.is(Flags::reads_dst) && !crosses_lanes(inst)
        }
        _ => false,
    }
}

/// Whether an instruction may read lanes that are not enabled.
fn crosses_lanes(inst: &Inst) -> bool {
    let name = inst.op.mnemonic();
    inst.op.info().is(Flags::mfma)
        || ["lane", "permute", "swizzle", "swap"].iter().any(|word| name.contains(word))
        || inst.mods.dpp.is_some()
}

fn is_exec(operand: Operand) -> bool {
    matches!(operand, Operand::Special(Special::ExecLo | Special::ExecHi))
}

fn exec_effect(inst: &Inst) -> Exec {
    let name = inst.op.mnemonic();
    match inst.op {
        Op::s_and_saveexec_b64 | Op::s_andn1_saveexec_b64 | Op::s_andn1_wrexec_b64 => Exec::Narrows,
        Op::s_and_b64 if is_exec(inst.dst) && inst.src[..2].iter().any(|s| is_exec(*s)) => Exec::Narrows,
        Op::s_andn2_b64 if is_exec(inst.dst) && is_exec(inst.src[0]) => Exec::Narrows,
        _ if name.starts_with("v_cmpx") => Exec::Narrows,
        _ if name.contains("saveexec") || name.contains("wrexec") || name.contains("movrel") => Exec::Sets,
        _ if is_exec(inst.dst) || is_exec(inst.dst2) => Exec::Sets,
        // A wide scalar result may overlap EXEC.
        _ if matches!(inst.format, Format::Smem) && !matches!(inst.dst, Operand::Sgpr(_) | Operand::None) => Exec::Sets,
        _ => Exec::Keeps,
    }
}

/// Whether an instruction may change which lanes are enabled.
pub(super) fn changes_exec(inst: &Inst) -> bool {
    exec_effect(inst) != Exec::Keeps
}

/// The number of the first register of a vector operand.
pub(super) fn first_register(operand: Operand) -> Option<usize> {
    Span::of(operand, 4).map(|span| span.first)
}

/// Whether an instruction may write a register.
pub(super) fn may_write(inst: &Inst, register: usize) -> bool {
    // Exchanges write their source too.
    destination(inst).chain(reads(inst).filter(|_| crosses_lanes(inst))).any(|r| r == register)
}

/// Returns whether an instruction makes control flow, or the meaning of register numbers, impossible to follow.
pub(super) fn is_opaque(inst: &Inst) -> bool {
    let name = inst.op.mnemonic();
    matches!(inst.op, Op::s_setpc_b64 | Op::s_swappc_b64 | Op::s_call_b64 | Op::s_rfe_b64)
        || super::skipped::may_begin(inst)
        || name.contains("fork")
        || name.contains("cbranch_join")
        || name.contains("gpr_idx")
}

/// The registers of `code`, entered at word `start`, that may be read before they are written; `None` if unknown.
fn undefined(code: &BTreeMap<u32, Option<Inst>>, start: u32) -> Option<Set> {
    if code.len() > MOST || code.values().flatten().any(is_opaque) {
        return None;
    }
    let mut first = Known { enabled: Set::EMPTY, all: Set::EMPTY, start_exec: true };
    // The work-item IDs, which the dispatch sets.
    first.enabled.add(0);
    first.all.add(0);
    let mut blocks = HashMap::from([(start, first)]);
    let mut open = vec![start];
    let mut found = Set::EMPTY;
    while let Some(block) = open.pop() {
        let mut known = blocks[&block];
        let mut at = block;
        while let Some(Some(inst)) = code.get(&at) {
            known.step(inst, &mut |register| found.add(register));
            let next = at + u32::from(inst.size) / 4;
            let target = branch_target(inst, at).and_then(|t| u32::try_from(t).ok());
            let ends = ends_flow(inst.op);
            if target.is_none() && !ends {
                at = next;
                // Where paths meet, the intersection of their facts holds.
                if !blocks.contains_key(&at) {
                    continue;
                }
            }
            let falls = (!ends).then_some(next);
            for to in target.into_iter().chain(falls) {
                let less = match blocks.get_mut(&to) {
                    Some(there) => there.merge(&known),
                    None => {
                        blocks.insert(to, known);
                        true
                    }
                };
                if less {
                    open.push(to);
                }
            }
            break;
        }
    }
    Some(found)
}

/// The rows to clear for `code`, entered at word `start`; `None` for all registers.
pub(super) fn clear(code: &BTreeMap<u32, Option<Inst>>, start: u32, layout: &Layout) -> Option<Clear> {
    let undefined = undefined(code, start)?;
    let mut written = Set::EMPTY;
    // The work-item ids are written by the dispatcher.
    for inst in code.values().flatten() {
        destination(inst).for_each(|r| written.add(r));
        if crosses_lanes(inst) {
            // Exchanges write their source too.
            reads(inst).for_each(|r| written.add(r));
        }
    }
    let row = |register: usize| {
        if register < 256 { layout.vgpr(register as u16) } else { layout.agpr(register as u16 - 256) }
    };
    let mut whole = undefined;
    whole.keep(&written);
    written.add(0);
    Some(Clear { whole: whole.iter().map(row).collect(), partial: written.iter().map(row).collect() })
}
