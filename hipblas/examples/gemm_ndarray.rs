//! The product of two `ndarray` arrays on the GPU, in any layout, with the result copied back to an array.
//!
//! `cargo run -p hipblas --features ndarray --example gemm_ndarray`, with an AMD GPU and hipBLAS; without:
//! `rocm-sdk install 7.2 --with hipblas`, then `hip-sim run --rocm 7.2 -- target/debug/examples/gemm_ndarray`

use hip::{Device, Stream};
use hipblas::{Blas, MatrixBuffer};
use ndarray::Array2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let blas = Blas::new(&Stream::new(&device)?)?;
    let a = Array2::from_shape_fn((48, 32), |(row, col)| (row * 3 + col) as f64 / 16.0);
    let b = Array2::from_shape_fn((24, 32), |(row, col)| row as f64 - col as f64 / 4.0);
    let (a_gpu, b_gpu) = (MatrixBuffer::from_array(&device, &a)?, MatrixBuffer::from_array(&device, &b)?);
    let mut c_gpu = MatrixBuffer::zeroed(&device, 48, 24)?;
    blas.gemm(1.0, &a_gpu, b_gpu.t(), 0.0, &mut c_gpu)?; // C = A Bᵀ
    let c = c_gpu.to_array()?;
    let difference = (&c - &a.dot(&b.t())).iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    if difference.is_nan() || difference > 1e-10 {
        return Err(format!("the product differs from ndarray's by {difference:e}").into());
    }
    println!(
        "gemm_ndarray: {:?} times {:?}, largest difference from ndarray's product {difference:.1e}",
        a.dim(),
        b.t().dim()
    );
    Ok(())
}
