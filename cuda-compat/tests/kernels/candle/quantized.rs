//! Quantized blocks of 32 numbers: values, rows, and products with vectors.

use super::Outcome;
use super::types::Type;
use crate::device::{Buffer, Module, args};
use crate::random::Random;

const ROWS: usize = 4;
const COLUMNS: usize = 128;
const BLOCK: usize = 32;

/// A format of blocks: the bits of a number, and whether a block has a smallest number; else numbers are about zero.
struct Format {
    bits: u32,
    has_minimum: bool,
}

const FORMATS: [(&str, Format); 5] = [
    ("q4_0", Format { bits: 4, has_minimum: false }),
    ("q4_1", Format { bits: 4, has_minimum: true }),
    ("q5_0", Format { bits: 5, has_minimum: false }),
    ("q5_1", Format { bits: 5, has_minimum: true }),
    ("q8_0", Format { bits: 8, has_minimum: false }),
];

fn format(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|(format, _)| *format == name).map(|(_, format)| format)
}

impl Format {
    /// The bytes of a matrix, and its numbers.
    fn matrix(&self) -> (Vec<u8>, Vec<f64>) {
        let (mut bytes, mut numbers, mut random) = (Vec::new(), Vec::new(), Random::new(u64::from(self.bits)));
        for block in 0..ROWS * COLUMNS / BLOCK {
            let (scale, minimum) = ((1 + block % 5) as f64 / 16.0, (block % 3) as f64 - 1.5);
            let codes: Vec<u32> = random.words(BLOCK).into_iter().map(|word| word >> (32 - self.bits)).collect();
            bytes.extend(Type::F16.bytes(scale));
            if self.has_minimum {
                bytes.extend(Type::F16.bytes(minimum));
            }
            if self.bits == 8 {
                bytes.extend(codes.iter().map(|code| *code as u8));
                numbers.extend(codes.iter().map(|code| scale * f64::from(*code as u8 as i8)));
                continue;
            }
            if self.bits == 5 {
                let high: u32 = codes.iter().enumerate().map(|(at, code)| (code >> 4) << at).sum();
                bytes.extend(high.to_le_bytes());
            }
            // The first half of the numbers is in the lower bits of the bytes.
            bytes.extend((0..BLOCK / 2).map(|at| (codes[at] & 15 | (codes[at + BLOCK / 2] & 15) << 4) as u8));
            let middle = f64::from(1 << (self.bits - 1));
            numbers.extend(codes.iter().map(|code| {
                if self.has_minimum { scale * f64::from(*code) + minimum } else { scale * (f64::from(*code) - middle) }
            }));
        }
        (bytes, numbers)
    }
}

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    if let Some(rest) = name.strip_prefix("dequantize_block_") {
        let (of, kind) = Type::of(rest)?;
        return Some(values(module, name, of, format(of)?, kind));
    }
    if let Some(of) = name.strip_prefix("dequantize_mul_mat_vec_").and_then(|rest| rest.strip_suffix("_cuda")) {
        return Some(product(module, name, format(of)?));
    }
    let of = name.strip_prefix("get_rows_")?;
    match format(of) {
        Some(format) => {
            let (bytes, numbers) = format.matrix();
            Some(rows(module, name, &Buffer::of(&bytes), bytes.len() / ROWS, &numbers))
        }
        None => {
            let (_, kind) = Type::of(name)?;
            let numbers = kind.numbers(ROWS * COLUMNS);
            Some(rows(module, name, &kind.buffer(&numbers), COLUMNS * kind.size(), &numbers))
        }
    }
}

fn values(module: &Module, name: &str, of: &str, format: &Format, kind: Type) -> Outcome {
    let (bytes, numbers) = format.matrix();
    let (input, output) = (Buffer::of(&bytes), kind.zeros(numbers.len()));
    if of.starts_with("q5") {
        // Two numbers for each thread.
        module.run(name, 1, 256, args![&input, &output, numbers.len() as i32]);
    } else {
        // Eight blocks for each 32 threads.
        module.run(name, 2, 32, args![&input, &output, (numbers.len() / BLOCK) as i32]);
    }
    kind.compare(&output, &numbers, 0.0)
}

fn product(module: &Module, name: &str, format: &Format) -> Outcome {
    let (bytes, numbers) = format.matrix();
    let vector = Type::F32.numbers(COLUMNS);
    let (matrix, input, output) = (Buffer::of(&bytes), Type::F32.buffer(&vector), Type::F32.zeros(ROWS));
    module.run(name, ROWS as u32, 32, args![&matrix, &input, &output, COLUMNS as i32, ROWS as i32]);
    let of = |row: &[f64]| row.iter().zip(&vector).map(|(a, b)| a * b).sum();
    // 128 terms of up to some tens.
    Type::F32.compare(&output, &numbers.chunks(COLUMNS).map(of).collect::<Vec<f64>>(), 2000.0)
}

fn rows(module: &Module, name: &str, matrix: &Buffer, stride: usize, numbers: &[f64]) -> Outcome {
    let places = [2_u32, 0, 3];
    let (indices, output) = (Buffer::of(&places), Type::F32.zeros(places.len() * COLUMNS));
    module.run(name, places.len() as u32, 128, args![matrix, &indices, &output, COLUMNS as u64, stride as u64]);
    let of = |place: &u32| numbers[*place as usize * COLUMNS..][..COLUMNS].to_vec();
    Type::F32.compare(&output, &places.iter().flat_map(of).collect::<Vec<f64>>(), 0.0)
}
