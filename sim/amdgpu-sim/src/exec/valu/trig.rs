//! The pieces of 2/pi that the argument reduction of double-precision sine and cosine needs.

use super::f64::ldexp;
use super::lane_loop::operations;

/// The first 1280 bits of 2/pi after the binary point.
const TWO_OVER_PI: [u64; 20] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// The 53 bits of 2/pi from bit `at` on, zero beyond what the hardware has.
#[inline(always)]
fn segment(at: u32) -> u64 {
    // The hardware keeps 1201 bits.
    let bit = |i: u32| if i < 1201 { TWO_OVER_PI[(i / 64) as usize] >> (63 - i % 64) & 1 } else { 0 };
    let mut bits = 0;
    for i in 0..53 {
        bits = bits << 1 | bit(at + i);
    }
    bits
}

/// Segment `n` of 2/pi for the argument `x`: for large arguments, bits that only contribute whole turns are skipped.
fn preop(x: f64, n: u32) -> f64 {
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i32;
    let shift = (n & 31) as i32 * 53 + (exponent - 1077).max(0);
    let scale = -53 - shift + if exponent >= 1968 { 128 } else { 0 };
    ldexp(segment(shift as u32) as f64, scale)
}

operations! { table;
    v_trig_preop_f64(a: f64, b: u32) -> f64 = preop(a, b);
}
