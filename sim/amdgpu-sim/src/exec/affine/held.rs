//! Runs, and which rows of a wave are held as one.

use crate::exec::lanes::LANES;

/// A number per lane: `first`, `first + step`, `first + 2 * step`, ..., modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::exec) struct Run {
    pub(in crate::exec) first: u32,
    pub(in crate::exec) step: u32,
}

/// Steps from the first lane to the last.
pub(super) const STEPS: u64 = LANES as u64 - 1;

impl Run {
    /// The same number for all lanes.
    pub(in crate::exec) fn uniform(first: u32) -> Self {
        Run { first, step: 0 }
    }

    /// The run that equals a row's contents, if there is one.
    pub(in crate::exec) fn of(row: &[u32; LANES]) -> Option<Self> {
        let run = Run { first: row[0], step: row[1].wrapping_sub(row[0]) };
        (0..LANES as u32).all(|lane| row[lane as usize] == run.at(lane)).then_some(run)
    }

    pub(super) fn at(self, lane: u32) -> u32 {
        self.first.wrapping_add(lane.wrapping_mul(self.step))
    }

    /// The last lane's number, if no lane has wrapped.
    #[inline(always)]
    pub(in crate::exec) fn last(self) -> Option<u32> {
        u32::try_from(u64::from(self.first) + STEPS * u64::from(self.step)).ok()
    }
}

/// Vector registers that can be held as runs: `v0..v255`, whose rows come first.
pub(super) const REGISTERS: usize = 256;

/// The runs of a wave.
pub(in crate::exec) struct Held {
    /// Whether each row is held.
    rows: [bool; REGISTERS],
    pub(super) runs: [Run; REGISTERS],
    /// Whether any row may be held.
    pub(super) any: bool,
}

impl Held {
    pub(in crate::exec) const NONE: Held =
        Held { rows: [false; REGISTERS], runs: [Run { first: 0, step: 0 }; REGISTERS], any: false };

    /// Returns whether any row may be held.
    #[inline(always)]
    pub(in crate::exec) fn any(&self) -> bool {
        self.any
    }

    /// Whether a row is held.
    #[inline(always)]
    pub(in crate::exec) fn has(&self, row: u16) -> bool {
        self.rows.get(usize::from(row)).is_some_and(|held| *held)
    }

    /// The run of a held row.
    #[inline(always)]
    pub(in crate::exec) fn get(&self, row: u16) -> Option<Run> {
        self.has(row).then(|| self.runs[usize::from(row) % REGISTERS])
    }

    /// Holds a row, which must be a vector register's.
    #[inline(always)]
    pub(in crate::exec) fn hold(&mut self, row: u16, run: Run) {
        debug_assert!(usize::from(row) < REGISTERS);
        let row = usize::from(row) % REGISTERS;
        self.runs[row] = run;
        self.rows[row] = true;
        self.any = true;
    }

    /// Stops holding a row that is about to be overwritten.
    #[inline(always)]
    pub(in crate::exec) fn forget(&mut self, row: u16) {
        if let Some(held) = self.rows.get_mut(usize::from(row)) {
            *held = false;
        }
    }

    /// Stops holding all rows.
    #[inline(always)]
    pub(in crate::exec) fn clear(&mut self) {
        if self.any {
            self.rows = [false; REGISTERS];
            self.any = false;
        }
    }
}
