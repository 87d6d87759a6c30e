//! DS: LDS atomics. A workgroup runs on one thread, so a read followed by a write is atomic.

use super::atomic::{self, Operation, flushed};
use super::ds_address::{check, offsets, pack_offsets};
use super::fault::AccessFault;
use super::lds::{get, put};
use super::outcome::done;
use crate::exec::lanes::lanes;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Trap, Wave};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::isa::inst::{Inst, Operand};
use crate::isa::{Flags, Op};

/// `aux`: bit 0 whether the old value is returned, bits 31:16 the offset.
const RETURNS: u32 = 1;

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let info = inst.op.info();
    m.aux = (inst.mods.offset as u32) << 16;
    if inst.dst != Operand::None {
        m.dst = l.row(inst.dst)?;
        m.aux |= RETURNS;
    }
    if matches!(inst.op, Op::ds_append | Op::ds_consume) {
        return Some(if inst.op == Op::ds_append { count::<1> } else { count::<{ u32::MAX }> });
    }
    m.src[0] = l.row(inst.src[0])?;
    m.src[1] = l.row(inst.src[1])?;
    m.src[2] = if inst.src[2] == Operand::None { m.src[1] } else { l.row(inst.src[2])? };
    if info.is(Flags::two_offsets) {
        // Exchanges two words.
        let bytes = info.src[1].bytes();
        m.aux = pack_offsets(inst, bytes);
        return Some(if bytes == 4 { exchange2::<1> } else { exchange2::<2> });
    }
    Operation::of(inst.op, atomic::data_type(inst.op))?;
    Some(update)
}

fn update(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Some(operation) = atomic::of_micro(ctx, m) else {
        return w.fail(Trap::Unsupported("this atomic operation"));
    };
    let (offset, bytes) = (m.aux >> 16, operation.bytes());
    let checked = check(w, ctx, m.src[0], offset, bytes, u64::from(bytes) - 1, Access::Atomic);
    if checked.is_ok() {
        let mask = w.exec();
        let base = *w.row(m.src[0]);
        let flushes =
            if arithmetic_on_singles(ctx, m) { (w.mode.0 & 0x10 == 0, w.mode.0 & 0x20 == 0) } else { (false, false) };
        let mut old = [0_u64; LANES];
        for lane in lanes(mask) {
            let at = base[lane].wrapping_add(offset) as usize;
            let low = |row: u16| w.row(row)[lane];
            let long = |row: u16| u64::from(w.row(row)[lane]) | u64::from(w.row(row + 1)[lane]) << 32;
            // SAFETY: checked above for the enabled lanes.
            unsafe {
                match operation {
                    Operation::Word(f) => {
                        let word = u32::from_le_bytes(get(ctx.lds, at));
                        let new = if flushes == (false, false) {
                            f(word, low(m.src[1]), low(m.src[2]))
                        } else {
                            let read = |x| if flushes.0 { flushed(x) } else { x };
                            let new = f(read(word), read(low(m.src[1])), low(m.src[2]));
                            if flushes.1 { flushed(new) } else { new }
                        };
                        put(ctx.lds, at, new.to_le_bytes());
                        old[lane] = u64::from(word);
                    }
                    Operation::Long(f) => {
                        let word = u64::from_le_bytes(get(ctx.lds, at));
                        put(ctx.lds, at, f(word, long(m.src[1]), long(m.src[2])).to_le_bytes());
                        old[lane] = word;
                    }
                }
            }
        }
        if m.aux & RETURNS != 0 {
            for word in 0..bytes as u16 / 4 {
                let row = w.row_mut(m.dst + word);
                lanes(mask).for_each(|lane| row[lane] = (old[lane] >> (32 * word)) as u32);
            }
        }
    }
    done(w, checked)
}

/// Returns whether MODE determines the treatment of denormals: in single precision it does, in double it does not.
fn arithmetic_on_singles(ctx: &Ctx<'_>, m: &Micro) -> bool {
    ctx.program.inst(m).is_some_and(|i| {
        matches!(
            i.op,
            Op::ds_add_f32
                | Op::ds_add_rtn_f32
                | Op::ds_min_f32
                | Op::ds_min_rtn_f32
                | Op::ds_max_f32
                | Op::ds_max_rtn_f32
        )
    })
}

/// `ds_wrxchg2*`: swaps two elements of `N` words with the data.
fn exchange2<const N: u16>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let ((first, second), bytes) = (offsets(m), 4 * u32::from(N));
    let align = u64::from(bytes) - 1;
    let checked = check(w, ctx, m.src[0], first, bytes, align, Access::Atomic)
        .and_then(|()| check(w, ctx, m.src[0], second, bytes, align, Access::Atomic));
    if checked.is_ok() {
        for lane in lanes(w.exec()) {
            let base = w.row(m.src[0])[lane];
            let mut old = [0; 4];
            let elements = [(first, m.src[1]), (second, m.src[2])];
            for (i, (offset, data)) in elements.into_iter().enumerate() {
                for word in 0..N {
                    let at = base.wrapping_add(offset) as usize + 4 * usize::from(word);
                    // SAFETY: checked above for the enabled lanes and both offsets.
                    old[i * usize::from(N) + usize::from(word)] = u32::from_le_bytes(unsafe { get(ctx.lds, at) });
                    // SAFETY: likewise.
                    unsafe { put(ctx.lds, at, w.row(data + word)[lane].to_le_bytes()) };
                }
            }
            for word in 0..2 * N {
                w.row_mut(m.dst + word)[lane] = old[usize::from(word)];
            }
        }
    }
    done(w, checked)
}

/// `ds_append` and `ds_consume`: adds or subtracts the number of enabled lanes, once per wave; all lanes get the old
/// value.
fn count<const SIGN: u32>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let mask = w.exec();
    let at = (w.m0() & 0xffff) as usize + (m.aux >> 16) as usize;
    if mask == 0 {
        return Flow::Next;
    }
    if at % 4 != 0 || at + 4 > ctx.lds.len() {
        let (space, access, address, bytes) = (SpaceName::Lds, Access::Atomic, at as u64, 4);
        let why = if at % 4 != 0 { Denied::Misaligned(4) } else { Denied::OutOfBounds };
        return w.fail(Trap::Memory(Box::new(AccessFault { space, access, address, bytes, why, lane: None })));
    }
    // SAFETY: checked just above.
    let old = u32::from_le_bytes(unsafe { get(ctx.lds, at) });
    let new = old.wrapping_add(SIGN.wrapping_mul(mask.count_ones()));
    // SAFETY: likewise.
    unsafe { put(ctx.lds, at, new.to_le_bytes()) };
    let row = w.row_mut(m.dst);
    lanes(mask).for_each(|lane| row[lane] = old);
    Flow::Next
}
