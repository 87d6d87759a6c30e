//! Images, compared with separate models: fields of texels in double precision, explicitly computed addresses, and the
//! formulas of OpenGL's specification for coordinates outside an image.

use super::device::{Memories, Outcome, on};
use super::*;
use crate::fault::Denied;
use crate::isa::{Flags, Image};
use ::half::f16;

mod loads;
mod samples;
mod stores;

/// Bytes of device memory that [`on`] has.
const SIZE: usize = 4096;
/// The first data register; the address is before it.
const DATA: u16 = 4;

/// The parameters of an image descriptor.
#[derive(Clone, Copy)]
pub(super) struct Description {
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

pub(super) const LINE: u32 = 8;
const PLANE: u32 = 9;
const VOLUME: u32 = 10;
const CUBE: u32 = 11;
const LINES: u32 = 12;
const PLANES: u32 = 13;
/// Four words.
const WORDS4: u32 = 14;
const UNORM: u32 = 0;
pub(super) const UINT: u32 = 4;
const SINT: u32 = 5;
const FLOAT: u32 = 7;
const SRGB: u32 = 9;

impl Description {
    pub(super) fn new(kind: u32, size: [u32; 3], data: u32, number: u32) -> Self {
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

    pub(super) fn words(&self, base: u64) -> [u32; 8] {
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

/// The parameters of a sampler descriptor: the three axes have the same clamp mode.
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
        // Registers that the instruction must not change.
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

/// The value of a component, as the bits of a float or integer.
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
