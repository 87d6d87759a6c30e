//! Compares: a bit a lane, zero for lanes that are off. `v_cmpx` writes EXEC too.

use super::half::F16;
use super::{Ctx, Entry, Flow, Handler, LANES, Lane, Mask, Micro, Place, Wave, gather, prepare};
use crate::isa::Op;

/// A compare of two operands.
trait Compare {
    type A: Lane;
    type B: Lane;
    fn f(a: Self::A, b: Self::B) -> bool;
}

#[inline(always)]
fn body<O: Compare>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> u64 {
    let mask = if m.pre == 0 { w.exec() } else { prepare(w, m, ctx) };
    let a = (w.row(m.src[0]), w.row(m.src[0] + u16::from(O::A::WIDE)));
    let b = (w.row(m.src[1]), w.row(m.src[1] + u16::from(O::B::WIDE)));
    let mut bytes = [0_u8; LANES];
    for lane in 0..LANES {
        let holds = O::f(O::A::get(a.0, a.1, lane), O::B::get(b.0, b.1, lane));
        bytes[lane] = if holds { 0xff } else { 0 };
    }
    gather(&bytes) & mask
}

/// Compiles a compare in its four forms and makes the function that chooses.
macro_rules! forms {
    ($($name:ident $x:literal;)*) => { $(
        fn $name<O: Compare>(fast: bool) -> Handler {
            fn plain<O: Compare>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
                let lanes = body::<O>(w, m, ctx);
                w.set_slot64(m.dst, lanes);
                if $x {
                    w.set_exec(lanes);
                }
                Flow::Next
            }

            /// # Safety
            /// The CPU has to have AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
            unsafe fn quick<O: Compare>(w: &mut Wave, m: &Micro, ctx: &mut Ctx<'_>) -> Flow {
                let lanes = body::<O>(w, m, ctx);
                w.set_slot64(m.dst, lanes);
                if $x {
                    w.set_exec(lanes);
                }
                Flow::Next
            }

            #[cfg(target_arch = "x86_64")]
            if fast {
                return quick::<O>;
            }
            let _ = fast;
            plain::<O>
        }
    )* };
}

forms! {
    mask_only false;
    mask_and_exec true;
}

fn entry<O: Compare>(fast: bool, exec: bool) -> Entry {
    Entry {
        run: if exec { mask_and_exec::<O>(fast) } else { mask_only::<O>(fast) },
        src: const { &[O::A::KIND, O::B::KIND] },
        dst: Place::Mask,
        mask: Mask::None,
    }
}

macro_rules! compares {
    ($table:ident; $($op:ident $opx:ident ($a:ident: $t:ty, $b:ident: $u:ty) = $e:expr;)*) => {
        fn $table(op: Op, fast: bool) -> Option<Entry> {
            let exec;
            $({
                #[allow(non_camel_case_types)]
                struct $op;
                impl Compare for $op {
                    type A = $t;
                    type B = $u;
                    #[inline(always)]
                    fn f($a: $t, $b: $u) -> bool { $e }
                }
                if op == Op::$op || op == Op::$opx {
                    exec = op == Op::$opx;
                    return Some(entry::<$op>(fast, exec));
                }
            })*
            None
        }
    };
}

macro_rules! integers {
    ($table:ident $t:ty; $f:ident $fx:ident $lt:ident $ltx:ident $eq:ident $eqx:ident $le:ident $lex:ident $gt:ident $gtx:ident $ne:ident $nex:ident $ge:ident $gex:ident $tr:ident $trx:ident) => {
        compares! { $table;
            $f $fx(_a: $t, _b: $t) = false;
            $lt $ltx(a: $t, b: $t) = a < b;
            $eq $eqx(a: $t, b: $t) = a == b;
            $le $lex(a: $t, b: $t) = a <= b;
            $gt $gtx(a: $t, b: $t) = a > b;
            $ne $nex(a: $t, b: $t) = a != b;
            $ge $gex(a: $t, b: $t) = a >= b;
            $tr $trx(_a: $t, _b: $t) = true;
        }
    };
}

integers! { signed16 i16; v_cmp_f_i16 v_cmpx_f_i16 v_cmp_lt_i16 v_cmpx_lt_i16 v_cmp_eq_i16 v_cmpx_eq_i16 v_cmp_le_i16 v_cmpx_le_i16
v_cmp_gt_i16 v_cmpx_gt_i16 v_cmp_ne_i16 v_cmpx_ne_i16 v_cmp_ge_i16 v_cmpx_ge_i16 v_cmp_t_i16 v_cmpx_t_i16 }
integers! { unsigned16 u16; v_cmp_f_u16 v_cmpx_f_u16 v_cmp_lt_u16 v_cmpx_lt_u16 v_cmp_eq_u16 v_cmpx_eq_u16 v_cmp_le_u16 v_cmpx_le_u16
v_cmp_gt_u16 v_cmpx_gt_u16 v_cmp_ne_u16 v_cmpx_ne_u16 v_cmp_ge_u16 v_cmpx_ge_u16 v_cmp_t_u16 v_cmpx_t_u16 }
integers! { signed32 i32; v_cmp_f_i32 v_cmpx_f_i32 v_cmp_lt_i32 v_cmpx_lt_i32 v_cmp_eq_i32 v_cmpx_eq_i32 v_cmp_le_i32 v_cmpx_le_i32
v_cmp_gt_i32 v_cmpx_gt_i32 v_cmp_ne_i32 v_cmpx_ne_i32 v_cmp_ge_i32 v_cmpx_ge_i32 v_cmp_t_i32 v_cmpx_t_i32 }
integers! { unsigned32 u32; v_cmp_f_u32 v_cmpx_f_u32 v_cmp_lt_u32 v_cmpx_lt_u32 v_cmp_eq_u32 v_cmpx_eq_u32 v_cmp_le_u32 v_cmpx_le_u32
v_cmp_gt_u32 v_cmpx_gt_u32 v_cmp_ne_u32 v_cmpx_ne_u32 v_cmp_ge_u32 v_cmpx_ge_u32 v_cmp_t_u32 v_cmpx_t_u32 }
integers! { signed64 i64; v_cmp_f_i64 v_cmpx_f_i64 v_cmp_lt_i64 v_cmpx_lt_i64 v_cmp_eq_i64 v_cmpx_eq_i64 v_cmp_le_i64 v_cmpx_le_i64
v_cmp_gt_i64 v_cmpx_gt_i64 v_cmp_ne_i64 v_cmpx_ne_i64 v_cmp_ge_i64 v_cmpx_ge_i64 v_cmp_t_i64 v_cmpx_t_i64 }
integers! { unsigned64 u64; v_cmp_f_u64 v_cmpx_f_u64 v_cmp_lt_u64 v_cmpx_lt_u64 v_cmp_eq_u64 v_cmpx_eq_u64 v_cmp_le_u64 v_cmpx_le_u64
v_cmp_gt_u64 v_cmpx_gt_u64 v_cmp_ne_u64 v_cmpx_ne_u64 v_cmp_ge_u64 v_cmpx_ge_u64 v_cmp_t_u64 v_cmpx_t_u64 }

macro_rules! floats {
    ($table:ident $t:ty, $v:ident => $value:expr;
     $f:ident $fx:ident $lt:ident $ltx:ident $eq:ident $eqx:ident $le:ident $lex:ident $gt:ident $gtx:ident $lg:ident $lgx:ident
     $ge:ident $gex:ident $o:ident $ox:ident $u:ident $ux:ident $nge:ident $ngex:ident $nlg:ident $nlgx:ident $ngt:ident $ngtx:ident
     $nle:ident $nlex:ident $neq:ident $neqx:ident $nlt:ident $nltx:ident $tr:ident $trx:ident) => {
        floats! { @table $table $t, |$v| $value;
            $f $fx(_a, _b) false;
            $lt $ltx(a, b) a < b;
            $eq $eqx(a, b) a == b;
            $le $lex(a, b) a <= b;
            $gt $gtx(a, b) a > b;
            $lg $lgx(a, b) a < b || a > b;
            $ge $gex(a, b) a >= b;
            $o $ox(a, b) !(a.is_nan() || b.is_nan());
            $u $ux(a, b) a.is_nan() || b.is_nan();
            $nge $ngex(a, b) !(a >= b);
            $nlg $nlgx(a, b) !(a < b || a > b);
            $ngt $ngtx(a, b) !(a > b);
            $nle $nlex(a, b) !(a <= b);
            $neq $neqx(a, b) a != b;
            $nlt $nltx(a, b) !(a < b);
            $tr $trx(_a, _b) true;
        }
    };
    (@table $table:ident $t:ty, |$v:ident| $value:expr; $($op:ident $opx:ident ($a:ident, $b:ident) $e:expr;)*) => {
        #[allow(clippy::neg_cmp_op_on_partial_ord, reason = "the instruction is the negation, true for NaN")]
        mod $table {
            use super::*;
            compares! { table; $($op $opx(a: $t, b: $t) = {
                let $v = a;
                let $a = $value;
                let $v = b;
                let $b = $value;
                $e
            };)* }
            pub(super) fn all(op: Op, fast: bool) -> Option<Entry> {
                table(op, fast)
            }
        }
    };
}

floats! { half F16, v => v.to_f32(); v_cmp_f_f16 v_cmpx_f_f16 v_cmp_lt_f16 v_cmpx_lt_f16 v_cmp_eq_f16 v_cmpx_eq_f16 v_cmp_le_f16 v_cmpx_le_f16
v_cmp_gt_f16 v_cmpx_gt_f16 v_cmp_lg_f16 v_cmpx_lg_f16 v_cmp_ge_f16 v_cmpx_ge_f16 v_cmp_o_f16 v_cmpx_o_f16 v_cmp_u_f16 v_cmpx_u_f16
v_cmp_nge_f16 v_cmpx_nge_f16 v_cmp_nlg_f16 v_cmpx_nlg_f16 v_cmp_ngt_f16 v_cmpx_ngt_f16 v_cmp_nle_f16 v_cmpx_nle_f16
v_cmp_neq_f16 v_cmpx_neq_f16 v_cmp_nlt_f16 v_cmpx_nlt_f16 v_cmp_tru_f16 v_cmpx_tru_f16 }
floats! { single f32, v => v; v_cmp_f_f32 v_cmpx_f_f32 v_cmp_lt_f32 v_cmpx_lt_f32 v_cmp_eq_f32 v_cmpx_eq_f32 v_cmp_le_f32 v_cmpx_le_f32
v_cmp_gt_f32 v_cmpx_gt_f32 v_cmp_lg_f32 v_cmpx_lg_f32 v_cmp_ge_f32 v_cmpx_ge_f32 v_cmp_o_f32 v_cmpx_o_f32 v_cmp_u_f32 v_cmpx_u_f32
v_cmp_nge_f32 v_cmpx_nge_f32 v_cmp_nlg_f32 v_cmpx_nlg_f32 v_cmp_ngt_f32 v_cmpx_ngt_f32 v_cmp_nle_f32 v_cmpx_nle_f32
v_cmp_neq_f32 v_cmpx_neq_f32 v_cmp_nlt_f32 v_cmpx_nlt_f32 v_cmp_tru_f32 v_cmpx_tru_f32 }
floats! { double f64, v => v; v_cmp_f_f64 v_cmpx_f_f64 v_cmp_lt_f64 v_cmpx_lt_f64 v_cmp_eq_f64 v_cmpx_eq_f64 v_cmp_le_f64 v_cmpx_le_f64
v_cmp_gt_f64 v_cmpx_gt_f64 v_cmp_lg_f64 v_cmpx_lg_f64 v_cmp_ge_f64 v_cmpx_ge_f64 v_cmp_o_f64 v_cmpx_o_f64 v_cmp_u_f64 v_cmpx_u_f64
v_cmp_nge_f64 v_cmpx_nge_f64 v_cmp_nlg_f64 v_cmpx_nlg_f64 v_cmp_ngt_f64 v_cmpx_ngt_f64 v_cmp_nle_f64 v_cmpx_nle_f64
v_cmp_neq_f64 v_cmpx_neq_f64 v_cmp_nlt_f64 v_cmpx_nlt_f64 v_cmp_tru_f64 v_cmpx_tru_f64 }

/// The class of a float, as the bit of `v_cmp_class` that asks for it: 0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 -normal,
/// 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity.
#[inline(always)]
fn class(bits: u64, exponent_bits: u32, mantissa_bits: u32) -> u32 {
    let mantissa = bits & ((1 << mantissa_bits) - 1);
    let exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    let negative = bits >> (mantissa_bits + exponent_bits) & 1 == 1;
    let all = exponent == (1 << exponent_bits) - 1;
    let positive = match (all, exponent == 0, mantissa == 0) {
        (true, _, true) => 9,
        (true, _, false) => return u32::from(mantissa >> (mantissa_bits - 1) & 1 == 1),
        (_, true, true) => 6,
        (_, true, false) => 7,
        _ => 8,
    };
    if negative { 11 - positive } else { positive }
}

compares! { classes;
    v_cmp_class_f32 v_cmpx_class_f32(a: f32, b: u32) = b >> class(u64::from(a.to_bits()), 8, 23) & 1 == 1;
    v_cmp_class_f64 v_cmpx_class_f64(a: f64, b: u32) = b >> class(a.to_bits(), 11, 52) & 1 == 1;
    v_cmp_class_f16 v_cmpx_class_f16(a: F16, b: u32) = b >> class(u64::from(a.0), 5, 10) & 1 == 1;
}

/// The compares.
pub(super) fn table(op: Op, fast: bool) -> Option<Entry> {
    signed32(op, fast)
        .or_else(|| unsigned32(op, fast))
        .or_else(|| signed64(op, fast))
        .or_else(|| unsigned64(op, fast))
        .or_else(|| signed16(op, fast))
        .or_else(|| unsigned16(op, fast))
        .or_else(|| single::all(op, fast))
        .or_else(|| double::all(op, fast))
        .or_else(|| half::all(op, fast))
        .or_else(|| classes(op, fast))
}
