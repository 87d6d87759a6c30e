//! Handles of two devices.

use hip::{Device, DeviceBuffer, Stream};
use hipsparse::{Base, Sparse};

use crate::laplacian_2d;

#[test]
fn each_device_multiplies_at_the_same_time() {
    if crate::sparse().is_none() {
        return;
    }
    if Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let multiply = |index: usize| {
        let device = Device::get(index).unwrap();
        let sparse = Sparse::new(&Stream::new(&device).unwrap()).unwrap();
        let entries = laplacian_2d::<f64>(9, 7 + index);
        let a = entries.csr::<i32>(&device, Base::Zero);
        // Small whole numbers: the products are exact.
        let x: Vec<f64> = (0..entries.cols).map(|at| (at * (3 + index) % 7) as f64 - 3.0).collect();
        let mut want = vec![0.0; entries.rows];
        entries.entries.iter().for_each(|&(row, col, value)| want[row] += value * x[col]);
        let x = DeviceBuffer::from_slice(&device, &x).unwrap();
        let mut plan = sparse.spmv_plan(&a).unwrap();
        for _ in 0..10 {
            let mut y = DeviceBuffer::<f64>::zeroed(&device, entries.rows).unwrap();
            plan.run(1.0, &x, 0.0, &mut y).unwrap();
            assert_eq!(y.to_vec().unwrap(), want, "device {index}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| multiply(0));
        scope.spawn(|| multiply(1));
    });
}
