//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no workspace.

use half::f16;
use hip::{DeviceBuffer, Stream};
use hipblaslt::{BlasLt, Epilogue, Matmul, MatrixBuffer};
use linalg_testing::{Counting, assert_steady};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipblaslt::is_available() {
        return linalg_testing::skipped(&"hipBLASLt is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let lt = BlasLt::new(&stream).unwrap();
    let a = MatrixBuffer::<f16>::zeroed(&device, 16, 16).unwrap();
    let bias = DeviceBuffer::<f16>::zeroed(&device, 16).unwrap();
    let mut d = MatrixBuffer::<f16>::zeroed(&device, 16, 16).unwrap();
    if let Err(error) = lt.matmul(Matmul::default(), 1.0, &a, &a, 0.0, &mut d) {
        return linalg_testing::skipped(&error);
    }
    let kept = lt.algorithms(Matmul::default(), &a, &a, &mut d, 1).unwrap()[0];
    assert_steady(&stream, || {
        lt.matmul(Matmul::default(), 1.0, &a, &a, 0.0, &mut d).unwrap();
        let how = Matmul { epilogue: Epilogue::ReluBias(bias.as_slice()), ..Matmul::default() };
        lt.matmul(how, 1.0, &a, &a, 0.0, &mut d).unwrap();
        let how = Matmul { algorithm: Some(kept), ..Matmul::default() };
        lt.matmul(how, 1.0, &a, &a, 0.0, &mut d).unwrap();
        lt.transform(2.0, a.t(), None, &mut d).unwrap();
    });
}
