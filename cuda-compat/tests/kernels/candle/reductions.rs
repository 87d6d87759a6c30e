//! Reductions, normalisations and rotary embeddings.

use super::types::{Type, sizes};
use super::{Outcome, run};
use crate::device::{Module, args};

const ROWS: usize = 3;
const COLUMNS: usize = 100;

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    let (op, kind) = Type::of(name)?;
    match op {
        "fast_sum" | "fast_min" | "fast_max" => Some(reduce(module, name, kind, op)),
        "fast_argmin" | "fast_argmax" => Some(place(module, name, kind, op == "fast_argmax")),
        "fast_sum_small" => Some(small_sum(module, name, kind)),
        "sum" => Some(sum(module, name, kind)),
        "softmax" => Some(softmax(module, name, kind)),
        "rmsnorm" => Some(norm(module, name, kind, false)),
        "layernorm" => Some(norm(module, name, kind, true)),
        "rope" | "rope_i" | "rope_thd" => Some(rope(module, name, kind, op)),
        _ => None,
    }
}

/// Numbers whose sums are exact in all types.
fn numbers(kind: Type, count: usize) -> Vec<f64> {
    if kind.is_float() { kind.numbers(count) } else { (0..count).map(|at| (at * 7 % 3) as f64).collect() }
}

fn reduce(module: &Module, name: &str, kind: Type, op: &str) -> Outcome {
    let numbers = numbers(kind, ROWS * COLUMNS);
    let (input, info) = (kind.buffer(&numbers), sizes(&[3, 100, 100, 1]));
    for threads in [64, 128, 1024] {
        let output = kind.zeros(ROWS);
        let (all, each) = ((ROWS * COLUMNS) as u64, COLUMNS as u64);
        module.run(name, ROWS as u32, threads, args![all, each, 2_u64, &info, &input, &output]);
        let of = |row: &[f64]| match op {
            "fast_sum" => row.iter().sum(),
            "fast_min" => row.iter().copied().fold(f64::INFINITY, f64::min),
            _ => row.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        kind.compare(&output, &numbers.chunks(COLUMNS).map(of).collect::<Vec<f64>>(), 0.0)?;
    }
    Ok(())
}

fn place(module: &Module, name: &str, kind: Type, is_max: bool) -> Outcome {
    let numbers = numbers(kind, ROWS * COLUMNS);
    let (input, info, output) = (kind.buffer(&numbers), sizes(&[3, 100, 100, 1]), Type::U32.zeros(ROWS));
    let (all, each) = ((ROWS * COLUMNS) as u64, COLUMNS as u64);
    module.run(name, ROWS as u32, 64, args![all, each, 2_u64, &info, &input, &output]);
    for (row, place) in numbers.chunks(COLUMNS).zip(Type::U32.read(&output, ROWS)) {
        let best = row.iter().copied().fold(row[0], |a, b| if is_max { a.max(b) } else { a.min(b) });
        if row.get(place as usize) != Some(&best) {
            return Err(format!("the place is {place}"));
        }
    }
    Ok(())
}

fn small_sum(module: &Module, name: &str, kind: Type) -> Outcome {
    let numbers = numbers(kind, 50 * 6);
    let (input, info, output) = (kind.buffer(&numbers), sizes(&[50, 6, 6, 1]), kind.zeros(50));
    run(module, name, args![50_u64, 6_u64, 2_u64, &info, &input, &output]);
    kind.compare(&output, &numbers.chunks(6).map(|row| row.iter().sum()).collect::<Vec<f64>>(), 0.0)
}

fn sum(module: &Module, name: &str, kind: Type) -> Outcome {
    let numbers = numbers(kind, 12 * 8);
    let (input, info, output) = (kind.buffer(&numbers), sizes(&[12, 8, 8, 1, 8, 1]), kind.zeros(12));
    run(module, name, args![96_u64, 2_u64, 1_u64, &info, &input, &output]);
    kind.compare(&output, &numbers.chunks(8).map(|row| row.iter().sum()).collect::<Vec<f64>>(), 0.0)
}

fn softmax(module: &Module, name: &str, kind: Type) -> Outcome {
    let numbers = numbers(kind, ROWS * COLUMNS);
    let (input, output) = (kind.buffer(&numbers), kind.zeros(ROWS * COLUMNS));
    module.launch(name, (ROWS as u32, 1), (1, 32), 0, args![&input, &output, COLUMNS as i32]);
    let of = |row: &[f64]| {
        let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
        row.iter().map(|x| (x - max).exp() / sum).collect::<Vec<f64>>()
    };
    kind.compare(&output, &numbers.chunks(COLUMNS).flat_map(of).collect::<Vec<f64>>(), 2.0)
}

/// The root mean square's, or with the mean taken off.
fn norm(module: &Module, name: &str, kind: Type, is_layer: bool) -> Outcome {
    let numbers = numbers(kind, ROWS * COLUMNS);
    let alphas: Vec<f64> = (0..COLUMNS).map(|at| kind.round(0.5 + (at % 5) as f64 / 4.0)).collect();
    let betas: Vec<f64> = (0..COLUMNS).map(|at| (at % 3) as f64 - 1.0).collect();
    let (input, alpha, beta) = (kind.buffer(&numbers), kind.buffer(&alphas), kind.buffer(&betas));
    let eps = 1e-5;
    let of = |row: &[f64]| {
        let count = COLUMNS as f64;
        let mean = if is_layer { row.iter().sum::<f64>() / count } else { 0.0 };
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let beta = |at: usize| if is_layer { betas[at] } else { 0.0 };
        let scaled = row.iter().map(|x| (x - mean) / (variance + eps).sqrt());
        scaled.enumerate().map(|(at, x)| x * alphas[at] + beta(at)).collect::<Vec<f64>>()
    };
    let expected: Vec<f64> = numbers.chunks(COLUMNS).flat_map(of).collect();
    // They are computed in f32, of doubles too.
    let as_f32 = |kind: Type| if kind == Type::F64 { 16.0 * 2_f64.powi(29) } else { 16.0 };
    // One warp, or all warps of the largest block: the kernel reads a partial sum for each of 32.
    for threads in [32_u32, 1024] {
        let output = kind.zeros(ROWS * COLUMNS);
        let (columns, size, eps) = (COLUMNS as i32, threads as i32, eps as f32);
        if is_layer {
            module.run(name, ROWS as u32, threads, args![&input, &output, &alpha, &beta, columns, size, eps]);
        } else {
            module.run(name, ROWS as u32, threads, args![&input, &output, &alpha, columns, size, eps]);
        }
        kind.compare(&output, &expected, if kind == Type::Bf16 || kind == Type::F16 { 1.0 } else { as_f32(kind) })?;
    }
    Ok(())
}

fn rope(module: &Module, name: &str, kind: Type, op: &str) -> Outcome {
    // Two batches, three steps in time, two heads, eight numbers.
    let (b, t, h, d) = (2, 3, 2, 8);
    let numbers = numbers(kind, b * t * h * d);
    let angles: Vec<f64> = (0..t * d / 2).map(|at| at as f64 / 5.0).collect();
    let cosines: Vec<f64> = angles.iter().map(|angle| kind.round(angle.cos())).collect();
    let sines: Vec<f64> = angles.iter().map(|angle| kind.round(angle.sin())).collect();
    let (input, cos, sin) = (kind.buffer(&numbers), kind.buffer(&cosines), kind.buffer(&sines));
    let output = kind.zeros(numbers.len());
    let (bh, td) = ((b * h) as u32, (t * d) as u32);
    match op {
        "rope_i" => run(module, name, args![&input, &cos, &sin, &output, bh, td, 0_u32]),
        "rope" => run(module, name, args![&input, &cos, &sin, &output, bh, td, d as u32, 0_u32]),
        _ => run(module, name, args![&input, &cos, &sin, &output, b as u32, t as u32, h as u32, d as u32, 0_u32]),
    }
    let mut expected = vec![0.0; numbers.len()];
    for (row, chunk) in numbers.chunks(d).enumerate() {
        // Rows are by batch, head and time, or by batch, time and head.
        let time = if op == "rope_thd" { row / h % t } else { row % t };
        for pair in 0..d / 2 {
            let (one, two) = if op == "rope_i" { (2 * pair, 2 * pair + 1) } else { (pair, pair + d / 2) };
            let (c, s) = (cosines[time * d / 2 + pair], sines[time * d / 2 + pair]);
            expected[row * d + one] = chunk[one] * c - chunk[two] * s;
            expected[row * d + two] = chunk[one] * s + chunk[two] * c;
        }
    }
    kind.compare(&output, &expected, 8.0)
}
