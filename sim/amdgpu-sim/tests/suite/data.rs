//! Where data lies: registers, scratch, constant and global variables, structures by value, vectors; and the grid's
//! geometry.

use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Plain, Random, launch, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("data", check);

const COUNT: usize = 217;

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    by_value(level, gpu, module);
    scratch(level, gpu, module);
    variables(level, gpu, module);
    vectors(level, gpu, module);
    geometry(level, gpu, module);
    packed(level, gpu, module);
}

fn by_value(level: Level, gpu: &Gpu, module: &Module) {
    let out = zeros::<f64>(gpu, 6 * COUNT);
    // As C lays them out.
    let small = Args::default().value(-7_i8).value(-300_i16).value(70_000_i32).value(0.25_f64).0;
    let mut large = Args::default().value(-5_i32);
    for i in 0..40 {
        large = large.value(i as f32 * 1.5);
    }
    for i in 0..15_u8 {
        large = large.value(200 + i);
    }
    let large = large.value(1_i64 << 50).0;
    let mixed: Vec<u8> = [1.0_f32, -2.0, 3.5, 1e-40].iter().flat_map(|x| x.to_le_bytes()).collect();
    let vector: Vec<u8> = [9_f32, 8.0, 7.0, 6.5].iter().flat_map(|x| x.to_le_bytes()).collect();
    let args = Args::default().with(&small, 8).with(&large, 8).with(&mixed, 8).with(&vector, 16);
    launch_1d(gpu, module, "by_value", 2, 128, &args.pointer(&out).value(COUNT as u32));
    for (i, got) in out.get().chunks_exact(6).enumerate() {
        let byte = |k: usize| 200.0 + (3 * (i % 5) + k) as f64;
        let expected = [
            -7.0 - 300.0 + 70_000.0 + 0.25,
            (i % 40) as f64 * 1.5,
            -5.0 + byte(0) + byte(1) * 1e3 + byte(2) * 1e6,
            (1_u64 << 50) as f64,
            f64::from([1.0_f32, -2.0, 3.5, 1e-40][i & 3].to_bits()),
            [9.0, 8.0, 7.0, 6.5][i & 3],
        ];
        assert_eq!(got, expected, "{level}: {i}");
    }
}

fn scratch(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(91);
    let input: Vec<i32> = (0..COUNT).map(|_| (random.next() % 1000) as i32).collect();
    let (a, out) = (upload(gpu, &input), zeros::<i32>(gpu, COUNT));
    launch_1d(gpu, module, "scratch", 3, 96, &Args::default().pointer(&a).pointer(&out).value(COUNT as u32));
    for (i, got) in out.get().into_iter().enumerate() {
        let mut a: [i32; 61] = std::array::from_fn(|k| input[(i + k) % COUNT] + k as i32);
        let mut bytes: [u8; 37] = std::array::from_fn(|k| (a[k] * 7) as u8);
        let mut shorts: [i16; 13] = std::array::from_fn(|k| (a[k] - 50) as i16);
        let (mut at, mut sum) = (input[i] as usize % 61, 0_i32);
        for k in 0..100 {
            let old = a[at];
            a[at] = k;
            let (byte, short) = (bytes[old as usize % 37], shorts[(old & 255) as usize % 13]);
            sum = sum.wrapping_add(old * (k + 1) + i32::from(byte) - i32::from(short));
            bytes[k as usize % 37] = sum as u8;
            shorts[at % 13] = old as i16;
            at = (at * 5 + (old & 255) as usize + 1) % 61;
        }
        assert_eq!(got, sum, "{level}: {i}");
    }
}

fn variables(level: Level, gpu: &Gpu, module: &Module) {
    let global = |name: &str| module.global(name).unwrap_or_else(|| panic!("no variable {name}"));
    let filled: Vec<u8> = (0..16).flat_map(|i: i32| (i * i - 20).to_le_bytes()).collect();
    gpu.memory().write(global("filled_by_the_host").0, &filled).unwrap();
    let (f, out) = (zeros::<f32>(gpu, 128), zeros::<i32>(gpu, 4 * 128));
    launch_1d(gpu, module, "variables", 2, 64, &Args::default().pointer(&f).pointer(&out));
    let table = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 0.5, 0.25];
    let (f, out) = (f.get(), out.get());
    for t in 0..128 {
        assert_eq!(f[t], table.get(t & 63).copied().unwrap_or(0.0), "{level}: {t}");
        let hash = ["zero", "one", "two", "three"][t & 3]
            .bytes()
            .fold(0_i32, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
        let cell = 5 * (t as i32 & 3) + t as i32 % 5 + 1;
        let i = t as i32 & 15;
        assert_eq!(out[4 * t], i * i - 20, "{level}: {t}");
        // Before the additions or after them.
        assert_eq!(out[4 * t + 1] % 100, cell, "{level}: {t}");
        assert_eq!(out[4 * t + 2], i32::from(b"constant text"[t % 13]), "{level}: {t}");
        assert_eq!(out[4 * t + 3], hash, "{level}: {t}");
    }
    let read = |name: &str, count: usize| -> Vec<u32> {
        let mut bytes = vec![0; 4 * count];
        gpu.memory().read(global(name).0, &mut bytes).unwrap();
        bytes.chunks_exact(4).map(u32::read).collect()
    };
    assert_eq!(read("counter", 1), [7 + 128], "{level}");
    assert_eq!(read("matrix", 20), (101..=120).collect::<Vec<_>>(), "{level}");
}

fn vectors(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(92);
    let n = COUNT;
    let a: Vec<f32> = (0..8 * n).map(|_| random.between(-9.0, 9.0) as f32).collect();
    let b: Vec<u8> = (0..4 * n).map(|_| random.next() as u8).collect();
    let c: Vec<i16> = (0..4 * n).map(|_| random.integer() as i16).collect();
    let d: Vec<i32> = (0..3 * n).map(|_| random.integer() as i32).collect();
    let e: Vec<i64> = (0..2 * n).map(|_| random.integer()).collect();
    let (da, db, dc, dd, de) = (upload(gpu, &a), upload(gpu, &b), upload(gpu, &c), upload(gpu, &d), upload(gpu, &e));
    let (fa, fb, fc) = (zeros::<f32>(gpu, 8 * n), zeros::<u8>(gpu, 4 * n), zeros::<i16>(gpu, 4 * n));
    let (fd, fe) = (zeros::<i32>(gpu, 3 * n), zeros::<i64>(gpu, 2 * n));
    let args = Args::default().pointer(&da).pointer(&db).pointer(&dc).pointer(&dd).pointer(&de);
    let args = args.pointer(&fa).pointer(&fb).pointer(&fc).pointer(&fd).pointer(&fe).value(n as u32);
    launch_1d(gpu, module, "vectors", 4, 64, &args);
    let (fa, fb, fc, fd, fe) = (fa.get(), fb.get(), fc.get(), fd.get(), fe.get());
    for i in 0..n {
        for k in 0..8 {
            assert_eq!(fa[8 * i + k], a[8 * i + 7 - k] * 2.0 + a[8 * (n - 1 - i) + k], "{level}: {i} {k}");
        }
        for k in 0..4 {
            let at = 4 * i + k;
            assert_eq!(fb[at], b[at].wrapping_add(b[4 * i + 3 - k].wrapping_mul(3)), "{level}: {i} {k}");
            assert_eq!(fc[at], if c[at] < 0 { c[at].wrapping_neg() } else { c[at] >> (k + 1) }, "{level}: {i} {k}");
        }
        let v = &d[3 * i..][..3];
        let expected = [(2, 1), (0, 1), (1, 0)].map(|(swizzled, factor)| (v[swizzled], v[factor]));
        for (k, (first, factor)) in expected.into_iter().enumerate() {
            assert_eq!(fd[3 * i + k], first.wrapping_add(v[k].wrapping_mul(factor)), "{level}: {i} {k}");
        }
        let mut l = [e[2 * i], e[2 * i + 1]];
        l[i & 1] ^= l[1 - (i & 1)] << 3;
        assert_eq!(fe[2 * i..][..2], l, "{level}: {i}");
    }
}

fn geometry(level: Level, gpu: &Gpu, module: &Module) {
    for (n, threads) in
        [([70, 9, 5], [16_u32, 4, 2]), ([5, 40, 1], [1, 64, 1]), ([3, 3, 33], [3, 1, 31]), ([1, 1, 1], [7, 5, 3])]
    {
        let blocks: [u32; 3] = std::array::from_fn(|d| (n[d] as u32).div_ceil(threads[d]));
        let out = zeros::<u32>(gpu, 4 * n[0] * n[1] * n[2]);
        let args = Args::default().pointer(&out).value(n[0] as u32).value(n[1] as u32).value(n[2] as u32);
        launch(gpu, module, "geometry", blocks, threads, &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
        let pack = |v: [u32; 3]| v[0] | v[1] << 8 | v[2] << 16;
        for (i, got) in out.get().chunks_exact(4).enumerate() {
            let at = [i % n[0], i / n[0] % n[1], i / n[0] / n[1]].map(|x| x as u32);
            let thread = std::array::from_fn(|d| at[d] % threads[d]);
            let block = std::array::from_fn(|d| at[d] / threads[d]);
            assert_eq!(got, [pack(thread), pack(block), pack(threads), pack(blocks)], "{level}: {at:?} of {n:?}");
        }
    }
}

fn packed(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(93);
    let input: Vec<u8> = (0..7 * COUNT).map(|_| random.next() as u8).collect();
    let (a, out) = (upload(gpu, &input), zeros::<u8>(gpu, 7 * COUNT));
    launch_1d(gpu, module, "packed", 4, 64, &Args::default().pointer(&a).pointer(&out).value(COUNT as u32));
    for (got, from) in out.get().chunks_exact(7).rev().zip(input.chunks_exact(7)) {
        let (tag, value, rest) = (from[0], i32::read(&from[1..5]), i16::read(&from[5..]));
        let value = value.wrapping_mul(3).wrapping_add(tag.into());
        let rest = i32::from(rest).wrapping_sub(value) as i16;
        assert_eq!((got[0], i32::read(&got[1..5]), i16::read(&got[5..])), (tag ^ 0x5a, value, rest), "{level}");
    }
}
