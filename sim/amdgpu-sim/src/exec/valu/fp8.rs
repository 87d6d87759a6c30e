//! The 8-bit floats of gfx942: FP8 (4 exponent bits, bias 8) and BF8 (5 exponent bits, bias 16).
//!
//! Neither has infinities or a negative zero: the code of the latter is the only NaN.

use super::entry::{Entry, Mask, Place};
use super::lane_loop::operations;
use super::lane_mask::write;
use super::operand::prepare;
use super::pair::Pair32;
use super::preparation::Kind;
use crate::exec::{Ctx, Flow, Handler, LANES, Micro, Wave};
use crate::isa::Op;
use crate::isa::inst::Inst;

/// The only NaN.
const NAN: u32 = 0x80;

/// Decodes a code with `M` mantissa bits.
#[inline(always)]
fn widen<const M: u32>(code: u32) -> f32 {
    let bias = if M == 3 { 8 } else { 16 };
    let magnitude = code & 0x7f;
    let (exponent, mantissa) = (magnitude >> M, magnitude & ((1 << M) - 1));
    // Powers of two are exact in single precision, and so are the products.
    let power = |n: i32| f32::from_bits(((n + 127) as u32) << 23);
    let value = if exponent == 0 {
        mantissa as f32 * power(1 - bias - M as i32)
    } else {
        (mantissa | 1 << M) as f32 * power(exponent as i32 - bias - M as i32)
    };
    if code & 0xff == NAN {
        f32::NAN
    } else if code & 0x80 != 0 {
        -value
    } else {
        value
    }
}

/// The rounding of a value between two codes.
#[derive(Clone, Copy)]
enum Rounding {
    /// To the nearest, ties to even.
    Nearest,
    /// Up if the dropped part plus the upper bits of this seed carry.
    Seed(u32),
}

/// Encodes a single with `M` mantissa bits. With `saturate`, finite values stay finite.
#[inline(always)]
fn narrow<const M: u32>(x: f32, rounding: Rounding, saturate: bool) -> u32 {
    let bias = if M == 3 { 8 } else { 16 };
    let bits = x.to_bits();
    let sign = bits >> 24 & 0x80;
    let exponent = (bits >> 23 & 0xff) as i32;
    if exponent == 0xff {
        return NAN;
    }
    // The exponent field of the code, and the number of bits that the 24-bit mantissa loses.
    let field = exponent - 127 + bias;
    let dropped = 23 - M;
    let mantissa = bits & 0x7f_ffff | u32::from(exponent != 0) << 23;
    // A denormal code: its last place is that of the smallest normal one.
    let shift = (1 - field).clamp(0, 31) as u32;
    let (kept, rest) = match rounding {
        Rounding::Nearest => {
            let wide = u64::from(mantissa) << 32 >> shift;
            let kept = (wide >> (32 + dropped)) as u32;
            let rest = wide & ((1 << (32 + dropped)) - 1);
            let half = 1_u64 << (31 + dropped);
            (kept, rest > half || rest == half && kept & 1 == 1)
        }
        Rounding::Seed(seed) => {
            let aligned = mantissa >> shift;
            let rest = aligned & ((1 << dropped) - 1);
            (aligned >> dropped, (rest + (seed >> (32 - dropped))) >> dropped != 0)
        }
    };
    // `kept` has the implicit bit if the code is normal, and a carry propagates into the exponent.
    let base = if field >= 1 { (field as u32 - 1) << M } else { 0 };
    let magnitude = base + kept + u32::from(rest);
    if magnitude > 0x7f {
        return if saturate { sign | 0x7f } else { NAN };
    }
    if magnitude == 0 { 0 } else { sign | magnitude }
}

operations! { table;
    v_cvt_f32_fp8(a: u32) -> f32 = widen::<3>(a);
    v_cvt_f32_bf8(a: u32) -> f32 = widen::<2>(a);
    v_cvt_pk_f32_fp8(a: u32) -> Pair32 = pair(widen::<3>(a), widen::<3>(a >> 8));
    v_cvt_pk_f32_bf8(a: u32) -> Pair32 = pair(widen::<2>(a), widen::<2>(a >> 8));
}

#[inline(always)]
fn pair(low: f32, high: f32) -> Pair32 {
    Pair32(u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32)
}

/// MODE's FP16_OVFL: overflow gives the largest finite values.
fn saturates(w: &Wave) -> bool {
    w.mode.0 >> 23 & 1 != 0
}

/// Two codes, written to the half of the destination that `aux` selects (in bits).
fn pack<const M: u32>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let mask = if m.pre == 0 { w.exec() } else { prepare(w, m, ctx) };
    let saturate = saturates(w);
    let mut out = *w.row(m.dst);
    let (a, b) = (w.row(m.src[0]), w.row(m.src[1]));
    for lane in 0..LANES {
        let code = |bits| narrow::<M>(f32::from_bits(bits), Rounding::Nearest, saturate);
        let both = code(a[lane]) | code(b[lane]) << 8;
        out[lane] = out[lane] & !(0xffff << m.aux) | both << m.aux;
    }
    write::<false>(w.row_mut(m.dst), &out, mask);
    Flow::Next
}

/// One code, rounded by the second source, written to the byte of the destination that `aux` selects (in bits).
fn stochastic<const M: u32>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let mask = if m.pre == 0 { w.exec() } else { prepare(w, m, ctx) };
    let saturate = saturates(w);
    let mut out = *w.row(m.dst);
    let (a, seed) = (w.row(m.src[0]), w.row(m.src[1]));
    for lane in 0..LANES {
        let code = narrow::<M>(f32::from_bits(a[lane]), Rounding::Seed(seed[lane]), saturate);
        out[lane] = out[lane] & !(0xff << m.aux) | code << m.aux;
    }
    write::<false>(w.row_mut(m.dst), &out, mask);
    Flow::Next
}

/// The operations that keep a part of their destination. Stores in `m` which part they write.
pub(super) fn entry_of(inst: &Inst, m: &mut Micro) -> Option<Entry> {
    let op_sel = u32::from(inst.mods.op_sel);
    let (run, src, place): (Handler, &'static [Kind], u32) = match inst.op {
        Op::v_cvt_pk_fp8_f32 => (pack::<3>, &[Kind::F32; 2], 16 * (op_sel >> 3 & 1)),
        Op::v_cvt_pk_bf8_f32 => (pack::<2>, &[Kind::F32; 2], 16 * (op_sel >> 3 & 1)),
        Op::v_cvt_sr_fp8_f32 => (stochastic::<3>, &[Kind::F32, Kind::B32], 8 * (op_sel >> 2 & 3)),
        Op::v_cvt_sr_bf8_f32 => (stochastic::<2>, &[Kind::F32, Kind::B32], 8 * (op_sel >> 2 & 3)),
        _ => return None,
    };
    m.aux = place;
    Some(Entry { run, src, dst: Place::Vector(Kind::B32), mask: Mask::None })
}
