//! The semantics of IR: an interpreter for the instructions whose results the language reference defines exactly.

use half::f16;

use crate::numbers::{Half, Number, sum_to_odd};

/// The type of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Int(u32),
    Float(u32),
}

/// A value's type: an element, or a vector of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub(crate) element: Element,
    pub(crate) count: usize,
}

impl Element {
    pub(crate) fn bits(self) -> u32 {
        let (Element::Int(bits) | Element::Float(bits)) = self;
        bits
    }

    pub(crate) fn name(self) -> String {
        match self {
            Element::Int(bits) => format!("i{bits}"),
            Element::Float(16) => "half".into(),
            Element::Float(32) => "float".into(),
            Element::Float(_) => "double".into(),
        }
    }

    /// As intrinsics spell it in their names.
    pub(crate) fn suffix(self) -> String {
        match self {
            Element::Int(bits) => format!("i{bits}"),
            Element::Float(bits) => format!("f{bits}"),
        }
    }
}

impl Type {
    pub(crate) fn name(self) -> String {
        if self.count == 1 { self.element.name() } else { format!("<{} x {}>", self.count, self.element.name()) }
    }

    pub(crate) fn suffix(self) -> String {
        if self.count == 1 { self.element.suffix() } else { format!("v{}{}", self.count, self.element.suffix()) }
    }
}

/// The elements of a value, each in the low bits.
pub(crate) type Value = [u128; 2];

fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits)
}

fn signed(x: u128, bits: u32) -> i128 {
    (x << (128 - bits)) as i128 >> (128 - bits)
}

/// An operation of two operands of one type, giving that type.
pub(crate) const INTEGERS: &[&str] = &[
    "add",
    "sub",
    "mul",
    "and",
    "or",
    "xor",
    "shl",
    "lshr",
    "ashr",
    "udiv",
    "urem",
    "sdiv",
    "srem",
    "smin",
    "smax",
    "umin",
    "umax",
    "sadd.sat",
    "uadd.sat",
    "ssub.sat",
    "usub.sat",
    "ctpop",
    "ctlz",
    "cttz",
    "bitreverse",
    "abs",
    "fshl",
    "fshr",
];
pub(crate) const FLOATS: &[&str] = &[
    "fadd",
    "fsub",
    "fmul",
    "fdiv",
    "fneg",
    "fabs",
    "sqrt",
    "fma",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "minimum",
    "maximum",
    "minimumnum",
    "maximumnum",
    "canonicalize",
];
pub(crate) const INTEGER_COMPARES: &[&str] = &["eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"];
pub(crate) const FLOAT_COMPARES: &[&str] =
    &["oeq", "one", "olt", "ole", "ogt", "oge", "ueq", "une", "ult", "ule", "ugt", "uge", "ord", "uno"];

/// The integer operation `op` on elements of `bits` bits. The program reduces a shift's amount modulo the width and
/// makes a divisor odd and positive before the operation.
pub(crate) fn integer(op: &str, bits: u32, a: u128, b: u128, c: u128) -> u128 {
    let m = mask(bits);
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    let amount = (b % u128::from(bits)) as u32;
    let divisor = (b | 1) & (m >> 1);
    let clamp = |x: Option<i128>, negative: bool| {
        let (least, most) = (signed(1 << (bits - 1), bits), signed(m >> 1, bits));
        x.map_or(if negative { least } else { most }, |x| x.clamp(least, most)) as u128
    };
    let rotated = |left: bool| {
        // fshl takes the high half of a:b shifted left, fshr the low half shifted right.
        let amount = (c % u128::from(bits)) as u32;
        match (left, amount) {
            (true, 0) => a,
            (false, 0) => b,
            (true, n) => a << n | b >> (bits - n),
            (false, n) => b >> n | a << (bits - n),
        }
    };
    m & match op {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "mul" => a.wrapping_mul(b),
        "and" => a & b,
        "or" => a | b,
        "xor" => a ^ b,
        "shl" => a << amount,
        "lshr" => a >> amount,
        "ashr" => (sa >> amount) as u128,
        "udiv" => a / divisor,
        "urem" => a % divisor,
        "sdiv" => (sa / divisor as i128) as u128,
        "srem" => (sa % divisor as i128) as u128,
        "smin" => sa.min(sb) as u128,
        "smax" => sa.max(sb) as u128,
        "umin" => a.min(b),
        "umax" => a.max(b),
        "sadd.sat" => clamp(sa.checked_add(sb), sb < 0),
        "ssub.sat" => clamp(sa.checked_sub(sb), sb > 0),
        "uadd.sat" => a.checked_add(b).map_or(m, |x| x.min(m)),
        "usub.sat" => a.saturating_sub(b),
        "ctpop" => a.count_ones().into(),
        "ctlz" => (a.leading_zeros() - (128 - bits)).into(),
        "cttz" => a.trailing_zeros().min(bits).into(),
        "bitreverse" => a.reverse_bits() >> (128 - bits),
        "abs" => sa.unsigned_abs(),
        "fshl" => rotated(true),
        "fshr" => rotated(false),
        _ => unreachable!("{op}"),
    }
}

pub(crate) fn compare_integers(predicate: &str, bits: u32, a: u128, b: u128) -> bool {
    let (sa, sb) = (signed(a, bits), signed(b, bits));
    match predicate {
        "eq" => a == b,
        "ne" => a != b,
        "ult" => a < b,
        "ule" => a <= b,
        "ugt" => a > b,
        "uge" => a >= b,
        "slt" => sa < sb,
        "sle" => sa <= sb,
        "sgt" => sa > sb,
        "sge" => sa >= sb,
        _ => unreachable!("{predicate}"),
    }
}

/// The value of a float's bits.
pub(crate) fn wide(bits: u32, x: u128) -> f64 {
    match bits {
        16 => f16::from_bits(x as u16).to_f64(),
        32 => f32::from_bits(x as u32).into(),
        _ => f64::from_bits(x as u64),
    }
}

/// The bits of a value, rounded to nearest, ties to even.
pub(crate) fn narrow(bits: u32, x: f64) -> u128 {
    match bits {
        16 => Half::narrow(x).0.into(),
        32 => (x as f32).to_bits().into(),
        _ => x.to_bits().into(),
    }
}

/// The operation `op` on floats of `bits` bits.
pub(crate) fn float(op: &str, bits: u32, a: u128, b: u128, c: u128) -> u128 {
    let (x, y, z) = (wide(bits, a), wide(bits, b), wide(bits, c));
    // For the narrow formats the result is exact in double, or rounded to odd so that rounding again is harmless.
    let sum = |x: f64, y: f64| if bits == 64 { x + y } else { sum_to_odd(x, y) };
    let nan = x.is_nan() || y.is_nan();
    let less = |a: f64, b: f64| a < b || a == b && a.is_sign_negative();
    let lesser = if less(x, y) { x } else { y };
    let greater = if less(x, y) { y } else { x };
    let either = |other: f64| {
        if x.is_nan() {
            y
        } else if y.is_nan() {
            x
        } else {
            other
        }
    };
    let result = match op {
        "fadd" => sum(x, y),
        "fsub" => sum(x, -y),
        "fmul" => x * y,
        "fdiv" => x / y,
        "fneg" => -x,
        "fabs" => x.abs(),
        "sqrt" => x.sqrt(),
        "fma" if bits == 64 => x.mul_add(y, z),
        "fma" if bits == 32 => return f32::to_bits((x as f32).mul_add(y as f32, z as f32)).into(),
        "fma" => sum(x * y, z),
        "floor" => x.floor(),
        "ceil" => x.ceil(),
        "trunc" => x.trunc(),
        "rint" => x.round_ties_even(),
        "minimum" => {
            if nan {
                f64::NAN
            } else {
                lesser
            }
        }
        "maximum" => {
            if nan {
                f64::NAN
            } else {
                greater
            }
        }
        "minimumnum" => either(lesser),
        "maximumnum" => either(greater),
        "canonicalize" => x,
        _ => unreachable!("{op}"),
    };
    narrow(bits, result)
}

pub(crate) fn compare_floats(predicate: &str, bits: u32, a: u128, b: u128) -> bool {
    let (x, y) = (wide(bits, a), wide(bits, b));
    let unordered = x.is_nan() || y.is_nan();
    match predicate {
        "ord" => !unordered,
        "uno" => unordered,
        "one" => !unordered && x != y,
        "ueq" => unordered || x == y,
        _ if unordered => predicate.starts_with('u'),
        _ => match &predicate[1..] {
            "eq" => x == y,
            "ne" => x != y,
            "lt" => x < y,
            "le" => x <= y,
            "gt" => x > y,
            _ => x >= y,
        },
    }
}

/// A conversion between element types; to integers it saturates, and NaN becomes zero.
pub(crate) fn convert(from: Element, to: Element, is_signed: bool, x: u128) -> u128 {
    match (from, to) {
        (Element::Int(n), Element::Int(m)) => {
            if m > n && is_signed {
                signed(x, n) as u128 & mask(m)
            } else {
                x & mask(m.min(n))
            }
        }
        (Element::Int(n), Element::Float(m)) => {
            // 64-bit integers do not fit a double: rounded to odd first, so that only the next rounding counts.
            let (magnitude, negative) =
                if is_signed { (signed(x, n).unsigned_abs(), signed(x, n) < 0) } else { (x, false) };
            let near = magnitude as f64;
            let exact = near as u128 == magnitude;
            let odd = match (near as u128).cmp(&magnitude) {
                _ if exact || m == 64 || near.to_bits() & 1 == 1 => near,
                std::cmp::Ordering::Less => f64::from_bits(near.to_bits() + 1),
                _ => f64::from_bits(near.to_bits() - 1),
            };
            narrow(m, if negative { -odd } else { odd })
        }
        (Element::Float(n), Element::Int(m)) => {
            let x = wide(n, x);
            if x.is_nan() {
                0
            } else if is_signed {
                (x.trunc() as i128).clamp(signed(1 << (m - 1), m), signed(mask(m) >> 1, m)) as u128 & mask(m)
            } else {
                (x.trunc() as u128).min(mask(m))
            }
        }
        (Element::Float(n), Element::Float(m)) => narrow(m, wide(n, x)),
    }
}
