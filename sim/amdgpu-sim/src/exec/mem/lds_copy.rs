//! Loads from memory to LDS, and stores from LDS, that bypass the registers.
//!
//! A lane's word is at M0 (16 bits) plus the instruction's offset plus four times the lane's number.

use super::fault::{AccessFault, Checked};
use super::lds::{get, put};
use super::space::{Addresses, Space};
use super::transfer::{Shape, Width};
use crate::exec::lanes::lanes;
use crate::exec::{Ctx, LANES, Wave};
use crate::fault::{Access, Denied, Space as SpaceName};

/// The words of the lanes in transit.
pub(super) struct Words {
    pub(super) shape: Shape,
    pub(super) align: u64,
    pub(super) data: [u32; LANES],
}

impl Words {
    /// Without words yet.
    pub(super) fn new(shape: Shape, align: u64) -> Self {
        Self { shape, align, data: [0; LANES] }
    }

    /// Loads the lanes' words, small ones extended.
    pub(super) fn fetch<S: Space>(&mut self, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        space.check(at, mask, self.shape.bytes(), self.align, Access::Read)?;
        for lane in lanes(mask) {
            // SAFETY: checked just above for the lanes of `mask`.
            self.data[lane] = unsafe {
                match self.shape.width {
                    Width::U8 => u32::from(space.load8(lane, at[lane])),
                    Width::I8 => i32::from(space.load8(lane, at[lane]) as i8) as u32,
                    Width::U16 => u32::from(space.load16(lane, at[lane])),
                    Width::I16 => i32::from(space.load16(lane, at[lane]) as i16) as u32,
                    Width::Words(_) => space.load32(lane, at[lane]),
                }
            };
        }
        Ok(())
    }

    /// Stores the lanes' words.
    pub(super) fn store<S: Space>(&self, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        space.check(at, mask, 4, self.align, Access::Write)?;
        for lane in lanes(mask) {
            // SAFETY: checked just above for the lanes of `mask`.
            unsafe { space.store32(lane, at[lane], self.data[lane]) };
        }
        Ok(())
    }

    /// The position of the first lane's word in LDS, if those of all enabled lanes are inside.
    fn place(w: &Wave, ctx: &Ctx<'_>, offset: i32, access: Access) -> Checked<usize> {
        let start = i64::from(w.m0() & 0xffff) + i64::from(offset);
        for lane in lanes(w.exec()) {
            let address = start + 4 * lane as i64;
            let why = if address % 4 != 0 {
                Denied::Misaligned(4)
            } else if address < 0 || address + 4 > ctx.lds.len() as i64 {
                Denied::OutOfBounds
            } else {
                continue;
            };
            let (space, bytes, lane) = (SpaceName::Lds, 4, Some(lane as u32));
            return Err(Box::new(AccessFault { space, access, address: address as u64, bytes, why, lane }));
        }
        Ok(start as usize)
    }

    /// Writes the words of the enabled lanes to LDS.
    pub(super) fn put(&self, w: &Wave, ctx: &mut Ctx<'_>, offset: i32) -> Checked {
        if w.exec() == 0 {
            return Ok(());
        }
        let start = Self::place(w, ctx, offset, Access::Write)?;
        for lane in lanes(w.exec()) {
            // SAFETY: `place` has checked the enabled lanes.
            unsafe { put(ctx.lds, start + 4 * lane, self.data[lane].to_le_bytes()) };
        }
        Ok(())
    }

    /// Reads the words of the enabled lanes from LDS.
    pub(super) fn take(&mut self, w: &Wave, ctx: &Ctx<'_>, offset: i32) -> Checked {
        if w.exec() == 0 {
            return Ok(());
        }
        let start = Self::place(w, ctx, offset, Access::Read)?;
        for lane in lanes(w.exec()) {
            // SAFETY: `place` has checked the enabled lanes.
            self.data[lane] = u32::from_le_bytes(unsafe { get(ctx.lds, start + 4 * lane) });
        }
        Ok(())
    }
}
