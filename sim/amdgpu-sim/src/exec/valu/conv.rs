//! Conversions.

use super::half::F16;
use super::lane_loop::operations;

#[inline(always)]
fn quiet(x: f32) -> f32 {
    if x.is_nan() { f32::from_bits(x.to_bits() | 0x40_0000) } else { x }
}

/// Converts a float to a byte: to nearest, clamped to 0 to 255; NaN gives 0.
#[inline(always)]
fn to_byte(x: f32) -> u32 {
    u32::from(x.round_ties_even() as u8)
}

/// `base` with byte `n` replaced.
#[inline(always)]
fn with_byte(base: u32, n: u32, byte: u32) -> u32 {
    let shift = 8 * (n & 3);
    base & !(0xff << shift) | byte << shift
}

#[inline(always)]
fn signed_norm(x: f32) -> u32 {
    u32::from((x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16)
}

#[inline(always)]
fn unsigned_norm(x: f32) -> u32 {
    u32::from((x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16)
}

#[inline(always)]
fn from_nibble(x: u32) -> f32 {
    ((x << 28) as i32 >> 28) as f32 * 0.0625
}

operations! { table;
    v_cvt_f32_i32(a: i32) -> f32 = a as f32;
    v_cvt_f32_u32(a: u32) -> f32 = a as f32;
    v_cvt_i32_f32(a: f32) -> i32 = a as i32;
    v_cvt_u32_f32(a: f32) -> u32 = a as u32;
    v_cvt_f64_i32(a: i32) -> f64 = f64::from(a);
    v_cvt_f64_u32(a: u32) -> f64 = f64::from(a);
    v_cvt_i32_f64(a: f64) -> i32 = a as i32;
    v_cvt_u32_f64(a: f64) -> u32 = a as u32;
    v_cvt_f32_f64(a: f64) -> f32 = a as f32;
    v_cvt_f64_f32(a: f32) -> f64 = f64::from(a);
    v_cvt_f16_f32(a: f32) -> F16 = F16::from_f32(a);
    v_cvt_f32_f16(a: F16) -> f32 = quiet(a.to_f32());
    v_cvt_f16_u16(a: u16) -> F16 = F16::from_f32(f32::from(a));
    v_cvt_f16_i16(a: i16) -> F16 = F16::from_f32(f32::from(a));
    v_cvt_u16_f16(a: F16) -> u16 = a.to_f32() as u16;
    v_cvt_i16_f16(a: F16) -> i16 = a.to_f32() as i16;
    v_cvt_rpi_i32_f32(a: f32) -> i32 = (f64::from(a) + 0.5).floor() as i32;
    v_cvt_flr_i32_f32(a: f32) -> i32 = a.floor() as i32;
    v_cvt_off_f32_i4(a: u32) -> f32 = from_nibble(a);
    v_cvt_f32_ubyte0(a: u32) -> f32 = (a & 0xff) as f32;
    v_cvt_f32_ubyte1(a: u32) -> f32 = (a >> 8 & 0xff) as f32;
    v_cvt_f32_ubyte2(a: u32) -> f32 = (a >> 16 & 0xff) as f32;
    v_cvt_f32_ubyte3(a: u32) -> f32 = (a >> 24) as f32;
    v_cvt_norm_i16_f16(a: F16) -> u16 = signed_norm(a.to_f32()) as u16;
    v_cvt_norm_u16_f16(a: F16) -> u16 = unsigned_norm(a.to_f32()) as u16;
    v_cvt_pk_u8_f32(a: f32, b: u32, c: u32) -> u32 = with_byte(c, b, to_byte(a));
    v_cvt_pkaccum_u8_f32(a: f32, b: u32, c: u32) -> u32 = with_byte(c, b, to_byte(a));
    v_cvt_pknorm_i16_f32(a: f32, b: f32) -> u32 = signed_norm(a) | signed_norm(b) << 16;
    v_cvt_pknorm_u16_f32(a: f32, b: f32) -> u32 = unsigned_norm(a) | unsigned_norm(b) << 16;
    v_cvt_pknorm_i16_f16(a: F16, b: F16) -> u32 = signed_norm(a.to_f32()) | signed_norm(b.to_f32()) << 16;
    v_cvt_pknorm_u16_f16(a: F16, b: F16) -> u32 = unsigned_norm(a.to_f32()) | unsigned_norm(b.to_f32()) << 16;
    v_cvt_pkrtz_f16_f32(a: f32, b: f32) -> u32 =
        u32::from(F16::from_f32_toward_zero(a).0) | u32::from(F16::from_f32_toward_zero(b).0) << 16;
    v_cvt_pk_u16_u32(a: u32, b: u32) -> u32 = a.min(0xffff) | b.min(0xffff) << 16;
    v_cvt_pk_i16_i32(a: i32, b: i32) -> u32 =
        u32::from(a.clamp(-0x8000, 0x7fff) as u16) | u32::from(b.clamp(-0x8000, 0x7fff) as u16) << 16;
}
