//! Compares: one bit per lane, zero for disabled lanes. `v_cmpx` writes EXEC too.
//!
//! Each relation is compiled once: negation and writing EXEC are flags of the micro-operation.

use super::entry::{Entry, Mask, Place};
use super::half::F16;
use super::lane::Lane;
use super::lane_loop::{loops, prepared};
use super::lane_mask::gather;
use crate::exec::{Handler, LANES, Micro};
use crate::isa::Op;
use crate::isa::inst::Inst;

/// Bits of `Micro::aux`.
const NEGATED: u32 = 1;
const WRITES_EXEC: u32 = 2;

/// A relation between two operands.
trait Compare {
    type A: Lane;
    type B: Lane;
    fn f(a: Self::A, b: Self::B) -> bool;
}

loops! {
    fn compare<O: Compare>(w, m, ctx) {
        let mask = prepared::<FAST>(w, m, ctx);
        let mut flags = [0; LANES];
        {
            let a = (w.row(m.src[0]), w.row(m.src[0] + u16::from(O::A::WIDE)));
            let b = (w.row(m.src[1]), w.row(m.src[1] + u16::from(O::B::WIDE)));
            for lane in 0..LANES {
                let holds = O::f(O::A::get(a.0, a.1, lane), O::B::get(b.0, b.1, lane));
                flags[lane] = if holds { u32::MAX } else { 0 };
            }
        }
        let negate = if m.aux & NEGATED != 0 { u64::MAX } else { 0 };
        let lanes = (gather::<FAST>(&flags) ^ negate) & mask;
        w.set_slot64(m.dst, lanes);
        if m.aux & WRITES_EXEC != 0 {
            w.set_exec(lanes);
        }
        Flow::Next
    }
}

fn entry<O: Compare>(fast: bool) -> Entry {
    let run: Handler = compare::<O>(fast);
    Entry { run, src: const { &[O::A::KIND, O::B::KIND] }, dst: Place::Mask, mask: Mask::None }
}

/// The flags of an opcode for a relation.
fn flags(op: Op, negated: &[Op]) -> u32 {
    let negated = if negated.contains(&op) { NEGATED } else { 0 };
    negated | if op.mnemonic().starts_with("v_cmpx") { WRITES_EXEC } else { 0 }
}

/// One relation per line: the opcodes that use it, those that use its negation, operands and expression.
macro_rules! relations {
    ($table:ident; $([$($op:ident)*] [$($not:ident)*] ($a:ident: $t:ty, $b:ident: $u:ty) = $e:expr;)*) => {
        fn $table(op: Op, fast: bool) -> Option<(Entry, u32)> {
            Some(match op {
                $($(Op::$op)|* $(| Op::$not)* => {
                    struct T;
                    impl Compare for T {
                        type A = $t;
                        type B = $u;
                        #[inline(always)]
                        fn f($a: $t, $b: $u) -> bool { $e }
                    }
                    (entry::<T>(fast), flags(op, &[$(Op::$not),*]))
                })*
                _ => return None,
            })
        }
    };
}

relations! { integers;
    [v_cmp_lt_i16 v_cmpx_lt_i16] [v_cmp_ge_i16 v_cmpx_ge_i16] (a: i16, b: i16) = a < b;
    [v_cmp_gt_i16 v_cmpx_gt_i16] [v_cmp_le_i16 v_cmpx_le_i16] (a: i16, b: i16) = a > b;
    [v_cmp_lt_u16 v_cmpx_lt_u16] [v_cmp_ge_u16 v_cmpx_ge_u16] (a: u16, b: u16) = a < b;
    [v_cmp_gt_u16 v_cmpx_gt_u16] [v_cmp_le_u16 v_cmpx_le_u16] (a: u16, b: u16) = a > b;
    [v_cmp_eq_i16 v_cmpx_eq_i16 v_cmp_eq_u16 v_cmpx_eq_u16] [v_cmp_ne_i16 v_cmpx_ne_i16 v_cmp_ne_u16 v_cmpx_ne_u16]
        (a: u16, b: u16) = a == b;
    [v_cmp_lt_i32 v_cmpx_lt_i32] [v_cmp_ge_i32 v_cmpx_ge_i32] (a: i32, b: i32) = a < b;
    [v_cmp_gt_i32 v_cmpx_gt_i32] [v_cmp_le_i32 v_cmpx_le_i32] (a: i32, b: i32) = a > b;
    [v_cmp_lt_u32 v_cmpx_lt_u32] [v_cmp_ge_u32 v_cmpx_ge_u32] (a: u32, b: u32) = a < b;
    [v_cmp_gt_u32 v_cmpx_gt_u32] [v_cmp_le_u32 v_cmpx_le_u32] (a: u32, b: u32) = a > b;
    [v_cmp_eq_i32 v_cmpx_eq_i32 v_cmp_eq_u32 v_cmpx_eq_u32] [v_cmp_ne_i32 v_cmpx_ne_i32 v_cmp_ne_u32 v_cmpx_ne_u32]
        (a: u32, b: u32) = a == b;
    [v_cmp_lt_i64 v_cmpx_lt_i64] [v_cmp_ge_i64 v_cmpx_ge_i64] (a: i64, b: i64) = a < b;
    [v_cmp_gt_i64 v_cmpx_gt_i64] [v_cmp_le_i64 v_cmpx_le_i64] (a: i64, b: i64) = a > b;
    [v_cmp_lt_u64 v_cmpx_lt_u64] [v_cmp_ge_u64 v_cmpx_ge_u64] (a: u64, b: u64) = a < b;
    [v_cmp_gt_u64 v_cmpx_gt_u64] [v_cmp_le_u64 v_cmpx_le_u64] (a: u64, b: u64) = a > b;
    [v_cmp_eq_i64 v_cmpx_eq_i64] [v_cmp_ne_i64 v_cmpx_ne_i64] (a: i64, b: i64) = a == b;
    [v_cmp_eq_u64 v_cmpx_eq_u64] [v_cmp_ne_u64 v_cmpx_ne_u64] (a: u64, b: u64) = a == b;
}

relations! { constants;
    [v_cmp_f_i16 v_cmpx_f_i16 v_cmp_f_u16 v_cmpx_f_u16 v_cmp_f_i32 v_cmpx_f_i32 v_cmp_f_u32 v_cmpx_f_u32
     v_cmp_f_i64 v_cmpx_f_i64 v_cmp_f_u64 v_cmpx_f_u64 v_cmp_f_f16 v_cmpx_f_f16 v_cmp_f_f32 v_cmpx_f_f32
     v_cmp_f_f64 v_cmpx_f_f64]
    [v_cmp_t_i16 v_cmpx_t_i16 v_cmp_t_u16 v_cmpx_t_u16 v_cmp_t_i32 v_cmpx_t_i32 v_cmp_t_u32 v_cmpx_t_u32
     v_cmp_t_i64 v_cmpx_t_i64 v_cmp_t_u64 v_cmpx_t_u64 v_cmp_tru_f16 v_cmpx_tru_f16 v_cmp_tru_f32 v_cmpx_tru_f32
     v_cmp_tru_f64 v_cmpx_tru_f64]
        (_a: u32, _b: u32) = false;
}

relations! { floats;
    [v_cmp_lt_f32 v_cmpx_lt_f32] [v_cmp_nlt_f32 v_cmpx_nlt_f32] (a: f32, b: f32) = a < b;
    [v_cmp_eq_f32 v_cmpx_eq_f32] [v_cmp_neq_f32 v_cmpx_neq_f32] (a: f32, b: f32) = a == b;
    [v_cmp_le_f32 v_cmpx_le_f32] [v_cmp_nle_f32 v_cmpx_nle_f32] (a: f32, b: f32) = a <= b;
    [v_cmp_gt_f32 v_cmpx_gt_f32] [v_cmp_ngt_f32 v_cmpx_ngt_f32] (a: f32, b: f32) = a > b;
    [v_cmp_ge_f32 v_cmpx_ge_f32] [v_cmp_nge_f32 v_cmpx_nge_f32] (a: f32, b: f32) = a >= b;
    [v_cmp_lg_f32 v_cmpx_lg_f32] [v_cmp_nlg_f32 v_cmpx_nlg_f32] (a: f32, b: f32) = (a < b) | (a > b);
    [v_cmp_u_f32 v_cmpx_u_f32] [v_cmp_o_f32 v_cmpx_o_f32] (a: f32, b: f32) = a.is_nan() | b.is_nan();
    [v_cmp_lt_f64 v_cmpx_lt_f64] [v_cmp_nlt_f64 v_cmpx_nlt_f64] (a: f64, b: f64) = a < b;
    [v_cmp_eq_f64 v_cmpx_eq_f64] [v_cmp_neq_f64 v_cmpx_neq_f64] (a: f64, b: f64) = a == b;
    [v_cmp_le_f64 v_cmpx_le_f64] [v_cmp_nle_f64 v_cmpx_nle_f64] (a: f64, b: f64) = a <= b;
    [v_cmp_gt_f64 v_cmpx_gt_f64] [v_cmp_ngt_f64 v_cmpx_ngt_f64] (a: f64, b: f64) = a > b;
    [v_cmp_ge_f64 v_cmpx_ge_f64] [v_cmp_nge_f64 v_cmpx_nge_f64] (a: f64, b: f64) = a >= b;
    [v_cmp_lg_f64 v_cmpx_lg_f64] [v_cmp_nlg_f64 v_cmpx_nlg_f64] (a: f64, b: f64) = (a < b) | (a > b);
    [v_cmp_u_f64 v_cmpx_u_f64] [v_cmp_o_f64 v_cmpx_o_f64] (a: f64, b: f64) = a.is_nan() | b.is_nan();
    [v_cmp_lt_f16 v_cmpx_lt_f16] [v_cmp_nlt_f16 v_cmpx_nlt_f16] (a: F16, b: F16) = a.to_f32() < b.to_f32();
    [v_cmp_eq_f16 v_cmpx_eq_f16] [v_cmp_neq_f16 v_cmpx_neq_f16] (a: F16, b: F16) = a.to_f32() == b.to_f32();
    [v_cmp_le_f16 v_cmpx_le_f16] [v_cmp_nle_f16 v_cmpx_nle_f16] (a: F16, b: F16) = a.to_f32() <= b.to_f32();
    [v_cmp_gt_f16 v_cmpx_gt_f16] [v_cmp_ngt_f16 v_cmpx_ngt_f16] (a: F16, b: F16) = a.to_f32() > b.to_f32();
    [v_cmp_ge_f16 v_cmpx_ge_f16] [v_cmp_nge_f16 v_cmpx_nge_f16] (a: F16, b: F16) = a.to_f32() >= b.to_f32();
    [v_cmp_lg_f16 v_cmpx_lg_f16] [v_cmp_nlg_f16 v_cmpx_nlg_f16] (a: F16, b: F16) =
        (a.to_f32() < b.to_f32()) | (a.to_f32() > b.to_f32());
    [v_cmp_u_f16 v_cmpx_u_f16] [v_cmp_o_f16 v_cmpx_o_f16] (a: F16, b: F16) = a.is_nan() | b.is_nan();
}

/// The class of a float, as the bit that `v_cmp_class` tests: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal, 4
/// -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity.
#[inline(always)]
fn class(bits: u64, exponent_bits: u32, mantissa_bits: u32) -> u32 {
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    let exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
    let all = exponent == (1 << exponent_bits) - 1;
    let positive = match (all, exponent == 0, mantissa == 0) {
        (true, _, true) => 9,
        (true, _, false) => return (mantissa >> (mantissa_bits - 1)) as u32 & 1,
        (_, true, true) => 6,
        (_, true, false) => 7,
        _ => 8,
    };
    if negative { 11 - positive } else { positive }
}

relations! { classes;
    [v_cmp_class_f32 v_cmpx_class_f32] [] (a: f32, b: u32) = b >> class(u64::from(a.to_bits()), 8, 23) & 1 == 1;
    [v_cmp_class_f64 v_cmpx_class_f64] [] (a: f64, b: u32) = b >> class(a.to_bits(), 11, 52) & 1 == 1;
    [v_cmp_class_f16 v_cmpx_class_f16] [] (a: F16, b: u32) = b >> class(u64::from(a.0), 5, 10) & 1 == 1;
}

/// The compare of `inst`. Stores its flags in `m`.
pub(super) fn entry_of(inst: &Inst, m: &mut Micro, fast: bool) -> Option<Entry> {
    let op = inst.op;
    let (entry, flags) = integers(op, fast)
        .or_else(|| floats(op, fast))
        .or_else(|| classes(op, fast))
        .or_else(|| constants(op, fast))?;
    m.aux = flags;
    Some(entry)
}
