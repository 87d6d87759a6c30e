//! The initial state of a wave: it is made for a program, and reset for every workgroup.

use super::affine::{Held, Run};
use super::mem::Lying;
use super::{LANES, Program, Row, Wave, slot};

/// The initial registers of a wave: scalars, and the work-item IDs in `v0`.
pub(crate) struct Start {
    slots: Box<[u32]>,
    items: Row,
    /// The IDs, if all lanes are enabled and the IDs are a run.
    run: Option<Run>,
    exec: u64,
}

impl Wave {
    /// Creates a wave for `program`: with its constants, everything else zero.
    pub(crate) fn new(program: &Program) -> Wave {
        let layout = program.layout();
        let mut rows = vec![Row::ZERO; layout.rows()].into_boxed_slice();
        for (row, bits) in rows[layout.constant_row(0) as usize..].iter_mut().zip(program.constant_rows()) {
            row.0 = [*bits; LANES];
        }
        let mut slots = vec![0; usize::from(slot::CONSTANTS) + program.constants().len()].into_boxed_slice();
        slots[usize::from(slot::CONSTANTS)..].copy_from_slice(program.constants());
        Wave {
            rows,
            slots,
            held: Held::NONE,
            lying: Lying::NOWHERE,
            result: layout.result(),
            pc: program.entry(),
            part: 0,
            mode: program.mode(),
            id: 0,
            trap: None,
            gws: None,
            instructions: 0,
            writable: usize::from(layout.prepared(0)),
        }
    }

    /// Switches to another part of the code and loads its constants.
    pub(super) fn go_to(&mut self, part: u32, program: &Program) {
        self.part = part;
        let constants = usize::from(slot::CONSTANTS)..usize::from(slot::CONSTANTS) + program.constants().len();
        if self.slots.len() < constants.end {
            let mut slots = std::mem::take(&mut self.slots).into_vec();
            slots.resize(constants.end, 0);
            self.slots = slots.into_boxed_slice();
        }
        self.slots[constants].copy_from_slice(program.constants());
        let first = usize::from(program.layout().constant_row(0));
        for (row, bits) in self.rows[first..].iter_mut().zip(program.constant_rows()) {
            row.0 = [*bits; LANES];
        }
    }

    /// Resets to the state before the first instruction: registers zero, no lane enabled, at the entry.
    ///
    /// The caller must then set what the dispatcher sets: user SGPRs, work-item IDs, `exec`, `flat_scratch`, apertures,
    /// `id`.
    pub(crate) fn reset(&mut self, program: &Program) {
        self.held.clear();
        self.rows[..self.writable].fill(Row::ZERO);
        self.reset_scalars(program);
    }

    /// As [`reset`](Wave::reset), with the lanes of `exec` enabled. Does not clear registers that the code writes
    /// before it reads them.
    pub(crate) fn reset_for(&mut self, program: &Program, exec: u64) {
        self.clear_rows(program, exec);
        self.rows[0] = Row::ZERO;
        self.reset_scalars(program);
        self.set_exec(exec);
    }

    fn reset_scalars(&mut self, program: &Program) {
        self.slots[..usize::from(slot::CONSTANTS)].fill(0);
        if self.part != 0 {
            self.go_to(0, program);
        }
        self.pc = program.entry();
        self.mode = program.mode();
        self.trap = None;
        self.gws = None;
        self.instructions = 0;
    }

    /// The current, initial registers, for [`restart`](Wave::restart).
    pub(crate) fn start(&self) -> Start {
        let slots = self.slots[..usize::from(slot::CONSTANTS)].into();
        Start { slots, items: self.rows[0], run: self.run_of_items(), exec: self.exec() }
    }

    /// As [`start`](Wave::start), reusing the memory of another wave's.
    pub(crate) fn start_again(&self, start: &mut Start) {
        start.slots.copy_from_slice(&self.slots[..usize::from(slot::CONSTANTS)]);
        (start.items, start.run, start.exec) = (self.rows[0], self.run_of_items(), self.exec());
    }

    /// The work-item IDs, if all lanes are enabled and the IDs are a run.
    fn run_of_items(&self) -> Option<Run> {
        if self.exec() == u64::MAX { Run::of(&self.rows[0].0) } else { None }
    }

    /// Resets to the state before the first instruction, as saved in `start`. Faster than [`reset`](Wave::reset) and
    /// new initialisation, as it does not clear registers that the code writes before it reads them.
    pub(crate) fn restart(&mut self, program: &Program, start: &Start) {
        self.clear_rows(program, start.exec);
        match start.run {
            Some(run) if program.starts_held => self.held.hold(0, run),
            _ => self.rows[0] = start.items,
        }
        // Only what the code names can have changed.
        for range in [0..program.scalars, usize::from(slot::FLAT_SCRATCH)..128, 248..usize::from(slot::CONSTANTS)] {
            if let (Some(to), Some(from)) = (self.slots.get_mut(range.clone()), start.slots.get(range)) {
                to.copy_from_slice(from);
            }
        }
        if self.part != 0 {
            self.go_to(0, program);
        }
        self.pc = program.entry();
        self.mode = program.mode();
        self.trap = None;
        self.gws = None;
        self.instructions = 0;
    }

    /// Clears the registers that the code may read before it has written them.
    #[inline(always)]
    fn clear_rows(&mut self, program: &Program, exec: u64) {
        self.held.clear();
        match &program.clear {
            None => self.rows[..self.writable].fill(Row::ZERO),
            Some(clear) => {
                for row in if exec == u64::MAX { &clear.whole } else { &clear.partial } {
                    self.rows[usize::from(*row)] = Row::ZERO;
                }
            }
        }
    }
}
