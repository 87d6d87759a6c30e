//! Clocks.

use crate::raw;

/// Returns the cycles of the compute unit's clock: `clock64()`.
#[inline(always)]
#[must_use]
#[doc(alias("clock64"))]
pub fn clock() -> u64 {
    // SAFETY: it reads a register.
    unsafe { raw::cycles() }
}

/// Returns the ticks of a clock with a constant rate: `wall_clock64()`.
#[inline(always)]
#[must_use]
#[doc(alias("wall_clock64", "__globaltimer"))]
pub fn wall_clock() -> u64 {
    // SAFETY: it reads a register.
    unsafe { raw::steady() }
}
