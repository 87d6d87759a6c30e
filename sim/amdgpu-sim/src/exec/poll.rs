//! Detects waves that only wait for memory to change.
//!
//! A kernel that waits for another workgroup, another kernel or the host does so in a loop that loads a flag and
//! branches back. Such a wave makes no progress however long it runs, and should yield at once. It is recognised by its
//! memory accesses: an iteration that repeats the accesses of the previous one, with the same addresses and lanes, is
//! waiting. A loop that works through memory changes its addresses, and one that stores anything is working.

use super::run::{Stop, run_exactly};
use super::{Ctx, Wave, slot};
use crate::isa::inst::{Format, Inst, Operand, Special};
use crate::isa::{Flags, Op, Type};

/// The accesses of a watched wave since its last backward branch.
#[derive(Default)]
pub(crate) struct Watch {
    /// The target of the last backward branch.
    target: Option<u32>,
    /// Accesses of the previous iteration: the position, and a hash of the inputs.
    before: Vec<(u32, u64)>,
    /// Accesses of this iteration.
    now: Vec<(u32, u64)>,
}

/// The result of watching a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It has completed an iteration that only waits, and is at the start of the loop.
    Waiting,
    /// It is working, or not yet repeating itself.
    Working,
    /// It stopped.
    Stopped(Stop),
}

/// The maximum number of recorded accesses per iteration: a waiting loop has few.
const MOST_ACCESSES: usize = 64;

impl Watch {
    /// Clears the recorded accesses.
    pub(crate) fn clear(&mut self) {
        self.target = None;
        self.before.clear();
        self.now.clear();
    }

    /// Runs `wave` for at most `limit` instructions and watches it. A `Watch` is for one wave, which nothing else may
    /// run until the watch is [cleared](Self::clear).
    pub(crate) fn run(&mut self, wave: &mut Wave, ctx: &mut Ctx<'_>, limit: u64) -> Seen {
        ctx.enter(wave);
        wave.settle_all();
        for _ in 0..limit {
            let (pc, part) = (wave.pc, wave.part);
            let micro = ctx.program.micros().get(pc as usize);
            let inst = micro.and_then(|m| ctx.program.inst(m));
            match inst.map(access) {
                Some(Asks::Nothing) | None => {}
                Some(Asks::Same) if self.now.len() < MOST_ACCESSES => {
                    let hash = inst.map_or(0, |inst| inputs(inst, wave, ctx));
                    self.now.push((pc, hash));
                }
                Some(Asks::Same | Asks::Change) => return Seen::Working,
            }
            let stop = run_exactly(wave, ctx, 1);
            if stop != Stop::Yield || inst.is_some_and(|inst| inst.op == Op::s_sleep) {
                return Seen::Stopped(stop);
            }
            if wave.part != part {
                // A call or a return.
                return Seen::Working;
            }
            if wave.pc <= pc {
                let repeats = self.target == Some(wave.pc) && !self.now.is_empty() && self.now == self.before;
                self.target = Some(wave.pc);
                std::mem::swap(&mut self.now, &mut self.before);
                self.now.clear();
                if repeats {
                    return Seen::Waiting;
                }
            }
        }
        Seen::Working
    }
}

/// An instruction's effect on memory, the GPU or other waves.
enum Asks {
    Nothing,
    /// An access that changes nothing when it is repeated.
    Same,
    /// An access that may change something.
    Change,
}

fn access(inst: &Inst) -> Asks {
    let info = inst.op.info();
    if info.is(Flags::gds) {
        return Asks::Change;
    }
    match inst.format {
        Format::Smem
        | Format::Ds
        | Format::Flat
        | Format::Global
        | Format::Scratch
        | Format::Mubuf
        | Format::Mtbuf
        | Format::Mimg => {
            if info.is(Flags::atomic) {
                let name = info.mnemonic;
                let idempotent =
                    ["swap", "cmpst", "xchg", "_or", "_and", "min", "max"].iter().any(|part| name.contains(part));
                return if idempotent { Asks::Same } else { Asks::Change };
            }
            if matches!(inst.op, Op::ds_append | Op::ds_consume) {
                return Asks::Change;
            }
            // An instruction with a destination loads. (Cache control has none: writing back existing data changes nothing.)
            match (info.dst, info.src) {
                (Type::None, [Type::None, ..]) => Asks::Nothing,
                (Type::None, _) => Asks::Change,
                _ => Asks::Same,
            }
        }
        _ => Asks::Nothing,
    }
}

/// Returns whether this instruction may change memory.
pub(super) fn may_change_memory(inst: &Inst) -> bool {
    matches!(access(inst), Asks::Change) || inst.op.info().is(Flags::atomic)
}

/// A hash of the registers that a memory instruction reads, and of its active lanes.
fn inputs(inst: &Inst, wave: &Wave, ctx: &Ctx<'_>) -> u64 {
    let layout = ctx.program.layout();
    let mut hash = Hash(wave.exec());
    hash.add(wave.m0());
    for (place, (operand, of)) in inst.src.iter().zip(inst.op.info().src).enumerate() {
        // The length of an image address depends on its descriptor.
        let registers = if inst.format == Format::Mimg && place == 0 { 4 } else { of.dwords().max(1) };
        // With a scalar base, the vector part of an address is one register.
        let one = matches!(inst.format, Format::Global | Format::Scratch) && inst.src[2] != Operand::None;
        for i in 0..registers as u16 {
            let slot = match *operand {
                Operand::Vgpr(_) if one && i > 0 && registers == 2 => continue,
                Operand::Vgpr(n) => {
                    wave.row(layout.vgpr(n + i)).iter().for_each(|lane| hash.add(*lane));
                    continue;
                }
                Operand::Agpr(n) => {
                    wave.row(layout.agpr(n + i)).iter().for_each(|lane| hash.add(*lane));
                    continue;
                }
                Operand::Sgpr(n) => n + i,
                Operand::Special(Special::VccLo) => slot::VCC + i,
                Operand::Special(Special::FlatScratchLo) => slot::FLAT_SCRATCH + i,
                _ => continue,
            };
            hash.add(wave.slot(slot));
        }
    }
    hash.0
}

struct Hash(u64);

impl Hash {
    fn add(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
}
