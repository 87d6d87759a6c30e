//! Many small products in one call: a strided batch with one matrix that all members share, and in mixed precision.
//!
//! `cargo run -p hipblas --example batched_gemm`, with an AMD GPU and hipBLAS; without:
//! `rocm-sdk install 7.2 --with hipblas`, then `hip-sim run --rocm 7.2 -- target/debug/examples/batched_gemm`

use half::f16;
use hip::{Device, DeviceBuffer, Stream};
use hipblas::{Blas, Compute, MatrixMut, MatrixRef};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::get(0)?;
    let blas = Blas::new(&Stream::new(&device)?)?;
    // 64 rotations of 3 points each, in 2 dimensions.
    let (count, points) = (64, 3);
    let angle = |index: usize| index as f32 * std::f32::consts::TAU / count as f32;
    let rotations: Vec<f16> = (0..count)
        .flat_map(|index| {
            let (sin, cos) = angle(index).sin_cos();
            [cos, sin, -sin, cos].map(f16::from_f32)
        })
        .collect();
    let corners: Vec<f16> = [1.0, 0.0, 0.0, 1.0, 1.0, 1.0].map(f16::from_f32).into();
    let (rotations, corners) =
        (DeviceBuffer::from_slice(&device, &rotations)?, DeviceBuffer::from_slice(&device, &corners)?);
    let mut turned = DeviceBuffer::<f32>::zeroed(&device, count * 2 * points)?;
    let a = MatrixRef::strided_batch(&rotations, (2, 2, 2), 4, count)?;
    let b = MatrixRef::new(&corners, 2, points)?; // shared by all members
    let c = MatrixMut::strided_batch(&mut turned, (2, points, 2), 2 * points, count)?;
    // 16-bit inputs, computed and stored in 32 bits.
    blas.gemm_ex(Compute::Default, 1.0f32, a, b, 0.0f32, c)?;
    let turned = turned.to_vec()?;
    let mut largest = 0.0f32;
    for index in 0..count {
        let (sin, cos) = angle(index).sin_cos();
        let found = &turned[index * 2 * points..][..2];
        largest = largest.max((found[0] - cos).abs()).max((found[1] - sin).abs());
    }
    if largest.is_nan() || largest > 1e-3 {
        return Err(format!("a point is off by {largest}").into());
    }
    println!("batched_gemm: {count} products in one call, largest error {largest:.1e}");
    Ok(())
}
