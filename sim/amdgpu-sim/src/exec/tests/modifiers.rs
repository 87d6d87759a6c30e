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
        // If denormals are kept, or in IEEE mode, the multiplier has no effect.
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

/// The lane that DPP reads, by the assembler's names.
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
        0x142 => Some(if lane >= 16 { row - 1 } else { lane }),
        _ => Some(if lane >= 32 { 31 } else { lane }),
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

/// The processing around a 32- or 16-bit float operation: signs, denormals, output multiplier, clamp.
struct Float {
    bits: u32,
    keeps_denormals: bool,
    dx10_clamp: bool,
}

impl Float {
    fn read(&self, bits: u64, abs: bool, neg: bool) -> f64 {
        let value = if self.bits == 32 { f64::from(f(bits)) } else { ::half::f16::from_bits(bits as u16).to_f64() };
        let value = if abs { value.abs() } else { value };
        self.flushed(if neg { -value } else { value })
    }

    /// Flushes a denormal number.
    fn flushed(&self, x: f64) -> f64 {
        let least = if self.bits == 32 { 2_f64.powi(-126) } else { 2_f64.powi(-14) };
        if x.abs() < least && !self.keeps_denormals { 0.0_f64.copysign(x) } else { x }
    }

    fn rounded(&self, x: f64) -> f64 {
        if self.bits == 32 { f64::from(x as f32) } else { ::half::f16::from_f64(x).to_f64() }
    }

    /// The bits of a result that is exact in double precision.
    fn write(&self, exact: f64, omod: u8, clamp: bool) -> u64 {
        // The multiplier does nothing where denormals are kept.
        let factor = if self.keeps_denormals { 1.0 } else { [1.0, 2.0, 4.0, 0.5][usize::from(omod)] };
        let scaled = self.flushed(self.rounded(self.rounded(exact) * factor));
        let limited = match clamp {
            true if scaled.is_nan() => {
                if self.dx10_clamp {
                    0.0
                } else {
                    scaled
                }
            }
            true => {
                if scaled > 0.0 {
                    scaled.min(1.0)
                } else {
                    0.0
                }
            }
            false => scaled,
        };
        if self.bits == 32 {
            u64::from((limited as f32).to_bits())
        } else {
            u64::from(::half::f16::from_f64(limited).to_bits())
        }
    }

    fn nan(&self, bits: u64) -> bool {
        self.read(bits, false, false).is_nan()
    }
}

/// Products: exact in double precision, whatever they are of.
const PRODUCTS: [(Op, u32); 2] = [(Op::v_mul_f32, 32), (Op::v_mul_f16, 16)];

/// Denormals of both precisions kept or not, without IEEE; DX10_CLAMP or not.
const FLOAT_MODES: [(u32, bool, bool); 4] =
    [(0xf0 << 12 | 1 << 21, true, true), (0xf0 << 12, true, false), (1 << 21, false, true), (0, false, false)];

#[test]
fn sdwa_of_floats_with_signs_multiplier_and_clamp() {
    let mut random = Random::new(540);
    for (op, bits) in PRODUCTS {
        for (rsrc1, keeps_denormals, dx10_clamp) in FLOAT_MODES {
            let float = Float { bits, keeps_denormals, dx10_clamp };
            for _ in 0..60 {
                let part = |random: &mut Random| PARTS[random.next() as usize % PARTS.len()];
                let (a, b, out) = (part(&mut random), part(&mut random), part(&mut random));
                let dst_unused = [SdwaUnused::Pad, SdwaUnused::Preserve][random.next() as usize % 2];
                let sdwa = Sdwa { dst_sel: out.0, dst_unused, src_sel: [a.0, b.0], sext: [false; 2] };
                let (abs, neg, omod) = (random.next() as u8 & 3, random.next() as u8 & 3, random.next() as u8 & 3);
                let clamp = random.next() % 2 == 1;
                let code = Inst {
                    format: Format::Sdwa,
                    mods: Mods { sdwa: Some(sdwa), abs, neg, omod, clamp, ..Mods::default() },
                    ..inst(op, v(0), &[v(1), v(2)])
                };
                // Each half contains a float of the operation's precision, or both contain a single. A partly written result must not be
                // NaN, since which NaN it is is not defined.
                let (part_only, infinite) = (out.2 < bits, if bits == 32 { 0x7f80_0000 } else { 0x7c00 });
                let finite = |x: u64| if part_only && x & infinite == infinite { x & !infinite } else { x };
                let number = |random: &mut Random| match (bits, random.next() % 2) {
                    (32, 0) => finite(SINGLES[random.next() as usize % SINGLES.len()]),
                    (32, _) => finite(random.next() & 0xffff_ffff),
                    _ => [0, 16].map(|s| finite(HALVES[random.next() as usize % HALVES.len()]) << s).iter().sum(),
                };
                let x: Vec<[u64; 2]> = (0..LANES).map(|_| [number(&mut random), number(&mut random)]).collect();
                let old = 0x5566_7788_u64;
                let w = machine(&[code], rsrc1, &|w| {
                    w.row_mut(0).fill(old as u32);
                    for lane in 0..LANES {
                        w.row_mut(1)[lane] = x[lane][0] as u32;
                        w.row_mut(2)[lane] = x[lane][1] as u32;
                    }
                });
                for lane in 0..LANES {
                    let take = |i: usize, (_, shift, width): (SdwaSel, u32, u32)| {
                        let bits = x[lane][i] >> shift & (u64::MAX >> (64 - width));
                        float.read(bits & (u64::MAX >> (64 - float.bits)), abs >> i & 1 == 1, neg >> i & 1 == 1)
                    };
                    let result = float.write(take(0, a) * take(1, b), omod, clamp);
                    let field = (u64::from(u32::MAX) >> (32 - out.2)) << out.1;
                    let kept = if dst_unused == SdwaUnused::Preserve { old & !field } else { 0 };
                    let got = u64::from(w.row(0)[lane]);
                    assert_eq!(got & !field, kept, "{op} {sdwa:?}");
                    if float.nan(result) {
                        assert!(float.nan(got >> out.1 & (u64::MAX >> (64 - bits))), "{op} {:x?}", x[lane]);
                    } else {
                        let about = format!("{op} {:x?} {sdwa:?} {abs} {neg} {omod} {clamp} {rsrc1:#x}", x[lane]);
                        assert_eq!(got & field, result << out.1 & field, "{about}");
                    }
                }
            }
        }
    }
}

#[test]
fn dpp_of_floats_with_signs() {
    let mut random = Random::new(541);
    for (op, bits) in PRODUCTS {
        for (rsrc1, keeps_denormals, dx10_clamp) in FLOAT_MODES {
            let float = Float { bits, keeps_denormals, dx10_clamp };
            for ctrl in [0x1b, 0x101, 0x112, 0x125, 0x130, 0x138, 0x140, 0x142, 0x153] {
                let (abs, neg) = (random.next() as u8 & 3, random.next() as u8 & 3);
                let bound_ctrl = random.next() % 2 == 1;
                let dpp = Dpp { ctrl, row_mask: 15, bank_mask: 15, bound_ctrl };
                let code = Inst {
                    format: Format::Dpp,
                    mods: Mods { dpp: Some(dpp), abs, neg, ..Mods::default() },
                    ..inst(op, v(0), &[v(1), v(2)])
                };
                let table = if bits == 32 { SINGLES } else { HALVES };
                let x: [[u64; LANES]; 2] =
                    std::array::from_fn(|_| std::array::from_fn(|_| table[random.next() as usize % table.len()]));
                let w = machine(&[code], rsrc1, &|w| {
                    for lane in 0..LANES {
                        w.row_mut(0)[lane] = 7;
                        w.row_mut(1)[lane] = x[0][lane] as u32;
                        w.row_mut(2)[lane] = x[1][lane] as u32;
                    }
                });
                for lane in 0..LANES {
                    let first = match reads(ctrl, lane as i32) {
                        Some(source) => x[0][source as usize],
                        None if bound_ctrl => 0,
                        None => {
                            assert_eq!(w.row(0)[lane], 7);
                            continue;
                        }
                    };
                    let take = |i: usize, bits: u64| float.read(bits, abs >> i & 1 == 1, neg >> i & 1 == 1);
                    let result = float.write(take(0, first) * take(1, x[1][lane]), 0, false);
                    let got = u64::from(w.row(0)[lane]);
                    let alike = got == result || float.nan(got) && float.nan(result) && got >> bits == 0;
                    assert!(
                        alike,
                        "{op} {dpp:?} {abs} {neg} of {first:#x} and {:#x}: {got:#x} {result:#x}",
                        x[1][lane]
                    );
                }
            }
        }
    }
}

#[test]
fn what_is_not_carried_out_traps_by_name() {
    // An operation that does not support integer clamping.
    let odd = modified(Op::v_lshlrev_b32, v(0), &[v(1), v(2)], Mods { clamp: true, ..Mods::default() });
    assert!(matches!(trap(&[odd], DEFAULT_MODE, &|_| ()), Trap::Unsupported(_)));
}
