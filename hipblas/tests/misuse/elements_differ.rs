//! Operands of two types: the message names both.
use hip::DeviceBuffer;
use hipblas::{Blas, MatrixBuffer, Result};

fn input(blas: &Blas, a: &MatrixBuffer<f32>, b: &MatrixBuffer<f64>, c: &mut MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, b, 0.0, c)
}

fn output(blas: &Blas, a: &MatrixBuffer<f32>, c: &mut MatrixBuffer<f64>) -> Result<()> {
    blas.gemm(1.0, a, a, 0.0, c)
}

fn vectors(blas: &Blas, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f64>) -> Result<()> {
    blas.axpy(2.0, x, y)
}

fn factor(blas: &Blas, a: &MatrixBuffer<f32>, beta: f64, c: &mut MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, a, beta, c)
}

fn main() {
    let _ = (input, output, vectors, factor);
}
