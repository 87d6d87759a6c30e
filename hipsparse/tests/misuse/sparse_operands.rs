//! Operands that do not fit: of another format, of another type, not sparse, and outputs without `&mut`. The message
//! says what to pass.
use hip::DeviceBuffer;
use hipsparse::{Coo, Csc, Csr, Result, SpVec, Sparse};

fn format(sparse: &Sparse, a: &Coo<f32>) -> Result<Csc<f32>> {
    sparse.csr_to_csc(a)
}

fn elements(sparse: &Sparse, a: &Csr<f64>, x: &DeviceBuffer<f32>, y: &mut DeviceBuffer<f32>) -> Result<()> {
    sparse.spmv(1.0, a, x, 0.0, y)
}

fn dense(sparse: &Sparse, a: &DeviceBuffer<f32>) -> Result<Csc<f32>> {
    sparse.csr_to_csc(a)
}

fn output(sparse: &Sparse, x: &SpVec<f32>, y: &DeviceBuffer<f32>) -> Result<()> {
    sparse.gather(y, x)
}

fn main() {
    let _ = (format, elements, dense, output);
}
