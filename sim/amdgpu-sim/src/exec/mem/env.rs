//! The environment of memory instructions.

use std::time::Instant;

use super::space::{Scratch, View};
use crate::config::{BeyondLds, Misaligned};
use crate::exec::Outside;
use crate::units::Seat;

/// The environment of memory instructions.
pub(crate) struct Env<'a> {
    /// Device memory.
    pub(crate) view: &'a mut View,
    /// The workgroup's scratch.
    pub(crate) scratch: Scratch,
    /// The effect of misaligned loads and stores.
    pub(crate) misaligned: Misaligned,
    /// The effect of loads and stores beyond LDS in this kernel.
    pub(crate) beyond_lds: BeyondLds,
    /// Whether loads of half a register clear the other half.
    pub(crate) sramecc: bool,
    /// The start time of the clocks.
    pub(crate) start: Instant,
    /// The GPU besides its memory.
    pub(crate) outside: &'a Outside,
    /// The workgroup's location.
    pub(crate) seat: Seat<'a>,
}

impl Env<'_> {
    /// The address bits that must be zero for a load or store of `bytes` bytes.
    #[inline(always)]
    pub(super) fn align_mask(&self, bytes: u32) -> u64 {
        match self.misaligned {
            Misaligned::Allow => 0,
            Misaligned::FaultWords => u64::from(if bytes >= 4 { 3_u32 } else { 0 }),
            Misaligned::Fault => u64::from(bytes.min(4).next_power_of_two() - 1),
        }
    }
}
