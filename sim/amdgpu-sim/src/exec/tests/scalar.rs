//! Scalar arithmetic and SCC.

use super::*;

/// Runs a scalar operation; result (64 bits of the destination pair) and SCC.
fn scalar(op: Op, x: &[u64], scc: bool) -> (u64, bool) {
    let sources: Vec<Operand> = (0..x.len()).map(|i| s(10 + 2 * i as u16)).collect();
    let w = machine(&[inst(op, s(0), &sources)], DEFAULT_MODE, &|w| {
        w.set_scc(scc);
        w.set_slot64(0, OLD);
        for (i, x) in x.iter().enumerate() {
            w.set_slot64(10 + 2 * i as u16, *x);
        }
    });
    (w.slot64(0), w.scc())
}

/// Checks a 32-bit operation for many operands: `f` gives the result and SCC, `None` if SCC stays.
fn check32(op: Op, count: usize, f: impl Fn(u32, u32, bool) -> (u32, Option<bool>)) {
    let x = operands(count, WORDS, 0, &mut || 0);
    for i in 0..x[0].len() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).collect();
        for scc in [false, true] {
            let (got, got_scc) = scalar(op, &args, scc);
            let second = args.get(1).copied().unwrap_or(0);
            let (result, new) = f(args[0] as u32, second as u32, scc);
            assert_eq!((got as u32, got_scc), (result, new.unwrap_or(scc)), "{op} of {args:x?}, SCC {scc}");
            assert_eq!(got >> 32, OLD >> 32, "{op} writes one register");
        }
    }
}

fn check64(op: Op, count: usize, f: impl Fn(u64, u64, bool) -> (u64, Option<bool>)) {
    let x = operands(count, DOUBLES, 0, &mut || 0);
    for i in 0..x[0].len() {
        let args: Vec<u64> = x.iter().map(|o| o[i]).collect();
        for scc in [false, true] {
            let second = args.get(1).copied().unwrap_or(0);
            let (result, new) = f(args[0], second, scc);
            assert_eq!(scalar(op, &args, scc), (result, new.unwrap_or(scc)), "{op} of {args:x?}, SCC {scc}");
        }
    }
}

#[test]
fn sums_and_their_scc() {
    let (i, u) = (|x: u32| i128::from(x as i32), |x: u32| i128::from(x));
    let fits = |x: i128| i128::from(x as i32) == x;
    check32(Op::s_add_u32, 2, |a, b, _| ((u(a) + u(b)) as u32, Some(u(a) + u(b) >> 32 != 0)));
    check32(Op::s_sub_u32, 2, |a, b, _| ((u(a) - u(b)) as u32, Some(u(a) < u(b))));
    check32(Op::s_addc_u32, 2, |a, b, c| {
        ((u(a) + u(b) + i128::from(c)) as u32, Some(u(a) + u(b) + i128::from(c) >> 32 != 0))
    });
    check32(Op::s_subb_u32, 2, |a, b, c| ((u(a) - u(b) - i128::from(c)) as u32, Some(u(a) < u(b) + i128::from(c))));
    check32(Op::s_add_i32, 2, |a, b, _| ((i(a) + i(b)) as u32, Some(!fits(i(a) + i(b)))));
    check32(Op::s_sub_i32, 2, |a, b, _| ((i(a) - i(b)) as u32, Some(!fits(i(a) - i(b)))));
    check32(Op::s_mul_i32, 2, |a, b, _| ((i(a) * i(b)) as u32, None));
    check32(Op::s_mul_hi_u32, 2, |a, b, _| ((u(a) * u(b) >> 32) as u32, None));
    check32(Op::s_mul_hi_i32, 2, |a, b, _| ((i(a) * i(b) >> 32) as u32, None));
    check32(Op::s_min_i32, 2, |a, b, _| (i(a).min(i(b)) as u32, Some(i(a) < i(b))));
    check32(Op::s_max_i32, 2, |a, b, _| (i(a).max(i(b)) as u32, Some(i(a) > i(b))));
    check32(Op::s_min_u32, 2, |a, b, _| (a.min(b), Some(a < b)));
    check32(Op::s_max_u32, 2, |a, b, _| (a.max(b), Some(a > b)));
    check32(Op::s_abs_i32, 1, |a, _, _| (i(a).unsigned_abs() as u32, Some(a != 0)));
    check32(Op::s_absdiff_i32, 2, |a, b, _| {
        let wrapped = i128::from((i(a) - i(b)) as i32).unsigned_abs() as u32;
        (wrapped, Some(wrapped != 0))
    });
    for (op, n) in
        [(Op::s_lshl1_add_u32, 1), (Op::s_lshl2_add_u32, 2), (Op::s_lshl3_add_u32, 3), (Op::s_lshl4_add_u32, 4)]
    {
        check32(op, 2, |a, b, _| (((u(a) << n) + u(b)) as u32, Some((u(a) << n) + u(b) >> 32 != 0)));
    }
}

#[test]
fn logic_and_its_scc() {
    let logic: [(Op, Op, fn(u64, u64) -> u64); 9] = [
        (Op::s_and_b32, Op::s_and_b64, |a, b| a & b),
        (Op::s_or_b32, Op::s_or_b64, |a, b| a | b),
        (Op::s_xor_b32, Op::s_xor_b64, |a, b| a ^ b),
        (Op::s_andn2_b32, Op::s_andn2_b64, |a, b| a & !b),
        (Op::s_orn2_b32, Op::s_orn2_b64, |a, b| a | !b),
        (Op::s_nand_b32, Op::s_nand_b64, |a, b| !(a & b)),
        (Op::s_nor_b32, Op::s_nor_b64, |a, b| !(a | b)),
        (Op::s_xnor_b32, Op::s_xnor_b64, |a, b| !(a ^ b)),
        (Op::s_not_b32, Op::s_not_b64, |a, _| !a),
    ];
    for (narrow, wide, f) in logic {
        let count = if narrow == Op::s_not_b32 { 1 } else { 2 };
        check32(narrow, count, |a, b, _| {
            let r = f(u64::from(a), u64::from(b)) as u32;
            (r, Some(r != 0))
        });
        check64(wide, count, |a, b, _| (f(a, b), Some(f(a, b) != 0)));
    }
    check32(Op::s_cselect_b32, 2, |a, b, c| (if c { a } else { b }, None));
    check64(Op::s_cselect_b64, 2, |a, b, c| (if c { a } else { b }, None));
    check32(Op::s_pack_ll_b32_b16, 2, |a, b, _| (a % 65536 + b % 65536 * 65536, None));
    check32(Op::s_pack_lh_b32_b16, 2, |a, b, _| (a % 65536 + b / 65536 * 65536, None));
    check32(Op::s_pack_hh_b32_b16, 2, |a, b, _| (a / 65536 + b / 65536 * 65536, None));
}

#[test]
fn shifts_and_fields() {
    let nz = |r: u32| (r, Some(r != 0));
    check32(Op::s_lshl_b32, 2, |a, b, _| nz((u64::from(a) << (b % 32)) as u32));
    check32(Op::s_lshr_b32, 2, |a, b, _| nz((u64::from(a) >> (b % 32)) as u32));
    check32(Op::s_ashr_i32, 2, |a, b, _| nz((i64::from(a as i32) >> (b % 32)) as u32));
    let nz64 = |r: u64| (r, Some(r != 0));
    check64(Op::s_lshl_b64, 2, |a, b, _| nz64((u128::from(a) << (b % 64)) as u64));
    check64(Op::s_lshr_b64, 2, |a, b, _| nz64(a >> (b % 64)));
    check64(Op::s_ashr_i64, 2, |a, b, _| nz64((i128::from(a as i64) >> (b % 64)) as u64));
    check32(Op::s_bfm_b32, 2, |a, b, _| ((((1_u64 << (a % 32)) - 1) << (b % 32)) as u32, None));
    for control in
        [0x0008_0000_u64, 0x0010_0010, 0x0004_001c, 0x0000_0003, 0x0020_0000, 0x0001_001f, 0x0040_0000, 0x003f_0001]
    {
        let (offset, width) = (control as u32 & 31, (control >> 16) as u32 & 0x7f);
        for a in WORDS.iter().map(|a| *a as u32) {
            let bits = |wide: i64, width: u32| -> u64 {
                (0..width.min(64)).map(|i| ((wide >> i.min(63)) as u64 & 1) << i).sum()
            };
            let unsigned = bits(i64::from(a >> offset), width) as u32;
            assert_eq!(
                scalar(Op::s_bfe_u32, &[u64::from(a), control], false).0 as u32,
                unsigned,
                "{a:#x} {control:#x}"
            );
            let field = bits(i64::from(a as i32 >> offset), width) as i64;
            let signed = if width == 0 { 0 } else { field << (64 - width.min(64)) >> (64 - width.min(64)) };
            assert_eq!(
                scalar(Op::s_bfe_i32, &[u64::from(a), control], false).0 as u32,
                signed as u32,
                "{a:#x} {control:#x}"
            );
        }
    }
    check64(Op::s_bfe_u64, 2, |a, b, _| {
        let (offset, width) = (b & 63, b >> 16 & 0x7f);
        let r = (u128::from(a >> offset) & ((1 << width.min(64)) - 1)) as u64;
        (r, Some(r != 0))
    });
}

#[test]
fn counting_and_searching_bits() {
    let bit = |x: u64, i: u32| x >> i & 1 == 1;
    let find = |found: Option<u32>| found.map_or(u32::MAX, |i| i);
    check32(Op::s_brev_b32, 1, |a, _, _| ((0..32).map(|i| (a >> i & 1) << (31 - i)).sum(), None));
    check64(Op::s_brev_b64, 1, |a, _, _| ((0..64).map(|i| (a >> i & 1) << (63 - i)).sum(), None));
    check32(Op::s_bcnt1_i32_b32, 1, |a, _, _| {
        let n = (0..32).filter(|i| bit(u64::from(a), *i)).count() as u32;
        (n, Some(n != 0))
    });
    check32(Op::s_ff1_i32_b32, 1, |a, _, _| (find((0..32).find(|i| bit(u64::from(a), *i))), None));
    check32(Op::s_ff0_i32_b32, 1, |a, _, _| (find((0..32).find(|i| !bit(u64::from(a), *i))), None));
    check32(Op::s_flbit_i32_b32, 1, |a, _, _| (find((0..32).find(|i| bit(u64::from(a), 31 - i))), None));
    check32(Op::s_flbit_i32, 1, |a, _, _| (find((1..32).find(|i| bit(u64::from(a), 31 - i) != (a >> 31 == 1))), None));
    for a in DOUBLES {
        let low = |op| scalar(op, &[*a], true).0 as u32;
        assert_eq!(low(Op::s_bcnt1_i32_b64), (0..64).filter(|i| bit(*a, *i)).count() as u32);
        assert_eq!(low(Op::s_bcnt0_i32_b64), (0..64).filter(|i| !bit(*a, *i)).count() as u32);
        assert_eq!(low(Op::s_ff1_i32_b64), find((0..64).find(|i| bit(*a, *i))));
        assert_eq!(low(Op::s_flbit_i32_b64), find((0..64).find(|i| bit(*a, 63 - i))));
        assert_eq!(low(Op::s_flbit_i32_i64), find((1..64).find(|i| bit(*a, 63 - i) != (a >> 63 == 1))));
    }
    check32(Op::s_sext_i32_i8, 1, |a, _, _| (i32::from(a as u8 as i8) as u32, None));
    check32(Op::s_sext_i32_i16, 1, |a, _, _| (i32::from(a as u16 as i16) as u32, None));
    check32(Op::s_quadmask_b32, 1, |a, _, _| {
        let r = (0..8).filter(|i| a >> (4 * i) & 15 != 0).map(|i| 1 << i).sum();
        (r, Some(r != 0))
    });
    check64(Op::s_wqm_b64, 1, |a, _, _| {
        let r = (0..16).filter(|i| a >> (4 * i) & 15 != 0).map(|i| 15 << (4 * i)).sum();
        (r, Some(r != 0))
    });
}

#[test]
fn compares_set_scc() {
    let relations: [(Op, Op, Op, fn(i64, i64) -> bool); 6] = [
        (Op::s_cmp_eq_i32, Op::s_cmp_eq_u32, Op::s_cmpk_eq_i32, |a, b| a == b),
        (Op::s_cmp_lg_i32, Op::s_cmp_lg_u32, Op::s_cmpk_lg_i32, |a, b| a != b),
        (Op::s_cmp_gt_i32, Op::s_cmp_gt_u32, Op::s_cmpk_gt_i32, |a, b| a > b),
        (Op::s_cmp_ge_i32, Op::s_cmp_ge_u32, Op::s_cmpk_ge_i32, |a, b| a >= b),
        (Op::s_cmp_lt_i32, Op::s_cmp_lt_u32, Op::s_cmpk_lt_i32, |a, b| a < b),
        (Op::s_cmp_le_i32, Op::s_cmp_le_u32, Op::s_cmpk_le_i32, |a, b| a <= b),
    ];
    for (signed, unsigned, constant, f) in relations {
        for a in WORDS {
            for b in WORDS {
                let (i, j) = (i64::from(*a as i32), i64::from(*b as i32));
                assert_eq!(scalar(signed, &[*a, *b], false).1, f(i, j), "{signed} {a:#x} {b:#x}");
                assert_eq!(scalar(unsigned, &[*a, *b], true).1, f(*a as i64, *b as i64), "{unsigned} {a:#x} {b:#x}");
            }
            for k in [-32768, -1, 0, 7, 32767] {
                let code = inst(constant, Operand::None, &[imm(k), s(3)]);
                let w = machine(&[code], DEFAULT_MODE, &|w| w.set_slot(3, *a as u32));
                assert_eq!(w.scc(), f(i64::from(*a as i32), i64::from(k)), "{constant} {a:#x} {k}");
            }
        }
    }
    let code = inst(Op::s_cmpk_lt_u32, Operand::None, &[imm(0xfff0), s(3)]);
    assert!(machine(&[code], DEFAULT_MODE, &|w| w.set_slot(3, 0xffef)).scc());
    assert!(scalar(Op::s_bitcmp1_b32, &[0x100, 40], false).1);
    assert!(scalar(Op::s_bitcmp0_b64, &[1 << 33, 34], false).1);
    assert!(
        scalar(Op::s_cmp_eq_u64, &[1 << 40, 1 << 40], false).1
            && !scalar(Op::s_cmp_lg_u64, &[1 << 40, 1 << 40], false).1
    );
}

#[test]
fn constants_and_updates() {
    let code = [
        inst(Op::s_movk_i32, s(0), &[imm(-2)]),
        inst(Op::s_mov_b64, s(2), &[Operand::Int(-1)]),
        inst(Op::s_mov_b64, s(4), &[Operand::Literal(0x8000_0000)]),
        inst(Op::s_mov_b32, s(6), &[Operand::Float(crate::isa::InlineFloat::MinusHalf)]),
        inst(Op::s_addk_i32, s(7), &[imm(-5)]),
        inst(Op::s_mulk_i32, s(8), &[imm(-3)]),
        inst(Op::s_bitset1_b64, s(10), &[Operand::Int(37)]),
        inst(Op::s_bitset0_b32, s(12), &[Operand::Int(0)]),
        inst(Op::s_cmov_b32, s(13), &[Operand::Int(9)]),
        inst(Op::s_cmovk_i32, s(14), &[imm(1)]),
    ];
    let w = machine(&code, DEFAULT_MODE, &|w| {
        w.set_slot(7, 3);
        w.set_slot(8, 7);
        w.set_slot(12, 3);
        w.set_slot(14, 55);
    });
    assert_eq!(w.slot(0), (-2_i32) as u32);
    assert_eq!((w.slot64(2), w.slot64(4), w.slot(6)), (u64::MAX, 0x8000_0000, 0xbf00_0000));
    assert_eq!((w.slot(7) as i32, w.slot(8) as i32, w.slot64(10), w.slot(12)), (-2, -21, 1 << 37, 2));
    assert_eq!((w.slot(13), w.slot(14)), (0, 55), "SCC is clear: the sum did not overflow");
}

#[test]
fn exec_is_saved_and_combined() {
    let forms: [(Op, fn(u64, u64) -> u64); 10] = [
        (Op::s_and_saveexec_b64, |s, e| s & e),
        (Op::s_or_saveexec_b64, |s, e| s | e),
        (Op::s_xor_saveexec_b64, |s, e| s ^ e),
        (Op::s_andn2_saveexec_b64, |s, e| s & !e),
        (Op::s_orn2_saveexec_b64, |s, e| s | !e),
        (Op::s_nand_saveexec_b64, |s, e| !(s & e)),
        (Op::s_nor_saveexec_b64, |s, e| !(s | e)),
        (Op::s_xnor_saveexec_b64, |s, e| !(s ^ e)),
        (Op::s_andn1_saveexec_b64, |s, e| !s & e),
        (Op::s_orn1_saveexec_b64, |s, e| !s | e),
    ];
    for (op, f) in forms {
        for (source, exec) in [(0xff00_ff00_1234_5678, 0x0ff0_0ff0_ffff_0000), (0, u64::MAX), (u64::MAX, u64::MAX)] {
            // The destination may be the source.
            for dst in [s(0), s(2)] {
                let w = machine(&[inst(op, dst, &[s(2)])], DEFAULT_MODE, &|w| {
                    w.set_slot64(2, source);
                    w.set_exec(exec);
                });
                let saved = if dst == s(0) { w.slot64(0) } else { w.slot64(2) };
                assert_eq!((saved, w.exec(), w.scc()), (exec, f(source, exec), f(source, exec) != 0), "{op}");
            }
        }
    }
}
