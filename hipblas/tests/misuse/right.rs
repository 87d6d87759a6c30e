//! Operands as they must be.
use hip::DeviceBuffer;
use hipblas::{Blas, MatrixBuffer, MatrixMut, MatrixRef, Result, VectorRef};

fn run(blas: &Blas, a: &MatrixBuffer<f32>, c: &mut MatrixBuffer<f32>) -> Result<()> {
    blas.gemm(1.0, a, a.t(), 0.0, &mut *c)?;
    blas.gemm(1.0, a, a.view(), 0.0, c)
}

fn vectors(blas: &Blas, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<()> {
    blas.axpy(2.0, x, &mut *y)?;
    blas.axpy(x, VectorRef::new(x, 2, -1)?, y.slice_mut(..2)?)?;
    let mut matrix = MatrixMut::new(y, 1, 2)?;
    blas.gemm(1.0, MatrixRef::new(x, 1, 2)?, MatrixRef::new(x, 2, 2)?, 0.0, &mut matrix)
}

fn main() {
    let _ = (run, vectors);
}
