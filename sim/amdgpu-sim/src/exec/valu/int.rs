//! Integer operations.

use super::lane_loop::operations;

#[inline(always)]
fn sext24(x: i32) -> i64 {
    i64::from(x << 8 >> 8)
}

#[inline(always)]
fn zext24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

#[inline(always)]
fn med3<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.min(b).max(a.max(b).min(c))
}

#[inline(always)]
fn byte(x: u32, n: u32) -> u32 {
    x >> (8 * n) & 0xff
}

/// Sum of absolute differences of four bytes.
#[inline(always)]
fn sad_bytes(a: u32, b: u32) -> u32 {
    byte(a, 0).abs_diff(byte(b, 0))
        + byte(a, 1).abs_diff(byte(b, 1))
        + byte(a, 2).abs_diff(byte(b, 2))
        + byte(a, 3).abs_diff(byte(b, 3))
}

/// The same, ignoring bytes of `b` that are zero.
#[inline(always)]
fn masked_sad(a: u32, b: u32) -> u32 {
    let one = |n| if byte(b, n) == 0 { 0 } else { byte(a, n).abs_diff(byte(b, n)) };
    one(0) + one(1) + one(2) + one(3)
}

/// One byte of `v_perm_b32`: `selector` selects one of the eight bytes of `value`, a sign, or a constant.
#[inline(always)]
fn permuted(value: u64, selector: u32) -> u32 {
    match selector {
        0..=7 => (value >> (8 * selector) & 0xff) as u32,
        8..=11 => 0xff * (value >> (16 * (selector - 8) + 15) & 1) as u32,
        12 => 0,
        _ => 0xff,
    }
}

/// The shader engines, one bit each, that draw in a rectangle of tiles. `bits` has the tiles of the corners, y2, x2,
/// y1, x1, from the lowest two bits on. This is the manual's table, computed as its text describes.
#[inline]
fn screen_partition(bits: u32) -> u32 {
    let corner = |i: u32| bits >> (2 * i) & 3;
    let [y2, x2, y1, x1] = [0, 1, 2, 3].map(corner);
    let side = |from: u32, to: u32| (0..=(to.wrapping_sub(from) & 3)).map(move |i| from + i);
    let engine = |x: u32, y: u32| ((x ^ y >> 1) & 1) << 1 | (y ^ x >> 1) & 1;
    side(x1, x2).flat_map(|x| side(y1, y2).map(move |y| engine(x, y))).fold(0, |engines, e| engines | 1 << e)
}

#[inline(always)]
fn perm(a: u32, b: u32, selectors: u32) -> u32 {
    // Bytes 0 to 3 are the second operand's.
    let value = u64::from(a) << 32 | u64::from(b);
    permuted(value, byte(selectors, 0))
        | permuted(value, byte(selectors, 1)) << 8
        | permuted(value, byte(selectors, 2)) << 16
        | permuted(value, byte(selectors, 3)) << 24
}

#[inline(always)]
fn lerp(a: u32, b: u32, c: u32) -> u32 {
    let one = |n| (byte(a, n) + byte(b, n) + (byte(c, n) & 1)) >> 1;
    one(0) | one(1) << 8 | one(2) << 16 | one(3) << 24
}

#[inline(always)]
fn bfe_u32(a: u32, offset: u32, width: u32) -> u32 {
    let width = width & 31;
    a >> (offset & 31) & ((1_u32 << width) - 1)
}

#[inline(always)]
fn bfe_i32(a: i32, offset: u32, width: u32) -> i32 {
    let spare = 32_u32.wrapping_sub(width & 31) & 31;
    let field = (a >> (offset & 31)) << spare >> spare;
    if width & 31 == 0 { 0 } else { field }
}

#[inline(always)]
fn bfi(mask: u32, insert: u32, base: u32) -> u32 {
    mask & insert | !mask & base
}

#[inline(always)]
fn mul_hi_u32(a: u32, b: u32) -> u32 {
    (u64::from(a) * u64::from(b) >> 32) as u32
}

#[inline(always)]
fn mul_hi_i32(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> 32) as i32
}

#[inline(always)]
fn leading_sign(a: i32) -> u32 {
    let flipped = (a ^ a >> 31) as u32;
    if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
}

operations! { table;
    v_mov_b32(a: u32) -> u32 = a;
    v_mov_b64(a: u64) -> u64 = a;
    v_accvgpr_read_b32(a: u32) -> u32 = a;
    v_accvgpr_write_b32(a: u32) -> u32 = a;
    v_accvgpr_mov_b32(a: u32) -> u32 = a;
    v_not_b32(a: u32) -> u32 = !a;
    v_bfrev_b32(a: u32) -> u32 = a.reverse_bits();
    v_screen_partition_4se_b32(a: u32) -> u32 = screen_partition(a);
    v_ffbh_u32(a: u32) -> u32 = if a == 0 { u32::MAX } else { a.leading_zeros() };
    v_ffbl_b32(a: u32) -> u32 = if a == 0 { u32::MAX } else { a.trailing_zeros() };
    v_ffbh_i32(a: i32) -> u32 = leading_sign(a);

    v_add_u32(a: u32, b: u32) -> u32 = a.wrapping_add(b);
    v_sub_u32(a: u32, b: u32) -> u32 = a.wrapping_sub(b);
    v_subrev_u32(a: u32, b: u32) -> u32 = b.wrapping_sub(a);
    v_add_i32(a: i32, b: i32) -> i32 = a.wrapping_add(b);
    v_sub_i32(a: i32, b: i32) -> i32 = a.wrapping_sub(b);
    v_mul_i32_i24(a: i32, b: i32) -> i32 = (sext24(a) * sext24(b)) as i32;
    v_mul_hi_i32_i24(a: i32, b: i32) -> i32 = (sext24(a) * sext24(b) >> 32) as i32;
    v_mul_u32_u24(a: u32, b: u32) -> u32 = (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff);
    v_mul_hi_u32_u24(a: u32, b: u32) -> u32 = (zext24(a) * zext24(b) >> 32) as u32;
    v_min_i32(a: i32, b: i32) -> i32 = a.min(b);
    v_max_i32(a: i32, b: i32) -> i32 = a.max(b);
    v_min_u32(a: u32, b: u32) -> u32 = a.min(b);
    v_max_u32(a: u32, b: u32) -> u32 = a.max(b);
    v_lshrrev_b32(a: u32, b: u32) -> u32 = b >> (a & 31);
    v_ashrrev_i32(a: u32, b: i32) -> i32 = b >> (a & 31);
    v_lshlrev_b32(a: u32, b: u32) -> u32 = b << (a & 31);
    v_lshlrev_b64(a: u32, b: u64) -> u64 = b << (a & 63);
    v_lshrrev_b64(a: u32, b: u64) -> u64 = b >> (a & 63);
    v_ashrrev_i64(a: u32, b: i64) -> i64 = b >> (a & 63);
    v_and_b32(a: u32, b: u32) -> u32 = a & b;
    v_or_b32(a: u32, b: u32) -> u32 = a | b;
    v_xor_b32(a: u32, b: u32) -> u32 = a ^ b;
    v_xnor_b32(a: u32, b: u32) -> u32 = !(a ^ b);
    v_mul_lo_u32(a: u32, b: u32) -> u32 = a.wrapping_mul(b);
    v_mul_hi_u32(a: u32, b: u32) -> u32 = mul_hi_u32(a, b);
    v_mul_hi_i32(a: i32, b: i32) -> i32 = mul_hi_i32(a, b);
    v_bfm_b32(a: u32, b: u32) -> u32 = ((1_u32 << (a & 31)) - 1) << (b & 31);
    v_bcnt_u32_b32(a: u32, b: u32) -> u32 = a.count_ones().wrapping_add(b);

    v_mad_i32_i24(a: i32, b: i32, c: i32) -> i32 = ((sext24(a) * sext24(b)) as i32).wrapping_add(c);
    v_mad_u32_u24(a: u32, b: u32, c: u32) -> u32 = (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c);
    v_bfe_u32(a: u32, b: u32, c: u32) -> u32 = bfe_u32(a, b, c);
    v_bfe_i32(a: i32, b: u32, c: u32) -> i32 = bfe_i32(a, b, c);
    v_bfi_b32(a: u32, b: u32, c: u32) -> u32 = bfi(a, b, c);
    v_lerp_u8(a: u32, b: u32, c: u32) -> u32 = lerp(a, b, c);
    v_alignbit_b32(a: u32, b: u32, c: u32) -> u32 = ((u64::from(a) << 32 | u64::from(b)) >> (c & 31)) as u32;
    v_alignbyte_b32(a: u32, b: u32, c: u32) -> u32 = ((u64::from(a) << 32 | u64::from(b)) >> (8 * (c & 3))) as u32;
    v_min3_i32(a: i32, b: i32, c: i32) -> i32 = a.min(b).min(c);
    v_min3_u32(a: u32, b: u32, c: u32) -> u32 = a.min(b).min(c);
    v_max3_i32(a: i32, b: i32, c: i32) -> i32 = a.max(b).max(c);
    v_max3_u32(a: u32, b: u32, c: u32) -> u32 = a.max(b).max(c);
    v_med3_i32(a: i32, b: i32, c: i32) -> i32 = med3(a, b, c);
    v_med3_u32(a: u32, b: u32, c: u32) -> u32 = med3(a, b, c);
    v_sad_u8(a: u32, b: u32, c: u32) -> u32 = sad_bytes(a, b).wrapping_add(c);
    v_sad_hi_u8(a: u32, b: u32, c: u32) -> u32 = (sad_bytes(a, b) << 16).wrapping_add(c);
    v_msad_u8(a: u32, b: u32, c: u32) -> u32 = masked_sad(a, b).wrapping_add(c);
    v_sad_u16(a: u32, b: u32, c: u32) -> u32 =
        (a & 0xffff).abs_diff(b & 0xffff).wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c);
    v_sad_u32(a: u32, b: u32, c: u32) -> u32 = a.abs_diff(b).wrapping_add(c);
    v_perm_b32(a: u32, b: u32, c: u32) -> u32 = perm(a, b, c);
    v_xad_u32(a: u32, b: u32, c: u32) -> u32 = (a ^ b).wrapping_add(c);
    v_lshl_add_u32(a: u32, b: u32, c: u32) -> u32 = (a << (b & 31)).wrapping_add(c);
    v_lshl_add_u64(a: u64, b: u32, c: u64) -> u64 = (a << (b & 7).min(4)).wrapping_add(c);
    v_add_lshl_u32(a: u32, b: u32, c: u32) -> u32 = a.wrapping_add(b) << (c & 31);
    v_add3_u32(a: u32, b: u32, c: u32) -> u32 = a.wrapping_add(b).wrapping_add(c);
    v_lshl_or_b32(a: u32, b: u32, c: u32) -> u32 = a << (b & 31) | c;
    v_and_or_b32(a: u32, b: u32, c: u32) -> u32 = a & b | c;
    v_or3_b32(a: u32, b: u32, c: u32) -> u32 = a | b | c;
}

operations! { table16;
    v_add_u16(a: u16, b: u16) -> u16 = a.wrapping_add(b);
    v_sub_u16(a: u16, b: u16) -> u16 = a.wrapping_sub(b);
    v_subrev_u16(a: u16, b: u16) -> u16 = b.wrapping_sub(a);
    v_add_i16(a: u16, b: u16) -> u16 = a.wrapping_add(b);
    v_sub_i16(a: u16, b: u16) -> u16 = a.wrapping_sub(b);
    v_mul_lo_u16(a: u16, b: u16) -> u16 = a.wrapping_mul(b);
    v_lshlrev_b16(a: u16, b: u16) -> u16 = b << (a & 15);
    v_lshrrev_b16(a: u16, b: u16) -> u16 = b >> (a & 15);
    v_ashrrev_i16(a: u16, b: i16) -> i16 = b >> (a & 15);
    v_min_u16(a: u16, b: u16) -> u16 = a.min(b);
    v_max_u16(a: u16, b: u16) -> u16 = a.max(b);
    v_min_i16(a: i16, b: i16) -> i16 = a.min(b);
    v_max_i16(a: i16, b: i16) -> i16 = a.max(b);
    v_mad_u16(a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c);
    v_mad_i16(a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c);
    v_mad_legacy_u16(a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c);
    v_mad_legacy_i16(a: u16, b: u16, c: u16) -> u16 = a.wrapping_mul(b).wrapping_add(c);
    v_mad_u32_u16(a: u16, b: u16, c: u32) -> u32 = (u32::from(a) * u32::from(b)).wrapping_add(c);
    v_mad_i32_i16(a: i16, b: i16, c: i32) -> i32 = (i32::from(a) * i32::from(b)).wrapping_add(c);
    v_min3_i16(a: i16, b: i16, c: i16) -> i16 = a.min(b).min(c);
    v_min3_u16(a: u16, b: u16, c: u16) -> u16 = a.min(b).min(c);
    v_max3_i16(a: i16, b: i16, c: i16) -> i16 = a.max(b).max(c);
    v_max3_u16(a: u16, b: u16, c: u16) -> u16 = a.max(b).max(c);
    v_med3_i16(a: i16, b: i16, c: i16) -> i16 = med3(a, b, c);
    v_med3_u16(a: u16, b: u16, c: u16) -> u16 = med3(a, b, c);
    v_pack_b32_f16(a: u16, b: u16) -> u32 = u32::from(a) | u32::from(b) << 16;
    v_sat_pk_u8_i16(a: u32) -> u16 =
        (a as u16 as i16).clamp(0, 255) as u16 | ((a >> 16) as u16 as i16).clamp(0, 255) as u16 * 256;
}

// Integer operations with `clamp`: the exact result, clamped to the type.
operations! { saturating;
    v_add_u32(a: u32, b: u32) -> u32 = a.saturating_add(b);
    v_sub_u32(a: u32, b: u32) -> u32 = a.saturating_sub(b);
    v_subrev_u32(a: u32, b: u32) -> u32 = b.saturating_sub(a);
    v_add_i32(a: i32, b: i32) -> i32 = a.saturating_add(b);
    v_sub_i32(a: i32, b: i32) -> i32 = a.saturating_sub(b);
    v_mad_i32_i24(a: i32, b: i32, c: i32) -> i32 =
        (sext24(a) * sext24(b) + i64::from(c)).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    v_mad_u32_u24(a: u32, b: u32, c: u32) -> u32 =
        (zext24(a) * zext24(b) + u64::from(c)).min(u64::from(u32::MAX)) as u32;
    v_mul_i32_i24(a: i32, b: i32) -> i32 = (sext24(a) * sext24(b)).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    v_mul_u32_u24(a: u32, b: u32) -> u32 = (zext24(a) * zext24(b)).min(u64::from(u32::MAX)) as u32;
    v_sad_u8(a: u32, b: u32, c: u32) -> u32 = sad_bytes(a, b).saturating_add(c);
    v_sad_hi_u8(a: u32, b: u32, c: u32) -> u32 = (sad_bytes(a, b) << 16).saturating_add(c);
    v_msad_u8(a: u32, b: u32, c: u32) -> u32 = masked_sad(a, b).saturating_add(c);
    v_sad_u16(a: u32, b: u32, c: u32) -> u32 =
        ((a & 0xffff).abs_diff(b & 0xffff) + (a >> 16).abs_diff(b >> 16)).saturating_add(c);
    v_sad_u32(a: u32, b: u32, c: u32) -> u32 = a.abs_diff(b).saturating_add(c);
    v_add_u16(a: u16, b: u16) -> u16 = a.saturating_add(b);
    v_sub_u16(a: u16, b: u16) -> u16 = a.saturating_sub(b);
    v_subrev_u16(a: u16, b: u16) -> u16 = b.saturating_sub(a);
    v_add_i16(a: i16, b: i16) -> i16 = a.saturating_add(b);
    v_sub_i16(a: i16, b: i16) -> i16 = a.saturating_sub(b);
    v_mad_u16(a: u16, b: u16, c: u16) -> u16 =
        (u32::from(a).wrapping_mul(u32::from(b)) as u64 + u64::from(c)).min(0xffff) as u16;
    v_mad_i16(a: i16, b: i16, c: i16) -> i16 =
        (i64::from(a) * i64::from(b) + i64::from(c)).clamp(-0x8000, 0x7fff) as i16;
    v_mad_legacy_u16(a: u16, b: u16, c: u16) -> u16 =
        (u64::from(a) * u64::from(b) + u64::from(c)).min(0xffff) as u16;
    v_mad_legacy_i16(a: i16, b: i16, c: i16) -> i16 =
        (i64::from(a) * i64::from(b) + i64::from(c)).clamp(-0x8000, 0x7fff) as i16;
    v_mad_u32_u16(a: u16, b: u16, c: u32) -> u32 = (u32::from(a) * u32::from(b)).saturating_add(c);
    v_mad_i32_i16(a: i16, b: i16, c: i32) -> i32 = (i32::from(a) * i32::from(b)).saturating_add(c);
}
