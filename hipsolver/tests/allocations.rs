//! In steady state, calls allocate nothing: no memory of the host, counted by the allocator, and no workspace.

use hip::{DeviceBuffer, Stream};
use hipsolver::{MatrixBuffer, Pivots, Solver};
use linalg_testing::{Counting, assert_steady};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn calls_allocate_nothing_in_steady_state() {
    let Some(device) = linalg_testing::device() else { return };
    if !hipsolver::is_available() {
        return linalg_testing::skipped(&"hipSOLVER is not available");
    }
    let stream = Stream::new(&device).unwrap();
    let solver = Solver::new(&stream).unwrap();
    let n = 8;
    let identity: Vec<f64> = (0..n * n).map(|at| if at % (n + 1) == 0 { 1.0 } else { 0.0 }).collect();
    let mut a = MatrixBuffer::from_columns(&device, &identity, n, n).unwrap();
    let mut b = MatrixBuffer::<f64>::zeroed(&device, n, 1).unwrap();
    let mut pivots = Pivots::new(&device, n, n).unwrap();
    let mut values = DeviceBuffer::<f64>::zeroed(&device, n).unwrap();
    // Not `syevd`, `gesvd` and the others that scale: they read the range of each matrix into memory of the host.
    // The matrix is the identity: it does not change, except for signs.
    assert_steady(&stream, || {
        solver.potrf(a.view_mut().lower().unwrap()).unwrap().wait().unwrap();
        solver.potrs(a.view().lower().unwrap(), &mut b).unwrap().wait().unwrap();
        solver.getrf(&mut a, &mut pivots).unwrap().wait().unwrap();
        solver.getrs(&a, &pivots, &mut b).unwrap().wait().unwrap();
        // Without a wait: the workspace is used again in the stream's order.
        drop(solver.geqrf(&mut a, &mut values).unwrap());
        stream.synchronize().unwrap();
        a.buffer_mut().copy_from_slice(&identity).unwrap();
    });
}
