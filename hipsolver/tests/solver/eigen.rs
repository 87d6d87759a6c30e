//! Eigenvalues and singular values.

use hip::{Device, DeviceBuffer};
use hipsolver::linalg::VectorMut;
use hipsolver::{EigenProblem, Jacobi, MatrixMut, Solver, Uplo, ops};
use linalg_testing::{Host, Number, Rng};

use crate::{close, download, for_all_types, positive, random, sizes, upload};

fn diagonal(values: &[impl Number], rows: usize, cols: usize) -> Host {
    Host::from_fn(rows, cols, |i, j| if i == j { values[i].wide() } else { 0.0.into() })
}

#[track_caller]
fn ascending(values: &[impl Number]) {
    assert!(values.windows(2).all(|two| two[0].wide().re <= two[1].wide().re), "{values:?}");
}

fn eigenvalues<T: Number + ops::Syevd + ops::Syevj + ops::SyevjBatched>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let (n, lower) = (sizes(rng).0, rng.below(2) == 0);
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let a = random::<T>(rng, n, n);
    let full = a.mirrored(lower, true);
    let mut both = Vec::new();
    for jacobi in [false, true] {
        let mut vectors = upload::<T>(device, &a);
        let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
        let triangle = vectors.view_mut().triangle(uplo).unwrap();
        if jacobi {
            solver.syevj(true, Jacobi::default(), triangle, &mut w)
        } else {
            solver.syevd(true, triangle, &mut w)
        }
        .unwrap()
        .wait()
        .unwrap();
        let (v, w) = (download(&vectors), w.to_vec().unwrap());
        ascending(&w);
        let size = full.max() * n as f64;
        close::<T>("A V = V W", &full.mul(&v), &v.mul(&diagonal(&w, n, n)), size, n);
        close::<T>("V is unitary", &v.h().mul(&v), &Host::identity(n), n as f64, n);
        both.push(Host::of(&w, n, 1, n));
    }
    close::<T>("both methods", &both[0], &both[1], full.max() * n as f64, n);
    // Without vectors.
    let mut copy = upload::<T>(device, &a);
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
    solver.syevd(false, copy.view_mut().triangle(uplo).unwrap(), &mut w).unwrap().wait().unwrap();
    close::<T>("values alone", &Host::of(&w.to_vec().unwrap(), n, 1, n), &both[0], full.max() * n as f64, n);
}

#[test]
fn eigenvalues_and_vectors_solve_the_equation() {
    for_all_types!(2, eigenvalues);
}

fn batched_eigenvalues<T: Number + ops::Syevj + ops::SyevjBatched>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let n = sizes(rng).0;
    let hosts = [random::<T>(rng, n, n), random::<T>(rng, n, n), random::<T>(rng, n, n)];
    let elements: Vec<T> = hosts.iter().flat_map(|host| host.data.iter().map(|&x| T::narrow(x))).collect();
    let mut memory = DeviceBuffer::from_slice(device, &elements).unwrap();
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, 3 * n).unwrap();
    let batch = MatrixMut::strided_batch(&mut memory, (n, n, n), n * n, 3).unwrap().lower().unwrap();
    let values = VectorMut::strided_batch(&mut w, n, 1, n, 3).unwrap();
    solver.syevj(true, Jacobi::default(), batch, values).unwrap().wait().unwrap();
    let (memory, w) = (memory.to_vec().unwrap(), w.to_vec().unwrap());
    for (index, host) in hosts.iter().enumerate() {
        let (v, full) = (Host::of(&memory[index * n * n..], n, n, n), host.mirrored(true, true));
        let values = diagonal(&w[index * n..][..n], n, n);
        close::<T>("A V = V W", &full.mul(&v), &v.mul(&values), full.max() * n as f64, n);
    }
}

#[test]
fn a_batch_of_eigenvalues() {
    for_all_types!(2, batched_eigenvalues);
}

fn generalised<T: Number + ops::Sygvd + ops::Sygvj>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let n = sizes(rng).0;
    let (a, b) = (random::<T>(rng, n, n).mirrored(true, true), positive::<T>(rng, n));
    for jacobi in [false, true] {
        let (mut v, mut factor) = (upload::<T>(device, &a), upload::<T>(device, &b));
        let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
        let (a_view, b_view) = (v.view_mut().lower().unwrap(), factor.view_mut().lower().unwrap());
        let problem = EigenProblem::AxLambdaBx;
        if jacobi {
            solver.sygvj(problem, true, Jacobi::default(), a_view, b_view, &mut w)
        } else {
            solver.sygvd(problem, true, a_view, b_view, &mut w)
        }
        .unwrap()
        .wait()
        .unwrap();
        let (v, w) = (download(&v), w.to_vec().unwrap());
        ascending(&w);
        let size = (a.max() + b.max()) * n as f64;
        close::<T>("A V = B V W", &a.mul(&v), &b.mul(&v).mul(&diagonal(&w, n, n)), size, n);
    }
    // An indefinite B says which minor.
    let (mut v, mut bad) = (upload::<T>(device, &a), upload::<T>(device, &Host::identity(n).scale((-1.0).into())));
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
    let (a_view, b_view) = (v.view_mut().lower().unwrap(), bad.view_mut().lower().unwrap());
    let causes = solver.sygvd(EigenProblem::AxLambdaBx, false, a_view, b_view, &mut w).unwrap().causes().unwrap();
    assert_eq!(causes, [Some(hipsolver::Cause::NotPositiveDefinite { minor: 0 })]);
}

#[test]
fn generalised_eigenvalues_solve_the_equation() {
    for_all_types!(2, generalised);
}

fn singular_values<T: Number + ops::Gesvd + ops::Gesvdj>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let (m, n) = sizes(rng);
    let small = m.min(n);
    let a = random::<T>(rng, m, n);
    let size = a.max() * (m + n) as f64;
    for all in [false, true] {
        let (u_cols, v_rows) = if all { (m, n) } else { (small, small) };
        for jacobi in [false, true] {
            let mut copy = upload::<T>(device, &a);
            let mut s = DeviceBuffer::<T::Real>::zeroed(device, small).unwrap();
            let mut u = upload::<T>(device, &random::<T>(rng, m, u_cols));
            let (rows, cols) = if jacobi { (n, v_rows) } else { (v_rows, n) };
            let mut v = upload::<T>(device, &random::<T>(rng, rows, cols));
            if jacobi {
                solver.gesvdj(Jacobi::default(), &mut copy, &mut s, Some((u.view_mut(), v.view_mut())))
            } else {
                solver.gesvd(&mut copy, &mut s, Some(u.view_mut()), Some(v.view_mut()))
            }
            .unwrap()
            .wait()
            .unwrap();
            let (u, v, s) = (download(&u), download(&v), s.to_vec().unwrap());
            let vh = if jacobi { v.h() } else { v };
            assert!(s.windows(2).all(|two| two[0].wide().re >= two[1].wide().re), "{s:?}");
            let product = u.mul(&diagonal(&s, u_cols, v_rows)).mul(&vh);
            close::<T>("U S Vh", &product, &a, size, m + n);
            close::<T>("U is unitary", &u.h().mul(&u), &Host::identity(u_cols), m as f64, m + n);
            close::<T>("V is unitary", &vh.mul(&vh.h()), &Host::identity(v_rows), n as f64, m + n);
        }
    }
    let mut copy = upload::<T>(device, &a);
    let mut s = DeviceBuffer::<T::Real>::zeroed(device, small).unwrap();
    solver.gesvd(&mut copy, &mut s, None, None).unwrap().wait().unwrap();
    let sum: f64 = s.to_vec().unwrap().iter().map(|s| s.wide().norm_sqr()).sum();
    let of_a: f64 = a.data.iter().map(|x| x.norm_sqr()).sum();
    assert!((sum - of_a).abs() <= 100.0 * (m + n) as f64 * T::EPS * of_a.max(1.0), "{sum} {of_a}");
}

#[test]
fn singular_values_and_vectors_make_the_matrix() {
    for_all_types!(2, singular_values);
}

fn batched_singular_values<T: Number + ops::GesvdjBatched>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let (m, n) = sizes(rng);
    let small = m.min(n);
    let hosts = [random::<T>(rng, m, n), random::<T>(rng, m, n)];
    let elements: Vec<T> = hosts.iter().flat_map(|host| host.data.iter().map(|&x| T::narrow(x))).collect();
    let mut a = DeviceBuffer::from_slice(device, &elements).unwrap();
    let mut s = DeviceBuffer::<T::Real>::zeroed(device, 2 * small).unwrap();
    let mut u = DeviceBuffer::<T>::zeroed(device, 2 * m * m).unwrap();
    let mut v = DeviceBuffer::<T>::zeroed(device, 2 * n * n).unwrap();
    let vectors = (
        MatrixMut::strided_batch(&mut u, (m, m, m), m * m, 2).unwrap(),
        MatrixMut::strided_batch(&mut v, (n, n, n), n * n, 2).unwrap(),
    );
    let batch = MatrixMut::strided_batch(&mut a, (m, n, m), m * n, 2).unwrap();
    let values = VectorMut::strided_batch(&mut s, small, 1, small, 2).unwrap();
    solver.gesvdj_batched(Jacobi::default(), batch, values, Some(vectors)).unwrap().wait().unwrap();
    let (u, v, s) = (u.to_vec().unwrap(), v.to_vec().unwrap(), s.to_vec().unwrap());
    for (index, a) in hosts.iter().enumerate() {
        let (u, v) = (Host::of(&u[index * m * m..], m, m, m), Host::of(&v[index * n * n..], n, n, n));
        let product = u.mul(&diagonal(&s[index * small..][..small], m, n)).mul(&v.h());
        close::<T>("U S Vh", &product, a, a.max() * (m + n) as f64, m + n);
    }
}

#[test]
fn a_batch_of_singular_values() {
    for_all_types!(2, batched_singular_values);
}
