//! Scalar arithmetic, logic and compares.

use super::operand::{Scalar, Widths};
use crate::exec::{Ctx, Flow, Handler, Micro, Wave, slot};
use crate::isa::Op;

/// SCC after a logical operation.
trait NonZero {
    fn nonzero(self) -> Option<bool>;
}

macro_rules! nonzero {
    ($($t:ty)*) => { $(impl NonZero for $t {
        #[inline(always)]
        fn nonzero(self) -> Option<bool> { Some(self != 0) }
    })* };
}
nonzero!(u32 i32 u64 i64);

/// One operation per line: name, operand types, result type, and the result with SCC (`None`: SCC is unchanged).
macro_rules! operations {
    ($w:ident;
     $($op:ident ($($a:ident: $t:ty),*) -> $r:ty = $e:expr;)*
    ) => {
        fn results(op: Op) -> Option<(Handler, Widths)> {
            Some(match op {
                $(Op::$op => {
                    fn run(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
                        let _slots = m.src;
                        operations!(@get w, _slots, 0; $($a: $t),*);
                        let $w = &*w;
                        let _ = $w;
                        let (result, scc): ($r, Option<bool>) = $e;
                        result.set(w, m.dst);
                        if let Some(scc) = scc {
                            w.set_scc(scc);
                        }
                        Flow::Next
                    }
                    (run as Handler, Widths {
                        dst: Some(<$r as Scalar>::WIDTH),
                        src: &[$(<$t as Scalar>::WIDTH),*],
                        reads_dst: false,
                        unsigned: false,
                    })
                })*
                _ => return None,
            })
        }
    };
    (@get $w:ident, $s:ident, $i:expr; ) => {};
    (@get $w:ident, $s:ident, $i:expr; $a:ident: $t:ty $(, $b:ident: $u:ty)*) => {
        let $a = <$t as Scalar>::get($w, $s[$i]);
        operations!(@get $w, $s, $i + 1; $($b: $u),*);
    };
}

/// `$e`, with SCC set if it is not zero.
macro_rules! nz {
    ($e:expr) => {{
        let value = $e;
        (value, value.nonzero())
    }};
}

#[inline(always)]
fn add_signed(a: i32, b: i32) -> (i32, Option<bool>) {
    let (sum, overflow) = a.overflowing_add(b);
    (sum, Some(overflow))
}

#[inline(always)]
fn shifted_add(a: u32, by: u32, b: u32) -> (u32, Option<bool>) {
    let sum = (u64::from(a) << by) + u64::from(b);
    (sum as u32, Some(sum >> 32 != 0))
}

fn bit_field_u64(value: u64, control: u32, bits: u32) -> u64 {
    let (offset, width) = (control & (bits - 1), (control >> 16 & 0x7f).min(64));
    let field = value >> offset;
    if width >= 64 { field } else { field & ((1 << width) - 1) }
}

fn bit_field_i64(value: i64, control: u32, bits: u32) -> i64 {
    let (offset, width) = (control & (bits - 1), control >> 16 & 0x7f);
    if width == 0 {
        return 0;
    }
    let field = value >> offset;
    let spare = 64_u32.saturating_sub(width);
    (field << spare) >> spare
}

fn first_set(value: u64, bits: u32) -> i32 {
    if value == 0 { -1 } else { value.trailing_zeros().min(bits) as i32 }
}

fn leading(value: u64, bits: u32) -> i32 {
    if value == 0 { -1 } else { (value.leading_zeros() - (64 - bits)) as i32 }
}

/// The number of leading bits that equal the sign; -1 if all do.
fn leading_sign(value: i64, bits: u32) -> i32 {
    let flipped = if value < 0 { !value } else { value } as u64;
    if flipped == 0 { -1 } else { (flipped.leading_zeros() - (64 - bits)) as i32 }
}

/// Sets all four bits of a group in which any bit is set.
fn whole_quads(value: u64) -> u64 {
    let any = value | value >> 1 | value >> 2 | value >> 3;
    (any & 0x1111_1111_1111_1111) * 15
}

/// One bit per group of four: whether any of them is set.
fn quad_mask(value: u64) -> u64 {
    (0..16).map(|i| u64::from(value >> (4 * i) & 15 != 0) << i).sum()
}

operations! { w;
    s_add_u32(a: u32, b: u32) -> u32 = { let (r, c) = a.overflowing_add(b); (r, Some(c)) };
    s_sub_u32(a: u32, b: u32) -> u32 = { let (r, c) = a.overflowing_sub(b); (r, Some(c)) };
    s_add_i32(a: i32, b: i32) -> i32 = add_signed(a, b);
    s_sub_i32(a: i32, b: i32) -> i32 = { let (r, o) = a.overflowing_sub(b); (r, Some(o)) };
    s_addc_u32(a: u32, b: u32) -> u32 = { let r = u64::from(a) + u64::from(b) + u64::from(w.scc()); (r as u32, Some(r >> 32 != 0)) };
    s_subb_u32(a: u32, b: u32) -> u32 = {
        let r = i64::from(a) - i64::from(b) - i64::from(w.scc());
        (r as u32, Some(r < 0))
    };
    s_min_i32(a: i32, b: i32) -> i32 = (a.min(b), Some(a < b));
    s_min_u32(a: u32, b: u32) -> u32 = (a.min(b), Some(a < b));
    s_max_i32(a: i32, b: i32) -> i32 = (a.max(b), Some(a > b));
    s_max_u32(a: u32, b: u32) -> u32 = (a.max(b), Some(a > b));
    s_cselect_b32(a: u32, b: u32) -> u32 = (if w.scc() { a } else { b }, None);
    s_cselect_b64(a: u64, b: u64) -> u64 = (if w.scc() { a } else { b }, None);
    s_and_b32(a: u32, b: u32) -> u32 = nz!(a & b);
    s_and_b64(a: u64, b: u64) -> u64 = nz!(a & b);
    s_or_b32(a: u32, b: u32) -> u32 = nz!(a | b);
    s_or_b64(a: u64, b: u64) -> u64 = nz!(a | b);
    s_xor_b32(a: u32, b: u32) -> u32 = nz!(a ^ b);
    s_xor_b64(a: u64, b: u64) -> u64 = nz!(a ^ b);
    s_andn2_b32(a: u32, b: u32) -> u32 = nz!(a & !b);
    s_andn2_b64(a: u64, b: u64) -> u64 = nz!(a & !b);
    s_orn2_b32(a: u32, b: u32) -> u32 = nz!(a | !b);
    s_orn2_b64(a: u64, b: u64) -> u64 = nz!(a | !b);
    s_nand_b32(a: u32, b: u32) -> u32 = nz!(!(a & b));
    s_nand_b64(a: u64, b: u64) -> u64 = nz!(!(a & b));
    s_nor_b32(a: u32, b: u32) -> u32 = nz!(!(a | b));
    s_nor_b64(a: u64, b: u64) -> u64 = nz!(!(a | b));
    s_xnor_b32(a: u32, b: u32) -> u32 = nz!(!(a ^ b));
    s_xnor_b64(a: u64, b: u64) -> u64 = nz!(!(a ^ b));
    s_lshl_b32(a: u32, b: u32) -> u32 = nz!(a << (b & 31));
    s_lshl_b64(a: u64, b: u32) -> u64 = nz!(a << (b & 63));
    s_lshr_b32(a: u32, b: u32) -> u32 = nz!(a >> (b & 31));
    s_lshr_b64(a: u64, b: u32) -> u64 = nz!(a >> (b & 63));
    s_ashr_i32(a: i32, b: u32) -> i32 = nz!(a >> (b & 31));
    s_ashr_i64(a: i64, b: u32) -> i64 = nz!(a >> (b & 63));
    s_bfm_b32(a: u32, b: u32) -> u32 = (((1 << (a & 31)) - 1) << (b & 31), None);
    s_bfm_b64(a: u32, b: u32) -> u64 = (((1 << (a & 63)) - 1) << (b & 63), None);
    s_mul_i32(a: u32, b: u32) -> u32 = (a.wrapping_mul(b), None);
    s_mul_hi_u32(a: u32, b: u32) -> u32 = ((u64::from(a) * u64::from(b) >> 32) as u32, None);
    s_mul_hi_i32(a: i32, b: i32) -> i32 = ((i64::from(a) * i64::from(b) >> 32) as i32, None);
    s_bfe_u32(a: u32, b: u32) -> u32 = nz!(bit_field_u64(u64::from(a), b, 32) as u32);
    s_bfe_i32(a: i32, b: u32) -> i32 = nz!(bit_field_i64(i64::from(a), b, 32) as i32);
    s_bfe_u64(a: u64, b: u32) -> u64 = nz!(bit_field_u64(a, b, 64));
    s_bfe_i64(a: i64, b: u32) -> i64 = nz!(bit_field_i64(a, b, 64));
    s_absdiff_i32(a: i32, b: i32) -> u32 = nz!(a.wrapping_sub(b).unsigned_abs());
    s_lshl1_add_u32(a: u32, b: u32) -> u32 = shifted_add(a, 1, b);
    s_lshl2_add_u32(a: u32, b: u32) -> u32 = shifted_add(a, 2, b);
    s_lshl3_add_u32(a: u32, b: u32) -> u32 = shifted_add(a, 3, b);
    s_lshl4_add_u32(a: u32, b: u32) -> u32 = shifted_add(a, 4, b);
    s_pack_ll_b32_b16(a: u32, b: u32) -> u32 = (a & 0xffff | b << 16, None);
    s_pack_lh_b32_b16(a: u32, b: u32) -> u32 = (a & 0xffff | b & 0xffff_0000, None);
    s_pack_hh_b32_b16(a: u32, b: u32) -> u32 = (a >> 16 | b & 0xffff_0000, None);

    s_mov_b32(a: u32) -> u32 = (a, None);
    s_mov_b64(a: u64) -> u64 = (a, None);
    s_movk_i32(a: u32) -> u32 = (a, None);
    s_not_b32(a: u32) -> u32 = nz!(!a);
    s_not_b64(a: u64) -> u64 = nz!(!a);
    s_wqm_b32(a: u32) -> u32 = nz!(whole_quads(u64::from(a)) as u32);
    s_wqm_b64(a: u64) -> u64 = nz!(whole_quads(a));
    s_quadmask_b32(a: u32) -> u32 = nz!(quad_mask(u64::from(a)) as u32);
    s_quadmask_b64(a: u64) -> u64 = nz!(quad_mask(a));
    s_brev_b32(a: u32) -> u32 = (a.reverse_bits(), None);
    s_brev_b64(a: u64) -> u64 = (a.reverse_bits(), None);
    s_bcnt0_i32_b32(a: u32) -> u32 = nz!(a.count_zeros());
    s_bcnt0_i32_b64(a: u64) -> u32 = nz!(a.count_zeros());
    s_bcnt1_i32_b32(a: u32) -> u32 = nz!(a.count_ones());
    s_bcnt1_i32_b64(a: u64) -> u32 = nz!(a.count_ones());
    s_ff0_i32_b32(a: u32) -> i32 = (first_set(u64::from(!a), 32), None);
    s_ff0_i32_b64(a: u64) -> i32 = (first_set(!a, 64), None);
    s_ff1_i32_b32(a: u32) -> i32 = (first_set(u64::from(a), 32), None);
    s_ff1_i32_b64(a: u64) -> i32 = (first_set(a, 64), None);
    s_flbit_i32_b32(a: u32) -> i32 = (leading(u64::from(a), 32), None);
    s_flbit_i32_b64(a: u64) -> i32 = (leading(a, 64), None);
    s_flbit_i32(a: i32) -> i32 = (leading_sign(i64::from(a), 32), None);
    s_flbit_i32_i64(a: i64) -> i32 = (leading_sign(a, 64), None);
    s_sext_i32_i8(a: u32) -> i32 = (i32::from(a as i8), None);
    s_sext_i32_i16(a: u32) -> i32 = (i32::from(a as i16), None);
    s_abs_i32(a: i32) -> u32 = nz!(a.unsigned_abs());
    s_bitreplicate_b64_b32(a: u32) -> u64 = ((0..32).map(|i| u64::from(a >> i & 1) * 3 << (2 * i)).sum(), None);
}

/// Operations that read their destination: `d` is its old value.
macro_rules! updates {
    ($w:ident; $($op:ident ($d:ident: $r:ty, $a:ident: $t:ty) = $e:expr;)*) => {
        fn updating(op: Op) -> Option<(Handler, Widths)> {
            Some(match op {
                $(Op::$op => {
                    fn run(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
                        let $d = <$r as Scalar>::get(w, m.src[0]);
                        let $a = <$t as Scalar>::get(w, m.src[1]);
                        let $w = &*w;
                        let _ = $w;
                        let (result, scc): ($r, Option<bool>) = $e;
                        result.set(w, m.dst);
                        if let Some(scc) = scc {
                            w.set_scc(scc);
                        }
                        Flow::Next
                    }
                    (run as Handler, Widths {
                        dst: Some(<$r as Scalar>::WIDTH),
                        src: &[<$r as Scalar>::WIDTH, <$t as Scalar>::WIDTH],
                        reads_dst: true,
                        unsigned: false,
                    })
                })*
                _ => return None,
            })
        }
    };
}

updates! { w;
    s_cmov_b32(d: u32, a: u32) = (if w.scc() { a } else { d }, None);
    s_cmov_b64(d: u64, a: u64) = (if w.scc() { a } else { d }, None);
    s_cmovk_i32(d: u32, a: u32) = (if w.scc() { a } else { d }, None);
    s_addk_i32(d: i32, a: i32) = add_signed(d, a);
    s_mulk_i32(d: i32, a: i32) = (d.wrapping_mul(a), None);
    s_bitset0_b32(d: u32, a: u32) = (d & !(1 << (a & 31)), None);
    s_bitset0_b64(d: u64, a: u32) = (d & !(1 << (a & 63)), None);
    s_bitset1_b32(d: u32, a: u32) = (d | 1 << (a & 31), None);
    s_bitset1_b64(d: u64, a: u32) = (d | 1 << (a & 63), None);
}

/// Compares: the result is SCC. `sopk` compares the destination field's register with the immediate.
macro_rules! compares {
    ($($sopk:literal $unsigned:literal $op:ident ($a:ident: $t:ty, $b:ident: $u:ty) = $e:expr;)*) => {
        fn comparing(op: Op) -> Option<(Handler, Widths)> {
            Some(match op {
                $(Op::$op => {
                    fn run(w: &mut Wave, m: &Micro, _: &mut Ctx<'_>) -> Flow {
                        let $a = <$t as Scalar>::get(w, m.src[0]);
                        let $b = <$u as Scalar>::get(w, m.src[1]);
                        w.set_slot(slot::SCC, u32::from($e));
                        Flow::Next
                    }
                    (run as Handler, Widths {
                        dst: None,
                        src: &[<$t as Scalar>::WIDTH, <$u as Scalar>::WIDTH],
                        reads_dst: $sopk,
                        unsigned: $unsigned,
                    })
                })*
                _ => return None,
            })
        }
    };
}

compares! {
    false false s_cmp_eq_i32(a: i32, b: i32) = a == b;
    false false s_cmp_lg_i32(a: i32, b: i32) = a != b;
    false false s_cmp_gt_i32(a: i32, b: i32) = a > b;
    false false s_cmp_ge_i32(a: i32, b: i32) = a >= b;
    false false s_cmp_lt_i32(a: i32, b: i32) = a < b;
    false false s_cmp_le_i32(a: i32, b: i32) = a <= b;
    false false s_cmp_eq_u32(a: u32, b: u32) = a == b;
    false false s_cmp_lg_u32(a: u32, b: u32) = a != b;
    false false s_cmp_gt_u32(a: u32, b: u32) = a > b;
    false false s_cmp_ge_u32(a: u32, b: u32) = a >= b;
    false false s_cmp_lt_u32(a: u32, b: u32) = a < b;
    false false s_cmp_le_u32(a: u32, b: u32) = a <= b;
    false false s_cmp_eq_u64(a: u64, b: u64) = a == b;
    false false s_cmp_lg_u64(a: u64, b: u64) = a != b;
    false false s_bitcmp0_b32(a: u32, b: u32) = a >> (b & 31) & 1 == 0;
    false false s_bitcmp1_b32(a: u32, b: u32) = a >> (b & 31) & 1 == 1;
    false false s_bitcmp0_b64(a: u64, b: u32) = a >> (b & 63) & 1 == 0;
    false false s_bitcmp1_b64(a: u64, b: u32) = a >> (b & 63) & 1 == 1;
    true false s_cmpk_eq_i32(a: i32, b: i32) = a == b;
    true false s_cmpk_lg_i32(a: i32, b: i32) = a != b;
    true false s_cmpk_gt_i32(a: i32, b: i32) = a > b;
    true false s_cmpk_ge_i32(a: i32, b: i32) = a >= b;
    true false s_cmpk_lt_i32(a: i32, b: i32) = a < b;
    true false s_cmpk_le_i32(a: i32, b: i32) = a <= b;
    true true s_cmpk_eq_u32(a: u32, b: u32) = a == b;
    true true s_cmpk_lg_u32(a: u32, b: u32) = a != b;
    true true s_cmpk_gt_u32(a: u32, b: u32) = a > b;
    true true s_cmpk_ge_u32(a: u32, b: u32) = a >= b;
    true true s_cmpk_lt_u32(a: u32, b: u32) = a < b;
    true true s_cmpk_le_u32(a: u32, b: u32) = a <= b;
}

/// The handler of an arithmetic, logic or compare operation, and the widths of its operands.
pub(super) fn lower(op: Op) -> Option<(Handler, Widths)> {
    results(op).or_else(|| updating(op)).or_else(|| comparing(op))
}
