//! Every atomic on integers, in every memory, with and without the old value.

use super::device::{Memories, buffer, descriptor, on};
use super::*;
use crate::isa::{Flags, Kind};

/// The atomics that this module checks.
pub(super) fn covered(op: Op) -> bool {
    let info = op.info();
    let float = info.src.iter().any(|t| matches!(t.kind(), Kind::Float | Kind::Bfloat));
    info.is(Flags::atomic) && !float && info.format != Format::Mimg && op != Op::ds_condxchg32_rtn_b64
}

/// The operation that a mnemonic names, and whether its operands are signed.
fn operation(op: Op) -> String {
    let name = op.mnemonic();
    let name = name.strip_prefix("ds_").or_else(|| name.split_once("atomic_").map(|(_, n)| n)).expect("an atomic");
    let name = name.replace("_rtn", "").replace("_x2", "").replace("2st64", "").replace("xchg2", "xchg");
    // Local ones carry the type at their end.
    match name.rsplit_once('_') {
        Some((core, "i32" | "i64")) => format!("s{core}"),
        Some((core @ ("min" | "max"), _)) => format!("u{core}"),
        Some((core, _)) => core.to_owned(),
        None => name,
    }
}

/// The result of the operation according to the manual, `bits` wide.
fn model(operation: &str, bits: u32, old: u64, data: u64, second: u64) -> u64 {
    let mask = u64::MAX >> (64 - bits);
    let (old, data, second) = (old & mask, data & mask, second & mask);
    let signed = |x: u64| (x << (64 - bits)) as i64;
    let pick = |condition: bool| if condition { data } else { old };
    let modulus = 1_i128 << bits;
    let wrapped = |x: i128| x.rem_euclid(modulus) as u64;
    let (o, d, s) = (i128::from(old), i128::from(data), i128::from(second));
    match operation {
        "swap" | "wrxchg" => data,
        "cmpswap" => pick(old == second),
        "cmpst" => {
            if old == data {
                second
            } else {
                old
            }
        }
        "add" => wrapped(o + d),
        "sub" => wrapped(o - d),
        "rsub" => wrapped(d - o),
        "smin" => pick(signed(data) < signed(old)),
        "smax" => pick(signed(data) > signed(old)),
        "umin" => pick(data < old),
        "umax" => pick(data > old),
        "and" => old & data,
        "or" => old | data,
        "xor" => old ^ data,
        "inc" => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        "dec" => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        "mskor" => old & !data | second,
        "wrap" => {
            if old >= data {
                old - data
            } else {
                wrapped(o + s)
            }
        }
        other => panic!("{other}: {d}"),
    }
}

/// Numbers that are often equal.
fn number(random: &mut Random, bits: u32) -> u64 {
    let edges = [0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1];
    let n = random.next();
    let x = if n % 3 == 0 { n } else { edges[(n >> 8) as usize % edges.len()] };
    x & u64::MAX >> (64 - bits)
}

/// Bytes of a memory.
const BYTES: usize = 2048;

fn get(bytes: &[u8], at: usize, bits: u32) -> u64 {
    bytes[at..at + bits as usize / 8].iter().rev().fold(0, |all, b| all << 8 | u64::from(*b))
}

fn set(bytes: &mut [u8], at: usize, bits: u32, value: u64) {
    bytes[at..at + bits as usize / 8].copy_from_slice(&value.to_le_bytes()[..bits as usize / 8]);
}

#[test]
fn vector_atomics() {
    let mut checked = 0;
    for op in Op::ALL.iter().copied().filter(|op| covered(*op) && op.info().format != Format::Smem) {
        let (info, name, what) = (op.info(), op.mnemonic(), operation(op));
        let local = info.format == Format::Ds;
        let bits = if name.ends_with("_x2") || name.ends_with("64") { 64 } else { 32 };
        let (bytes, registers) = (bits as usize / 8, bits as u16 / 32);
        let twice = name.contains("xchg2");
        let stride = if name.contains("st64") { 64 } else { 1 };
        for returns in [false, true] {
            if local && returns != (info.dst != crate::isa::Type::None) {
                continue;
            }
            let mut random = Random::new(500 + checked);
            let mut before = vec![0; BYTES];
            for i in 0..BYTES / bytes {
                set(&mut before, i * bytes, bits, number(&mut random, bits));
            }
            // Several lanes share a word and access it in order.
            let place = |lane: usize| bytes * (lane % 13);
            let values: Vec<[u64; 2]> = (0..LANES).map(|_| [0; 2].map(|_| number(&mut random, bits))).collect();
            let offsets = if twice { (1, 1) } else { (0, 0) };
            let dst = if returns { v(16) } else { Operand::None };
            // Flat and buffer compare-and-swaps have both values in a row.
            let second = if local && info.src[2] != crate::isa::Type::None { v(10) } else { Operand::None };
            let code = match info.format {
                Format::Ds => {
                    let plain = inst(op, dst, &[v(0), v(8), second]);
                    Inst { mods: Mods { offset: offsets.0, offset1: offsets.1 * 2, ..plain.mods }, ..plain }
                }
                Format::Mubuf => {
                    let dst = if returns { v(8) } else { Operand::None };
                    buffer(op, dst, v(0), v(8), Mods { offen: true, glc: returns, ..Mods::default() })
                }
                _ => {
                    let plain = inst(op, dst, &[v(0), v(8), Operand::None]);
                    Inst { mods: Mods { glc: returns, ..plain.mods }, ..plain }
                }
            };
            let exec = 0xffff_ffff_ffff_feff;
            let memories = Memories { device: if local { &[] } else { &before }, lds: &before, ..Memories::default() };
            let result = on(&[code], &memories, &|w, base| {
                w.set_exec(exec);
                descriptor(w, base, 0, BYTES as u32, 0);
                let flat = matches!(info.format, Format::Flat | Format::Global);
                for lane in 0..LANES {
                    set_value(w, 0, 2, lane, if flat { base } else { 0 } + place(lane) as u64);
                    set_value(w, 8, registers, lane, values[lane][0]);
                    let row = if local { 10 } else { 8 + registers };
                    set_value(w, row, registers, lane, values[lane][1]);
                }
            });
            assert_eq!(result.trap, None, "{op}");
            let mut expected = before.clone();
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
                let row = if info.format == Format::Mubuf { 8 } else { 16 };
                let elements = if twice { 2 } else { 1 };
                for i in 0..elements {
                    let shift = if twice { bytes * stride * (i + 1) } else { 0 };
                    let at = place(lane) + shift;
                    let old = get(&expected, at, bits);
                    let data = values[lane][i];
                    set(&mut expected, at, bits, model(&what, bits, old, data, values[lane][1]));
                    if returns {
                        let got = value(&result.wave, row + registers * i as u16, registers, lane);
                        assert_eq!(got, old, "{op}, lane {lane}");
                    }
                }
            }
            let after = if local { &result.lds } else { &result.memory };
            assert!(after[..BYTES] == expected[..], "{op}, returning {returns}");
            checked += 1;
        }
    }
    assert!(checked > 200, "{checked}");
}

#[test]
fn scalar_atomics() {
    let mut checked = 0;
    for op in Op::ALL.iter().copied().filter(|op| covered(*op) && op.info().format == Format::Smem) {
        let (name, what) = (op.mnemonic(), operation(op));
        let bits = if name.ends_with("_x2") { 64 } else { 32 };
        let words = bits as u16 / 32;
        let mut random = Random::new(600 + checked);
        for _ in 0..40 {
            let [old, data, second] = [0; 3].map(|_| number(&mut random, bits));
            for glc in [false, true] {
                let base = if name.starts_with("s_buffer") { s(8) } else { s(2) };
                let plain = inst(op, if glc { s(20) } else { Operand::None }, &[base, imm(24), s(20)]);
                let code = Inst { mods: Mods { glc, offset: 24, ..plain.mods }, ..plain };
                let mut before = vec![0; 64];
                set(&mut before, 24, bits, old);
                let memories = Memories { device: &before, ..Memories::default() };
                let put = |w: &mut Wave, slot: u16, x: u64| {
                    w.set_slot(slot, x as u32);
                    if words == 2 {
                        w.set_slot(slot + 1, (x >> 32) as u32);
                    }
                };
                let result = on(&[code], &memories, &|w, base| {
                    w.set_slot64(2, base);
                    descriptor(w, base, 0, 64, 0);
                    put(w, 20, data);
                    put(w, 20 + words, second);
                });
                assert_eq!(result.trap, None, "{op}");
                let expected = model(&what, bits, old, data, second);
                assert_eq!(get(&result.memory, 24, bits), expected, "{op} of {old:#x} {data:#x} {second:#x}");
                let slot = |n: u16| u64::from(result.wave.slot(n));
                let kept = if words == 2 { slot(20) | slot(21) << 32 } else { slot(20) };
                assert_eq!(kept, if glc { old } else { data }, "{op}: what is in the data's register");
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 52);
}
