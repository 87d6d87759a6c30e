//! Clocks.

use crate::raw;

/// Cycles of the compute unit's clock: `clock64()`.
#[inline(always)]
#[must_use]
pub fn clock() -> u64 {
    // SAFETY: it reads a register.
    unsafe { raw::cycles() }
}

/// Ticks of a clock whose rate does not change: `wall_clock64()`.
#[inline(always)]
#[must_use]
pub fn wall_clock() -> u64 {
    // SAFETY: it reads a register.
    unsafe { raw::steady() }
}
