//! Whole kernels with matrix instructions, compiled by HIPRTC for gfx90a and gfx942, against products computed here.
//!
//! The sources are in `tests/kernels/matrices.hip`.

mod common;

use std::sync::Arc;

use amdgpu_sim::{Arch, Config, Gpu, Module};
use common::{Args, Buffer, Plain, Random, launch, launch_1d, load, upload, zeros};
use half::{bf16, f16};

const GFX90A: &[u8] = include_bytes!("kernels/matrices.co");
const GFX942: &[u8] = include_bytes!("kernels/matrices-gfx942.co");

fn device(arch: Arch) -> Gpu {
    Gpu::new(Config { arch, instruction_budget: Some(400_000_000), ..Config::default() })
}

fn on_both(test: impl Fn(&str, &Gpu, &Arc<Module>)) {
    for (arch, code) in [(Arch::Gfx90a, GFX90A), (Arch::Gfx942, GFX942)] {
        let gpu = device(arch);
        let module = load(&gpu, code);
        test(arch.name(), &gpu, &module);
    }
}

/// The dimensions of a product.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    n: usize,
    k: usize,
}

impl Size {
    fn each<T>(self, f: impl Fn(usize, usize) -> T) -> Vec<T> {
        (0..self.m * self.n).map(|at| f(at / self.n, at % self.n)).collect()
    }

    /// Exact products of whole numbers.
    fn product(self, a: &[i32], b: &[i32]) -> Vec<i32> {
        self.each(|i, j| (0..self.k).map(|p| a[i * self.k + p] * b[p * self.n + j]).sum())
    }
}

/// Launches a kernel with a workgroup of `threads` for every tile of `rows` by `columns`.
fn run<A: Plain, D: Plain>(
    gpu: &Gpu,
    module: &Module,
    kernel: &str,
    size: Size,
    (a, b): (&[A], &[A]),
    (rows, columns, threads): (usize, usize, u32),
) -> Vec<D> {
    let (a, b, d): (_, _, Buffer<'_, D>) = (upload(gpu, a), upload(gpu, b), zeros(gpu, size.m * size.n));
    let args = Args::default().pointer(&a).pointer(&b).pointer(&d).value(size.n as i32).value(size.k as i32);
    let blocks = [(size.n / columns) as u32, (size.m / rows) as u32, 1];
    launch(gpu, module, kernel, blocks, [threads, 1, 1], &args).unwrap_or_else(|fault| panic!("{kernel}: {fault}"));
    d.get()
}

fn whole(random: &mut Random, count: usize, most: i32) -> Vec<i32> {
    (0..count).map(|_| (random.next() >> 33) as i32 % (2 * most + 1) - most).collect()
}

#[test]
fn singles_add_up_like_fused_multiply_adds_in_order() {
    let mut r = Random(21);
    let size = Size { m: 128, n: 96, k: 80 };
    let a: Vec<f32> = (0..size.m * size.k).map(|_| r.between(-2.0, 2.0) as f32).collect();
    let b: Vec<f32> = (0..size.n * size.k).map(|_| r.between(-2.0, 2.0) as f32).collect();
    let expected =
        size.each(|i, j| (0..size.k).fold(0_f32, |sum, p| a[i * size.k + p].mul_add(b[p * size.n + j], sum)).to_bits());
    on_both(|name, gpu, module| {
        let bits = |d: Vec<f32>| d.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        let d = run(gpu, module, "gemm_f32", size, (&a, &b), (32, 32, 64));
        assert_eq!(bits(d), expected, "{name}");
        let d = run(gpu, module, "gemm_f32_lds", size, (&a, &b), (64, 16, 256));
        assert_eq!(bits(d), expected, "{name}, by way of local memory");
    });
}

#[test]
fn doubles_add_up_like_fused_multiply_adds_in_order() {
    let mut r = Random(22);
    let size = Size { m: 48, n: 32, k: 64 };
    let a: Vec<f64> = (0..size.m * size.k).map(|_| r.between(-2.0, 2.0)).collect();
    let b: Vec<f64> = (0..size.n * size.k).map(|_| r.between(-2.0, 2.0)).collect();
    let expected =
        size.each(|i, j| (0..size.k).fold(0_f64, |sum, p| a[i * size.k + p].mul_add(b[p * size.n + j], sum)).to_bits());
    on_both(|name, gpu, module| {
        let d: Vec<f64> = run(gpu, module, "gemm_f64", size, (&a, &b), (16, 16, 64));
        assert_eq!(d.into_iter().map(f64::to_bits).collect::<Vec<_>>(), expected, "{name}");
    });
}

#[test]
fn whole_numbers_in_every_narrow_type_are_exact() {
    let mut r = Random(23);
    let size = Size { m: 64, n: 48, k: 96 };
    let (a, b) = (whole(&mut r, size.m * size.k, 15), whole(&mut r, size.k * size.n, 15));
    let expected: Vec<f32> = size.product(&a, &b).into_iter().map(|x| x as f32).collect();
    let encode = |x: &[i32], f: fn(f32) -> u16| x.iter().map(|x| f(*x as f32)).collect::<Vec<u16>>();
    on_both(|name, gpu, module| {
        let halves: fn(f32) -> u16 = |x| f16::from_f32(x).to_bits();
        let brains: fn(f32) -> u16 = |x| bf16::from_f32(x).to_bits();
        for (kernel, f) in [("gemm_f16", halves), ("gemm_bf16", brains)] {
            let d: Vec<f32> = run(gpu, module, kernel, size, (&encode(&a, f), &encode(&b, f)), (16, 16, 64));
            assert_eq!(d, expected, "{name} {kernel}");
        }
        if name == "gfx942" {
            let singles = |x: &[i32]| x.iter().map(|x| *x as f32).collect::<Vec<_>>();
            let d: Vec<f32> = run(gpu, module, "gemm_xf32", size, (&singles(&a), &singles(&b)), (16, 16, 64));
            assert_eq!(d, expected, "{name} xf32");
        }
    });
}

#[test]
fn bytes_are_exact() {
    let mut r = Random(24);
    let size = Size { m: 32, n: 64, k: 256 };
    let bytes = |r: &mut Random, n: usize| (0..n).map(|_| r.next() as i8).collect::<Vec<_>>();
    let (a, b) = (bytes(&mut r, size.m * size.k), bytes(&mut r, size.k * size.n));
    let wide = |x: &[i8]| x.iter().map(|x| i32::from(*x)).collect::<Vec<_>>();
    let expected = size.product(&wide(&a), &wide(&b));
    on_both(|name, gpu, module| {
        let d: Vec<i32> = run(gpu, module, "gemm_i8", size, (&a, &b), (16, 16, 64));
        assert_eq!(d, expected, "{name}");
    });
}

#[test]
fn small_floats_of_gfx942() {
    let mut r = Random(25);
    let size = Size { m: 32, n: 32, k: 128 };
    let (a, b) = (whole(&mut r, size.m * size.k, 3), whole(&mut r, size.k * size.n, 3));
    let expected: Vec<f32> = size.product(&a, &b).into_iter().map(|x| x as f32).collect();
    // -3 to 3 in E4M3 with bias 8 and in E5M2 with bias 16.
    let fp8 = a.iter().map(|x| [0xcc_u8, 0xc8, 0xc0, 0, 0x40, 0x48, 0x4c][(x + 3) as usize]).collect::<Vec<_>>();
    let bf8 = b.iter().map(|x| [0xc6_u8, 0xc4, 0xc0, 0, 0x40, 0x44, 0x46][(x + 3) as usize]).collect::<Vec<_>>();
    let gpu = device(Arch::Gfx942);
    let module = load(&gpu, GFX942);
    let d: Vec<f32> = run(&gpu, &module, "gemm_fp8_bf8", size, (&fp8, &bf8), (16, 16, 64));
    assert_eq!(d, expected);
}

#[test]
fn a_sparse_matrix_of_gfx942() {
    let mut r = Random(26);
    let size = Size { m: 32, n: 48, k: 64 };
    let stored = whole(&mut r, size.m * size.k / 2, 9);
    let b = whole(&mut r, size.k * size.n, 9);
    let (mut full, mut index) = (vec![0; size.m * size.k], vec![0_u8; size.m * size.k / 8]);
    for (pair, two) in stored.chunks_exact(2).enumerate() {
        // Two different positions of four, in ascending order.
        let places = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)][(r.next() >> 40) as usize % 6];
        full[4 * pair + places.0] = two[0];
        full[4 * pair + places.1] = two[1];
        index[pair / 2] |= ((places.0 | places.1 << 2) << (4 * (pair % 2))) as u8;
    }
    let expected: Vec<f32> = size.product(&full, &b).into_iter().map(|x| x as f32).collect();
    let halves = |x: &[i32]| x.iter().map(|x| f16::from_f32(*x as f32).to_bits()).collect::<Vec<_>>();
    let gpu = device(Arch::Gfx942);
    let module = load(&gpu, GFX942);
    let (a, b, d) = (upload(&gpu, &halves(&stored)), upload(&gpu, &halves(&b)), zeros::<f32>(&gpu, size.m * size.n));
    let index = upload(&gpu, &index);
    let args = Args::default().pointer(&a).pointer(&b).pointer(&d).value(size.n as i32).value(size.k as i32);
    let blocks = [size.n as u32 / 16, size.m as u32 / 16, 1];
    launch(&gpu, &module, "gemm_sparse_f16", blocks, [64, 1, 1], &args.pointer(&index)).unwrap();
    assert_eq!(d.get(), expected);
}

#[test]
fn accumulation_registers_in_memory_instructions() {
    on_both(|name, gpu, module| {
        let data: Vec<u32> = (0..256_u32).map(|i| i.wrapping_mul(0x9e37_79b9) ^ i << 7).collect();
        let (input, out, sums) = (upload(gpu, &data), zeros::<u32>(gpu, 24 * 64), zeros::<u32>(gpu, 4));
        launch_1d(gpu, module, "accumulation", 1, 64, &Args::default().pointer(&input).pointer(&out).pointer(&sums));
        let out = out.get();
        let mut left = [0_u32; 4];
        for (lane, got) in out.chunks_exact(24).enumerate() {
            let from = &data[4 * lane..][..4];
            let half = from[0] >> 16;
            let old = left[lane % 4];
            left[lane % 4] = old.wrapping_add(half);
            let mut expected = [0; 24];
            expected[..4].copy_from_slice(from);
            expected[4] = from[0];
            expected[5] = (half & 0xff) << 8;
            expected[6..8].copy_from_slice(&from[2..]);
            expected[8] = from[0];
            expected[9] = from[0].wrapping_add(half);
            expected[10] = old;
            expected[12..16].copy_from_slice(from);
            assert_eq!(got, expected, "{name}, lane {lane}");
        }
        assert_eq!(sums.get(), left, "{name}");
    });
}
