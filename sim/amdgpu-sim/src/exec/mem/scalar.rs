//! SMEM: scalar loads, stores and atomics, clocks and cache instructions.

use super::atomic::{self as operations, Operation};
use super::fault::Checked;
use super::outcome::{done, nothing};
use super::space::{NO_LANE, Space};
use crate::exec::constant::Wide;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Trap, Wave};
use crate::fault::Access;
use crate::isa::inst::{Inst, Operand};
use crate::isa::{Flags, Op};
use crate::memory::atomic;

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let handler: Handler = match inst.op {
        Op::s_load_dword => load::<1>(inst),
        Op::s_load_dwordx2 => load::<2>(inst),
        Op::s_load_dwordx4 => load::<4>(inst),
        Op::s_load_dwordx8 => load::<8>(inst),
        Op::s_load_dwordx16 => load::<16>(inst),
        Op::s_scratch_load_dword => scratch_load::<1>,
        Op::s_scratch_load_dwordx2 => scratch_load::<2>,
        Op::s_scratch_load_dwordx4 => scratch_load::<4>,
        Op::s_scratch_store_dword => scratch_store::<1>,
        Op::s_scratch_store_dwordx2 => scratch_store::<2>,
        Op::s_scratch_store_dwordx4 => scratch_store::<4>,
        Op::s_buffer_load_dword => buffer_load::<1>,
        Op::s_buffer_load_dwordx2 => buffer_load::<2>,
        Op::s_buffer_load_dwordx4 => buffer_load::<4>,
        Op::s_buffer_load_dwordx8 => buffer_load::<8>,
        Op::s_buffer_load_dwordx16 => buffer_load::<16>,
        Op::s_store_dword => store::<1, false>,
        Op::s_store_dwordx2 => store::<2, false>,
        Op::s_store_dwordx4 => store::<4, false>,
        Op::s_buffer_store_dword => store::<1, true>,
        Op::s_buffer_store_dwordx2 => store::<2, true>,
        Op::s_buffer_store_dwordx4 => store::<4, true>,
        op if op.info().is(Flags::atomic) => {
            Operation::of(op, operations::data_type(op))?;
            if op.mnemonic().starts_with("s_buffer") { update::<true> } else { update::<false> }
        }
        Op::s_memtime => time,
        Op::s_memrealtime => real_time,
        Op::s_dcache_inv
        | Op::s_dcache_inv_vol
        | Op::s_dcache_wb
        | Op::s_dcache_wb_vol
        | Op::s_dcache_discard
        | Op::s_dcache_discard_x2
        | Op::s_atc_probe
        | Op::s_atc_probe_buffer => return Some(nothing),
        _ => return None,
    };
    if inst.dst != Operand::None {
        m.dst = l.slot64(inst.dst, Wide::Unsigned).or_else(|| l.slot(inst.dst))?;
    }
    if inst.src[2] != Operand::None {
        m.src[2] = l.slot64(inst.src[2], Wide::Unsigned).or_else(|| l.slot(inst.src[2]))?;
        if inst.mods.glc {
            // A returning atomic's destination is its data register.
            m.dst = m.src[2];
            m.src[3] = RETURNS;
        }
    }
    if matches!(inst.op, Op::s_memtime | Op::s_memrealtime) {
        return Some(handler);
    }
    m.src[0] = l.slot64(inst.src[0], Wide::Unsigned)?;
    // The offset is an immediate, a register, or a register and an immediate.
    match inst.src[1] {
        Operand::Imm(offset) => {
            m.src[1] = l.slot(Operand::Int(0))?;
            m.aux = offset as u32;
        }
        Operand::None => {
            m.src[1] = l.slot(Operand::Int(0))?;
            m.aux = inst.mods.offset as u32;
        }
        register => {
            m.src[1] = l.slot(register)?;
            m.aux = inst.mods.offset as u32;
        }
    }
    Some(handler)
}

/// `src[3]` of an atomic that returns the old value.
const RETURNS: u16 = 1;

/// Loads `N` words at `address` to the slots from `dst` on. Only the first `words` are read from memory; the others are
/// zero.
#[inline(always)]
fn words<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, address: u64, words: usize) -> Checked {
    if words > 0 {
        ctx.env.view.check_scalar(address, 4 * words as u32, 3, Access::Read)?;
    }
    let dst = usize::from(m.dst);
    let Some(slots) = w.slots.get_mut(dst..dst + N) else {
        return Ok(());
    };
    let at = |i: usize| address + 4 * i as u64;
    if words < N || N == 1 || address % 8 != 0 {
        for (i, slot) in slots.iter_mut().enumerate() {
            // SAFETY: checked just above for all the words, and to be aligned.
            *slot = if i < words { unsafe { atomic::load_aligned_u32(at(i)) } } else { 0 };
        }
    } else if N == 2 || address % 16 != 0 {
        // In the largest units that are not torn.
        for (i, pair) in slots.chunks_exact_mut(2).enumerate() {
            // SAFETY: checked just above for all the words.
            let value = unsafe { atomic::load_u64(at(2 * i)) };
            pair.copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
    } else {
        for (i, four) in slots.chunks_exact_mut(4).enumerate() {
            // SAFETY: checked just above for all the words.
            let value = unsafe { atomic::load_u128(at(4 * i)) };
            four.copy_from_slice(&[0, 32, 64, 96].map(|shift| (value >> shift) as u32));
        }
    }
    Ok(())
}

fn load<const N: usize>(inst: &Inst) -> Handler {
    if matches!(inst.src[1], Operand::Imm(_)) { load_near::<N> } else { load_far::<N> }
}

/// A load at an immediate offset: usually a kernel argument.
fn load_near<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let address = w.slot64(m.src[0]).wrapping_add_signed(i64::from(m.aux as i32));
    let result = words::<N>(w, m, ctx, address, N);
    done(w, result)
}

/// A load at an offset in a register.
fn load_far<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let offset = i64::from(m.aux as i32) + i64::from(w.slot(m.src[1]));
    let address = w.slot64(m.src[0]).wrapping_add_signed(offset);
    let result = words::<N>(w, m, ctx, address, N);
    done(w, result)
}

/// The address of a scalar access to scratch. A register offset counts bytes of a lane, of which 64 lie side by side.
/// The base is an address in the wave's scratch memory, which the code has computed from `flat_scratch`.
fn scratch_address(w: &Wave, m: &Micro) -> u64 {
    let offset = i64::from(m.aux as i32) + i64::from(w.slot(m.src[1])) * LANES as i64;
    w.slot64(m.src[0]).wrapping_add_signed(offset)
}

fn scratch_load<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let address = scratch_address(w, m);
    let Some(place) = ctx.env.scratch.place(address, 4 * N as u64) else {
        let result = words::<N>(w, m, ctx, address, N);
        return done(w, result);
    };
    for i in 0..N {
        // SAFETY: `place` has found the words inside the workgroup's scratch, and aligned.
        let word = unsafe { place.add(i).read() };
        w.set_slot(m.dst + i as u16, word);
    }
    Flow::Next
}

fn scratch_store<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let address = scratch_address(w, m);
    let Some(place) = ctx.env.scratch.place(address, 4 * N as u64) else {
        let result = put_words::<N>(w, m, ctx, address, N);
        return done(w, result);
    };
    for i in 0..N {
        // SAFETY: `place` has found the words inside the workgroup's scratch, and aligned.
        unsafe { place.add(i).write(w.slot(m.src[2] + i as u16)) };
    }
    Flow::Next
}

/// The address in a buffer, and how many of `count` words from there on are inside.
fn buffer_address(w: &Wave, m: &Micro, count: usize) -> (u64, usize) {
    let base = w.slot64(m.src[0]) & 0xffff_ffff_ffff;
    let stride = w.slot(m.src[0] + 1) >> 16 & 0x3fff;
    let records = w.slot(m.src[0] + 2);
    let offset = u64::from(m.aux.wrapping_add(w.slot(m.src[1])));
    let size = u64::from(records) * u64::from(stride.max(1));
    (base + offset, (size.saturating_sub(offset) / 4).min(count as u64) as usize)
}

fn buffer_load<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    // Words beyond the buffer read as zero.
    let (address, inside) = buffer_address(w, m, N);
    let result = words::<N>(w, m, ctx, address, inside);
    done(w, result)
}

/// The address of a store or atomic of `count` words, and how many of them are inside.
#[inline(always)]
fn target<const BUFFER: bool>(w: &Wave, m: &Micro, count: usize) -> (u64, usize) {
    if BUFFER {
        return buffer_address(w, m, count);
    }
    let offset = i64::from(m.aux as i32) + i64::from(w.slot(m.src[1]));
    (w.slot64(m.src[0]).wrapping_add_signed(offset), count)
}

fn store<const N: usize, const BUFFER: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    // Words beyond a buffer are not written.
    let (address, inside) = target::<BUFFER>(w, m, N);
    let result = put_words::<N>(w, m, ctx, address, inside);
    done(w, result)
}

/// Stores the first `words` of `N` words at `address`.
#[inline(always)]
fn put_words<const N: usize>(w: &Wave, m: &Micro, ctx: &mut Ctx<'_>, address: u64, words: usize) -> Checked {
    if words > 0 {
        ctx.env.view.check_scalar(address, 4 * words as u32, 3, Access::Write)?;
    }
    let word = |i: usize| w.slot(m.src[2] + i as u16);
    // In the largest units that are not torn, if the address is aligned to them.
    let together = [4, 2].into_iter().find(|n| words == N && N % n == 0 && address % (4 * *n as u64) == 0);
    for i in (0..words.min(N)).step_by(together.unwrap_or(1)) {
        let (view, address) = (&mut ctx.env.view, address + 4 * i as u64);
        let pair = |i: usize| u64::from(word(i)) | u64::from(word(i + 1)) << 32;
        // SAFETY: checked just above for all the words, aligned to words.
        unsafe {
            match together {
                Some(4) => view.store128(NO_LANE, address, u128::from(pair(i)) | u128::from(pair(i + 2)) << 64),
                Some(_) => view.store64(NO_LANE, address, pair(i)),
                None => view.store32(NO_LANE, address, word(i)),
            }
        }
    }
    Ok(())
}

fn update<const BUFFER: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Some(operation) = operations::of_micro(ctx, m) else {
        return w.fail(Trap::Unsupported("this atomic operation"));
    };
    let words = operation.bytes() as usize / 4;
    let (address, inside) = target::<BUFFER>(w, m, words);
    // Beyond a buffer nothing is changed, and zero is returned.
    let mut old = 0;
    if inside == words {
        let bytes = operation.bytes();
        if let Err(fault) = ctx.env.view.check_scalar(address, bytes, u64::from(bytes) - 1, Access::Atomic) {
            return done(w, Err(fault));
        }
        let (data, view) = (m.src[2], &mut ctx.env.view);
        // SAFETY: checked just above, alignment too.
        old = unsafe {
            match operation {
                // A compare and swap's comparand follows its data.
                Operation::Word(f) => {
                    let (new, other) = (w.slot(data), w.slot(data + 1));
                    u64::from(view.update32(NO_LANE, address, |word| f(word, new, other)))
                }
                Operation::Long(f) => {
                    let (new, other) = (w.slot64(data), w.slot64(data + 2));
                    view.update64(NO_LANE, address, |word| f(word, new, other))
                }
            }
        };
    }
    if m.src[3] == RETURNS {
        w.set_slot(m.dst, old as u32);
        if words == 2 {
            w.set_slot(m.dst + 1, (old >> 32) as u32);
        }
    }
    Flow::Next
}

fn time(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.set_slot64(m.dst, ctx.env.start.elapsed().as_nanos() as u64);
    Flow::Next
}

/// The constant clock: 100 MHz.
fn real_time(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    w.set_slot64(m.dst, (ctx.env.start.elapsed().as_nanos() / 10) as u64);
    Flow::Next
}
