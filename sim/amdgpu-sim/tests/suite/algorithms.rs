//! Whole algorithms.

use std::fmt::Debug;
use std::sync::Arc;

use amdgpu_sim::{Gpu, Module};

use crate::common::{Args, Plain, Random, launch, launch_1d, upload, zeros};
use crate::levels::{Level, topic};

topic!("algorithms", check);

fn check(level: Level, gpu: &Gpu, module: &Arc<Module>) {
    sorts(level, gpu, module);
    look_back(level, gpu, module);
    product::<f32>(level, gpu, module, "product_f32", |x| x as f32 * 0.37, |a, b, sum| sum + a * b);
    product::<f64>(level, gpu, module, "product_f64", |x| f64::from(x) * 0.37, |a, b, sum| sum + a * b);
    product::<i32>(level, gpu, module, "product_i32", |x| x << 20, |a, b, sum| sum.wrapping_add(a.wrapping_mul(b)));
    stencil(level, gpu, module);
    fft(level, gpu, module);
    systems(level, gpu, module);
    spmv(level, gpu, module);
    bodies(level, gpu, module);
    mandelbrot(level, gpu, module);
}

fn sorts(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(131);
    let input: Vec<u32> = (0..1024).map(|_| random.integer() as u32).collect();
    let mut expected = input.clone();
    expected.sort_unstable();
    let keys = upload(gpu, &input);
    for size in (1..=10).map(|s| 1_u32 << s) {
        for step in (0..size.ilog2()).rev().map(|s| 1_u32 << s) {
            launch_1d(gpu, module, "bitonic", 4, 256, &Args::default().pointer(&keys).value(size).value(step));
        }
    }
    assert_eq!(keys.get(), expected, "{level}");
    for n in [1, 63, 1000, 1024] {
        let mut expected = input[..n].to_vec();
        expected.sort_unstable();
        let (keys, other) = (upload(gpu, &input[..n]), zeros::<u32>(gpu, n));
        launch_1d(gpu, module, "radix", 1, 64, &Args::default().pointer(&keys).pointer(&other).value(n as u32));
        assert_eq!(keys.get(), expected, "{level}: {n}");
    }
}

fn look_back(level: Level, gpu: &Gpu, module: &Module) {
    for n in [1000_usize, 128, 4099] {
        let tiles = n.div_ceil(128);
        let input: Vec<i32> = (0..n as i32).map(|i| i * 31 % 1009 - 400).collect();
        let (a, out, state) = (upload(gpu, &input), zeros::<i32>(gpu, n), zeros::<u64>(gpu, tiles));
        let ticket = zeros::<u32>(gpu, 1);
        let args = Args::default().pointer(&a).pointer(&out).pointer(&state).pointer(&ticket).value(n as u32);
        launch_1d(gpu, module, "look_back", tiles as u32, 128, &args);
        let mut sum = 0;
        let expected: Vec<i32> = input
            .iter()
            .map(|x| {
                sum += x;
                sum
            })
            .collect();
        assert_eq!(out.get(), expected, "{level}: {n}");
    }
}

/// Both sides add in the same order, without fusing: the results are bit-identical.
fn product<T: Plain + PartialEq + Debug>(
    level: Level,
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    of: fn(i32) -> T,
    add: fn(T, T, T) -> T,
) {
    for (m, n, k) in [(33, 17, 40), (16, 48, 16), (5, 1, 100)] {
        let mut random = Random(132);
        let mut values = |count: usize| (0..count).map(|_| of((random.next() % 201) as i32 - 100)).collect::<Vec<T>>();
        let (a, b) = (values(m * k), values(k * n));
        let (da, db, dc) = (upload(gpu, &a), upload(gpu, &b), zeros::<T>(gpu, m * n));
        let args = Args::default().pointer(&da).pointer(&db).pointer(&dc);
        let args = args.value(m as i32).value(n as i32).value(k as i32);
        let blocks = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
        launch(gpu, module, kernel, blocks, [16, 16, 1], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
        let cell = |i: usize| (0..k).fold(T::default(), |sum, p| add(a[i / n * k + p], b[p * n + i % n], sum));
        assert_eq!(dc.get(), (0..m * n).map(cell).collect::<Vec<_>>(), "{level} {kernel}: {m} {n} {k}");
    }
}

fn stencil(level: Level, gpu: &Gpu, module: &Module) {
    let (nx, ny, nz) = (19, 11, 7);
    let mut random = Random(133);
    let input: Vec<f64> = (0..nx * ny * nz).map(|_| random.between(-1.0, 1.0)).collect();
    let (a, out) = (upload(gpu, &input), zeros::<f64>(gpu, input.len()));
    let args = Args::default().pointer(&a).pointer(&out).value(nx as i32).value(ny as i32).value(nz as i32);
    launch(gpu, module, "stencil", [3, 3, 4], [8, 4, 2], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
    for (i, got) in out.get().into_iter().enumerate() {
        let (x, y, z) = (i % nx, i / nx % ny, i / nx / ny);
        let edge = x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
        let pair = |d: usize| input[i - d] + input[i + d];
        let expected = if edge { input[i] } else { input[i] * 0.5 + (pair(1) + pair(nx) + pair(nx * ny)) * 0.125 };
        assert_eq!(got, expected, "{level}: {x} {y} {z}");
    }
}

fn fft(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(134);
    let input: Vec<f32> = (0..3 * 512).map(|_| random.between(-1.0, 1.0) as f32).collect();
    let (a, out) = (upload(gpu, &input), zeros::<f32>(gpu, input.len()));
    launch_1d(gpu, module, "fft", 3, 128, &Args::default().pointer(&a).pointer(&out));
    for (signal, got) in input.chunks_exact(512).zip(out.get().chunks_exact(512)) {
        for k in 0..256 {
            let (mut re, mut im) = (0.0, 0.0);
            for (j, x) in signal.chunks_exact(2).enumerate() {
                let (s, c) = (-std::f64::consts::TAU * (j * k % 256) as f64 / 256.0).sin_cos();
                re += f64::from(x[0]) * c - f64::from(x[1]) * s;
                im += f64::from(x[0]) * s + f64::from(x[1]) * c;
            }
            let error = (f64::from(got[2 * k]) - re).hypot(f64::from(got[2 * k + 1]) - im);
            assert!(error < 2e-5, "{level}: {k}: off by {error}");
        }
    }
}

fn systems(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(135);
    let count = 75;
    let matrices: Vec<f64> = (0..36 * count).map(|_| random.between(-1.0, 1.0)).collect();
    let solutions: Vec<f64> = (0..6 * count).map(|_| random.between(-9.0, 9.0)).collect();
    let right: Vec<f64> = (0..6 * count)
        .map(|i| (0..6).map(|c| matrices[36 * (i / 6) + 6 * (i % 6) + c] * solutions[6 * (i / 6) + c]).sum())
        .collect();
    let (a, b, x) = (upload(gpu, &matrices), upload(gpu, &right), zeros::<f64>(gpu, 6 * count));
    launch_1d(gpu, module, "solve", 2, 64, &Args::default().pointer(&a).pointer(&b).pointer(&x).value(count as i32));
    for (got, expected) in x.get().into_iter().zip(&solutions) {
        assert!((got - expected).abs() < 1e-9, "{level}: {got}, not {expected}");
    }

    // L times its transpose, which is factorised to L again.
    let n = 20;
    let factor: Vec<f64> = (0..n * n)
        .map(|i| match (i % n).cmp(&(i / n)) {
            std::cmp::Ordering::Less => random.between(-0.5, 0.5),
            std::cmp::Ordering::Equal => random.between(1.0, 2.0),
            std::cmp::Ordering::Greater => 0.0,
        })
        .collect();
    let square = |i: usize| (0..n).map(|k| factor[i / n * n + k] * factor[i % n * n + k]).sum::<f64>() as f32;
    let matrix = upload(gpu, &(0..n * n).map(square).collect::<Vec<f32>>());
    launch_1d(gpu, module, "cholesky", 1, 64, &Args::default().pointer(&matrix).value(n as i32));
    for (i, got) in matrix.get().into_iter().enumerate().filter(|(i, _)| i % n <= i / n) {
        assert!((f64::from(got) - factor[i]).abs() < 1e-4, "{level}: {i}: {got}, not {}", factor[i]);
    }
}

fn spmv(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(136);
    let (rows, columns) = (50, 300);
    let mut starts = vec![0_i32];
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for row in 0..rows {
        // Empty rows, short ones, and some longer than a wave.
        let length = [0, 3, 64, 65, 150, 1][row % 6];
        for _ in 0..length {
            places.push((random.next() % columns) as i32);
            values.push((random.next() % 64) as f64);
        }
        starts.push(places.len() as i32);
    }
    let x: Vec<f64> = (0..columns).map(|i| i as f64 - 100.0).collect();
    let (s, p, v, dx, y) =
        (upload(gpu, &starts), upload(gpu, &places), upload(gpu, &values), upload(gpu, &x), zeros::<f64>(gpu, rows));
    let args = Args::default().pointer(&s).pointer(&p).pointer(&v).pointer(&dx).pointer(&y).value(rows as i32);
    launch_1d(gpu, module, "spmv", rows.div_ceil(4) as u32, 256, &args);
    let row =
        |r: usize| (starts[r] as usize..starts[r + 1] as usize).map(|k| values[k] * x[places[k] as usize]).sum::<f64>();
    assert_eq!(y.get(), (0..rows).map(row).collect::<Vec<_>>(), "{level}");
}

fn bodies(level: Level, gpu: &Gpu, module: &Module) {
    let mut random = Random(137);
    let n = 150;
    let input: Vec<f32> = (0..4 * n).map(|i| if i % 4 == 3 { 1.0 } else { random.between(-1.0, 1.0) as f32 }).collect();
    let (a, force) = (upload(gpu, &input), zeros::<f32>(gpu, 4 * n));
    launch_1d(gpu, module, "bodies", 3, 64, &Args::default().pointer(&a).pointer(&force).value(n as i32));
    for (i, got) in force.get().chunks_exact(4).enumerate() {
        let mut sum = [0.0; 3];
        for other in input.chunks_exact(4) {
            let d: [f64; 3] = std::array::from_fn(|k| f64::from(other[k]) - f64::from(input[4 * i + k]));
            let r = 1.0 / (d.iter().map(|x| x * x).sum::<f64>() + f64::from(0.01_f32)).sqrt();
            (0..3).for_each(|k| sum[k] += d[k] * r * r * r * f64::from(other[3]));
        }
        for k in 0..3 {
            let scale = sum.iter().map(|x| x.abs()).fold(100.0, f64::max);
            assert!((f64::from(got[k]) - sum[k]).abs() < 2e-6 * scale, "{level}: {i}: {got:?}, not {sum:?}");
        }
    }
}

fn mandelbrot(level: Level, gpu: &Gpu, module: &Module) {
    let (width, height) = (61, 39);
    let out = zeros::<i32>(gpu, (width * height) as usize);
    let args = Args::default().pointer(&out).value(width).value(height);
    launch(gpu, module, "mandelbrot", [8, 5, 1], [8, 8, 1], &args).unwrap_or_else(|fault| panic!("{level}: {fault}"));
    for (i, got) in (0..).zip(out.get()) {
        let (cx, cy) = (
            -2.0 + 3.0 * f64::from(i % width) / f64::from(width),
            -1.0 + 2.0 * f64::from(i / width) / f64::from(height),
        );
        let (mut x, mut y, mut k) = (0.0, 0.0, 0);
        while k < 200 && x * x + y * y < 4.0 {
            (x, y, k) = (x * x - y * y + cx, 2.0 * x * y + cy, k + 1);
        }
        assert_eq!(got, k, "{level}: {i}");
    }
}
