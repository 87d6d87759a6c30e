//! Forks with a stack of lanes, skipped vector instructions, and scratch accessed by scalar instructions.

use super::device::{Memories, on};
use super::*;

/// An instruction of one word, so that positions equal words.
fn short(op: Op, dst: Operand, sources: &[Operand]) -> Inst {
    Inst { size: 4, ..inst(op, dst, sources) }
}

/// MODE's CSP into a register: what a join compares with.
fn depth_to(register: u16) -> Inst {
    short(Op::s_getreg_b32, s(register), &[imm(1 | 29 << 6 | 2 << 11)])
}

/// A tree of forks: at each level the lanes of that level's mask (from s[40:41] on) go right, the others left. Lanes
/// add the number of their leaf to v0, and a bit for each join that they pass to v1. `leaf` counts leaves, `to` is the
/// number of levels.
fn tree(code: &mut Vec<Inst>, level: u16, to: u16, leaf: &mut i8, by_register: bool) {
    if level == to {
        code.push(short(Op::v_add_u32, v(0), &[Operand::Int(*leaf), v(0)]));
        *leaf += 1;
        return;
    }
    // The code itself restores EXEC and the stack's depth: a join leaves only the lanes enabled that reached it last.
    let saved = s(64 + 2 * level);
    code.push(short(Op::s_mov_b64, saved, &[EXEC]));
    code.push(depth_to(32 + level));
    let mask = s(40 + 2 * level);
    let at = code.len();
    if by_register {
        // The target is stored in s[60:61] explicitly, below.
        code.push(short(Op::s_mov_b32, s(60), &[Operand::None]));
        code.push(short(Op::s_cbranch_g_fork, Operand::None, &[mask, s(60)]));
    } else {
        code.push(short(Op::s_cbranch_i_fork, Operand::None, &[imm(0), mask]));
    }
    tree(code, level + 1, to, leaf, by_register);
    let over = code.len();
    code.push(short(Op::s_branch, Operand::None, &[imm(0)]));
    let right = code.len();
    tree(code, level + 1, to, leaf, by_register);
    let meet = code.len();
    code.push(short(Op::s_cbranch_join, Operand::None, &[s(32 + level)]));
    code.push(short(Op::s_mov_b64, EXEC, &[saved]));
    code.push(short(Op::v_add_u32, v(1), &[Operand::Int(1 << level), v(1)]));
    code[over].src[0] = imm((meet - over - 1) as i32);
    if by_register {
        code[at].src[0] = Operand::Literal(0x1000 + 4 * right as u32);
    } else {
        code[at].src[0] = imm((right - at - 1) as i32);
    }
}

/// Every lane reaches the leaf that its masks select exactly once, and passes every join, whichever part goes first.
/// Afterwards the stack's depth and the enabled lanes are as before.
#[test]
fn forks_and_joins_take_every_lane_its_way() {
    let mut random = Random::new(77);
    for round in 0..60 {
        let levels = 1 + round % 4;
        let mut code = Vec::new();
        tree(&mut code, 0, levels, &mut 0, round % 2 == 0);
        code.push(depth_to(30));
        let masks: Vec<u64> = (0..levels)
            .map(|n| match (round + n) % 7 {
                0 => 0,
                1 => u64::MAX,
                2 => random.next() & random.next() & random.next(),
                3 => random.next() | random.next(),
                _ => random.next(),
            })
            .collect();
        let exec = if round % 3 == 0 { u64::MAX } else { random.next() };
        let w = machine(&code, DEFAULT_MODE, &|w| {
            w.set_exec(exec);
            masks.iter().enumerate().for_each(|(n, mask)| w.set_slot64(40 + 2 * n as u16, *mask));
        });
        assert_eq!((w.exec(), w.slot(30)), (exec, 0), "{masks:x?}");
        for lane in 0..LANES {
            let bit = |mask: &u64| (mask >> lane & 1) as u32;
            let leaf = masks.iter().fold(0, |leaf, mask| 2 * leaf + bit(mask));
            let expected = if bit(&exec) == 1 { (leaf, (1 << levels) - 1) } else { (0, 0) };
            assert_eq!((w.row(0)[lane], w.row(1)[lane]), expected, "lane {lane} of {exec:x}: {masks:x?}");
        }
    }
}

/// The smaller part continues; the other waits in s[0:3], with its address in the high half.
#[test]
fn a_fork_keeps_the_larger_part_of_the_lanes() {
    let fork = short(Op::s_cbranch_i_fork, Operand::None, &[imm(1), s(40)]);
    let code = [fork, short(Op::s_mov_b32, s(50), &[Operand::Int(1)]), short(Op::s_mov_b64, s(52), &[EXEC])];
    for (mask, now, later, address, fell_through) in [
        (0b0111, 0b1000, 0b0111, 0x1008, 1),
        (0b0001, 0b0001, 0b1110, 0x1004, 0),
        // With equal sizes, those that pass continue.
        (0b1100, 0b1100, 0b0011, 0x1004, 0),
    ] {
        let w = machine(&code, DEFAULT_MODE, &|w| {
            w.set_exec(0b1111);
            w.set_slot64(40, mask);
        });
        assert_eq!(
            (w.slot64(52), w.slot64(0), w.slot64(2), w.slot(50)),
            (now, later, address, fell_through),
            "{mask:b}"
        );
    }
    let why = |code: &[Inst], mode: u32| match trap(code, DEFAULT_MODE, &|w| {
        w.mode.0 |= mode << 29;
        w.set_exec(0b1111);
        w.set_slot64(40, 0b0001);
        w.set_slot(41, 5);
    }) {
        Trap::Unsupported(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(&code, 6).contains("six entries"));
    assert!(why(&[short(Op::s_cbranch_join, Operand::None, &[s(41)])], 0).contains("without a fork"));
    // The waiting lanes continue at the address in the registers, which is invalid.
    let join = short(Op::s_cbranch_join, Operand::None, &[s(41)]);
    assert_eq!(trap(&[join], DEFAULT_MODE, &|w| w.mode.0 |= 1 << 29), Trap::WildJump(0));
}

const EXEC: Operand = Operand::Special(Special::ExecLo);

/// Vector instructions of every kind have no effect while VSKIP is set; scalar ones do.
#[test]
fn vector_instructions_are_skipped() {
    let add = inst(Op::v_add_u32, v(0), &[Operand::Int(1), v(0)]);
    let set = |bits, bit| inst(Op::s_setvskip, Operand::None, &[bits, bit]);
    let vector = [
        add,
        inst(Op::v_cmp_eq_u32, VCC, &[v(0), v(0)]),
        inst(Op::v_readfirstlane_b32, s(20), &[v(3)]),
        inst(Op::global_load_dword, v(3), &[v(4), Operand::None, Operand::None]),
        inst(Op::ds_write_b32, Operand::None, &[v(5), v(3)]),
        inst(Op::v_mfma_f32_4x4x1f32, Operand::Agpr(0), &[v(3), v(3), Operand::Agpr(0)]),
    ];
    let scalar = inst(Op::s_add_u32, s(21), &[s(21), Operand::Int(1)]);
    let read = inst(Op::s_getreg_b32, s(22), &[imm(1 | 28 << 6)]);
    // Bit 5 of s23 switches it on (the bit's number is taken modulo 32), bit 0 of it off.
    let mut code = vec![add, set(s(23), Operand::Int(37))];
    code.extend(vector);
    code.extend([scalar, read, set(s(23), Operand::Int(0)), add]);
    let w = machine(&code, DEFAULT_MODE, &|w| {
        w.set_slot(23, 1 << 5);
        w.set_slot64(slot::VCC, 0);
        w.set_slot(20, 9);
        // Addresses that would be faults.
        w.row_mut(5).fill(u32::MAX);
    });
    assert_eq!((w.row(0)[7], w.vcc(), w.slot(20), w.slot(21), w.slot(22)), (2, 0, 9, 1, 1));

    // MODE can be written as any register.
    let write = |value| inst(Op::s_setreg_imm32_b32, Operand::None, &[imm(1 | 28 << 6), Operand::Literal(value)]);
    let w = machine(&[add, write(1), add, write(0), add], DEFAULT_MODE, &|_| ());
    assert_eq!(w.row(0)[0], 2);
}

/// The words of a lane's scratch lie 64 apart: a scalar access at an offset finds those of the first lanes side by
/// side.
#[test]
fn scalar_access_to_scratch() {
    let memories = Memories { scratch: 64, ..Memories::default() };
    let byte = |lane: usize, at: usize| Memories::scratch_byte(lane, at);
    let word = |lane: usize, at: usize| u32::from_le_bytes(std::array::from_fn(|i| byte(lane, at + i)));
    let base = Operand::Special(Special::FlatScratchLo);
    let with = |plain: Inst, offset| Inst { mods: Mods { offset, ..plain.mods }, ..plain };
    let code = [
        // An immediate counts bytes of memory: the row of the second word.
        with(inst(Op::s_scratch_load_dword, s(20), &[base, imm(256 + 4)]), 256 + 4),
        // A register counts bytes of a lane.
        inst(Op::s_scratch_load_dwordx2, s(22), &[base, s(4)]),
        with(inst(Op::s_scratch_load_dwordx4, s(24), &[base, s(4)]), 16),
        inst(Op::s_scratch_store_dword, Operand::None, &[base, s(5), s(8)]),
        with(inst(Op::s_scratch_store_dwordx2, Operand::None, &[base, s(5), s(8)]), 8),
        with(inst(Op::s_scratch_store_dwordx4, Operand::None, &[base, imm(240), s(8)]), 240),
    ];
    let set_up = |w: &mut Wave, _| {
        w.set_slot(4, 12);
        w.set_slot(5, 60);
        (0..4).for_each(|n| w.set_slot(8 + n, 0x1000_0001 * (u32::from(n) + 1)));
    };
    let after = on(&code, &memories, &set_up);
    assert_eq!(after.trap, None);
    assert_eq!(after.wave.slot(20), word(1, 4));
    assert_eq!([22, 23].map(|n| after.wave.slot(n)), [word(0, 12), word(1, 12)]);
    assert_eq!([24, 25, 26, 27].map(|n| after.wave.slot(n)), [4, 5, 6, 7].map(|lane| word(lane, 12)));
    let mut expected: Vec<Vec<u8>> = (0..LANES).map(|lane| (0..64).map(|at| byte(lane, at)).collect()).collect();
    let stored = |n: u32| (0x1000_0001 * (n + 1)).to_le_bytes();
    expected[0][60..64].copy_from_slice(&stored(0));
    expected[2][60..64].copy_from_slice(&stored(0));
    expected[3][60..64].copy_from_slice(&stored(1));
    (0..4).for_each(|n| expected[60 + n][0..4].copy_from_slice(&stored(n as u32)));
    assert_eq!(after.scratch, expected);

    // Past the end, and at a misaligned address: treated like any other address of memory, which is not valid here.
    for offset in [64 * 64, 64 * 64 - 4, -4, 2] {
        let load = with(inst(Op::s_scratch_load_dwordx2, s(20), &[base, imm(offset)]), offset);
        let after = on(&[load], &memories, &set_up);
        assert!(matches!(after.trap, Some(Trap::Memory(_))), "{offset}: {:?}", after.trap);
    }
}
