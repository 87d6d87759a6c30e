//! SMEM: scalar loads, clocks and cache instructions.

use super::{Checked, done, nothing};
use crate::exec::lower::Wide;
use crate::exec::{Ctx, Flow, Handler, Lowering, Micro, Wave};
use crate::isa::Op;
use crate::isa::inst::{Inst, Operand};
use crate::memory::atomic;

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let handler: Handler = match inst.op {
        Op::s_load_dword | Op::s_scratch_load_dword => load::<1>,
        Op::s_load_dwordx2 | Op::s_scratch_load_dwordx2 => load::<2>,
        Op::s_load_dwordx4 | Op::s_scratch_load_dwordx4 => load::<4>,
        Op::s_load_dwordx8 => load::<8>,
        Op::s_load_dwordx16 => load::<16>,
        Op::s_buffer_load_dword => buffer_load::<1>,
        Op::s_buffer_load_dwordx2 => buffer_load::<2>,
        Op::s_buffer_load_dwordx4 => buffer_load::<4>,
        Op::s_buffer_load_dwordx8 => buffer_load::<8>,
        Op::s_buffer_load_dwordx16 => buffer_load::<16>,
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
    // Scalar scratch instructions have offsets of their own kind; nothing emits them.
    if matches!(inst.op, Op::s_scratch_load_dword | Op::s_scratch_load_dwordx2 | Op::s_scratch_load_dwordx4) {
        return None;
    }
    m.dst = l.slot64(inst.dst, Wide::Unsigned).or_else(|| l.slot(inst.dst))?;
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

/// Loads `N` words at `address` to the slots from `dst` on. Only the first `words` are in memory; the others are zero.
#[inline(always)]
fn words<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, address: u64, words: usize) -> Checked {
    if words > 0 {
        ctx.env.view.check_scalar(address, 4 * words as u32)?;
    }
    let mut data = [0; N];
    for (i, word) in data.iter_mut().take(words).enumerate() {
        // SAFETY: checked just now for all the words.
        *word = unsafe { atomic::load_u32(address + 4 * i as u64) };
    }
    for (i, word) in data.into_iter().enumerate() {
        w.set_slot(m.dst + i as u16, word);
    }
    Ok(())
}

fn load<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let offset = i64::from(m.aux as i32) + i64::from(w.slot(m.src[1]));
    let address = w.slot64(m.src[0]).wrapping_add_signed(offset);
    let result = words::<N>(w, m, ctx, address, N);
    done(w, result)
}

fn buffer_load<const N: usize>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let base = w.slot64(m.src[0]) & 0xffff_ffff_ffff;
    let stride = w.slot(m.src[0] + 1) >> 16 & 0x3fff;
    let records = w.slot(m.src[0] + 2);
    let offset = u64::from(m.aux.wrapping_add(w.slot(m.src[1])));
    let size = u64::from(records) * u64::from(stride.max(1));
    // Words beyond the buffer read as zero.
    let inside = (size.saturating_sub(offset) / 4).min(N as u64) as usize;
    let result = words::<N>(w, m, ctx, base + offset, inside);
    done(w, result)
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
