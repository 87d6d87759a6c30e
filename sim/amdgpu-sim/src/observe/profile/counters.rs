//! Counts the effects of instructions.

use crate::exec::LANES;
use crate::fault::{SourceFrame, Space};
use crate::observe::access::{Kind, Touch};
use crate::observe::plan::Class;

/// The line size for coalescing in bytes.
const LINE: u64 = 64;
/// The number of LDS banks, each a word wide.
const BANKS: usize = 32;

/// The counters of a kernel.
///
/// Waits (`s_waitcnt`, `s_nop`, `s_setprio`) are not counted: they cost nothing in the simulator.
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
    /// Instructions by class, counted once per wave, in the order of [`Class::ALL`].
    pub instructions: [u64; Class::ALL.len()],
    /// The sum of enabled lanes over all vector instructions: 64 times their number without divergence.
    pub active_lanes: u64,
    /// Bytes of global memory read by lanes (including scalar reads).
    pub global_read: u64,
    /// Bytes of global memory written by lanes.
    pub global_written: u64,
    /// Bytes of LDS read by lanes.
    pub lds_read: u64,
    /// Bytes of LDS written by lanes.
    pub lds_written: u64,
    /// Bytes of scratch (spilled registers, arrays, stack) read by lanes.
    pub scratch_read: u64,
    /// Bytes of scratch written by lanes.
    pub scratch_written: u64,
    /// Distinct 64-byte lines accessed by vector accesses to global memory, counted per access.
    pub lines: u64,
    /// The number of lines if the lanes' bytes were adjacent.
    pub best_lines: u64,
    /// Additional cycles of LDS accesses, because lanes needed different words of a bank.
    pub bank_conflicts: u64,
    /// Total cycles of LDS accesses.
    pub lds_turns: u64,
}

impl Counters {
    /// Instructions of `class`.
    pub fn of(&self, class: Class) -> u64 {
        self.instructions[class as usize]
    }

    /// All instructions, counted once per wave.
    pub fn total(&self) -> u64 {
        self.instructions.iter().sum()
    }

    /// Vector instructions, counted once per wave.
    pub fn vector(&self) -> u64 {
        Class::ALL.into_iter().filter(|c| c.is_vector()).map(|c| self.of(c)).sum()
    }

    /// The fraction of enabled lanes in vector instructions, 0 to 1; `None` without vector instructions.
    pub fn lane_use(&self) -> Option<f64> {
        ratio(self.active_lanes, self.vector() * LANES as u64)
    }

    /// The fraction of accessed lines that was needed, 0 to 1 (more if lanes read the same bytes); `None` without
    /// accesses.
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

/// The counters of one instruction of a kernel, over all dispatches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "profile", derive(serde::Serialize))]
#[non_exhaustive]
pub struct InstructionProfile {
    /// Offset from the kernel's entry in bytes.
    pub offset: i64,
    /// The disassembled instruction.
    pub text: String,
    /// Its class.
    pub class: Class,
    /// Number of executions by a wave.
    pub count: u64,
    /// Sum of enabled lanes.
    pub active_lanes: u64,
    /// Bytes moved by its lanes.
    pub bytes: u64,
    /// Distinct 64-byte lines of global memory accessed.
    pub lines: u64,
    /// Additional LDS cycles because of bank conflicts.
    pub bank_conflicts: u64,
    /// The source location, innermost function first. Empty without debug information or without the feature `profile`.
    pub source: Vec<SourceFrame>,
}

/// The counters of one instruction.
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
    /// Creates counters for a program of `micros` micro-operations.
    pub(in crate::observe) fn new(micros: usize) -> Self {
        Self { each: vec![Tally::default(); micros], all: Counters::default() }
    }

    /// Extends the counters to `micros` micro-operations.
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

    /// Counts a workgroup.
    pub(in crate::observe) fn workgroup(&mut self, waves: usize) {
        self.all.workgroups += 1;
        self.all.waves += waves as u64;
    }

    /// Counts an execution of the instruction at `pc` by a wave.
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

    /// Counts its memory accesses.
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

/// The number of distinct lines that the lanes access.
fn lines(touch: &Touch) -> u64 {
    let mut numbers = [0; 2 * LANES];
    let mut count = 0;
    let mut last = None;
    for (_, address) in touch.lanes() {
        // At most 16 bytes, so at most two lines.
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

/// The cycles of an LDS access, and how many of them are due to bank conflicts.
///
/// The model: LDS moves 32 words per cycle, one from each bank, so lanes take part in groups of 32 (up to 4 bytes), 16
/// (8 bytes) or 8 (more), lowest first. A group takes as many cycles as the busiest bank has *different* words to
/// deliver; lanes that access the same word get it together.
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
        // Words by bank. A group has at most 32 of them, and two more for unaligned accesses.
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
        // A row, the same word for all, a column of 32 words, a padded column.
        assert_eq!(turns(4, u64::MAX, 4), (2, 0));
        assert_eq!(turns(4, u64::MAX, 0), (2, 0));
        assert_eq!(turns(4, u64::MAX, 128), (64, 62));
        assert_eq!(turns(4, u64::MAX, 132), (2, 0));
        assert_eq!(turns(4, u64::MAX, 8), (4, 2));
        assert_eq!(turns(4, 1, 128), (1, 0));
        // Wide accesses take more cycles, which are not conflicts.
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
