//! Two or four numbers in a register, dot products, and matrix instructions.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Plain, Random, launch_1d, upload, zeros};
use crate::levels::{Level, topic};
use crate::numbers::{Half, Number, numbers, same, sum_to_odd};

topic!("packed", check);

const COUNT: usize = 300;

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    pairs(level, gpu, module);
    singles(level, gpu, module);
    dots(level, gpu, module);
    matrices(level, gpu, module);
}

fn run<T: Plain, R: Plain>(gpu: &Gpu, module: &Module, kernel: &str, inputs: [&[T]; 3], results: usize) -> Vec<R> {
    let [a, b, c] = inputs.map(|data| upload(gpu, data));
    let out = zeros::<R>(gpu, results * COUNT);
    let args = Args::default().pointer(&a).pointer(&b).pointer(&c).pointer(&out).value(COUNT as u32);
    launch_1d(gpu, module, kernel, COUNT.div_ceil(64) as u32, 64, &args);
    out.get()
}

fn join(halves: [u16; 2]) -> u32 {
    u32::from(halves[0]) | u32::from(halves[1]) << 16
}

fn split(word: u32) -> [u16; 2] {
    [word as u16, (word >> 16) as u16]
}

fn pairs(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(151);
    let words: [Vec<u32>; 3] = std::array::from_fn(|_| {
        numbers::<Half>(&mut random, 2 * COUNT).chunks_exact(2).map(|p| join([p[0].0, p[1].0])).collect()
    });
    let results: Vec<u32> = run(gpu, module, "pairs", [&words[0], &words[1], &words[2]], 16);
    for (i, got) in results.chunks_exact(16).enumerate() {
        let [a, b, c] = std::array::from_fn(|k| split(words[k][i]));
        let wide = |x: u16| Half(x).wide();
        let fma = |x: f64, y: f64, z: f64| Half::narrow(sum_to_odd(x * y, z)).0;
        let floats: [[u16; 2]; 6] = [
            std::array::from_fn(|k| Half::narrow(wide(a[k]) + wide(b[k])).0),
            std::array::from_fn(|k| Half::narrow(wide(a[k]) * wide(b[k])).0),
            std::array::from_fn(|k| fma(wide(a[k]), wide(b[k]), wide(c[k]))),
            std::array::from_fn(|k| fma(-wide(a[1 - k]), wide(b[k]), wide(c[1]))),
            std::array::from_fn(|k| Half::narrow(wide(a[k]).min(wide(b[k]))).0),
            std::array::from_fn(|k| Half::narrow(wide(a[k]).max(-wide(b[k]))).0),
        ];
        for (which, expected) in floats.into_iter().enumerate() {
            for k in 0..2 {
                let (got, expected) = (Half(split(got[which])[k]), Half(expected[k]));
                let zeros = which >= 4 && got.wide() == 0.0 && expected.wide() == 0.0;
                assert!(
                    zeros || same(got, expected),
                    "{level}: {which} of {a:x?} {b:x?} {c:x?}: {got:?}, not {expected:?}"
                );
            }
        }
        let s = |x: u16| x as i16;
        let each = |f: &dyn Fn(usize) -> u16| join([f(0), f(1)]);
        let integers = [
            each(&|k| a[k].wrapping_add(b[k])),
            each(&|k| a[k].wrapping_mul(b[k]).wrapping_add(c[k])),
            each(&|k| a[k].wrapping_sub(b[1 - k])),
            each(&|k| s(a[k]).max(s(b[k])) as u16),
            each(&|k| a[k].min(b[k])),
            each(&|k| (s(a[k]) >> (b[k] & 15)) as u16),
            each(&|k| a[k] >> (b[k] & 15)),
            each(&|k| a[k] << (b[k] & 15)),
            each(&|k| s(a[k]).saturating_add(s(b[k])) as u16),
            each(&|k| a[k].saturating_sub(b[k])),
        ];
        assert_eq!(got[6..], integers, "{level}: {a:x?} {b:x?} {c:x?}");
    }
}

fn singles(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(152);
    let [a, b, c]: [Vec<f32>; 3] = std::array::from_fn(|_| numbers(&mut random, 2 * COUNT));
    let results: Vec<f32> = run(gpu, module, "singles", [&a, &b, &c], 8);
    for (i, got) in results.chunks_exact(8).enumerate() {
        let [[a, b, c]] = [[&a, &b, &c].map(|v| [v[2 * i], v[2 * i + 1]])];
        let expected = [
            a[0] + b[0],
            a[1] + b[1],
            a[0] * b[1],
            a[1] * b[0],
            a[0].mul_add(b[0], -c[0]),
            a[1].mul_add(b[1], -c[1]),
            a[1].mul_add(b[0], c[1]),
            a[1].mul_add(b[1], c[0]),
        ];
        for (which, (got, expected)) in got.iter().zip(expected).enumerate() {
            assert!(same(*got, expected), "{level}: {which} of {a:?} {b:?} {c:?}: {got}, not {expected}");
        }
    }
}

fn dots(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(153);
    let [a, b, c]: [Vec<u32>; 3] = std::array::from_fn(|_| (0..COUNT).map(|_| random.integer() as u32).collect());
    let results: Vec<u32> = run(gpu, module, "dots", [&a, &b, &c], 9);
    for (i, got) in results.chunks_exact(9).enumerate() {
        let (a, b, c) = (a[i], b[i], c[i]);
        // The part of `width` bits from `width * k` on.
        let part = |x: u32, width: u32, k: u32| i64::from(x >> (width * k)) & ((1 << width) - 1);
        let signed = |x: u32, width: u32, k: u32| part(x, width, k) << (64 - width) >> (64 - width);
        let dot = |width: u32| (0..32 / width).map(|k| part(a, width, k) * part(b, width, k)).sum::<i64>();
        let signed_dot = |width: u32| (0..32 / width).map(|k| signed(a, width, k) * signed(b, width, k)).sum::<i64>();
        let (sc, uc) = (i64::from(c as i32), i64::from(c));
        let small = |x: u32, k: u32| f64::from(x >> (8 * k) & 63);
        let half = small(a, 0) * small(b, 0) + small(a, 1) * small(b, 1) + f64::from(c & 255);
        let expected = [
            (signed_dot(8) + sc) as u32,
            (dot(8) + uc) as u32,
            (signed_dot(4) + sc) as u32,
            (dot(4) + uc) as u32,
            (signed_dot(16) + sc) as u32,
            (dot(16) + uc) as u32,
            (signed_dot(8) + sc).clamp(i32::MIN.into(), i32::MAX.into()) as u32,
            (dot(8) + uc).min(u32::MAX.into()) as u32,
            (half as f32).to_bits(),
        ];
        assert_eq!(got, expected, "{level}: {a:#x} {b:#x} {c:#x}");
    }
}

fn matrices(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(154);
    let mut whole = |count: usize| -> Vec<i32> { (0..count).map(|_| (random.next() % 201) as i32 - 100).collect() };
    // 32 rows of 8, and 8 rows of 32.
    let (a, b) = (whole(32 * 8), whole(8 * 32));
    let floats = |v: &[i32]| v.iter().map(|x| *x as f32).collect::<Vec<_>>();
    let (da, db, d) = (upload(gpu, &floats(&a)), upload(gpu, &floats(&b)), zeros::<f32>(gpu, 32 * 32));
    let (wide, ints, halves) = (zeros::<f64>(gpu, 256), zeros::<i32>(gpu, 256), zeros::<f32>(gpu, 256));
    let args = Args::default().pointer(&da).pointer(&db).pointer(&d).pointer(&wide).pointer(&ints).pointer(&halves);
    launch_1d(gpu, module, "matrices", 1, 64, &args);
    let product = |side: usize| -> Vec<i32> {
        (0..side * side).map(|i| (0..8).map(|k| a[i / side * 8 + k] * b[k * 32 + i % side]).sum()).collect()
    };
    assert_eq!(d.get(), floats(&product(32)), "{level}");
    assert_eq!(wide.get(), product(16).into_iter().map(f64::from).collect::<Vec<_>>(), "{level}");
    assert_eq!(halves.get(), floats(&product(16)), "{level}");
    assert_eq!(ints.get(), product(16), "{level}");
}
