//! Rows held as runs: arithmetic sequences over the lanes, stored as the first number and the step.
//!
//! Work-item IDs are such a run, and so are most addresses computed from them. Adding to a run, or shifting it, takes a
//! few scalar instructions instead of eight vector ones, and a load from a run of addresses is known to move a block.
//!
//! * [`Held`] is part of a wave and records which rows are held. The row itself then has an old value: [`Wave::settle`]
//!   writes it.
//! * [`lower`] decides, when a kernel is lowered, which instructions may leave a run instead of a row ([`operations`]
//!   executes them). Every other instruction that uses such a register settles it first. It follows the code as
//!   `liveness` does, and does not change code that cannot be followed.
//! * A run covers all lanes, so one is made only while all lanes are enabled. Otherwise, and if the result of an
//!   operation is not a run (a sum wraps, an address crosses 4 GiB), the operands are settled and the instruction is
//!   executed lane by lane.
//! * Only [`run`](super::run()) holds runs. It settles them when it stops. Single-step execution (observers, short
//!   turns) uses the original micro-operations: [`Program::single`](super::Program::single).

mod known;
mod lower;
mod operations;

#[cfg(test)]
pub(super) use known::HOLD_ALL;
pub(super) use lower::{Code, Eager, Lowered, lower};

use super::{LANES, Wave};

/// A number per lane: `first`, `first + step`, `first + 2 * step`, ..., modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) step: u32,
}

/// Steps from the first lane to the last.
const STEPS: u64 = LANES as u64 - 1;

impl Run {
    /// The same number for all lanes.
    pub(super) fn uniform(first: u32) -> Self {
        Run { first, step: 0 }
    }

    /// The run that equals a row's contents, if there is one.
    pub(super) fn of(row: &[u32; LANES]) -> Option<Self> {
        let run = Run { first: row[0], step: row[1].wrapping_sub(row[0]) };
        (0..LANES as u32).all(|lane| row[lane as usize] == run.at(lane)).then_some(run)
    }

    fn at(self, lane: u32) -> u32 {
        self.first.wrapping_add(lane.wrapping_mul(self.step))
    }

    /// The last lane's number, if no lane has wrapped.
    #[inline(always)]
    pub(super) fn last(self) -> Option<u32> {
        u32::try_from(u64::from(self.first) + STEPS * u64::from(self.step)).ok()
    }
}

/// Vector registers that can be held as runs: `v0..v255`, whose rows come first.
const REGISTERS: usize = 256;

/// The runs of a wave.
pub(super) struct Held {
    /// Whether each row is held.
    rows: [bool; REGISTERS],
    runs: [Run; REGISTERS],
    /// Whether any row may be held.
    any: bool,
}

impl Held {
    pub(super) const NONE: Held =
        Held { rows: [false; REGISTERS], runs: [Run { first: 0, step: 0 }; REGISTERS], any: false };

    /// Returns whether any row may be held.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Whether a row is held.
    #[inline(always)]
    pub(super) fn has(&self, row: u16) -> bool {
        self.rows.get(usize::from(row)).is_some_and(|held| *held)
    }

    /// The run of a held row.
    #[inline(always)]
    pub(super) fn get(&self, row: u16) -> Option<Run> {
        self.has(row).then(|| self.runs[usize::from(row) % REGISTERS])
    }

    /// Holds a row, which must be a vector register's.
    #[inline(always)]
    pub(super) fn hold(&mut self, row: u16, run: Run) {
        debug_assert!(usize::from(row) < REGISTERS);
        let row = usize::from(row) % REGISTERS;
        self.runs[row] = run;
        self.rows[row] = true;
        self.any = true;
    }

    /// Stops holding a row that is about to be overwritten.
    #[inline(always)]
    pub(super) fn forget(&mut self, row: u16) {
        if let Some(held) = self.rows.get_mut(usize::from(row)) {
            *held = false;
        }
    }

    /// Stops holding all rows.
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        if self.any {
            self.rows = [false; REGISTERS];
            self.any = false;
        }
    }
}

impl Wave {
    /// Writes a row, if it is held as a run.
    #[inline(always)]
    pub(super) fn settle(&mut self, row: u16) {
        if self.held.has(row) {
            self.write_out(row);
        }
    }

    #[inline(never)]
    fn write_out(&mut self, row: u16) {
        let run = self.held.runs[usize::from(row) % REGISTERS];
        self.held.forget(row);
        for (lane, place) in self.rows[usize::from(row)].0.iter_mut().enumerate() {
            *place = run.at(lane as u32);
        }
    }

    /// Writes all rows that are held as runs.
    #[inline(always)]
    pub(crate) fn settle_all(&mut self) {
        if self.held.any() {
            self.write_all_out();
        }
    }

    #[cold]
    fn write_all_out(&mut self) {
        for row in 0..REGISTERS as u16 {
            self.settle(row);
        }
        self.held.any = false;
    }
}
