//! Sums of absolute differences of bytes, at four positions in a sequence of eight.

use super::entry::{Entry, Mask, Place};
use super::lane_loop::operations;
use super::lane_mask::write;
use super::operand::prepare;
use super::preparation::Kind;
use crate::exec::{Ctx, Flow, LANES, Micro, Wave};
use crate::isa::Op;

/// The sum of the absolute differences of four bytes; `MASKED` ignores reference bytes that are zero.
#[inline(always)]
fn difference<const MASKED: bool>(bytes: u32, reference: u32) -> u32 {
    let mut sum = 0;
    for i in 0..4 {
        let (a, b) = (bytes >> (8 * i) & 0xff, reference >> (8 * i) & 0xff);
        sum += if MASKED && b == 0 { 0 } else { a.abs_diff(b) };
    }
    sum
}

/// Four sums, of the bytes from position 0, 1, 2 and 3 on, each added to 16 bits of `c`.
#[inline(always)]
fn halves<const MASKED: bool, const CLAMP: bool>(bytes: u64, reference: u32, c: u64) -> u64 {
    let mut all = 0;
    for i in 0..4 {
        let sum = (c >> (16 * i) & 0xffff) + u64::from(difference::<MASKED>((bytes >> (8 * i)) as u32, reference));
        all |= (if CLAMP { sum.min(0xffff) } else { sum & 0xffff }) << (16 * i);
    }
    all
}

operations! { plain;
    v_qsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 = halves::<false, false>(a, b, c);
    v_mqsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 = halves::<true, false>(a, b, c);
}

operations! { clamped;
    v_qsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 = halves::<false, true>(a, b, c);
    v_mqsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 = halves::<true, true>(a, b, c);
}

/// Four sums, each added to a word of the four registers of the third source.
fn words<const CLAMP: bool>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let mask = if m.pre == 0 { w.exec() } else { prepare(w, m, ctx) };
    let mut out = [[0; LANES]; 4];
    for (i, out) in out.iter_mut().enumerate() {
        let (low, high, reference) = (w.row(m.src[0]), w.row(m.src[0] + 1), w.row(m.src[1]));
        let c = w.row(m.src[2] + i as u16);
        for lane in 0..LANES {
            let bytes = (u64::from(low[lane]) | u64::from(high[lane]) << 32) >> (8 * i);
            let sum = difference::<true>(bytes as u32, reference[lane]);
            out[lane] = if CLAMP { c[lane].saturating_add(sum) } else { c[lane].wrapping_add(sum) };
        }
    }
    for (i, out) in out.iter().enumerate() {
        write::<false>(w.row_mut(m.dst + i as u16), out, mask);
    }
    Flow::Next
}

/// The operations of this module.
pub(super) fn table(op: Op, fast: bool, clamp: bool) -> Option<Entry> {
    if op == Op::v_mqsad_u32_u8 {
        // The third source has four registers and cannot be prepared: `lower` finds its rows.
        let run = if clamp { words::<true> } else { words::<false> };
        return Some(Entry { run, src: &[Kind::U64, Kind::B32], dst: Place::Vector(Kind::B32), mask: Mask::None });
    }
    if clamp { clamped(op, fast) } else { plain(op, fast) }
}
