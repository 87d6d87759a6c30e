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

mod held;
mod known;
mod lower;
mod operations;

pub(super) use held::{Held, Run};
#[cfg(test)]
pub(super) use known::HOLD_ALL;
pub(super) use lower::{Code, Lowered, lower};

use super::Wave;
use held::REGISTERS;

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
