//! Rows held as runs: random programs give the same registers, memory and faults as in single-step execution, where
//! nothing is held. They contain many operations that make runs, and every kind of instruction that reads lanes.

use super::super::affine::{HOLD_ALL, Held, Run};
use super::super::run_exactly;
use super::*;
use crate::isa::inst::{Dpp, Sdwa, SdwaSel, SdwaUnused};
use crate::memory::AllocKind;

/// The number of programs, and the approximate number of instruction groups of each.
const PROGRAMS: u64 = 12_000;
const GROUPS: u64 = 24;
/// The number of instructions after which a program is considered an endless loop.
const MOST_INSTRUCTIONS: u64 = 1000;
/// Bytes of device memory.
const SIZE: usize = 1 << 13;
/// Registers that programs use.
const REGISTERS: u64 = 8;
/// The register with the address of device memory, and the loop counter.
const BASE: u16 = 8;
const COUNTER: u16 = 20;

struct Writer {
    random: Random,
    code: Vec<Inst>,
    /// Branches, and how many instructions they skip (or go back).
    branches: Vec<(usize, i64)>,
}

impl Writer {
    fn below(&mut self, n: u64) -> u64 {
        (self.random.next() >> 20) % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    fn register(&mut self) -> Operand {
        v(self.below(REGISTERS) as u16)
    }

    /// The first of two registers.
    fn pair(&mut self) -> u16 {
        2 * self.below(REGISTERS / 2) as u16
    }

    fn pair_or_base(&mut self) -> Operand {
        if self.below(2) == 0 { s(BASE) } else { v(self.pair()) }
    }

    fn scalar(&mut self) -> Operand {
        match self.below(4) {
            0 if self.below(8) == 0 => Operand::Special(Special::Vccz),
            0 => Operand::Int(self.below(20) as i8 - 4),
            1 => Operand::Literal(self.pick(&[0x3f, 0xff, 0x3ff, 0xffff_fff0, 0x1_0000, 0x7fff_fff8])),
            _ => s(self.below(6) as u16),
        }
    }

    fn any(&mut self) -> Operand {
        if self.below(2) == 0 { self.register() } else { self.scalar() }
    }

    fn push(&mut self, op: Op, dst: Operand, sources: &[Operand]) {
        self.code.push(inst(op, dst, sources));
    }

    fn sum(&mut self, to: [Operand; 2], a: [Operand; 2], b: [Operand; 2]) {
        let high = if matches!(a[1], Operand::Vgpr(_)) {
            a[1]
        } else {
            self.push(Op::v_mov_b32, to[1], &[a[1]]);
            to[1]
        };
        self.code.push(Inst { dst2: VCC, ..inst(Op::v_add_co_u32, to[0], &[a[0], b[0]]) });
        self.code.push(Inst { dst2: VCC, ..inst(Op::v_addc_co_u32, to[1], &[high, b[1], VCC]) });
    }

    /// An access to device memory at a register's value, masked to the available size.
    fn global(&mut self) {
        let (index, at, data) = (self.register(), self.pair(), self.register());
        let shift = self.pick(&[2, 2, 2, 3, 4]);
        let size = Mods { offset: self.pick(&[0, 0, 4, 16, -4]), ..Mods::default() };
        if self.below(8) > 0 {
            self.push(Op::v_and_b32, v(at), &[Operand::Literal(0xff), index]);
        } else {
            self.push(Op::v_mov_b32, v(at), &[index]);
        }
        let (address, base) = if self.below(3) == 0 {
            self.push(Op::v_lshlrev_b32, v(at), &[Operand::Int(shift), v(at)]);
            (v(at), s(BASE))
        } else {
            let wide = self.pair();
            self.push(Op::v_mov_b32, v(at + 1), &[Operand::Int(0)]);
            self.push(Op::v_lshlrev_b64, v(wide), &[Operand::Int(shift), v(at)]);
            let to = self.pair();
            self.sum([v(to), v(to + 1)], [s(BASE), s(BASE + 1)], [v(wide), v(wide + 1)]);
            (v(to), Operand::None)
        };
        let loads = [Op::global_load_dword, Op::global_load_dwordx2, Op::global_load_ubyte, Op::global_load_short_d16];
        let stores = [Op::global_store_dword, Op::global_store_dwordx2, Op::global_store_short];
        let access = if self.below(2) == 0 {
            inst(self.pick(&loads), data, &[address, Operand::None, base])
        } else if self.below(4) == 0 {
            let add = inst(Op::global_atomic_add, Operand::None, &[address, data, base]);
            let returns = Inst { dst: self.register(), mods: Mods { glc: true, ..size }, ..add };
            let chosen = if self.below(2) == 0 { returns } else { Inst { mods: size, ..add } };
            self.code.push(chosen);
            return;
        } else {
            inst(self.pick(&stores), Operand::None, &[address, data, base])
        };
        self.code.push(Inst { mods: size, ..access });
    }

    /// An LDS access at a register's value, masked to the available size.
    fn local(&mut self) {
        let (index, at, data) = (self.register(), self.register(), self.register());
        self.push(Op::v_and_b32, at, &[Operand::Int(60), index]);
        for _ in 0..2 {
            let offset = Mods { offset: 4 * self.below(4) as i32, offset1: 3, ..Mods::default() };
            let op = self.pick(&[Op::ds_read_b32, Op::ds_read2_b32, Op::ds_read_b64, Op::ds_write_b32, Op::ds_add_u32]);
            let (dst, data) =
                if op.mnemonic().contains("read") { (data, Operand::None) } else { (Operand::None, data) };
            self.code.push(Inst { mods: offset, ..inst(op, dst, &[at, data]) });
        }
    }

    /// An instruction that reads or writes individual lanes, or across lanes.
    fn lanes(&mut self) {
        let (dst, a, b) = (self.register(), self.register(), self.register());
        let lane = Operand::Int(self.below(64) as i8);
        match self.below(11) {
            0 => self.push(Op::v_readlane_b32, s(5), &[a, lane]),
            1 => self.push(Op::v_readfirstlane_b32, s(4), &[a]),
            2 => self.push(Op::v_writelane_b32, dst, &[s(3), lane]),
            3 => self.push(Op::v_swap_b32, dst, &[a]),
            4 => self.push(Op::v_xor_b32, dst, &[a, b]),
            5 => self.push(Op::v_fmac_f32, dst, &[a, b]),
            6 => {
                let dpp = Dpp {
                    ctrl: self.pick(&[0x1b, 0x111, 0x138, 0x142]),
                    row_mask: 15,
                    bank_mask: 7,
                    bound_ctrl: false,
                };
                let moved = inst(Op::v_mov_b32, dst, &[a]);
                self.code.push(Inst { format: Format::Dpp, mods: Mods { dpp: Some(dpp), ..Mods::default() }, ..moved });
            }
            7 => {
                let sdwa = Sdwa {
                    dst_sel: SdwaSel::Word1,
                    dst_unused: SdwaUnused::Preserve,
                    src_sel: [SdwaSel::Byte1, SdwaSel::Word0],
                    sext: [false; 2],
                };
                let sum = inst(Op::v_add_u32, dst, &[a, b]);
                self.code.push(Inst {
                    format: Format::Sdwa,
                    mods: Mods { sdwa: Some(sdwa), ..Mods::default() },
                    ..sum
                });
            }
            8 => self.push(Op::v_cndmask_b32, dst, &[a, b, VCC]),
            9 => self.push(Op::v_mfma_i32_4x4x4i8, v(0), &[a, b, v(4)]),
            _ => self.push(Op::ds_bpermute_b32, dst, &[a, b]),
        }
    }

    fn arithmetic(&mut self) {
        let (dst, a, b, c) = (self.register(), self.any(), self.register(), self.any());
        let by = Operand::Int(self.below(8) as i8);
        let (wide, pair) = (self.pair(), self.pair());
        match self.below(16) {
            14 => {
                let other = self.pair_or_base();
                self.push(Op::v_lshl_add_u64, v(wide), &[v(pair), by, other]);
            }
            15 => {
                // Both halves may be runs.
                let high = self.register();
                self.push(Op::v_mov_b32, v(pair + 1), &[high]);
                self.push(Op::v_lshlrev_b64, v(wide), &[by, v(pair)]);
            }
            0 => self.push(Op::v_mov_b32, dst, &[a]),
            1 | 2 => self.push(Op::v_add_u32, dst, &[a, b]),
            3 => self.push(Op::v_sub_u32, dst, &[a, b]),
            4 => self.push(Op::v_subrev_u32, dst, &[a, b]),
            5 => self.push(Op::v_lshlrev_b32, dst, &[by, b]),
            6 => self.push(Op::v_lshl_add_u32, dst, &[a, by, b]),
            7 => self.push(Op::v_add_lshl_u32, dst, &[a, b, by]),
            8 => self.push(Op::v_add3_u32, dst, &[a, b, c]),
            9 => self.push(Op::v_lshl_or_b32, dst, &[a, by, b]),
            10 => self.push(Op::v_or_b32, dst, &[a, b]),
            11 => self.push(Op::v_bfe_u32, dst, &[b, by, Operand::Int(10)]),
            12 => self.push(Op::v_ashrrev_i32, dst, &[Operand::Int(31), b]),
            _ => self.push(Op::v_mul_lo_u32, dst, &[a, b]),
        }
    }

    fn compare(&mut self) {
        let relations = [
            Op::v_cmp_lt_u32,
            Op::v_cmp_le_u32,
            Op::v_cmp_gt_u32,
            Op::v_cmp_ge_u32,
            Op::v_cmp_eq_u32,
            Op::v_cmp_ne_u32,
            Op::v_cmp_lt_i32,
            Op::v_cmp_le_i32,
            Op::v_cmp_gt_i32,
            Op::v_cmp_ge_i32,
            Op::v_cmp_eq_i32,
            Op::v_cmpx_lt_u32,
        ];
        let (op, a, b) = (self.pick(&relations), self.any(), self.register());
        let operands = if self.below(2) == 0 { [a, b] } else { [b, a] };
        if self.below(4) == 0 && op != Op::v_cmpx_lt_u32 {
            // Disabled lanes are zero, whatever the destination.
            let plain = inst(op, s(14), &operands);
            self.code.push(Inst { format: Format::Vop3, ..plain });
        } else {
            self.push(op, VCC, &operands);
        }
    }

    fn group(&mut self) {
        let exec = Operand::Special(Special::ExecLo);
        match self.below(20) {
            0..5 => self.arithmetic(),
            5..9 => self.global(),
            9 => self.local(),
            10..13 => self.lanes(),
            13 => {
                let [a, b, c] = [(); 3].map(|()| self.below(REGISTERS) as u16);
                let low = self.any();
                self.sum([v(a), v(a + 1)], [low, s(2)], [v(b), v(c)]);
            }
            14 => self.compare(),
            15 => {
                self.compare();
                self.push(Op::s_and_saveexec_b64, s(12), &[VCC]);
            }
            16 => {
                let lanes = self.pick(&[-1, -1, -1, -1, 0, 15]);
                self.push(Op::s_mov_b64, exec, &[Operand::Int(lanes)]);
            }
            17 => {
                let op = self.pick(&[Op::s_cbranch_vccz, Op::s_cbranch_execz, Op::s_cbranch_scc0, Op::s_branch]);
                let far = self.below(8) as i64;
                self.branches.push((self.code.len(), far));
                self.push(op, Operand::None, &[imm(0)]);
            }
            18 => {
                let back = self.below(12) as i64 + 3;
                self.push(Op::s_sub_u32, s(COUNTER), &[s(COUNTER), Operand::Int(1)]);
                self.push(Op::s_cmp_gt_i32, Operand::None, &[s(COUNTER), Operand::Int(0)]);
                self.branches.push((self.code.len(), -back));
                self.push(Op::s_cbranch_scc1, Operand::None, &[imm(0)]);
            }
            _ => {
                let op = self.pick(&[Op::s_barrier, Op::s_sleep, Op::s_add_u32, Op::s_lshl_b32]);
                match op {
                    Op::s_barrier => self.push(op, Operand::None, &[]),
                    Op::s_sleep => self.push(op, Operand::None, &[imm(1)]),
                    _ => self.push(op, s(1), &[s(1), Operand::Int(3)]),
                }
            }
        }
    }

    fn program(seed: u64) -> Vec<Inst> {
        let mut writer = Writer { random: Random::new(seed), code: Vec::new(), branches: Vec::new() };
        for _ in 0..GROUPS {
            writer.group();
        }
        writer.push(Op::s_endpgm, Operand::None, &[imm(0)]);
        let last = writer.code.len() as i64 - 1;
        for (from, by) in writer.branches {
            // Words: instructions have two.
            let to = (from as i64 + 1 + by).clamp(0, last);
            writer.code[from].src[0] = imm((2 * (to - from as i64) - 1) as i32);
        }
        writer.code
    }
}

/// The state that a program can change.
#[derive(Debug, PartialEq)]
struct After {
    rows: Vec<Row>,
    slots: Vec<u32>,
    memory: Vec<u8>,
    lds: Vec<u8>,
    stop: Stop,
    trap: Option<Trap>,
    pc: Option<u64>,
    instructions: u64,
}

/// Runs `program` to its end: completely, or in single steps.
fn go(program: &Program, seed: u64, whole: bool, memory: &Arc<Memory>, base: u64) -> Option<After> {
    let mut random = Random::new(seed ^ 0x5eed);
    let mut wave = Wave::new(program);
    wave.reset(program);
    wave.set_exec(u64::MAX);
    for row in 1..program.layout().vgprs {
        *wave.row_mut(row) = std::array::from_fn(|_| random.next() as u32 & 0xffff);
    }
    let pick = |random: &mut Random, from: &[u32]| from[(random.next() >> 20) as usize % from.len()];
    let first = pick(&mut random, &[0, 0, 64, 192, 1000, 0xffff_ffc0, 0xffff_ffe0, 0x7fff_ffe0]);
    let step = pick(&mut random, &[1, 1, 1, 1, 2, 4, 0, 0xffff_ffff]);
    let ids = Run { first, step };
    *wave.row_mut(0) = std::array::from_fn(|lane| first.wrapping_add(step.wrapping_mul(lane as u32)));
    assert_eq!(Run::of(wave.row(0)), Some(ids));
    if whole && program.starts_held {
        wave.rows[0] = Row([0xdead; LANES]);
        wave.held.hold(0, ids);
    }
    for slot in 0..8 {
        wave.set_slot(slot, pick(&mut random, &[0, 1, 5, 40, 64, 256, 0xffff_fff0, 0x8000_0000]));
    }
    wave.set_slot(COUNTER, 3);
    let bytes: Vec<u8> = (0..SIZE).map(|_| random.next() as u8).collect();
    memory.write(base, &bytes).expect("inside");
    wave.set_slot64(BASE, base + 64);
    let mut view = View::new(Arc::clone(memory), Agent::default(), 0..0);
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
    let mut lds = vec![7; LDS];
    let mut ctx = Ctx { root: program, program, lds: &mut lds, env };
    let stop = loop {
        let stop = if whole { run(&mut wave, &mut ctx, 40) } else { run_exactly(&mut wave, &mut ctx, 7) };
        if matches!(stop, Stop::End | Stop::Trap) {
            break stop;
        }
        assert!(!wave.held.any(), "nothing is held where a wave stops");
        if wave.instructions > MOST_INSTRUCTIONS {
            return None;
        }
    };
    wave.settle_all();
    let mut after = vec![0; SIZE];
    memory.read(base, &mut after).expect("inside");
    let rows = wave.rows[..REGISTERS as usize + 1].to_vec();
    // Unused carries are not computed, and VCCZ is updated only when it is read.
    wave.set_slot64(slot::VCC, 0);
    wave.set_slot(slot::VCCZ, 0);
    let slots = wave.slots[..usize::from(slot::SINK)].to_vec();
    let pc = (stop == Stop::Trap).then(|| program.source_at(wave.pc).address);
    Some(After { rows, slots, memory: after, lds, stop, trap: wave.trap.clone(), pc, instructions: wave.instructions })
}

/// `program`, with every LDS read analysing its own addresses.
fn unshared(mut program: Program) -> Program {
    let reads = |program: &Program, m: &super::super::Micro| {
        program.inst(m).is_some_and(|inst| inst.op.mnemonic().starts_with("ds_read"))
    };
    for at in 0..program.micros.len() {
        let micro = program.micros[at];
        let eager = program.eager.iter().position(|e| e.micro.source == micro.source);
        if reads(&program, &micro) {
            match eager {
                Some(eager) => program.eager[eager].micro.pre = 0,
                None => program.micros[at].pre = 0,
            }
        }
    }
    program
}

#[test]
fn random_programs_give_the_same_with_runs_held_and_without() {
    let memory = Arc::new(Memory::new(vec![1 << 20]));
    let base = memory.alloc(SIZE as u64, 0, AllocKind::Device).expect("device memory");
    let (mut held, mut trapped, mut ended) = (0, 0, 0);
    for seed in 0..PROGRAMS {
        let code = Writer::program(seed);
        let map: BTreeMap<u32, Option<Inst>> =
            code.iter().enumerate().map(|(i, inst)| (2 * i as u32, Some(*inst))).collect();
        let avx2 = seed % 4 != 0 && cpu::has_avx2();
        let assemble = || Program::assemble(&map, &vec![0; 2 * code.len()], 0x1000, 0, DEFAULT_MODE, avx2);
        HOLD_ALL.set(seed % 8 != 0);
        let program = assemble();
        held += u32::from(program.starts_held);
        let whole = go(&program, seed, true, &memory, base);
        let single = go(&unshared(assemble()), seed, false, &memory, base);
        let (Some(whole), Some(single)) = (whole, single) else { continue };
        trapped += u32::from(whole.stop == Stop::Trap);
        ended += u32::from(whole.stop == Stop::End);
        if whole != single {
            let row = (0..whole.rows.len()).find(|n| whole.rows[*n] != single.rows[*n]);
            let list: Vec<String> =
                code.iter().map(|i| format!("{} {:?} {:?}", i.op.mnemonic(), i.dst, &i.src[..3])).collect();
            panic!(
                "seed {seed}: {:?} {:?} at {:x?}, row {row:?}\n{}",
                [whole.stop, single.stop],
                [&whole.trap, &single.trap],
                [whole.pc, single.pc],
                list.join("\n")
            );
        }
    }
    assert!(held > 1500 && trapped > 50 && ended > 300, "{held} programs held runs, {trapped} trapped, {ended} ended");
}

/// The registers of an image address are not known, so nothing is held in code with images.
#[test]
fn nothing_is_held_beside_images() {
    let image = Inst {
        mods: Mods { image: Some(Default::default()), ..Mods::default() },
        ..inst(Op::image_load, v(4), &[v(12), Operand::None, s(16)])
    };
    let code = [
        inst(Op::v_lshlrev_b32, v(1), &[Operand::Int(2), v(0)]),
        inst(Op::global_load_dword, v(2), &[v(1), Operand::None, s(BASE)]),
        image,
        inst(Op::s_endpgm, Operand::None, &[imm(0)]),
    ];
    for (with, expected) in [(true, false), (false, true)] {
        let kept = code.iter().filter(|inst| with || inst.format != Format::Mimg);
        let map: BTreeMap<u32, Option<Inst>> = kept.enumerate().map(|(i, inst)| (2 * i as u32, Some(*inst))).collect();
        let program = Program::assemble(&map, &[0; 8], 0x1000, 0, DEFAULT_MODE, false);
        assert_eq!(program.starts_held, expected, "with an image: {with}");
    }
}

/// Runs that are held are written out as they should be.
#[test]
fn runs_are_found_and_settled() {
    let row: [u32; LANES] = std::array::from_fn(|lane| 5_u32.wrapping_sub(3 * lane as u32));
    let run = Run::of(&row).expect("a run");
    assert_eq!(run, Run { first: 5, step: 3_u32.wrapping_neg() });
    assert_eq!(Run::of(&std::array::from_fn(|lane| (lane / 16) as u32)), None);
    let mut held = Held::NONE;
    assert!(!held.any() && held.get(3).is_none());
    held.hold(3, run);
    assert!(held.any() && held.get(3) == Some(run) && held.get(2).is_none());
    held.forget(3);
    assert_eq!(held.get(3), None);
}
