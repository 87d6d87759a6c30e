//! Every scalar operation on random operands of every kind (registers, constants, literals, VCC, EXEC, M0; destinations
//! that are sources), compared with models in 128 bits.

use super::*;
use crate::isa::{Kind, Type};

/// The result of an operation, and SCC if it sets it.
type Outcome = (u64, Option<bool>);

/// The operands of a model: two sources, the old destination, and SCC.
#[derive(Clone, Copy)]
struct Given {
    a: u64,
    b: u64,
    old: u64,
    scc: bool,
}

fn ones(count: u64) -> u64 {
    ((1_u128 << count.min(64)) - 1) as u64
}

fn signed(x: u64, bits: u32) -> i128 {
    let x = i128::from(x) & ((1 << bits) - 1);
    if x >> (bits - 1) & 1 == 1 { x - (1 << bits) } else { x }
}

/// A field of `width` bits from bit `offset` of `x`, which has `bits` bits and is extended beyond them.
fn extract(x: u64, control: u64, bits: u32, sign: bool) -> u64 {
    let (offset, width) = (control % u64::from(bits), control >> 16 & 0x7f);
    let wide = if sign { signed(x, bits) } else { i128::from(x) };
    let field = (wide >> offset) as u128;
    let width = width.min(u64::from(bits));
    let low = (field & ((1 << width) - 1)) as u64;
    if sign && width > 0 && low >> (width - 1) & 1 == 1 { low | !ones(width) } else { low }
}

/// The model of an operation on `bits` bits; `None` if this module does not test it.
fn model(name: &str, g: Given, k: i32) -> Option<Outcome> {
    let bits: u32 = if name.contains("64") { 64 } else { 32 };
    let mask = ones(bits.into());
    let Given { a, b, old, scc } = g;
    let (ia, ib) = (signed(a, bits), signed(b, bits));
    let (ua, ub) = (i128::from(a), i128::from(b));
    let wraps = |sum: i128| ((sum as u128 as u64) & mask, sum as u128 >> bits & 1 == 1);
    let carry = i128::from(scc);
    let overflow = |x: i128| (x as u64 & mask, Some(x != signed(x as u64, bits)));
    let logic = |r: u64| (r & mask, Some(r & mask != 0));
    let plain = |r: u64| (r & mask, None);
    let only = |flag: bool| (0, Some(flag));
    let bit = |x: u64, i: u32| x >> i & 1 == 1;
    let find = |found: Option<u32>| (u64::from(found.unwrap_or(u32::MAX)), None);
    let (core, _) = name.strip_prefix("s_")?.split_at(name.len() - 2);
    Some(match core {
        "add_u32" => (wraps(ua + ub).0, Some(wraps(ua + ub).1)),
        "sub_u32" => (wraps(ua - ub).0, Some(ua < ub)),
        "addc_u32" => (wraps(ua + ub + carry).0, Some(ua + ub + carry > i128::from(mask))),
        "subb_u32" => (wraps(ua - ub - carry).0, Some(ua - ub - carry < 0)),
        "add_i32" => overflow(ia + ib),
        "sub_i32" => overflow(ia - ib),
        "mul_i32" => plain((ia * ib) as u64),
        "mul_hi_u32" => plain((ua * ub >> 32) as u64),
        "mul_hi_i32" => plain((ia * ib >> 32) as u64),
        "min_i32" => (if ia < ib { a } else { b }, Some(ia < ib)),
        "max_i32" => (if ia > ib { a } else { b }, Some(ia > ib)),
        "min_u32" => (if a < b { a } else { b }, Some(a < b)),
        "max_u32" => (if a > b { a } else { b }, Some(a > b)),
        "abs_i32" => logic(ia.unsigned_abs() as u64),
        "absdiff_i32" => logic(signed((ia - ib) as u64, 32).unsigned_abs() as u64),
        "lshl1_add_u32" => (wraps(2 * ua + ub).0, Some(2 * ua + ub > i128::from(mask))),
        "lshl2_add_u32" => (wraps(4 * ua + ub).0, Some(4 * ua + ub > i128::from(mask))),
        "lshl3_add_u32" => (wraps(8 * ua + ub).0, Some(8 * ua + ub > i128::from(mask))),
        "lshl4_add_u32" => (wraps(16 * ua + ub).0, Some(16 * ua + ub > i128::from(mask))),
        "and_b32" | "and_b64" => logic(a & b),
        "or_b32" | "or_b64" => logic(a | b),
        "xor_b32" | "xor_b64" => logic(a ^ b),
        "andn2_b32" | "andn2_b64" => logic(a & !b),
        "orn2_b32" | "orn2_b64" => logic(a | !b),
        "nand_b32" | "nand_b64" => logic(!(a & b)),
        "nor_b32" | "nor_b64" => logic(!(a | b)),
        "xnor_b32" | "xnor_b64" => logic(!(a ^ b)),
        "not_b32" | "not_b64" => logic(!a),
        "mov_b32" | "mov_b64" => plain(a),
        "cmov_b32" | "cmov_b64" => plain(if scc { a } else { old }),
        "cselect_b32" | "cselect_b64" => plain(if scc { a } else { b }),
        "lshl_b32" | "lshl_b64" => logic(((u128::from(a)) << (b % u64::from(bits))) as u64),
        "lshr_b32" | "lshr_b64" => logic((ua >> (b % u64::from(bits))) as u64),
        "ashr_i32" | "ashr_i64" => logic((ia >> (b % u64::from(bits))) as u64),
        "bfm_b32" | "bfm_b64" => plain(((u128::from(ones(a % u64::from(bits)))) << (b % u64::from(bits))) as u64),
        "bfe_u32" | "bfe_u64" => logic(extract(a, b, bits, false)),
        "bfe_i32" | "bfe_i64" => logic(extract(a, b, bits, true)),
        "pack_ll_b32_b16" => plain(a & 0xffff | b << 16),
        "pack_lh_b32_b16" => plain(a & 0xffff | b & 0xffff_0000),
        "pack_hh_b32_b16" => plain(a >> 16 & 0xffff | b & 0xffff_0000),
        "brev_b32" | "brev_b64" => plain((0..bits).map(|i| u64::from(bit(a, i)) << (bits - 1 - i)).sum()),
        "bcnt0_i32_b32" => logic((0..32).filter(|i| !bit(a, *i)).count() as u64),
        "bcnt1_i32_b32" | "bcnt1_i32_b64" => logic((0..bits).filter(|i| bit(a, *i)).count() as u64),
        "bcnt0_i32_b64" => logic((0..64).filter(|i| !bit(a, *i)).count() as u64),
        "ff0_i32_b32" | "ff0_i32_b64" => find((0..bits).find(|i| !bit(a, *i))),
        "ff1_i32_b32" | "ff1_i32_b64" => find((0..bits).find(|i| bit(a, *i))),
        "flbit_i32_b32" | "flbit_i32_b64" => find((0..bits).find(|i| bit(a, bits - 1 - i))),
        "flbit_i32" | "flbit_i32_i64" => find((1..bits).find(|i| bit(a, bits - 1 - i) != bit(a, bits - 1))),
        "sext_i32_i8" => plain(signed(a, 8) as u64),
        "sext_i32_i16" => plain(signed(a, 16) as u64),
        // The bit that they name is of the destination, which has the width.
        "bitset0_b32" | "bitset0_b64" => plain(old & !(1 << (a % u64::from(bits)))),
        "bitset1_b32" | "bitset1_b64" => plain(old | 1 << (a % u64::from(bits))),
        "bitreplicate_b64_b32" => plain((0..64).map(|i| u64::from(bit(a, i / 2)) << i).sum()),
        "quadmask_b32" | "quadmask_b64" => logic((0..bits / 4).map(|i| u64::from(a >> (4 * i) & 15 != 0) << i).sum()),
        "wqm_b32" | "wqm_b64" => logic((0..bits / 4).map(|i| u64::from(a >> (4 * i) & 15 != 0) * 15 << (4 * i)).sum()),
        "cmp_eq_i32" | "cmp_eq_u32" | "cmp_eq_u64" => only(a == b),
        "cmp_lg_i32" | "cmp_lg_u32" | "cmp_lg_u64" => only(a != b),
        "cmp_gt_i32" => only(ia > ib),
        "cmp_ge_i32" => only(ia >= ib),
        "cmp_lt_i32" => only(ia < ib),
        "cmp_le_i32" => only(ia <= ib),
        "cmp_gt_u32" => only(a > b),
        "cmp_ge_u32" => only(a >= b),
        "cmp_lt_u32" => only(a < b),
        "cmp_le_u32" => only(a <= b),
        "bitcmp0_b32" | "bitcmp0_b64" => only(!bit(a, (b % u64::from(bits)) as u32)),
        "bitcmp1_b32" | "bitcmp1_b64" => only(bit(a, (b % u64::from(bits)) as u32)),
        // With a constant of 16 bits: `a` is the register.
        "movk_i32" => plain(k as u64),
        "cmovk_i32" => plain(if scc { k as u64 } else { old }),
        "addk_i32" => overflow(signed(old, 32) + i128::from(k)),
        "mulk_i32" => plain((signed(old, 32) * i128::from(k)) as u64),
        "cmpk_eq_i32" => only(ia == i128::from(k)),
        "cmpk_lg_i32" => only(ia != i128::from(k)),
        "cmpk_gt_i32" => only(ia > i128::from(k)),
        "cmpk_ge_i32" => only(ia >= i128::from(k)),
        "cmpk_lt_i32" => only(ia < i128::from(k)),
        "cmpk_le_i32" => only(ia <= i128::from(k)),
        "cmpk_eq_u32" => only(ua == i128::from(k)),
        "cmpk_lg_u32" => only(ua != i128::from(k)),
        "cmpk_gt_u32" => only(ua > i128::from(k)),
        "cmpk_ge_u32" => only(ua >= i128::from(k)),
        "cmpk_lt_u32" => only(ua < i128::from(k)),
        "cmpk_le_u32" => only(ua <= i128::from(k)),
        _ => return None,
    })
}

/// The operations that this module checks.
pub(super) fn covered(op: Op) -> bool {
    let format = op.info().format;
    matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk)
        && model(op.mnemonic(), Given { a: 0, b: 0, old: 0, scc: false }, 0).is_some()
}

/// An operand of a type, with its value; registers among `s[4..12)`, VCC, M0 and constants. The values of registers are
/// in `slots`.
fn operand(ty: Type, random: &mut Random, slots: &[u32]) -> (Operand, u64) {
    let wide = ty.bytes() == 8;
    let pair = |slot: usize| u64::from(slots[slot]) | if wide { u64::from(slots[slot + 1]) << 32 } else { 0 };
    match random.next() % 8 {
        0 => {
            let n = (random.next() % 81) as i8 - 16;
            (Operand::Int(n), if wide { i64::from(n) as u64 } else { u64::from(i32::from(n) as u32) })
        }
        1 => {
            let bits = random.next() as u32;
            // The type determines the extension of a literal.
            let value = match (wide, ty.kind()) {
                (true, Kind::Signed) => i64::from(bits as i32) as u64,
                _ => u64::from(bits),
            };
            (Operand::Literal(bits), value)
        }
        2 => (VCC, pair(usize::from(slot::VCC))),
        3 if !wide => (Operand::Special(Special::M0), pair(usize::from(slot::M0))),
        4 => (Operand::Special(Special::ExecLo), pair(usize::from(slot::EXEC))),
        _ => {
            let n = 4 + random.next() as u16 % 4 * 2;
            (s(n), pair(usize::from(n)))
        }
    }
}

#[test]
fn all_operations_on_operands_of_every_kind() {
    let mut random = Random::new(520);
    let mut checked = 0;
    for op in Op::ALL.iter().copied().filter(|op| covered(*op)) {
        let info = op.info();
        checked += 1;
        for _ in 0..400 {
            // Numbers of all magnitudes: shifts, fields and counts matter most if they are small.
            let number = |random: &mut Random| match random.next() % 6 {
                0 => WORDS[random.next() as usize % WORDS.len()] as u32,
                1 => (random.next() % 70) as u32,
                2 => (random.next() % 66) as u32 | ((random.next() % 70) as u32) << 16,
                3 => (random.next() as u32) >> (random.next() % 32),
                4 => !((random.next() as u32) >> (random.next() % 32)),
                _ => random.next() as u32,
            };
            let mut slots = vec![0; 128];
            slots.iter_mut().for_each(|slot| *slot = number(&mut random));
            let scc = random.next() % 2 == 1;
            let constant = matches!(info.format, Format::Sopk);
            let k = match info.src[0] {
                Type::Uimm16 => random.next() as i32 & 0xffff,
                _ => i32::from(random.next() as i16) >> (random.next() % 12),
            };
            let sources = info.src.iter().filter(|ty| **ty != Type::None && ty.kind() != Kind::Immediate);
            let operands: Vec<(Operand, u64)> = sources.map(|ty| operand(*ty, &mut random, &slots)).collect();
            // The destination may be a source.
            let dst = if info.dst == Type::None { Operand::None } else { s(4 + random.next() as u16 % 4 * 2) };
            let target = match dst {
                Operand::Sgpr(n) => usize::from(n),
                _ => 0,
            };
            let mut given = Given {
                a: operands.first().map_or(0, |o| o.1),
                b: operands.get(1).map_or(0, |o| o.1),
                old: u64::from(slots[target]),
                scc,
            };
            let two = info.dst.bytes() == 8;
            if two {
                given.old |= u64::from(slots[target + 1]) << 32;
            }
            let code = if constant {
                let register: Vec<Operand> = operands
                    .iter()
                    .map(|(_, value)| {
                        // A register: there is no other operand in this encoding.
                        slots[20] = *value as u32;
                        s(20)
                    })
                    .collect();
                let sources: Vec<Operand> = [imm(k)].into_iter().chain(register).collect();
                inst(op, dst, &sources)
            } else {
                inst(op, dst, &operands.iter().map(|o| o.0).collect::<Vec<_>>())
            };
            let w = machine(&[code], DEFAULT_MODE, &|w| {
                slots.iter().enumerate().for_each(|(i, value)| w.set_slot(i as u16, *value));
                w.set_scc(scc);
            });
            let (result, flag) = model(op.mnemonic(), given, k).expect("it is covered");
            let about = format!("{op} {code:?}: {:#x} {:#x} {:#x} {k}", given.a, given.b, given.old);
            assert_eq!(w.scc(), flag.unwrap_or(scc), "SCC of {about}");
            for (i, before) in slots.iter().enumerate() {
                let expected = match (dst, i.wrapping_sub(target)) {
                    (Operand::Sgpr(_), 0) => result as u32,
                    (Operand::Sgpr(_), 1) if two => (result >> 32) as u32,
                    _ => *before,
                };
                assert_eq!(w.slot(i as u16), expected, "register {i} after {about}");
            }
        }
    }
    assert!(checked > 100, "{checked}");
}
