//! Lane-instructions (instructions times 64 lanes) per second of the software GPU, on one thread and on two, compared
//! with the same work as plain Rust on one thread: `cargo bench -p amdgpu-sim --bench lanes`.
//!
//! The kernels are in `tests/kernels/lanes.hip` and `matrices.hip`. The line printed at the end of each group compares
//! the best runs of this one process.

#![allow(missing_docs, reason = "criterion_group! makes an undocumented function")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use amdgpu_sim::{AllocKind, Arch, CodeObject, Config, Dispatch, Gpu, Module};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};

const CODE: &[u8] = include_bytes!("../tests/kernels/lanes.co");
const MATRICES_GFX90A: &[u8] = include_bytes!("../tests/kernels/matrices.co");
const MATRICES_GFX942: &[u8] = include_bytes!("../tests/kernels/matrices-gfx942.co");

/// A GPU with the kernels loaded.
struct Device {
    gpu: Gpu,
    module: Arc<Module>,
}

impl Device {
    fn new(threads: usize) -> Self {
        let gpu = Gpu::new(Config { threads: Some(threads), ..Config::default() });
        let module = gpu.load(&CodeObject::parse(CODE).expect("a code object")).expect("loads");
        Device { gpu, module }
    }

    fn floats(&self, n: usize, f: impl Fn(usize) -> f32) -> u64 {
        let bytes: Vec<u8> = (0..n).flat_map(|i| f(i).to_le_bytes()).collect();
        let address = self.gpu.memory().alloc(bytes.len() as u64, 0, AllocKind::Device).expect("memory");
        self.gpu.memory().write(address, &bytes).expect("writes");
        address
    }

    /// Runs a kernel. Returns the executed lane-instructions.
    fn run(&self, kernel: &str, arguments: &[u8], blocks: [u32; 3], threads: [u32; 3]) -> u64 {
        let kernel = self.module.kernel(kernel).expect("is there");
        let dispatch = Dispatch::of_blocks(blocks, threads).expect("fits");
        self.gpu.launch(&kernel, arguments, &dispatch).expect("runs").instructions * 64
    }
}

/// Arguments of 8 and 4 bytes, in this order.
fn arguments(pointers: &[u64], words: &[u32]) -> Vec<u8> {
    let pointers = pointers.iter().flat_map(|p| p.to_le_bytes());
    pointers.chain(words.iter().flat_map(|w| w.to_le_bytes())).collect()
}

/// Measures one kernel on one and two threads and the native equivalent, and prints the ratios of this run.
fn compare(c: &mut Criterion, name: &str, gpu: &dyn Fn(&Device) -> Box<dyn Fn() -> u64 + '_>, native: &dyn Fn()) {
    let mut group: BenchmarkGroup<'_, WallTime> = c.benchmark_group(name);
    group.sample_size(10).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300));
    let mut best = [f64::INFINITY; 2];
    let mut lanes = 0;
    for threads in [1, 2] {
        let device = Device::new(threads);
        let run = gpu(&device);
        lanes = run();
        group.throughput(Throughput::Elements(lanes));
        group.bench_function(format!("{threads} thread"), |b| {
            b.iter_custom(|n| {
                let mut total = Duration::ZERO;
                for _ in 0..n {
                    let start = Instant::now();
                    black_box(run());
                    let took = start.elapsed();
                    best[threads - 1] = best[threads - 1].min(took.as_secs_f64());
                    total += took;
                }
                total
            });
        });
    }
    let mut plain = f64::INFINITY;
    group.bench_function("native Rust, 1 thread", |b| {
        b.iter_custom(|n| {
            let start = Instant::now();
            for _ in 0..n {
                let one = Instant::now();
                native();
                plain = plain.min(one.elapsed().as_secs_f64());
            }
            start.elapsed()
        });
    });
    group.finish();
    println!(
        "{name}: {:.2e} lane-instructions/s on one thread, {:.2}x on two; {:.1} times as long as native Rust\n",
        lanes as f64 / best[0],
        best[0] / best[1],
        best[0] / plain,
    );
}

fn vector_add(c: &mut Criterion) {
    const N: usize = 1 << 20;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..N).map(|i| i as f32).collect(), (0..N).map(|i| 0.5 * i as f32).collect());
    let sum = std::cell::RefCell::new(vec![0_f32; N]);
    compare(
        c,
        "vector_add",
        &|device| {
            let buffers =
                [device.floats(N, |i| i as f32), device.floats(N, |i| 0.5 * i as f32), device.floats(N, |_| 0.0)];
            let arguments = arguments(&buffers, &[N as u32]);
            Box::new(move || device.run("vector_add", &arguments, [N as u32 / 256, 1, 1], [256, 1, 1]))
        },
        &|| {
            let mut sum = sum.borrow_mut();
            for ((sum, a), b) in sum.iter_mut().zip(black_box(&a)).zip(black_box(&b)) {
                *sum = a + b;
            }
            black_box(&sum);
        },
    );
}

fn matmul(c: &mut Criterion) {
    const N: usize = 256;
    let value = |i: usize| (i % 17) as f32 - 8.0;
    let (a, b): (Vec<f32>, Vec<f32>) = ((0..N * N).map(value).collect(), (0..N * N).map(value).collect());
    let product = std::cell::RefCell::new(vec![0_f32; N * N]);
    compare(
        c,
        "matmul",
        &|device| {
            let buffers = [device.floats(N * N, value), device.floats(N * N, value), device.floats(N * N, |_| 0.0)];
            let arguments = arguments(&buffers, &[N as u32]);
            let blocks = [N as u32 / 16, N as u32 / 16, 1];
            Box::new(move || device.run("matmul", &arguments, blocks, [16, 16, 1]))
        },
        &|| {
            // The loop order of a good scalar program: the inner loop runs along rows.
            let mut product = product.borrow_mut();
            let (a, b) = (black_box(&a), black_box(&b));
            product.fill(0.0);
            for (row, a) in product.chunks_exact_mut(N).zip(a.chunks_exact(N)) {
                for (a, b) in a.iter().zip(b.chunks_exact(N)) {
                    for (sum, b) in row.iter_mut().zip(b) {
                        *sum += a * b;
                    }
                }
            }
            black_box(&product);
        },
    );
}

fn integers(c: &mut Criterion) {
    const N: u32 = 1 << 16;
    const ROUNDS: u32 = 128;
    let hashes = std::cell::RefCell::new(vec![0_u32; N as usize]);
    compare(
        c,
        "xorshift",
        &|device| {
            let out = device.floats(N as usize, |_| 0.0);
            let arguments = arguments(&[out], &[ROUNDS, N]);
            Box::new(move || device.run("xorshift", &arguments, [N / 256, 1, 1], [256, 1, 1]))
        },
        &|| {
            for (i, hash) in hashes.borrow_mut().iter_mut().enumerate() {
                let mut x = (i as u32).wrapping_mul(2_654_435_761).wrapping_add(1);
                let mut h = 0_u32;
                for _ in 0..black_box(ROUNDS) {
                    x ^= x << 13;
                    x ^= x >> 17;
                    x ^= x << 5;
                    h = h.wrapping_mul(31).wrapping_add(x & 0xffff);
                }
                *hash = h;
            }
            black_box(&hashes);
        },
    );
}

fn launches(c: &mut Criterion) {
    let device = Device::new(1);
    let mut group = c.benchmark_group("launch");
    group.sample_size(20).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
    group.bench_function("empty kernel", |b| b.iter(|| device.run("empty", &[], [1, 1, 1], [64, 1, 1])));
    group.finish();
}

/// Multiply-adds per second of matrix instructions, on one thread.
fn matrices(c: &mut Criterion) {
    const ROUNDS: u32 = 200;
    // The kernel, and the multiply-adds of one of its instructions.
    let both = [
        ("f32_32", 32 * 32 * 2),
        ("f32_16", 16 * 16 * 4),
        ("f64_16", 16 * 16 * 4),
        ("f16_32", 32 * 32 * 8),
        ("f16_16", 16 * 16 * 16),
        ("bf16_16", 16 * 16 * 16),
    ];
    let on_gfx90a = [("i8_32", 32 * 32 * 8)];
    let on_gfx942 = [("i8_32", 32 * 32 * 16), ("fp8_32", 32 * 32 * 16), ("xf32_16", 16 * 16 * 8)];
    let mut group = c.benchmark_group("matrix instructions");
    group.sample_size(10).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
    for (arch, code, own) in
        [(Arch::Gfx90a, MATRICES_GFX90A, &on_gfx90a[..]), (Arch::Gfx942, MATRICES_GFX942, &on_gfx942[..])]
    {
        let gpu = Gpu::new(Config { arch, threads: Some(1), ..Config::default() });
        let module = gpu.load(&CodeObject::parse(code).expect("a code object")).expect("loads");
        let device = Device { gpu, module };
        let arguments = arguments(&[device.floats(64, |_| 0.0)], &[ROUNDS]);
        for (name, products) in both.iter().chain(own) {
            let all = u64::from(ROUNDS) * 16 * products;
            let mut best = f64::INFINITY;
            group.throughput(Throughput::Elements(all));
            group.bench_function(format!("{arch} {name}"), |b| {
                b.iter_custom(|n| {
                    let start = Instant::now();
                    for _ in 0..n {
                        let start = Instant::now();
                        device.run(&format!("rate_{name}"), &arguments, [1, 1, 1], [64, 1, 1]);
                        best = best.min(start.elapsed().as_secs_f64());
                    }
                    start.elapsed()
                });
            });
            if best.is_finite() {
                println!(
                    "{arch} {name}: {:.2} thousand million multiply-adds a second at best",
                    all as f64 / best / 1e9
                );
            }
        }
    }
    group.finish();
}

criterion_group!(benches, vector_add, matmul, integers, matrices, launches);
criterion_main!(benches);
