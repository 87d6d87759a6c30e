//! Memory of the host: the message says that operands are in device memory, and how they get there.
use hip::DeviceBuffer;
use hipblas::{Blas, MatrixBuffer, MatrixRef, Result};

fn input(blas: &Blas, x: &[f32], y: &mut DeviceBuffer<f32>) -> Result<()> {
    blas.axpy(2.0, x, y)
}

fn output(blas: &Blas, x: &DeviceBuffer<f32>, y: &mut Vec<f32>) -> Result<()> {
    blas.axpy(2.0, x, y)
}

fn matrix(blas: &Blas, a: &MatrixBuffer<f32>, b: &Vec<f32>, c: &mut MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, b, 0.0, c)
}

fn rows(blas: &Blas, a: &MatrixBuffer<f32>, c: &mut [[f32; 2]; 2]) -> Result<()> {
    blas.gemm(1.0, a, a, 0.0, c)
}

fn view(a: &Vec<f32>) -> hip::Result<MatrixRef<'_, f32>> {
    MatrixRef::new(a, 2, 2)
}

fn main() {
    let _ = (input, output, matrix, rows, view);
}
