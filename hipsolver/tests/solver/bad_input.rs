//! Invalid input is an error before the call.

use hip::{DeviceBuffer, Stream};
use hipsolver::linalg::VectorMut;
use hipsolver::{CallError, EigenProblem, EigenRange, Error, Jacobi, MatrixBuffer, MatrixMut, Pivots, Side, Triangle};

use crate::solver;

#[track_caller]
fn refused<T>(result: hipsolver::Result<T>, words: &str) {
    match result {
        Err(error @ Error::Call(CallError::Invalid { .. } | CallError::Hip(hip::Error::InvalidValue { .. }))) => {
            assert!(error.to_string().contains(words), "{error}");
        }
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

/// A strided batch without gaps: rows, columns, members.
fn batch(memory: &mut DeviceBuffer<f32>, (rows, cols, count): (usize, usize, usize)) -> MatrixMut<'_, f32> {
    MatrixMut::strided_batch(memory, (rows, cols, rows), rows * cols, count).unwrap()
}

#[test]
fn shapes_and_forms_that_do_not_fit() {
    let Some((device, solver)) = solver() else { return };
    let matrix = |rows, cols| MatrixBuffer::<f32>::zeroed(&device, rows, cols).unwrap();
    let vector = |len| DeviceBuffer::<f32>::zeroed(&device, len).unwrap();
    let (mut square, mut tall, mut two) = (matrix(3, 3), matrix(4, 2), matrix(2, 2));
    refused(
        solver.potrs(two.view().lower().unwrap(), &mut tall),
        "the rows of B is 4, but must be 2, the order of A, in potrs(A 2 x 2, B 4 x 2)",
    );
    refused(solver.getrf(&mut tall, &mut Pivots::new(&device, 3, 3).unwrap()), "pivots");
    refused(solver.getrf(&mut tall, &mut Pivots::new(&device, 3, 2).unwrap()), "rows of the pivots");
    refused(solver.getrf(tall.view_mut().t(), &mut Pivots::new(&device, 4, 2).unwrap()), "column-major");
    // Pivots of a taller matrix name rows that this one has not.
    let of_tall = Pivots::new(&device, 4, 3).unwrap();
    refused(solver.getrs(&square, &of_tall, &mut matrix(3, 1)), "rows of the pivots");
    refused(solver.geqrf(&mut tall, &mut vector(3)), "length of tau");
    refused(solver.orgqr(&mut matrix(2, 3), &vector(2)), "wider");
    refused(solver.ormqr(Side::Left, &square, &vector(3), &mut tall), "rows of Q");
    refused(solver.gels(&mut matrix(2, 3), &mut matrix(2, 1), &mut matrix(3, 1)), "as many rows");
    refused(
        solver.syevd(true, square.view_mut().lower().unwrap(), &mut vector(2)),
        "number of eigenvalues is 2, but must be 3, as the matrix needs, in syevd(A 3 x 3, the eigenvalues 2)",
    );
    refused(solver.syevd(true, square.view_mut().t().lower().unwrap(), &mut vector(3)), "column-major");
    refused(solver.gesvd(&mut tall, &mut vector(4), None, None), "number of singular values is 4, but must be 2");
    refused(solver.gesvd(&mut tall, &mut vector(2), Some(two.view_mut()), None), "vectors of length");
    let mut memory = vector(30);
    let gaps = MatrixMut::strided_batch(&mut memory, (3, 3, 3), 10, 2).unwrap().lower().unwrap();
    refused(solver.syevj(true, Jacobi::default(), gaps, &mut vector(3)), "elements apart");
    let strided: Triangle<_> = MatrixMut::strided_batch(&mut memory, (3, 3, 3), 9, 2).unwrap().lower().unwrap();
    refused(solver.potrf(strided), "batch of pointers");
    let mut few = vector(2);
    let short = VectorMut::new(&mut few, 2, 1).unwrap();
    let all = || EigenRange::All;
    refused(solver.syevdx(true, all(), square.view_mut().lower().unwrap(), short), "number of eigenvalues");
    let mut range = |range, words: &str| {
        let mut w = vector(3);
        refused(solver.syevdx(true, range, square.view_mut().lower().unwrap(), &mut w), words);
    };
    range(EigenRange::Between(2.0, 1.0), "first below the second");
    range(EigenRange::Between(f32::NAN, 1.0), "first below the second");
    range(EigenRange::Indices(1..4), "within 0..3");
    range(EigenRange::Indices(2..2), "at least one");
    let b = two.view_mut().lower().unwrap();
    let a = square.view_mut().lower().unwrap();
    refused(solver.sygvdx(EigenProblem::AxLambdaBx, true, all(), a, b, &mut vector(3)), "order of B");
    let (mut of_a, mut of_s, mut of_u, mut of_v) = (vector(24), vector(24), vector(24), vector(24));
    let mut gesvda = |shape: (usize, usize, usize), ranks: (usize, usize), u: (usize, usize), v: (usize, usize)| {
        let a = batch(&mut of_a, shape);
        let u = batch(&mut of_u, (u.0, u.1, shape.2));
        let v = batch(&mut of_v, (v.0, v.1, shape.2));
        solver.gesvda_batched(
            a,
            VectorMut::strided_batch(&mut of_s, ranks.0, 1, ranks.0, ranks.1).unwrap(),
            Some((u, v)),
        )
    };
    refused(gesvda((3, 2, 2), (3, 2), (3, 2), (2, 2)), "at most 2");
    refused(gesvda((3, 2, 2), (2, 3), (3, 2), (2, 2)), "members");
    refused(gesvda((3, 2, 2), (2, 2), (3, 1), (2, 2)), "columns of U or V");
    refused(gesvda((3, 2, 2), (2, 2), (3, 2), (3, 2)), "rows of U or V");
    refused(solver.gesvda_batched(&mut square, &mut vector(3), None), "strided batch");
    // None are asked for.
    gesvda((3, 2, 2), (0, 2), (3, 0), (2, 0)).unwrap().wait().unwrap();
    let mut s = vector(3);
    refused(solver.gesvdj_batched(Jacobi::default(), &mut square, &mut s, None), "strided batch");
}

#[test]
fn operands_that_overlap_or_are_elsewhere() {
    let Some((device, mut solver)) = solver() else { return };
    let mut memory = DeviceBuffer::<f64>::zeroed(&device, 32).unwrap();
    // The same memory a second time, as other code could pass it.
    // SAFETY: `memory` owns it and lives to the end of the test, and no call uses both.
    let mut again = unsafe { DeviceBuffer::from_raw_parts_with(&device, memory.as_device_ptr(), 32, ()).unwrap() };
    let a = MatrixMut::new(&mut memory, 3, 3).unwrap().lower().unwrap();
    let w = VectorMut::new(again.slice_mut(8..).unwrap(), 3, 1).unwrap();
    refused(solver.syevdx(true, EigenRange::All, a, w), "overlaps");
    let a = MatrixMut::strided_batch(&mut memory, (2, 2, 2), 4, 2).unwrap();
    let s = VectorMut::strided_batch(again.slice_mut(7..).unwrap(), 2, 1, 2, 2).unwrap();
    refused(solver.gesvda_batched(a, s, None), "overlaps");
    let tau = again.slice_mut(5..6).unwrap();
    refused(solver.geqrf(MatrixMut::new(&mut memory, 6, 1).unwrap(), tau), "overlaps");
    if hip::Device::count().unwrap() < 2 {
        return linalg_testing::skipped(&"another device is not available");
    }
    let other = hip::Device::get(1).unwrap();
    assert!(solver.set_stream(&Stream::new(&other).unwrap()).is_err());
    let mut far = DeviceBuffer::<f64>::zeroed(&other, 3).unwrap();
    let a = MatrixMut::new(&mut memory, 3, 3).unwrap().lower().unwrap();
    let error = solver.syevdx(true, EigenRange::All, a, &mut far).unwrap_err();
    let wrong = |error: &Error| matches!(error, Error::Call(CallError::Hip(hip::Error::WrongDevice { .. })));
    assert!(wrong(&error), "{error}");
    let mut pivots = Pivots::new_64(&other, 3, 3).unwrap();
    let error = solver.getrf(MatrixMut::new(&mut memory, 3, 3).unwrap(), &mut pivots).unwrap_err();
    assert!(wrong(&error), "{error}");
}

#[test]
fn empty_matrices_do_nothing() {
    let Some((device, solver)) = solver() else { return };
    let mut empty = MatrixBuffer::<f64>::zeroed(&device, 0, 0).unwrap();
    solver.potrf(empty.view_mut().lower().unwrap()).unwrap().wait().unwrap();
    let mut none = DeviceBuffer::<f64>::zeroed(&device, 0).unwrap();
    let range = EigenRange::Indices(0..0);
    let (found, outcome) = solver.syevdx(true, range, empty.view_mut().lower().unwrap(), &mut none).unwrap();
    outcome.wait().unwrap();
    assert_eq!(found, 0);
}
