//! The results of every instruction, compared with references that share no code with the implementation: integers in
//! 128 bits or bit by bit, floats in double precision or exact arithmetic, halves with the `half` crate.
//!
//! Every program runs twice, with the handlers for the CPU's baseline and for AVX2, and must give the same results.

mod address;
mod affine;
mod allocation;
mod atomics;
mod bytes;
mod compare;
mod control;
mod convert;
mod corpus;
mod coverage;
mod device;
mod differ;
mod divide;
mod effects;
mod exchange;
mod float;
mod footprint;
mod forks;
#[path = "../../../tests/common/fuzz.rs"]
mod fuzz;
mod half_floats;
mod hostile;
mod image;
mod integer;
mod lanes;
mod liveness;
mod local;
mod math;
mod matrix;
mod memory_effects;
mod modifiers;
mod packed;
mod rare;
mod rounding;
mod salu;
mod scalar;
#[path = "../../../tests/common/streams.rs"]
mod streams;
mod whole;
mod widths;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::mem::{Env, Scratch, View};
use super::{Ctx, LANES, Mode, Outside, Program, Resources, Row, Stop, Trap, Wave, cpu, run, slot};
use crate::config::Misaligned;
use crate::isa::Op;
use crate::isa::inst::{Format, InlineFloat, Inst, Mods, Operand, Special};
use crate::memory::{Agent, Memory};

/// Bytes of local memory.
const LDS: usize = 1024;
/// MODE as clang sets it for gfx90a: denormals kept, DX10_CLAMP and IEEE on.
pub(super) const DEFAULT_MODE: u32 = 0xf0 << 12 | 1 << 21 | 1 << 23;
/// f32 denormals flushed, in and out; no IEEE.
pub(super) const FLUSHING: u32 = 0xc0 << 12 | 1 << 21;

pub(super) const VCC: Operand = Operand::Special(Special::VccLo);

pub(super) fn v(n: u16) -> Operand {
    Operand::Vgpr(n)
}

pub(super) fn s(n: u16) -> Operand {
    Operand::Sgpr(n)
}

pub(super) fn imm(n: i32) -> Operand {
    Operand::Imm(n)
}

/// An instruction in its native format, without modifiers.
pub(super) fn inst(op: Op, dst: Operand, sources: &[Operand]) -> Inst {
    let format = op.info().format;
    let mut src = [Operand::None; 4];
    src[..sources.len()].copy_from_slice(sources);
    let op_sel_hi = if format == Format::Vop3p { 7 } else { 0 };
    let mods = Mods { op_sel_hi, ..Mods::default() };
    Inst { op, format, size: 8, dst, dst2: Operand::None, src, mods }
}

/// The same with modifiers, in the 64-bit encoding.
pub(super) fn modified(op: Op, dst: Operand, sources: &[Operand], mods: Mods) -> Inst {
    let plain = inst(op, dst, sources);
    let format = if plain.format == Format::Vop3p { Format::Vop3p } else { Format::Vop3 };
    Inst { mods, format, ..plain }
}

/// Runs `code`, then the wave's end, on the baseline or AVX2 handlers.
fn execute(code: &[Inst], resources: Resources, avx2: bool, set_up: &dyn Fn(&mut Wave)) -> (Wave, Stop) {
    let mut map = BTreeMap::new();
    let mut at = 0;
    for inst in code.iter().copied().chain([inst(Op::s_endpgm, Operand::None, &[imm(0)])]) {
        map.insert(at, Some(inst));
        at += u32::from(inst.size) / 4;
    }
    let program = Program::assemble(&map, &vec![0; at as usize], 0x1000, 0, resources, avx2);
    let mut wave = Wave::new(&program);
    wave.reset(&program);
    wave.set_exec(u64::MAX);
    set_up(&mut wave);
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
    let mut lds = [0; LDS];
    let mut ctx = Ctx { root: &program, program: &program, lds: &mut lds, env };
    let stop = run(&mut wave, &mut ctx, 10_000);
    wave.settle_all();
    (wave, stop)
}

/// Runs `code` to its end. `set_up` receives zeroed registers, with all lanes enabled.
pub(super) fn machine(code: &[Inst], resources: impl Into<Resources>, set_up: &dyn Fn(&mut Wave)) -> Wave {
    let resources = resources.into();
    let (wave, stop) = execute(code, resources, false, set_up);
    assert_eq!((stop, &wave.trap), (Stop::End, &None), "{:?}", code.last());
    if cpu::has_avx2() {
        let (fast, stop) = execute(code, resources, true, set_up);
        assert_eq!(stop, Stop::End);
        for row in 0..wave.rows.len() {
            for lane in 0..LANES {
                let (a, b) = (bits_above(&wave, row, lane), bits_above(&fast, row, lane));
                assert!(
                    alike(a, b),
                    "row {row} lane {lane} without {a:x?} and with {b:x?} AVX2 after {:?}",
                    code.last()
                );
            }
        }
        assert_eq!(wave.slots, fast.slots, "scalars with and without AVX2 after {:?}", code.last());
    }
    wave
}

/// A lane of a row, and of the one after it.
fn bits_above(w: &Wave, row: usize, lane: usize) -> [u32; 2] {
    [w.rows[row].0[lane], w.rows.get(row + 1).map_or(0, |r| r.0[lane])]
}

/// Returns whether two values are equal, or NaN in the same width: which NaN an operation returns is not defined.
fn alike(a: [u32; 2], b: [u32; 2]) -> bool {
    let single = |x: u32| f32::from_bits(x).is_nan();
    let double = |x: [u32; 2]| f64::from_bits(u64::from(x[0]) | u64::from(x[1]) << 32).is_nan();
    let half = |x: u32| x & 0x7fff > 0x7c00;
    let halves = |x: u32, y: u32| x == y || half(x) && half(y);
    a[0] == b[0]
        || single(a[0]) && single(b[0])
        || double(a) && double(b)
        || halves(a[0] & 0xffff, b[0] & 0xffff) && halves(a[0] >> 16, b[0] >> 16)
}

/// Why `code` stops.
pub(super) fn trap(code: &[Inst], resources: impl Into<Resources>, set_up: &dyn Fn(&mut Wave)) -> Trap {
    let (wave, stop) = execute(code, resources.into(), cpu::has_avx2(), set_up);
    assert_eq!(stop, Stop::Trap, "{:?}", code.last());
    wave.trap.expect("a trap says why")
}

/// Registers that an operand of `op` takes.
fn width(ty: crate::isa::Type) -> u16 {
    (ty.element_bits() * ty.elements()).div_ceil(32) as u16
}

/// The value of a register (pair) in a lane.
pub(super) fn value(w: &Wave, register: u16, registers: u16, lane: usize) -> u64 {
    let low = u64::from(w.row(register)[lane]);
    if registers == 2 { low | u64::from(w.row(register + 1)[lane]) << 32 } else { low }
}

/// Sets a register (pair) in a lane.
pub(super) fn set_value(w: &mut Wave, register: u16, registers: u16, lane: usize, value: u64) {
    w.row_mut(register)[lane] = value as u32;
    if registers == 2 {
        w.row_mut(register + 1)[lane] = (value >> 32) as u32;
    }
}

/// What the destination register holds before.
const OLD: u64 = 0xdead_beef_0bad_cafe;

/// Applies `op` with modifiers to one operand tuple per lane; `f` computes the result from the old destination and the
/// operands. In a second round every other lane is disabled, and must not change.
pub(super) fn check_with(op: Op, mods: Mods, rsrc1: u32, operands: &[Vec<u64>], f: &dyn Fn(&[u64]) -> u64) {
    let info = op.info();
    let plain = mods == inst(op, v(0), &[]).mods;
    let sources: Vec<Operand> = (0..operands.len()).map(|i| v(4 + 4 * i as u16)).collect();
    let code = if plain { inst(op, v(0), &sources) } else { modified(op, v(0), &sources, mods) };
    let dst = width(info.dst);
    for chunk in 0..operands[0].len().div_ceil(LANES) {
        let base = chunk * LANES;
        let count = (operands[0].len() - base).min(LANES);
        for exec in [u64::MAX, 0xaaaa_5555_f0f0_3c3c] {
            let w = machine(&[code], rsrc1, &|w| {
                w.set_exec(exec);
                for lane in 0..LANES {
                    set_value(w, 0, 2, lane, OLD);
                }
                for (i, operand) in operands.iter().enumerate() {
                    for lane in 0..count {
                        set_value(w, 4 + 4 * i as u16, width(info.src[i]), lane, operand[base + lane]);
                    }
                }
            });
            for lane in 0..count {
                let got = value(&w, 0, dst, lane);
                let mut args: Vec<u64> = operands.iter().map(|o| o[base + lane]).collect();
                let old = if dst == 2 { OLD } else { OLD & 0xffff_ffff };
                if exec >> lane & 1 == 0 {
                    assert_eq!(got, old, "{op}: lane {lane} is off");
                } else {
                    args.push(old);
                    let expected = f(&args);
                    assert_eq!(got, expected, "{op} of {args:x?}: {got:#x}, not {expected:#x}");
                }
            }
        }
    }
}

/// [`check_with`] without modifiers and with the usual MODE.
pub(super) fn check(op: Op, operands: &[Vec<u64>], f: &dyn Fn(&[u64]) -> u64) {
    check_with(op, inst(op, v(0), &[]).mods, DEFAULT_MODE, operands, f);
}

/// A reproducible sequence of numbers that look random.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// All combinations of `special` values in `count` operands (a sample of them for three), then `random` further ones.
pub(super) fn operands(count: usize, special: &[u64], random: usize, make: &mut dyn FnMut() -> u64) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new(); count];
    let total = special.len().pow(count as u32);
    let step = if total > 4096 { total / 4096 | 1 } else { 1 };
    for n in (0..total).step_by(step) {
        let mut rest = n;
        for operand in &mut all {
            operand.push(special[rest % special.len()]);
            rest /= special.len();
        }
    }
    for _ in 0..random {
        for operand in &mut all {
            operand.push(make());
        }
    }
    all
}

pub(super) const WORDS: &[u64] = &[
    0,
    1,
    2,
    3,
    7,
    31,
    32,
    33,
    63,
    64,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7f_ffff,
    0x80_0000,
    0xff_ffff,
    0x100_0000,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_0000,
    0xffff_fffe,
    0xffff_ffff,
    0x1234_5678,
    0xdead_beef,
];

pub(super) const HALVES: &[u64] = &[
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3555, 0x3800, 0x4248,
    0x6400, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7d01, 0xfe12,
];

pub(super) const SINGLES: &[u64] = &[
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3f7f_ffff,
    0x3f00_0000,
    0x3fc0_0000,
    0x4020_0000,
    0xc0f0_0000,
    0x4b00_0001,
    0x4f00_0000,
    0xcf00_0000,
    0x4f80_0000,
    0x5f00_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0x7f81_2345,
    0xffc1_2345,
    0x3eaa_aaab,
    0x4049_0fdb,
    0x477f_f000,
    0x3300_0001,
    0x3880_0000,
    0x387f_ffff,
];

pub(super) const DOUBLES: &[u64] = &[
    0,
    1 << 63,
    1,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fef_ffff_ffff_ffff,
    0x3fe0_0000_0000_0000,
    0x3ff8_0000_0000_0000,
    0xc004_0000_0000_0000,
    0x4340_0000_0000_0001,
    0x41df_ffff_ffc0_0000,
    0x41e0_0000_0000_0000,
    0x41ef_ffff_ffe0_0000,
    0xc1e0_0000_0020_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x7ff0_0000_0000_1234,
    0x3fd5_5555_5555_5555,
    0x4009_21fb_5444_2d18,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0001,
];

/// The bits of a float with canonical NaNs: which NaN is returned is not defined.
pub(super) fn canonical32(bits: u32) -> u32 {
    if f32::from_bits(bits).is_nan() { 0x7fc0_0000 } else { bits }
}
