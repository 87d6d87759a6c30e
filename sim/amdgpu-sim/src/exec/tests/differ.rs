//! The same random instructions with the handlers for the CPU's baseline and for AVX2, on the same registers: both must
//! give the same results for all modifiers, modes and values. Optimised and fused operations are included.

use super::fuzz::cases;
use super::streams::{Form, forms};
use super::*;
use crate::isa::{Arch, Sdwa, SdwaSel, SdwaUnused};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words of code, with their instructions by position.
pub(super) struct Code {
    words: Vec<u32>,
    insts: BTreeMap<u32, Option<Inst>>,
}

impl Code {
    pub(super) fn of(insts: &[(Vec<u32>, Inst)]) -> Self {
        let mut code = Self { words: Vec::new(), insts: BTreeMap::new() };
        let end = (vec![0xbf81_0000], inst(Op::s_endpgm, Operand::None, &[imm(0)]));
        for (words, inst) in insts.iter().chain([&end]) {
            code.insts.insert(code.words.len() as u32, Some(*inst));
            code.words.extend(words);
        }
        code
    }
}

/// The state that code without memory accesses can change.
#[derive(Clone)]
pub(super) struct State {
    pub(super) vector: Vec<Row>,
    accumulation: Vec<Row>,
    pub(super) scalar: Vec<u32>,
    mode: Mode,
}

/// Registers that are kept from one run to the next.
const KEPT: usize = 256;

impl State {
    pub(super) fn random(random: &mut Random, mode: Mode) -> Self {
        // Small numbers, random bits, floats of every kind and magnitude, pairs that form doubles.
        let mut value = || match random.next() {
            x if x % 8 < 2 => x as u32,
            x if x % 8 == 2 => (x >> 32) as u32 % 70,
            x if x % 8 == 3 => SINGLES[(x >> 8) as usize % SINGLES.len()] as u32,
            x if x % 8 == 4 => (DOUBLES[(x >> 8) as usize % DOUBLES.len()] >> 32) as u32,
            x if x % 8 == 5 => {
                let half = |x: u64| HALVES[x as usize % HALVES.len()] as u32;
                half(x >> 8) | half(x >> 24) << 16
            }
            x => (x as u32 & 0x807f_ffff) | ((100 + (x >> 32) as u32 % 56) << 23),
        };
        let mut rows = || -> Vec<Row> { (0..KEPT).map(|_| Row(std::array::from_fn(|_| value()))).collect() };
        let (vector, accumulation) = (rows(), rows());
        let mut scalar: Vec<u32> = (0..usize::from(slot::CONSTANTS)).map(|_| value()).collect();
        scalar[usize::from(slot::SCC)] &= 1;
        Self { vector, accumulation, scalar, mode }
    }

    fn put(&self, w: &mut Wave, program: &Program) {
        let layout = *program.layout();
        for n in 0..layout.vgprs.min(KEPT as u16) {
            w.rows[usize::from(layout.vgpr(n))] = self.vector[usize::from(n)];
        }
        for n in 0..layout.agprs.min(KEPT as u16) {
            w.rows[usize::from(layout.agpr(n))] = self.accumulation[usize::from(n)];
        }
        w.slots[..self.scalar.len()].copy_from_slice(&self.scalar);
        w.mode = self.mode;
    }

    fn take(&mut self, w: &Wave, program: &Program) {
        let layout = *program.layout();
        for n in 0..layout.vgprs.min(KEPT as u16) {
            self.vector[usize::from(n)] = w.rows[usize::from(layout.vgpr(n))];
        }
        for n in 0..layout.agprs.min(KEPT as u16) {
            self.accumulation[usize::from(n)] = w.rows[usize::from(layout.agpr(n))];
        }
        let scalars = self.scalar.len();
        self.scalar.copy_from_slice(&w.slots[..scalars]);
        // The sink is never read.
        self.scalar[usize::from(slot::SINK)..].fill(0);
        self.mode = w.mode;
    }

    /// The difference between two states, unless it is only which NaN they hold.
    pub(super) fn differs(&self, other: &Self) -> Option<String> {
        let rows = [("v", &self.vector, &other.vector), ("a", &self.accumulation, &other.accumulation)];
        for (name, ours, theirs) in rows {
            for n in 0..KEPT {
                for lane in 0..LANES {
                    let pair = |rows: &[Row]| [rows[n].0[lane], rows.get(n + 1).map_or(0, |r| r.0[lane])];
                    let before = |rows: &[Row]| [n.checked_sub(1).map_or(0, |n| rows[n].0[lane]), rows[n].0[lane]];
                    let same = alike(pair(ours), pair(theirs)) || nan(before(ours)) && nan(before(theirs));
                    if !same {
                        return Some(format!(
                            "{name}{n} lane {lane}: {:#x}, {:#x}",
                            ours[n].0[lane], theirs[n].0[lane]
                        ));
                    }
                }
            }
        }
        if let Some(slot) = (0..self.scalar.len()).find(|n| self.scalar[*n] != other.scalar[*n]) {
            return Some(format!("slot {slot}: {:#x}, {:#x}", self.scalar[slot], other.scalar[slot]));
        }
        (self.mode != other.mode).then(|| format!("{:?}, {:?}", self.mode, other.mode))
    }

    fn same(&self, other: &Self) -> bool {
        let rows = self.vector == other.vector && self.accumulation == other.accumulation;
        rows && self.scalar == other.scalar && self.mode == other.mode
    }
}

/// Returns whether a pair of registers is a NaN double.
fn nan(pair: [u32; 2]) -> bool {
    f64::from_bits(u64::from(pair[0]) | u64::from(pair[1]) << 32).is_nan()
}

/// Runs `code` from `state` on; the state after, and why it stopped.
pub(super) fn go(code: &Code, arch: Arch, rsrc1: u32, state: &State, avx2: bool) -> (State, Stop, Option<Trap>) {
    let program = Program::assemble(&code.insts, &code.words, 0x1000, 0, rsrc1, avx2);
    let program = Program { arch, ..program };
    let mut wave = Wave::new(&program);
    wave.reset(&program);
    state.put(&mut wave, &program);
    let mut view = View::new(Arc::new(Memory::new(vec![0])), Agent::default(), 0..0);
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
    let mut lds = [0; LDS];
    let stop = run(&mut wave, &mut Ctx { root: &program, program: &program, lds: &mut lds, env }, 2000);
    wave.settle_all();
    let mut after = state.clone();
    after.take(&wave, &program);
    (after, stop, wave.trap)
}

/// Returns whether an operation computes without memory, and deterministically.
fn computes(op: Op) -> bool {
    let format = op.info().format;
    let vector =
        matches!(format, Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 | Format::Vop3b | Format::Vop3p);
    vector
        || matches!(format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk)
        || op.mnemonic().contains("cbranch")
}

/// Returns whether an instruction writes only a part (SDWA) of a result that is a NaN, and differs with and without
/// AVX2. The part does not show that it is a NaN.
fn shows_part_of_nan((words, inst): &(Vec<u32>, Inst), arch: Arch, rsrc1: u32, state: &State) -> bool {
    let Some(sdwa) = inst.mods.sdwa else { return false };
    let sdwa = Some(Sdwa { dst_sel: SdwaSel::Dword, ..sdwa });
    let whole = Inst { mods: Mods { sdwa, ..inst.mods }, ..*inst };
    let code = Code::of(&[(words.clone(), whole)]);
    let [plain, fast] = [false, true].map(|avx2| go(&code, arch, rsrc1, state, avx2));
    plain.1 == fast.1 && plain.2 == fast.2 && plain.0.differs(&fast.0).is_none() && !plain.0.same(&fast.0)
}

/// Such a case, found by fuzzing: a byte of a NaN. Other differences are never mistaken for one.
#[test]
fn a_byte_of_a_nan_is_told_from_a_difference() {
    if !cpu::has_avx2() {
        return;
    }
    let byte =
        Sdwa { dst_sel: SdwaSel::Byte0, dst_unused: SdwaUnused::Pad, src_sel: [SdwaSel::Word0; 2], sext: [false; 2] };
    let plain = inst(Op::v_pk_fmac_f16, v(10), &[v(5), v(6)]);
    let step = (vec![0; 2], Inst { format: Format::Sdwa, mods: Mods { sdwa: Some(byte), ..Mods::default() }, ..plain });
    let mut state = State::random(&mut Random::new(1), Mode::from_rsrc1(DEFAULT_MODE));
    state.scalar[usize::from(slot::EXEC)..][..2].fill(u32::MAX);
    for (a, b, sum, is_nan) in [(0x7e12, 0x3c00, 0x7eff, true), (0x3c00, 0x4000, 0x4200, false)] {
        state.vector[5].0.fill(a);
        state.vector[6].0.fill(b);
        state.vector[10].0.fill(sum);
        let code = Code::of(std::slice::from_ref(&step));
        let [plain, fast] = [false, true].map(|avx2| go(&code, Arch::Gfx90a, DEFAULT_MODE, &state, avx2));
        let explained = shows_part_of_nan(&step, Arch::Gfx90a, DEFAULT_MODE, &state);
        assert!(plain.0.differs(&fast.0).is_none() || explained);
        assert!(is_nan || plain.0.same(&fast.0) && !explained);
    }
}

#[test]
fn baseline_and_avx2_agree_on_random_streams() {
    if !cpu::has_avx2() {
        return;
    }
    let all: [Vec<Form>; 2] = Arch::ALL.map(|arch| forms(arch, computes));
    let (same, nans, trapped) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    cases("differ", 6_000, |case| {
        let mut random = Random::new(case ^ 0xd1ff_0000_0000);
        let which = (case % 2) as usize;
        let arch = Arch::ALL[which];
        let length = 1 + random.next() % 12;
        let mut insts = Vec::new();
        for n in 0..length {
            let at = if n == 0 { case as usize / 2 } else { random.next() as usize };
            let form = &all[which][at % all[which].len()];
            insts.extend((0..200).find_map(|_| form.words(arch, &mut || random.next())));
        }
        // All modes of rounding, denormals, clamping and IEEE; half of the time the default one.
        let bits = if random.next() % 2 == 0 { DEFAULT_MODE } else { random.next() as u32 & 0x04af_f000 };
        let rsrc1 = bits | 31;
        let mut start = State::random(&mut random, Mode::from_rsrc1(rsrc1));
        if random.next() % 2 == 0 {
            start.scalar[usize::from(slot::EXEC)..][..2].fill(u32::MAX);
        }
        let code = Code::of(&insts);
        let [plain, fast] = [false, true].map(|avx2| go(&code, arch, rsrc1, &start, avx2));
        if plain.1 == fast.1 && plain.2 == fast.2 && plain.0.same(&fast.0) {
            same.fetch_add(1, Relaxed);
            trapped.fetch_add(u64::from(plain.2.is_some()), Relaxed);
            return;
        }
        // Which NaN an operation returns is not defined, and later instructions may depend on it. So instructions are added one by one,
        // since their meaning may depend on earlier ones (`s_set_gpr_idx_on`).
        let mut before = None;
        for (n, step) in insts.iter().enumerate() {
            let code = Code::of(&insts[..=n]);
            let [plain, fast] = [false, true].map(|avx2| go(&code, arch, rsrc1, &start, avx2));
            let differs = plain.0.differs(&fast.0);
            if differs.is_some() && shows_part_of_nan(step, arch, rsrc1, before.as_ref().unwrap_or(&start)) {
                nans.fetch_add(1, Relaxed);
                return;
            }
            assert!(plain.1 == fast.1 && plain.2 == fast.2 && differs.is_none(), "{arch}: {}: {differs:?}", step.1);
            if !plain.0.same(&fast.0) {
                nans.fetch_add(1, Relaxed);
                return;
            }
            before = Some(plain.0);
        }
        let text: Vec<String> = insts.iter().map(|(_, inst)| inst.to_string()).collect();
        panic!("{arch}, these agree up to each, and not all together: {text:?}");
    });
    let [same, nans, trapped] = [same, nans, trapped].map(AtomicU64::into_inner);
    println!("{same} the same (of these {trapped} trap), {nans} differ in NaNs");
    assert!(!super::fuzz::is_usual() || (same > 8 * nans && same > 2 * trapped), "{same} {nans} {trapped}");
}
