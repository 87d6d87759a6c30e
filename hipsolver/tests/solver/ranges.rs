//! Matrices with small and with large elements, and with NaN: eigenvalues and singular values are those of the matrix,
//! or an error.

use hip::DeviceBuffer;
use hipsolver::linalg::VectorMut;
use hipsolver::{Cause, EigenProblem, EigenRange, Error, Jacobi, MatrixBuffer, MatrixMut, ops};
use num_complex::Complex32;

use super::*;

/// The matrix 2, -1 of order n times `scale`, whose eigenvalues are known, in one triangle; NaN is in the other.
fn second_difference<T: Number>(device: &Device, n: usize, scale: f64, lower: bool) -> MatrixBuffer<T> {
    let host = Host::from_fn(n, n, |i, j| {
        let used = if lower { i >= j } else { i <= j };
        let element = match i.abs_diff(j) {
            0 => 2.0 * scale,
            1 => -scale,
            _ => 0.0,
        };
        if used { element } else { f64::NAN }.into()
    });
    upload::<T>(device, &host)
}

fn eigenvalues(n: usize) -> Vec<f64> {
    (1..=n).map(|k| 2.0 - 2.0 * (k as f64 * std::f64::consts::PI / (n as f64 + 1.0)).cos()).collect()
}

#[track_caller]
fn same<R: Copy + Into<f64>>(found: &[R], scale: f64, want: &[f64], epsilon: f64, what: &str) {
    for (&found, want) in found.iter().zip(want) {
        let error = (found.into() / scale - want).abs() / 4.0;
        assert!(error < 40.0 * epsilon, "{what} at {scale:e}: {} for {want}, error {error:e}", found.into() / scale);
    }
}

fn all_methods<T>(device: &Device, solver: &Solver, scales: &[f64], epsilon: f64)
where
    T: Number
        + ops::Syevd
        + ops::Syevj
        + ops::SyevjBatched
        + ops::Gesvd
        + ops::Gesvdj
        + ops::Sygvd
        + hip_linalg::Scalar<Real: Number + Into<f64>>,
{
    for (round, &scale) in scales.iter().enumerate() {
        let (n, lower) = ([3, 2, 16, 5][round % 4], round % 2 == 0);
        let (want, uplo) = (eigenvalues(n), if lower { Uplo::Lower } else { Uplo::Upper });
        let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
        for vectors in [false, true] {
            let mut a = second_difference::<T>(device, n, scale, lower);
            solver.syevd(vectors, a.view_mut().triangle(uplo).unwrap(), &mut w).unwrap().wait().unwrap();
            same(&w.to_vec().unwrap(), scale, &want, epsilon, "syevd");
            if vectors {
                // A V = V diag(w), in the scale of 1.
                let v = download(&a);
                let whole = Host::from_fn(n, n, |i, j| [2.0, -1.0, 0.0][i.abs_diff(j).min(2)].into());
                let of_values = Host::from_fn(n, n, |i, j| if i == j { want[i] } else { 0.0 }.into());
                close::<T>("syevd", &whole.mul(&v), &v.mul(&of_values), 4.0, 4 * n);
            }
            let mut a = second_difference::<T>(device, n, scale, lower);
            let outcome = solver.syevj(vectors, Jacobi::default(), a.view_mut().triangle(uplo).unwrap(), &mut w);
            outcome.unwrap().wait().unwrap();
            same(&w.to_vec().unwrap(), scale, &want, epsilon, "syevj");
        }
        let whole = Host::from_fn(n, n, |i, j| ([2.0, -1.0, 0.0][i.abs_diff(j).min(2)] * scale).into());
        let descending: Vec<f64> = want.iter().rev().copied().collect();
        let mut a = upload::<T>(device, &whole);
        solver.gesvd(&mut a, &mut w, None, None).unwrap().wait().unwrap();
        same(&w.to_vec().unwrap(), scale, &descending, epsilon, "gesvd");
        // B is 4 times the identity, in another range than A: λ is a quarter.
        for (problem, factor) in [(EigenProblem::AxLambdaBx, 0.25), (EigenProblem::AbxLambdaX, 4.0)] {
            let of_b = scale.sqrt();
            let mut a = second_difference::<T>(device, n, scale, lower);
            let mut b = upload::<T>(device, &Host::identity(n).scale((4.0 * of_b).into()));
            let (in_a, in_b) = (a.view_mut().triangle(uplo).unwrap(), b.view_mut().triangle(uplo).unwrap());
            solver.sygvd(problem, true, in_a, in_b, &mut w).unwrap().wait().unwrap();
            let of_values = if factor < 1.0 { scale / of_b } else { scale * of_b };
            let want: Vec<f64> = want.iter().map(|w| w * factor).collect();
            if (1e-37..1e37).contains(&of_values) {
                same(&w.to_vec().unwrap(), of_values, &want, 4.0 * epsilon, "sygvd");
            }
            let diagonal = download(&b).at(0, 0).re / (2.0 * of_b.sqrt());
            assert!((diagonal - 1.0).abs() < 10.0 * epsilon, "the factor of B at {scale:e}: {diagonal}");
            // xᴴ B x = 1.
            let x = download(&a);
            let norm: f64 = (0..n).map(|i| x.at(i, 0).norm_sqr()).sum::<f64>() * 4.0 * of_b;
            assert!((norm - 1.0).abs() < 100.0 * epsilon, "vectors at {scale:e}: {norm}");
        }
    }
}

#[test]
fn eigenvalues_of_small_and_large_matrices_are_right() {
    let Some((device, solver)) = solver() else { return };
    let scales = [3e-6, 1e-30, 1e11, 1e19, 1e35];
    all_methods::<f32>(&device, &solver, &scales, f64::from(f32::EPSILON));
    all_methods::<Complex32>(&device, &solver, &[1e-7, 1e10], f64::from(f32::EPSILON));
    let scales = [1e-290, 1e300, 1e-16, 1.0];
    all_methods::<f64>(&device, &solver, &scales, f64::EPSILON);
}

#[test]
fn ranges_of_eigenvalues_are_those_of_the_matrix() {
    let Some((device, solver)) = solver() else { return };
    if lacks("hipsolverSsyevdx") {
        return;
    }
    let n = 8;
    let all = eigenvalues(n);
    for scale in [1e-18_f64, 1.0, 1e60] {
        let mut w = DeviceBuffer::<f64>::zeroed(&device, n).unwrap();
        let mut a = second_difference::<f64>(&device, n, scale, true);
        let range = EigenRange::Between(1.0 * scale, 3.0 * scale);
        let (found, outcome) = solver.syevdx(true, range, a.view_mut().lower().unwrap(), &mut w).unwrap();
        outcome.wait().unwrap();
        let want: Vec<f64> = all.iter().copied().filter(|w| (1.0..3.0).contains(w)).collect();
        assert_eq!(found, want.len(), "{scale:e}");
        same(&w.to_vec().unwrap()[..found], scale, &want, f64::EPSILON, "syevdx");
    }
}

#[test]
fn elements_that_are_not_finite_are_an_error() {
    let Some((device, solver)) = solver() else { return };
    for bad in [f64::NAN, f64::INFINITY] {
        let matrix = || {
            let host = Host::from_fn(4, 4, |i, j| if (i, j) == (2, 1) { bad } else { 1.0 }.into());
            upload::<f64>(&device, &host)
        };
        let mut w = DeviceBuffer::<f64>::zeroed(&device, 4).unwrap();
        let mut a = matrix();
        let outcome = solver.syevj(false, Jacobi::default(), a.view_mut().lower().unwrap(), &mut w).unwrap();
        let is_told = |error: Error| match error {
            Error::Numerical { cause, .. } => matches!(cause, Cause::NotFinite | Cause::NotConverged { .. }),
            _ => false,
        };
        assert!(is_told(outcome.wait().unwrap_err()));
        let mut a = matrix();
        assert!(is_told(solver.syevd(false, a.view_mut().lower().unwrap(), &mut w).unwrap().wait().unwrap_err()));
        let mut a = matrix();
        assert!(is_told(solver.gesvdj(Jacobi::default(), &mut a, &mut w, None).unwrap().wait().unwrap_err()));
    }
}

fn fits_of<T: Number + ops::Gels + ops::Geqrf>(device: &Device, solver: &Solver, scales: &[f64], limits: &[f64]) {
    let (m, n) = (7, 3);
    let mut rng = linalg_testing::Rng::new(5);
    let a = random::<T>(&mut rng, m, n);
    let a = Host::from_fn(m, n, |i, j| a.at(i, j) + if i == j { 6.0 } else { 0.0 });
    let b = random::<T>(&mut rng, m, 2);
    for &scale in scales {
        // X is about 1 over the scale, if that is in range; otherwise B is as small as A.
        for of_b in [1.0, scale] {
            if !(1e-30..1e30).contains(&(of_b / scale)) && T::EPS > 1e-10 {
                continue;
            }
            let mut a_dev = upload::<T>(device, &a.scale(scale.into()));
            let mut b_dev = upload::<T>(device, &b.scale(of_b.into()));
            let mut x = upload::<T>(device, &Host::from_fn(n, 2, |_, _| 7.0.into()));
            solver.gels(&mut a_dev, &mut b_dev, &mut x).unwrap().wait().unwrap();
            let x = download(&x).scale((scale / of_b).into());
            let rest = b.add(&a.mul(&x).scale((-1.0).into()));
            let zero = Host::from_fn(n, 2, |_, _| 0.0.into());
            close::<T>("gels", &a.h().mul(&rest), &zero, 8.0 * a.max() * (1.0 + a.max() * x.max()), 4 * m * n);
        }
    }
    // The range that the documentation promises without scaling.
    for &limit in limits {
        let scale = limit / a.max();
        let mut factor = upload::<T>(device, &a.scale(scale.into()));
        let mut tau = DeviceBuffer::<T>::zeroed(device, n).unwrap();
        solver.geqrf(&mut factor, &mut tau).unwrap().wait().unwrap();
        let factor = download(&factor);
        let r = Host::from_fn(n, n, |i, j| if i <= j { factor.at(i, j) / scale } else { 0.0.into() });
        close::<T>("geqrf", &r.h().mul(&r), &a.h().mul(&a), 4.0 * a.max() * a.max(), 4 * m);
    }
}

#[test]
fn least_squares_of_small_and_large_matrices_are_right() {
    let Some((device, solver)) = solver() else { return };
    let (scales, limits) = ([1e-30, 1e-20, 1.0, 1e19, 1e30], [1e-18, 1e18]);
    fits_of::<f32>(&device, &solver, &scales, &limits);
    fits_of::<Complex32>(&device, &solver, &scales, &limits);
    fits_of::<f64>(&device, &solver, &[1e-200, 1e-100, 1e200], &[1e-150, 1e150]);
    let mut a = upload::<f64>(&device, &Host::from_fn(3, 2, |i, _| if i == 1 { f64::NAN } else { 1.0 }.into()));
    let mut b = upload::<f64>(&device, &Host::identity(3));
    let mut x = upload::<f64>(&device, &Host::from_fn(2, 3, |_, _| 0.0.into()));
    let outcome = solver.gels(&mut a, &mut b, &mut x).unwrap().causes().unwrap();
    assert_eq!(outcome, [Some(Cause::NotFinite)]);
}

/// Batches of all sizes, whose members have scales of their own; one of them has a NaN.
#[test]
fn members_of_batches_are_scaled_apart() {
    let Some((device, solver)) = solver() else { return };
    for count in [1_usize, 15, 16, 17, 300] {
        let scales: Vec<f64> = (0..count).map(|i| 10.0_f64.powi((i as i32 * 37) % 500 - 250)).collect();
        let bad = (count > 1).then_some(count / 2);
        // [[2, -1], [-1, 2]]: 1 and 3.
        let elements: Vec<f64> = scales.iter().flat_map(|s| [2.0 * s, -s, -s, 2.0 * s]).collect();
        let elements: Vec<f64> = elements
            .into_iter()
            .enumerate()
            .map(|(at, x)| if bad == Some(at / 4) && at % 4 == 0 { f64::NAN } else { x })
            .collect();
        let memory = || DeviceBuffer::from_slice(&device, &elements).unwrap();
        let mut w = DeviceBuffer::<f64>::zeroed(&device, 2 * count).unwrap();
        let check = |what: &str, causes: Vec<Option<Cause>>, w: Vec<f64>, want: [f64; 2]| {
            assert_eq!(causes.len(), count);
            for (member, (cause, w)) in causes.iter().zip(w.chunks(2)).enumerate() {
                if bad == Some(member) {
                    assert_eq!(*cause, Some(Cause::NotFinite), "{what}, member {member} of {count}");
                    continue;
                }
                assert_eq!(*cause, None, "{what}, member {member} of {count}");
                same(w, scales[member], &want, f64::EPSILON, what);
            }
        };
        for (jacobi, what) in [(true, "syevj"), (false, "gesvdj")] {
            let mut a = memory();
            let a = MatrixMut::strided_batch(&mut a, (2, 2, 2), 4, count).unwrap();
            let values = VectorMut::strided_batch(&mut w, 2, 1, 2, count).unwrap();
            let outcome = if jacobi {
                solver.syevj(true, Jacobi::default(), a.lower().unwrap(), values)
            } else {
                solver.gesvdj_batched(Jacobi::default(), a, values, None)
            };
            let causes = outcome.unwrap().causes().unwrap();
            check(what, causes, w.to_vec().unwrap(), if jacobi { [1.0, 3.0] } else { [3.0, 1.0] });
        }
    }
}

/// Down to the smallest numbers that there are, and up to those whose eigenvalues are the largest.
#[test]
fn limits_of_the_range_have_eigenvalues() {
    let Some((device, solver)) = solver() else { return };
    fn of<T>(device: &Device, solver: &Solver, scales: &[f64], epsilon: impl Fn(f64) -> f64)
    where
        T: Number + ops::Syevd + hipsolver::linalg::Scalar<Real = T>,
    {
        let n = 3;
        let want = eigenvalues(n);
        for &scale in scales {
            let mut w = DeviceBuffer::<T>::zeroed(device, n).unwrap();
            let mut a = second_difference::<T>(device, n, scale, true);
            solver.syevd(true, a.view_mut().lower().unwrap(), &mut w).unwrap().wait().unwrap();
            let found: Vec<f64> = w.to_vec().unwrap().iter().map(|x| x.wide().re).collect();
            same(&found, scale, &want, epsilon(scale), "syevd");
            let v = download(&a);
            assert!((v.h().mul(&v).at(0, 0).re - 1.0).abs() < 1e-5, "vectors at {scale:e}");
        }
    }
    of::<f32>(&device, &solver, &[1e-42, 1e-38, 9e37], |scale| f64::from(f32::EPSILON).max(1e-45 / scale));
    of::<f64>(&device, &solver, &[1e-315, 1e-307, 5e307], |scale| f64::EPSILON.max(5e-324 / scale));
}
