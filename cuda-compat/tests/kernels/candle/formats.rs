//! Formats of quantized blocks: where their codes and scales are, and the numbers that they are.

use super::types::Type;
use crate::device::Buffer;
use crate::random::Random;

/// Codes of this many bits. A run of bytes holds the lowest bits of all its bytes first, then the next bits: one group
/// of codes for each.
struct Codes {
    at: usize,
    bits: usize,
    run: usize,
}

impl Codes {
    fn code(&self, block: &[u8], place: usize) -> u32 {
        let (run, within) = (place / (self.run * 8 / self.bits), place % (self.run * 8 / self.bits));
        let byte = block[self.at + run * self.run + within % self.run];
        u32::from(byte) >> (within / self.run * self.bits) & ((1 << self.bits) - 1)
    }
}

/// Scales and minima of groups of a block, as integers.
#[derive(Clone, Copy, PartialEq)]
enum Groups {
    /// The block is one group, with a minimum that is added.
    One,
    /// 16 groups: bytes of a scale of 4 bits and, above, a minimum.
    Fours(usize),
    /// 16 groups: scales of 6 bits about 32, the lower 4 bits in 8 bytes and the upper 2 in 4.
    Sixes(usize),
    /// 8 groups: scales and minima of 6 bits in 12 bytes.
    SixesWithMinima(usize),
    /// 16 groups: signed bytes.
    Bytes(usize),
}

impl Groups {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::SixesWithMinima(_) => 8,
            _ => 16,
        }
    }

    fn scale_and_minimum(self, block: &[u8], group: usize) -> (f64, f64) {
        let six = |low: u8, high: u8| f64::from(low & 15 | high >> 6 << 4);
        match self {
            Self::One => (1.0, 1.0),
            Self::Fours(at) => (f64::from(block[at + group] & 15), -f64::from(block[at + group] >> 4)),
            Self::Sixes(at) => {
                let (low, high) = (Codes { at, bits: 4, run: 8 }, Codes { at: at + 8, bits: 2, run: 4 });
                (f64::from(low.code(block, group) | high.code(block, group) << 4) - 32.0, 0.0)
            }
            Self::SixesWithMinima(at) => {
                let bytes = &block[at..at + 12];
                // The last four have their lower bits in the last four bytes, and the upper ones above those of the first four.
                let (scale, minimum) = match group.checked_sub(4) {
                    None => (f64::from(bytes[group] & 63), f64::from(bytes[group + 4] & 63)),
                    Some(first) => (six(bytes[8 + first], bytes[first]), six(bytes[8 + first] >> 4, bytes[4 + first])),
                };
                (scale, -minimum)
            }
            Self::Bytes(at) => (f64::from(block[at + group] as i8), 0.0),
        }
    }
}

/// A format: a number is `scale * group's scale * (code - middle) + minimum * group's minimum`.
pub(super) struct Format {
    name: &'static str,
    bytes: usize,
    /// Numbers of a block.
    pub(super) numbers: usize,
    scale: (Type, usize),
    minimum: Option<usize>,
    low: Codes,
    high: Option<Codes>,
    middle: f64,
    groups: Groups,
    /// Threads of a block of kernels that write a block's numbers.
    pub(super) threads: u32,
}

const fn codes(at: usize, bits: usize, run: usize) -> Codes {
    Codes { at, bits, run }
}

const fn small(name: &'static str, bytes: usize, minimum: Option<usize>, low: Codes, middle: f64) -> Format {
    let (scale, groups) = ((Type::F16, 0), Groups::One);
    Format { name, bytes, numbers: 32, scale, minimum, low, high: None, middle, groups, threads: 32 }
}

const fn large(name: &'static str, bytes: usize, scale: (Type, usize), low: Codes, groups: Groups) -> Format {
    Format { name, bytes, numbers: 256, scale, minimum: None, low, high: None, middle: 0.0, groups, threads: 64 }
}

const FORMATS: [Format; 11] = [
    small("q40", 18, None, codes(2, 4, 16), 8.0),
    small("q41", 20, Some(2), codes(4, 4, 16), 0.0),
    Format { high: Some(codes(2, 1, 1)), threads: 256, ..small("q50", 22, None, codes(6, 4, 16), 16.0) },
    Format { high: Some(codes(4, 1, 1)), threads: 256, ..small("q51", 24, Some(2), codes(8, 4, 16), 0.0) },
    small("q80", 34, None, codes(2, 8, 1), 0.0),
    Format { minimum: Some(82), ..large("q2k", 84, (Type::F16, 80), codes(16, 2, 32), Groups::Fours(0)) },
    Format {
        high: Some(codes(0, 1, 32)),
        middle: 4.0,
        ..large("q3k", 110, (Type::F16, 108), codes(32, 2, 32), Groups::Sixes(96))
    },
    Format {
        minimum: Some(2),
        threads: 32,
        ..large("q4k", 144, (Type::F16, 0), codes(16, 4, 32), Groups::SixesWithMinima(4))
    },
    Format {
        minimum: Some(2),
        high: Some(codes(16, 1, 32)),
        ..large("q5k", 176, (Type::F16, 0), codes(48, 4, 32), Groups::SixesWithMinima(4))
    },
    Format {
        high: Some(codes(128, 2, 32)),
        middle: 32.0,
        ..large("q6k", 210, (Type::F16, 208), codes(0, 4, 64), Groups::Bytes(192))
    },
    Format { threads: 32, ..large("q8k", 292, (Type::F32, 0), codes(4, 8, 1), Groups::One) },
];

/// A number, and the sum of the magnitudes of its terms.
pub(super) type Number = (f64, f64);

impl Format {
    /// The format of a name such as `q4_0`, `q4_K` or `q4k`.
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        let name = name.replace('_', "").to_lowercase();
        FORMATS.iter().find(|format| format.name == name)
    }

    fn number(&self, block: &[u8], place: usize) -> Number {
        let half = |at: usize| Type::F16.value(&block[at..at + 2]);
        let (kind, at) = self.scale;
        let (scale, minimum) = self.groups.scale_and_minimum(block, place / (self.numbers / self.groups.count()));
        let scale = scale * kind.value(&block[at..at + kind.size()]);
        let minimum = self.minimum.map_or(0.0, |at| half(at) * minimum);
        let low = self.low.code(block, place);
        let code = match &self.high {
            None if self.low.bits == 8 => f64::from(low as u8 as i8),
            None => f64::from(low),
            Some(high) => f64::from(low | high.code(block, place) << self.low.bits),
        };
        (scale * (code - self.middle) + minimum, scale.abs() * (code.abs() + self.middle) + minimum.abs())
    }

    /// Random blocks, with zeros after them as candle has, and their numbers. These are exact in `f32`.
    pub(super) fn matrix(&self, count: usize) -> (Buffer, Vec<Number>) {
        let (mut bytes, mut numbers, mut random) = (Vec::new(), Vec::new(), Random::new(self.bytes as u64));
        for _ in 0..count.div_ceil(self.numbers) {
            let mut block: Vec<u8> = random.words(self.bytes).into_iter().map(|word| word as u8).collect();
            let (kind, at) = self.scale;
            for (kind, at) in [Some((kind, at)), self.minimum.map(|at| (Type::F16, at))].into_iter().flatten() {
                let value = f64::from(random.below(4095, 1)[0] - 2047) / 65536.0;
                block[at..at + kind.size()].copy_from_slice(&kind.bytes(value));
            }
            numbers.extend((0..self.numbers).map(|place| self.number(&block, place)));
            bytes.extend(block);
        }
        bytes.resize(bytes.len() + 512 / self.numbers * self.bytes, 0);
        (Buffer::of(&bytes), numbers)
    }

    /// Returns the bytes of this many numbers.
    pub(super) fn size(&self, count: usize) -> usize {
        count / self.numbers * self.bytes
    }
}

/// Rows of `q8_1`, with blocks of zeros after the columns up to the padded ones, and their numbers: those of the
/// columns.
pub(super) fn activations(rows: usize, columns: usize, padded: usize) -> (Buffer, Vec<f64>) {
    let (mut bytes, mut numbers, mut random) = (Vec::new(), Vec::new(), Random::new(rows as u64));
    for block in 0..rows * padded / 32 {
        if block * 32 % padded >= columns {
            bytes.extend([0; 36]);
            continue;
        }
        let scale = 2_f64.powi(-4 - random.below(4, 1)[0]);
        let codes: Vec<i32> = random.below(255, 32).into_iter().map(|code| code - 127).collect();
        let sum = scale * f64::from(codes.iter().sum::<i32>());
        assert_eq!(Type::F16.round(sum), sum, "sums of codes are exact");
        bytes.extend([Type::F16.bytes(scale), Type::F16.bytes(sum)].concat());
        bytes.extend(codes.iter().map(|code| *code as u8));
        numbers.extend(codes.iter().map(|code| scale * f64::from(*code)));
    }
    (Buffer::of(&bytes), numbers)
}
