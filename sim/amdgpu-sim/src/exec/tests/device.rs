//! Memory instructions on device memory and LDS, compared with the expected results for their addresses and formats.

use super::*;
use crate::fault::Denied;
use crate::memory::{Agent, AllocKind};
use ::half::{bf16, f16};

/// Bytes of device memory.
const SIZE: usize = 4096;

/// The state after a program has run.
pub(super) struct Outcome {
    pub(super) wave: Wave,
    pub(super) trap: Option<Trap>,
    pub(super) memory: Vec<u8>,
    pub(super) lds: Vec<u8>,
    /// The bytes of each lane.
    pub(super) scratch: Vec<Vec<u8>>,
    base: u64,
}

/// The initial contents of memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Memories<'a> {
    pub(super) device: &'a [u8],
    pub(super) lds: &'a [u8],
    /// Bytes per lane, which contain [`scratch_byte`](Memories::scratch_byte).
    pub(super) scratch: u32,
    /// As gfx942, not gfx90a.
    pub(super) gfx942: bool,
    /// Bits of `compute_pgm_rsrc1` that differ from the default.
    pub(super) rsrc1: u32,
    /// SRAMECC: loads of halves clear the other half.
    pub(super) sramecc: bool,
    /// The effect of loads and stores beyond LDS.
    pub(super) beyond_lds: crate::BeyondLds,
}

impl Memories<'_> {
    /// The initial value of a byte of a lane's scratch.
    pub(super) fn scratch_byte(lane: usize, at: usize) -> u8 {
        (lane * 59 + at * 23 + 5) as u8
    }
}

fn on_device(code: &[Inst], memory: &[u8], lds: &[u8], set_up: &dyn Fn(&mut Wave, u64)) -> Outcome {
    on(code, &Memories { device: memory, lds, ..Memories::default() }, set_up)
}

/// Runs `code` to its end or a trap.
pub(super) fn on(code: &[Inst], memories: &Memories<'_>, set_up: &dyn Fn(&mut Wave, u64)) -> Outcome {
    let (outcome, stop) = attempt(code, memories, set_up);
    assert!(matches!(stop, Stop::End | Stop::Trap), "{stop:?}");
    outcome
}

/// Runs `code` for a turn with memories of known contents. `set_up` receives the address of device memory.
pub(super) fn attempt(code: &[Inst], memories: &Memories<'_>, set_up: &dyn Fn(&mut Wave, u64)) -> (Outcome, Stop) {
    let mut map = BTreeMap::new();
    let mut at = 0;
    for inst in code.iter().copied().chain([inst(Op::s_endpgm, Operand::None, &[imm(0)])]) {
        map.insert(at, Some(inst));
        at += u32::from(inst.size) / 4;
    }
    let rsrc1 = DEFAULT_MODE ^ memories.rsrc1;
    let program = Program::assemble(&map, &vec![0; at as usize], 0x1000, 0, rsrc1, cpu::has_avx2());
    let arch = if memories.gfx942 { crate::isa::Arch::Gfx942 } else { crate::isa::Arch::Gfx90a };
    let program = Program { arch, ..program };
    let mut wave = Wave::new(&program);
    wave.reset(&program);
    wave.set_exec(u64::MAX);
    let device = Arc::new(Memory::new(vec![1 << 20]));
    let base = device.alloc(SIZE as u64, 0, AllocKind::Device).expect("device memory");
    device.write(base, memories.device).expect("inside");
    let mut view = View::new(Arc::clone(&device), Agent::default(), 0..0);
    // A wave's lanes lie interleaved, word by word.
    let bytes = memories.scratch as usize;
    let mut words: Vec<u32> = (0..bytes * LANES / 4)
        .map(|i| u32::from_le_bytes(std::array::from_fn(|b| Memories::scratch_byte(i % LANES, i / LANES * 4 + b))))
        .collect();
    let place = words.as_mut_ptr().expose_provenance() as u64;
    wave.set_slot64(slot::FLAT_SCRATCH, place);
    set_up(&mut wave, base);
    // SAFETY: `words` has the bytes, is aligned to words, is used by nothing else while the wave runs, and outlives it.
    let scratch = unsafe { Scratch::new(place, memories.scratch, 1) };
    let env = Env {
        view: &mut view,
        scratch,
        misaligned: Misaligned::default(),
        beyond_lds: memories.beyond_lds,
        sramecc: memories.sramecc,
        start: Instant::now(),
        outside: &Outside::default(),
        seat: crate::units::Seat::FIRST,
    };
    let mut lds = memories.lds.to_vec();
    let stop = run(&mut wave, &mut Ctx { root: &program, program: &program, lds: &mut lds, env }, 10_000);
    wave.settle_all();
    let mut after = vec![0; SIZE];
    device.read(base, &mut after).expect("inside");
    let trap = wave.trap.clone();
    let scratch = (0..LANES)
        .map(|lane| (0..bytes).map(|at| words[at / 4 * LANES + lane].to_le_bytes()[at % 4]).collect())
        .collect();
    (Outcome { wave, trap, memory: after, lds, scratch, base }, stop)
}

fn noise(count: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..count).map(|_| (random.next() >> 24) as u8).collect()
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn put_word(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// A buffer descriptor in s[8:11].
pub(super) fn descriptor(w: &mut Wave, base: u64, stride: u32, records: u32, flags: u32) {
    w.set_slot(8, base as u32);
    w.set_slot(9, (base >> 32) as u32 & 0xffff | stride << 16);
    w.set_slot(10, records);
    w.set_slot(11, flags);
}

/// A MUBUF or MTBUF instruction on s[8:11], scalar offset 0.
pub(super) fn buffer(op: Op, dst: Operand, address: Operand, data: Operand, mods: Mods) -> Inst {
    Inst { mods, ..inst(op, dst, &[address, data, s(8), Operand::Int(0)]) }
}

fn fault(trap: &Option<Trap>) -> (Denied, Option<u32>) {
    match trap {
        Some(Trap::Memory(fault)) => (fault.why, fault.lane),
        other => panic!("{other:?}"),
    }
}

#[test]
fn scalar_stores() {
    let before = noise(SIZE, 401);
    let store = |op, sources: &[Operand], offset| {
        let plain = inst(op, Operand::None, sources);
        Inst { mods: Mods { offset, ..plain.mods }, ..plain }
    };
    let code = [
        store(Op::s_store_dword, &[s(2), imm(16), s(20)], 16),
        store(Op::s_store_dwordx2, &[s(2), s(4), s(20)], 0),
        store(Op::s_store_dwordx4, &[s(2), imm(64), s(20)], 64),
        store(Op::s_buffer_store_dwordx2, &[s(8), imm(80), s(22)], 80),
        // Two of four words are inside a buffer of 100 bytes.
        store(Op::s_buffer_store_dwordx4, &[s(8), imm(92), s(20)], 92),
        store(Op::s_buffer_store_dword, &[s(8), imm(100), s(20)], 100),
    ];
    let values = [0x1111_2222, 0x3333_4444, 0x5555_6666, 0x7777_8888];
    let result = on_device(&code, &before, &[], &|w, base| {
        w.set_slot64(2, base);
        w.set_slot(4, 32);
        descriptor(w, base + 1024, 0, 100, 0);
        (0..4).for_each(|i| w.set_slot(20 + i, values[usize::from(i)]));
    });
    assert_eq!(result.trap, None);
    let mut expected = before;
    put_word(&mut expected, 16, values[0]);
    (0..2).for_each(|i| put_word(&mut expected, 32 + 4 * i, values[i]));
    (0..4).for_each(|i| put_word(&mut expected, 64 + 4 * i, values[i]));
    (0..2).for_each(|i| put_word(&mut expected, 1024 + 80 + 4 * i, values[2 + i]));
    (0..2).for_each(|i| put_word(&mut expected, 1024 + 92 + 4 * i, values[i]));
    assert!(result.memory == expected);
    let outside = on_device(&code[..1], &[], &[], &|w, base| w.set_slot64(2, base + SIZE as u64 - 16));
    assert_eq!(fault(&outside.trap), (Denied::OutOfBounds, None));
}

#[test]
fn scalar_atomics() {
    let returns = |op, data: u16, glc| {
        let plain = inst(op, Operand::None, &[s(2), imm(8), s(data)]);
        let dst = if glc { s(data) } else { Operand::None };
        Inst { dst, mods: Mods { glc, offset: 8, ..plain.mods }, ..plain }
    };
    let mut before = vec![0; SIZE];
    put_word(&mut before, 8, 7);
    let code = [
        returns(Op::s_atomic_add, 20, true),
        returns(Op::s_atomic_umax, 21, false),
        returns(Op::s_atomic_cmpswap, 22, true),
        returns(Op::s_atomic_add_x2, 24, true),
    ];
    let result = on_device(&code, &before, &[], &|w, base| {
        w.set_slot64(2, base);
        w.set_slot(20, 5);
        w.set_slot(21, 40);
        w.set_slot(22, 99);
        w.set_slot(23, 40);
        w.set_slot64(24, 1 << 32);
    });
    assert_eq!(result.trap, None);
    assert_eq!([20, 21, 22, 24, 25].map(|i| result.wave.slot(i)), [7, 40, 40, 99, 0]);
    assert_eq!((word(&result.memory, 8), word(&result.memory, 12)), (99, 1));
    // Beyond a buffer: nothing is changed, and zero is returned.
    let plain = inst(Op::s_buffer_atomic_add, s(20), &[s(8), imm(8), s(20)]);
    let code = [Inst { mods: Mods { glc: true, offset: 8, ..plain.mods }, ..plain }];
    for (records, old, new) in [(12, 7, 12), (11, 0, 7)] {
        let result = on_device(&code, &before, &[], &|w, base| {
            descriptor(w, base, 0, records, 0);
            w.set_slot(20, 5);
        });
        assert_eq!((result.wave.slot(20), word(&result.memory, 8)), (old, new), "{records} bytes");
    }
    let odd = on_device(&[returns(Op::s_atomic_add_x2, 20, false)], &before, &[], &|w, base| w.set_slot64(2, base + 4));
    assert_eq!(fault(&odd.trap), (Denied::Misaligned(8), None));
}

#[test]
fn loads_straight_to_local_memory() {
    let before = noise(SIZE, 402);
    let lds = noise(1024, 403);
    let exec = 0xf0ff_1234_5678_9abd;
    let m0 = 64;
    for (op, bytes, signed) in [
        (Op::global_load_lds_ubyte, 1, false),
        (Op::global_load_lds_sbyte, 1, true),
        (Op::global_load_lds_ushort, 2, false),
        (Op::global_load_lds_sshort, 2, true),
        (Op::global_load_lds_dword, 4, false),
    ] {
        let plain = inst(op, Operand::None, &[v(0), Operand::None, Operand::None]);
        let code = [Inst { mods: Mods { offset: 12, ..plain.mods }, ..plain }];
        let address = |lane: usize| 40 + (lane * 52) % 3000;
        let result = on_device(&code, &before, &lds, &|w, base| {
            w.set_exec(exec);
            w.set_slot(super::super::slot::M0, m0);
            (0..LANES).for_each(|lane| set_value(w, 0, 2, lane, base + address(lane) as u64));
        });
        assert_eq!(result.trap, None, "{op}");
        let mut expected = lds.clone();
        for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
            let value = word(&before, address(lane) + 12);
            let value = match (bytes, signed) {
                (1, false) => value & 0xff,
                (1, true) => i32::from(value as i8) as u32,
                (2, false) => value & 0xffff,
                (2, true) => i32::from(value as i16) as u32,
                _ => value,
            };
            // The offset applies to both memories.
            put_word(&mut expected, m0 as usize + 12 + 4 * lane, value);
        }
        assert!(result.lds == expected, "{op}");
    }
    // Through a buffer, zeros for lanes beyond it.
    let mods = Mods { lds: true, offen: true, offset: 4, ..Mods::default() };
    let code = [buffer(Op::buffer_load_dword, Operand::None, v(0), Operand::None, mods)];
    let result = on_device(&code, &before, &lds, &|w, base| {
        w.set_slot(super::super::slot::M0, m0);
        descriptor(w, base, 0, 600, 0);
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = 12 * lane as u32);
    });
    assert_eq!(result.trap, None);
    for lane in 0..LANES {
        let expected = if 12 * lane + 8 <= 600 { word(&before, 12 * lane + 4) } else { 0 };
        assert_eq!(word(&result.lds, m0 as usize + 4 + 4 * lane), expected, "lane {lane}");
    }
    // And back.
    let code = [buffer(Op::buffer_store_lds_dword, Operand::None, v(0), Operand::None, mods)];
    let result = on_device(&code, &before, &lds, &|w, base| {
        w.set_slot(super::super::slot::M0, m0);
        descriptor(w, base, 0, 600, 0);
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = 12 * lane as u32);
    });
    assert_eq!(result.trap, None);
    let mut expected = before.clone();
    for lane in (0..LANES).filter(|lane| 12 * lane + 8 <= 600) {
        put_word(&mut expected, 12 * lane + 4, word(&lds, m0 as usize + 4 + 4 * lane));
    }
    assert!(result.memory == expected);
    // Beyond LDS: the first such lane is reported.
    let plain = inst(Op::global_load_lds_dword, Operand::None, &[v(0), Operand::None, Operand::None]);
    let result = on_device(&[plain], &before, &lds, &|w, base| {
        w.set_slot(super::super::slot::M0, 1000);
        (0..LANES).for_each(|lane| set_value(w, 0, 2, lane, base));
    });
    assert_eq!(fault(&result.trap), (Denied::OutOfBounds, Some(6)));
}

/// Bits of the components, lowest first, as the data formats are numbered.
const DATA_FORMATS: [(u32, &[u32]); 14] = [
    (1, &[8]),
    (2, &[16]),
    (3, &[8, 8]),
    (4, &[32]),
    (5, &[16, 16]),
    (6, &[11, 11, 10]),
    (7, &[10, 11, 11]),
    (8, &[2, 10, 10, 10]),
    (9, &[10, 10, 10, 2]),
    (10, &[8, 8, 8, 8]),
    (11, &[32, 32]),
    (12, &[16, 16, 16, 16]),
    (13, &[32, 32, 32]),
    (14, &[32, 32, 32, 32]),
];

/// The value of a component in the register; `None` for a format that does not exist.
fn component(bits: u64, width: u32, number: u32, widths: &[u32]) -> Option<u32> {
    let signed = (bits << (64 - width)) as i64 >> (64 - width);
    let most = ((1_u64 << width) - 1) as f64;
    let packed = widths.contains(&10);
    if width == 32 && number < 4 {
        return None;
    }
    let float = match number {
        0 => bits as f64 / most,
        1 => (signed as f64 / ((1_u64 << (width - 1)) - 1) as f64).max(-1.0),
        2 => bits as f64,
        3 => signed as f64,
        4 => return Some(bits as u32),
        5 => return Some(signed as u32),
        7 if width == 32 => return Some(bits as u32),
        7 if width == 16 => f16::from_bits(bits as u16).to_f64(),
        // No sign, five exponent bits.
        7 if packed && widths.len() == 3 => {
            let (mantissa, fraction) = (width - 5, bits & ((1 << (width - 5)) - 1));
            match bits >> mantissa {
                0 => fraction as f64 * 2_f64.powi(-14 - mantissa as i32),
                31 if fraction == 0 => f64::INFINITY,
                31 => f64::NAN,
                e => (1.0 + fraction as f64 / f64::from(1 << mantissa)) * 2_f64.powi(e as i32 - 15),
            }
        }
        _ => return None,
    };
    Some((float as f32).to_bits())
}

fn same(a: u32, b: u32) -> bool {
    a == b || f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

#[test]
fn typed_loads_and_stores() {
    let before = noise(SIZE, 404);
    let mut formats = 0;
    for (data, widths) in DATA_FORMATS {
        for number in [0, 1, 2, 3, 4, 5, 7] {
            let bytes = widths.iter().sum::<u32>() / 8;
            let format = (data | number << 4) as u8;
            let mods = Mods { format, offen: true, ..Mods::default() };
            let load = buffer(Op::tbuffer_load_format_xyzw, v(4), v(0), Operand::None, mods);
            let store = buffer(Op::tbuffer_store_format_xyzw, Operand::None, v(1), v(4), mods);
            let set_up = |w: &mut Wave, base: u64| {
                descriptor(w, base, 0, 4096, 0);
                for lane in 0..LANES as u32 {
                    w.row_mut(0)[lane as usize] = lane * bytes;
                    w.row_mut(1)[lane as usize] = 2048 + lane * bytes;
                }
            };
            if component(0, widths[0], number, widths).is_none() {
                let result = on_device(&[load], &before, &[], &set_up);
                assert!(matches!(result.trap, Some(Trap::Unsupported(_))), "format {data} {number}");
                continue;
            }
            formats += 1;
            let result = on_device(&[load, store], &before, &[], &set_up);
            assert_eq!(result.trap, None);
            for lane in 0..LANES {
                let element = &before[lane * bytes as usize..][..bytes as usize];
                let all = element.iter().rev().fold(0_u128, |all, b| all << 8 | u128::from(*b));
                let mut at = 0;
                for i in 0..4 {
                    let got = result.wave.row(4 + i as u16)[lane];
                    let expected = match widths.get(i) {
                        Some(width) => {
                            let bits = (all >> at) as u64 & ((1 << width) - 1);
                            at += width;
                            component(bits, *width, number, widths).expect("a format")
                        }
                        None if i < 3 => 0,
                        None if number == 4 || number == 5 => 1,
                        None => 1.0_f32.to_bits(),
                    };
                    assert!(same(got, expected), "format {data} {number}: {got:#x}, not {expected:#x}");
                }
                // A loaded value is stored unchanged, except for NaNs and the second code of -1.
                let back = &result.memory[2048 + lane * bytes as usize..][..bytes as usize];
                let reloaded = |element: &[u8]| {
                    let all = element.iter().rev().fold(0_u128, |all, b| all << 8 | u128::from(*b));
                    let mut at = 0;
                    let values: Vec<u32> = widths
                        .iter()
                        .map(|width| {
                            let bits = (all >> at) as u64 & ((1 << width) - 1);
                            at += width;
                            component(bits, *width, number, widths).expect("a format")
                        })
                        .collect();
                    values
                };
                for (a, b) in reloaded(element).into_iter().zip(reloaded(back)) {
                    assert!(same(a, b), "format {data} {number}: {element:x?} was stored as {back:x?}");
                }
            }
        }
    }
    assert_eq!(formats, 10 * 6 + 5 + 4 * 3, "all formats were tried");
}

#[test]
fn what_does_not_fit_a_format_is_limited() {
    // 8_8_8_8: as unorm, snorm, uint, sint.
    let cases: [(u32, [u32; 4], u32); 4] = [
        (0, [2.0_f32, -1.0, 0.5, f32::NAN].map(f32::to_bits), 0x0080_00ff),
        (1, [2.0_f32, -3.0, 0.5, f32::NAN].map(f32::to_bits), 0x0040_817f),
        (4, [300, 255, 0, 7], 0x0700_ffff),
        (5, [300, (-300_i32) as u32, (-1_i32) as u32, 7], 0x07ff_807f),
    ];
    for (number, values, expected) in cases {
        let mods = Mods { format: (10 | number << 4) as u8, ..Mods::default() };
        let code = buffer(Op::tbuffer_store_format_xyzw, Operand::None, Operand::None, v(4), mods);
        let result = on_device(&[code], &[], &[], &|w, base| {
            w.set_exec(1);
            descriptor(w, base, 0, 64, 0);
            (0..4).for_each(|i| w.row_mut(4 + i)[0] = values[usize::from(i)]);
        });
        assert_eq!(word(&result.memory, 0), expected, "number format {number}");
    }
}

#[test]
fn formats_and_selections_of_the_descriptor() {
    let before = noise(SIZE, 405);
    // 16_16_16_16 uint; x = alpha, y = 1, z = 0, w = red.
    let select = 7 | 1 << 3 | 4 << 9;
    let flags = 12 << 15 | 4 << 12 | select;
    let mods = Mods { idxen: true, ..Mods::default() };
    let code = [
        buffer(Op::buffer_load_format_xyzw, v(4), v(0), Operand::None, mods),
        buffer(Op::buffer_load_format_d16_xyz, v(8), v(0), Operand::None, mods),
        buffer(Op::buffer_load_format_d16_hi_x, v(12), v(0), Operand::None, mods),
        buffer(Op::buffer_load_format_x, v(14), v(0), Operand::None, Mods { tfe: true, ..mods }),
    ];
    let result = on_device(&code, &before, &[], &|w, base| {
        descriptor(w, base, 8, 60, flags);
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
        w.row_mut(12).fill(0x1234_5678);
        w.row_mut(15).fill(77);
    });
    assert_eq!(result.trap, None);
    for lane in 0..LANES {
        let half = |i: usize| u32::from(u16::from_le_bytes([before[8 * lane + 2 * i], before[8 * lane + 2 * i + 1]]));
        let inside = lane < 60;
        let expect = |x: u32| if inside { x } else { 0 };
        let got: Vec<u32> = (4..8).chain([8, 9, 12, 14, 15]).map(|r| result.wave.row(r)[lane]).collect();
        let alpha = expect(half(3));
        let expected =
            [alpha, expect(1), 0, expect(half(0)), alpha | expect(1) << 16, 0, alpha << 16 | 0x5678, alpha, 0];
        assert_eq!(got, expected, "lane {lane}");
    }
    // Halves: 32_32_32_32 float to halves and back.
    let floats: Vec<u8> = (0..16).flat_map(|i| (i as f32 * 1.1 - 5.0).to_le_bytes()).collect();
    let flags = 14 << 15 | 7 << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9;
    let code = [
        buffer(Op::buffer_load_format_d16_xyzw, v(4), v(0), Operand::None, mods),
        buffer(Op::buffer_store_format_d16_xyzw, Operand::None, v(1), v(4), mods),
    ];
    let result = on_device(&code, &floats, &[], &|w, base| {
        w.set_exec(15);
        descriptor(w, base, 16, 64, flags);
        for lane in 0..4 {
            w.row_mut(0)[lane] = lane as u32;
            w.row_mut(1)[lane] = 20 + lane as u32;
        }
    });
    for i in 0..16 {
        let rounded = f16::from_f32(i as f32 * 1.1 - 5.0);
        let register = result.wave.row(4 + (i as u16 % 4) / 2)[i / 4];
        assert_eq!((register >> (16 * (i % 2))) as u16, rounded.to_bits());
        assert_eq!(f32::from_bits(word(&result.memory, 320 + 4 * i)), rounded.to_f32());
    }
}

#[test]
fn typed_instructions_move_as_many_components_as_they_name() {
    // 16_16_16_16, as signed integers: in the descriptor and in the instruction.
    let format = 12 | 5 << 4;
    let flags = 12 << 15 | 5 << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9;
    let before = noise(SIZE, 408);
    let cases = [
        (Op::buffer_load_format_x, Op::buffer_store_format_x, 1, false),
        (Op::buffer_load_format_xy, Op::buffer_store_format_xy, 2, false),
        (Op::buffer_load_format_xyz, Op::buffer_store_format_xyz, 3, false),
        (Op::buffer_load_format_xyzw, Op::buffer_store_format_xyzw, 4, false),
        (Op::buffer_load_format_d16_x, Op::buffer_store_format_d16_x, 1, true),
        (Op::buffer_load_format_d16_xy, Op::buffer_store_format_d16_xy, 2, true),
        (Op::buffer_load_format_d16_xyz, Op::buffer_store_format_d16_xyz, 3, true),
        (Op::buffer_load_format_d16_xyzw, Op::buffer_store_format_d16_xyzw, 4, true),
        (Op::buffer_load_format_d16_hi_x, Op::buffer_store_format_d16_hi_x, 1, true),
        (Op::tbuffer_load_format_x, Op::tbuffer_store_format_x, 1, false),
        (Op::tbuffer_load_format_xy, Op::tbuffer_store_format_xy, 2, false),
        (Op::tbuffer_load_format_xyz, Op::tbuffer_store_format_xyz, 3, false),
        (Op::tbuffer_load_format_xyzw, Op::tbuffer_store_format_xyzw, 4, false),
        (Op::tbuffer_load_format_d16_x, Op::tbuffer_store_format_d16_x, 1, true),
        (Op::tbuffer_load_format_d16_xy, Op::tbuffer_store_format_d16_xy, 2, true),
        (Op::tbuffer_load_format_d16_xyz, Op::tbuffer_store_format_d16_xyz, 3, true),
        (Op::tbuffer_load_format_d16_xyzw, Op::tbuffer_store_format_d16_xyzw, 4, true),
    ];
    for (load, store, count, halves) in cases {
        let mods = Mods { offen: true, format, ..Mods::default() };
        let code = [buffer(load, v(4), v(0), Operand::None, mods), buffer(store, Operand::None, v(1), v(4), mods)];
        let result = on_device(&code, &before, &[], &|w, base| {
            descriptor(w, base, 0, 4096, flags);
            for lane in 0..LANES as u32 {
                w.row_mut(0)[lane as usize] = 8 * lane;
                w.row_mut(1)[lane as usize] = 2048 + 8 * lane;
            }
            (4..9).for_each(|row| w.row_mut(row).fill(0x5555_6666));
        });
        assert_eq!(result.trap, None, "{load}");
        let high = load == Op::buffer_load_format_d16_hi_x;
        for lane in 0..LANES {
            let half = |i: usize| i16::from_le_bytes([before[8 * lane + 2 * i], before[8 * lane + 2 * i + 1]]);
            let mut expected = [0x5555_6666_u32; 5];
            for i in 0..count {
                match (halves, high) {
                    (false, _) => expected[i] = i32::from(half(i)) as u32,
                    (true, true) => expected[0] = 0x6666 | u32::from(half(0) as u16) << 16,
                    (true, false) => {
                        let shift = 16 * (i % 2);
                        expected[i / 2] = expected[i / 2] & !(0xffff << shift) | u32::from(half(i) as u16) << shift;
                    }
                }
            }
            let got: [u32; 5] = std::array::from_fn(|i| result.wave.row(4 + i as u16)[lane]);
            assert_eq!(got, expected, "{load}, lane {lane}");
            // A store writes the whole element: missing components are zero.
            for i in 0..4 {
                let at = 2048 + 8 * lane + 2 * i;
                let stored = i16::from_le_bytes([result.memory[at], result.memory[at + 1]]);
                assert_eq!(stored, if i < count { half(i) } else { 0 }, "{store}, lane {lane}, component {i}");
            }
        }
    }
}

/// Tensile reads pairs of f64 with the second beyond the matrix.
#[test]
fn words_of_a_lane_are_inside_a_buffer_or_outside_each_by_itself() {
    let before = noise(SIZE, 407);
    let mods = Mods { offen: true, ..Mods::default() };
    for (load, store, words) in [
        (Op::buffer_load_dword, Op::buffer_store_dword, 1),
        (Op::buffer_load_dwordx2, Op::buffer_store_dwordx2, 2),
        (Op::buffer_load_dwordx3, Op::buffer_store_dwordx3, 3),
        (Op::buffer_load_dwordx4, Op::buffer_store_dwordx4, 4),
    ] {
        // The last bytes are not a whole word.
        for records in [0_u32, 16 * 20, 16 * 20 + 4, 16 * 20 + 11, 16 * 20 + 12, 16 * LANES as u32] {
            let code = [buffer(load, v(4), v(0), Operand::None, mods), buffer(store, Operand::None, v(0), v(8), mods)];
            let result = on_device(&code, &before, &[], &|w, base| {
                descriptor(w, base, 0, records, 0);
                for lane in 0..LANES {
                    w.row_mut(0)[lane] = 16 * lane as u32;
                    (4..8).for_each(|row| w.row_mut(row)[lane] = 0x5555);
                    (8..12).for_each(|row| w.row_mut(row)[lane] = u32::from(row) << 8 | lane as u32);
                }
            });
            assert_eq!(result.trap, None);
            for lane in 0..LANES {
                for i in 0..4 {
                    let at = 16 * lane + 4 * i;
                    let inside = i < words && at + 4 <= records as usize;
                    let loaded = if inside {
                        word(&before, at)
                    } else if i < words {
                        0
                    } else {
                        0x5555
                    };
                    assert_eq!(result.wave.row(4 + i as u16)[lane], loaded, "{load} of {records}: {lane}, {i}");
                    let stored = if inside { (8 + i as u32) << 8 | lane as u32 } else { word(&before, at) };
                    assert_eq!(word(&result.memory, at), stored, "{store} of {records}: {lane}, {i}");
                }
            }
        }
    }
}

#[test]
fn swizzled_buffers_interleave() {
    let before = noise(SIZE, 406);
    // Elements of 4 bytes, 16 records interleaved, 16 bytes a record, the lane's number added to the index.
    for add_lane in [false, true] {
        let flags = 1 << 19 | 1 << 21 | u32::from(add_lane) << 23;
        let mods = Mods { idxen: true, offen: true, offset: 4, ..Mods::default() };
        let code = [buffer(Op::buffer_load_dword, v(4), v(0), Operand::None, mods)];
        let offset = |lane: usize| 4 * (lane % 3);
        let result = on_device(&code, &before, &[], &|w, base| {
            descriptor(w, base, 16, 60, flags);
            w.set_slot(9, w.slot(9) | 1 << 31);
            for lane in 0..LANES {
                w.row_mut(0)[lane] = if add_lane { 0 } else { lane as u32 };
                w.row_mut(1)[lane] = offset(lane) as u32;
            }
        });
        assert_eq!(result.trap, None);
        for lane in 0..LANES {
            let offset = offset(lane) + 4;
            // Each group of 16 records has its first words side by side, then its second words.
            let at = (lane / 16) * 16 * 16 + (offset / 4) * 16 * 4 + (lane % 16) * 4;
            let expected = if lane < 60 { word(&before, at) } else { 0 };
            assert_eq!(result.wave.row(4)[lane], expected, "lane {lane}, {add_lane}");
        }
    }
}

/// The result of a float atomic according to the reference arithmetic.
type Update = fn(u64, u64) -> u64;

fn add32(a: u64, b: u64) -> u64 {
    // Exact in double for these operands, then rounded once.
    u64::from(((f64::from(f32::from_bits(a as u32)) + f64::from(f32::from_bits(b as u32))) as f32).to_bits())
}

fn add64(a: u64, b: u64) -> u64 {
    (f64::from_bits(a) + f64::from_bits(b)).to_bits()
}

fn halves(a: u64, b: u64) -> u64 {
    let add = |x: u64, y: u64| f16::from_f64(f16::from_bits(x as u16).to_f64() + f16::from_bits(y as u16).to_f64());
    u64::from(add(a, b).to_bits()) | u64::from(add(a >> 16, b >> 16).to_bits()) << 16
}

fn brains(a: u64, b: u64) -> u64 {
    let add = |x: u64, y: u64| bf16::from_f64(bf16::from_bits(x as u16).to_f64() + bf16::from_bits(y as u16).to_f64());
    u64::from(add(a, b).to_bits()) | u64::from(add(a >> 16, b >> 16).to_bits()) << 16
}

fn min64(a: u64, b: u64) -> u64 {
    f64::from_bits(a).min(f64::from_bits(b)).to_bits()
}

fn max64(a: u64, b: u64) -> u64 {
    f64::from_bits(a).max(f64::from_bits(b)).to_bits()
}

fn min32(a: u64, b: u64) -> u64 {
    u64::from(f32::from_bits(a as u32).min(f32::from_bits(b as u32)).to_bits())
}

fn max32(a: u64, b: u64) -> u64 {
    u64::from(f32::from_bits(a as u32).max(f32::from_bits(b as u32)).to_bits())
}

#[test]
fn atomics_on_floats() {
    let cases: [(Op, usize, Update); 33] = [
        (Op::global_atomic_add_f32, 4, add32),
        (Op::flat_atomic_add_f32, 4, add32),
        (Op::buffer_atomic_add_f32, 4, add32),
        (Op::ds_add_f32, 4, add32),
        (Op::ds_add_rtn_f32, 4, add32),
        (Op::ds_min_f32, 4, min32),
        (Op::ds_max_f32, 4, max32),
        (Op::ds_min_rtn_f32, 4, min32),
        (Op::ds_max_rtn_f32, 4, max32),
        (Op::global_atomic_add_f64, 8, add64),
        (Op::flat_atomic_add_f64, 8, add64),
        (Op::buffer_atomic_add_f64, 8, add64),
        (Op::ds_add_f64, 8, add64),
        (Op::ds_add_rtn_f64, 8, add64),
        (Op::ds_min_rtn_f64, 8, min64),
        (Op::ds_max_rtn_f64, 8, max64),
        (Op::global_atomic_min_f64, 8, min64),
        (Op::global_atomic_max_f64, 8, max64),
        (Op::flat_atomic_min_f64, 8, min64),
        (Op::flat_atomic_max_f64, 8, max64),
        (Op::buffer_atomic_min_f64, 8, min64),
        (Op::buffer_atomic_max_f64, 8, max64),
        (Op::global_atomic_pk_add_f16, 4, halves),
        (Op::flat_atomic_pk_add_f16, 4, halves),
        (Op::buffer_atomic_pk_add_f16, 4, halves),
        (Op::ds_pk_add_f16, 4, halves),
        (Op::ds_pk_add_rtn_f16, 4, halves),
        (Op::global_atomic_pk_add_bf16, 4, brains),
        (Op::flat_atomic_pk_add_bf16, 4, brains),
        (Op::ds_pk_add_bf16, 4, brains),
        (Op::ds_pk_add_rtn_bf16, 4, brains),
        (Op::ds_min_f64, 8, min64),
        (Op::ds_max_f64, 8, max64),
    ];
    for (op, bytes, update) in cases {
        let name = op.mnemonic();
        let local = name.starts_with("ds_");
        // Three lanes share a word.
        let place = |lane: usize| bytes * (lane / 3);
        let number = |seed: u64| -> u64 {
            let x = (seed * 37 % 101) as f64 * 0.25 - 11.0;
            match (bytes, name.contains("bf16"), name.contains("f16")) {
                (8, ..) => x.to_bits(),
                (_, true, _) => {
                    u64::from(bf16::from_f64(x).to_bits()) | u64::from(bf16::from_f64(x * 3.1).to_bits()) << 16
                }
                (_, _, true) => {
                    u64::from(f16::from_f64(x).to_bits()) | u64::from(f16::from_f64(x * 3.1).to_bits()) << 16
                }
                _ => u64::from((x as f32).to_bits()),
            }
        };
        let mut before = vec![0; 512];
        for i in 0..512 / bytes {
            before[bytes * i..][..bytes].copy_from_slice(&number(i as u64 + 7).to_le_bytes()[..bytes]);
        }
        let registers = bytes as u16 / 4;
        for returns in [false, true] {
            if local && returns != name.contains("rtn") {
                continue;
            }
            let dst = if returns { v(8) } else { Operand::None };
            let code = if local {
                inst(op, dst, &[v(0), v(4)])
            } else if name.starts_with("buffer") {
                let mods = Mods { offen: true, glc: returns, ..Mods::default() };
                // A returning one brings the old value where its data was.
                buffer(op, if returns { v(4) } else { Operand::None }, v(0), v(4), mods)
            } else {
                let plain = inst(op, dst, &[v(0), v(4), Operand::None]);
                Inst { mods: Mods { glc: returns, ..plain.mods }, ..plain }
            };
            let (device, lds): (&[u8], &[u8]) = if local { (&[], &before) } else { (&before, &[]) };
            let exec = !(1 << 17);
            let result = on_device(&[code], device, lds, &|w, base| {
                w.set_exec(exec);
                descriptor(w, base, 0, 512, 0);
                for lane in 0..LANES {
                    let flat = name.starts_with("global") || name.starts_with("flat");
                    set_value(w, 0, 2, lane, if flat { base } else { 0 } + place(lane) as u64);
                    set_value(w, 4, registers, lane, number(lane as u64));
                }
            });
            assert_eq!(result.trap, None, "{op}");
            let mut expected = before.clone();
            for lane in (0..LANES).filter(|lane| exec >> lane & 1 == 1) {
                let at = place(lane);
                let old = if bytes == 8 { long(&expected, at) } else { u64::from(word(&expected, at)) };
                let new = update(old, number(lane as u64));
                expected[at..at + bytes].copy_from_slice(&new.to_le_bytes()[..bytes]);
                if returns {
                    let register = if name.starts_with("buffer") { 4 } else { 8 };
                    assert_eq!(value(&result.wave, register, registers, lane), old, "{op}, lane {lane}");
                }
            }
            let after = if local { &result.lds } else { &result.memory };
            assert!(after[..512] == expected[..], "{op}, returning {returns}");
            assert!(result.base != 0);
        }
    }
}

#[test]
fn denormals_in_atomic_sums() {
    let (tiny, small) = (0x0000_0003_u32, 0x0080_0000_u32);
    // The least normal number less a denormal is a denormal.
    let cases = [(tiny, tiny), (small, tiny | 1 << 31), (small, small)];
    let lds: Vec<u8> = cases.iter().flat_map(|(a, _)| a.to_le_bytes()).collect();
    let sums = |code: &Inst, memories: &Memories<'_>| {
        let result = on(&[*code], memories, &|w, base| {
            w.set_exec(7);
            for lane in 0..3 {
                set_value(w, 0, 2, lane, if memories.lds.is_empty() { base } else { 0 } + 4 * lane as u64);
                w.row_mut(4)[lane] = cases[lane].1;
            }
        });
        assert_eq!(result.trap, None);
        let after = if memories.lds.is_empty() { result.memory } else { result.lds };
        [0, 4, 8].map(|at| word(&after, at))
    };
    let (kept, flushed) = ([6, small - 3, 2 * small], [0, small, 2 * small]);
    let local = inst(Op::ds_add_f32, Operand::None, &[v(0), v(4)]);
    let usual = Memories { lds: &lds, ..Memories::default() };
    assert_eq!(sums(&local, &usual), kept);
    // FLOAT_DENORM_MODE_32 in bits 17:16: neither, operands, results.
    assert_eq!(sums(&local, &Memories { rsrc1: 3 << 16, ..usual }), flushed);
    assert_eq!(sums(&local, &Memories { rsrc1: 2 << 16, ..usual }), [0, 0, 2 * small]);
    assert_eq!(sums(&local, &Memories { rsrc1: 1 << 16, ..usual }), flushed);
    let global = inst(Op::global_atomic_add_f32, Operand::None, &[v(0), v(4), Operand::None]);
    let device = Memories { device: &lds, ..Memories::default() };
    assert_eq!(sums(&global, &device), flushed, "gfx90a");
    assert_eq!(sums(&global, &Memories { gfx942: true, ..device }), kept, "gfx942");
}

#[test]
fn compare_and_store_of_floats() {
    // Zeros of both signs are equal, NaNs are not.
    let numbers = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, -2.0, 1e-40, 3.0];
    for (op, bytes, returns) in [
        (Op::ds_cmpst_f32, 4, false),
        (Op::ds_cmpst_rtn_f32, 4, true),
        (Op::ds_cmpst_f64, 8, false),
        (Op::ds_cmpst_rtn_f64, 8, true),
    ] {
        let bits = |x: f64| if bytes == 4 { u64::from((x as f32).to_bits()) } else { x.to_bits() };
        let lds: Vec<u8> = (0..64).flat_map(|i| bits(numbers[i % 8]).to_le_bytes()[..bytes].to_vec()).collect();
        let code = inst(op, if returns { v(8) } else { Operand::None }, &[v(0), v(2), v(4)]);
        let result = on_device(&[code], &[], &lds, &|w, _| {
            for lane in 0..LANES {
                w.row_mut(0)[lane] = (bytes * lane) as u32;
                set_value(w, 2, 2, lane, bits(numbers[lane / 8]));
                set_value(w, 4, 2, lane, bits(lane as f64 + 100.0));
            }
        });
        assert_eq!(result.trap, None, "{op}");
        for lane in 0..LANES {
            let (old, comparand) = (numbers[lane % 8], numbers[lane / 8]);
            let expected = if old == comparand { bits(lane as f64 + 100.0) } else { bits(old) };
            let at = bytes * lane;
            let got = if bytes == 8 { long(&result.lds, at) } else { u64::from(word(&result.lds, at)) };
            assert_eq!(got, expected, "{op}: {old} with {comparand}");
            if returns {
                assert_eq!(value(&result.wave, 8, bytes as u16 / 4, lane), bits(old), "{op}");
            }
        }
    }
}

#[test]
fn conditional_exchange_of_local_words() {
    let lds = noise(1024, 407);
    let code = inst(Op::ds_condxchg32_rtn_b64, v(4), &[v(0), v(2)]);
    let data = |lane: usize| (lane as u64 * 0x1_0001) | (lane as u64 & 1) << 31 | (lane as u64 >> 1 & 1) << 63;
    let result = on_device(&[code], &[], &lds, &|w, _| {
        for lane in 0..LANES {
            w.row_mut(0)[lane] = 8 * lane as u32;
            set_value(w, 2, 2, lane, data(lane));
        }
    });
    for lane in 0..LANES {
        assert_eq!(value(&result.wave, 4, 2, lane), long(&lds, 8 * lane));
        for half in 0..2 {
            let new = (data(lane) >> (32 * half)) as u32;
            let old = word(&lds, 8 * lane + 4 * half);
            let expected = if new >> 31 == 1 { new & 0x7fff_ffff } else { old };
            assert_eq!(word(&result.lds, 8 * lane + 4 * half), expected, "lane {lane}");
        }
    }
}
