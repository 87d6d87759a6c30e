//! Validated fills.

use amdgpu_sim::Memory;
use hip_sys::rocm_7_2::hipErrorIllegalAddress;

use crate::fault::Failure;

/// A validated fill: rows of elements of 1, 2 or 4 bytes.
#[derive(Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) address: u64,
    pub(crate) pattern: [u8; 4],
    pub(crate) element: usize,
    pub(crate) count: usize,
    pub(crate) pitch: usize,
    pub(crate) rows: usize,
    /// Whether the host can access the memory.
    pub(crate) is_shared: bool,
}

impl Fill {
    /// Performs the fill.
    pub(crate) fn run(&self, memory: &Memory) -> Result<(), Failure> {
        let pattern = &self.pattern[..self.element];
        (0..self.rows as u64)
            .try_for_each(|row| memory.fill(self.address + row * self.pitch as u64, pattern, self.count as u64))
            .map_err(|error| Failure::new(hipErrorIllegalAddress, format!("a queued fill lost its memory: {error}")))
    }
}
