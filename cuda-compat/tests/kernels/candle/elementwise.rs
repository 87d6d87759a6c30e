//! Kernels of one element at a time: affine, binary, cast, fill, unary.

use super::types::{Type, sizes};
use super::{Outcome, run};
use crate::device::{Buffer, Module, args};

/// Elements: 10 rows of 20, and the same with rows and columns exchanged.
const N: usize = 200;
const DIMS: [u64; 2] = [10, 20];
const STRIDES: [u64; 2] = [1, 10];

/// Where an element is that is read by [`STRIDES`].
fn strided(at: usize) -> usize {
    at / 20 + at % 20 * 10
}

pub(super) fn check(module: &Module, name: &str) -> Option<Outcome> {
    if name.starts_with("cast_") {
        let (before, to) = Type::of(name)?;
        let (_, from) = Type::of(before)?;
        return Some(cast(module, name, from, to));
    }
    let (op, kind) = Type::of(name)?;
    match op {
        "affine" => Some(affine(module, name, kind)),
        "fill" => Some(fill(module, name, kind)),
        "copy2d" => Some(copy_2d(module, name, kind)),
        "const_set" => Some(const_set(module, name, kind)),
        _ => binary(module, name, op, kind).or_else(|| unary(module, name, op, kind)),
    }
}

fn affine(module: &Module, name: &str, kind: Type) -> Outcome {
    let numbers: Vec<f64> = kind.numbers(N).into_iter().map(|x| if kind.is_float() { x } else { x.abs() }).collect();
    let (input, info) = (kind.buffer(&numbers), sizes(&[DIMS, STRIDES].concat()));
    let of = |x: f64| x * 2.0 + 3.0;
    for (info, place) in [(Buffer::none(), (|at| at) as fn(usize) -> usize), (info, strided)] {
        let output = kind.zeros(N);
        let (mul, add) = (kind.argument(2.0), kind.argument(3.0));
        run(
            module,
            name,
            &mut [(N as u64).into(), 2_u64.into(), (&info).into(), (&input).into(), (&output).into(), mul, add],
        );
        kind.compare(
            &output,
            &(0..N).map(|at| of(numbers[place(at)])).collect::<Vec<f64>>(),
            if kind.is_float() { 1.0 } else { 0.0 },
        )?;
    }
    Ok(())
}

fn cast(module: &Module, name: &str, from: Type, to: Type) -> Outcome {
    // Fractions that are rounded or cut; nothing that the other type cannot have.
    let numbers: Vec<f64> = from
        .numbers(N)
        .into_iter()
        .map(|x| if from.is_float() { from.round(x * 5.0 / 3.0) } else { x })
        .map(|x| if matches!(to, Type::U8 | Type::U32) { x.abs() } else { x })
        .collect();
    let (input, info) = (from.buffer(&numbers), sizes(&[DIMS, STRIDES].concat()));
    for (info, place) in [(Buffer::none(), (|at| at) as fn(usize) -> usize), (info, strided)] {
        let output = to.zeros(N);
        run(module, name, args![N as u64, 2_u64, &info, &input, &output]);
        to.compare(&output, &(0..N).map(|at| numbers[place(at)]).collect::<Vec<f64>>(), 0.0)?;
    }
    Ok(())
}

fn fill(module: &Module, name: &str, kind: Type) -> Outcome {
    let output = kind.zeros(N);
    run(module, name, &mut [(&output).into(), kind.argument(5.0), (N as u64 - 1).into()]);
    kind.compare(&output, &[vec![5.0; N - 1], vec![0.0]].concat(), 0.0)
}

fn const_set(module: &Module, name: &str, kind: Type) -> Outcome {
    let (output, info) = (kind.zeros(N), sizes(&[[5, 20], STRIDES].concat()));
    run(module, name, &mut [100_u64.into(), 2_u64.into(), (&info).into(), kind.argument(3.0), (&output).into()]);
    kind.compare(&output, &(0..N).map(|at| if at % 10 < 5 { 3.0 } else { 0.0 }).collect::<Vec<f64>>(), 0.0)
}

fn copy_2d(module: &Module, name: &str, kind: Type) -> Outcome {
    let numbers = kind.numbers(N);
    let (input, output) = (kind.buffer(&numbers), kind.zeros(N));
    // 8 rows of 12: of rows of 20 to rows of 15.
    run(module, name, args![&input, &output, 8_u32, 12_u32, 20_u32, 15_u32]);
    let of = |at: usize| if at / 15 < 8 && at % 15 < 12 { numbers[at / 15 * 20 + at % 15] } else { 0.0 };
    kind.compare(&output, &(0..N).map(of).collect::<Vec<f64>>(), 0.0)
}

fn binary(module: &Module, name: &str, op: &str, kind: Type) -> Option<Outcome> {
    type Function = fn(f64, f64) -> f64;
    let (function, is_truth, steps): (Function, bool, f64) = match op {
        "badd" => (|x, y| x + y, false, 0.0),
        "bsub" => (|x, y| x - y, false, 0.0),
        "bmul" => (|x, y| x * y, false, 0.0),
        "bdiv" if kind.is_float() => (|x, y| x / y, false, 1.0),
        "bdiv" => (|x, y| (x / y).trunc(), false, 0.0),
        "bmaximum" => (f64::max, false, 0.0),
        "bminimum" => (f64::min, false, 0.0),
        "eq" => (|x, y| f64::from(u8::from(x == y)), true, 0.0),
        "ne" => (|x, y| f64::from(u8::from(x != y)), true, 0.0),
        "lt" => (|x, y| f64::from(u8::from(x < y)), true, 0.0),
        "le" => (|x, y| f64::from(u8::from(x <= y)), true, 0.0),
        "gt" => (|x, y| f64::from(u8::from(x > y)), true, 0.0),
        "ge" => (|x, y| f64::from(u8::from(x >= y)), true, 0.0),
        _ => return None,
    };
    let (x, y): (Vec<f64>, Vec<f64>) = if kind.is_float() {
        let y = kind.numbers(N).into_iter().rev().map(|y| if y == 0.0 { 1.5 } else { y });
        (kind.numbers(N), y.collect())
    } else {
        // No result is below zero, or above 255.
        ((0..N).map(|at| (6 + at % 10) as f64).collect(), (0..N).map(|at| (1 + at % 6) as f64).collect())
    };
    let out = if is_truth { Type::U8 } else { kind };
    let (left, right) = (kind.buffer(&x), kind.buffer(&y));
    let plain = [20, 1];
    type Place = fn(usize) -> usize;
    let layouts: [(Option<Buffer>, Place, Place); 4] = [
        (None, |at| at, |at| at),
        (Some(sizes(&[DIMS, plain, STRIDES].concat())), |at| at, strided),
        (Some(sizes(&[DIMS, STRIDES, plain].concat())), strided, |at| at),
        (Some(sizes(&[DIMS, STRIDES, STRIDES].concat())), strided, strided),
    ];
    for (info, of_x, of_y) in layouts {
        let (output, info) = (out.zeros(N), info.unwrap_or_else(Buffer::none));
        run(module, name, args![N as u64, 2_u64, &info, &left, &right, &output]);
        let expected: Vec<f64> = (0..N).map(|at| function(x[of_x(at)], y[of_y(at)])).collect();
        if let Err(why) = out.compare(&output, &expected, steps) {
            return Some(Err(why));
        }
    }
    Some(Ok(()))
}

/// The error function: its series around zero, and from 2 on the continued fraction of its complement.
fn erf(x: f64) -> f64 {
    if x.abs() >= 2.0 {
        let square = x * x;
        let fraction = (1..200).rev().fold(square, |below, n| {
            let half = f64::from(n) / 2.0;
            if n % 2 == 1 { square + half / (1.0 + (half + 0.5) / below) } else { below }
        });
        let lacking = x.abs() * (-square).exp() / fraction / std::f64::consts::PI.sqrt();
        return x.signum() * (1.0 - lacking);
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn the_error_function_has_published_values() {
    for (x, expected) in [(0.5, 0.520499877813046_5), (2.0, 0.995322265018952_7), (3.0, 0.999977909503001_4)] {
        assert!((erf(x) - expected).abs() < 1e-15 && erf(-x) == -erf(x), "{x}: {}", erf(x));
    }
}

fn normal(x: f64) -> f64 {
    0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))
}

fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    0.5 * x * (1.0 + inner.tanh())
}

/// The exponent of `upowf` and the factor of `uelu`.
const PARAMETER: f64 = 1.5;

fn unary(module: &Module, name: &str, op: &str, kind: Type) -> Option<Outcome> {
    // Functions of several operations, in the type itself, lose some steps.
    let (function, steps): (fn(f64) -> f64, f64) = match op {
        "ucopy" => (|x| x, 0.0),
        "uneg" => (|x| -x, 0.0),
        "uabs" => (f64::abs, 0.0),
        "usqr" => (|x| x * x, 0.0),
        "uceil" => (f64::ceil, 0.0),
        "ufloor" => (f64::floor, 0.0),
        "uround" => (f64::round, 0.0),
        "urelu" => (|x| x.max(0.0), 0.0),
        "usign" => (|x| if x == 0.0 { 0.0 } else { x.signum() }, 0.0),
        "urecip" => (f64::recip, 1.0),
        "usqrt" => (f64::sqrt, 1.0),
        "uexp" => (f64::exp, 4.0),
        "ulog" => (f64::ln, 4.0),
        "usin" => (f64::sin, 4.0),
        "ucos" => (f64::cos, 4.0),
        "utanh" => (f64::tanh, 4.0),
        "uerf" => (erf, 8.0),
        "unormcdf" => (normal, 8.0),
        "ugelu" => (gelu, 12.0),
        "ugelu_erf" => (|x| x * normal(x), 12.0),
        "usilu" => (|x| x / (1.0 + (-x).exp()), 6.0),
        "usigmoid" => (|x| 1.0 / (1.0 + (-x).exp()), 6.0),
        "upowf" => (|x| x.powf(PARAMETER), 4.0),
        "uelu" => (|x| if x > 0.0 { x } else { PARAMETER * (x.exp() - 1.0) }, 6.0),
        _ => return None,
    };
    let is_positive = matches!(op, "urecip" | "usqrt" | "ulog" | "upowf");
    let numbers: Vec<f64> =
        kind.numbers(N).into_iter().map(|x| if is_positive { kind.round(x.abs() + 0.5) } else { x }).collect();
    let (input, info) = (kind.buffer(&numbers), sizes(&[DIMS, STRIDES].concat()));
    for (info, place) in [(Buffer::none(), (|at| at) as fn(usize) -> usize), (info, strided)] {
        let output = kind.zeros(N);
        let mut arguments = vec![(N as u64).into(), 2_u64.into(), (&info).into()];
        if matches!(op, "upowf" | "uelu") {
            arguments.push(kind.argument(PARAMETER));
        }
        arguments.extend([(&input).into(), (&output).into()]);
        run(module, name, &mut arguments);
        let expected: Vec<f64> = (0..N).map(|at| function(numbers[place(at)])).collect();
        if let Err(why) = kind.compare(&output, &expected, steps) {
            return Some(Err(why));
        }
    }
    Some(Ok(()))
}
