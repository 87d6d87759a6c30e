//! Arithmetic in every rounding mode, and with half-precision overflow limited: exact sums and products in integers,
//! rounded once.
//!
//! Only code that can leave the default mode (to nearest even) is lowered to this. While the mode is the default one,
//! the vectorised handler runs even there: see [`Choice`].

use super::directed::{Directed, Formula};
use super::entry::Entry;
use super::half::F16;
use super::lane_loop::store_result;
use super::operand::prepare;
use super::preparation::Kind;
use super::table::entry;
use crate::exec::program::Choice;
use crate::exec::{Ctx, Flow, LANES, Lowering, Micro, Mode, Wave};
use crate::isa::Op;

/// The format that a result is rounded to.
#[derive(Clone, Copy)]
struct Target {
    /// The precision in bits, including the implicit one.
    precision: i32,
    /// The least exponent of a normal number.
    least: i32,
    /// The bits of infinity.
    infinity: u64,
    /// The total width in bits.
    width: u32,
}

const HALF: Target = Target { precision: 11, least: -14, infinity: 0x7c00, width: 16 };
const SINGLE: Target = Target { precision: 24, least: -126, infinity: 0x7f80_0000, width: 32 };
const DOUBLE: Target = Target { precision: 53, least: -1022, infinity: 0x7ff0 << 48, width: 64 };

/// A rounding mode, as MODE numbers them, and whether overflow is limited to the largest finite number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Rounding {
    mode: u32,
    limit: bool,
}

impl Rounding {
    const NEAREST: Rounding = Rounding { mode: 0, limit: false };

    /// The mode for single precision.
    fn single(mode: Mode) -> Self {
        Self { mode: mode.0 & 3, limit: false }
    }

    /// The mode for half precision.
    fn half(mode: Mode) -> Self {
        Self { mode: mode.0 >> 2 & 3, limit: mode.0 >> 23 & 1 == 1 }
    }

    /// The mode for double precision.
    fn double(mode: Mode) -> Self {
        Self { mode: mode.0 >> 2 & 3, limit: false }
    }

    /// Returns whether the dropped bits round the result away from zero.
    fn away(self, negative: bool, odd: bool, rest: u128, half: u128) -> bool {
        match self.mode {
            0 => rest > half || rest == half && odd,
            1 => rest != 0 && !negative,
            2 => rest != 0 && negative,
            _ => false,
        }
    }

    /// Returns whether overflow gives infinity.
    fn overflows(self, negative: bool) -> bool {
        !self.limit
            && match self.mode {
                0 => true,
                1 => !negative,
                2 => negative,
                _ => false,
            }
    }
}

/// A finite number: `(-1)^negative * magnitude * 2^exponent`. The lowest bit may be sticky.
#[derive(Clone, Copy)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

/// The position of the top bit of a magnitude for additions: leaves room for a carry, and for the bits that a shift
/// drops.
const TOP: i32 = 124;

impl Exact {
    fn of(x: f64) -> Exact {
        let bits = x.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let mantissa = bits & ((1 << 52) - 1) | u64::from(field != 0) << 52;
        Exact { negative: bits >> 63 == 1, magnitude: u128::from(mantissa), exponent: field.max(1) - 1075 }
    }

    fn integer(x: i64) -> Exact {
        Exact { negative: x < 0, magnitude: u128::from(x.unsigned_abs()), exponent: 0 }
    }

    fn times(self, b: Exact) -> Exact {
        Exact {
            negative: self.negative != b.negative,
            magnitude: self.magnitude * b.magnitude,
            exponent: self.exponent + b.exponent,
        }
    }

    /// Shifts the top bit to `TOP`.
    fn normal(self) -> Exact {
        let up = self.magnitude.leading_zeros() as i32 - (127 - TOP);
        // Products have 106 bits, integers 64: there is always room.
        Exact { magnitude: self.magnitude << up.max(0), exponent: self.exponent - up.max(0), ..self }
    }

    /// The sum; dropped bits set the lowest bit.
    fn plus(self, b: Exact, rounding: Rounding) -> Exact {
        if self.magnitude == 0 || b.magnitude == 0 {
            if self.magnitude == b.magnitude {
                let negative = if self.negative == b.negative { self.negative } else { rounding.mode == 2 };
                return Exact { negative, ..self };
            }
            return if self.magnitude == 0 { b } else { self };
        }
        let (a, b) = (self.normal(), b.normal());
        let (large, small) = if a.exponent >= b.exponent { (a, b) } else { (b, a) };
        let by = (large.exponent - small.exponent) as u32;
        let (shifted, lost) =
            if by >= 128 { (0, true) } else { (small.magnitude >> by, small.magnitude & ((1_u128 << by) - 1) != 0) };
        let small_magnitude = shifted | u128::from(lost);
        if large.negative == small.negative {
            return Exact { magnitude: large.magnitude + small_magnitude, ..large };
        }
        let (magnitude, negative) = if large.magnitude >= small_magnitude {
            (large.magnitude - small_magnitude, large.negative)
        } else {
            (small_magnitude - large.magnitude, small.negative)
        };
        let negative = if magnitude == 0 { rounding.mode == 2 } else { negative };
        Exact { negative, magnitude, ..large }
    }

    /// Rounds to the format in the given mode.
    fn round(self, target: Target, rounding: Rounding) -> u64 {
        let sign = u64::from(self.negative) << (target.width - 1);
        if self.magnitude == 0 {
            return sign;
        }
        let top = self.exponent + 127 - self.magnitude.leading_zeros() as i32;
        let largest = if rounding.overflows(self.negative) { target.infinity } else { target.infinity - 1 };
        if top > 1 - target.least {
            return sign | largest;
        }
        // The exponent of the last place.
        let last = top.max(target.least) - (target.precision - 1);
        let by = last - self.exponent;
        let (kept, rest, half) = if by <= 0 {
            ((self.magnitude << -by) as u64, 0, 1)
        } else if by >= 128 {
            // Less than half of the last place.
            (0, 1, 2)
        } else {
            let rest = self.magnitude & ((1_u128 << by) - 1);
            ((self.magnitude >> by) as u64, rest, 1_u128 << (by - 1))
        };
        let kept = kept + u64::from(rounding.away(self.negative, kept & 1 == 1, rest, half));
        // A carry propagates into the exponent, from denormal numbers too.
        let code = kept + (((last + target.precision - 1 - target.least) as u64) << (target.precision - 1));
        sign | if code < target.infinity { code } else { largest }
    }
}

/// `(a * b + c) * 2^scale`, rounded once.
fn fused(a: f64, b: f64, c: f64, scale: i32, target: Target, rounding: Rounding) -> u64 {
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return special(a * b + c, target);
    }
    let sum = Exact::of(a).times(Exact::of(b)).plus(Exact::of(c), rounding);
    Exact { exponent: sum.exponent + scale, ..sum }.round(target, rounding)
}

fn product(a: f64, b: f64, target: Target, rounding: Rounding) -> u64 {
    if !(a.is_finite() && b.is_finite()) {
        return special(a * b, target);
    }
    Exact::of(a).times(Exact::of(b)).round(target, rounding)
}

fn sum(a: f64, b: f64, target: Target, rounding: Rounding) -> u64 {
    if !(a.is_finite() && b.is_finite()) {
        return special(a + b, target);
    }
    Exact::of(a).plus(Exact::of(b), rounding).round(target, rounding)
}

fn converted(a: f64, target: Target, rounding: Rounding) -> u64 {
    if a.is_finite() { Exact::of(a).round(target, rounding) } else { special(a, target) }
}

fn scaled(a: f64, by: i32, target: Target, rounding: Rounding) -> u64 {
    if !a.is_finite() {
        return special(a, target);
    }
    let x = Exact::of(a);
    Exact { exponent: x.exponent + by.clamp(-5000, 5000), ..x }.round(target, rounding)
}

/// An infinity or NaN (quiet).
fn special(x: f64, target: Target) -> u64 {
    match target.width {
        16 => u64::from(F16::from_f32(x as f32).0),
        32 => u64::from((x as f32).to_bits()),
        _ => (x + x).to_bits(),
    }
}

/// The formula of an operation whose result depends on the rounding mode, and the kind of its result.
fn formula(op: Op) -> Option<(Formula, Kind)> {
    use Formula::*;
    use Kind::{F16, F32, F64, PF16, PF32};
    Some(match op {
        Op::v_add_f32 => (Add, F32),
        Op::v_sub_f32 => (Sub, F32),
        Op::v_subrev_f32 => (SubReversed, F32),
        Op::v_mul_f32 => (Mul, F32),
        Op::v_mul_legacy_f32 => (MulLegacy, F32),
        Op::v_fma_f32 | Op::v_fmac_f32 | Op::v_fmamk_f32 | Op::v_fmaak_f32 | Op::v_fma_mix_f32 => (Fma, F32),
        Op::v_mad_f32 | Op::v_mac_f32 | Op::v_madmk_f32 | Op::v_madak_f32 => (Mad, F32),
        Op::v_mad_legacy_f32 => (MadLegacy, F32),
        Op::v_ldexp_f32 => (Ldexp, F32),
        Op::v_cvt_f32_f64 => (Convert, F32),
        Op::v_cvt_f32_i32 => (FromSigned, F32),
        Op::v_cvt_f32_u32 => (FromUnsigned, F32),
        Op::v_div_fmas_f32 => (Fmas, F32),
        Op::v_dot2_f32_f16 | Op::v_dot2c_f32_f16 => (Dot2, F32),
        Op::v_add_f64 => (Add, F64),
        Op::v_mul_f64 => (Mul, F64),
        Op::v_fma_f64 | Op::v_fmac_f64 => (Fma, F64),
        Op::v_ldexp_f64 => (Ldexp, F64),
        Op::v_div_fmas_f64 => (Fmas, F64),
        Op::v_add_f16 => (Add, F16),
        Op::v_sub_f16 => (Sub, F16),
        Op::v_subrev_f16 => (SubReversed, F16),
        Op::v_mul_f16 => (Mul, F16),
        Op::v_fma_f16 | Op::v_fma_legacy_f16 => (Fma, F16),
        Op::v_mad_f16 | Op::v_mac_f16 | Op::v_madmk_f16 | Op::v_madak_f16 | Op::v_mad_legacy_f16 => (Mad, F16),
        Op::v_ldexp_f16 => (Ldexp, F16),
        Op::v_cvt_f16_f32 => (Convert, F16),
        Op::v_cvt_f16_i16 => (FromSigned, F16),
        Op::v_cvt_f16_u16 => (FromUnsigned, F16),
        Op::v_fma_mixlo_f16 | Op::v_fma_mixhi_f16 => (MixHalf, F16),
        Op::v_pk_add_f16 => (Add, PF16),
        Op::v_pk_mul_f16 => (Mul, PF16),
        Op::v_pk_fma_f16 | Op::v_pk_fmac_f16 => (Fma, PF16),
        Op::v_pk_add_f32 => (Add, PF32),
        Op::v_pk_mul_f32 => (Mul, PF32),
        Op::v_pk_fma_f32 => (Fma, PF32),
        _ => return None,
    })
}

/// Returns `found`, or an entry that chooses a handler by MODE if the code can change the relevant bits.
pub(super) fn choose(op: Op, found: Entry, l: &mut Lowering, m: &mut Micro) -> Option<Entry> {
    let choice = if l.rounds {
        formula(op).map(|(formula, kind)| {
            let mut sources = [Kind::B32; 3];
            for (to, from) in sources.iter_mut().zip(found.src) {
                *to = *from;
            }
            Choice::Rounding { nearest: found.run, directed: Directed { formula, kind, sources } }
        })
    } else {
        None
    };
    let choice = match choice {
        None if l.changes_ieee && is_minmax(op) => {
            let (on, off) = (entry(op, l.avx2, true)?.run, entry(op, l.avx2, false)?.run);
            Some(Choice::Ieee { on, off })
        }
        other => other,
    };
    let Some(choice) = choice else { return Some(found) };
    m.aux = l.push_choice(choice)?;
    Some(Entry { run: chosen, ..found })
}

fn is_minmax(op: Op) -> bool {
    let name = op.mnemonic();
    let float = name.ends_with("_f16") || name.ends_with("_f32") || name.ends_with("_f64");
    float && (name.contains("min") || name.contains("max") || name.contains("med3"))
}

fn chosen(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
    let handler = match ctx.program.choices[m.aux as usize] {
        Choice::Ieee { on, off } => {
            if w.mode.ieee() {
                on
            } else {
                off
            }
        }
        Choice::Rounding { nearest, directed } => {
            let usual = match directed.kind {
                Kind::F32 | Kind::PF32 => Rounding::single(w.mode) == Rounding::NEAREST,
                Kind::F64 => Rounding::double(w.mode) == Rounding::NEAREST,
                // A mixed operation rounds to single first.
                _ => Rounding::half(w.mode) == Rounding::NEAREST && w.mode.0 & 3 == 0,
            };
            if !usual {
                return run(w, m, ctx, &directed);
            }
            nearest
        }
    };
    // SAFETY: lowering chose the handler for this CPU, as it does for `Micro::run`.
    unsafe { handler(w, m, ctx) }
}

/// The operands of a lane, as bits: 64 for wide ones.
fn operands(w: &Wave, m: &Micro, d: &Directed, lane: usize) -> [u64; 3] {
    std::array::from_fn(|i| {
        let row = m.src[i];
        let low = w.rows.get(usize::from(row)).map_or(0, |r| r.0[lane]);
        let high = if d.sources[i].wide() { w.rows.get(usize::from(row) + 1).map_or(0, |r| r.0[lane]) } else { 0 };
        u64::from(low) | u64::from(high) << 32
    })
}

/// A source of `kind` as a number.
fn number(bits: u64, kind: Kind) -> f64 {
    match kind {
        Kind::F64 => f64::from_bits(bits),
        Kind::F16 | Kind::PF16 => f64::from(F16(bits as u16).to_f32()),
        _ => f64::from(f32::from_bits(bits as u32)),
    }
}

fn run(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>, d: &Directed) -> Flow {
    let mask = if m.pre == 0 { w.exec() } else { prepare(w, m, ctx) };
    let mode = w.mode;
    let undo = if d.formula == Formula::Fmas { w.slot64(m.src[3]) } else { 0 };
    let mut out = [0; LANES];
    for (lane, out) in out.iter_mut().enumerate() {
        if mask >> lane & 1 == 0 {
            continue;
        }
        let x = operands(w, m, d, lane);
        *out = match d.kind {
            Kind::PF16 => {
                let half = |shift: u32| value(d, x.map(|x| x >> shift & 0xffff), mode, false);
                half(0) | half(16) << 16
            }
            Kind::PF32 => {
                let half = |shift: u32| value(d, x.map(|x| x >> shift & 0xffff_ffff), mode, false);
                half(0) | half(32) << 32
            }
            _ => value(d, x, mode, undo >> lane & 1 == 1),
        };
    }
    {
        let (_, [low, high]) = w.rows_and_result();
        for lane in 0..LANES {
            low[lane] = out[lane] as u32;
            high[lane] = (out[lane] >> 32) as u32;
        }
    }
    if d.kind.wide() {
        store_result::<u64, false>(w, m, ctx, mask)
    } else {
        store_result::<u32, false>(w, m, ctx, mask)
    }
}

/// The result of one lane (for packed operations, of one of two values).
fn value(d: &Directed, x: [u64; 3], mode: Mode, undo: bool) -> u64 {
    let (target, rounding) = match d.kind {
        Kind::F64 => (DOUBLE, Rounding::double(mode)),
        Kind::F16 | Kind::PF16 => (HALF, Rounding::half(mode)),
        _ => (SINGLE, Rounding::single(mode)),
    };
    let [a, b, c] = std::array::from_fn(|i| number(x[i], d.sources[i]));
    match d.formula {
        Formula::Add => sum(a, b, target, rounding),
        Formula::Sub => sum(a, -b, target, rounding),
        Formula::SubReversed => sum(b, -a, target, rounding),
        Formula::Mul => product(a, b, target, rounding),
        Formula::MulLegacy if a == 0.0 || b == 0.0 => 0,
        Formula::MulLegacy => product(a, b, target, rounding),
        Formula::Fma => fused(a, b, c, 0, target, rounding),
        Formula::Mad | Formula::MadLegacy => mad(d, [a, b, c], target, rounding),
        Formula::Ldexp => {
            let by = if d.kind == Kind::F16 { i32::from(x[1] as u16 as i16) } else { x[1] as u32 as i32 };
            scaled(a, by, target, rounding)
        }
        Formula::Convert => converted(a, target, rounding),
        Formula::FromSigned => {
            let n = if d.kind == Kind::F16 { i64::from(x[0] as u16 as i16) } else { i64::from(x[0] as u32 as i32) };
            Exact::integer(n).round(target, rounding)
        }
        Formula::FromUnsigned => {
            let n = if d.kind == Kind::F16 { x[0] & 0xffff } else { x[0] & 0xffff_ffff };
            Exact::integer(n as i64).round(target, rounding)
        }
        Formula::Fmas => {
            let step = if d.kind == Kind::F64 { 128 } else { 64 };
            // The third source's magnitude reveals which operand was scaled.
            let scale = match (undo, c.abs() >= 2.0) {
                (false, _) => 0,
                (true, true) => step,
                (true, false) => -step,
            };
            fused(a, b, c, scale, target, rounding)
        }
        Formula::Dot2 => {
            let half = |x: u64, shift: u32| number(x >> shift & 0xffff, Kind::F16);
            let low = fused(half(x[0], 0), half(x[1], 0), c, 0, target, rounding);
            fused(half(x[0], 16), half(x[1], 16), number(low, Kind::F32), 0, target, rounding)
        }
        Formula::MixHalf => {
            let single = fused(a, b, c, 0, SINGLE, Rounding::single(mode));
            converted(number(single, Kind::F32), target, rounding)
        }
    }
}

/// Multiply and add with two roundings.
fn mad(d: &Directed, x: [f64; 3], target: Target, rounding: Rounding) -> u64 {
    let single = d.kind == Kind::F32;
    let flushed = |bits: u64| if single && bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits };
    let [a, b, c] = x.map(|x| if single { f64::from(super::f32::flushed(x as f32)) } else { x });
    let first = if d.formula == Formula::MadLegacy && (a == 0.0 || b == 0.0) {
        0
    } else {
        flushed(product(a, b, target, rounding))
    };
    flushed(sum(number(first, d.kind), c, target, rounding))
}
