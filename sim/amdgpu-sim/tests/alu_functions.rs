//! Library functions, operators and conversions as clang compiles them (with and without optimisation), against the
//! host's.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::precedence, clippy::type_complexity, reason = "tables of short formulas")]

mod common;

use amdgpu_sim::{Gpu, Module};
use common::{Args, Plain, Random, gpu, launch_1d, load, upload, zeros};
use half::f16;

const CODE: [(&str, &[u8]); 2] =
    [("-O0", include_bytes!("kernels/functions-O0.co")), ("-O3", include_bytes!("kernels/functions-O3.co"))];

fn run<T: Plain>(gpu: &Gpu, module: &Module, kernel: &str, which: usize, x: &[T], y: &[T]) -> Vec<T> {
    let (x, y, out) = (upload(gpu, x), upload(gpu, y), zeros::<T>(gpu, y.len()));
    let count = out.get().len() as u32;
    let args = Args::default().pointer(&x).pointer(&y).pointer(&out).value(which as u32).value(count);
    launch_1d(gpu, module, kernel, count.div_ceil(128), 128, &args);
    out.get()
}

/// Distance in units of the last place.
fn ulps32(a: f32, b: f32) -> u64 {
    let place =
        |x: f32| if x.is_sign_negative() { -i64::from(x.to_bits() & 0x7fff_ffff) } else { i64::from(x.to_bits()) };
    if a.is_nan() || b.is_nan() {
        if a.is_nan() && b.is_nan() { 0 } else { u64::MAX }
    } else {
        place(a).abs_diff(place(b))
    }
}

fn ulps64(a: f64, b: f64) -> u64 {
    let place =
        |x: f64| if x.is_sign_negative() { -((x.to_bits() & (u64::MAX >> 1)) as i64) } else { x.to_bits() as i64 };
    if a.is_nan() || b.is_nan() {
        if a.is_nan() && b.is_nan() { 0 } else { u64::MAX }
    } else {
        place(a).abs_diff(place(b))
    }
}

#[test]
fn single_precision() {
    // The function, and the permitted difference of the two libraries (ULP).
    let functions: [(fn(f64, f64) -> f64, u64); 17] = [
        (|a, _| a.sin(), 4),
        (|a, _| a.cos(), 4),
        (|a, _| a.exp(), 2),
        (|a, _| a.abs().ln(), 3),
        (|a, b| a.abs().powf(b), 4),
        (|a, _| a.tanh(), 3),
        (|a, b| a / b, 0),
        (|a, _| a.abs().sqrt(), 0),
        (|a, b| a % b, 0),
        (|a, b| a.atan2(b), 6),
        (|a, _| a.cbrt(), 2),
        (|a, b| f64::from((a.round_ties_even() as f32 + b.floor() as f32) + a.ceil() as f32 + b.trunc() as f32), 0),
        (|a, b| f64::from(a.min(b) as f32 + a.max(1.0) as f32 + a.copysign(b) as f32), 0),
        (|a, b| a.hypot(b), 2),
        (|a, b| a.exp2() + b.abs().log2(), 6),
        (|a, b| a * f64::from(b as i32).exp2(), 0),
        (|a, _| a.asinh(), 4),
    ];
    let mut random = Random(1);
    let mut number = |n: usize| match n % 4 {
        0 => random.between(-10.0, 10.0) as f32,
        1 => random.between(-1.0, 1.0) as f32,
        2 => random.between(-80.0, 80.0) as f32,
        _ => (random.between(-20.0, 20.0).exp2() * if n % 8 == 3 { 1.0 } else { -1.0 }) as f32,
    };
    let x: Vec<f32> = (0..1000).map(&mut number).collect();
    let y: Vec<f32> = (0..1000).map(|n| number(n + n / 4)).collect();
    let gpu = gpu();
    for (option, code) in CODE {
        let module = load(&gpu, code);
        for (which, (function, limit)) in functions.iter().enumerate() {
            for (i, got) in run(&gpu, &module, "single", which, &x, &y).into_iter().enumerate() {
                let expected = function(f64::from(x[i]), f64::from(y[i])) as f32;
                // Sums cancel: there the error is relative to the operands.
                let close = which == 14 && (got - expected).abs() <= 1e-5 * f32::max(1.0, expected.abs());
                assert!(
                    close || ulps32(got, expected) <= *limit,
                    "{option} {which} of {} and {}: {got}, not {expected}",
                    x[i],
                    y[i]
                );
            }
        }
    }
}

#[test]
fn double_precision() {
    let functions: [(fn(f64, f64) -> f64, u64); 15] = [
        (|a, _| a.sin(), 2),
        (|a, _| a.cos(), 2),
        (|a, _| a.exp(), 2),
        (|a, _| a.abs().ln(), 2),
        (|a, b| a.abs().powf(b), 3),
        (|a, _| a.tanh(), 3),
        (|a, b| a / b, 0),
        (|a, _| a.abs().sqrt(), 0),
        (|a, b| a % b, 0),
        (|a, b| a.atan2(b), 3),
        (|a, _| a.cbrt(), 2),
        (|a, b| a.round_ties_even() + b.floor() + a.ceil() + b.trunc(), 0),
        (|a, b| a.min(b) + a.max(1.0) + a.copysign(b), 0),
        (|a, b| a.hypot(b), 2),
        (|a, b| (a as i64) as f64 + f64::from(b.abs() as u32) + f64::from(a as f32), 0),
    ];
    let mut random = Random(2);
    let mut number = |n: usize| match n % 4 {
        0 => random.between(-10.0, 10.0),
        1 => random.between(-1.0, 1.0),
        2 => random.between(-600.0, 600.0),
        _ => random.between(-30.0, 30.0).exp2() * if n % 8 == 3 { 1.0 } else { -1.0 },
    };
    let mut x: Vec<f64> = (0..1000).map(&mut number).collect();
    let y: Vec<f64> = (0..1000).map(|n| number(n + n / 4)).collect();
    // Arguments whose reduction needs all bits of 2/pi.
    let large: Vec<f64> = (30..300).map(|n| 1.37 * 10_f64.powi(n)).collect();
    x.extend(&large);
    let y: Vec<f64> = y.iter().copied().chain(large.iter().map(|_| 3.0)).collect();
    let gpu = gpu();
    for (option, code) in CODE {
        let module = load(&gpu, code);
        for (which, (function, limit)) in functions.iter().enumerate() {
            for (i, got) in run(&gpu, &module, "wide", which, &x, &y).into_iter().enumerate() {
                if which == 14 && x[i].abs() > 1e9 {
                    continue;
                }
                let expected = function(x[i], y[i]);
                assert!(
                    ulps64(got, expected) <= *limit,
                    "{option} {which} of {} and {}: {got}, not {expected}",
                    x[i],
                    y[i]
                );
            }
        }
    }
}

#[test]
fn integers() {
    let functions: [fn(u64, u64) -> u64; 15] = [
        |a, b| a / b,
        |a, b| a % b,
        |a, b| (a as i64).wrapping_div((b >> 1 | 1) as i64) as u64,
        |a, b| u64::from(a as u32 / (b as u32 | 1)),
        |a, b| u64::from((a as i32).wrapping_rem((b as u32 | 1) as i32) as u32),
        |a, b| (u128::from(a) * u128::from(b) >> 64) as u64,
        |a, b| a.wrapping_mul(b).wrapping_add(a >> (b & 63)).wrapping_sub(b << (a & 63)),
        |a, b| {
            let first = if a == 0 { 0 } else { u64::from(a.trailing_zeros()) + 1 };
            u64::from(a.count_ones()) + 100 * u64::from(b.leading_zeros()) + 10_000 * first
        },
        |a, b| a.reverse_bits() ^ u64::from((b as u32).reverse_bits()),
        |a, b| {
            let product = (a as u16).wrapping_mul(b as u16);
            u64::from(product).wrapping_add(u64::from(a.wrapping_add(b) as u8)).wrapping_add(a as i16 as u64)
        },
        |a, b| (a as i64).max(b as i64) as u64,
        |a, b| {
            let part = |x: u64| i64::from((x as i32) << 8 >> 8);
            (part(a) * part(b)) as i32 as u64
        },
        |a, b| {
            let bytes = [(a & 0xff), (b & 0xff), (a >> 8 & 0xff), (b >> 8 & 0xff)];
            let mixed = bytes[0] | bytes[2] << 16 | bytes[1] << 8 | bytes[3] << 24;
            let picked = a & 0xff | (b & 0xff) << 8 | (a >> 8 & 0xff) << 16 | (b >> 8 & 0xff) << 24;
            debug_assert_eq!(mixed, picked);
            u64::from((a as u32).rotate_left(b as u32 & 31)) << 32 | picked
        },
        |a, b| u64::from((1..=a as u32 & 15).fold(0_u32, |sum, k| sum.wrapping_add(b as u32 >> k))),
        |a, b| (a as u32 as f32 as u64).wrapping_add(b as f64 as u64),
    ];
    let mut random = Random(3);
    let x: Vec<u64> = (0..1000).map(|_| random.integer() as u64).collect();
    let y: Vec<u64> = (0..1000).map(|_| random.integer().max(1) as u64).collect();
    let gpu = gpu();
    for (option, code) in CODE {
        let module = load(&gpu, code);
        for (which, function) in functions.iter().enumerate() {
            for (i, got) in run(&gpu, &module, "integers", which, &x, &y).into_iter().enumerate() {
                let expected = function(x[i], y[i]);
                assert_eq!(
                    got, expected,
                    "{option} {which} of {:#x} and {:#x}: {got:#x}, not {expected:#x}",
                    x[i], y[i]
                );
            }
        }
    }
}

#[test]
fn half_precision() {
    let functions: [fn(f16, f16) -> f16; 6] = [
        |a, b| f16::from_f64(a.to_f64() + b.to_f64()),
        |a, b| f16::from_f64(f16::from_f64(a.to_f64() * b.to_f64()).to_f64() - a.to_f64()),
        |a, b| f16::from_f64(a.to_f64() / b.to_f64()),
        |a, b| if a < b { a } else { b },
        |a, _| f16::from_f32(a.to_f32() * 3.0),
        |a, _| f16::from_f32(f32::from(a.to_f32() as i16)),
    ];
    let mut random = Random(4);
    let mut bits = || {
        // Conversions of numbers beyond an integer's range are not defined in C.
        let x = random.next() as u16;
        if x & 0x7c00 >= 0x7800 { x & 0x83ff | 0x4000 } else { x }
    };
    let (x, y): (Vec<u16>, Vec<u16>) = (0..2000).map(|_| (bits(), bits())).unzip();
    let gpu = gpu();
    for (option, code) in CODE {
        let module = load(&gpu, code);
        for (which, function) in functions.iter().enumerate() {
            for (i, got) in run(&gpu, &module, "halves", which, &x, &y).into_iter().enumerate() {
                let (a, b) = (f16::from_bits(x[i]), f16::from_bits(y[i]));
                let (got, expected) = (f16::from_bits(got), function(a, b));
                let alike = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
                assert!(alike, "{option} {which} of {a} and {b}: {got}, not {expected}");
            }
        }
    }
}
