//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no memory of the
//! device.

use hip::{DeviceBuffer, Stream};
use hipblas::{Blas, MatrixBuffer, MatrixMut, MatrixRef};
use linalg_testing::{Counting, assert_steady};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipblas::is_available() {
        return linalg_testing::skipped(&"hipBLAS is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let blas = Blas::new(&stream).unwrap();
    let a = MatrixBuffer::<f32>::zeroed(&device, 16, 16).unwrap();
    let mut c = MatrixBuffer::<f32>::zeroed(&device, 16, 16).unwrap();
    // Not zeros: a norm that is 0 is computed again on the host, as its squares may have underflowed.
    let many = DeviceBuffer::from_slice(&device, &[1.0_f32; 1024]).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 1024).unwrap();
    let alpha = DeviceBuffer::from_slice(&device, &[1.0_f32]).unwrap();
    let mut norm = DeviceBuffer::<f32>::zeroed(&device, 1).unwrap();
    assert_steady(&stream, || {
        blas.gemm(1.0, &a, a.t(), 0.5, &mut c).unwrap();
        blas.gemm(&alpha, &a, &a, 0.5, &mut c).unwrap();
        let batch = MatrixRef::strided_batch(&many, (16, 16, 16), 256, 4).unwrap();
        let to = MatrixMut::strided_batch(&mut out, (16, 16, 16), 256, 4).unwrap();
        blas.gemm(1.0, batch, batch, 0.0, to).unwrap();
        blas.axpy(2.0, &many, &mut out).unwrap();
        blas.nrm2_into(&many, &mut norm).unwrap();
        blas.nrm2(&many).unwrap();
    });
}
