//! MUBUF and MTBUF: loads, stores and atomics through a buffer descriptor.
//!
//! Two kinds of descriptor matter for compute: plain ones (a base, a stride, a size; accesses outside read as zero and
//! do not write), and the scratch descriptor, which adds the lane's number and interleaves the lanes word by word.

mod reach;
mod typed;

use std::sync::atomic::{Ordering, fence};

use super::atomic::{self, Operation, Rows};
use super::fault::Checked;
use super::lds_copy::Words;
use super::outcome::done;
use super::space::{Addresses, Space};
use super::transfer::{self, Shape, Width};
use crate::exec::constant::Wide;
use crate::exec::lanes::lanes;
use crate::exec::{Ctx, Flow, Handler, Lowering, Micro, Trap, Wave};
use crate::isa::inst::{Format, Inst, Operand};
use crate::isa::{Flags, Op};
use crate::memory::bulk;
use reach::{Action, IDXEN, OFFEN, RETURNS, TFE, reach, residency, scratch_row};

pub(super) fn lower(inst: &Inst, l: &mut Lowering, m: &mut Micro) -> Option<Handler> {
    let info = inst.op.info();
    if matches!(
        inst.op,
        Op::buffer_wbl2 | Op::buffer_inv | Op::buffer_invl2 | Op::buffer_wbinvl1 | Op::buffer_wbinvl1_vol
    ) {
        return Some(cache);
    }
    m.src[0] = if inst.mods.offen || inst.mods.idxen { l.row(inst.src[0])? } else { 0 };
    m.src[2] = l.slot64(inst.src[2], Wide::Unsigned)?;
    m.src[3] = l.slot(inst.src[3])?;
    m.aux = (inst.mods.offset as u32) << 16;
    if inst.mods.offen {
        m.aux |= OFFEN;
    }
    if inst.mods.idxen {
        m.aux |= IDXEN;
    }
    if info.is(Flags::atomic) {
        Operation::of(inst.op, atomic::data_type(inst.op))?;
        m.src[1] = l.row(inst.src[1])?;
        if inst.mods.glc {
            // A returning atomic's destination is its data register.
            m.dst = if inst.dst == Operand::None { m.src[1] } else { l.row(inst.dst)? };
            m.aux |= RETURNS;
        }
        return Some(atomic_op);
    }
    let stores = inst.src[1] != Operand::None;
    let data = if stores { info.src[1] } else { info.dst };
    if info.is(Flags::format) {
        if inst.mods.lds {
            return None;
        }
        m.dst2 = typed::components(inst.op, data).pack();
        if inst.format == Format::Mtbuf {
            m.dst2 |= typed::OWN_FORMAT | u16::from(inst.mods.format) << 8;
        }
        let operand = if stores { inst.src[1] } else { inst.dst };
        m.src[1] = l.row(operand)?;
        m.aux |= u32::from(inst.mods.tfe) * TFE;
        return Some(if stores { typed::store } else { typed::load });
    }
    if inst.op == Op::buffer_store_lds_dword || inst.mods.lds {
        if inst.mods.tfe {
            return None;
        }
        let stores = inst.op == Op::buffer_store_lds_dword;
        m.aux |= if stores { Shape::WORD } else { Shape::of(inst.op, data)? }.pack();
        return Some(if stores { copy_out } else { copy_in });
    }
    m.aux |= Shape::of(inst.op, data)?.pack();
    m.aux |= u32::from(inst.mods.tfe && !stores) * TFE;
    if stores {
        m.src[1] = l.row(inst.src[1])?;
        Some(store)
    } else {
        m.dst = l.row(inst.dst)?;
        Some(load)
    }
}

/// Cache write-backs and invalidations: fences on the host.
fn cache(_: &mut Wave, _: &Micro, _: &mut Ctx<'_>) -> Flow {
    fence(Ordering::SeqCst);
    Flow::Next
}

struct Load {
    shape: Shape,
    align: u64,
    dst: u16,
}

impl Action for Load {
    fn bytes(&self) -> u32 {
        self.shape.bytes()
    }

    #[inline(always)]
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        transfer::load(w, space, at, mask, self.shape, self.align, self.dst)
    }

    fn outside(&mut self, w: &mut Wave, mask: u64) {
        for word in 0..self.shape.bytes().div_ceil(4) {
            let row = w.row_mut(self.dst + word as u16);
            lanes(mask).for_each(|lane| row[lane] = self.shape.part.merge(row[lane], 0));
        }
    }

    fn words(&self) -> u32 {
        self.shape.words()
    }

    fn first(&self, words: u32) -> Option<Self> {
        Some(Self { shape: Shape { width: Width::Words(words as u8), ..self.shape }, ..*self })
    }
}

struct Store {
    shape: Shape,
    align: u64,
    src: u16,
}

impl Action for Store {
    fn bytes(&self) -> u32 {
        self.shape.bytes()
    }

    #[inline(always)]
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        transfer::store(w, space, at, mask, self.shape, self.align, self.src)
    }

    fn outside(&mut self, _: &mut Wave, _: u64) {}

    fn words(&self) -> u32 {
        self.shape.words()
    }

    fn first(&self, words: u32) -> Option<Self> {
        Some(Self { shape: Shape { width: Width::Words(words as u8), ..self.shape }, ..*self })
    }
}

struct Atomic {
    operation: Operation,
    rows: Rows,
}

impl Action for Atomic {
    fn bytes(&self) -> u32 {
        self.operation.bytes()
    }

    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        atomic::run(w, space, at, mask, self.operation, self.rows)
    }

    fn outside(&mut self, w: &mut Wave, mask: u64) {
        let Some(dst) = self.rows.dst else { return };
        for word in 0..self.operation.bytes() / 4 {
            let row = w.row_mut(dst + word as u16);
            lanes(mask).for_each(|lane| row[lane] = 0);
        }
    }
}

impl Action for Words {
    fn bytes(&self) -> u32 {
        self.shape.bytes()
    }

    fn on<S: Space>(&mut self, _: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        self.fetch(space, at, mask)
    }

    /// They are initialised to zero.
    fn outside(&mut self, _: &mut Wave, _: u64) {}
}

/// Words to be stored.
struct Outgoing(Words);

impl Action for Outgoing {
    fn bytes(&self) -> u32 {
        4
    }

    fn on<S: Space>(&mut self, _: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked {
        self.0.store(space, at, mask)
    }

    fn outside(&mut self, _: &mut Wave, _: u64) {}
}

/// From the buffer to LDS.
fn copy_in(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    let mut words = Words::new(shape, ctx.env.align_mask(shape.bytes()));
    let result = reach(w, m, ctx, &mut words).and_then(|()| words.put(w, ctx, (m.aux >> 16) as i32));
    done(w, result)
}

/// From LDS to the buffer.
fn copy_out(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let mut words = Words::new(Shape::WORD, ctx.env.align_mask(4));
    let mut result = words.take(w, ctx, (m.aux >> 16) as i32);
    if result.is_ok() {
        result = reach(w, m, ctx, &mut Outgoing(words));
    }
    done(w, result)
}

fn load(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux).loaded(ctx.env.sramecc);
    if let Some(row) = scratch_row(w, m, ctx, shape) {
        // SAFETY: a whole row inside the wave's scratch, which is a multiple of rows.
        unsafe { bulk::read_row::<false>(row, w.row_mut(m.dst)) };
        return Flow::Next;
    }
    let mut action = Load { shape, align: ctx.env.align_mask(shape.bytes()), dst: m.dst };
    let result = reach(w, m, ctx, &mut action);
    if m.aux & TFE != 0 && result.is_ok() {
        residency(w, m.dst + shape.bytes().div_ceil(4) as u16);
    }
    done(w, result)
}

fn store(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let shape = Shape::unpack(m.aux);
    if let Some(row) = scratch_row(w, m, ctx, shape) {
        // SAFETY: a whole row inside the wave's scratch, which is a multiple of rows.
        unsafe { bulk::write_row::<false>(row, w.row(m.src[1])) };
        return Flow::Next;
    }
    let mut action = Store { shape, align: ctx.env.align_mask(shape.bytes()), src: m.src[1] };
    let result = reach(w, m, ctx, &mut action);
    done(w, result)
}

fn atomic_op(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let Some(operation) = atomic::of_micro(ctx, m) else {
        return w.fail(Trap::Unsupported("this atomic operation"));
    };
    let second = m.src[1] + (operation.bytes() / 4) as u16;
    let dst = (m.aux & RETURNS != 0).then_some(m.dst);
    let mut action = Atomic { operation, rows: Rows { data: m.src[1], second, dst } };
    let result = reach(w, m, ctx, &mut action);
    done(w, result)
}
