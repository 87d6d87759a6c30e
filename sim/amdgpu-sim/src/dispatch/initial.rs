//! The initial state of a wave, kept for all full workgroups of a dispatch.

use crate::exec::{Program, Start, Wave};

/// The initial state of a wave in all full workgroups of a dispatch. Only the workgroup's position differs.
pub(super) struct Whole {
    start: Start,
    /// The register slots of the position, if the kernel requests them.
    position: [Option<u16>; 3],
}

impl Whole {
    /// The state of a wave that was just set up, with the slots of the position.
    pub(super) fn new(wave: &Wave, position: [Option<u16>; 3]) -> Self {
        Self { start: wave.start(), position }
    }

    /// As `new`, reusing the memory.
    pub(super) fn renew(&mut self, wave: &Wave, position: [Option<u16>; 3]) {
        wave.start_again(&mut self.start);
        self.position = position;
    }

    /// Sets up wave `id`, the same as in `new`, for the workgroup at `group`.
    pub(super) fn set_up(&self, program: &Program, wave: &mut Wave, id: u32, group: [u32; 3]) {
        wave.restart(program, &self.start);
        wave.id = id;
        for (slot, value) in self.position.into_iter().zip(group) {
            if let Some(slot) = slot {
                wave.set_slot(slot, value);
            }
        }
    }
}
