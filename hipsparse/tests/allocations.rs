//! In steady state, calls of plans allocate no memory of the host, which the allocator counts. hipSPARSE's own
//! allocations are not counted.
//!
//! Calls without a plan describe their matrices, and note the descriptions to be destroyed when the device is idle.

use hip::{DeviceBuffer, Stream};
use hipsparse::{Base, Csr, Sparse};
use linalg_testing::{Counting, assert_steady};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn plans_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipsparse::is_available() {
        return linalg_testing::skipped(&"hipSPARSE is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let sparse = Sparse::new(&stream).unwrap();
    let a =
        Csr::from_host(&device, (3, 3), Base::Zero, &[0, 2, 3, 4], &[0, 2, 1, 2], &[4.0_f64, 1.0, 3.0, 2.0]).unwrap();
    let x = DeviceBuffer::from_slice(&device, &[1.0, 2.0, 3.0]).unwrap();
    let alpha = DeviceBuffer::from_slice(&device, &[2.0]).unwrap();
    let mut y = DeviceBuffer::<f64>::zeroed(&device, 3).unwrap();
    let mut z = DeviceBuffer::<f64>::zeroed(&device, 3).unwrap();
    let mut plan = sparse.spmv_plan(&a).unwrap();
    let mut solver = sparse.spsv(a.view().upper().unwrap()).unwrap();
    let b = hipsparse::MatrixBuffer::<f64>::zeroed(&device, 3, 4).unwrap();
    let mut c = hipsparse::MatrixBuffer::<f64>::zeroed(&device, 3, 4).unwrap();
    let mut products = sparse.spmm_plan(&a, &(&b).into(), &(&mut c).into()).unwrap();
    assert_steady(&stream, || {
        plan.run(1.0, &x, 0.0, &mut y).unwrap();
        plan.run(&alpha, &x, 0.5, &mut y).unwrap();
        solver.solve(1.0, &y, &mut z).unwrap();
        products.run(1.0, &b, 0.0, &mut c).unwrap();
    });
}
