//! Operands as they must be.
use hip::DeviceBuffer;
use hipsparse::{Csr, Result, SpVec, Sparse};

fn run(sparse: &Sparse, a: &Csr<f32>, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) -> Result<()> {
    sparse.spmv(1.0, a, x, 0.0, &mut *y)?;
    sparse.spmv(1.0, a.view(), x, 0.0, y)
}

fn vectors(sparse: &Sparse, x: &mut SpVec<f32>, y: &DeviceBuffer<f32>) -> Result<()> {
    sparse.gather(y, x)
}

fn main() {
    let _ = (run, vectors);
}
