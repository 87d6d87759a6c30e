//! All operations.

use super::entry::Entry;
use super::{conv, cube, div, f16, f32, f64, fp8, int, lanes, math, mix, packed, sad, special, trig};
use crate::isa::Op;

/// The operation `op` with plain modifiers.
pub(super) fn entry(op: Op, fast: bool, ieee: bool) -> Option<Entry> {
    int::table(op, fast)
        .or_else(|| int::table16(op, fast))
        .or_else(|| f32::table(op, fast))
        .or_else(|| f32::minmax(op, fast, ieee))
        .or_else(|| f64::table(op, fast))
        .or_else(|| f64::minmax(op, fast, ieee))
        .or_else(|| f16::table(op, fast))
        .or_else(|| f16::minmax(op, fast, ieee))
        .or_else(|| conv::table(op, fast))
        .or_else(|| math::table(op, fast))
        .or_else(|| special::table(op, fast))
        .or_else(|| div::table(op, fast))
        .or_else(|| lanes::table(op))
        .or_else(|| packed::pairs(op, fast))
        .or_else(|| packed::table(op, fast))
        .or_else(|| packed::minmax(op, fast, ieee))
        .or_else(|| mix::table(op, fast))
        .or_else(|| trig::table(op, fast))
        .or_else(|| cube::table(op, fast))
        .or_else(|| fp8::table(op, fast))
        .or_else(|| sad::table(op, fast, false))
}
