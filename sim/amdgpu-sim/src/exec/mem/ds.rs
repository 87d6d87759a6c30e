//! DS: LDS loads and stores.

use super::ds_address::{check, check2, offsets, pack_offsets};
use super::fault::{AccessFault, Checked};
use super::lds::{get, put};
use super::lying::Lying;
use super::outcome::{done, nothing};
use super::transfer::{Part, Shape, Width};
use super::{cross_lane, ds_atomic, gws};
use crate::config::BeyondLds;
use crate::exec::lanes::lanes;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Row, Wave, cpu};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::isa::inst::{Inst, Operand};
use crate::isa::{Flags, Op};

/// `aux` of one-offset forms: bits 4:0 the shape, bits 31:16 the offset. For two-offset forms: [`pack_offsets`].
pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let info = inst.op.info();
    if info.is(Flags::gds) {
        return gws::lower(inst, l, m);
    }
    if inst.mods.gds {
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
        m.aux = pack_offsets(inst, bytes);
        if has_data {
            m.src[2] = l.row(inst.src[2])?;
        }
        return Some(match (has_data, bytes) {
            (false, 4) => read2::<1>(l.avx2),
            (false, _) => read2::<2>(l.avx2),
            (true, 4) => write2::<1>,
            (true, _) => write2::<2>,
        });
    }
    let shape = Shape::of(inst.op, data)?;
    m.aux = (inst.mods.offset as u32) << 16 | shape.pack();
    Some(match (has_data, shape.width) {
        (false, Width::Words(1)) => read::<1>(l.avx2),
        (false, Width::Words(2)) => read::<2>(l.avx2),
        (false, Width::Words(3)) => read::<3>(l.avx2),
        (false, Width::Words(_)) => read::<4>(l.avx2),
        (false, _) => read_small,
        (true, Width::Words(1)) => write::<1>,
        (true, Width::Words(2)) => write::<2>,
        (true, Width::Words(3)) => write::<3>,
        (true, Width::Words(_)) => write::<4>,
        (true, _) => write_small,
    })
}

/// Reads four words at `base + offset` of all lanes to four rows, four lanes at a time.
///
/// # Safety
/// The words of all lanes are within `lds`.
#[inline(always)]
unsafe fn read_quads(lds: &[u8], base: &[u32; LANES], offset: u32, rows: &mut [Row]) {
    // Loops over indices, so that there is nothing for the optimiser to inline.
    for q in 0..LANES / 4 {
        let mut quads = [[0; 4]; 4];
        for (lane, quad) in quads.iter_mut().enumerate() {
            let at = base[4 * q + lane].wrapping_add(offset) as usize;
            // SAFETY: as the caller vouches.
            let bytes: [u8; 16] = unsafe { get(lds, at) };
            for (word, value) in quad.iter_mut().enumerate() {
                let at = 4 * word;
                *value = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
            }
        }
        for (word, row) in rows.iter_mut().enumerate().take(4) {
            for (lane, quad) in quads.iter().enumerate() {
                row.0[4 * q + lane] = quad[word];
            }
        }
    }
}

/// Reads `N` words at `base + offset` of every enabled lane to the rows from `dst` on. The addresses must have been
/// checked.
#[inline(always)]
fn read_words<const N: usize>(w: &mut Wave, lds: &[u8], base: &[u32; LANES], offset: u32, dst: u16) {
    let mask = w.exec();
    if N == 4 && mask == u64::MAX {
        let rows = &mut w.rows[usize::from(dst)..][..4];
        // SAFETY: the caller has checked all lanes.
        unsafe { read_quads(lds, base, offset, rows) };
        return;
    }
    for word in 0..N {
        let row = w.row_mut(dst + word as u16);
        let at = |lane: usize| base[lane].wrapping_add(offset) as usize + 4 * word;
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

/// Writes `N` words from the rows from `src` on to `base + offset` of every enabled lane. The addresses must have been
/// checked.
#[inline(always)]
fn write_words<const N: usize>(w: &Wave, lds: &mut [u8], row: u16, offset: u32, src: u16) {
    let base = w.row(row);
    let mask = w.exec();
    for word in 0..N {
        let data = w.row(src + word as u16);
        let at = |lane: usize| base[lane].wrapping_add(offset) as usize + 4 * word;
        if mask == u64::MAX {
            for (lane, word) in data.iter().enumerate() {
                // SAFETY: the caller has checked all lanes.
                unsafe { put(lds, at(lane), word.to_le_bytes()) };
            }
        } else {
            for lane in lanes(mask) {
                // SAFETY: the caller has checked the enabled lanes.
                unsafe { put(lds, at(lane), data[lane].to_le_bytes()) };
            }
        }
    }
}

/// Returns whether the hardware ignores a failed check: lanes beyond LDS read zeros and write nothing.
#[cold]
fn ignored(ctx: &Ctx<'_>, checked: &Checked) -> bool {
    let Err(fault) = checked else { return false };
    fault.why == Denied::OutOfBounds
        && match ctx.env.beyond_lds {
            BeyondLds::Ignore => true,
            BeyondLds::FaultUnlessKnown => fault.access == Access::Read,
            BeyondLds::Fault => false,
        }
}

/// The position of `bytes` bytes at `base + offset` for each enabled lane; `None` beyond LDS.
fn places(
    base: [u32; LANES],
    mask: u64,
    offset: u32,
    bytes: u32,
    size: usize,
) -> impl Iterator<Item = (usize, Option<usize>)> {
    lanes(mask).map(move |lane| {
        let at = base[lane].wrapping_add(offset) as usize;
        (lane, Some(at).filter(|at| at + bytes as usize <= size))
    })
}

/// [`read_words`] if some lanes are beyond LDS.
#[cold]
fn read_inside<const N: usize>(w: &mut Wave, lds: &[u8], base: &[u32; LANES], offset: u32, dst: u16) {
    for (lane, at) in places(*base, w.exec(), offset, 4 * N as u32, lds.len()) {
        for word in 0..N {
            // SAFETY: all words of the place are within `lds`.
            let value = at.map_or([0; 4], |at| unsafe { get(lds, at + 4 * word) });
            w.row_mut(dst + word as u16)[lane] = u32::from_le_bytes(value);
        }
    }
}

/// [`write_words`] if some lanes are beyond LDS.
#[cold]
fn write_inside<const N: usize>(w: &Wave, lds: &mut [u8], row: u16, offset: u32, src: u16) {
    for (lane, at) in places(*w.row(row), w.exec(), offset, 4 * N as u32, lds.len()) {
        let Some(at) = at else { continue };
        for word in 0..N {
            // SAFETY: all words of the place are within `lds`.
            unsafe { put(lds, at + 4 * word, w.row(src + word as u16)[lane].to_le_bytes()) };
        }
    }
}

/// Reads `N` words at `base + offset` of every lane to the rows from `dst` on, using the layout of the addresses. They
/// must have been checked.
#[inline(always)]
fn read_lying<const N: usize>(w: &mut Wave, lds: &[u8], m: &Micro, lying: &Lying, offset: u32, dst: u16) {
    if lying.anyhow() {
        read_words::<N>(w, lds, &{ *w.row(m.src[0]) }, offset, dst);
        return;
    }
    for word in 0..N {
        let row = w.row_mut(dst + word as u16);
        // SAFETY: the caller has checked all lanes.
        unsafe { lying.read_row(lds, offset + 4 * word as u32, row) };
    }
}

fn read<const N: usize>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const N: usize, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
        let (offset, bytes) = (m.aux >> 16, 4 * N as u32);
        match Lying::of::<FAST>(w, m) {
            Some(lying) if lying.inside(ctx, offset, bytes) => {
                read_lying::<N>(w, ctx.lds, m, &lying, offset, m.dst);
                Flow::Next
            }
            _ => read_some::<N>(w, m, ctx),
        }
    }
    cpu::versions!(fast, [const N: usize], [N])
}

#[inline(never)]
fn read_some<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (offset, bytes) = (m.aux >> 16, 4 * N as u32);
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Read);
    if checked.is_ok() {
        read_words::<N>(w, ctx.lds, &{ *w.row(m.src[0]) }, offset, m.dst);
    } else if ignored(ctx, &checked) {
        read_inside::<N>(w, ctx.lds, &{ *w.row(m.src[0]) }, offset, m.dst);
        return Flow::Next;
    }
    done(w, checked)
}

fn write<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let (offset, bytes) = (m.aux >> 16, 4 * N as u32);
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Write);
    if checked.is_ok() {
        write_words::<N>(w, ctx.lds, m.src[0], offset, m.src[1]);
    } else if ignored(ctx, &checked) {
        write_inside::<N>(w, ctx.lds, m.src[0], offset, m.src[1]);
        return Flow::Next;
    }
    done(w, checked)
}

fn read2<const N: usize>(fast: bool) -> Handler {
    #[inline(always)]
    fn body<const N: usize, const FAST: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
        let ((first, second), bytes) = (offsets(m), 4 * N as u32);
        // Both offsets are multiples of `bytes`: if the higher one is inside, so is the lower.
        match Lying::of::<FAST>(w, m) {
            Some(lying) if !lying.anyhow() && lying.inside(ctx, first.max(second), bytes) => {
                read_lying::<N>(w, ctx.lds, m, &lying, first, m.dst);
                read_lying::<N>(w, ctx.lds, m, &lying, second, m.dst + N as u16);
                Flow::Next
            }
            _ => read2_some::<N>(w, m, ctx),
        }
    }
    cpu::versions!(fast, [const N: usize], [N])
}

#[inline(never)]
fn read2_some<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let ((first, second), bytes) = (offsets(m), 4 * N as u32);
    let checked = check2(w, ctx, m, bytes, Access::Read);
    // The first element may overwrite the address register.
    let base = *w.row(m.src[0]);
    if checked.is_ok() {
        read_words::<N>(w, ctx.lds, &base, first, m.dst);
        read_words::<N>(w, ctx.lds, &base, second, m.dst + N as u16);
    } else if ignored(ctx, &checked) {
        read_inside::<N>(w, ctx.lds, &base, first, m.dst);
        read_inside::<N>(w, ctx.lds, &base, second, m.dst + N as u16);
        return Flow::Next;
    }
    done(w, checked)
}

fn write2<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let ((first, second), bytes) = (offsets(m), 4 * N as u32);
    let checked = check2(w, ctx, m, bytes, Access::Write);
    if checked.is_ok() {
        write_words::<N>(w, ctx.lds, m.src[0], first, m.src[1]);
        write_words::<N>(w, ctx.lds, m.src[0], second, m.src[2]);
    } else if ignored(ctx, &checked) {
        write_inside::<N>(w, ctx.lds, m.src[0], first, m.src[1]);
        write_inside::<N>(w, ctx.lds, m.src[0], second, m.src[2]);
        return Flow::Next;
    }
    done(w, checked)
}

fn read_small(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux).loaded(ctx.env.sramecc);
    let (offset, bytes) = (m.aux >> 16, shape.bytes());
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Read);
    let ignored = checked.is_err() && ignored(ctx, &checked);
    if checked.is_ok() || ignored {
        let base = *w.row(m.src[0]);
        let mask = w.exec();
        let row = w.row_mut(m.dst);
        for (lane, at) in places(base, mask, offset, bytes, ctx.lds.len()) {
            let Some(at) = at else {
                row[lane] = shape.part.merge(row[lane], 0);
                continue;
            };
            // SAFETY: the place is within LDS.
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
    if ignored {
        return Flow::Next;
    }
    done(w, checked)
}

fn write_small(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    let (offset, bytes) = (m.aux >> 16, shape.bytes());
    let checked = check(w, ctx, m.src[0], offset, bytes, ctx.env.align_mask(bytes), Access::Write);
    let ignored = checked.is_err() && ignored(ctx, &checked);
    if checked.is_ok() || ignored {
        let shift = if shape.part == Part::High { 16 } else { 0 };
        for (lane, at) in places(*w.row(m.src[0]), w.exec(), offset, bytes, ctx.lds.len()) {
            let Some(at) = at else { continue };
            let value = w.row(m.src[1])[lane] >> shift;
            // SAFETY: the place is within LDS.
            unsafe {
                if bytes == 1 {
                    put(ctx.lds, at, [value as u8]);
                } else {
                    put(ctx.lds, at, (value as u16).to_le_bytes());
                }
            }
        }
    }
    if ignored {
        return Flow::Next;
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
