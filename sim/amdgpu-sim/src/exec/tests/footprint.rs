//! An instruction reads and writes exactly the registers in its row of the table.
//!
//! Determined by execution: a register that the row does not name must neither change nor affect the result, and each
//! register that it names must do so. That checks `exec` against the table's operand types and `reads_dst`, independent
//! of its own tables and matches. The registers are those of [`Inst::operands`], which are also used to check kernels'
//! allocations and appear in the disassembler's text.

use super::streams::forms;
use super::*;
use crate::isa::{Arch, Flags, SdwaSel, Type};
use crate::memory::AllocKind;
use std::collections::BTreeSet;

/// Bytes of device memory, of local memory, and of each lane's scratch.
const DEVICE: usize = 4096;
const LOCAL: usize = 8192;
const PRIVATE: usize = 256;

/// Registers by number: vector, accumulation, then scalar ones by slot.
const VECTOR: usize = 0;
const ACCUMULATION: usize = 256;
const SCALAR: usize = 512;
/// General scalar registers, and VCC above.
const GENERAL: usize = SCALAR + 102;

/// The state that an instruction can read and change.
#[derive(Clone, PartialEq)]
pub(super) struct State {
    rows: Vec<Row>,
    slots: Vec<u32>,
    mode: Mode,
    device: Vec<u8>,
    local: Vec<u8>,
    private: Vec<u32>,
}

/// The kind of numbers in registers and memory.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// All bits.
    Any,
    /// 0, 1 and 2: compares find equals, shifts and indices stay small.
    Few,
    /// Floats near one, whose halves are also floats.
    Floats,
    /// Edge cases of floats, and large doubles.
    Edges,
}

const EDGES: [u32; 12] = [
    0,
    1,
    0x8000_0000,
    0x7c00_7c00,
    0x7e00_7e01,
    0x7f80_0000,
    0x7fc0_0000,
    0x7ff0_0000,
    0xfff0_0000,
    0x41e0_0000,
    0x42e0_0000,
    0xffff_ffff,
];

fn value(random: &mut Random, style: Style) -> u32 {
    let any = random.next();
    match style {
        Style::Any => (any >> 16) as u32,
        Style::Few => (any >> 16) as u32 % 3,
        Style::Floats => 0x3c00_3c00 ^ (any >> 16) as u32 & 0x83ff_83ff,
        Style::Edges => EDGES[(any >> 16) as usize % EDGES.len()],
    }
}

impl State {
    pub(super) fn random(random: &mut Random, style: Style, all_lanes: bool) -> Self {
        let rows = (0..SCALAR).map(|_| Row(std::array::from_fn(|_| value(random, style)))).collect();
        let mut slots: Vec<u32> = (0..usize::from(slot::CONSTANTS)).map(|_| value(random, style)).collect();
        slots[usize::from(slot::M0)] = 0;
        if all_lanes {
            slots[usize::from(slot::EXEC)..][..2].fill(u32::MAX);
        }
        slots[usize::from(slot::SCC)] &= 1;
        slots[usize::from(slot::SHARED_BASE)..].fill(0);
        let mut bytes = |count: usize| (0..count / 4).flat_map(|_| value(random, style).to_le_bytes()).collect();
        let (device, local): (Vec<u8>, Vec<u8>) = (bytes(DEVICE), bytes(LOCAL));
        let private = (0..PRIVATE / 4 * LANES).map(|_| value(random, style)).collect();
        Self { rows, slots, mode: Mode::from_rsrc1(DEFAULT_MODE), device, local, private }
    }

    fn register(&self, n: usize) -> &[u32] {
        if n < SCALAR { &self.rows[n].0 } else { &self.slots[n - SCALAR..=n - SCALAR] }
    }

    /// Gives a register other values.
    fn disturb(&mut self, n: usize, random: &mut Random, style: Style) {
        let lanes = if n < SCALAR { &mut self.rows[n].0[..] } else { &mut self.slots[n - SCALAR..=n - SCALAR] };
        for lane in lanes {
            let before = *lane;
            while *lane == before {
                *lane = value(random, style);
            }
        }
    }

    /// The scalars that are implicit operands: SCC, EXEC and so on.
    fn implied(&self) -> (&[u32], Mode) {
        (&self.slots[usize::from(slot::M0)..usize::from(slot::SHARED_BASE)], self.mode)
    }

    /// Returns whether everything except the registers is equal.
    fn same_outside(&self, other: &Self) -> bool {
        let memory = self.device == other.device && self.local == other.local && self.private == other.private;
        memory && self.implied() == other.implied()
    }
}

/// Memory that all runs share.
pub(super) struct Bench {
    memory: Arc<Memory>,
    pub(super) base: u64,
    private: Vec<u32>,
}

/// What came of a run: the state, and why it stopped.
pub(super) struct After {
    pub(super) state: State,
    pub(super) stop: Stop,
    trap: Option<Trap>,
    waits: bool,
}

impl Bench {
    pub(super) fn new() -> Self {
        let memory = Arc::new(Memory::new(vec![1 << 20]));
        let base = memory.alloc(DEVICE as u64, 0, AllocKind::Device).expect("device memory");
        Self { memory, base, private: vec![0; PRIVATE / 4 * LANES] }
    }

    pub(super) fn program(inst_under_test: Inst, arch: Arch, avx2: bool) -> Program {
        let end = inst(Op::s_endpgm, Operand::None, &[imm(0)]);
        // Never reached: there are rows for all registers, and spare ones.
        let last =
            [inst(Op::v_mov_b32, v(255), &[v(255)]), inst(Op::v_accvgpr_write_b32, Operand::Agpr(255), &[v(255)])];
        let mut map = BTreeMap::new();
        let mut at = 0;
        for inst in [inst_under_test, end].into_iter().chain(last) {
            map.insert(at, Some(inst));
            at += u32::from(inst.size) / 4;
        }
        let program = Program::assemble(&map, &vec![0; at as usize], 0x1000, 0, DEFAULT_MODE, avx2);
        Program { arch, ..program }
    }

    pub(super) fn run(&mut self, program: &Program, state: &State) -> After {
        let layout = *program.layout();
        let mut wave = Wave::new(program);
        wave.reset(program);
        for n in 0..256 {
            wave.rows[usize::from(layout.vgpr(n))] = state.rows[VECTOR + usize::from(n)];
            wave.rows[usize::from(layout.agpr(n))] = state.rows[ACCUMULATION + usize::from(n)];
        }
        wave.slots[..state.slots.len()].copy_from_slice(&state.slots);
        wave.mode = state.mode;
        self.private.copy_from_slice(&state.private);
        self.memory.write(self.base, &state.device).expect("inside");
        let place = self.private.as_mut_ptr().expose_provenance() as u64;
        wave.set_slot64(slot::FLAT_SCRATCH, place);
        let mut view = View::new(Arc::clone(&self.memory), Agent::default(), 0..0);
        // SAFETY: `private` has the bytes, is aligned to words, is used by nothing else while the wave runs, and outlives it.
        let scratch = unsafe { Scratch::new(place, PRIVATE as u32, 1) };
        let outside = Outside::default();
        let env = Env {
            view: &mut view,
            scratch,
            misaligned: Misaligned::default(),
            beyond_lds: crate::BeyondLds::default(),
            sramecc: false,
            start: Instant::now(),
            outside: &outside,
            seat: crate::units::Seat::FIRST,
        };
        let mut after = state.clone();
        let stop = run(&mut wave, &mut Ctx { root: program, program, lds: &mut after.local, env }, 50);
        wave.settle_all();
        for n in 0..256 {
            after.rows[VECTOR + usize::from(n)] = wave.rows[usize::from(layout.vgpr(n))];
            after.rows[ACCUMULATION + usize::from(n)] = wave.rows[usize::from(layout.agpr(n))];
        }
        let kept = after.slots.len();
        after.slots.copy_from_slice(&wave.slots[..kept]);
        // The addresses of the lanes' bytes depend on the host, and discarded writes do not matter.
        let lying = usize::from(slot::FLAT_SCRATCH);
        after.slots[lying..lying + 2].copy_from_slice(&state.slots[lying..lying + 2]);
        after.slots[usize::from(slot::VCCZ)..=usize::from(slot::EXECZ)].fill(0);
        after.mode = wave.mode;
        self.memory.read(self.base, &mut after.device).expect("inside");
        after.private.copy_from_slice(&self.private);
        After { state: after, stop, trap: wave.trap.clone(), waits: wave.gws.is_some() }
    }
}

/// Assigns non-overlapping registers to an instruction's operands. A register that occurs in two places remains the
/// same.
pub(super) fn apart(inst: &Inst) -> Inst {
    let mut apart = *inst;
    let first = |place: usize, operand: Operand| match operand {
        Operand::Vgpr(_) => Operand::Vgpr(40 * place as u16),
        Operand::Agpr(_) => Operand::Agpr(40 * place as u16),
        Operand::Sgpr(_) | Operand::Ttmp(_) => Operand::Sgpr(16 * place as u16),
        Operand::Special(
            Special::FlatScratchLo | Special::FlatScratchHi | Special::XnackMaskLo | Special::XnackMaskHi,
        ) => Operand::Sgpr(16 * place as u16),
        other => other,
    };
    // Of atomics in buffers and scalar memory the data is the result's register.
    let data = if inst.format == Format::Smem { 2 } else { 1 };
    let tied = matches!(inst.format, Format::Mubuf | Format::Mtbuf | Format::Smem) && inst.dst != Operand::None;
    apart.dst = first(0, inst.dst);
    apart.dst2 = match first(5, inst.dst2) {
        Operand::Sgpr(_) => Operand::Sgpr(96),
        other => other,
    };
    for (i, source) in apart.src.iter_mut().enumerate() {
        *source = if tied && i == data && *source == inst.dst { apart.dst } else { first(i + 1, *source) };
    }
    apart
}

/// Chooses small offsets, aligned for the widest access, so that only the registers determine the address; constants
/// that registers may equal; branches that lead to the end; and matrix instructions without optional modifiers.
fn near(mut inst: Inst, n: u32) -> Inst {
    let branches = super::super::control_flow::branch_target(&inst, 0).is_some();
    let mods = &mut inst.mods;
    match inst.format {
        _ if branches => inst.src[0] = imm(0),
        Format::Sopk if n % 2 == 0 => {
            if let Operand::Imm(value) = inst.src[0] {
                inst.src[0] = imm(value & 3);
            }
        }
        Format::Vop3p if n % 4 != 0 => mods.mfma = (0, 0, 0),
        Format::Smem => {
            mods.offset = if mods.offset == 0 { 0 } else { 16 };
            for source in [1, 3] {
                if matches!(inst.src[source], Operand::Imm(_)) {
                    inst.src[source] = imm(mods.offset);
                }
            }
        }
        Format::Ds if inst.op.info().is(Flags::two_offsets) => (mods.offset, mods.offset1) = (1, 2),
        // `ds_swizzle_b32` has its pattern there.
        Format::Ds if inst.op == Op::ds_swizzle_b32 => {}
        _ => mods.offset &= 0x10,
    }
    inst
}

/// Puts valid addresses into the address registers of an instruction.
pub(super) fn aim(state: &mut State, inst: &Inst, base: u64) {
    let mut lanes = |operand: Operand, value: &dyn Fn(u64) -> u64, wide: bool| {
        let Operand::Vgpr(n) = operand else { return };
        for lane in 0..LANES {
            let value = value(lane as u64);
            state.rows[usize::from(n)].0[lane] = value as u32;
            if wide {
                state.rows[usize::from(n) + 1].0[lane] = (value >> 32) as u32;
            }
        }
    };
    match inst.format {
        Format::Flat | Format::Global if inst.src[2] == Operand::None => {
            lanes(inst.src[0], &|lane| base + 32 * lane, true);
        }
        Format::Global => lanes(inst.src[0], &|lane| 32 * lane, false),
        Format::Scratch => lanes(inst.src[0], &|lane| lane % 4 * 32, false),
        Format::Ds => lanes(inst.src[0], &|lane| 64 * lane, false),
        // Indices of 16 bytes each; an offset comes after an index.
        Format::Mubuf | Format::Mtbuf if inst.mods.idxen => lanes(inst.src[0], &|lane| lane, inst.mods.offen),
        Format::Mubuf | Format::Mtbuf => lanes(inst.src[0], &|lane| 32 * lane, false),
        _ => {}
    }
    let scalars = |operand: Operand, words: &[u32], state: &mut State| {
        if let Operand::Sgpr(n) = operand {
            state.slots[usize::from(n)..][..words.len()].copy_from_slice(words);
        }
    };
    let address = [base as u32, (base >> 32) as u32];
    // 16 bytes an index; four words that are floats.
    let records = if inst.mods.idxen { 256 } else { DEVICE as u32 };
    let format = 14 << 15 | 7 << 12 | 7 << 9 | 6 << 6 | 5 << 3 | 4;
    let descriptor = |stride: u32| [address[0], address[1] | stride << 16, records, format];
    match inst.format {
        Format::Global => scalars(inst.src[2], &address, state),
        Format::Scratch => scalars(inst.src[2], &[16], state),
        Format::Mubuf | Format::Mtbuf => {
            scalars(inst.src[2], &descriptor(16), state);
            scalars(inst.src[3], &[16], state);
        }
        Format::Smem if inst.op.info().src[0] == Type::B128 => scalars(inst.src[0], &descriptor(0), state),
        Format::Smem => scalars(inst.src[0], &address, state),
        _ => {}
    }
    if inst.format == Format::Smem {
        scalars(inst.src[1], &[32], state);
        scalars(inst.src[3], &[32], state);
    }
}

/// The registers of an operand.
fn numbers((operand, count): (Operand, u16)) -> std::ops::Range<usize> {
    let first = match operand {
        Operand::Vgpr(n) => VECTOR + usize::from(n),
        Operand::Agpr(n) => ACCUMULATION + usize::from(n),
        Operand::Sgpr(n) => SCALAR + usize::from(n),
        Operand::Special(Special::VccLo) => SCALAR + usize::from(slot::VCC),
        Operand::Special(Special::VccHi) => SCALAR + usize::from(slot::VCC) + 1,
        _ => return 0..0,
    };
    first..first + usize::from(count)
}

/// Returns whether bits of the destination are preserved, according to the table and the modifiers.
fn keeps(inst: &Inst) -> bool {
    let (info, mods) = (inst.op.info(), &inst.mods);
    // Operations on halves that can select the half, and two similar ones, preserve the other one.
    let half = info.dst.bytes() == 2 && info.is(Flags::op_sel) || matches!(inst.op, Op::v_madak_f16 | Op::v_madmk_f16);
    let part = mods.sdwa.is_some_and(|sdwa| sdwa.dst_sel != SdwaSel::Dword) || mods.dpp.is_some() || half;
    part || mods.tfe || [Flags::reads_dst, Flags::d16, Flags::d16_hi].iter().any(|flag| info.is(*flag))
}

/// A register of an operand: the operand's position (destinations first) and the index in it; for a destination, also
/// whether it is read.
type Part = (usize, usize, bool);

/// The observed reads and writes of an instruction.
#[derive(Default)]
struct Seen {
    all: BTreeSet<Part>,
    found: BTreeSet<Part>,
    runs: u32,
}

/// Runs one form of an instruction with some registers. Returns an error for a violation.
fn attempt(bench: &mut Bench, inst: &Inst, arch: Arch, n: u32, seen: &mut Seen) -> Result<(), String> {
    let info = inst.op.info();
    let mut random = Random::new(u64::from(n) << 16 ^ inst.op as u64);
    let style = [Style::Any, Style::Few, Style::Floats, Style::Edges][n as usize % 4];
    let program = Bench::program(*inst, arch, n / 4 % 2 == 0 && cpu::has_avx2());
    let scalar = matches!(info.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk | Format::Sopp);
    let mut before = State::random(&mut random, style, !scalar);
    aim(&mut before, inst, bench.base);
    let after = bench.run(&program, &before);
    if matches!(after.trap, Some(Trap::Unsupported(_) | Trap::Memory(_))) {
        return Ok(());
    }
    seen.runs += 1;
    let operands = inst.operands().map(numbers);
    let results: BTreeSet<usize> = match inst.op {
        Op::v_swap_b32 => [0, 2].into_iter().flat_map(|place| operands[place].clone()).collect(),
        _ => operands[..2].iter().cloned().flatten().collect(),
    };
    let kept = if keeps(inst) { results.clone() } else { BTreeSet::new() };
    let sources: BTreeSet<usize> = operands[2..].iter().cloned().flatten().chain(kept).collect();
    // VCC may be an implicit operand.
    let named = (0..GENERAL).filter(|n| !results.contains(n));
    if let Some(n) = named.clone().find(|n| after.state.register(*n) != before.register(*n)) {
        return Err(format!("changes register {n}, which it does not name"));
    }
    let read_clock = matches!(inst.op, Op::s_memtime | Op::s_memrealtime | Op::s_getreg_b32);
    let outcome = |a: &After, b: &After| {
        let stopped = a.stop == b.stop && a.trap == b.trap && a.waits == b.waits;
        let registers = results.iter().all(|n| a.state.register(*n) == b.state.register(*n));
        stopped && a.state.same_outside(&b.state) && registers
    };
    if !read_clock {
        let mut other = before.clone();
        (0..GENERAL).filter(|n| !sources.contains(n)).for_each(|n| other.disturb(n, &mut random, style));
        let other = bench.run(&program, &other);
        if !outcome(&after, &other) {
            return Err("depends on registers that it does not name".to_owned());
        }
    }
    for (place, numbers) in operands.iter().enumerate() {
        for (i, n) in numbers.clone().enumerate() {
            if place < 2 {
                seen.all.insert((place, i, false));
                if after.state.register(n) != before.register(n) {
                    seen.found.insert((place, i, false));
                }
            }
            let read = place >= 2 || place == 0 && info.is(Flags::reads_dst);
            if !read || seen.found.contains(&(place, i, true)) {
                continue;
            }
            seen.all.insert((place, i, true));
            let mut other = before.clone();
            other.disturb(n, &mut random, style);
            let other = bench.run(&program, &other);
            // A source that is also a destination shows in the other registers.
            let differs =
                results.iter().any(|r| (place == 0 || *r != n) && after.state.register(*r) != other.state.register(*r));
            if differs
                || !after.state.same_outside(&other.state)
                || after.trap != other.trap
                || after.waits != other.waits
            {
                seen.found.insert((place, i, true));
            }
        }
    }
    Ok(())
}

/// Registers that are named and rightly have no effect here.
fn idle(op: Op, (place, part, _): Part) -> bool {
    let name = op.mnemonic();
    let says = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    // Compares that are always false or always true.
    says(&["v_cmp_f_", "v_cmp_t_", "v_cmp_tru_", "v_cmpx_f_", "v_cmpx_t_", "v_cmpx_tru_"])
        // They only affect caches, which do not exist.
        || says(&["s_atc_probe", "s_dcache_discard"])
        // Scalar accesses take no format from a descriptor.
        || says(&["s_buffer_"]) && (place, part) == (2, 3)
        // Only the exponent counts.
        || op == Op::v_trig_preop_f64 && (place, part) == (2, 0)
        // Their effect shows in other waves (`exec::gws`).
        || says(&["ds_gws_"])
}

/// Instructions that are not tested here: those with implicit registers, and those that are always a fault.
fn elsewhere(op: Op) -> bool {
    // The number of an image instruction's registers is not in its row. The fork stack is in scalar registers numbered by CSP.
    op.info().format == Format::Mimg
        || ["_fork", "cbranch_join"].iter().any(|word| op.mnemonic().contains(word))
        || super::coverage::TRAPS.contains(&op.mnemonic())
}

#[test]
fn registers_that_are_read_and_written_are_those_of_the_table() {
    let mut bench = Bench::new();
    let mut random = Random::new(4711);
    let mut wrong = Vec::new();
    let mut runs = 0;
    for arch in Arch::ALL {
        let mut all: BTreeMap<Op, Seen> = BTreeMap::new();
        for form in forms(arch, |op| !elsewhere(op)) {
            let seen = all.entry(form.op).or_default();
            let before = seen.runs;
            // Several runs of every form; more until every named register has shown an effect.
            for n in 0..40_000 {
                let complete = seen.all.iter().all(|part| seen.found.contains(part) || idle(form.op, *part));
                if seen.runs >= before + if complete { 6 } else { 600 } {
                    break;
                }
                let Some((_, inst)) = form.words(arch, &mut || random.next()) else { continue };
                let inst = near(apart(&inst), n);
                if let Err(why) = attempt(&mut bench, &inst, arch, n, seen) {
                    wrong.push(format!("{arch}: {inst:?} {why}"));
                    break;
                }
            }
        }
        for (op, seen) in all {
            runs += seen.runs;
            let silent = |part: &&Part| !seen.found.contains(part) && !idle(op, **part);
            let missing: Vec<&Part> = seen.all.iter().filter(silent).collect();
            if seen.runs < 6 || !missing.is_empty() {
                wrong.push(format!("{arch}: {op}: {} runs, no difference from {missing:?}", seen.runs));
            }
        }
    }
    println!("{runs} runs");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
