//! Allocated and unallocated registers.

use super::super::allocation::Allocation;
use super::streams::forms;
use super::*;
use crate::fault::StrayRegister;
use crate::isa::{Arch, disassemble};

/// 8 vector, 4 accumulation and 16 scalar registers.
fn few() -> Resources {
    Resources { allocation: Allocation { vgprs: 8, agprs: 4, sgprs: 16 }, ..DEFAULT_MODE.into() }
}

/// The longest operand that starts at each register (file and number), in registers.
fn longest(operands: impl Iterator<Item = (char, u16, u16)>) -> BTreeMap<(char, u16), u16> {
    let mut all = BTreeMap::new();
    for (file, first, count) in operands {
        let longest = all.entry((file, first)).or_insert(count);
        *longest = count.max(*longest);
    }
    all
}

/// The registers in a text.
fn named(text: &str) -> BTreeMap<(char, u16), u16> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || "_[:]".contains(c)));
    let read = |word: &str| {
        let file = word.chars().next().filter(|c| "vas".contains(*c))?;
        let rest = &word[1..];
        match rest.strip_prefix('[') {
            Some(range) => {
                let (first, last) = range.strip_suffix(']')?.split_once(':')?;
                let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
                Some((file, first, last + 1 - first))
            }
            None => Some((file, rest.parse().ok()?, 1)),
        }
    };
    longest(words.filter_map(read))
}

/// The registers of an instruction are those in its text, which is LLVM's.
#[test]
fn registers_are_those_of_the_text() {
    let mut random = Random::new(77);
    let mut seen = 0;
    for arch in Arch::ALL {
        for form in forms(arch, |_| true) {
            for (_, inst) in (0..6).filter_map(|_| form.words(arch, &mut || random.next())) {
                // Their texts omit the status register, and the registers after an image address's first.
                if inst.mods.tfe || inst.format == Format::Mimg {
                    continue;
                }
                let text = disassemble(&inst, arch);
                let found = inst.registers().map(|(operand, count)| match operand {
                    Operand::Vgpr(n) => ('v', n, count),
                    Operand::Agpr(n) => ('a', n, count),
                    Operand::Sgpr(n) => ('s', n, count),
                    other => panic!("{other:?}"),
                });
                assert_eq!(longest(found), named(&text), "{text}");
                seen += 1;
            }
        }
    }
    assert!(seen > 5000, "{seen}");
}

#[test]
fn beyond_the_last_register() {
    let stray = |code: &[Inst]| match trap(code, few(), &|_| {}) {
        Trap::StrayRegister(StrayRegister { file, first, count, allocated }) => (file, first, count, allocated),
        other => panic!("{other:?}"),
    };
    let mov = |d, n| inst(Op::v_mov_b32, v(d), &[v(n)]);
    assert_eq!(stray(&[mov(7, 7), mov(8, 0)]), ('v', 8, 1, 8));
    assert_eq!(stray(&[mov(0, 9)]), ('v', 9, 1, 8));
    let add = |d, a| inst(Op::v_add_f64, v(d), &[v(a), v(0)]);
    assert_eq!(stray(&[add(6, 6), add(7, 0)]), ('v', 7, 2, 8));
    let product = |d| {
        let mods = Mods::default();
        Inst { mods, ..inst(Op::v_mfma_f32_16x16x4f32, Operand::Agpr(d), &[v(0), v(1), Operand::Agpr(d)]) }
    };
    assert_eq!(stray(&[product(0), product(4)]), ('a', 4, 4, 4));
    let copy = |d, a| inst(Op::s_mov_b64, s(d), &[s(a)]);
    assert_eq!(stray(&[copy(14, 12), copy(16, 0)]), ('s', 16, 2, 16));
    // Also detected in a fused operation.
    let carry = |d| {
        [(0, Op::v_add_co_u32), (1, Op::v_addc_co_u32)].map(|(i, op)| Inst {
            dst2: VCC,
            src: [v(2 + i), v(4 + i), if i == 0 { Operand::None } else { VCC }, Operand::None],
            ..inst(op, v(d + i), &[])
        })
    };
    assert_eq!(stray(&[carry(6), carry(7)].concat()), ('v', 8, 1, 8));
}

/// An index reaches all registers of the kernel, though its code names few.
#[test]
fn indices_reach_registers_that_nothing_names() {
    let many = Resources { allocation: Allocation { vgprs: 200, agprs: 0, sgprs: 16 }, ..DEFAULT_MODE.into() };
    let on = |mode| inst(Op::s_set_gpr_idx_on, Operand::None, &[s(2), imm(mode)]);
    let off = inst(Op::s_set_gpr_idx_off, Operand::None, &[]);
    let write = [on(8), inst(Op::v_mov_b32, v(4), &[v(1)]), off];
    let clear = inst(Op::v_mov_b32, v(1), &[Operand::Int(0)]);
    let read = [on(1), inst(Op::v_mov_b32, v(3), &[v(4)]), off];
    let w = machine(&[&write[..], &[clear], &read].concat(), many, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(1)[lane] = 7 + lane as u32);
        w.set_slot(2, 195);
    });
    (0..LANES).for_each(|lane| assert_eq!((w.row(199)[lane], w.row(3)[lane]), (7 + lane as u32, 7 + lane as u32)));
}

/// Indexed registers behave as the manual says under "Out-of-Range behavior".
#[test]
fn indices_beyond_the_last_register() {
    let on = |mode| inst(Op::s_set_gpr_idx_on, Operand::None, &[s(2), imm(mode)]);
    let off = inst(Op::s_set_gpr_idx_off, Operand::None, &[]);
    let run = |code: &[Inst], index: u32| {
        let w = machine(code, few(), &|w| {
            (0..8).for_each(|n| w.row_mut(n).fill(100 + u32::from(n)));
            (0..16).for_each(|n| w.set_slot(n, 200 + u32::from(n)));
            w.set_slot(2, index);
            w.set_slot(slot::M0, index);
        });
        let vectors: Vec<u32> = (0..8).map(|n| w.row(n)[5]).collect();
        (vectors, (0..16).map(|n| w.slot(n)).collect::<Vec<u32>>())
    };
    let set =
        |at: usize, value: u32| (0..8).map(|n| if n == at { value } else { 100 + n as u32 }).collect::<Vec<u32>>();
    // v1 = v[4 + index], v[4 + index] = v1, v[2:3] = v[4 + index : 5 + index] shifted by 0.
    let read = [on(1), inst(Op::v_mov_b32, v(1), &[v(4)]), off];
    assert_eq!(run(&read, 3).0, set(1, 107));
    assert_eq!(run(&read, 4).0, set(1, 100));
    assert_eq!(run(&read, 255).0, set(1, 100));
    let write = [on(8), inst(Op::v_mov_b32, v(4), &[v(1)]), off];
    assert_eq!(run(&write, 3).0, set(7, 101));
    assert_eq!(run(&write, 4).0, set(8, 0));
    let wide = [on(2), inst(Op::v_lshlrev_b64, v(2), &[imm(0), v(4)]), off];
    assert_eq!(run(&wide, 2).0[2..4], [106, 107]);
    assert_eq!(run(&wide, 3).0[2..4], [100, 101]);
    let scalar = |op, index| run(&[inst(op, s(4), &[s(6)])], index).1;
    let only = |at: usize, value: u32, index: u32| -> Vec<u32> {
        let usual = |n: usize| if n == 2 { index } else { 200 + n as u32 };
        (0..16).map(|n| if n == at { value } else { usual(n) }).collect()
    };
    assert_eq!(scalar(Op::s_movrels_b32, 9), only(4, 215, 9));
    assert_eq!(scalar(Op::s_movrels_b32, 10), only(4, 200, 10));
    assert_eq!(scalar(Op::s_movreld_b32, 11), only(15, 206, 11));
    assert_eq!(scalar(Op::s_movreld_b32, 12), only(99, 0, 12));
    assert_eq!(scalar(Op::s_movrels_b64, 9)[4..6], [200, 201]);
    assert_eq!(scalar(Op::s_movreld_b64, 11), only(99, 0, 11));
}
