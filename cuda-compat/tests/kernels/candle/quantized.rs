//! Quantized matrices: their numbers, rows, and products with vectors and matrices.

use super::Outcome;
use super::formats::{Format, Number, activations};
use super::types::Type;
use crate::device::{Buffer, Module, args};
use crate::random::Random;

const ROWS: usize = 4;
/// More than all threads of a block take in one step, and no multiple of 512.
const COLUMNS: usize = 2304;
/// Kernels take rows of `q8_1` that are padded to multiples of 512.
const PADDED: usize = COLUMNS.next_multiple_of(512);

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    if name == "quantize_q8_1" {
        return Some(quantize(module, name));
    }
    if let Some(rest) = name.strip_prefix("dequantize_block_") {
        let (of, kind) = Type::of(rest)?;
        return Some(values(module, name, Format::of(of)?, kind));
    }
    if let Some(of) = name.strip_prefix("dequantize_mul_mat_vec_") {
        return Some(vector(module, name, Format::of(of.strip_suffix("_cuda").unwrap_or(of))?));
    }
    if let Some((of, count)) = name.strip_prefix("mul_mat_vec_").and_then(|rest| rest.split_once("_q8_1_cuda")) {
        return Some(vectors(module, name, Format::of(of)?, count.parse().ok()?));
    }
    if let Some(of) = name.strip_prefix("mul_mat_") {
        return Some(matrices(module, name, Format::of(of)?));
    }
    if let Some(of) = name.strip_prefix("indexed_moe_forward_").and_then(|rest| rest.strip_suffix("_q8_1")) {
        return Some(experts(module, name, Format::of(of)?));
    }
    let of = name.strip_prefix("get_rows_")?;
    match Format::of(of) {
        Some(format) => {
            let (matrix, numbers) = format.matrix(ROWS * COLUMNS);
            let numbers: Vec<f64> = numbers.into_iter().map(|(number, _)| number).collect();
            let (blocks, threads) = if format.numbers == 256 { (COLUMNS / 256, format.threads) } else { (1, 128) };
            Some(rows(module, name, &matrix, format.size(COLUMNS), &numbers, (blocks, threads)))
        }
        None => {
            let (_, kind) = Type::of(name)?;
            let numbers = kind.numbers(ROWS * COLUMNS);
            Some(rows(module, name, &kind.buffer(&numbers), COLUMNS * kind.size(), &numbers, (1, 128)))
        }
    }
}

fn values(module: &Module, name: &str, format: &Format, kind: Type) -> Outcome {
    let (matrix, numbers) = format.matrix(ROWS * COLUMNS);
    let (count, output) = (numbers.len(), kind.zeros(numbers.len()));
    // Kernels of `q5_0` and `q5_1` take two numbers for each thread, and others of small blocks eight blocks for each 32 threads.
    let (blocks, limit) = if format.threads == 256 { (count.div_ceil(512), count) } else { (count / 256, count / 32) };
    // Kernels of large blocks take no limit, and ignore it.
    module.run(name, blocks as u32, format.threads, args![&matrix, &output, limit as i32]);
    kind.compare(&output, &numbers.into_iter().map(|(number, _)| number).collect::<Vec<f64>>(), 0.0)
}

fn rows(
    module: &Module,
    name: &str,
    matrix: &Buffer,
    stride: usize,
    numbers: &[f64],
    (blocks, threads): (usize, u32),
) -> Outcome {
    let places = [2_u32, 0, 3];
    let (indices, output) = (Buffer::of(&places), Type::F32.zeros(places.len() * COLUMNS));
    let arguments = args![matrix, &indices, &output, COLUMNS as u64, stride as u64];
    module.launch(name, (places.len() as u32, blocks as u32), (threads, 1), 0, arguments);
    let of = |place: &u32| numbers[*place as usize * COLUMNS..][..COLUMNS].to_vec();
    Type::F32.compare(&output, &places.iter().flat_map(of).collect::<Vec<f64>>(), 0.0)
}

/// The products of the rows of a matrix with each vector, vector by vector.
fn products(matrix: &[Number], vectors: &[f64], columns: usize) -> Vec<Number> {
    let of = |row: &[Number], vector: &[f64]| {
        let add =
            |(sum, all): Number, ((number, terms), by): (&Number, &f64)| (sum + number * by, all + terms * by.abs());
        row.iter().zip(vector).fold((0.0, 0.0), add)
    };
    vectors.chunks(columns).flat_map(|vector| matrix.chunks(columns).map(move |row| of(row, vector))).collect()
}

/// Compares sums in `f32`, to some parts of the magnitudes of their terms.
fn compare_sums(output: &Buffer, expected: &[Number]) -> Outcome {
    for (at, (found, (sum, terms))) in Type::F32.read(output, expected.len()).into_iter().zip(expected).enumerate() {
        let near = (found - sum).abs() <= terms * 2_f64.powi(-21);
        if !near {
            return Err(format!("element {at} is {found}, and should be {sum}, of terms of {terms}"));
        }
    }
    Ok(())
}

fn vector(module: &Module, name: &str, format: &Format) -> Outcome {
    let (matrix, numbers) = format.matrix(ROWS * COLUMNS);
    let vector = Random::new(1).floats(COLUMNS);
    let (input, output) = (Buffer::of(&vector), Type::F32.zeros(ROWS));
    module.run(name, ROWS as u32, 32, args![&matrix, &input, &output, COLUMNS as i32, ROWS as i32]);
    let vector: Vec<f64> = vector.into_iter().map(f64::from).collect();
    compare_sums(&output, &products(&numbers, &vector, COLUMNS))
}

fn vectors(module: &Module, name: &str, format: &Format, count: usize) -> Outcome {
    let (matrix, numbers) = format.matrix(ROWS * COLUMNS);
    let (input, vectors) = activations(count, COLUMNS, PADDED);
    let output = Type::F32.zeros(ROWS * count);
    let (blocks, warps) = match count {
        1 => (ROWS, 4),
        2..=4 => (ROWS / 2, 4),
        _ => (ROWS / 2, 2),
    };
    let arguments = args![&matrix, &input, &output, COLUMNS as i32, ROWS as i32, PADDED as i32, ROWS as i32];
    module.launch(name, (blocks as u32, 1), (32, warps), 0, arguments);
    compare_sums(&output, &products(&numbers, &vectors, COLUMNS))
}

/// A block of threads computes 64 or 128 rows and columns of the product.
fn matrices(module: &Module, name: &str, format: &Format) -> Outcome {
    let (rows, columns, padded, count) = (70, 768, 1024, 67);
    let (width, height) = match name {
        "mul_mat_q5_0" | "mul_mat_q5_1" | "mul_mat_q8_0" => (128, 64),
        "mul_mat_q3_K" => (128, 128),
        "mul_mat_q6_K" => (64, 64),
        _ => (64, 128),
    };
    let (matrix, numbers) = format.matrix(rows * columns);
    let (input, vectors) = activations(count, columns, padded);
    let output = Type::F32.zeros(rows * count);
    let sizes = [columns, rows, count, padded, rows].map(|size| size as i32);
    let arguments = args![&matrix, &input, &output, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]];
    module.launch(name, (rows.div_ceil(height) as u32, count.div_ceil(width) as u32), (32, 4), 0, arguments);
    compare_sums(&output, &products(&numbers, &vectors, columns))
}

/// Each of two rows of inputs is for two of three matrices: one vector for both, or one for each.
fn experts(module: &Module, name: &str, format: &Format) -> Outcome {
    let (batch, each, places) = (2, 2, [2_u32, 0, 1, 2]);
    let (matrix, numbers) = format.matrix(3 * ROWS * COLUMNS);
    let indices = Buffer::of(&places);
    for inputs in [1, each] {
        let (input, vectors) = activations(batch * inputs, COLUMNS, PADDED);
        let output = Type::F32.zeros(batch * each * ROWS);
        let sizes = [ROWS, COLUMNS, batch, each, PADDED, inputs].map(|size| size as i32);
        let arguments =
            args![&matrix, &input, &indices, &output, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]];
        module.launch_in_three(name, (ROWS as u32, batch as u32, each as u32), (32, 4), 0, arguments);
        let of = |(task, place): (usize, &u32)| {
            // Kernels compute the distance as if a block had 256 numbers. Blocks of `q8_0` have 32, so its matrices overlap.
            let matrix = &numbers[*place as usize * (ROWS * COLUMNS / 256) * format.numbers..][..ROWS * COLUMNS];
            let vector = if inputs == 1 { task / each } else { task };
            products(matrix, &vectors[vector * COLUMNS..][..COLUMNS], COLUMNS)
        };
        compare_sums(&output, &places.iter().enumerate().flat_map(of).collect::<Vec<Number>>())?;
    }
    Ok(())
}

/// Rows of 300 numbers to blocks, and zeros after them.
fn quantize(module: &Module, name: &str) -> Outcome {
    let (rows, columns, padded) = (3, 300, 512);
    let numbers = Random::new(2).floats(rows * columns);
    let (input, output) = (Buffer::of(&numbers), Buffer::of(&vec![0xff_u8; rows * padded / 32 * 36]));
    let arguments = args![&input, &output, columns as i32, padded as i32];
    module.launch(name, (padded as u32 / 256, rows as u32), (256, 1), 0, arguments);
    for (at, block) in output.read::<u8>(rows * padded / 32 * 36).chunks(36).enumerate() {
        let (row, column) = (at * 32 / padded, at * 32 % padded);
        let number =
            |place| if column + place < columns { f64::from(numbers[row * columns + column + place]) } else { 0.0 };
        let numbers: Vec<f64> = (0..32).map(number).collect();
        let largest = numbers.iter().fold(0.0, |largest: f64, number| largest.max(number.abs()));
        // The scale is rounded to `f32`, and then to half; the sum is exact in `f32`.
        let (scale, sum) = (Type::F16.value(&block[..2]), Type::F16.value(&block[2..4]));
        let near = |(number, code): (&f64, &u8)| {
            let code = f64::from(*code as i8);
            if largest == 0.0 { code == 0.0 } else { (number / largest * 127.0 - code).abs() < 0.5001 }
        };
        let right = (scale * 127.0 - largest).abs() <= largest * 2_f64.powi(-11) * 1.001
            && sum == Type::F16.round(numbers.iter().sum())
            && numbers.iter().zip(&block[4..]).all(near);
        if !right {
            return Err(format!("block {at} has the scale {scale} and the sum {sum}, for {numbers:?}"));
        }
    }
    Ok(())
}
