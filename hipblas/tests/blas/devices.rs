//! Handles of two devices.

use hip::{Device, Stream};
use hipblas::{Blas, MatrixBuffer};

/// Small whole numbers, column by column: products of them are exact.
fn numbers(rows: usize, cols: usize, step: usize) -> Vec<f32> {
    (0..rows * cols).map(|at| ((at * step) % 7) as f32 - 3.0).collect()
}

#[test]
fn each_device_multiplies_at_the_same_time() {
    if super::blas().is_none() {
        return;
    }
    if Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    const N: usize = 33;
    let multiply = |index: usize| {
        let device = Device::get(index).unwrap();
        let blas = Blas::new(&Stream::new(&device).unwrap()).unwrap();
        let (a, b) = (numbers(N, N, 3 + index), numbers(N, N, 5));
        let want: Vec<f32> = (0..N * N).map(|at| (0..N).map(|k| a[k * N + at % N] * b[at / N * N + k]).sum()).collect();
        let upload = |numbers: &[f32]| MatrixBuffer::from_columns(&device, numbers, N, N).unwrap();
        let (a, b) = (upload(&a), upload(&b));
        for _ in 0..10 {
            let mut c = MatrixBuffer::<f32>::zeroed(&device, N, N).unwrap();
            blas.gemm(1.0, &a, &b, 0.0, &mut c).unwrap();
            assert_eq!(c.to_vec().unwrap(), want, "device {index}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| multiply(0));
        scope.spawn(|| multiply(1));
    });
}
