//! DS: the addresses of LDS instructions, and their checks.

use super::fault::{AccessFault, Checked};
use crate::exec::lanes::lanes;
use crate::exec::{Ctx, LANES, Micro, Wave};
use crate::fault::{Access, Denied, Space};
use crate::isa::Flags;
use crate::isa::inst::Inst;

/// The offsets of a two-offset form with elements of `bytes` bytes, in words: bits 15:0 and 31:16 of `aux`. In bytes
/// they would not fit.
pub(super) fn pack_offsets(inst: &Inst, bytes: u32) -> u32 {
    let step = bytes / 4 * if inst.op.info().is(Flags::stride64) { 64 } else { 1 };
    ((inst.mods.offset as u32 & 0xff) * step) | ((u32::from(inst.mods.offset1) * step) << 16)
}

/// The byte offsets of a two-offset form.
#[inline(always)]
pub(super) fn offsets(m: &Micro) -> (u32, u32) {
    (4 * (m.aux & 0xffff), 4 * (m.aux >> 16))
}

/// Checks `bytes` bytes at `base + offset` for all enabled lanes. Afterwards [`get`](super::lds::get) and
/// [`put`](super::lds::put) may be used on them.
///
/// The sum has 32 bits and wraps: compilers fold an offset into an access whose base may be below zero.
#[inline(always)]
pub(super) fn check(w: &Wave, ctx: &Ctx<'_>, row: u16, offset: u32, bytes: u32, align: u64, access: Access) -> Checked {
    if inside(w, ctx, row, offset, bytes, align) {
        return Ok(());
    }
    check_each(w.row(row), w.exec(), offset, bytes, align, access, ctx.lds.len() as u64)
}

/// Returns whether all lanes are enabled and their accesses are certainly valid: a branch-free test. `false` is
/// inconclusive.
#[inline(always)]
fn inside(w: &Wave, ctx: &Ctx<'_>, row: u16, offset: u32, bytes: u32, align: u64) -> bool {
    // LDS has at most 2^16 bytes, so bit 31 of the difference shows which is larger, if the address does not have it set.
    let Some(last) = (ctx.lds.len() as u32).checked_sub(offset + bytes) else { return false };
    let (mut over, mut bits) = (0, offset & align as u32);
    for &address in w.row(row) {
        over |= last.wrapping_sub(address) | address;
        bits |= address;
    }
    over >> 31 == 0 && bits & align as u32 == 0 && w.exec() == u64::MAX
}

/// The slow path: lane by lane, to find the first invalid one.
#[cold]
fn check_each(
    base: &[u32; LANES],
    mask: u64,
    offset: u32,
    bytes: u32,
    align: u64,
    access: Access,
    size: u64,
) -> Checked {
    for lane in lanes(mask) {
        let address = u64::from(base[lane].wrapping_add(offset));
        let why = if address & align != 0 {
            Denied::Misaligned(align as u32 + 1)
        } else if address + u64::from(bytes) > size {
            Denied::OutOfBounds
        } else {
            continue;
        };
        let space = Space::Lds;
        return Err(Box::new(AccessFault { space, access, address, bytes, why, lane: Some(lane as u32) }));
    }
    Ok(())
}

/// Checks `bytes` bytes at two offsets.
#[inline(always)]
pub(super) fn check2(w: &Wave, ctx: &Ctx<'_>, m: &Micro, bytes: u32, access: Access) -> Checked {
    let (first, second) = offsets(m);
    let align = ctx.env.align_mask(bytes);
    // Both offsets are multiples of `bytes`: if the higher one is inside, so is the lower.
    if inside(w, ctx, m.src[0], first.max(second), bytes, align) {
        return Ok(());
    }
    check(w, ctx, m.src[0], first, bytes, align, access)?;
    check(w, ctx, m.src[0], second, bytes, align, access)
}
