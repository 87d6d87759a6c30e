//! Buffers, which have no rows and columns, for matrices, and a matrix for a vector: the message says how one becomes
//! the other.
use hip::DeviceBuffer;
use hipblas::{Blas, MatrixBuffer, Result};

fn inputs(blas: &Blas, a: &MatrixBuffer<f32>, b: &DeviceBuffer<f32>, c: &mut MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, b, 0.0, c)
}

fn outputs(blas: &Blas, a: &MatrixBuffer<f32>, c: &mut DeviceBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, a, 0.0, c)
}

fn matrix(blas: &Blas, x: &MatrixBuffer<f32>, y: &mut DeviceBuffer<f32>) -> Result<()> {
    blas.axpy(2.0f32, x, y)
}

fn main() {
    let _ = (inputs, outputs, matrix);
}
