//! The steps of IEEE division: scaling, refinement with the scaling undone, and special cases.
//!
//! A compiler divides by `div_scale` of both operands, Newton's iteration on a reciprocal, `div_fmas` and `div_fixup`.
//! The scaling keeps every intermediate value normal. If only one operand is scaled, VCC makes `div_fmas` undo that.

use super::entry::{Entry, Mask, Place};
use super::lane::Lane;
use super::lane_loop::{Results, loops, operations, pair, prepared, store, target};
use super::lane_mask::{gather, spread};
use crate::exec::LANES;
use crate::isa::Op;

/// The scaling in a float format.
trait Scale: Lane + PartialEq {
    /// `which` (one of the operands) scaled, and whether the lane's VCC bit is set.
    fn scale(which: Self, denominator: Self, numerator: Self) -> (Self, bool);
    /// `a * b + c` rounded once, with the scaling undone if `undo`.
    fn fmas(a: Self, b: Self, c: Self, undo: bool) -> Self;
}

/// The power of two by which `which` is scaled, and whether `div_fmas` undoes it.
#[inline(always)]
fn choose(which_is_denominator: bool, which_is_numerator: bool, d: i32, n: i32, f: &Format) -> (i32, bool) {
    // `d` and `n` are exponents, for denormals as if they were normalised.
    let quotient = n - d;
    let denominator_denormal = d < f.least;
    let reciprocal_denormal = -d <= f.least;
    let quotient_denormal = quotient <= f.least;
    if quotient >= f.large {
        // Near overflow, only the denominator is scaled.
        (if which_is_denominator { f.step } else { 0 }, true)
    } else if denominator_denormal {
        (f.step, false)
    } else if reciprocal_denormal && quotient_denormal {
        (if which_is_denominator { -f.step } else { 0 }, true)
    } else if reciprocal_denormal {
        (-f.step, false)
    } else if quotient_denormal {
        (if which_is_numerator { f.step } else { 0 }, true)
    } else if n < f.least + f.tiny {
        (f.step, false)
    } else {
        (0, false)
    }
}

/// The constants of a float format.
struct Format {
    /// The least exponent of a normal number.
    least: i32,
    /// The difference of exponents from which the quotient may overflow.
    large: i32,
    /// The exponent of the scale factor.
    step: i32,
    /// Numerators less than this many powers of two above the smallest normal number are scaled up.
    tiny: i32,
}

const SINGLE: Format = Format { least: -126, large: 96, step: 64, tiny: 23 };
const DOUBLE: Format = Format { least: -1022, large: 768, step: 128, tiny: 53 };

#[inline(always)]
fn exponent64(x: f64) -> i32 {
    let normal = x.to_bits() & 0x7ff0_0000_0000_0000 != 0;
    let grown = x * f64::from_bits((1023 + 54) << 52);
    let bits = if normal { x.to_bits() } else { grown.to_bits() };
    (bits >> 52 & 0x7ff) as i32 - 1023 - if normal { 0 } else { 54 }
}

impl Scale for f32 {
    #[inline(always)]
    fn scale(which: f32, denominator: f32, numerator: f32) -> (f32, bool) {
        // In double precision, every such value is normal.
        let exponent = |x: f32| (f64::from(x).to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let special = denominator == 0.0 || numerator == 0.0;
        let (powers, undo) = choose(
            which.to_bits() == denominator.to_bits(),
            which.to_bits() == numerator.to_bits(),
            exponent(denominator),
            exponent(numerator),
            &SINGLE,
        );
        let infinite = !denominator.is_finite() || !numerator.is_finite();
        let (powers, undo) = if infinite { (0, false) } else { (powers, undo) };
        let scaled = super::f32::ldexp(which, powers);
        if special { (f32::NAN, false) } else { (scaled, undo) }
    }

    #[inline(always)]
    fn fmas(a: f32, b: f32, c: f32, undo: bool) -> f32 {
        if !undo {
            return a.mul_add(b, c);
        }
        // The product is exact in double; rounding the sum to odd is harmless when it is rounded again.
        let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
        let sum = product + addend;
        let tail = sum - product;
        let error = (product - (sum - tail)) + (addend - tail);
        let up = if (error > 0.0) == (sum > 0.0) { sum.to_bits() } else { sum.to_bits().wrapping_sub(1) };
        let odd = if error == 0.0 || !sum.is_finite() { sum } else { f64::from_bits(up | 1) };
        let powers = if exponent64(f64::from(c)) > 0 { 64 } else { -64 };
        super::f64::ldexp(odd, powers) as f32
    }
}

impl Scale for f64 {
    #[inline(always)]
    fn scale(which: f64, denominator: f64, numerator: f64) -> (f64, bool) {
        let special = denominator == 0.0 || numerator == 0.0;
        let (powers, undo) = choose(
            which.to_bits() == denominator.to_bits(),
            which.to_bits() == numerator.to_bits(),
            exponent64(denominator),
            exponent64(numerator),
            &DOUBLE,
        );
        let infinite = !denominator.is_finite() || !numerator.is_finite();
        let (powers, undo) = if infinite { (0, false) } else { (powers, undo) };
        let scaled = super::f64::ldexp(which, powers);
        if special { (f64::NAN, false) } else { (scaled, undo) }
    }

    #[inline(always)]
    fn fmas(a: f64, b: f64, c: f64, undo: bool) -> f64 {
        let sum = a.mul_add(b, c);
        if !undo {
            return sum;
        }
        if exponent64(c) > 0 {
            return super::f64::ldexp(sum, 128);
        }
        let scaled = super::f64::ldexp(sum, -128);
        if scaled.abs() > f64::MIN_POSITIVE || !sum.is_finite() {
            return scaled;
        }
        // A denormal result (or one that was rounded up to the smallest normal number): the sum has already been rounded. That matters only
        // if it now is halfway between two results, and the first rounding dropped a nonzero part.
        let error = a.mul_add(b, -(sum - c));
        let rest = sum - super::f64::ldexp(scaled, 128);
        let halfway = super::f64::ldexp(1.0, -1075 + 128);
        if rest.abs() == halfway && error != 0.0 && (error > 0.0) == (rest > 0.0) {
            let step = f64::from_bits(1);
            if rest > 0.0 { scaled + step } else { scaled - step }
        } else {
            scaled
        }
    }
}

loops! {
    fn div_scale<T: Scale>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let (mut results, mut flags) = (Results::ZERO, [0; LANES]);
        let [a, b, c] = [0, 1, 2].map(|i| pair::<T>(rows, m.src[i]));
        for i in 0..LANES {
            let (a, b, c) = (T::get(a.0, a.1, i), T::get(b.0, b.1, i), T::get(c.0, c.1, i));
            let (value, flag) = T::scale(a, b, c);
            value.put(&mut results.low, &mut results.high, i);
            flags[i] = if flag { u32::MAX } else { 0 };
        }
        results.write::<T>(rows, to);
        let out = gather::<FAST>(&flags);
        w.set_slot64(m.dst2, out & mask);
        store::<T, FAST>(w, m, ctx, mask)
    }

    fn div_fmas<T: Scale>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let undo = spread(w.slot64(m.src[3]));
        let (to, rows) = (usize::from(target(w, m, mask)), &mut w.rows);
        let mut results = Results::ZERO;
        let [a, b, c] = [0, 1, 2].map(|i| pair::<T>(rows, m.src[i]));
        for i in 0..LANES {
            let (a, b, c) = (T::get(a.0, a.1, i), T::get(b.0, b.1, i), T::get(c.0, c.1, i));
            T::fmas(a, b, c, undo[i] != 0).put(&mut results.low, &mut results.high, i);
        }
        results.write::<T>(rows, to);
        store::<T, FAST>(w, m, ctx, mask)
    }
}

#[inline(always)]
fn fixup32(quotient: f32, denominator: f32, numerator: f32) -> f32 {
    let quiet = |x: f32| f32::from_bits(x.to_bits() | 0x40_0000);
    let sign = (denominator.to_bits() ^ numerator.to_bits()) & 0x8000_0000;
    let (d, n) = (denominator.abs(), numerator.abs());
    let exponent = |x: f32| (x.to_bits() >> 23 & 0xff) as i32;
    let signed = |x: f32| f32::from_bits(x.to_bits() & 0x7fff_ffff | sign);
    // Newton's iteration on a quotient far beyond the range ends in infinity minus infinity.
    let quotient = if quotient.is_nan() { f32::INFINITY } else { quotient };
    let value = if exponent(numerator) - exponent(denominator) < -150 { signed(0.0) } else { signed(quotient) };
    let value = if d == f32::INFINITY || n == 0.0 { signed(0.0) } else { value };
    let value = if d == 0.0 || n == f32::INFINITY { signed(f32::INFINITY) } else { value };
    let value = if d == n && (d == 0.0 || d == f32::INFINITY) { f32::from_bits(0xffc0_0000) } else { value };
    let value = if denominator.is_nan() { quiet(denominator) } else { value };
    if numerator.is_nan() { quiet(numerator) } else { value }
}

#[inline(always)]
fn fixup64(quotient: f64, denominator: f64, numerator: f64) -> f64 {
    let quiet = |x: f64| f64::from_bits(x.to_bits() | 1 << 51);
    let sign = (denominator.to_bits() ^ numerator.to_bits()) & 1 << 63;
    let (d, n) = (denominator.abs(), numerator.abs());
    let exponent = |x: f64| (x.to_bits() >> 52 & 0x7ff) as i32;
    let signed = |x: f64| f64::from_bits(x.to_bits() & (u64::MAX >> 1) | sign);
    let quotient = if quotient.is_nan() { f64::INFINITY } else { quotient };
    let value = if exponent(numerator) - exponent(denominator) < -1075 { signed(0.0) } else { signed(quotient) };
    let value = if d == f64::INFINITY || n == 0.0 { signed(0.0) } else { value };
    let value = if d == 0.0 || n == f64::INFINITY { signed(f64::INFINITY) } else { value };
    let value = if d == n && (d == 0.0 || d == f64::INFINITY) { f64::from_bits(0xfff8 << 48) } else { value };
    let value = if denominator.is_nan() { quiet(denominator) } else { value };
    if numerator.is_nan() { quiet(numerator) } else { value }
}

operations! { fixups;
    v_div_fixup_f32(a: f32, b: f32, c: f32) -> f32 = fixup32(a, b, c);
    v_div_fixup_f64(a: f64, b: f64, c: f64) -> f64 = fixup64(a, b, c);
}

/// The steps of a division.
pub(super) fn table(op: Op, fast: bool) -> Option<Entry> {
    fn scale<T: Scale>(fast: bool) -> Entry {
        let src = const { &[T::KIND; 3] };
        Entry { run: div_scale::<T>(fast), src, dst: Place::Vector(T::KIND), mask: Mask::Out }
    }
    fn fmas<T: Scale>(fast: bool) -> Entry {
        let src = const { &[T::KIND; 3] };
        Entry { run: div_fmas::<T>(fast), src, dst: Place::Vector(T::KIND), mask: Mask::Vcc }
    }
    Some(match op {
        Op::v_div_scale_f32 => scale::<f32>(fast),
        Op::v_div_scale_f64 => scale::<f64>(fast),
        Op::v_div_fmas_f32 => fmas::<f32>(fast),
        Op::v_div_fmas_f64 => fmas::<f64>(fast),
        _ => return fixups(op, fast),
    })
}
