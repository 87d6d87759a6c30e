//! Compares and classes.

use super::*;

/// Runs a compare with all lanes and with some; checks the mask, and EXEC for `v_cmpx`.
fn compare(op: Op, x: &[Vec<u64>], holds: &dyn Fn(u64, u64) -> bool) {
    let info = op.info();
    let writes_exec = op.mnemonic().starts_with("v_cmpx");
    for base in (0..x[0].len()).step_by(LANES) {
        let count = (x[0].len() - base).min(LANES);
        for (exec, dst) in [(u64::MAX, VCC), (0x0f0f_1234_ffff_8001, s(30))] {
            let code = inst(op, dst, &[v(0), v(2)]);
            let w = machine(&[code], DEFAULT_MODE, &|w| {
                w.set_exec(exec);
                for lane in 0..count {
                    set_value(w, 0, width(info.src[0]), lane, x[0][base + lane]);
                    set_value(w, 2, width(info.src[1]), lane, x[1][base + lane]);
                }
            });
            let got = if dst == VCC { w.vcc() } else { w.slot64(30) };
            assert_eq!(got & !exec, 0, "{op}: lanes that are off");
            for lane in (0..count).filter(|l| exec >> l & 1 == 1) {
                let (a, b) = (x[0][base + lane], x[1][base + lane]);
                assert_eq!(got >> lane & 1 == 1, holds(a, b), "{op} {a:#x} {b:#x}");
            }
            assert_eq!(w.exec(), if writes_exec { got } else { exec }, "{op}");
        }
    }
}

fn op(name: &str) -> Op {
    *Op::ALL.iter().find(|op| op.mnemonic() == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn integers() {
    for (suffix, bits, signed) in [
        ("i16", 16, true),
        ("u16", 16, false),
        ("i32", 32, true),
        ("u32", 32, false),
        ("i64", 64, true),
        ("u64", 64, false),
    ] {
        let mut random = Random::new(bits);
        let special = if bits == 64 { DOUBLES } else { WORDS };
        let x = operands(2, special, 128, &mut || random.next() & (u64::MAX >> (64 - bits.max(32))));
        let number = |x: u64| {
            let low = i128::from(x & (u64::MAX >> (64 - bits)));
            if signed && low >> (bits - 1) == 1 { low - (1 << bits) } else { low }
        };
        let relations: [(&str, fn(i128, i128) -> bool); 8] = [
            ("f", |_, _| false),
            ("lt", |a, b| a < b),
            ("eq", |a, b| a == b),
            ("le", |a, b| a <= b),
            ("gt", |a, b| a > b),
            ("ne", |a, b| a != b),
            ("ge", |a, b| a >= b),
            ("t", |_, _| true),
        ];
        for (name, relation) in relations {
            for x_or_not in ["v_cmp", "v_cmpx"] {
                compare(op(&format!("{x_or_not}_{name}_{suffix}")), &x, &|a, b| relation(number(a), number(b)));
            }
        }
    }
}

#[test]
fn floats() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let relations: [(&str, &[Option<std::cmp::Ordering>]); 16] = [
        ("f", &[]),
        ("lt", &[Some(Less)]),
        ("eq", &[Some(Equal)]),
        ("le", &[Some(Less), Some(Equal)]),
        ("gt", &[Some(Greater)]),
        ("lg", &[Some(Less), Some(Greater)]),
        ("ge", &[Some(Greater), Some(Equal)]),
        ("o", &[Some(Less), Some(Equal), Some(Greater)]),
        ("u", &[None]),
        ("nge", &[Some(Less), None]),
        ("nlg", &[Some(Equal), None]),
        ("ngt", &[Some(Less), Some(Equal), None]),
        ("nle", &[Some(Greater), None]),
        ("neq", &[Some(Less), Some(Greater), None]),
        ("nlt", &[Some(Greater), Some(Equal), None]),
        ("tru", &[Some(Less), Some(Equal), Some(Greater), None]),
    ];
    let kinds: [(&str, &[u64], fn(u64) -> f64); 3] = [
        ("f16", HALVES, |x| ::half::f16::from_bits(x as u16).to_f64()),
        ("f32", SINGLES, |x| f64::from(f32::from_bits(x as u32))),
        ("f64", DOUBLES, f64::from_bits),
    ];
    for (suffix, special, number) in kinds {
        let mut random = Random::new(8);
        let x = operands(2, special, 64, &mut || random.next() >> if suffix == "f32" { 32 } else { 0 });
        for (name, holds) in relations {
            for x_or_not in ["v_cmp", "v_cmpx"] {
                compare(op(&format!("{x_or_not}_{name}_{suffix}")), &x, &|a, b| {
                    holds.contains(&number(a).partial_cmp(&number(b)))
                });
            }
        }
    }
}

#[test]
fn classes() {
    let class = |x: f64, quiet: bool, denormal: bool| match x.classify() {
        std::num::FpCategory::Nan => u32::from(quiet),
        std::num::FpCategory::Infinite => {
            if x < 0.0 {
                2
            } else {
                9
            }
        }
        std::num::FpCategory::Zero => {
            if x.is_sign_negative() {
                5
            } else {
                6
            }
        }
        _ if denormal => {
            if x < 0.0 {
                4
            } else {
                7
            }
        }
        _ => {
            if x < 0.0 {
                3
            } else {
                8
            }
        }
    };
    for wanted in 0..10_u64 {
        let pairs = |special: &[u64]| vec![special.to_vec(), vec![1 << wanted | 0xfc00; special.len()]];
        let is = |c: u32| u64::from(c) == wanted;
        compare(Op::v_cmp_class_f32, &pairs(SINGLES), &|a, _| {
            let x = f32::from_bits(a as u32);
            is(class(f64::from(x), a & 0x40_0000 != 0, x.is_subnormal()))
        });
        compare(Op::v_cmp_class_f64, &pairs(DOUBLES), &|a, _| {
            let x = f64::from_bits(a);
            is(class(x, a >> 51 & 1 == 1, x.is_subnormal()))
        });
        compare(Op::v_cmpx_class_f16, &pairs(HALVES), &|a, _| {
            let x = ::half::f16::from_bits(a as u16);
            is(class(x.to_f64(), a & 0x200 != 0, a & 0x7c00 == 0))
        });
    }
}
