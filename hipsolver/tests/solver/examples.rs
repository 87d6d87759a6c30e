//! Other people's numbers: the examples that Intel publishes for LAPACK's `dsyev` and `dgesvd`, and netlib for `dgels`,
//! with the values that they print.

use hip::DeviceBuffer;
use hipsolver::MatrixBuffer;

use crate::{solver, upload};
use linalg_testing::Host;

#[test]
fn eigenvalues_of_the_published_example() {
    let Some((device, solver)) = solver() else { return };
    // The upper triangle, row after row: in memory, the lower one of its transpose.
    let rows = [
        [1.96, -6.49, -0.47, -7.20, -0.65],
        [0.00, 3.80, -6.39, 1.50, -6.34],
        [0.00, 0.00, 4.17, -1.51, 2.67],
        [0.00, 0.00, 0.00, 5.70, 1.80],
        [0.00, 0.00, 0.00, 0.00, -7.10],
    ];
    let mut a = upload::<f64>(&device, &Host::from_fn(5, 5, |row, col| f64::into(rows[row][col])));
    let mut w = DeviceBuffer::<f64>::zeroed(&device, 5).unwrap();
    solver.syevd(false, a.view_mut().upper().unwrap(), &mut w).unwrap().wait().unwrap();
    let found = w.to_vec().unwrap();
    for (got, want) in found.iter().zip([-11.07, -6.23, 0.86, 8.87, 16.09]) {
        assert!((got - want).abs() <= 0.005, "{found:?}");
    }
}

#[test]
fn singular_values_of_the_published_example() {
    let Some((device, solver)) = solver() else { return };
    let rows = [
        [8.79, 9.93, 9.83, 5.45, 3.16],
        [6.11, 6.91, 5.04, -0.27, 7.98],
        [-9.15, -7.93, 4.86, 4.85, 3.01],
        [9.57, 1.64, 8.83, 0.74, 5.80],
        [-3.49, 4.02, 9.80, 10.00, 4.27],
        [9.84, 0.15, -8.99, -6.02, -5.31],
    ];
    let mut a = upload::<f64>(&device, &Host::from_fn(6, 5, |row, col| f64::into(rows[row][col])));
    let mut s = DeviceBuffer::<f64>::zeroed(&device, 5).unwrap();
    solver.gesvd(&mut a, &mut s, None, None).unwrap().wait().unwrap();
    let found = s.to_vec().unwrap();
    for (got, want) in found.iter().zip([27.47, 22.64, 8.56, 5.99, 2.01]) {
        assert!((got - want).abs() <= 0.005, "{found:?}");
    }
}

/// The example of LAPACK's C interface for `dgels`: the solution has whole numbers.
#[test]
fn least_squares_of_the_published_example() {
    let Some((device, solver)) = solver() else { return };
    let a = [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0], [3.0, 5.0, 2.0], [4.0, 2.0, 5.0], [5.0, 4.0, 3.0]];
    let b = [[-10.0, -3.0], [12.0, 14.0], [14.0, 12.0], [16.0, 16.0], [18.0, 16.0]];
    let mut a = upload::<f64>(&device, &Host::from_fn(5, 3, |row, col| f64::into(a[row][col])));
    let mut b = upload::<f64>(&device, &Host::from_fn(5, 2, |row, col| f64::into(b[row][col])));
    let mut x = MatrixBuffer::<f64>::zeroed(&device, 3, 2).unwrap();
    solver.gels(&mut a, &mut b, &mut x).unwrap().wait().unwrap();
    let found = x.to_vec().unwrap();
    for (got, want) in found.iter().zip([2.0, 1.0, 1.0, 1.0, 1.0, 2.0]) {
        assert!((got - want).abs() <= 1e-13, "{found:?}");
    }
}
