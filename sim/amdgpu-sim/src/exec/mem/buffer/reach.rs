//! The addresses of buffer accesses, and their bounds.

use crate::exec::lanes::lanes;
use crate::exec::mem::env::Env;
use crate::exec::mem::fault::{AccessFault, Checked};
use crate::exec::mem::space::{Addresses, Private, Space, View};
use crate::exec::mem::transfer::{NOWHERE, Shape, Width};
use crate::exec::{Ctx, LANES, Micro, Wave};
use crate::fault::{Access, Denied, Space as SpaceName};
use crate::memory::bulk;

/// `aux`: bits 4:0 the shape, then flags, bits 31:16 the offset.
pub(super) const RETURNS: u32 = 1 << 5;
pub(super) const OFFEN: u32 = 1 << 6;
pub(super) const IDXEN: u32 = 1 << 7;
/// The register after the data is set to zero: no page was missing.
pub(super) const TFE: u32 = 1 << 8;

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
    #[inline]
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
pub(super) trait Action {
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
pub(super) fn reach<A: Action>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, action: &mut A) -> Checked {
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
pub(super) fn scratch_row(w: &Wave, m: &Micro, ctx: &Ctx<'_>, shape: Shape) -> Option<u64> {
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

/// The additional result of a load with `tfe`: the register after the data.
pub(super) fn residency(w: &mut Wave, row: u16) {
    let mask = w.exec();
    lanes(mask).for_each(|lane| w.row_mut(row)[lane] = 0);
}
