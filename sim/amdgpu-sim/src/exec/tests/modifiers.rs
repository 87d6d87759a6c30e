//! abs, neg, omod, clamp, op_sel, SDWA and DPP.

use super::float::{f, same_single, singles};
use super::*;
use crate::isa::inst::{Dpp, Sdwa, SdwaSel, SdwaUnused};

#[test]
fn signs() {
    let x = singles(2);
    for abs in 0..4 {
        for neg in 0..4 {
            let mods = Mods { abs, neg, ..Mods::default() };
            same_single(Op::v_mul_f32, mods, DEFAULT_MODE, &x, &|x| {
                let get = |i: usize| {
                    let y = if abs >> i & 1 == 1 { f(x[i]).abs() } else { f(x[i]) };
                    if neg >> i & 1 == 1 { -y } else { y }
                };
                get(0) * get(1)
            });
        }
    }
    // The source registers themselves stay as they are.
    let code = modified(Op::v_add_f64, v(0), &[v(2), v(4)], Mods { neg: 2, abs: 1, ..Mods::default() });
    let w = machine(&[code], DEFAULT_MODE, &|w| {
        set_value(w, 2, 2, 9, (-5.0_f64).to_bits());
        set_value(w, 4, 2, 9, 1.5_f64.to_bits());
    });
    assert_eq!([0, 2, 4].map(|r| f64::from_bits(value(&w, r, 2, 9))), [3.5, -5.0, 1.5]);
}

#[test]
fn clamp_and_output_multiplier() {
    let clamp = Mods { clamp: true, ..Mods::default() };
    let limit = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
    same_single(Op::v_add_f32, clamp, DEFAULT_MODE, &singles(2), &|x| limit(f(x[0]) + f(x[1])));
    // Without DX10_CLAMP a NaN stays.
    same_single(Op::v_add_f32, clamp, DEFAULT_MODE & !(1 << 21), &singles(2), &|x| {
        let sum = f(x[0]) + f(x[1]);
        if sum.is_nan() { sum } else { limit(sum) }
    });
    let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    for (omod, factor) in [(1, 2.0), (2, 4.0), (3, 0.5)] {
        let mods = Mods { omod, ..Mods::default() };
        same_single(Op::v_mul_f32, mods, FLUSHING, &singles(2), &|x| flush(flush(f(x[0])) * flush(f(x[1])) * factor));
        // Where denormals are kept, or in IEEE mode, the multiplier does nothing.
        same_single(Op::v_mul_f32, mods, DEFAULT_MODE, &singles(2), &|x| f(x[0]) * f(x[1]));
    }
}

#[test]
fn op_sel_picks_halves() {
    for op_sel in 0..16 {
        let mods = Mods { op_sel, ..Mods::default() };
        let mut random = Random::new(81);
        let x: Vec<Vec<u64>> = (0..3).map(|_| (0..64).map(|_| random.next() & 0xffff_ffff).collect()).collect();
        check_with(Op::v_mad_u16, mods, DEFAULT_MODE, &x, &|x| {
            let get = |i: usize| x[i] >> (16 * (op_sel >> i & 1)) & 0xffff;
            let result = (get(0) * get(1) + get(2)) & 0xffff;
            if op_sel >> 3 == 1 { x[3] & 0xffff | result << 16 } else { x[3] & 0xffff_0000 | result }
        });
    }
}

const PARTS: [(SdwaSel, u32, u32); 7] = [
    (SdwaSel::Byte0, 0, 8),
    (SdwaSel::Byte1, 8, 8),
    (SdwaSel::Byte2, 16, 8),
    (SdwaSel::Byte3, 24, 8),
    (SdwaSel::Word0, 0, 16),
    (SdwaSel::Word1, 16, 16),
    (SdwaSel::Dword, 0, 32),
];

#[test]
fn sdwa_takes_and_leaves_parts() {
    let extend = |x: u64, width: u32, signed: bool| {
        let field = x & (u64::MAX >> (64 - width));
        if signed && field >> (width - 1) & 1 == 1 { field | u64::MAX << width } else { field }
    };
    let (x, y, old) = (0x81f2_9384_u64, 0x7fa0_80c1_u64, 0x5566_7788_u64);
    for (a, a_shift, a_width) in PARTS {
        for (b, b_shift, b_width) in PARTS {
            for (out, shift, width) in PARTS {
                for unused in [SdwaUnused::Pad, SdwaUnused::Sext, SdwaUnused::Preserve] {
                    for sext in [[false, false], [true, false], [true, true]] {
                        let sdwa = Sdwa { dst_sel: out, dst_unused: unused, src_sel: [a, b], sext };
                        let code = Inst {
                            format: Format::Sdwa,
                            mods: Mods { sdwa: Some(sdwa), ..Mods::default() },
                            ..inst(Op::v_add_u32, v(0), &[v(1), v(2)])
                        };
                        let w = machine(&[code], DEFAULT_MODE, &|w| {
                            w.row_mut(0).fill(old as u32);
                            w.row_mut(1).fill(x as u32);
                            w.row_mut(2).fill(y as u32);
                        });
                        let sum =
                            extend(x >> a_shift, a_width, sext[0]).wrapping_add(extend(y >> b_shift, b_width, sext[1]));
                        let field = (u64::from(u32::MAX) >> (32 - width)) << shift;
                        let expected = match unused {
                            SdwaUnused::Pad => sum << shift & field,
                            SdwaUnused::Sext => extend(sum, width, true) << shift,
                            SdwaUnused::Preserve => sum << shift & field | old & !field,
                        };
                        assert_eq!(w.row(0)[33], expected as u32, "{sdwa:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn sdwa_compare_and_float() {
    let sdwa = |sel| Mods { sdwa: Some(Sdwa { src_sel: [sel, SdwaSel::Dword], ..Sdwa::default() }), ..Mods::default() };
    let code = [
        Inst { format: Format::Sdwa, mods: sdwa(SdwaSel::Word1), ..inst(Op::v_cvt_f32_f16, v(0), &[v(2)]) },
        Inst { format: Format::Sdwa, mods: sdwa(SdwaSel::Byte1), ..inst(Op::v_cmp_eq_u32, VCC, &[v(2), v(3)]) },
    ];
    let w = machine(&code, DEFAULT_MODE, &|w| {
        w.row_mut(2).fill(0x3e00_4200);
        w.row_mut(3).fill(0x42);
        w.row_mut(3)[5] = 0x43;
    });
    assert_eq!(f32::from_bits(w.row(0)[1]), 1.5);
    assert_eq!(w.vcc(), !(1 << 5));
}

/// Which lane DPP reads, by the assembler's names.
fn reads(ctrl: u16, lane: i32) -> Option<i32> {
    let row = lane / 16 * 16;
    let within = |l: i32| (l / 16 * 16 == row && l >= 0).then_some(l);
    let n = i32::from(ctrl & 15);
    match ctrl {
        // quad_perm, row_shl, row_shr, row_ror, wave_shl, wave_rol, wave_shr, wave_ror, row_mirror, row_half_mirror, row_newbcast,
        // row_bcast
        0..=0xff => Some(lane / 4 * 4 + i32::from(ctrl >> (2 * (lane % 4)) & 3)),
        0x101..=0x10f => within(lane + n),
        0x111..=0x11f => within(lane - n),
        0x121..=0x12f => Some(row + (lane - row - n).rem_euclid(16)),
        0x130 => (lane < 63).then_some(lane + 1),
        0x134 => Some((lane + 1) % 64),
        0x138 => (lane > 0).then_some(lane - 1),
        0x13c => Some((lane + 63) % 64),
        0x140 => Some(row + 15 - (lane - row)),
        0x141 => Some(lane / 8 * 8 + 7 - lane % 8),
        0x150..=0x15f => Some(row + n),
        0x142 => (lane >= 16).then_some(row - 1),
        _ => (lane >= 32).then_some(lane / 32 * 32 - 1),
    }
}

#[test]
fn dpp_moves_lanes() {
    let ctrls = [
        0x00, 0x1b, 0x4e, 0xe4, 0x101, 0x108, 0x10f, 0x111, 0x118, 0x121, 0x12f, 0x130, 0x134, 0x138, 0x13c, 0x140,
        0x141, 0x142, 0x143, 0x150, 0x153, 0x15f,
    ];
    for ctrl in ctrls {
        for bound_ctrl in [false, true] {
            for (row_mask, bank_mask) in [(15, 15), (10, 15), (15, 5)] {
                for exec in [u64::MAX, 0xffff_0000_fff0_5a5a] {
                    let dpp = Dpp { ctrl, row_mask, bank_mask, bound_ctrl };
                    let code = Inst {
                        format: Format::Dpp,
                        mods: Mods { dpp: Some(dpp), ..Mods::default() },
                        ..inst(Op::v_add_u32, v(0), &[v(1), v(2)])
                    };
                    let w = machine(&[code], DEFAULT_MODE, &|w| {
                        w.set_exec(exec);
                        for lane in 0..LANES as u32 {
                            w.row_mut(0)[lane as usize] = 7;
                            w.row_mut(1)[lane as usize] = 1000 + lane;
                            w.row_mut(2)[lane as usize] = 100_000 * lane;
                        }
                    });
                    for lane in 0..LANES as i32 {
                        let on = |l: i32| exec >> l & 1 == 1;
                        let enabled =
                            on(lane) && row_mask >> (lane / 16) & 1 == 1 && bank_mask >> (lane % 16 / 4) & 1 == 1;
                        let source = reads(ctrl, lane).filter(|l| on(*l));
                        let expected = match source {
                            _ if !enabled => 7,
                            Some(source) => 1000 + source + 100_000 * lane,
                            None if bound_ctrl => 100_000 * lane,
                            None => 7,
                        };
                        assert_eq!(w.row(0)[lane as usize], expected as u32, "{dpp:?} lane {lane}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_is_not_carried_out_traps_by_name() {
    // Integer clamping of an operation that has none here.
    let odd = modified(Op::v_lshlrev_b32, v(0), &[v(1), v(2)], Mods { clamp: true, ..Mods::default() });
    assert!(matches!(trap(&[odd], DEFAULT_MODE, &|_| ()), Trap::Unsupported(_)));
}
