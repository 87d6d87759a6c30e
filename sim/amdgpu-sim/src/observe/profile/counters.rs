//! Counting what instructions do.

use crate::exec::LANES;
use crate::fault::{SourceFrame, Space};
use crate::observe::access::{Kind, Touch};
use crate::observe::plan::Class;

/// Bytes of a line, as coalescing counts them.
const LINE: u64 = 64;
/// Banks of LDS, a word wide.
const BANKS: usize = 32;

/// What a kernel did.
///
/// Waits (`s_waitcnt`, `s_nop`, `s_setprio`) are not counted: they cost nothing here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Counters {
    /// Dispatches.
    pub dispatches: u64,
    /// Workgroups.
    pub workgroups: u64,
    /// Waves.
    pub waves: u64,
    /// Instructions, once a wave, by class: in the order of [`Class::ALL`].
    pub instructions: [u64; Class::ALL.len()],
    /// Enabled lanes of all vector instructions, added up: 64 times their number without divergence.
    pub active_lanes: u64,
    /// Bytes of global memory that lanes read (scalar reads too).
    pub global_read: u64,
    /// Bytes of global memory that lanes wrote.
    pub global_written: u64,
    /// Bytes of LDS that lanes read.
    pub lds_read: u64,
    /// Bytes of LDS that lanes wrote.
    pub lds_written: u64,
    /// Bytes of scratch (spilled registers, arrays, stack) that lanes read.
    pub scratch_read: u64,
    /// Bytes of scratch that lanes wrote.
    pub scratch_written: u64,
    /// Distinct 64-byte lines that vector accesses to global memory touched, each access by itself.
    pub lines: u64,
    /// The lines it would have taken if the lanes' bytes lay side by side.
    pub best_lines: u64,
    /// Turns that LDS accesses took beyond the first, as lanes wanted different words of a bank.
    pub bank_conflicts: u64,
    /// Turns that LDS accesses took in all.
    pub lds_turns: u64,
}

impl Counters {
    /// Instructions of `class`.
    pub fn of(&self, class: Class) -> u64 {
        self.instructions[class as usize]
    }

    /// Instructions in all, once a wave.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Vector instructions, once a wave.
    pub fn vector(&self) -> u64 {
        Class::ALL.into_iter().filter(|c| c.is_vector()).map(|c| self.of(c)).sum()
    }

    /// The part of the lanes of vector instructions that were enabled, 0 to 1; `None` where there were none.
    pub fn lane_use(&self) -> Option<f64> {
        ratio(self.active_lanes, self.vector() * LANES as u64)
    }

    /// The part of the touched lines that was needed, 0 to 1 (more where lanes read the same bytes); `None` where there were none.
    pub fn coalescing(&self) -> Option<f64> {
        ratio(self.best_lines, self.lines)
    }

    pub(super) fn add(&mut self, other: &Counters) {
        self.dispatches += other.dispatches;
        self.workgroups += other.workgroups;
        self.waves += other.waves;
        for (a, b) in self.instructions.iter_mut().zip(other.instructions) {
            *a += b;
        }
        self.active_lanes += other.active_lanes;
        self.global_read += other.global_read;
        self.global_written += other.global_written;
        self.lds_read += other.lds_read;
        self.lds_written += other.lds_written;
        self.scratch_read += other.scratch_read;
        self.scratch_written += other.scratch_written;
        self.lines += other.lines;
        self.best_lines += other.best_lines;
        self.bank_conflicts += other.bank_conflicts;
        self.lds_turns += other.lds_turns;
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What one instruction of a kernel did, in all dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InstructionProfile {
    /// From the kernel's entry, in bytes.
    pub offset: i64,
    /// As the disassembler prints it.
    pub text: String,
    /// What it is.
    pub class: Class,
    /// How often a wave carried it out.
    pub count: u64,
    /// Enabled lanes, added up.
    pub active_lanes: u64,
    /// Bytes that its lanes moved.
    pub bytes: u64,
    /// Distinct 64-byte lines that it touched in global memory.
    pub lines: u64,
    /// Turns lost to bank conflicts in LDS.
    pub bank_conflicts: u64,
    /// Where it is in the source, innermost function first; empty without debug information or without the feature `profile`.
    pub source: Vec<SourceFrame>,
}

/// What one instruction did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) lanes: u64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) bank_conflicts: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.count += other.count;
        self.lanes += other.lanes;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.bank_conflicts += other.bank_conflicts;
    }
}

/// One worker's counts for a dispatch.
pub(in crate::observe) struct Tallies {
    pub(super) each: Vec<Tally>,
    pub(super) all: Counters,
}

impl Tallies {
    /// For a program of so many micro-operations.
    pub(in crate::observe) fn new(micros: usize) -> Self {
        Self { each: vec![Tally::default(); micros], all: Counters::default() }
    }

    /// The program has so many micro-operations by now.
    pub(in crate::observe) fn grow(&mut self, micros: usize) {
        if micros > self.each.len() {
            self.each.resize(micros, Tally::default());
        }
    }

    /// Adds another worker's counts for the same dispatch.
    pub(in crate::observe) fn merge(&mut self, other: &Tallies) {
        self.grow(other.each.len());
        self.each.iter_mut().zip(&other.each).for_each(|(a, b)| a.add(b));
        self.all.add(&other.all);
    }

    /// A workgroup begins.
    pub(in crate::observe) fn workgroup(&mut self, waves: usize) {
        self.all.workgroups += 1;
        self.all.waves += waves as u64;
    }

    /// A wave carries out the instruction at `pc`.
    pub(in crate::observe) fn instruction(&mut self, pc: u32, class: Class, exec: u64) {
        let tally = &mut self.each[pc as usize];
        tally.count += 1;
        self.all.instructions[class as usize] += 1;
        if class.is_vector() {
            let lanes = u64::from(exec.count_ones());
            tally.lanes += lanes;
            self.all.active_lanes += lanes;
        }
    }

    /// It touches memory.
    pub(in crate::observe) fn touch(&mut self, pc: u32, touch: &Touch) {
        let tally = &mut self.each[pc as usize];
        let bytes = u64::from(touch.mask.count_ones()) * u64::from(touch.bytes);
        tally.bytes += bytes;
        let all = &mut self.all;
        let (read, written) = match touch.space {
            Space::Global => (&mut all.global_read, &mut all.global_written),
            Space::Lds => (&mut all.lds_read, &mut all.lds_written),
            Space::Private => (&mut all.scratch_read, &mut all.scratch_written),
        };
        if touch.kind != Kind::Write {
            *read += bytes;
        }
        if touch.kind != Kind::Read {
            *written += bytes;
        }
        match touch.space {
            Space::Global if !touch.scalar => {
                let lines = lines(touch);
                tally.lines += lines;
                all.lines += lines;
                all.best_lines += bytes.div_ceil(LINE);
            }
            Space::Lds => {
                let (turns, conflicts) = bank_turns(touch);
                tally.bank_conflicts += conflicts;
                all.bank_conflicts += conflicts;
                all.lds_turns += turns;
            }
            _ => {}
        }
    }
}

/// Distinct lines that the lanes touch.
fn lines(touch: &Touch) -> u64 {
    let mut numbers = [0; 2 * LANES];
    let mut count = 0;
    let mut last = None;
    for (_, address) in touch.lanes() {
        // No more than 16 bytes, so two lines at most.
        for line in [address / LINE, address.saturating_add(u64::from(touch.bytes) - 1) / LINE] {
            if last != Some(line) {
                last = Some(line);
                numbers[count] = line;
                count += 1;
            }
        }
    }
    let numbers = &mut numbers[..count];
    numbers.sort_unstable();
    let mut distinct = 0;
    let mut previous = None;
    for line in numbers {
        distinct += u64::from(previous != Some(*line));
        previous = Some(*line);
    }
    distinct
}

/// The turns that an LDS access takes, and how many of them are lost to bank conflicts.
///
/// The model: LDS moves 32 words a turn, one from each bank, so that lanes take part in groups of 32 (up to 4 bytes), 16 (8 bytes)
/// or 8 (more), lowest first. A group takes as many turns as the busiest bank has *different* words to give; lanes that want the
/// same word get it together.
fn bank_turns(touch: &Touch) -> (u64, u64) {
    let group = match touch.bytes {
        0..=4 => 32,
        5..=8 => 16,
        _ => 8,
    };
    let (mut turns, mut conflicts) = (0, 0);
    for first in (0..LANES).step_by(group) {
        let mask = touch.mask >> first & (u64::MAX >> (64 - group));
        if mask == 0 {
            continue;
        }
        // Words by bank; a group has no more than 32 of them, and two more where accesses are not aligned.
        let mut words = [0_u64; 3 * BANKS];
        let mut count = 0;
        for lane in crate::observe::access::Bits(mask) {
            let address = touch.at[first + lane];
            let last = address.saturating_add(u64::from(touch.bytes) - 1) / 4;
            for word in address / 4..=last {
                if count < words.len() && !words[..count].contains(&word) {
                    words[count] = word;
                    count += 1;
                }
            }
        }
        let mut banks = [0_u64; BANKS];
        for word in &words[..count] {
            banks[*word as usize % BANKS] += 1;
        }
        let busiest = banks.into_iter().max().unwrap_or(0);
        turns += busiest;
        conflicts += busiest.saturating_sub(1);
    }
    (turns, conflicts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(bytes: u32, mask: u64, at: impl Fn(u64) -> u64) -> Touch {
        Touch {
            space: Space::Lds,
            kind: Kind::Read,
            mask,
            scalar: false,
            at: std::array::from_fn(|lane| at(lane as u64)),
            bytes,
            coherent: false,
            returns: false,
            compares: false,
            data: None,
        }
    }

    #[test]
    fn banks() {
        let turns = |bytes, mask, stride: u64| bank_turns(&touch(bytes, mask, |lane| stride * lane));
        // A row, one word for all, a column of 32 words, a padded column.
        assert_eq!(turns(4, u64::MAX, 4), (2, 0));
        assert_eq!(turns(4, u64::MAX, 0), (2, 0));
        assert_eq!(turns(4, u64::MAX, 128), (64, 62));
        assert_eq!(turns(4, u64::MAX, 132), (2, 0));
        assert_eq!(turns(4, u64::MAX, 8), (4, 2));
        assert_eq!(turns(4, 1, 128), (1, 0));
        // Wide ones take more turns, which are no conflicts.
        assert_eq!(turns(8, u64::MAX, 8), (4, 0));
        assert_eq!(turns(16, u64::MAX, 16), (8, 0));
        assert_eq!(turns(16, u64::MAX, 128), (64, 56));
        assert_eq!(turns(1, u64::MAX, 1), (2, 0));
    }

    #[test]
    fn lines_of_an_access() {
        let count = |bytes, mask, stride: u64, first: u64| lines(&touch(bytes, mask, |lane| first + stride * lane));
        assert_eq!(count(4, u64::MAX, 4, 0), 4);
        assert_eq!(count(4, u64::MAX, 4, 32), 5);
        assert_eq!(count(4, u64::MAX, 64, 0), 64);
        assert_eq!(count(4, u64::MAX, 0, 0), 1);
        assert_eq!(count(16, u64::MAX, 64, 56), 65);
        assert_eq!(count(4, 0b101, 64, 0), 2);
    }
}
