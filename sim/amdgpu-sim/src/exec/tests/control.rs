//! Branches, calls, ends, traps.

use super::*;
use crate::exec::{WHOLE, mem};

fn branch(op: Op, words: i32) -> Inst {
    Inst { size: 4, ..inst(op, Operand::None, &[imm(words)]) }
}

fn mov(d: u16, n: i8) -> Inst {
    Inst { size: 4, ..inst(Op::s_mov_b32, s(d), &[Operand::Int(n)]) }
}

#[test]
fn conditional_branches() {
    let vcc = super::super::slot::VCC;
    type SetUp = fn(&mut Wave, bool, u16);
    let cases: [(Op, Op, SetUp); 3] = [
        (Op::s_cbranch_scc1, Op::s_cbranch_scc0, |w, yes, _| w.set_scc(yes)),
        (Op::s_cbranch_vccnz, Op::s_cbranch_vccz, |w, yes, vcc| w.set_slot64(vcc, u64::from(yes) << 40)),
        (Op::s_cbranch_execnz, Op::s_cbranch_execz, |w, yes, _| w.set_exec(u64::from(yes) << 63)),
    ];
    for (when, unless, set_up) in cases {
        for yes in [false, true] {
            let taken = |op| machine(&[branch(op, 1), mov(0, 1)], DEFAULT_MODE, &|w| set_up(w, yes, vcc)).slot(0) == 0;
            assert_eq!((taken(when), taken(unless)), (yes, !yes), "{when} {unless}");
        }
    }
}

#[test]
fn loops_count() {
    // s0 = 10 + 9 + ... + 1
    let size4 = |i: Inst| Inst { size: 4, ..i };
    let code = [
        mov(1, 10),
        size4(inst(Op::s_add_u32, s(0), &[s(0), s(1)])),
        size4(inst(Op::s_add_i32, s(1), &[s(1), Operand::Int(-1)])),
        size4(inst(Op::s_cmp_lg_u32, Operand::None, &[s(1), Operand::Int(0)])),
        branch(Op::s_cbranch_scc1, -4),
    ];
    assert_eq!(machine(&code, DEFAULT_MODE, &|_| ()).slot(0), 55);
}

#[test]
fn calls_return_and_wild_jumps_trap() {
    let size4 = |i: Inst| Inst { size: 4, ..i };
    let getpc = size4(inst(Op::s_getpc_b64, s(4), &[]));
    let add = size4(inst(Op::s_add_u32, s(4), &[s(4), Operand::Int(16)]));
    let swap = size4(inst(Op::s_swappc_b64, s(30), &[s(4)]));
    let back = size4(inst(Op::s_setpc_b64, Operand::None, &[s(30)]));
    // 0 getpc, 1 add, 2 swappc (to 5), 3 s1 = s0 + 0, 4 branch to the end, 5 s0 = 7, 6 return.
    let copy = size4(inst(Op::s_mov_b32, s(1), &[s(0)]));
    let code = [getpc, add, swap, copy, branch(Op::s_branch, 2), mov(0, 7), back];
    let w = machine(&code, DEFAULT_MODE, &|_| ());
    assert_eq!((w.slot(0), w.slot(1)), (7, 7));
    assert_eq!((w.slot64(4), w.slot64(30)), (0x1000 + 20, 0x1000 + 12));
    let call = size4(inst(Op::s_call_b64, s(30), &[imm(2)]));
    let w = machine(&[call, copy, branch(Op::s_branch, 2), mov(0, 7), back], DEFAULT_MODE, &|_| ());
    assert_eq!((w.slot(1), w.slot64(30)), (7, 0x1004));
    assert_eq!(trap(&[back], DEFAULT_MODE, &|w| w.set_slot64(30, 0x4000)), Trap::WildJump(0x4000));
    assert_eq!(trap(&[back], DEFAULT_MODE, &|w| w.set_slot64(30, 0x1002)), Trap::WildJump(0x1002));
    assert!(matches!(trap(&[branch(Op::s_branch, 1000)], DEFAULT_MODE, &|_| ()), Trap::WildJump(_)));
    assert_eq!(trap(&[branch(Op::s_trap, 2)], DEFAULT_MODE, &|_| ()), Trap::Trap(2));
}

#[test]
fn flags_as_operands() {
    let source = |x| Operand::Special(x);
    let code = [
        inst(Op::s_mov_b32, s(0), &[source(Special::Scc)]),
        inst(Op::s_mov_b32, s(1), &[source(Special::Vccz)]),
        inst(Op::s_mov_b32, s(2), &[source(Special::Execz)]),
        inst(Op::v_mov_b32, v(0), &[source(Special::Scc)]),
    ];
    let w = machine(&code, DEFAULT_MODE, &|w| w.set_scc(true));
    assert_eq!(([0, 1, 2].map(|i| w.slot(i)), w.row(0)[1]), ([1, 1, 0], 1));
}

/// Runs a program in a wave of its own, all lanes enabled.
fn run_to_end(program: &Program) -> (Wave, Stop) {
    let mut wave = Wave::new(program);
    wave.reset(program);
    wave.set_exec(u64::MAX);
    let mut view = View::new(Arc::new(Memory::new(Vec::new())), Agent::default(), 0..0);
    // SAFETY: there are no bytes that must be valid.
    let scratch = unsafe { Scratch::new(0, 0, 0) };
    let env = Env {
        view: &mut view,
        scratch,
        misaligned: Misaligned::default(),
        beyond_lds: crate::BeyondLds::default(),
        sramecc: false,
        start: Instant::now(),
        outside: &Outside::default(),
        seat: crate::units::Seat::FIRST,
    };
    let stop = run(&mut wave, &mut Ctx { root: program, program, lds: &mut [], env }, 100);
    (wave, stop)
}

/// In large code only called functions are lowered, with the same results as when all code is.
#[test]
fn called_code_is_lowered_when_it_is_called() {
    const FAR: usize = 1 << 19;
    let (function, other) = (0x2000 + 4 * FAR as u32, 0x2000 + 8 * FAR as u32);
    let mut text = vec![0xffff_ffff; 2 * FAR + 64];
    let mut put = |at: usize, words: &[u32]| text[at..at + words.len()].copy_from_slice(words);
    // s_mov_b32 s0, function; s_mov_b32 s1, 0; s_swappc_b64 s[30:31], s[0:1]; then behind it: v_add_u32 v1, 0x1111, v0; s_endpgm
    put(0, &[0xbe80_00ff, function, 0xbe81_0080, 0xbe9e_1e00, 0x6802_00ff, 0x1111, 0xbf81_0000]);
    // v_mov_b32 v0, 0x2222; s_mov_b32 s4, other; s_mov_b32 s5, 0; s_swappc_b64 s[28:29], s[4:5]; s_setpc_b64 s[30:31]
    put(FAR, &[0x7e00_02ff, 0x2222, 0xbe84_00ff, other, 0xbe85_0080, 0xbe9c_1e04, 0xbe80_1d1e]);
    // v_add_u32 v0, 0x3333, v0; s_setpc_b64 s[28:29]
    put(2 * FAR, &[0x6800_00ff, 0x3333, 0xbe80_1d1c]);
    for (whole, in_parts) in [(WHOLE, true), (usize::MAX, false)] {
        let program = Program::lower(&text, 0x2000, 0x2000, DEFAULT_MODE, crate::isa::Arch::Gfx90a, whole).unwrap();
        assert_eq!(program.parts.is_some(), in_parts);
        assert_eq!(program.micros().len() < 20, in_parts);
        for _ in 0..2 {
            let (wave, stop) = run_to_end(&program);
            assert_eq!((stop, wave.trap.clone()), (Stop::End, None));
            let (v0, v1) = (wave.row(program.layout().vgpr(0))[63], wave.row(program.layout().vgpr(1))[63]);
            assert_eq!((v0, v1), (0x5555, 0x6666), "in parts: {in_parts}");
        }
    }
    // A wild jump is detected, however the code is lowered.
    text[1] = 0x1000;
    let program = Program::lower(&text, 0x2000, 0x2000, DEFAULT_MODE, crate::isa::Arch::Gfx90a, WHOLE).unwrap();
    assert_eq!(run_to_end(&program).1, Stop::Trap);
}

/// Real machine code: data words, unreachable code, an unsupported instruction.
#[test]
fn undecodable_words_trap_only_when_reached() {
    let end = 0xbf81_0000;
    let skip = 0xbf82_0001; // s_branch over one word
    let nothing = 0xffff_ffff;
    let arch = crate::isa::Arch::Gfx90a;
    let lower =
        |text: &[u32]| Program::lower(text, 0x2000, 0x2000, DEFAULT_MODE, arch, WHOLE).expect("the entry is inside");
    let finish = |program: Program| {
        let (wave, stop) = run_to_end(&program);
        (stop, wave.trap)
    };
    assert_eq!(finish(lower(&[skip, nothing, end])), (Stop::End, None));
    assert_eq!(finish(lower(&[0xbf80_0000, nothing, end])), (Stop::Trap, Some(Trap::Undecodable(nothing))));
    assert!(matches!(finish(lower(&[0xbf80_0000])), (Stop::Trap, Some(Trap::WildJump(_)))), "ran off the end");
    assert!(Program::lower(&[end], 0x2000, 0x2004, DEFAULT_MODE, arch, WHOLE).is_err());
    assert!(Program::lower(&[end], 0x2000, 0x1ffc, DEFAULT_MODE, arch, WHOLE).is_err());
}

/// For a kernel in large code, only its own code is stored. Jump targets are checked against the whole text.
#[test]
fn a_kernel_in_much_code_keeps_little() {
    const BEFORE: usize = 100_000;
    let (base, arch) = (0x2000, crate::isa::Arch::Gfx90a);
    let mut text = vec![0xbf80_0000; 2 * BEFORE];
    // s_cbranch_scc1 over what follows; v_mov_b32 v0, 0x2222; s_endpgm
    text[BEFORE..BEFORE + 4].copy_from_slice(&[0xbf85_0002, 0x7e00_02ff, 0x2222, 0xbf81_0000]);
    let lower = |text: &[u32], at: usize| {
        Program::lower(text, base, base + 4 * at as u64, DEFAULT_MODE, arch, WHOLE).expect("the entry is inside")
    };
    let program = lower(&text, BEFORE);
    assert_eq!(program.index.len(), 4);
    let (wave, stop) = run_to_end(&program);
    assert_eq!((stop, wave.row(program.layout().vgpr(0))[63]), (Stop::End, 0x2222));
    assert_eq!(program.at(base + 4 * BEFORE as u64), Some(program.entry()));
    assert_eq!(program.at(base + 4 * (BEFORE as u64 + 4)), None);
    // s_branch to far behind the text.
    text[BEFORE] = 0xbf82_7fff;
    text.truncate(BEFORE + 4);
    let (wave, stop) = run_to_end(&lower(&text, BEFORE));
    let beyond = base + 4 * text.len() as u64;
    assert_eq!((stop, wave.trap), (Stop::Trap, Some(Trap::WildJump(beyond))));
}

#[test]
fn apertures_are_read_as_old_compilers_do() {
    // s_getreg_b32 hwreg(HW_REG_SH_MEM_BASES, offset, 16), then a shift to the high half of a base.
    let read = |dst, offset: i32| inst(Op::s_getreg_b32, s(dst), &[imm(15 | offset << 6 | 15 << 11)]);
    let shift = |n| inst(Op::s_lshl_b32, s(n), &[s(n), Operand::Int(16)]);
    let w = machine(&[read(0, 16), shift(0), read(1, 0), shift(1)], DEFAULT_MODE, &|_| ());
    let high = |base: u64| (base >> 32) as u32;
    assert_eq!((w.slot(0), w.slot(1)), (high(mem::SHARED_BASE), high(mem::PRIVATE_BASE)));
}
