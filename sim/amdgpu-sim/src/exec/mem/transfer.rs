//! Moves data between a memory and vector registers, after the addresses have been checked.

use super::fault::Checked;
use super::space::{Addresses, Space};
use crate::exec::lanes::lanes;
use crate::exec::{LANES, Wave};
use crate::fault::Access;
use crate::isa::{Flags, Kind, Op, Type};

/// The width and extension of a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// A byte, zero-extended.
    U8,
    /// A byte, sign-extended to 32 bits (16 for the halves).
    I8,
    /// Two bytes, zero-extended.
    U16,
    /// Two bytes, sign-extended.
    I16,
    /// Whole words.
    Words(u8),
}

/// The part of the register that a small load writes or a small store reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// All of it (stores: the low bits).
    Whole,
    /// The low 16 bits; the others are kept.
    Low,
    /// The high 16 bits; the others are kept.
    High,
    /// The low 16 bits; the others become zero. Never packed: see [`Shape::loaded`].
    LowAlone,
    /// The high 16 bits; the others become zero. Never packed: see [`Shape::loaded`].
    HighAlone,
}

/// The width and register part of a load or store, which fit into one number of a micro-operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) width: Width,
    pub(super) part: Part,
}

impl Shape {
    /// A word.
    pub(super) const WORD: Shape = Shape { width: Width::Words(1), part: Part::Whole };

    /// The shape of a load or store whose data operand has type `data`.
    pub(super) fn of(op: Op, data: Type) -> Option<Self> {
        let info = op.info();
        let part = if info.is(Flags::d16_hi) {
            Part::High
        } else if info.is(Flags::d16) {
            Part::Low
        } else {
            Part::Whole
        };
        let signed = data.kind() == Kind::Signed;
        let width = match (data.bytes(), signed) {
            (1, false) => Width::U8,
            (1, true) => Width::I8,
            (2, false) => Width::U16,
            (2, true) => Width::I16,
            (n @ (4 | 8 | 12 | 16), _) => Width::Words((n / 4) as u8),
            _ => return None,
        };
        Some(Self { width, part })
    }

    pub(super) fn bytes(self) -> u32 {
        match self.width {
            Width::U8 | Width::I8 => 1,
            Width::U16 | Width::I16 => 2,
            Width::Words(n) => 4 * u32::from(n),
        }
    }

    /// The number of words; 1 for less than a word.
    pub(super) fn words(self) -> u32 {
        match self.width {
            Width::Words(n) => n.into(),
            _ => 1,
        }
    }

    /// Encoded in 5 bits.
    pub(super) fn pack(self) -> u32 {
        let width = match self.width {
            Width::U8 => 4,
            Width::I8 => 5,
            Width::U16 => 6,
            Width::I16 => 7,
            Width::Words(n) => u32::from(n) - 1,
        };
        width | (self.part as u32) << 3
    }

    /// The effect of a load of this shape on its register on this GPU. Registers with error correction (SRAMECC) are
    /// written as whole words: a 16-bit load sets the other 16 bits to zero. Compilers know that and do not rely on the
    /// old bits; Tensile relies on the zeros.
    #[inline(always)]
    pub(super) fn loaded(self, sramecc: bool) -> Self {
        let part = match self.part {
            Part::Low if sramecc => Part::LowAlone,
            Part::High if sramecc => Part::HighAlone,
            part => part,
        };
        Self { part, ..self }
    }

    #[inline(always)]
    pub(super) fn unpack(bits: u32) -> Self {
        let width = match bits & 7 {
            4 => Width::U8,
            5 => Width::I8,
            6 => Width::U16,
            7 => Width::I16,
            n => Width::Words(n as u8 + 1),
        };
        let part = match bits >> 3 & 3 {
            1 => Part::Low,
            2 => Part::High,
            _ => Part::Whole,
        };
        Self { width, part }
    }
}

impl Part {
    /// The new value of a register that had `old`, after a small load of `value`.
    #[inline(always)]
    pub(super) fn merge(self, old: u32, value: u32) -> u32 {
        match self {
            Part::Whole => value,
            Part::Low => old & 0xffff_0000 | value & 0xffff,
            Part::High => old & 0xffff | value << 16,
            Part::LowAlone => value & 0xffff,
            Part::HighAlone => value << 16,
        }
    }
}

/// Loads `shape` from the lanes' addresses into the rows from `dst` on.
#[inline(always)]
pub(super) fn load<S: Space>(
    w: &mut Wave,
    space: &mut S,
    at: &Addresses,
    mask: u64,
    shape: Shape,
    align: u64,
    dst: u16,
) -> Checked {
    space.check(at, mask, shape.bytes(), align, Access::Read)?;
    match shape.width {
        Width::Words(1) => words::<S, 1>(w, space, at, mask, dst),
        Width::Words(2) => words::<S, 2>(w, space, at, mask, dst),
        Width::Words(3) => words::<S, 3>(w, space, at, mask, dst),
        Width::Words(_) => words::<S, 4>(w, space, at, mask, dst),
        small => {
            let row = w.row_mut(dst);
            for lane in lanes(mask) {
                // SAFETY: checked above.
                let value = unsafe {
                    match small {
                        Width::U8 => u32::from(space.load8(lane, at[lane])),
                        Width::I8 => i32::from(space.load8(lane, at[lane]) as i8) as u32,
                        Width::U16 => u32::from(space.load16(lane, at[lane])),
                        _ => i32::from(space.load16(lane, at[lane]) as i16) as u32,
                    }
                };
                row[lane] = shape.part.merge(row[lane], value);
            }
        }
    }
    Ok(())
}

#[inline(always)]
fn words<S: Space, const N: usize>(w: &mut Wave, space: &mut S, at: &Addresses, mask: u64, dst: u16) {
    // In the largest units that are not torn: four words, otherwise pairs.
    if N == 4 {
        for lane in lanes(mask) {
            // SAFETY: `load` has checked the lanes of `mask` for `N` words.
            let four = unsafe { space.load128(lane, at[lane]) };
            for word in 0..4 {
                w.row_mut(dst + word)[lane] = (four >> (32 * word)) as u32;
            }
        }
        return;
    }
    for first in (0..N as u16).step_by(2) {
        let offset = 4 * u64::from(first);
        if first + 1 < N as u16 {
            for lane in lanes(mask) {
                // SAFETY: `load` has checked the lanes of `mask` for `N` words.
                let pair = unsafe { space.load64(lane, at[lane] + offset) };
                w.row_mut(dst + first)[lane] = pair as u32;
                w.row_mut(dst + first + 1)[lane] = (pair >> 32) as u32;
            }
            continue;
        }
        let row = w.row_mut(dst + first);
        if mask == u64::MAX {
            for (lane, place) in row.iter_mut().enumerate() {
                // SAFETY: `load` has checked all lanes for `N` words.
                *place = unsafe { space.load32(lane, at[lane] + offset) };
            }
        } else {
            for lane in lanes(mask) {
                // SAFETY: `load` has checked the lanes of `mask` for `N` words.
                row[lane] = unsafe { space.load32(lane, at[lane] + offset) };
            }
        }
    }
}

/// Stores `shape` from the rows from `src` on to the lanes' addresses.
#[inline(always)]
pub(super) fn store<S: Space>(
    w: &Wave,
    space: &mut S,
    at: &Addresses,
    mask: u64,
    shape: Shape,
    align: u64,
    src: u16,
) -> Checked {
    space.check(at, mask, shape.bytes(), align, Access::Write)?;
    match shape.width {
        // In the largest units that are not torn: four words, otherwise pairs.
        Width::Words(4) => {
            let rows = [w.row(src), w.row(src + 1), w.row(src + 2), w.row(src + 3)];
            for lane in lanes(mask) {
                let four = rows.iter().rev().fold(0, |four, row| four << 32 | u128::from(row[lane]));
                // SAFETY: checked above for all words.
                unsafe { space.store128(lane, at[lane], four) };
            }
        }
        Width::Words(n) => {
            let n = u16::from(n);
            for first in (0..n).step_by(2) {
                let offset = 4 * u64::from(first);
                let low = w.row(src + first);
                if first + 1 < n {
                    let high = w.row(src + first + 1);
                    for lane in lanes(mask) {
                        let pair = u64::from(low[lane]) | u64::from(high[lane]) << 32;
                        // SAFETY: checked above for all words.
                        unsafe { space.store64(lane, at[lane] + offset, pair) };
                    }
                } else if mask == u64::MAX {
                    for lane in 0..LANES {
                        // SAFETY: checked above for all words.
                        unsafe { space.store32(lane, at[lane] + offset, low[lane]) };
                    }
                } else {
                    for lane in lanes(mask) {
                        // SAFETY: checked above for all words.
                        unsafe { space.store32(lane, at[lane] + offset, low[lane]) };
                    }
                }
            }
        }
        small => {
            let row = w.row(src);
            let shift = if shape.part == Part::High { 16 } else { 0 };
            for lane in lanes(mask) {
                let value = row[lane] >> shift;
                // SAFETY: checked above.
                unsafe {
                    match small {
                        Width::U8 | Width::I8 => space.store8(lane, at[lane], value as u8),
                        _ => space.store16(lane, at[lane], value as u16),
                    }
                }
            }
        }
    }
    Ok(())
}

/// The initial value: no addresses.
pub(super) const NOWHERE: Addresses = [0; LANES];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_half_stays_or_becomes_zero() {
        let load = |part, sramecc| {
            let shape = Shape { width: Width::U16, part }.loaded(sramecc);
            shape.part.merge(0x1234_5678, 0xabcd)
        };
        assert_eq!((load(Part::Low, false), load(Part::Low, true)), (0x1234_abcd, 0xabcd));
        assert_eq!((load(Part::High, false), load(Part::High, true)), (0xabcd_5678, 0xabcd_0000));
        assert_eq!((load(Part::Whole, false), load(Part::Whole, true)), (0xabcd, 0xabcd));
    }
}
