//! The registers that must be cleared before a workgroup: those that may be read before they are written.

use super::*;
use crate::exec::layout::{Clear, Layout};
use crate::exec::liveness::clear;

const LAYOUT: Layout = Layout { vgprs: 64, agprs: 64, constants: 0 };

/// The registers to clear for an instruction sequence, entered at the first.
fn cleared(code: &[Inst]) -> Option<Clear> {
    let mut map = BTreeMap::new();
    let mut at = 0;
    for inst in code.iter().copied().chain([inst(Op::s_endpgm, Operand::None, &[imm(0)])]) {
        map.insert(at, Some(inst));
        at += u32::from(inst.size) / 4;
    }
    clear(&map, 0, &LAYOUT)
}

/// The rows to clear where all lanes are enabled at the start.
fn whole(code: &[Inst]) -> Vec<u16> {
    cleared(code).expect("the code can be followed").whole
}

fn mov(to: u16, from: Operand) -> Inst {
    inst(Op::v_mov_b32, v(to), &[from])
}

fn add(to: u16, a: u16, b: u16) -> Inst {
    inst(Op::v_add_u32, v(to), &[v(a), v(b)])
}

/// A branch over `words` words (every instruction here has two).
fn branch(op: Op, words: i32) -> Inst {
    inst(op, Operand::None, &[imm(words)])
}

fn and_exec() -> Inst {
    inst(Op::s_and_saveexec_b64, s(0), &[VCC])
}

fn all_exec() -> Inst {
    inst(Op::s_mov_b64, Operand::Special(Special::ExecLo), &[Operand::Int(-1)])
}

#[test]
fn straight_code() {
    assert_eq!(whole(&[mov(3, Operand::Int(1)), add(4, 3, 3)]), [0; 0]);
    // v0 has the work-item ids.
    assert_eq!(whole(&[add(4, 0, 0)]), [0; 0]);
    // Read before it is written, and written somewhere: a register that is never written is zero anyway.
    assert_eq!(whole(&[add(4, 3, 3), mov(3, Operand::Int(1))]), [3]);
    assert_eq!(whole(&[add(4, 3, 3)]), [0; 0]);
    assert_eq!(whole(&[add(3, 3, 0)]), [3]);
    // Pairs and quadruples.
    let wide = inst(Op::v_add_f64, v(6), &[v(2), v(4)]);
    assert_eq!(whole(&[mov(2, Operand::Int(1)), wide, mov(3, Operand::Int(1)), mov(5, Operand::Int(0))]), [3, 5]);
    let load = inst(Op::global_load_dwordx4, v(8), &[v(0), Operand::None, s(2)]);
    assert_eq!(whole(&[load, add(5, 8, 11)]), [0; 0]);
    assert_eq!(whole(&[load, add(5, 8, 12), mov(12, Operand::Int(0))]), [12]);
}

#[test]
fn what_writes_a_part_reads_the_rest() {
    let use_of = |first: Inst| whole(&[first, add(9, 5, 5)]);
    let plain = inst(Op::v_mov_b32, v(5), &[v(0)]);
    assert_eq!(use_of(plain), [0; 0]);
    let sdwa = |dst_sel| Inst {
        format: Format::Sdwa,
        mods: Mods { sdwa: Some(crate::isa::Sdwa { dst_sel, ..Default::default() }), ..plain.mods },
        ..plain
    };
    assert_eq!(use_of(sdwa(crate::isa::SdwaSel::Word0)), [5]);
    assert_eq!(use_of(sdwa(crate::isa::SdwaSel::Dword)), [0; 0]);
    let dpp = Inst {
        format: Format::Dpp,
        mods: Mods { dpp: Some(crate::isa::Dpp { row_mask: 15, bank_mask: 15, ..Default::default() }), ..plain.mods },
        ..plain
    };
    assert_eq!(use_of(dpp), [5], "lanes without a source keep what they have");
    assert_eq!(use_of(inst(Op::v_mac_f32, v(5), &[v(0), v(0)])), [5], "it adds to what is there");
    assert_eq!(use_of(inst(Op::v_fma_mixhi_f16, v(5), &[v(0), v(0), v(0)])), [5]);
    assert_eq!(use_of(inst(Op::ds_read_u16_d16, v(5), &[v(0)])), [5]);
    assert_eq!(use_of(inst(Op::ds_read_u16, v(5), &[v(0)])), [0; 0]);
    assert_eq!(use_of(inst(Op::v_writelane_b32, v(5), &[s(0), s(1)])), [5], "one lane of 64");
    let image = Some(crate::isa::Image { dmask: 1, ..Default::default() });
    let load = inst(Op::image_load, v(5), &[v(0), Operand::None, s(8)]);
    assert_eq!(use_of(Inst { mods: Mods { image, ..load.mods }, ..load }), [1, 2, 3, 5, 6, 7, 8][3..].to_vec());
}

#[test]
fn an_image_reads_up_to_four_registers_of_address() {
    let image = Some(crate::isa::Image { dmask: 1, ..Default::default() });
    let load = inst(Op::image_load, v(20), &[v(10), Operand::None, s(8)]);
    let code: Vec<Inst> = [Inst { mods: Mods { image, ..load.mods }, ..load }]
        .into_iter()
        .chain((10..15).map(|n| mov(n, Operand::Int(1))))
        .collect();
    let found = whole(&code);
    assert!([10, 11, 12, 13].iter().all(|n| found.contains(n)) && !found.contains(&14), "{found:?}");
}

#[test]
fn paths_that_meet_know_what_all_of_them_know() {
    let scc = |words| branch(Op::s_cbranch_scc0, words);
    let jump = |words| branch(Op::s_branch, words);
    // Sizes are in words: an instruction here has two, and an offset counts from the next word.
    let both = [scc(5), mov(1, Operand::Int(1)), jump(3), mov(1, Operand::Int(2)), add(2, 1, 1)];
    assert_eq!(whole(&both), [0; 0]);
    let one = [scc(3), mov(1, Operand::Int(1)), add(2, 1, 1)];
    assert_eq!(whole(&one), [1]);
    // A loop that reads what its end writes.
    let back = [add(2, 1, 1), mov(1, Operand::Int(1)), scc(-5)];
    assert_eq!(whole(&back), [1]);
    // And one that writes first.
    let first = [mov(1, Operand::Int(1)), add(2, 1, 1), scc(-5)];
    assert_eq!(whole(&first), [0; 0]);
}

#[test]
fn lanes_that_are_enabled_again_have_what_they_had() {
    // Written and read by some lanes: no problem. Read by all: not covered.
    assert_eq!(whole(&[and_exec(), mov(1, Operand::Int(1)), add(2, 1, 1)]), [0; 0]);
    assert_eq!(whole(&[and_exec(), mov(1, Operand::Int(1)), all_exec(), add(2, 1, 1)]), [1]);
    // Written by all lanes before some were disabled.
    assert_eq!(whole(&[mov(1, Operand::Int(1)), and_exec(), all_exec(), add(2, 1, 1)]), [0; 0]);
    // A cross-lane read includes disabled lanes.
    let across = inst(Op::v_readfirstlane_b32, s(4), &[v(1)]);
    assert_eq!(whole(&[mov(1, Operand::Int(1)), across]), [0; 0]);
    assert_eq!(whole(&[and_exec(), mov(1, Operand::Int(1)), across]), [1]);
    // A compare that also writes EXEC.
    let narrows = inst(Op::v_cmpx_eq_u32, VCC, &[v(0), v(0)]);
    assert_eq!(whole(&[narrows, mov(1, Operand::Int(1)), all_exec(), add(2, 1, 1)]), [1]);
}

#[test]
fn accumulation_registers_have_rows_of_their_own() {
    let a = Operand::Agpr;
    let write = |n, from| inst(Op::v_accvgpr_write_b32, a(n), &[from]);
    let read = |n| inst(Op::v_accvgpr_read_b32, v(1), &[a(n)]);
    assert_eq!(whole(&[write(3, v(0)), read(3)]), [0; 0]);
    assert_eq!(whole(&[read(3), write(3, v(0))]), [LAYOUT.agpr(3)]);
}

#[test]
fn with_lanes_missing_everything_that_is_written_is_cleared() {
    let code = [mov(3, Operand::Int(1)), inst(Op::v_add_f64, v(6), &[v(2), v(4)])];
    assert_eq!(cleared(&code).expect("it can be followed").partial, [0, 3, 6, 7]);
}

#[test]
fn what_cannot_be_followed_clears_everything() {
    let jumps = [
        inst(Op::s_setpc_b64, Operand::None, &[s(0)]),
        inst(Op::s_swappc_b64, s(0), &[s(2)]),
        branch(Op::s_call_b64, 0),
        inst(Op::s_set_gpr_idx_on, Operand::None, &[s(0), imm(1)]),
        inst(Op::s_cbranch_join, Operand::None, &[s(0)]),
        inst(Op::s_setvskip, Operand::None, &[s(0), s(1)]),
    ];
    for jump in jumps {
        assert_eq!(cleared(&[mov(3, Operand::Int(1)), jump]), None, "{}", jump.op);
    }
    let long = vec![add(3, 3, 3); 20_001];
    assert_eq!(cleared(&long), None);
}

/// The effect of the analysis is never visible: random code gives the same results with cleared registers and with
/// registers that contain the last workgroup's values.
#[test]
fn random_code_does_not_see_the_last_workgroup() {
    let mut random = Random::new(530);
    for _ in 0..300 {
        let pick = |random: &mut Random| (random.next() % 8) as u16;
        let mut code = Vec::new();
        for _ in 0..24 {
            let (to, x, y) = (pick(&mut random), v(pick(&mut random)), v(pick(&mut random)));
            code.push(match random.next() % 10 {
                0 => inst(Op::v_mov_b32, v(to), &[Operand::Int(random.next() as i8 % 16)]),
                1 => inst(Op::v_add_u32, v(to), &[x, y]),
                2 => inst(Op::v_xor_b32, v(to), &[x, y]),
                3 => inst(Op::v_cmp_gt_u32, VCC, &[x, y]),
                4 => and_exec(),
                5 => all_exec(),
                6 => inst(Op::v_lshlrev_b64, v(to & !1), &[x, v(2)]),
                7 => inst(Op::v_readfirstlane_b32, s(4), &[x]),
                8 => inst(Op::ds_bpermute_b32, v(to), &[x, y]),
                // Over the next one.
                _ => branch(Op::s_cbranch_vccz, 3),
            });
        }
        let mut map = BTreeMap::new();
        let mut at = 0;
        for inst in code.iter().copied().chain([inst(Op::s_endpgm, Operand::None, &[imm(0)]); 2]) {
            map.insert(at, Some(inst));
            at += u32::from(inst.size) / 4;
        }
        let program = Program::assemble(&map, &vec![0; at as usize], 0x1000, 0, DEFAULT_MODE, false);
        assert!(program.clear.is_some());
        let outcome = |dirty: bool, exec: u64| {
            let mut wave = Wave::new(&program);
            wave.reset(&program);
            wave.set_exec(exec);
            wave.row_mut(0).iter_mut().enumerate().for_each(|(i, lane)| *lane = i as u32);
            let start = wave.start();
            if dirty {
                // Only registers that the code writes can contain old values.
                let left = clear(&map, 0, program.layout()).expect("it can be followed").partial;
                left.iter().for_each(|row| wave.row_mut(*row).fill(0xdead_beef));
            }
            wave.restart(&program, &start);
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
            let mut seen = Vec::new();
            let mut ctx = Ctx { root: &program, program: &program, lds: &mut [], env };
            // The scalars that lanes were read into, and VCC, after every instruction.
            while super::super::run_exactly(&mut wave, &mut ctx, 1) == Stop::Yield {
                seen.push((wave.pc, wave.slot(4), wave.vcc() & wave.exec(), wave.exec()));
            }
            seen
        };
        for exec in [u64::MAX, 0xffff_ffff] {
            assert_eq!(outcome(false, exec), outcome(true, exec), "{code:?}");
        }
    }
}
