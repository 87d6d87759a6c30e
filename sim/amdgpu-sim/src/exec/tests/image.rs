//! Images, against models of their own: fields of texels in double precision, addresses counted out, and the formulas of OpenGL's
//! specification for coordinates outside of an image.

use super::device::{Memories, Outcome, on};
use super::*;
use crate::fault::Denied;
use crate::isa::{Flags, Image};
use ::half::f16;

/// Bytes of device memory that [`on`] has.
const SIZE: usize = 4096;
/// Where the data registers begin; the address is before them.
const DATA: u16 = 4;

/// An image descriptor in the making.
#[derive(Clone, Copy)]
struct Description {
    kind: u32,
    size: [u32; 3],
    pitch: u32,
    data: u32,
    number: u32,
    select: [u32; 4],
    first_layer: u32,
    levels: [u32; 2],
    tiling: u32,
    compressed: bool,
}

const LINE: u32 = 8;
const PLANE: u32 = 9;
const VOLUME: u32 = 10;
const CUBE: u32 = 11;
const LINES: u32 = 12;
const PLANES: u32 = 13;
/// Four words.
const WORDS4: u32 = 14;
const UNORM: u32 = 0;
const UINT: u32 = 4;
const SINT: u32 = 5;
const FLOAT: u32 = 7;
const SRGB: u32 = 9;

impl Description {
    fn new(kind: u32, size: [u32; 3], data: u32, number: u32) -> Self {
        let select = [4, 5, 6, 7];
        Self {
            kind,
            size,
            pitch: size[0],
            data,
            number,
            select,
            first_layer: 0,
            levels: [0, 0],
            tiling: 0,
            compressed: false,
        }
    }

    fn words(&self, base: u64) -> [u32; 8] {
        let [width, height, depth] = self.size.map(|s| s - 1);
        let select: u32 = self.select.iter().enumerate().map(|(i, s)| s << (3 * i)).sum();
        [
            (base >> 8) as u32,
            (base >> 40) as u32 | self.data << 20 | self.number << 26,
            width | height << 14,
            select | self.levels[0] << 12 | self.levels[1] << 16 | self.tiling << 20 | self.kind << 28,
            depth | (self.pitch - 1) << 13,
            self.first_layer,
            u32::from(self.compressed) << 21,
            0,
        ]
    }
}

/// A sampler descriptor in the making: the clamp modes of the three axes are the same.
#[derive(Clone, Copy, Default)]
struct Sampling {
    clamp: u32,
    filter: u32,
    border: u32,
    reduction: u32,
    unnormalized: bool,
    separate_faces: bool,
}

impl Sampling {
    fn words(&self) -> [u32; 4] {
        let clamp = self.clamp * 0o111;
        [
            clamp | u32::from(self.unnormalized) << 15 | u32::from(self.separate_faces) << 28 | self.reduction << 29,
            0xfff << 12,
            self.filter << 20 | self.filter << 22,
            self.border << 30,
        ]
    }
}

fn mimg(op: Op, image: Image, glc: bool) -> Inst {
    let info = op.info();
    let (atomic, samples) = (info.is(Flags::atomic), op == Op::image_sample);
    let stores = info.src[1] != crate::isa::Type::None;
    let mut code = inst(op, Operand::None, &[v(0), Operand::None, s(8), Operand::None]);
    if stores {
        code.src[1] = v(DATA);
    }
    if !stores || atomic && glc {
        code.dst = v(DATA);
    }
    if samples {
        code.src[3] = s(16);
    }
    code.mods.image = Some(Image { unorm: !samples, ..image });
    code.mods.glc = glc;
    code
}

fn all(dmask: u8) -> Image {
    Image { dmask, ..Image::default() }
}

/// Runs one instruction. `set_up` sets addresses and data.
fn run_one(code: Inst, image: &Description, memory: &[u8], set_up: &dyn Fn(&mut Wave)) -> Outcome {
    sampled(code, image, Sampling::default(), memory, set_up)
}

fn sampled(code: Inst, image: &Description, sampler: Sampling, memory: &[u8], set_up: &dyn Fn(&mut Wave)) -> Outcome {
    on(&[code], &Memories { device: memory, ..Memories::default() }, &|w, base| {
        image.words(base).into_iter().enumerate().for_each(|(i, word)| w.set_slot(8 + i as u16, word));
        sampler.words().into_iter().enumerate().for_each(|(i, word)| w.set_slot(16 + i as u16, word));
        // What the instruction is not to touch.
        (DATA..DATA + 5).for_each(|row| w.row_mut(row).fill(0xdead_0000 | u32::from(row)));
        set_up(w);
    })
}

fn registers(outcome: &Outcome, lane: usize) -> [u32; 5] {
    assert_eq!(outcome.trap, None);
    std::array::from_fn(|i| outcome.wave.row(DATA + i as u16)[lane])
}

fn noise(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..SIZE).map(|_| (random.next() >> 20) as u8).collect()
}

/// Why an instruction is refused.
fn refusal(code: Inst, image: &Description, sampler: Sampling) -> &'static str {
    match sampled(code, image, sampler, &[], &|w| w.row_mut(0).fill(0)).trap {
        Some(Trap::Unsupported(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// The data formats: number, and the widths of the components from the lowest bit on.
const FORMATS: [(u32, &[u32]); 18] = [
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
    (16, &[5, 6, 5]),
    (17, &[5, 5, 5, 1]),
    (18, &[1, 5, 5, 5]),
    (19, &[4, 4, 4, 4]),
];

/// Whether there is such a format.
fn exists(data: u32, widths: &[u32], number: u32) -> bool {
    match number {
        _ if data >= 16 => number == UNORM,
        // Of words there are only integers and floats.
        0..=3 => widths[0] != 32,
        UINT | SINT => true,
        FLOAT => widths.iter().all(|w| *w >= 10) && !matches!(data, 8 | 9),
        SRGB => widths.iter().all(|w| *w == 8),
        _ => false,
    }
}

/// The bits of one field of a texel.
fn field(texel: &[u8], from: u32, width: u32) -> u32 {
    (from..from + width).map(|i| u32::from(texel[i as usize / 8] >> (i % 8) & 1) << (i - from)).sum()
}

/// What a component means, as bits of a float or of an integer.
fn meaning(bits: u32, width: u32, number: u32, alpha: bool) -> u32 {
    let most = 2_f64.powi(width as i32) - 1.0;
    let half = 2_f64.powi(width as i32 - 1);
    let (unsigned, signed) =
        (f64::from(bits), f64::from(bits) - if f64::from(bits) >= half { most + 1.0 } else { 0.0 });
    let value = match number {
        0 => unsigned / most,
        1 => (signed / (half - 1.0)).max(-1.0),
        2 => unsigned,
        3 => signed,
        4 => return bits,
        5 => return signed as i64 as u32,
        9 if alpha => unsigned / most,
        9 => {
            let x = unsigned / most;
            if x > 0.04045 { ((x + 0.055) / 1.055).powf(2.4) } else { x / 12.92 }
        }
        _ => match width {
            32 => return bits,
            16 => f16::from_bits(bits as u16).to_f64(),
            // Five bits of exponent, no sign.
            _ => f16::from_bits((bits << (15 - width)) as u16).to_f64(),
        },
    };
    (value as f32).to_bits()
}

fn one(number: u32) -> u32 {
    if matches!(number, UINT | SINT) { 1 } else { 1.0_f32.to_bits() }
}

/// The four components of a texel.
fn decoded(texel: &[u8], widths: &[u32], number: u32) -> [u32; 4] {
    let mut components = [0, 0, 0, one(number)];
    let mut from = 0;
    for (i, width) in widths.iter().enumerate() {
        components[i] = meaning(field(texel, from, *width), *width, number, i == 3);
        from += width;
    }
    components
}

/// Whether two components are the same, or both not a number.
fn same(a: u32, b: u32, number: u32) -> bool {
    a == b || !matches!(number, UINT | SINT) && f32::from_bits(a).is_nan() && f32::from_bits(b).is_nan()
}

#[test]
fn loads_of_every_format() {
    let memory = noise(900);
    let mut random = Random::new(901);
    for (data, widths) in FORMATS {
        for number in 0..16 {
            let image = Description::new(LINE, [64, 1, 1], data, number);
            let code = mimg(Op::image_load, all(15), false);
            if !exists(data, widths, number) {
                assert!(refusal(code, &image, Sampling::default()).contains("format"), "{data} {number}");
                continue;
            }
            let bytes = widths.iter().sum::<u32>() as usize / 8;
            for select in [[4, 5, 6, 7], std::array::from_fn(|_| [0, 1, 4, 5, 6, 7][random.next() as usize % 6])] {
                let image = Description { select, ..image };
                let outcome = run_one(code, &image, &memory, &|w| {
                    (0..LANES).for_each(|lane| w.row_mut(0)[lane] = 63 - lane as u32);
                });
                for lane in 0..LANES {
                    let at = (63 - lane) * bytes;
                    let texel = decoded(&memory[at..at + bytes], widths, number);
                    let got = registers(&outcome, lane);
                    for (i, choice) in select.into_iter().enumerate() {
                        let expected = match choice {
                            0 => 0,
                            1 => one(number),
                            n => texel[n as usize - 4],
                        };
                        assert!(
                            same(got[i], expected, number),
                            "{data} {number} {i}: {:#x}, not {expected:#x}",
                            got[i]
                        );
                    }
                    assert_eq!(got[4], 0xdead_0008, "the register behind");
                }
            }
        }
    }
    for data in [0, 15, 20, 21, 22, 35, 41, 63] {
        let image = Description::new(LINE, [64, 1, 1], data, UNORM);
        assert!(refusal(mimg(Op::image_load, all(15), false), &image, Sampling::default()).contains("format"));
    }
}

/// Where a texel is, counted out; `None` outside.
fn offset(image: &Description, x: u32, y: u32, z: u32, bytes: usize) -> Option<usize> {
    let [width, height, depth] = image.size;
    let inside = x < width && y < height && z < depth;
    inside.then(|| ((z * height + y) * image.pitch + x) as usize * bytes)
}

#[test]
fn addresses_of_every_kind_of_image() {
    let memory = noise(910);
    let mut random = Random::new(911);
    // Kind, size, first layer, declared as an array; then which of x, y and z the address has.
    type Case = (u32, [u32; 3], u32, bool, [Option<u16>; 3], u16);
    let cases: [Case; 11] = [
        (LINE, [40, 1, 1], 0, false, [Some(0), None, None], 1),
        // What is no array has one layer, whatever the address says.
        (LINE, [40, 1, 1], 0, true, [Some(0), None, None], 2),
        (LINES, [10, 1, 5], 0, true, [Some(0), None, Some(1)], 2),
        (LINES, [10, 1, 5], 2, true, [Some(0), None, Some(1)], 2),
        (LINES, [10, 1, 5], 2, false, [Some(0), None, None], 1),
        (PLANE, [7, 9, 1], 0, false, [Some(0), Some(1), None], 2),
        (PLANES, [7, 5, 4], 0, true, [Some(0), Some(1), Some(2)], 3),
        (PLANES, [7, 5, 4], 3, true, [Some(0), Some(1), Some(2)], 3),
        (VOLUME, [7, 5, 4], 0, false, [Some(0), Some(1), Some(2)], 3),
        // Faces are layers.
        (CUBE, [5, 5, 1], 0, true, [Some(0), Some(1), Some(2)], 3),
        (CUBE, [5, 5, 1], 2, true, [Some(0), Some(1), Some(2)], 3),
    ];
    for (kind, size, first_layer, da, places, count) in cases {
        for (short, mip) in [(false, false), (true, false), (false, true), (true, true)] {
            let pitch = size[0] + 3;
            let image = Description { pitch, first_layer, ..Description::new(kind, size, 4, UINT) };
            let faces = Description { size: if kind == CUBE { [5, 5, 6] } else { size }, ..image };
            let op = if mip { Op::image_load_mip } else { Op::image_load };
            let code = mimg(op, Image { da, a16: short, ..all(1) }, false);
            // One beyond each side now and then, and much more.
            let mut address: Vec<[u32; 4]> =
                (0..LANES).map(|_| std::array::from_fn(|i| (random.next() % [12, 11, 7, 4][i]) as u32)).collect();
            address[3][0] = if short { 0xffff } else { u32::MAX };
            address[5][usize::from(count - 1)] = 0x8000;
            for (lane, address) in address.iter_mut().enumerate() {
                // The level: nearly always the only one there is.
                address[usize::from(count)] = u32::from(mip && lane % 16 == 15);
            }
            let outcome = run_one(code, &image, &memory, &|w| {
                for (lane, address) in address.iter().enumerate() {
                    for i in 0..4 {
                        let (row, shift) = if short { (i / 2, 16 * (i % 2)) } else { (i, 0) };
                        let old = if shift == 16 { w.row(row as u16)[lane] & 0xffff } else { 0 };
                        w.row_mut(row as u16)[lane] = old | address[i] << shift;
                    }
                }
            });
            for (lane, address) in address.iter().enumerate() {
                let [x, y, z] = places.map(|place| place.map_or(0, |i| address[usize::from(i)]));
                let there = offset(&faces, x, y, z.saturating_add(first_layer), 4);
                let there = there.filter(|_| !mip || address[usize::from(count)] == 0);
                let expected = there.map_or(0, |at| u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()));
                assert_eq!(registers(&outcome, lane)[0], expected, "{kind} {da} {short} {mip} at {address:?}");
                assert_eq!(registers(&outcome, lane)[1], 0xdead_0005);
            }
        }
    }
}

#[test]
fn components_go_where_the_mask_and_the_widths_say() {
    let memory = noise(920);
    let image = Description::new(LINE, [64, 1, 1], 12, FLOAT);
    for dmask in 0..16_u8 {
        for (d16, lwe) in [(false, false), (true, false), (false, true), (true, true)] {
            let outcome =
                run_one(mimg(Op::image_load, Image { d16, lwe, ..all(dmask) }, false), &image, &memory, &|w| {
                    w.set_exec(0xffff_0000_ffff_0f0f);
                    (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
                });
            for lane in 0..LANES {
                let mut expected: [u32; 5] = std::array::from_fn(|i| 0xdead_0004 + i as u32);
                let mut next = 0;
                if 0xffff_0000_ffff_0f0f_u64 >> lane & 1 == 1 {
                    let mask = if dmask == 0 { 1 } else { dmask };
                    for i in (0..4).filter(|i| mask >> i & 1 == 1) {
                        let bits = field(&memory[8 * lane..], 16 * i, 16);
                        if !d16 {
                            expected[next] = f16::from_bits(bits as u16).to_f32().to_bits();
                            next += 1;
                        } else if let (register, 0) = (next / 2, next % 2) {
                            expected[register] = expected[register] & 0xffff_0000 | bits;
                            next += 1;
                        } else {
                            expected[next / 2] = expected[next / 2] & 0xffff | bits << 16;
                            next += 1;
                        }
                    }
                    if lwe {
                        expected[if d16 { next.div_ceil(2) } else { next }] = 0;
                    }
                }
                let got = registers(&outcome, lane);
                for (got, expected) in got.into_iter().zip(expected) {
                    let nan = |x: u32| f32::from_bits(x).is_nan() || x >> 10 & 31 == 31 || x >> 26 & 31 == 31;
                    assert!(got == expected || nan(got) && nan(expected), "{dmask} {d16}: {got:#x} {expected:#x}");
                }
            }
        }
    }
    // Texels as they are: words, or one that is extended.
    for (data, bytes) in [(1, 1), (2, 2), (3, 2), (10, 4), (12, 8), (WORDS4, 16)] {
        for (op, signed) in [
            (Op::image_load_pck, false),
            (Op::image_load_pck_sgn, true),
            (Op::image_load_mip_pck, false),
            (Op::image_load_mip_pck_sgn, true),
        ] {
            let image = Description::new(LINE, [64, 1, 1], data, UINT);
            let outcome = run_one(mimg(op, all(15), false), &image, &memory, &|w| {
                (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
            });
            for lane in 0..LANES {
                let texel = &memory[bytes * lane..bytes * (lane + 1)];
                let fill = if signed && bytes < 4 && texel[bytes - 1] >= 128 { 0xff } else { 0 };
                let expected: Vec<u32> = (0..4)
                    .map(|word| {
                        let byte = |i: usize| match texel.get(4 * word + i) {
                            Some(byte) => *byte,
                            None if word == 0 => fill,
                            None => 0,
                        };
                        u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)])
                    })
                    .collect();
                assert_eq!(registers(&outcome, lane)[..4], expected, "{op} {data}");
            }
        }
    }
}

#[test]
fn half_loads_clear_the_rest_where_memory_is_corrected() {
    // One and three components of 16 bits, of which the last has a register to itself.
    let memory = noise(925);
    for (mask, register) in [(1, 0), (7, 1)] {
        let image = Description::new(LINE, [64, 1, 1], if mask == 1 { 2 } else { 12 }, UINT);
        let code = mimg(Op::image_load, Image { d16: true, ..all(mask) }, false);
        for (sramecc, above) in [(false, 0xdead), (true, 0)] {
            let outcome = on(&[code], &Memories { device: &memory, sramecc, ..Memories::default() }, &|w, base| {
                image.words(base).into_iter().enumerate().for_each(|(i, word)| w.set_slot(8 + i as u16, word));
                (DATA..DATA + 5).for_each(|row| w.row_mut(row).fill(0xdead_0000 | u32::from(row)));
            });
            assert_eq!(registers(&outcome, 7)[register] >> 16, above, "{mask}");
        }
    }
}

#[test]
fn stores_of_every_format() {
    let before = noise(930);
    let mut random = Random::new(931);
    for (data, widths) in FORMATS {
        for number in (0..8).filter(|number| exists(data, widths, *number)) {
            let bytes = widths.iter().sum::<u32>() as usize / 8;
            let image = Description::new(LINE, [60, 1, 1], data, number);
            // Texels that a load gives are stored as they were.
            let texels = noise(random.next());
            let float = number == FLOAT;
            let values: Vec<[u32; 4]> =
                (0..LANES).map(|lane| decoded(&texels[lane * bytes..(lane + 1) * bytes], widths, number)).collect();
            let outcome = run_one(mimg(Op::image_store, all(15), false), &image, &before, &|w| {
                for lane in 0..LANES {
                    w.row_mut(0)[lane] = lane as u32;
                    (0..4).for_each(|i| w.row_mut(DATA + i)[lane] = values[lane][usize::from(i)]);
                }
            });
            assert_eq!(outcome.trap, None);
            for lane in 0..LANES {
                let got = &outcome.memory[lane * bytes..(lane + 1) * bytes];
                if lane >= 60 {
                    assert_eq!(got, &before[lane * bytes..(lane + 1) * bytes], "outside");
                    continue;
                }
                let mut from = 0;
                for (i, width) in widths.iter().enumerate() {
                    let (got, old) = (field(got, from, *width), field(&texels[lane * bytes..], from, *width));
                    let nan = float && f32::from_bits(values[lane][i]).is_nan();
                    // The lowest of a normalised integer has two encodings.
                    let lowest = number == 1 && old == 1 << (width - 1);
                    assert!(got == old || nan || lowest, "{data} {number} {i}: {got:#x}, not {old:#x}");
                    from += width;
                }
            }
        }
    }
    let image = Description::new(LINE, [60, 1, 1], 10, SRGB);
    assert!(refusal(mimg(Op::image_store, all(15), false), &image, Sampling::default()).contains("sRGB"));
}

#[test]
fn stores_limit_what_does_not_fit() {
    // Number format, what is stored (a float, or an integer's bits), and what a byte becomes.
    let cases: [(u32, u32, u8); 14] = [
        (0, 2.0_f32.to_bits(), 255),
        (0, (-1.0_f32).to_bits(), 0),
        (0, f32::NAN.to_bits(), 0),
        (0, 0.5_f32.to_bits(), 128),
        (1, 2.0_f32.to_bits(), 127),
        (1, (-2.0_f32).to_bits(), 0x81),
        (2, 300.0_f32.to_bits(), 255),
        (2, 3.75_f32.to_bits(), 3),
        (3, (-200.0_f32).to_bits(), 0x80),
        (4, 300, 255),
        (4, u32::MAX, 255),
        (5, 200, 127),
        (5, -200_i32 as u32, 0x80),
        (5, -3_i32 as u32, 0xfd),
    ];
    for (number, value, expected) in cases {
        let image = Description::new(LINE, [1, 1, 1], 1, number);
        let outcome = run_one(mimg(Op::image_store, all(1), false), &image, &[7; 8], &|w| {
            w.set_exec(1);
            w.row_mut(DATA).fill(value);
        });
        assert_eq!((&outcome.trap, &outcome.memory[..2]), (&None, &[expected, 7][..]), "{number} {value:#x}");
    }
}

#[test]
fn stores_by_mask_halves_swizzles_and_levels() {
    let before = noise(940);
    let run = |op, image: Image, description: Description, values: [u32; 4], level: u32| {
        let outcome = run_one(mimg(op, image, false), &description, &before, &|w| {
            w.set_exec(1 << 9);
            w.row_mut(0)[9] = 3;
            w.row_mut(1)[9] = level;
            (0..4).for_each(|i| w.row_mut(DATA + i)[9] = values[usize::from(i)]);
        });
        assert_eq!(outcome.trap, None);
        let changed = (0..SIZE).filter(|at| outcome.memory[*at] != before[*at]).collect::<Vec<_>>();
        assert!(changed.iter().all(|at| at / 4 == 3), "only the fourth texel: {changed:?}");
        <[u8; 4]>::try_from(&outcome.memory[12..16]).unwrap()
    };
    let bytes = Description::new(LINE, [64, 1, 1], 10, UINT);
    let [a, b, c, d] = [0x11, 0x22, 0x33, 0x44];
    assert_eq!(run(Op::image_store, all(15), bytes, [a, b, c, d], 0), [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(run(Op::image_store, all(0b1010), bytes, [a, b, c, d], 0), [0, 0x11, 0, 0x22], "the others are zero");
    // Of halves only the count matters.
    let halves = Image { d16: true, ..all(0b1010) };
    assert_eq!(run(Op::image_store, halves, bytes, [0x0022_0011, c, d, d], 0), [0x11, 0x22, 0, 0]);
    let halves = Image { d16: true, ..all(0b0111) };
    assert_eq!(run(Op::image_store, halves, bytes, [0x0022_0011, 0x33, d, d], 0), [0x11, 0x22, 0x33, 0]);
    let bgra = Description { select: [6, 5, 4, 7], ..bytes };
    assert_eq!(run(Op::image_store, all(15), bgra, [a, b, c, d], 0), [0x33, 0x22, 0x11, 0x44]);
    let alpha = Description { select: [0, 0, 0, 4], ..bytes };
    assert_eq!(run(Op::image_store, all(15), alpha, [a, b, c, d], 0), [0x44, 0, 0, 0]);
    for op in [Op::image_store_pck, Op::image_store_mip_pck] {
        assert_eq!(run(op, all(1), bgra, [0x8877_6655, b, c, d], 0), [0x55, 0x66, 0x77, 0x88], "{op}");
    }
    assert_eq!(run(Op::image_store_mip, all(15), bytes, [a, b, c, d], 0), [0x11, 0x22, 0x33, 0x44]);
    assert_eq!(run(Op::image_store_mip, all(15), bytes, [a, b, c, d], 1), before[12..16], "there is no second level");
}

#[test]
fn atomics() {
    let mut random = Random::new(950);
    type Model = fn(u64, u64, u64, u32) -> u64;
    let models: [(Op, Model); 13] = [
        (Op::image_atomic_swap, |_, b, _, _| b),
        (Op::image_atomic_cmpswap, |a, b, c, _| if a == c { b } else { a }),
        (Op::image_atomic_add, |a, b, _, _| a.wrapping_add(b)),
        (Op::image_atomic_sub, |a, b, _, _| a.wrapping_sub(b)),
        (Op::image_atomic_smin, |a, b, _, n| if ((a << n) as i64) < (b << n) as i64 { a } else { b }),
        (Op::image_atomic_umin, |a, b, _, _| if a < b { a } else { b }),
        (Op::image_atomic_smax, |a, b, _, n| if ((a << n) as i64) > (b << n) as i64 { a } else { b }),
        (Op::image_atomic_umax, |a, b, _, _| if a > b { a } else { b }),
        (Op::image_atomic_and, |a, b, _, _| a & b),
        (Op::image_atomic_or, |a, b, _, _| (a ^ b) | (a & b)),
        (Op::image_atomic_xor, |a, b, _, _| (a | b) & !(a & b)),
        (Op::image_atomic_inc, |a, b, _, _| if a < b { a + 1 } else { 0 }),
        (Op::image_atomic_dec, |a, b, _, _| if (1..=b).contains(&a) { a - 1 } else { b }),
    ];
    for (op, model) in models {
        for wide in [false, true] {
            for glc in [false, true] {
                let (words, mask) = if wide { (2, u64::MAX) } else { (1, 0xffff_ffff) };
                let registers_of = words * if op == Op::image_atomic_cmpswap { 2 } else { 1 };
                let bytes = 4 * words;
                let mut memory = noise(random.next());
                // Small numbers, so that some are equal.
                for lane in 0..LANES {
                    let small = random.next() % 4;
                    if lane % 2 == 0 {
                        memory[lane * bytes..(lane + 1) * bytes].copy_from_slice(&small.to_le_bytes()[..bytes]);
                    }
                }
                let image = Description::new(LINE, [60, 1, 1], if wide { 11 } else { 4 }, UINT);
                let data: Vec<[u64; 2]> = (0..LANES)
                    .map(|lane| [(); 2].map(|()| if lane % 4 < 2 { random.next() % 4 } else { random.next() } & mask))
                    .collect();
                let code = mimg(op, all((1 << registers_of) - 1), glc);
                let outcome = run_one(code, &image, &memory, &|w| {
                    for lane in 0..LANES {
                        w.row_mut(0)[lane] = lane as u32;
                        for (n, value) in data[lane].iter().enumerate() {
                            for word in 0..words {
                                w.row_mut(DATA + (n * words + word) as u16)[lane] = (value >> (32 * word)) as u32;
                            }
                        }
                    }
                });
                assert_eq!(outcome.trap, None);
                let read = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, b| all << 8 | u64::from(*b));
                for lane in 0..LANES {
                    let range = lane * bytes..(lane + 1) * bytes;
                    let old = read(&memory[range.clone()]);
                    let new = model(old, data[lane][0], data[lane][1], if wide { 0 } else { 32 }) & mask;
                    let inside = lane < 60;
                    assert_eq!(read(&outcome.memory[range]), if inside { new } else { old }, "{op} {wide} {lane}");
                    let got = value(&outcome.wave, DATA, words as u16, lane);
                    let returned = if !glc {
                        data[lane][0]
                    } else if inside {
                        old
                    } else {
                        0
                    };
                    assert_eq!(got, returned, "{op} {wide} returns in lane {lane}");
                }
            }
        }
    }
    let image = Description::new(LINE, [60, 1, 1], 2, UINT);
    assert!(refusal(mimg(Op::image_atomic_add, all(1), false), &image, Sampling::default()).contains("width"));
}

#[test]
fn sizes() {
    let base = |kind, size| Description { levels: [0, 4], ..Description::new(kind, size, 4, UINT) };
    let cases = [
        (base(LINE, [40, 1, 1]), 0, [40, 0, 0, 5]),
        (base(LINE, [40, 1, 1]), 2, [10, 0, 0, 5]),
        (base(LINES, [40, 1, 7]), 1, [20, 7, 0, 5]),
        (base(PLANE, [40, 9, 1]), 4, [2, 1, 0, 5]),
        (Description { first_layer: 2, ..base(PLANES, [40, 9, 7]) }, 0, [40, 9, 5, 5]),
        (base(VOLUME, [40, 9, 7]), 1, [20, 4, 3, 5]),
        (base(CUBE, [16, 16, 2]), 0, [16, 16, 2, 5]),
        (Description { levels: [1, 4], ..base(PLANE, [40, 9, 1]) }, 0, [20, 4, 0, 4]),
        (base(PLANE, [40, 9, 1]), 5, [0, 0, 0, 5]),
        // A tiled image has sizes too.
        (Description { tiling: 9, ..base(PLANE, [40, 9, 1]) }, 0, [40, 9, 0, 5]),
    ];
    for (image, level, expected) in cases {
        let code = mimg(Op::image_get_resinfo, all(15), false);
        let outcome = run_one(code, &image, &[], &|w| w.row_mut(0).fill(level));
        assert_eq!(registers(&outcome, 11)[..4], expected, "{}", image.kind);
        let code = mimg(Op::image_get_resinfo, all(0b1010), false);
        let outcome = run_one(code, &image, &[], &|w| w.row_mut(0).fill(level));
        assert_eq!(registers(&outcome, 11)[..3], [expected[1], expected[3], 0xdead_0006]);
    }
}

/// The texel of a number that may lie outside, by OpenGL's formulas: `None` is the border.
fn wrapped(mode: u32, i: i64, n: i64) -> Option<i64> {
    let mirror = |a: i64| if a >= 0 { a } else { -(1 + a) };
    let inside = |i: i64| (0..n).contains(&i).then_some(i);
    match mode {
        0 => Some(i - n * (i as f64 / n as f64).floor() as i64),
        1 => Some((n - 1) - mirror((i - 2 * n * (i as f64 / (2 * n) as f64).floor() as i64) - n)),
        2 => Some(i.max(0).min(n - 1)),
        3 => Some(mirror(i).min(n - 1)),
        6 => inside(i),
        7 => inside(mirror(i)),
        _ => unreachable!(),
    }
}

/// The texels along an axis with their weights.
fn axis(mode: u32, linear: bool, u: f64, n: i64) -> Vec<(Option<i64>, f64)> {
    let (mode, u) = match mode {
        // OpenGL's old CLAMP: the coordinate is limited to the image, and the border shows through half a texel.
        4 => (6, u.max(0.0).min(n as f64)),
        // Below zero the image is mirrored.
        5 => (7, u.abs().min(n as f64)),
        other => (other, u),
    };
    if linear {
        let start = (u - 0.5).floor();
        let part = u - 0.5 - start;
        vec![(wrapped(mode, start as i64, n), 1.0 - part), (wrapped(mode, start as i64 + 1, n), part)]
    } else {
        vec![(wrapped(mode, u.floor() as i64, n), 1.0)]
    }
}

#[test]
fn samples() {
    // Words that are small integers as floats: blends with weights of eighths are exact.
    let mut random = Random::new(960);
    let memory: Vec<u8> =
        (0..SIZE / 4).flat_map(|_| ((random.next() % 1000) as f32 - 500.0).to_bits().to_le_bytes()).collect();
    let at = |i: usize| f64::from(f32::from_bits(u32::from_le_bytes(memory[4 * i..4 * i + 4].try_into().unwrap())));
    let borders = [[0.0; 4], [0.0, 0.0, 0.0, 1.0], [1.0; 4]];
    let cases: [(u32, [u32; 3], bool, usize); 5] = [
        (LINE, [16, 1, 1], false, 1),
        (LINES, [8, 1, 4], true, 1),
        (PLANE, [8, 4, 1], false, 2),
        (PLANES, [4, 8, 3], true, 2),
        (VOLUME, [4, 4, 8], false, 3),
    ];
    for (kind, size, da, sides) in cases {
        for n in 0..8 * 2 * 3 * 2 * 2 {
            let (clamp, filter, reduction) = (n % 8, n / 8 % 2, n / 16 % 3);
            let (unnormalized, by_instruction, border) = (n / 48 % 2 == 1, n / 96 % 2 == 1, random.next() as u32 % 3);
            let unnormalized_by_it = unnormalized && !by_instruction;
            let sampler =
                Sampling { clamp, filter, border, reduction, unnormalized: unnormalized_by_it, ..Sampling::default() };
            let image = Description { pitch: size[0] + 1, ..Description::new(kind, size, 4, FLOAT) };
            let mut code = mimg(Op::image_sample, Image { da, ..all(0b1001) }, false);
            if let Some(image) = &mut code.mods.image {
                image.unorm = unnormalized && by_instruction;
            }
            let texels: Vec<[f64; 3]> = (0..LANES)
                .map(|_| {
                    std::array::from_fn(|d| {
                        let range = f64::from(size[d]) * 8.0 * 5.0;
                        let eighths = (random.next() as f64 / u64::MAX as f64 * range).floor() - range * 0.4;
                        if d < sides { eighths / 8.0 } else { (random.next() % 80) as f64 / 8.0 - 2.0 }
                    })
                })
                .collect();
            let outcome = sampled(code, &image, sampler, &memory, &|w| {
                for lane in 0..LANES {
                    for d in 0..3 {
                        let scale = if unnormalized || d >= sides { 1.0 } else { f64::from(size[d]) };
                        // The layer follows the coordinates.
                        let from = if d == sides { 2 } else { d };
                        w.row_mut(d as u16)[lane] = ((texels[lane][from] / scale) as f32).to_bits();
                    }
                }
            });
            for lane in 0..LANES {
                let u = texels[lane];
                let mut axes: Vec<_> = (0..sides).map(|d| axis(clamp, filter == 1, u[d], i64::from(size[d]))).collect();
                if clamp == 4 || clamp == 5 {
                    // Without a blend the limited coordinate never shows the border.
                    for (d, axis) in axes.iter_mut().enumerate().filter(|_| filter == 0) {
                        let last = i64::from(size[d]) - 1;
                        let limited = if clamp == 5 { u[d].abs() } else { u[d] };
                        *axis = vec![(Some((limited.floor() as i64).max(0).min(last)), 1.0)];
                    }
                }
                axes.resize(2.max(sides), vec![(Some(0), 1.0)]);
                if sides < 3 {
                    let layer = if da { u[2].round_ties_even().clamp(0.0, f64::from(size[2]) - 1.0) as i64 } else { 0 };
                    axes.push(vec![(Some(layer), 1.0)]);
                }
                for (register, component) in [(0, 0), (1, 3)] {
                    let mut parts = Vec::new();
                    for x in &axes[0] {
                        for y in &axes[1] {
                            for z in &axes[2] {
                                let weight = x.1 * y.1 * z.1;
                                let value = match (x.0, y.0, z.0) {
                                    _ if component == 3 && !(x.0.is_none() || y.0.is_none() || z.0.is_none()) => 1.0,
                                    (Some(x), Some(y), Some(z)) => {
                                        let row = z * i64::from(image.size[1]) + y;
                                        at((row * i64::from(image.pitch) + x) as usize)
                                    }
                                    _ => borders[border as usize][component],
                                };
                                if weight != 0.0 {
                                    parts.push((value, weight));
                                }
                            }
                        }
                    }
                    let values = parts.iter().map(|p| p.0);
                    let expected = match reduction {
                        0 => parts.iter().map(|p| p.0 * p.1).sum::<f64>(),
                        1 => values.fold(f64::INFINITY, f64::min),
                        _ => values.fold(f64::NEG_INFINITY, f64::max),
                    };
                    let got = f32::from_bits(registers(&outcome, lane)[register]);
                    assert_eq!(
                        f64::from(got),
                        expected,
                        "{kind} clamp {clamp} filter {filter} reduction {reduction} border {border} at {u:?}: {parts:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn samples_of_integers_halves_and_cubes() {
    let memory = noise(970);
    // Integers are not blended, though the sampler says so.
    let image = Description::new(LINE, [64, 1, 1], 1, UINT);
    let sampler = Sampling { filter: 1, unnormalized: true, ..Sampling::default() };
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = (lane as f32 + 0.875).to_bits());
    });
    (0..LANES).for_each(|lane| assert_eq!(registers(&outcome, lane)[0], u32::from(memory[lane])));
    // Coordinates of 16 bits, results of 16 bits.
    let image = Description::new(PLANE, [8, 8, 1], 10, UNORM);
    let code = mimg(Op::image_sample, Image { a16: true, d16: true, ..all(15) }, false);
    let outcome = sampled(code, &image, Sampling { unnormalized: true, ..Sampling::default() }, &memory, &|w| {
        for lane in 0..LANES {
            let half = |x: usize| u32::from(f16::from_f32(x as f32 + 0.5).to_bits());
            w.row_mut(0)[lane] = half(lane % 8) | half(lane / 8) << 16;
        }
    });
    for lane in 0..LANES {
        let got = registers(&outcome, lane);
        for i in 0..4 {
            let expected = f16::from_f64((f64::from(memory[4 * lane + i]) / 255.0) as f32 as f64).to_bits();
            assert_eq!(got[i / 2] >> (16 * (i % 2)) & 0xffff, u32::from(expected), "{lane} {i}");
        }
        assert_eq!(got[2], 0xdead_0006);
    }
    // The coordinates on a face begin at zero or one; the face is a number.
    let image = Description::new(CUBE, [4, 4, 1], 4, UINT);
    let code = mimg(Op::image_sample, Image { da: true, ..all(1) }, false);
    for begin in [0.0, 1.0] {
        let outcome = sampled(code, &image, Sampling::default(), &memory, &|w| {
            for lane in 0..LANES {
                w.row_mut(0)[lane] = (begin + (lane % 4) as f32 / 4.0 + 0.1_f32).to_bits();
                w.row_mut(1)[lane] = (begin + (lane / 4 % 4) as f32 / 4.0 + 0.1_f32).to_bits();
                w.row_mut(2)[lane] = ((lane / 16) as f32 + 2.0).to_bits();
            }
        });
        for lane in 0..LANES {
            let at = 4 * (32 + lane);
            assert_eq!(registers(&outcome, lane)[0], u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()));
        }
    }
    // Not a number, and infinities, are somewhere in the image or its border, and no reason to stop.
    for clamp in 0..8 {
        let sampler = Sampling { clamp, filter: 1, ..Sampling::default() };
        let image = Description::new(PLANE, [8, 8, 1], 4, FLOAT);
        let outcome = sampled(mimg(Op::image_sample, all(15), false), &image, sampler, &memory, &|w| {
            let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, -1e30, 1e-40, -0.0];
            for lane in 0..LANES {
                w.row_mut(0)[lane] = odd[lane % 7].to_bits();
                w.row_mut(1)[lane] = odd[lane / 7 % 7].to_bits();
            }
        });
        assert_eq!(outcome.trap, None, "{clamp}");
    }
}

/// A load from outside is zero in every component, those too that the descriptor sets to one.
#[test]
fn loads_from_outside_are_zero() {
    let image = Description { select: [1, 4, 1, 0], ..Description::new(LINE, [16, 1, 1], 4, UINT) };
    let memory = noise(980);
    let outcome = run_one(mimg(Op::image_load, all(15), false), &image, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = lane as u32);
    });
    for lane in 0..LANES {
        let inside = [1, u32::from_le_bytes(memory[4 * lane..][..4].try_into().unwrap()), 1, 0];
        let expected = if lane < 16 { inside } else { [0; 4] };
        assert_eq!(registers(&outcome, lane)[..4], expected, "{lane}");
    }
}

/// Floats that arithmetic would change come through a sample of one texel as they are; no number is read as coordinate zero.
#[test]
fn single_texels_keep_their_bits() {
    let image = Description::new(LINE, [4, 1, 1], 4, FLOAT);
    let texels = [0x8000_0000_u32, 0x7fc1_2345, 0xffc0_0001, 0x0000_0001];
    let memory: Vec<u8> = texels.iter().flat_map(|t| t.to_le_bytes()).collect();
    let sampler = Sampling { clamp: 2, unnormalized: true, ..Sampling::default() };
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        (0..LANES).for_each(|lane| w.row_mut(0)[lane] = (lane as f32 % 4.0 + 0.5).to_bits());
        w.row_mut(0)[63] = f32::NAN.to_bits();
    });
    (0..63).for_each(|lane| assert_eq!(registers(&outcome, lane)[0], texels[lane % 4], "{lane}"));
    assert_eq!(registers(&outcome, 63)[0], texels[0]);
    // Where what is outside counts, coordinate zero lies half a texel from the border.
    let sampler = Sampling { clamp: 6, filter: 1, unnormalized: true, border: 2, ..Sampling::default() };
    let memory: Vec<u8> = [5.0_f32; 4].iter().flat_map(|t| t.to_le_bytes()).collect();
    let outcome = sampled(mimg(Op::image_sample, all(1), false), &image, sampler, &memory, &|w| {
        w.row_mut(0).fill(f32::NAN.to_bits());
    });
    assert_eq!(registers(&outcome, 7)[0], 3.0_f32.to_bits());
}

/// A cube whose faces are apart blends up to the edge of a face with that face's own texels; another one is refused there.
#[test]
fn faces_that_are_apart_end_at_their_edges() {
    let image = Description::new(CUBE, [4, 4, 1], 4, FLOAT);
    let code = mimg(Op::image_sample, Image { da: true, ..all(1) }, false);
    let memory: Vec<u8> = (0..96).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let sampler = Sampling { filter: 1, separate_faces: true, ..Sampling::default() };
    let at = |w: &mut Wave, x: f32| {
        w.row_mut(0).fill(x.to_bits());
        w.row_mut(1).fill(0.375_f32.to_bits());
        w.row_mut(2).fill(2.0_f32.to_bits());
    };
    // Half a texel outside of the second row of the third face, and between its first two texels.
    for (x, expected) in [(0.0, 36.0_f32), (0.25, 36.5), (1.0, 39.0)] {
        let outcome = sampled(code, &image, sampler, &memory, &|w| at(w, x));
        assert_eq!(registers(&outcome, 9)[0], expected.to_bits(), "{x}");
    }
    let joined = Sampling { separate_faces: false, ..sampler };
    let outcome = sampled(code, &image, joined, &memory, &|w| at(w, 0.0));
    assert!(
        matches!(outcome.trap, Some(Trap::Unsupported(why)) if why.contains("edges of a cube")),
        "{:?}",
        outcome.trap
    );
}

#[test]
fn what_is_refused_says_why() {
    let load = mimg(Op::image_load, all(15), false);
    let sample = mimg(Op::image_sample, all(15), false);
    let plane = Description::new(PLANE, [8, 8, 1], 4, FLOAT);
    let none = Sampling::default();
    for kind in 0..8 {
        assert!(refusal(load, &Description { kind, ..plane }, none).contains("type"));
    }
    for kind in [14, 15] {
        assert!(refusal(load, &Description { kind, ..plane }, none).contains("multisampled"));
    }
    for tiling in [1, 9, 31] {
        assert!(refusal(load, &Description { tiling, ..plane }, none).contains("tiled"));
    }
    assert!(refusal(load, &Description { compressed: true, ..plane }, none).contains("compressed"));
    for (levels, op) in [([1, 1], Op::image_load), ([1, 2], Op::image_sample), ([1, 1], Op::image_store)] {
        assert!(refusal(mimg(op, all(15), false), &Description { levels, ..plane }, none).contains("mip"), "{op}");
    }
    let second =
        sampled(mimg(Op::image_load_mip, all(1), false), &Description { levels: [0, 1], ..plane }, none, &[], &|w| {
            w.row_mut(2).fill(1)
        });
    assert!(matches!(second.trap, Some(Trap::Unsupported(why)) if why.contains("mip")));
    assert!(refusal(sample, &plane, Sampling { border: 3, clamp: 6, ..none }).contains("table"));
    assert_eq!(sampled(sample, &plane, Sampling { border: 3, ..none }, &[], &|_| ()).trap, None, "no border shows");
    assert!(refusal(sample, &plane, Sampling { reduction: 3, ..none }).contains("filter"));
    let detail = |change: fn(&mut Wave), image: &Description| {
        sampled(sample, image, Sampling { filter: 3, ..none }, &[], &|w| change(w)).trap
    };
    let anisotropic: fn(&mut Wave) = |w| w.set_slot(16, w.slot(16) | 1 << 9);
    let two_filters: fn(&mut Wave) = |w| w.set_slot(18, 1 << 20);
    let levels: fn(&mut Wave) = |w| w.set_slot(18, w.slot(18) | 1 << 26);
    let mips = Description { levels: [0, 3], ..plane };
    for (change, image) in [(anisotropic, &plane), (two_filters, &plane), (levels, &mips)] {
        assert!(matches!(detail(change, image), Some(Trap::Unsupported(why)) if why.contains("detail")));
    }
    assert_eq!(detail(|_| (), &plane), None, "a ratio of one to one is no other than linear");
    assert_eq!(detail(levels, &plane), None, "there is but one level");
    let cube = Description::new(CUBE, [4, 4, 1], 4, FLOAT);
    let edge = sampled(
        mimg(Op::image_sample, Image { da: true, ..all(1) }, false),
        &cube,
        Sampling { filter: 1, ..none },
        &[],
        &|w| (0..2).for_each(|i| w.row_mut(i).fill(1.05_f32.to_bits())),
    );
    assert!(matches!(edge.trap, Some(Trap::Unsupported(why)) if why.contains("edges")));
}

#[test]
fn images_beyond_their_memory_fault_and_write_nothing() {
    // 32 texels of 16 bytes more than there is memory for.
    let count = (SIZE / 16) as u32;
    let image = Description::new(LINE, [count + 32, 1, 1], WORDS4, UINT);
    let before = noise(980);
    let place = |w: &mut Wave| (0..LANES).for_each(|lane| w.row_mut(0)[lane] = count - 40 + lane as u32);
    let ops = [
        (mimg(Op::image_load, all(15), false), WORDS4),
        (mimg(Op::image_store, all(15), false), WORDS4),
        (mimg(Op::image_atomic_add, all(1), true), 4),
        (mimg(Op::image_sample, all(15), false), WORDS4),
    ];
    for (code, data) in ops {
        let (image, first) = if data == 4 {
            (Description { data, size: [4 * count + 32, 1, 1], ..image }, 4 * count - 40)
        } else {
            (image, count - 40)
        };
        let outcome = sampled(code, &image, Sampling { unnormalized: true, ..Sampling::default() }, &before, &|w| {
            place(w);
            for lane in 0..LANES {
                let x = first + lane as u32;
                w.row_mut(0)[lane] = if code.op == Op::image_sample { (x as f32).to_bits() } else { x };
            }
        });
        match &outcome.trap {
            Some(Trap::Memory(fault)) => {
                assert_eq!((fault.why, fault.lane), (Denied::OutOfBounds, Some(40)), "{}", code.op)
            }
            other => panic!("{}: {other:?}", code.op),
        }
        assert!(outcome.memory == before, "{} has written", code.op);
    }
}
