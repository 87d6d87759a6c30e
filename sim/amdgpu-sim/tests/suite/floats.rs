//! Arithmetic that IEEE 754 defines to the last bit, in four precisions.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Buffer, Plain, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};
use crate::numbers::{Brain, Half, Number, exponent, numbers, power, same, sum_to_odd};

topic!("floats", check);

const COUNT: usize = 777;

fn run<T: Plain, R: Plain>(gpu: &Gpu, module: &Module, kernel: &str, inputs: &[&[T]], results: usize) -> Vec<R> {
    let buffers: Vec<Buffer<'_, T>> = inputs.iter().map(|data| upload(gpu, data)).collect();
    let out = zeros::<R>(gpu, results * COUNT);
    let args = buffers.iter().fold(Args::default(), Args::pointer).pointer(&out).value(COUNT as u32);
    launch_1d(gpu, module, kernel, COUNT.div_ceil(192) as u32, 192, &args);
    out.get()
}

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    arithmetic::<f64>(level, gpu, module, "f64", f64::mul_add, f64::sqrt);
    arithmetic::<f32>(level, gpu, module, "f32", f32::mul_add, f32::sqrt);
    let fused = |x: Half, y: Half, z: Half| Half::narrow(sum_to_odd(x.wide() * y.wide(), z.wide()));
    arithmetic::<Half>(level, gpu, module, "f16", fused, |x| Half::narrow(x.wide().sqrt()));
    brain(level, gpu, module);
    parts::<f32>(level, gpu, module, "parts_f32", (400, 200));
    parts::<f64>(level, gpu, module, "parts_f64", (3000, 1500));
}

/// An operation on the values, rounded once. For `f64` the operation itself rounds; for the others it is exact, or so
/// much wider than the result that double rounding is harmless (sums are rounded to odd first).
fn rounded<T: Number>(value: f64) -> T {
    T::narrow(value)
}

fn arithmetic<T: Number + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    name: &str,
    fused: fn(T, T, T) -> T,
    root: fn(T) -> T,
) {
    let mut random = Random(31);
    let [a, b, c]: [Vec<T>; 3] = std::array::from_fn(|_| numbers(&mut random, COUNT));
    let sum = |x: f64, y: f64| rounded::<T>(if T::DIGITS == 53 { x + y } else { sum_to_odd(x, y) });
    let results: Vec<T> = run(gpu, module, &format!("arithmetic_{name}"), &[&a, &b, &c], 14);
    for (i, got) in results.chunks_exact(14).enumerate() {
        let (x, y, z) = (a[i].wide(), b[i].wide(), c[i].wide());
        let expected = [
            sum(x, y),
            sum(x, -y),
            rounded(x * y),
            rounded(x / y),
            fused(a[i], b[i], c[i]),
            root(a[i]),
            rounded(x.floor()),
            rounded(x.ceil()),
            rounded(x.trunc()),
            rounded(x.round_ties_even()),
            rounded(x.abs()),
            rounded(x.copysign(y)),
            rounded(-x),
            sum(rounded::<T>(x * y).wide(), z),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            // The sign of a NaN is unspecified, except for operations on the sign.
            assert!(same(*got, expected), "{level} {name}: {which} of {x:e} {y:e} {z:e}: {got:?}, not {expected:?}");
        }
    }

    let flags: Vec<u32> = run(gpu, module, &format!("compare_{name}"), &[&a, &b], 1);
    let extremes: Vec<T> = run(gpu, module, &format!("extremes_{name}"), &[&a, &b], 2);
    for i in 0..COUNT {
        let (x, y) = (a[i].wide(), b[i].wide());
        let normal = x.is_finite() && x != 0.0 && exponent(x) >= T::EXPONENTS.0;
        let conditions = [
            x < y,
            x <= y,
            x > y,
            x >= y,
            x == y,
            x != y,
            x.is_nan() || y.is_nan(),
            x.is_infinite(),
            x.is_finite(),
            normal,
            a[i].to_bits() >> (8 * size_of::<T>() - 1) == 1,
            x.is_nan(),
            // Class mask 0x90: subnormal, of either sign.
            x.is_finite() && x != 0.0 && !normal,
            !matches!(x.partial_cmp(&y), Some(std::cmp::Ordering::Less)),
            x < y && x > 1.0,
        ];
        let expected = conditions.iter().enumerate().fold(0, |bits, (n, condition)| bits | u32::from(*condition) << n);
        assert_eq!(flags[i], expected, "{level} {name}: compare {x:e} and {y:e}: {:#x}, not {expected:#x}", flags[i]);
        // Which zero is the smaller one is unspecified.
        for (got, expected) in [(extremes[2 * i], x.min(y)), (extremes[2 * i + 1], x.max(y))] {
            let zeros = x == 0.0 && y == 0.0 && got.wide() == 0.0;
            assert!(zeros || same(got, T::narrow(expected)), "{level} {name}: extremes of {x:e} and {y:e}: {got:?}");
        }
    }
}

fn brain(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(32);
    let [a, b]: [Vec<Brain>; 2] = std::array::from_fn(|_| numbers(&mut random, COUNT));
    let results: Vec<Brain> = run(gpu, module, "arithmetic_bf16", &[&a, &b], 6);
    for (i, got) in results.chunks_exact(6).enumerate() {
        let (x, y) = (a[i].wide(), b[i].wide());
        // bfloat16 is widened to f32, which may be subnormal or infinite in between, and rounded twice.
        let narrow = |exact: f64| Brain::narrow(f64::from(exact as f32));
        let expected = [
            narrow(sum_to_odd(x, y)),
            narrow(sum_to_odd(x, -y)),
            narrow(x * y),
            narrow(x / y),
            Brain::narrow(-x),
            if x < y { a[i] } else { b[i] },
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert!(same(*got, expected), "{level} bf16: {which} of {x:e} {y:e}: {got:?}, not {expected:?}");
        }
    }
}

/// `x - n * y` with an integer `n`, exactly: `n` is the quotient truncated, or rounded to nearest, ties to even.
fn remainder(x: f64, y: f64, nearest: bool) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() || x == 0.0 {
        return x;
    }
    // Rust's `%` is exact.
    let rest = x % y;
    if !nearest {
        return rest;
    }
    let (r, d) = (rest.abs(), y.abs());
    // Whether the truncated quotient is odd, for ties.
    let odd = (x.abs() % (2.0 * d)) >= d && (2.0 * d).is_finite();
    // Compares 2 r with d without overflow or loss: d - r is exact if r is at least half of d.
    let beyond = if r < d / 2.0 { false } else { d - r < r || d - r == r && odd };
    if beyond { (r - d).copysign(if x < 0.0 { d - r } else { r - d }) } else { rest }
}

fn parts<T: Number + std::fmt::Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    (range, bias): (u64, i32),
) {
    let mut random = Random(33);
    let [a, b]: [Vec<T>; 2] = std::array::from_fn(|_| numbers(&mut random, COUNT));
    let results: Vec<T> = run(gpu, module, kernel, &[&a, &b], 10);
    let sign = 1 << (8 * size_of::<T>() - 1);
    for (i, got) in results.chunks_exact(10).enumerate() {
        let (x, y) = (a[i].wide(), b[i].wide());
        let whole = x.is_finite() && x != 0.0;
        let shift = if whole { exponent(x) + 1 } else { 0 };
        // In two steps, since 2 to the shift may overflow.
        let fraction = if whole { x / power(shift / 2) / power(shift - shift / 2) } else { x };
        let scale = (b[i].to_bits() % range) as i32 - bias;
        let scaled = if T::DIGITS == 53 {
            // Only the last step may round.
            let steps = [scale.clamp(-900, 900), (scale - scale.clamp(-900, 900)).clamp(-900, 900)];
            if scale < 0 && whole && exponent(x) + scale < -1022 {
                // Below the normal numbers: the shift to the edge first, which is exact, then the rest.
                let edge = -1022 - exponent(x);
                let first = if edge < -900 { x * power(-900) * power(edge + 900) } else { x * power(edge) };
                let rest = scale - edge;
                if rest < -60 { 0.0_f64.copysign(x) } else { first * power(rest) }
            } else {
                x * power(steps[0]) * power(steps[1])
            }
        } else {
            x * power(scale)
        };
        let next = {
            let bits = a[i].to_bits();
            let up = if x == 0.0 {
                1 | if y < 0.0 { sign } else { 0 }
            } else if (y > x) == (x > 0.0) {
                bits + 1
            } else {
                bits.wrapping_sub(1)
            };
            if x == y {
                b[i]
            } else if x.is_nan() || y.is_nan() {
                T::narrow(f64::NAN)
            } else {
                T::from_bits(up)
            }
        };
        let difference = if T::DIGITS == 53 { x - y } else { sum_to_odd(x, -y) };
        let expected = [
            T::narrow(fraction),
            T::narrow(f64::from(shift)),
            T::narrow(scaled),
            T::narrow(if x.is_infinite() { 0.0_f64.copysign(x) } else { (x - x.trunc()).copysign(x) }),
            T::narrow(x.trunc()),
            T::narrow(x.round()),
            next,
            T::narrow(if x.is_nan() || y.is_nan() {
                f64::NAN
            } else if x > y {
                difference
            } else {
                0.0
            }),
            T::narrow(remainder(x, y, false)),
            T::narrow(remainder(x, y, true)),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            // The result of frexp for the exponent of an infinity or NaN is not defined.
            let open = which == 1 && !x.is_finite();
            assert!(
                open || same(*got, expected),
                "{level} {kernel}: {which} of {x:e} {y:e}: {got:?}, not {expected:?}"
            );
        }
    }
}
