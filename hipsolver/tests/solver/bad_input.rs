//! What does not fit is an error before the call.

use hip::DeviceBuffer;
use hipsolver::{CallError, Error, Jacobi, MatrixBuffer, MatrixMut, Pivots, Side, Triangle};

use crate::solver;

#[track_caller]
fn refused<T>(result: hipsolver::Result<T>, words: &str) {
    match result {
        Err(error @ Error::Call(CallError::Invalid { .. })) => assert!(error.to_string().contains(words), "{error}"),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn shapes_and_forms_that_do_not_fit() {
    let Some((device, solver)) = solver() else { return };
    let matrix = |rows, cols| MatrixBuffer::<f32>::zeroed(&device, rows, cols).unwrap();
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let (mut square, mut tall, mut two) = (matrix(3, 3), matrix(4, 2), matrix(2, 2));
    refused(solver.potrs(two.view().lower().unwrap(), &mut tall), "rows of B");
    refused(solver.getrf(&mut tall, &mut Pivots::new(&device, 3, 3).unwrap()), "pivots");
    refused(solver.getrf(&mut tall, &mut Pivots::new(&device, 3, 2).unwrap()), "rows of the pivots");
    refused(solver.getrf(tall.view_mut().t(), &mut Pivots::new(&device, 4, 2).unwrap()), "column-major");
    // Pivots of a taller matrix name rows that this one has not.
    let of_tall = Pivots::new(&device, 4, 3).unwrap();
    refused(solver.getrs(&square, &of_tall, &mut matrix(3, 1)), "rows of the pivots");
    refused(solver.geqrf(&mut tall, &mut vector(3)), "length");
    refused(solver.orgqr(&mut matrix(2, 3), &vector(2)), "wider");
    refused(solver.ormqr(Side::Left, &square, &vector(3), &mut tall), "rows of Q");
    refused(solver.gels(&mut matrix(2, 3), &mut matrix(2, 1), &mut matrix(3, 1)), "as many rows");
    refused(solver.syevd(true, square.view_mut().lower().unwrap(), &mut vector(2)), "length");
    refused(solver.syevd(true, square.view_mut().t().lower().unwrap(), &mut vector(3)), "column-major");
    refused(solver.gesvd(&mut tall, &mut vector(4), None, None), "length");
    refused(solver.gesvd(&mut tall, &mut vector(2), Some(two.view_mut()), None), "vectors of length");
    let mut memory = vector(30);
    let gaps = MatrixMut::strided_batch(&mut memory, (3, 3, 3), 10, 2).unwrap().lower().unwrap();
    refused(solver.syevj(true, Jacobi::default(), gaps, &mut vector(3)), "elements apart");
    let strided: Triangle<_> = MatrixMut::strided_batch(&mut memory, (3, 3, 3), 9, 2).unwrap().lower().unwrap();
    refused(solver.potrf(strided), "batch of pointers");
    let mut s = vector(3);
    refused(solver.gesvdj_batched(Jacobi::default(), &mut square, &mut s, None), "strided batch");
}

#[test]
fn empty_matrices_do_nothing() {
    let Some((device, solver)) = solver() else { return };
    let mut empty = MatrixBuffer::<f64>::zeroed(&device, 0, 0).unwrap();
    solver.potrf(empty.view_mut().lower().unwrap()).unwrap().wait().unwrap();
}
