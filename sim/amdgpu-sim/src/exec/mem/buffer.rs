//! MUBUF and MTBUF: loads, stores and atomics through a buffer descriptor.
//!
//! Two kinds of descriptor matter for compute: plain ones (a base, a stride, a size; accesses outside read as zero and
//! do not write), and the scratch descriptor, which adds the lane's number and interleaves the lanes word by word.

mod typed;

use std::sync::atomic::{Ordering, fence};

use super::atomic::{self, Operation, Rows};
use super::lds_copy::Words;
use super::space::{Addresses, Private, Space, View};
use super::transfer::{self, NOWHERE, Shape, Width};
use super::{AccessFault, Checked, Env, done, lanes};
use crate::exec::lower::Wide;
use crate::exec::{Ctx, Flow, Handler, LANES, Lowering, Micro, Trap, Wave};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::isa::inst::{Format, Inst, Operand};
use crate::isa::{Flags, Op};
use crate::memory::bulk;

/// `aux`: bits 4:0 the shape, then flags, bits 31:16 the offset.
const RETURNS: u32 = 1 << 5;
const OFFEN: u32 = 1 << 6;
const IDXEN: u32 = 1 << 7;
/// The register after the data is set to zero: no page was missing.
const TFE: u32 = 1 << 8;

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

/// A decoded buffer descriptor.
struct Descriptor {
    base: u64,
    stride: u64,
    records: u64,
    swizzle: bool,
    add_lane: bool,
    index_stride: u64,
    element: u64,
}

impl Descriptor {
    fn read(w: &Wave, slot: u16) -> Self {
        let words: [u32; 4] = std::array::from_fn(|i| w.slot(slot + i as u16));
        let add_lane = words[3] >> 23 & 1 != 0;
        let mut stride = u64::from(words[1] >> 16 & 0x3fff);
        if add_lane {
            // The data format's bits extend the stride.
            stride |= u64::from(words[3] >> 15 & 0xf) << 14;
        }
        Self {
            base: u64::from(words[0]) | u64::from(words[1] & 0xffff) << 32,
            stride,
            records: u64::from(words[2]),
            swizzle: words[1] >> 31 != 0,
            add_lane,
            index_stride: 8 << (words[3] >> 21 & 3),
            element: 2 << (words[3] >> 19 & 3),
        }
    }

    /// Returns whether this is the descriptor that the dispatcher sets up for scratch.
    fn is_scratch(&self) -> bool {
        self.swizzle && self.add_lane && self.stride == 0 && self.index_stride == LANES as u64 && self.element == 4
    }
}

/// The lane's contribution to the address, besides base and scalar offset: its index and its offset.
#[inline(always)]
fn parts(w: &Wave, m: &Micro, lane: usize) -> (u64, u64) {
    let immediate = u64::from(m.aux >> 16);
    let index = if m.aux & IDXEN != 0 { u64::from(w.row(m.src[0])[lane]) } else { 0 };
    let row = m.src[0] + u16::from(m.aux & IDXEN != 0);
    let offset = if m.aux & OFFEN != 0 { u64::from(w.row(row)[lane]) } else { 0 };
    (index, offset + immediate)
}

/// A handler's action on a memory. `bytes` is the amount per lane.
trait Action {
    fn bytes(&self) -> u32;
    fn on<S: Space>(&mut self, w: &mut Wave, space: &mut S, at: &Addresses, mask: u64) -> Checked;
    /// Handles lanes outside the buffer: loads and returning atomics return zero.
    fn outside(&mut self, w: &mut Wave, mask: u64);
    /// The number of words that are bounds-checked separately, as for plain loads and stores; 1 if all words are
    /// checked together.
    fn words(&self) -> u32 {
        1
    }
    /// The same action with only the first words of a lane.
    fn first(&self, _words: u32) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// The maximum number of words per lane.
const WORDS: usize = 4;

#[inline(always)]
fn reach<A: Action>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, action: &mut A) -> Checked {
    let descriptor = Descriptor::read(w, m.src[2]);
    let Env { view, scratch, .. } = &mut ctx.env;
    let scalar = u64::from(w.slot(m.src[3]));
    let mask = w.exec();
    let mut at = NOWHERE;
    if descriptor.is_scratch() {
        let mut private: Private = scratch.wave(w.id);
        // The descriptor's base is a wave's: the prologue adds the wave's offset. In units of a wave's scratch: 64 times a lane's.
        let start = descriptor.base.wrapping_add(scalar).wrapping_sub(private.base());
        let bytes = action.bytes();
        if start % (4 * LANES as u64) != 0 || start / LANES as u64 > u64::from(private.size()) {
            let (space, access, why) = (SpaceName::Private, Access::Read, Denied::OutOfBounds);
            let lane = (mask != 0).then(|| mask.trailing_zeros());
            let address = (start as i64 / LANES as i64) as u64;
            return if mask == 0 {
                Ok(())
            } else {
                Err(Box::new(AccessFault { space, access, address, bytes, why, lane }))
            };
        }
        let start = start / LANES as u64;
        if m.aux & (OFFEN | IDXEN) == 0 {
            at = [start + u64::from(m.aux >> 16); LANES];
        } else {
            for (lane, place) in at.iter_mut().enumerate() {
                let (index, offset) = parts(w, m, lane);
                // With scratch, an index selects another lane, which is not supported. Nothing uses it.
                *place = if index == 0 { start + (offset & 0xffff_ffff) } else { u64::MAX / 2 };
            }
        }
        return action.on(w, &mut private, &at, mask);
    }
    let (mut inside, words) = (0, action.words());
    // The lanes of which only some words are inside, by their number.
    let mut partly = [0_u64; WORDS];
    for lane in lanes(mask) {
        let (mut index, offset) = parts(w, m, lane);
        if descriptor.add_lane {
            index += lane as u64;
        }
        let linear = offset + index * descriptor.stride;
        let fit = |bytes: u64| {
            if descriptor.stride == 0 || !descriptor.swizzle {
                linear + bytes + scalar <= descriptor.records
                    || (descriptor.stride != 0 && index < descriptor.records && offset + bytes <= descriptor.stride)
            } else {
                index < descriptor.records
            }
        };
        let fits = fit(action.bytes().into());
        inside |= u64::from(fits) << lane;
        if !fits && words > 1 {
            let first = (1..words).take_while(|words| fit(u64::from(4 * words))).count();
            partly[first] |= 1 << lane;
        }
        let spread = if descriptor.swizzle {
            let (high, low) = (index / descriptor.index_stride, index % descriptor.index_stride);
            let (offset_high, offset_low) = (offset / descriptor.element, offset % descriptor.element);
            (high * descriptor.stride + offset_high * descriptor.element) * descriptor.index_stride
                + low * descriptor.element
                + offset_low
        } else {
            linear
        };
        at[lane] = descriptor.base.wrapping_add(scalar).wrapping_add(spread) & 0xffff_ffff_ffff;
    }
    action.on::<View>(w, view, &at, inside)?;
    if inside != mask {
        action.outside(w, mask & !inside);
        for (words, lanes) in (1..).zip(&partly[1..]).filter(|(_, lanes)| **lanes != 0) {
            if let Some(mut first) = action.first(words) {
                first.on::<View>(w, view, &at, *lanes)?;
            }
        }
    }
    Ok(())
}

/// The address if all lanes' words are adjacent: a word at the same offset of every lane's scratch, as for spilled
/// registers.
#[inline(always)]
fn scratch_row(w: &Wave, m: &Micro, ctx: &Ctx<'_>, shape: Shape) -> Option<u64> {
    if m.aux & (OFFEN | IDXEN | TFE) != 0 || shape.width != Width::Words(1) || w.exec() != u64::MAX {
        return None;
    }
    let descriptor = Descriptor::read(w, m.src[2]);
    let private = ctx.env.scratch.wave(w.id);
    let start = descriptor.base.wrapping_add(u64::from(w.slot(m.src[3]))).wrapping_sub(private.base());
    // A word of every lane forms a row of the wave.
    let at = start.wrapping_add(u64::from(m.aux >> 16) * LANES as u64);
    let inside = at % bulk::ROW as u64 == 0 && at < u64::from(private.size()) * LANES as u64;
    (descriptor.is_scratch() && inside).then(|| private.base() + at)
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

/// The additional result of a load with `tfe`: the register after the data.
fn residency(w: &mut Wave, row: u16) {
    let mask = w.exec();
    lanes(mask).for_each(|lane| w.row_mut(row)[lane] = 0);
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
