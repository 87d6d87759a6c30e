//! Factorisations and solves.

use hip::{Device, DeviceBuffer};
use hipsolver::{
    Cause, Error, MatrixMut, MatrixRef, PivotIndex, Pivots, Pointers, PointersMut, Side, Solver, TriangleMut,
    TriangleRef, Uplo, ops,
};
use linalg_testing::{Host, Number, Rng};
use num_complex::{Complex32, Complex64};

use crate::{close, download, for_all_types, lacks, positive, random, sizes, solver, upload};

fn cholesky<T>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T: Number + ops::Potrf + ops::PotrfBatched + ops::Potrs + ops::PotrsBatched + ops::Potri,
{
    let ((n, nrhs), lower) = (sizes(rng), rng.below(2) == 0);
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let (a, b) = (positive::<T>(rng, n), random::<T>(rng, n, nrhs));
    let (mut factor, mut x) = (upload::<T>(device, &a), upload::<T>(device, &b));
    let a = download(&factor);
    solver.potrf(factor.view_mut().triangle(uplo).unwrap()).unwrap().wait().unwrap();
    let l = download(&factor).triangle(lower, false);
    let product = if lower { l.mul(&l.h()) } else { l.h().mul(&l) };
    close::<T>("potrf", &product, &a, a.max(), n);
    let triangle: TriangleRef<'_, T> = factor.view().triangle(uplo).unwrap();
    solver.potrs(triangle, &mut x).unwrap().wait().unwrap();
    let x = download(&x);
    close::<T>("potrs", &a.mul(&x), &b, a.max() * x.max() * n as f64, n);
    solver.potri(factor.view_mut().triangle(uplo).unwrap()).unwrap().wait().unwrap();
    let inverse = download(&factor).mirrored(lower, true);
    // The condition is below the trace over n, which was added to the diagonal.
    close::<T>("potri", &a.mul(&inverse), &Host::identity(n), a.max() * inverse.max() * (n * n) as f64, n);
}

#[test]
fn cholesky_factorises_solves_and_inverts() {
    for_all_types!(4, cholesky);
}

fn cholesky_of_a_batch<T>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T: Number + ops::Potrf + ops::PotrfBatched + ops::Potrs + ops::PotrsBatched,
{
    let n = sizes(rng).0;
    let mut hosts = [positive::<T>(rng, n), positive::<T>(rng, n), positive::<T>(rng, n)];
    // The last row makes the second one indefinite.
    let last = n * n - 1;
    hosts[1].data[last] = (-1.0).into();
    let elements: Vec<T> = hosts.iter().flat_map(|host| host.data.iter().map(|&x| T::narrow(x))).collect();
    let mut memory = DeviceBuffer::from_slice(device, &elements).unwrap();
    {
        let parts: Vec<_> = memory.as_slice_mut().chunks_exact_mut(n * n).unwrap().collect();
        let mut pointers = PointersMut::new(device, parts).unwrap();
        let batch: TriangleMut<'_, T> = MatrixMut::batch(&mut pointers, (n, n, n)).unwrap().lower().unwrap();
        let causes = solver.potrf(batch).unwrap().causes().unwrap();
        assert_eq!(causes, [None, Some(Cause::NotPositiveDefinite { minor: n - 1 }), None]);
    }
    let found = memory.to_vec().unwrap();
    for member in [0, 2] {
        let l = Host::of(&found[member * n * n..], n, n, n).triangle(true, false);
        close::<T>("potrf of a batch", &l.mul(&l.h()), &hosts[member], hosts[member].max(), n);
    }
}

#[test]
fn a_batch_of_cholesky_factorisations_says_which_matrix_is_not_positive_definite() {
    for_all_types!(2, cholesky_of_a_batch);
}

/// The matrix whose rows were exchanged.
fn exchanged<I: Copy + TryInto<usize, Error: std::fmt::Debug>>(a: &Host, pivots: &[I]) -> Host {
    let mut rows: Vec<usize> = (0..a.rows).collect();
    for (row, &pivot) in pivots.iter().enumerate() {
        rows.swap(row, pivot.try_into().unwrap() - 1);
    }
    Host::from_fn(a.rows, a.cols, |row, col| a.at(rows[row], col))
}

fn lu<T: Number + ops::Getrf + ops::Getrs>(device: &Device, solver: &Solver, rng: &mut Rng) {
    lu_with::<T, i32>(device, solver, rng, |rows, cols| Pivots::new(device, rows, cols).unwrap());
}

fn lu_64<T: Number + ops::Getrf + ops::Getrs>(device: &Device, solver: &Solver, rng: &mut Rng) {
    lu_with::<T, i64>(device, solver, rng, |rows, cols| Pivots::new_64(device, rows, cols).unwrap());
}

fn lu_with<T, I>(device: &Device, solver: &Solver, rng: &mut Rng, new: impl Fn(usize, usize) -> Pivots<I>)
where
    T: Number + ops::Getrf + ops::Getrs,
    I: PivotIndex + TryInto<usize, Error: std::fmt::Debug>,
{
    let (m, n) = sizes(rng);
    let a = random::<T>(rng, m, n);
    let mut factors = upload::<T>(device, &a);
    let mut pivots = new(m, n);
    // Random matrices may be singular: the factors are still correct.
    let _ = solver.getrf(&mut factors, &mut pivots).unwrap().causes().unwrap();
    let (found, small) = (download(&factors), m.min(n));
    let l = Host::from_fn(m, small, |i, j| {
        if i == j {
            1.0.into()
        } else if i > j {
            found.at(i, j)
        } else {
            0.0.into()
        }
    });
    let u = Host::from_fn(small, n, |i, j| if i <= j { found.at(i, j) } else { 0.0.into() });
    let numbers = pivots.as_slice().to_vec().unwrap();
    let size = l.abs().mul(&u.abs()).max();
    close::<T>("getrf", &l.mul(&u), &exchanged(&a, &numbers), size, small);

    let a = random::<T>(rng, n, n).add(&Host::identity(n).scale((2.0 * n as f64).into()));
    let b = random::<T>(rng, n, 2);
    let mut factors = upload::<T>(device, &a);
    let mut pivots = new(n, n);
    solver.getrf(&mut factors, &mut pivots).unwrap().wait().unwrap();
    for letter in ['N', 'T', 'C'] {
        let mut x = upload::<T>(device, &b);
        let (view, of) = match letter {
            'N' => (factors.view(), a.clone()),
            'T' => (factors.t(), a.t()),
            _ => (factors.h(), a.h()),
        };
        solver.getrs(view, &pivots, &mut x).unwrap().wait().unwrap();
        let x = download(&x);
        close::<T>("getrs", &of.mul(&x), &b, a.max() * x.max() * n as f64, n);
    }
}

#[test]
fn lu_factorises_and_solves() {
    for_all_types!(4, lu);
}

#[test]
fn lu_with_64_bits_factorises_and_solves() {
    if lacks("hipsolverDnXgetrf") {
        return;
    }
    for_all_types!(3, lu_64);
}

/// The functions with 64-bit sizes, on matrices that need none.
#[test]
fn factorisations_with_64_bits() {
    if lacks("hipsolverDnXpotrf") {
        return;
    }
    let Some((device, mut solver)) = solver() else { return };
    solver.always_wide(true);
    for seed in 0..3 {
        let mut rng = Rng::new(seed + 1);
        cholesky::<f32>(&device, &solver, &mut rng);
        cholesky::<f64>(&device, &solver, &mut rng);
        cholesky::<Complex32>(&device, &solver, &mut rng);
        cholesky::<Complex64>(&device, &solver, &mut rng);
        qr::<f32>(&device, &solver, &mut rng);
        qr::<f64>(&device, &solver, &mut rng);
        qr::<Complex32>(&device, &solver, &mut rng);
        qr::<Complex64>(&device, &solver, &mut rng);
    }
    let mut b = upload::<f64>(&device, &Host::of(&[1.0, 2.0, 2.0, 1.0], 2, 2, 2));
    let error = solver.potrf(b.view_mut().lower().unwrap()).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("minor of order 2"), "{error}");
}

/// A leading dimension that does not fit into 32 bits: by the functions that take it, or an error.
#[test]
fn leading_dimensions_of_more_than_32_bits() {
    let Some((device, solver)) = solver() else { return };
    let far = (1 << 32) + 2;
    let mut memory = DeviceBuffer::from_slice(&device, &[4.0_f64, 3.0, 0.0]).unwrap();
    let mut column = |rows: usize, call: &mut dyn FnMut(MatrixMut<'_, f64>)| {
        memory.copy_from_slice(&[4.0, 3.0, 0.0]).unwrap();
        call(MatrixMut::with_ld(&mut memory, rows, 1, far).unwrap());
        memory.to_vec().unwrap()
    };
    if !lacks("hipsolverDnXpotrf") {
        let found = column(1, &mut |a| solver.potrf(a.lower().unwrap()).unwrap().wait().unwrap());
        assert_eq!(found, [2.0, 3.0, 0.0]);
        let mut tau = DeviceBuffer::<f64>::zeroed(&device, 1).unwrap();
        let found = column(2, &mut |a| solver.geqrf(a, &mut tau).unwrap().wait().unwrap());
        assert!((found[0].abs() - 5.0).abs() < 1e-14 && found[2] == 0.0, "{found:?}");
        let mut pivots = Pivots::new_64(&device, 2, 1).unwrap();
        let found = column(2, &mut |a| solver.getrf(a, &mut pivots).unwrap().wait().unwrap());
        assert_eq!(found, [4.0, 0.75, 0.0]);
    }
    let refused = |result: hipsolver::Result<hipsolver::Outcome<'_>>| {
        let error = result.unwrap_err();
        assert!(error.to_string().contains("2^31"), "{error}");
    };
    let mut pivots = Pivots::new(&device, 2, 1).unwrap();
    column(2, &mut |a| refused(solver.getrf(a, &mut pivots)));
    column(1, &mut |a| refused(solver.potri(a.lower().unwrap())));
    let mut w = DeviceBuffer::<f64>::zeroed(&device, 1).unwrap();
    let found = column(1, &mut |a| refused(solver.syevd(true, a.lower().unwrap(), &mut w)));
    assert_eq!(found, [4.0, 3.0, 0.0]);
}

#[test]
fn results_can_be_deterministic() {
    let Some((device, mut solver)) = solver() else { return };
    if lacks("hipsolverSetDeterministicMode") {
        let error = solver.set_deterministic(true).unwrap_err().to_string();
        assert!(error.contains("hipsolverSetDeterministicMode") && error.contains("6.3"), "{error}");
        return;
    }
    for yes in [true, false] {
        solver.set_deterministic(yes).unwrap();
        assert_eq!(solver.is_deterministic().unwrap(), yes);
        qr::<f32>(&device, &solver, &mut Rng::new(7));
    }
}

#[test]
fn a_singular_matrix_is_an_error_that_names_the_pivot() {
    let Some((device, solver)) = solver() else { return };
    let mut a = upload::<f64>(&device, &Host::of(&[1.0, 2.0, 4.0, 2.0, 4.0, 8.0, 0.0, 0.0, 1.0], 3, 3, 3));
    let mut pivots = Pivots::new(&device, 3, 3).unwrap();
    let error = solver.getrf(&mut a, &mut pivots).unwrap().wait().unwrap_err();
    let Error::Numerical { routine, cause, .. } = &error else { panic!("{error}") };
    assert_eq!((*routine, cause), ("getrf", &Cause::Singular { pivot: 1 }), "{error}");
    assert!(error.to_string().contains("singular"), "{error}");
    let mut b = upload::<f64>(&device, &Host::of(&[1.0, 2.0, 2.0, 1.0], 2, 2, 2));
    let error = solver.potrf(b.view_mut().lower().unwrap()).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("minor of order 2"), "{error}");
}

fn qr<T: Number + ops::Geqrf + ops::Orgqr + ops::Ormqr>(device: &Device, solver: &Solver, rng: &mut Rng) {
    let (m, n) = sizes(rng);
    let (m, n) = (m.max(n), m.min(n));
    let a = random::<T>(rng, m, n);
    let mut factors = upload::<T>(device, &a);
    let mut tau = DeviceBuffer::<T>::zeroed(device, n).unwrap();
    solver.geqrf(&mut factors, &mut tau).unwrap().wait().unwrap();
    let r = {
        let found = download(&factors);
        Host::from_fn(n, n, |i, j| if i <= j { found.at(i, j) } else { 0.0.into() })
    };
    // Qᴴ A = R, by the reflections.
    let mut c = upload::<T>(device, &a);
    solver.ormqr(Side::Left, factors.h(), &tau, &mut c).unwrap().wait().unwrap();
    let want = Host::from_fn(m, n, |i, j| if i < n { r.at(i, j) } else { 0.0.into() });
    close::<T>("ormqr", &download(&c), &want, a.max() * m as f64, m);
    solver.orgqr(&mut factors, &tau).unwrap().wait().unwrap();
    let q = download(&factors);
    close::<T>("geqrf", &q.mul(&r), &a, a.max() * m as f64, m);
    close::<T>("orgqr", &q.h().mul(&q), &Host::identity(n), m as f64, m);
}

#[test]
fn qr_factorises() {
    for_all_types!(4, qr);
}

fn least_squares<T: Number + ops::Gels>(device: &Device, solver: &Solver, rng: &mut Rng) {
    let (m, n) = sizes(rng);
    let (m, n) = (m.max(n), m.min(n));
    let a = random::<T>(rng, m, n);
    // Its columns are far from dependent.
    let a = Host::from_fn(m, n, |i, j| a.at(i, j) + if i == j { 2.0 * n as f64 } else { 0.0 });
    let b = random::<T>(rng, m, 2);
    let (mut a_dev, mut b_dev) = (upload::<T>(device, &a), upload::<T>(device, &b));
    let mut x = upload::<T>(device, &random::<T>(rng, n, 2));
    solver.gels(&mut a_dev, &mut b_dev, &mut x).unwrap().wait().unwrap();
    // The residual is orthogonal to the columns.
    let rest = b.add(&a.mul(&download(&x)).scale((-1.0).into()));
    let zero = Host::from_fn(n, 2, |_, _| 0.0.into());
    close::<T>("gels", &a.h().mul(&rest), &zero, a.max() * a.max() * (m * n) as f64, m);
}

#[test]
fn least_squares_leaves_what_is_orthogonal() {
    for_all_types!(3, least_squares);
}

/// The library clears one number per member, and small batches have fewer members than there is room for.
#[test]
fn batches_of_every_size_are_factorised_and_solved() {
    let Some((device, solver)) = solver() else { return };
    let n = 2;
    for count in [1, 15, 16, 17, 300] {
        let buffers = |numbers: &[f64]| -> Vec<_> {
            (0..count).map(|_| DeviceBuffer::from_slice(&device, numbers).unwrap()).collect()
        };
        let (mut factors, mut solutions) = (buffers(&[4.0, 1.0, 1.0, 3.0]), buffers(&[5.0, 4.0]));
        {
            let mut pointers = PointersMut::new(&device, factors.iter_mut()).unwrap();
            let batch: TriangleMut<'_, f64> = MatrixMut::batch(&mut pointers, (n, n, n)).unwrap().lower().unwrap();
            assert_eq!(solver.potrf(batch).unwrap().causes().unwrap(), vec![None; count]);
        }
        {
            let factors = Pointers::new(&device, factors.iter()).unwrap();
            let mut solutions = PointersMut::new(&device, solutions.iter_mut()).unwrap();
            let triangle: TriangleRef<'_, f64> = MatrixRef::batch(&factors, (n, n, n)).unwrap().lower().unwrap();
            let solutions = MatrixMut::batch(&mut solutions, (n, 1, n)).unwrap();
            solver.potrs(triangle, solutions).unwrap().wait().unwrap();
        }
        for found in solutions.iter().map(|x| x.to_vec().unwrap()) {
            assert!(found.iter().all(|x| (x - 1.0).abs() < 1e-12), "{count} members: {found:?}");
        }
    }
}

/// No result depends on the workspace content that other calls have left.
#[test]
fn inverses_do_not_depend_on_the_workspace() {
    let Some((device, solver)) = solver() else { return };
    let mut rng = Rng::new(17);
    for n in [3, 17, 48] {
        let a = positive::<f64>(&mut rng, n);
        let inverse = |solver: &Solver| {
            let mut factor = upload::<f64>(&device, &a);
            solver.potrf(factor.view_mut().lower().unwrap()).unwrap().wait().unwrap();
            solver.potri(factor.view_mut().lower().unwrap()).unwrap().wait().unwrap();
            let bits = |x: f64| x.to_bits();
            factor.to_vec().unwrap().into_iter().map(bits).collect::<Vec<u64>>()
        };
        let fresh = inverse(&Solver::new(solver.stream()).unwrap());
        solver.fill_workspace(1 << 20, 0xff).unwrap();
        assert!(inverse(&solver) == fresh, "order {n}");
    }
}
