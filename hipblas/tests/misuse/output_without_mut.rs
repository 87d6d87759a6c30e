//! Outputs that are passed as inputs are: the message says that they take `&mut`.
use hip::DeviceBuffer;
use hipblas::{Blas, MatrixBuffer, Result};

fn run(blas: &Blas, a: &MatrixBuffer<f32>, c: MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, a, 0.0, &c)?;
    blas.gemm(1.0, a, a, 0.0, c)
}

fn vectors(blas: &Blas, x: &DeviceBuffer<f32>, y: &DeviceBuffer<f32>) -> Result<()> {
    blas.axpy(2.0, x, y)
}

fn main() {
    let _ = (run, vectors);
}
