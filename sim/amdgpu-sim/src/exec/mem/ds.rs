//! DS: loads and stores of local memory.

use super::transfer::{Part, Shape, Width};
use super::{AccessFault, Checked, cross_lane, done, ds_atomic, lanes, nothing};
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Wave};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::isa::inst::{Inst, Operand};
use crate::isa::{Flags, Op};

/// `aux` of one-offset forms: bits 4:0 the shape, bits 31:16 the offset. Of two-offset forms: bits 15:0 and 31:16 the byte offsets.
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let info = inst.op.info();
    if inst.mods.gds || info.is(Flags::gds) {
        return None;
    }
    match inst.op {
        Op::ds_nop => return Some(nothing),
        Op::ds_swizzle_b32 | Op::ds_permute_b32 | Op::ds_bpermute_b32 => return cross_lane::lower(inst, l, m),
        _ if info.is(Flags::atomic) || matches!(inst.op, Op::ds_append | Op::ds_consume) => {
            return ds_atomic::lower(inst, l, m);
        }
        _ => {}
    }
    let has_data = inst.src[1] != Operand::None;
    let data = if has_data { info.src[1] } else { info.dst };
    if has_data {
        m.src[1] = l.row(inst.src[1])?;
    } else {
        m.dst = l.row(inst.dst)?;
    }
    if matches!(inst.op, Op::ds_read_addtid_b32 | Op::ds_write_addtid_b32) {
        m.aux = (inst.mods.offset as u32) << 16;
        return Some(if has_data { write_lane } else { read_lane });
    }
    m.src[0] = l.row(inst.src[0])?;
    if info.is(Flags::two_offsets) {
        // The loads' type covers both elements.
        let bytes = if has_data { data.bytes() } else { data.bytes() / 2 };
        let step = bytes * if info.is(Flags::stride64) { 64 } else { 1 };
        m.aux = (inst.mods.offset as u32 & 0xff) * step | (u32::from(inst.mods.offset1) * step) << 16;
        if has_data {
            m.src[2] = l.row(inst.src[2])?;
        }
        return Some(match (has_data, bytes) {
            (false, 4) => read2::<1>,
            (false, _) => read2::<2>,
            (true, 4) => write2::<1>,
            (true, _) => write2::<2>,
        });
    }
    let shape = Shape::of(inst.op, data)?;
    m.aux = (inst.mods.offset as u32) << 16 | shape.pack();
    Some(match (has_data, shape.width) {
        (false, Width::Words(1)) => read::<1>,
        (false, Width::Words(2)) => read::<2>,
        (false, Width::Words(3)) => read::<3>,
        (false, Width::Words(_)) => read::<4>,
        (false, _) => read_small,
        (true, Width::Words(1)) => write::<1>,
        (true, Width::Words(2)) => write::<2>,
        (true, Width::Words(3)) => write::<3>,
        (true, Width::Words(_)) => write::<4>,
        (true, _) => write_small,
    })
}

/// Checks `bytes` bytes at `base + offset` for all enabled lanes. Afterwards [`get`] and [`put`] may be used on them.
#[inline(always)]
pub(super) fn check(
    w: &Wave,
    ctx: &Ctx<'_>,
    row: u16,
    offset: u32,
    bytes: u32,
    align: u64,
    access: Access,
) -> Checked {
    let base = w.row(row);
    let mask = w.exec();
    let (mut high, mut bits) = (0, 0);
    if mask == u64::MAX {
        for &address in base {
            high = high.max(address);
            bits |= address.wrapping_add(offset);
        }
    } else {
        for lane in lanes(mask) {
            high = high.max(base[lane]);
            bits |= base[lane].wrapping_add(offset);
        }
    }
    let end = u64::from(high) + u64::from(offset) + u64::from(bytes);
    if u64::from(bits) & align == 0 && (end <= ctx.lds.len() as u64 || mask == 0) {
        return Ok(());
    }
    Err(at_fault(base, mask, offset, bytes, align, access, ctx.lds.len() as u64))
}

/// Finds the first lane that is at fault.
#[cold]
fn at_fault(
    base: &[u32; LANES],
    mask: u64,
    offset: u32,
    bytes: u32,
    align: u64,
    access: Access,
    size: u64,
) -> Box<AccessFault> {
    let address = |lane: usize| u64::from(base[lane]) + u64::from(offset);
    let misaligned = lanes(mask).find(|lane| address(*lane) & align != 0);
    let outside = lanes(mask).find(|lane| address(*lane) + u64::from(bytes) > size);
    let (lane, why) = match (misaligned, outside) {
        (Some(a), Some(b)) if b < a => (b, Denied::OutOfBounds),
        (Some(a), _) => (a, Denied::Misaligned(align as u32 + 1)),
        (None, lane) => (lane.unwrap_or(0), Denied::OutOfBounds),
    };
    let space = SpaceName::Lds;
    Box::new(AccessFault { space, access, address: address(lane), bytes, why, lane: Some(lane as u32) })
}

/// `N` bytes of local memory.
///
/// # Safety
/// `at + N` is within `lds`.
#[inline(always)]
pub(super) unsafe fn get<const N: usize>(lds: &[u8], at: usize) -> [u8; N] {
    debug_assert!(at + N <= lds.len());
    // SAFETY: in bounds, as the caller vouches; a byte array has no alignment.
    unsafe { lds.as_ptr().add(at).cast::<[u8; N]>().read() }
}

/// Writes `N` bytes of local memory.
///
/// # Safety
/// `at + N` is within `lds`.
#[inline(always)]
pub(super) unsafe fn put<const N: usize>(lds: &mut [u8], at: usize, value: [u8; N]) {
    debug_assert!(at + N <= lds.len());
    // SAFETY: in bounds, as the caller vouches; a byte array has no alignment.
    unsafe { lds.as_mut_ptr().add(at).cast::<[u8; N]>().write(value) }
}

/// Reads `N` words at `base + offset` of every enabled lane to the rows from `dst` on. Checked before.
#[inline(always)]
fn read_words<const N: usize>(w: &mut Wave, lds: &[u8], row: u16, offset: u32, dst: u16) {
    let base = *w.row(row);
    let mask = w.exec();
    for word in 0..N {
        let at = |lane: usize| base[lane] as usize + offset as usize + 4 * word;
        let row = w.row_mut(dst + word as u16);
        if mask == u64::MAX {
            for (lane, place) in row.iter_mut().enumerate() {
                // SAFETY: the caller has checked all lanes.
                *place = u32::from_le_bytes(unsafe { get(lds, at(lane)) });
            }
        } else {
            for lane in lanes(mask) {
                // SAFETY: the caller has checked the enabled lanes.
                row[lane] = u32::from_le_bytes(unsafe { get(lds, at(lane)) });
            }
        }
    }
}

/// Writes `N` words from the rows from `src` on to `base + offset` of every enabled lane. Checked before.
#[inline(always)]
fn write_words<const N: usize>(w: &Wave, lds: &mut [u8], row: u16, offset: u32, src: u16) {
    let base = w.row(row);
    let mask = w.exec();
    for word in 0..N {
        let data = w.row(src + word as u16);
        let at = |lane: usize| base[lane] as usize + offset as usize + 4 * word;
        if mask == u64::MAX {
            for lane in 0..LANES {
                // SAFETY: the caller has checked all lanes.
                unsafe { put(lds, at(lane), data[lane].to_le_bytes()) };
            }
        } else {
            for lane in lanes(mask) {
                // SAFETY: the caller has checked the enabled lanes.
                unsafe { put(lds, at(lane), data[lane].to_le_bytes()) };
            }
        }
    }
}

fn read<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (offset, bytes) = (m.aux >> 16, 4 * N as u32);
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Read);
    if checked.is_ok() {
        read_words::<N>(w, ctx.lds, m.src[0], offset, m.dst);
    }
    done(w, checked)
}

fn write<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (offset, bytes) = (m.aux >> 16, 4 * N as u32);
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Write);
    if checked.is_ok() {
        write_words::<N>(w, ctx.lds, m.src[0], offset, m.src[1]);
    }
    done(w, checked)
}

fn read2<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (first, second, bytes) = (m.aux & 0xffff, m.aux >> 16, 4 * N as u32);
    let align = ctx.env.align_mask(bytes);
    let checked = check(w, ctx, m.src[0], first, bytes, align, Access::Read)
        .and_then(|()| check(w, ctx, m.src[0], second, bytes, align, Access::Read));
    if checked.is_ok() {
        // The first element may overwrite the address register.
        let base = *w.row(m.src[0]);
        let mask = w.exec();
        for (element, offset) in [first, second].into_iter().enumerate() {
            for word in 0..N {
                let row = w.row_mut(m.dst + (element * N + word) as u16);
                let at = |lane: usize| base[lane] as usize + offset as usize + 4 * word;
                if mask == u64::MAX {
                    for (lane, place) in row.iter_mut().enumerate() {
                        // SAFETY: checked above for all lanes and both offsets.
                        *place = u32::from_le_bytes(unsafe { get(ctx.lds, at(lane)) });
                    }
                } else {
                    for lane in lanes(mask) {
                        // SAFETY: checked above for the enabled lanes and both offsets.
                        row[lane] = u32::from_le_bytes(unsafe { get(ctx.lds, at(lane)) });
                    }
                }
            }
        }
    }
    done(w, checked)
}

fn write2<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (first, second, bytes) = (m.aux & 0xffff, m.aux >> 16, 4 * N as u32);
    let align = ctx.env.align_mask(bytes);
    let checked = check(w, ctx, m.src[0], first, bytes, align, Access::Write)
        .and_then(|()| check(w, ctx, m.src[0], second, bytes, align, Access::Write));
    if checked.is_ok() {
        write_words::<N>(w, ctx.lds, m.src[0], first, m.src[1]);
        write_words::<N>(w, ctx.lds, m.src[0], second, m.src[2]);
    }
    done(w, checked)
}

fn read_small(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    let (offset, bytes) = (m.aux >> 16, shape.bytes());
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Read);
    if checked.is_ok() {
        let base = *w.row(m.src[0]);
        let mask = w.exec();
        let row = w.row_mut(m.dst);
        for lane in lanes(mask) {
            let at = base[lane] as usize + offset as usize;
            // SAFETY: checked above.
            let value = unsafe {
                match shape.width {
                    Width::U8 => u32::from(get::<1>(ctx.lds, at)[0]),
                    Width::I8 => i32::from(get::<1>(ctx.lds, at)[0] as i8) as u32,
                    Width::I16 => i32::from(i16::from_le_bytes(get(ctx.lds, at))) as u32,
                    _ => u32::from(u16::from_le_bytes(get(ctx.lds, at))),
                }
            };
            row[lane] = shape.part.merge(row[lane], value);
        }
    }
    done(w, checked)
}

fn write_small(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    let (offset, bytes) = (m.aux >> 16, shape.bytes());
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Write);
    if checked.is_ok() {
        let shift = if shape.part == Part::High { 16 } else { 0 };
        for lane in lanes(w.exec()) {
            let at = w.row(m.src[0])[lane] as usize + offset as usize;
            let value = w.row(m.src[1])[lane] >> shift;
            // SAFETY: checked above.
            unsafe {
                if bytes == 1 {
                    put(ctx.lds, at, [value as u8]);
                } else {
                    put(ctx.lds, at, (value as u16).to_le_bytes());
                }
            }
        }
    }
    done(w, checked)
}

/// The address of the `addtid` forms: M0, the offset and four times the lane.
fn lane_addresses(w: &Wave, ctx: &Ctx<'_>, m: &Micro, access: Access) -> Result<usize, Box<AccessFault>> {
    let start = u64::from(w.m0() & 0xffff) + u64::from(m.aux >> 16);
    let size = ctx.lds.len() as u64;
    for lane in lanes(w.exec()) {
        let address = start + 4 * lane as u64;
        let why = if address % 4 != 0 { Denied::Misaligned(4) } else { Denied::OutOfBounds };
        if address % 4 != 0 || address + 4 > size {
            let (space, bytes, lane) = (SpaceName::Lds, 4, Some(lane as u32));
            return Err(Box::new(AccessFault { space, access, address, bytes, why, lane }));
        }
    }
    Ok(start as usize)
}

fn read_lane(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let start = lane_addresses(w, ctx, m, Access::Read);
    let result = start.map(|start| {
        for lane in lanes(w.exec()) {
            // SAFETY: `lane_addresses` has checked the enabled lanes.
            w.row_mut(m.dst)[lane] = u32::from_le_bytes(unsafe { get(ctx.lds, start + 4 * lane) });
        }
    });
    done(w, result)
}

fn write_lane(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let start = lane_addresses(w, ctx, m, Access::Write);
    let result = start.map(|start| {
        for lane in lanes(w.exec()) {
            // SAFETY: `lane_addresses` has checked the enabled lanes.
            unsafe { put(ctx.lds, start + 4 * lane, w.row(m.src[1])[lane].to_le_bytes()) };
        }
    });
    done(w, result)
}
