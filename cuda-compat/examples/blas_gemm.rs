//! C = A · B with cuBLAS, through cudarc's interface: single and half precision, one product and a batch. With
//! `cudarc` in place of `cuda_compat`, it is a program for NVIDIA GPUs.
//!
//! `cargo run -p cuda-compat --features f16 --example blas_gemm`. Without a GPU:
//! `hip-sim run -- cargo run -p cuda-compat --features f16 --example blas_gemm`, which runs ROCm's own hipBLAS on a
//! software GPU.

use std::error::Error;

use cuda_compat::cublas::sys::cublasOperation_t;
use cuda_compat::cublas::{CudaBlas, Gemm, GemmConfig, StridedBatchedConfig};
use cuda_compat::driver::CudaContext;
use half::f16;

const M: usize = 64;
const N: usize = 48;
const K: usize = 32;
const BATCH: usize = 3;

/// Numbers that are the same in each run, and small enough for half precision.
fn matrix(elements: usize, factor: usize) -> Vec<f32> {
    (0..elements).map(|i| ((i * factor) % 17) as f32 / 8.0 - 1.0).collect()
}

/// Computes the product on the host. Matrices are column-major.
fn product(a: &[f32], b: &[f32]) -> Vec<f32> {
    let element = |column: usize, row: usize| (0..K).map(|k| a[k * M + row] * b[column * K + k]).sum();
    (0..N).flat_map(|column| (0..M).map(move |row| (column, row))).map(|(column, row)| element(column, row)).collect()
}

fn largest_difference(got: impl Iterator<Item = f32>, want: &[f32]) -> f32 {
    got.zip(want).map(|(got, want)| (got - want).abs()).fold(0.0, f32::max)
}

fn config<T>(one: T, zero: T) -> GemmConfig<T> {
    GemmConfig {
        transa: cublasOperation_t::CUBLAS_OP_N,
        transb: cublasOperation_t::CUBLAS_OP_N,
        m: M as i32,
        n: N as i32,
        k: K as i32,
        alpha: one,
        lda: M as i32,
        ldb: K as i32,
        beta: zero,
        ldc: M as i32,
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let context = match CudaContext::new(0) {
        Ok(context) => context,
        Err(error) => {
            println!("no GPU is available: {error}");
            return Ok(());
        }
    };
    println!("{}", context.name()?);
    let stream = context.default_stream();
    let blas = match CudaBlas::new(stream.clone()) {
        Ok(blas) => blas,
        Err(error) => {
            println!("hipBLAS is not available: {error}");
            return Ok(());
        }
    };

    let (a, b) = (matrix(BATCH * M * K, 7), matrix(K * N, 5));
    let (on_a, on_b) = (stream.clone_htod(&a)?, stream.clone_htod(&b)?);
    let mut c = stream.alloc_zeros::<f32>(M * N)?;
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm(config(1.0, 0.0), &on_a.slice(..M * K), &on_b, &mut c)? };
    let want = product(&a[..M * K], &b);
    let difference = largest_difference(stream.clone_dtoh(&c)?.into_iter(), &want);
    println!("f32, {M} × {K} · {K} × {N}: largest difference {difference:.1e}");
    assert!(difference < 1e-4);

    // Three matrices A with one B.
    let mut all = stream.alloc_zeros::<f32>(BATCH * M * N)?;
    let batch = StridedBatchedConfig {
        gemm: config(1.0, 0.0),
        batch_size: BATCH as i32,
        stride_a: (M * K) as i64,
        stride_b: 0,
        stride_c: (M * N) as i64,
    };
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm_strided_batched(batch, &on_a, &on_b, &mut all)? };
    let want: Vec<f32> = a.chunks(M * K).flat_map(|a| product(a, &b)).collect();
    let difference = largest_difference(stream.clone_dtoh(&all)?.into_iter(), &want);
    println!("f32, {BATCH} of them: largest difference {difference:.1e}");
    assert!(difference < 1e-4);

    let halves = |numbers: &[f32]| numbers.iter().map(|&number| f16::from_f32(number)).collect::<Vec<_>>();
    let (on_a, on_b) = (stream.clone_htod(&halves(&a[..M * K]))?, stream.clone_htod(&halves(&b))?);
    let mut c = stream.alloc_zeros::<f16>(M * N)?;
    // SAFETY: scalars are on the host.
    unsafe { blas.gemm(config(f16::ONE, f16::ZERO), &on_a, &on_b, &mut c)? };
    let got = stream.clone_dtoh(&c)?.into_iter().map(f16::to_f32);
    let difference = largest_difference(got, &want[..M * N]);
    println!("f16, {M} × {K} · {K} × {N}: largest difference {difference:.1e}");
    assert!(difference < 0.02);
    Ok(())
}
