//! Cross-lane operations, selections, moves, and indexed registers.

use super::*;

fn numbered(w: &mut Wave) {
    for lane in 0..LANES {
        w.row_mut(1)[lane] = 100 + lane as u32;
        w.row_mut(2)[lane] = 0x8000_0000 | lane as u32;
    }
}

#[test]
fn lanes_to_scalars_and_back() {
    for (exec, first) in [(u64::MAX, 0), (0xff00, 8), (1 << 63, 63), (0, 0)] {
        let code = [
            inst(Op::v_readfirstlane_b32, s(0), &[v(1)]),
            inst(Op::v_readlane_b32, s(1), &[v(1), Operand::Int(40)]),
            inst(Op::v_readlane_b32, s(2), &[v(1), s(9)]),
            inst(Op::v_writelane_b32, v(2), &[s(1), Operand::Int(3)]),
            inst(Op::v_writelane_b32, v(2), &[Operand::Int(-1), Operand::Special(Special::M0)]),
        ];
        let w = machine(&code, DEFAULT_MODE, &|w| {
            numbered(w);
            w.set_exec(exec);
            w.set_slot(9, 64 + 5);
            w.set_slot(super::super::slot::M0, 62);
        });
        assert_eq!([0, 1, 2].map(|i| w.slot(i)), [100 + first, 140, 105]);
        assert_eq!((w.row(2)[3], w.row(2)[62], w.row(2)[4]), (140, u32::MAX, 0x8000_0004), "whatever EXEC is");
    }
}

#[test]
fn counting_lanes_below() {
    // The usual way to a lane's number, and to its number among some lanes.
    let mask = 0xf0f0_0000_8421_1248_u64;
    let code = [
        inst(Op::v_mbcnt_lo_u32_b32, v(0), &[Operand::Int(-1), Operand::Int(0)]),
        inst(Op::v_mbcnt_hi_u32_b32, v(0), &[Operand::Int(-1), v(0)]),
        inst(Op::v_mbcnt_lo_u32_b32, v(1), &[s(0), Operand::Int(7)]),
        inst(Op::v_mbcnt_hi_u32_b32, v(1), &[s(1), v(1)]),
    ];
    let w = machine(&code, DEFAULT_MODE, &|w| w.set_slot64(0, mask));
    for lane in 0..LANES {
        assert_eq!(w.row(0)[lane], lane as u32);
        assert_eq!(w.row(1)[lane], 7 + (mask & ((1_u64 << lane) - 1)).count_ones());
    }
}

#[test]
fn selection_swap_and_pair_moves() {
    let mask = 0x00ff_1234_8000_0001_u64;
    let mods = Mods { op_sel: 1, op_sel_hi: 7, ..Mods::default() };
    let code = [
        inst(Op::v_cndmask_b32, v(0), &[v(1), v(2), VCC]),
        modified(
            Op::v_cndmask_b32,
            v(3),
            &[Operand::Int(0), Operand::Float(crate::isa::InlineFloat::One), s(20)],
            Mods::default(),
        ),
        modified(Op::v_cndmask_b32, v(4), &[v(1), v(2), VCC], Mods { neg: 2, ..Mods::default() }),
        inst(Op::v_swap_b32, v(1), &[v(2)]),
        // Low half from the first source's high register, high half from the second one's low register.
        inst(Op::v_pk_mov_b32, v(6), &[v(0), v(2)]),
        modified(Op::v_pk_mov_b32, v(8), &[v(0), s(30)], mods),
        inst(Op::v_accvgpr_write_b32, Operand::Agpr(3), &[v(3)]),
        inst(Op::v_accvgpr_read_b32, v(10), &[Operand::Agpr(3)]),
    ];
    let w = machine(&code, DEFAULT_MODE, &|w| {
        numbered(w);
        w.set_slot64(super::super::slot::VCC, mask);
        w.set_slot64(20, !mask);
        w.set_slot64(30, 0xaaaa_bbbb_cccc_dddd);
    });
    for lane in 0..LANES {
        let (a, b, set) = (100 + lane as u32, 0x8000_0000 | lane as u32, mask >> lane & 1 == 1);
        assert_eq!(w.row(0)[lane], if set { b } else { a });
        assert_eq!(w.row(3)[lane], if set { 0 } else { 0x3f80_0000 });
        assert_eq!(w.row(4)[lane], if set { b ^ 0x8000_0000 } else { a });
        assert_eq!((w.row(1)[lane], w.row(2)[lane]), (b, a));
        assert_eq!((w.row(6)[lane], w.row(7)[lane]), (w.row(0)[lane], a));
        assert_eq!((w.row(8)[lane], w.row(9)[lane]), (b, 0xcccc_dddd));
        assert_eq!(w.row(10)[lane], w.row(3)[lane]);
    }
}

#[test]
fn registers_by_index() {
    let on = |mode| inst(Op::s_set_gpr_idx_on, Operand::None, &[s(0), imm(mode)]);
    let off = inst(Op::s_set_gpr_idx_off, Operand::None, &[]);
    let mov = |d, source| inst(Op::v_mov_b32, v(d), &[source]);
    // v10 = v[4 + 3]; v[20 + 3] = s5.
    let code = [on(1), mov(10, v(4)), off, on(8), mov(20, s(5)), off, mov(11, v(4))];
    let rsrc1 = DEFAULT_MODE | 3;
    let w = machine(&code, rsrc1, &|w| {
        for register in 0..30 {
            w.row_mut(register).fill(1000 + u32::from(register));
        }
        w.set_slot(0, 3);
        w.set_slot(5, 77);
    });
    assert_eq!((w.row(10)[9], w.row(23)[9], w.row(20)[9], w.row(11)[9]), (1007, 77, 1020, 1004));
}

/// The index mode assumed during lowering holds from the first instruction to the last.
#[test]
fn indexing_that_is_jumped_into_or_out_of_traps() {
    let on = inst(Op::s_set_gpr_idx_on, Operand::None, &[s(0), imm(1)]);
    let off = inst(Op::s_set_gpr_idx_off, Operand::None, &[]);
    let copy = inst(Op::v_mov_b32, v(9), &[v(0)]);
    let why = |code: &[Inst]| match trap(code, DEFAULT_MODE, &|w| w.set_slot64(4, 0x1000)) {
        Trap::Unsupported(why) => why,
        other => panic!("{other:?}"),
    };
    // Two words an instruction: over the one that switches it on, to the copy.
    let branch = inst(Op::s_branch, Operand::None, &[imm(3)]);
    assert!(why(&[branch, on, copy, off]).contains("jump into"));
    // The mode, written to m0 by hand.
    let other_mode = inst(Op::s_mov_b32, Operand::Special(Special::M0), &[Operand::Literal(0x2000)]);
    assert!(why(&[on, other_mode, copy, off]).contains("m0"));
    for leave in [
        inst(Op::s_branch, Operand::None, &[imm(0)]),
        inst(Op::s_setpc_b64, Operand::None, &[s(4)]),
        inst(Op::s_swappc_b64, s(6), &[s(4)]),
        inst(Op::s_call_b64, s(6), &[imm(0)]),
    ] {
        assert!(matches!(trap(&[on, leave, off], DEFAULT_MODE, &|_| {}), Trap::Unsupported(_)), "{leave:?}");
    }
    // In its place it runs, and MODE tells of it until it is off.
    let read = |to| inst(Op::s_getreg_b32, s(to), &[imm(31 << 11 | 1)]);
    let w = machine(&[on, read(10), copy, off, read(11)], DEFAULT_MODE, &|w| w.set_slot(0, 1));
    assert_eq!((w.slot(10) >> 27 & 1, w.slot(11) >> 27 & 1), (1, 0));
}
