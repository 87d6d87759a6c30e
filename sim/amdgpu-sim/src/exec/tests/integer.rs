//! Integer arithmetic, shifts, bits.

use super::*;

fn words(count: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(count as u64);
    operands(count, WORDS, 512, &mut || random.next() & 0xffff_ffff)
}

/// Checks an operation on 32-bit operands.
fn check32(op: Op, count: usize, f: impl Fn(u32, u32, u32) -> u32) {
    check(op, &words(count), &|x| {
        let get = |i: usize| if i < count { x[i] as u32 } else { 0 };
        u64::from(f(get(0), get(1), get(2)))
    });
}

fn signed24(x: u32) -> i128 {
    let x = i128::from(x & 0xff_ffff);
    if x >= 1 << 23 { x - (1 << 24) } else { x }
}

#[test]
fn sums_and_differences_wrap() {
    let modulo = |x: i128| x.rem_euclid(1 << 32) as u32;
    check32(Op::v_add_u32, 2, |a, b, _| modulo(i128::from(a) + i128::from(b)));
    check32(Op::v_sub_u32, 2, |a, b, _| modulo(i128::from(a) - i128::from(b)));
    check32(Op::v_subrev_u32, 2, |a, b, _| modulo(i128::from(b) - i128::from(a)));
    check32(Op::v_add_i32, 2, |a, b, _| modulo(i128::from(a) + i128::from(b)));
    check32(Op::v_sub_i32, 2, |a, b, _| modulo(i128::from(a) - i128::from(b)));
    check32(Op::v_add3_u32, 3, |a, b, c| modulo(i128::from(a) + i128::from(b) + i128::from(c)));
    check32(Op::v_xad_u32, 3, |a, b, c| modulo(i128::from(a ^ b) + i128::from(c)));
}

#[test]
fn clamp_saturates() {
    let clamp = Mods { clamp: true, ..Mods::default() };
    let unsigned = |x: i128| x.clamp(0, 0xffff_ffff) as u64;
    let signed = |x: i128| u64::from(x.clamp(-0x8000_0000, 0x7fff_ffff) as u32);
    let check = |op, count, f: &dyn Fn(&[u64]) -> u64| check_with(op, clamp, DEFAULT_MODE, &words(count), f);
    let i = |x: u64| i128::from(x as u32 as i32);
    check(Op::v_add_u32, 2, &|x| unsigned(i128::from(x[0]) + i128::from(x[1])));
    check(Op::v_sub_u32, 2, &|x| unsigned(i128::from(x[0]) - i128::from(x[1])));
    check(Op::v_add_i32, 2, &|x| signed(i(x[0]) + i(x[1])));
    check(Op::v_sub_i32, 2, &|x| signed(i(x[0]) - i(x[1])));
    check(Op::v_mad_i32_i24, 3, &|x| signed(signed24(x[0] as u32) * signed24(x[1] as u32) + i(x[2])));
    check(Op::v_mad_u32_u24, 3, &|x| {
        unsigned(i128::from(x[0] & 0xff_ffff) * i128::from(x[1] & 0xff_ffff) + i128::from(x[2]))
    });
}

#[test]
fn products() {
    let i = |x: u32| i128::from(x as i32);
    check32(Op::v_mul_lo_u32, 2, |a, b, _| (u128::from(a) * u128::from(b)) as u32);
    check32(Op::v_mul_hi_u32, 2, |a, b, _| (u128::from(a) * u128::from(b) >> 32) as u32);
    check32(Op::v_mul_hi_i32, 2, |a, b, _| (i(a) * i(b) >> 32) as u32);
    check32(Op::v_mul_i32_i24, 2, |a, b, _| (signed24(a) * signed24(b)) as u32);
    check32(Op::v_mul_hi_i32_i24, 2, |a, b, _| (signed24(a) * signed24(b) >> 32) as u32);
    let u24 = |x: u32| u128::from(x & 0xff_ffff);
    check32(Op::v_mul_u32_u24, 2, |a, b, _| (u24(a) * u24(b)) as u32);
    check32(Op::v_mul_hi_u32_u24, 2, |a, b, _| (u24(a) * u24(b) >> 32) as u32);
    check32(Op::v_mad_u32_u24, 3, |a, b, c| (u24(a) * u24(b) + u128::from(c)) as u32);
    check32(Op::v_mad_i32_i24, 3, |a, b, c| (signed24(a) * signed24(b) + i(c)) as u32);
}

#[test]
fn shifts_use_the_low_bits_of_the_count() {
    check32(Op::v_lshlrev_b32, 2, |a, b, _| (u64::from(b) << (a % 32)) as u32);
    check32(Op::v_lshrrev_b32, 2, |a, b, _| (u64::from(b) >> (a % 32)) as u32);
    check32(Op::v_ashrrev_i32, 2, |a, b, _| (i64::from(b as i32) >> (a % 32)) as u32);
    check32(Op::v_lshl_add_u32, 3, |a, b, c| ((u64::from(a) << (b % 32)) + u64::from(c)) as u32);
    check32(Op::v_add_lshl_u32, 3, |a, b, c| ((u64::from(a) + u64::from(b)) << (c % 32)) as u32);
    check32(Op::v_lshl_or_b32, 3, |a, b, c| (u64::from(a) << (b % 32)) as u32 | c);
    let mut random = Random::new(3);
    let mut pairs = operands(2, DOUBLES, 512, &mut || random.next());
    pairs[0].iter_mut().for_each(|x| *x = (*x ^ *x >> 40) & 0xffff_ffff);
    check(Op::v_lshlrev_b64, &pairs, &|x| (u128::from(x[1]) << (x[0] % 64)) as u64);
    check(Op::v_lshrrev_b64, &pairs, &|x| x[1] >> (x[0] % 64));
    check(Op::v_ashrrev_i64, &pairs, &|x| (i128::from(x[1] as i64) >> (x[0] % 64)) as u64);
}

#[test]
fn bits() {
    check32(Op::v_not_b32, 1, |a, _, _| u32::MAX - a);
    check32(Op::v_and_b32, 2, |a, b, _| a & b);
    check32(Op::v_or_b32, 2, |a, b, _| a | b);
    check32(Op::v_xor_b32, 2, |a, b, _| (a | b) - (a & b));
    check32(Op::v_xnor_b32, 2, |a, b, _| a & b | !a & !b);
    check32(Op::v_and_or_b32, 3, |a, b, c| a & b | c);
    check32(Op::v_or3_b32, 3, |a, b, c| a | b | c);
    check32(Op::v_bfi_b32, 3, |a, b, c| a & b | !a & c);
    let bit = |x: u32, i: u32| x >> i & 1;
    check32(Op::v_bfrev_b32, 1, |a, _, _| (0..32).map(|i| bit(a, i) << (31 - i)).sum());
    check32(Op::v_bcnt_u32_b32, 2, |a, b, _| (0..32).map(|i| bit(a, i)).sum::<u32>().wrapping_add(b));
    check32(Op::v_ffbh_u32, 1, |a, _, _| (0..32).find(|i| bit(a, 31 - i) == 1).unwrap_or(u32::MAX));
    check32(Op::v_ffbl_b32, 1, |a, _, _| (0..32).find(|i| bit(a, *i) == 1).unwrap_or(u32::MAX));
    check32(Op::v_ffbh_i32, 1, |a, _, _| (1..32).find(|i| bit(a, 31 - i) != bit(a, 31)).unwrap_or(u32::MAX));
    check32(Op::v_bfm_b32, 2, |a, b, _| (((1_u64 << (a % 32)) - 1) << (b % 32)) as u32);
    check32(Op::v_bfe_u32, 3, |a, b, c| (0..c % 32).filter(|i| b % 32 + i < 32).map(|i| bit(a, b % 32 + i) << i).sum());
    check32(Op::v_bfe_i32, 3, |a, b, c| {
        // Bits beyond bit 31 are copies of it.
        let from = |i: u32| bit(a, (b % 32 + i).min(31));
        match c % 32 {
            0 => 0,
            width => (0..32).map(|i| from(i.min(width - 1)) << i).sum(),
        }
    });
    let wide = |a: u32, b: u32| u128::from(a) << 32 | u128::from(b);
    check32(Op::v_alignbit_b32, 3, |a, b, c| (wide(a, b) >> (c % 32)) as u32);
    check32(Op::v_alignbyte_b32, 3, |a, b, c| (wide(a, b) >> (c % 4 * 8)) as u32);
}

#[test]
fn shader_engines_of_a_rectangle() {
    // Tiles are 32 pixels wide and high; the engine of a pixel, by the manual's formula.
    let bit = |x: u32, n: u32| x >> n & 1;
    let engine = |x: u32, y: u32| 2 * (bit(x, 5) ^ bit(y, 6)) + (bit(y, 5) ^ bit(x, 6));
    let mut corners = vec![Vec::new()];
    let mut expected = Vec::new();
    for n in 0..8_u32.pow(4) {
        let [x1, y1, x2, y2] = [0, 1, 2, 3].map(|i| n >> (3 * i) & 7);
        // Larger rectangles need no table.
        if x2 < x1 || y2 < y1 || x2 - x1 > 2 || y2 - y1 > 2 {
            continue;
        }
        let tiles = (x1..=x2).flat_map(|x| (y1..=y2).map(move |y| (32 * x + 7, 32 * y + 31)));
        expected.push(tiles.fold(0, |all, (x, y)| all | 1 << engine(x, y)));
        // What is above the eight bits does not count.
        corners[0].push(u64::from(x1 % 4 << 6 | y1 % 4 << 4 | x2 % 4 << 2 | y2 % 4 | n << 8));
    }
    // All of the manual's table, by its FNV-1a hash.
    let table = (0..64_u64 * 4).collect::<Vec<_>>().chunks(LANES).fold(0xcbf2_9ce4_8422_2325, |hash: u64, bits| {
        let w = machine(&[inst(Op::v_screen_partition_4se_b32, v(0), &[v(1)])], DEFAULT_MODE, &|w| {
            bits.iter().enumerate().for_each(|(lane, bits)| set_value(w, 1, 1, lane, *bits));
        });
        (0..LANES).fold(hash, |hash, lane| (hash ^ value(&w, 0, 1, lane)).wrapping_mul(0x100_0000_01b3))
    });
    assert_eq!(table, 0xc8aa_fd3b_7792_ec75);
    let by_bits: std::collections::BTreeMap<u64, u64> = corners[0].iter().copied().zip(expected).collect();
    check(Op::v_screen_partition_4se_b32, &corners, &|x| by_bits[&x[0]]);
}

#[test]
fn smallest_largest_middle() {
    let middle = |mut x: [i64; 3]| {
        x.sort_unstable();
        x[1]
    };
    let i = |x: u32| i64::from(x as i32);
    let u = |x: u32| i64::from(x);
    check32(Op::v_min_i32, 2, |a, b, _| if i(a) < i(b) { a } else { b });
    check32(Op::v_max_i32, 2, |a, b, _| if i(a) > i(b) { a } else { b });
    check32(Op::v_min_u32, 2, |a, b, _| if a < b { a } else { b });
    check32(Op::v_max_u32, 2, |a, b, _| if a > b { a } else { b });
    check32(Op::v_min3_i32, 3, |a, b, c| i(a).min(i(b)).min(i(c)) as u32);
    check32(Op::v_max3_i32, 3, |a, b, c| i(a).max(i(b)).max(i(c)) as u32);
    check32(Op::v_min3_u32, 3, |a, b, c| a.min(b).min(c));
    check32(Op::v_max3_u32, 3, |a, b, c| a.max(b).max(c));
    check32(Op::v_med3_i32, 3, |a, b, c| middle([i(a), i(b), i(c)]) as u32);
    check32(Op::v_med3_u32, 3, |a, b, c| middle([u(a), u(b), u(c)]) as u32);
}

#[test]
fn bytes() {
    let bytes = |x: u32| x.to_le_bytes().map(i64::from);
    let sad = |a, b| (0..4).map(|i| (bytes(a)[i] - bytes(b)[i]).abs()).sum::<i64>();
    check32(Op::v_sad_u8, 3, |a, b, c| (sad(a, b) + i64::from(c)) as u32);
    check32(Op::v_sad_hi_u8, 3, |a, b, c| ((sad(a, b) << 16) + i64::from(c)) as u32);
    check32(Op::v_msad_u8, 3, |a, b, c| {
        let sum: i64 = (0..4).filter(|i| bytes(b)[*i] != 0).map(|i| (bytes(a)[i] - bytes(b)[i]).abs()).sum();
        (sum + i64::from(c)) as u32
    });
    check32(Op::v_sad_u32, 3, |a, b, c| ((i64::from(a) - i64::from(b)).abs() + i64::from(c)) as u32);
    check32(Op::v_sad_u16, 3, |a, b, c| {
        let half = |x: u32, i: u32| i64::from(x >> (16 * i) & 0xffff);
        ((half(a, 0) - half(b, 0)).abs() + (half(a, 1) - half(b, 1)).abs() + i64::from(c)) as u32
    });
    check32(Op::v_lerp_u8, 3, |a, b, c| {
        let byte = |i: usize| (bytes(a)[i] + bytes(b)[i] + (bytes(c)[i] & 1)) / 2;
        u32::from_le_bytes([0, 1, 2, 3].map(|i| byte(i) as u8))
    });
}

#[test]
fn perm_picks_bytes() {
    // Selectors: any byte of either operand, four signs, zero, ones.
    let mut random = Random::new(9);
    let mut x = operands(3, WORDS, 4096, &mut || random.next() & 0xffff_ffff);
    for (i, selectors) in x[2].iter_mut().enumerate() {
        *selectors &= if i % 2 == 0 { 0x0f0f_0f0f } else { 0xffff_ffff };
    }
    check(Op::v_perm_b32, &x, &|x| {
        let all: Vec<u8> = (x[1] as u32).to_le_bytes().into_iter().chain((x[0] as u32).to_le_bytes()).collect();
        let sign = |i: usize| if all[i] >= 0x80 { 0xff } else { 0 };
        let pick = |selector: u8| match selector {
            n @ 0..=7 => all[usize::from(n)],
            n @ 8..=11 => sign(usize::from(n - 8) * 2 + 1),
            12 => 0,
            _ => 0xff,
        };
        u64::from(u32::from_le_bytes((x[2] as u32).to_le_bytes().map(pick)))
    });
}

#[test]
fn carries_go_through_vcc() {
    // 64-bit sums and differences in two steps, by compilers' usual sequence.
    let mut random = Random::new(5);
    let x = operands(2, DOUBLES, 256, &mut || random.next());
    for (low, high, reference) in [
        (Op::v_add_co_u32, Op::v_addc_co_u32, u64::wrapping_add as fn(u64, u64) -> u64),
        (Op::v_sub_co_u32, Op::v_subb_co_u32, u64::wrapping_sub),
        (Op::v_subrev_co_u32, Op::v_subbrev_co_u32, |a, b| b.wrapping_sub(a)),
    ] {
        let with_carry = |op, dst, sources: &[Operand], mask| Inst { dst2: mask, ..inst(op, dst, sources) };
        for mask in [VCC, s(20)] {
            for chunk in 0..x[0].len() / LANES {
                let exec = 0xffff_0ff0_1234_ffff;
                // Without a reader the carry out may be omitted.
                let code = [
                    with_carry(low, v(0), &[v(4), v(6)], mask),
                    with_carry(high, v(1), &[v(5), v(7), mask], mask),
                    inst(Op::s_mov_b64, s(22), &[mask]),
                ];
                let w = machine(&code, DEFAULT_MODE, &|w| {
                    w.set_exec(exec);
                    for lane in 0..LANES {
                        set_value(w, 4, 2, lane, x[0][chunk * LANES + lane]);
                        set_value(w, 6, 2, lane, x[1][chunk * LANES + lane]);
                    }
                });
                let carries = w.slot64(22);
                for lane in 0..LANES {
                    let (a, b) = (x[0][chunk * LANES + lane], x[1][chunk * LANES + lane]);
                    let on = exec >> lane & 1 == 1;
                    assert_eq!(value(&w, 0, 2, lane), if on { reference(a, b) } else { 0 }, "{low} {a:#x} {b:#x}");
                    let carry = match low {
                        Op::v_add_co_u32 => u128::from(a) + u128::from(b) > u128::from(u64::MAX),
                        Op::v_sub_co_u32 => a < b,
                        _ => b < a,
                    };
                    assert_eq!(carries >> lane & 1 == 1, carry && on, "{high} {a:#x} {b:#x}");
                }
            }
        }
    }
}

#[test]
fn multiply_add_to_64_bits_has_a_65th() {
    let mut random = Random::new(6);
    let x = operands(
        3,
        &[0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX, 1 << 63, i64::MAX as u64],
        512,
        &mut || random.next(),
    );
    for chunk in 0..x[0].len() / LANES {
        for op in [Op::v_mad_u64_u32, Op::v_mad_i64_i32] {
            let code = Inst { dst2: s(10), ..inst(op, v(0), &[v(4), v(8), v(12)]) };
            let w = machine(&[code], DEFAULT_MODE, &|w| {
                for lane in 0..LANES {
                    set_value(w, 4, 1, lane, x[0][chunk * LANES + lane]);
                    set_value(w, 8, 1, lane, x[1][chunk * LANES + lane]);
                    set_value(w, 12, 2, lane, x[2][chunk * LANES + lane]);
                }
            });
            for lane in 0..LANES {
                let [a, b, c] = [0, 1, 2].map(|i| x[i][chunk * LANES + lane]);
                let exact = if op == Op::v_mad_u64_u32 {
                    i128::from(a as u32) * i128::from(b as u32) + i128::from(c)
                } else {
                    i128::from(a as i32) * i128::from(b as i32) + i128::from(c as i64)
                };
                assert_eq!(value(&w, 0, 2, lane), exact as u64, "{op} {a:#x} {b:#x} {c:#x}");
                assert_eq!(i128::from(w.slot64(10) >> lane & 1), exact >> 64 & 1, "{op} {a:#x} {b:#x} {c:#x}");
            }
        }
    }
}

#[test]
fn sixteen_bits() {
    let mut random = Random::new(7);
    let special = WORDS.to_vec();
    let mut make = || random.next() & 0xffff_ffff;
    let two = operands(2, &special, 512, &mut make);
    let three = operands(3, &special, 512, &mut make);
    let i = |x: u64| i64::from(x as u16 as i16);
    let u = |x: u64| i64::from(x as u16);
    // The encodings with a 32-bit form clear the other half of the destination.
    let clears = |op, f: &dyn Fn(&[u64]) -> i64| check(op, &two, &|x| u64::from(f(x) as u16));
    clears(Op::v_add_u16, &|x| u(x[0]) + u(x[1]));
    clears(Op::v_sub_u16, &|x| u(x[0]) - u(x[1]));
    clears(Op::v_subrev_u16, &|x| u(x[1]) - u(x[0]));
    clears(Op::v_mul_lo_u16, &|x| u(x[0]) * u(x[1]));
    clears(Op::v_lshlrev_b16, &|x| u(x[1]) << (x[0] % 16));
    clears(Op::v_lshrrev_b16, &|x| u(x[1]) >> (x[0] % 16));
    clears(Op::v_ashrrev_i16, &|x| i(x[1]) >> (x[0] % 16));
    clears(Op::v_min_u16, &|x| u(x[0]).min(u(x[1])));
    clears(Op::v_max_u16, &|x| u(x[0]).max(u(x[1])));
    clears(Op::v_min_i16, &|x| i(x[0]).min(i(x[1])));
    clears(Op::v_max_i16, &|x| i(x[0]).max(i(x[1])));
    check(Op::v_mad_legacy_u16, &three, &|x| u64::from((u(x[0]) * u(x[1]) + u(x[2])) as u16));
    // Those that have only a 64-bit one keep it.
    let keeps = |op, x: &[Vec<u64>], f: &dyn Fn(&[u64]) -> i64| {
        check(op, x, &|x| u64::from(f(x) as u16) | x[x.len() - 1] & 0xffff_0000);
    };
    keeps(Op::v_add_i16, &two, &|x| i(x[0]) + i(x[1]));
    keeps(Op::v_sub_i16, &two, &|x| i(x[0]) - i(x[1]));
    keeps(Op::v_mad_u16, &three, &|x| u(x[0]) * u(x[1]) + u(x[2]));
    keeps(Op::v_mad_i16, &three, &|x| i(x[0]) * i(x[1]) + i(x[2]));
    keeps(Op::v_min3_i16, &three, &|x| i(x[0]).min(i(x[1])).min(i(x[2])));
    keeps(Op::v_max3_u16, &three, &|x| u(x[0]).max(u(x[1])).max(u(x[2])));
    keeps(Op::v_med3_i16, &three, &|x| {
        let mut all = [i(x[0]), i(x[1]), i(x[2])];
        all.sort_unstable();
        all[1]
    });
    check(Op::v_mad_u32_u16, &three, &|x| (u(x[0]) * u(x[1]) + x[2] as i64) as u32 as u64);
    check(Op::v_mad_i32_i16, &three, &|x| (i(x[0]) * i(x[1]) + x[2] as i64) as u32 as u64);
    check(Op::v_pack_b32_f16, &two, &|x| x[0] & 0xffff | (x[1] & 0xffff) << 16);
    check(Op::v_sat_pk_u8_i16, &two[..1], &|x| {
        let byte = |x: u64| i(x).clamp(0, 255) as u64;
        byte(x[0]) | byte(x[0] >> 16) << 8
    });
}
