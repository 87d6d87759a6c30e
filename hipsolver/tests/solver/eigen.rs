//! Eigenvalues and singular values.

use hip::{Device, DeviceBuffer};
use hipsolver::linalg::VectorMut;
use hipsolver::{EigenProblem, EigenRange, Jacobi, MatrixMut, Solver, Uplo, ops};
use linalg_testing::{Host, Number, Rng};

use crate::{close, download, for_all_types, lacks, positive, random, sizes, upload};

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

/// A number of the values' type: the middle of two.
fn between<R: Number>(a: R, b: R) -> R {
    R::narrow((a.wide() + b.wide()) / 2.0)
}

/// Some of the eigenvalues: by indices, by values, and all of them, with and without B.
fn parts<T: Number + ops::Syevd + ops::Sygvd + ops::Syevdx + ops::Sygvdx>(
    device: &Device,
    solver: &Solver,
    rng: &mut Rng,
) where
    T::Real: Number + PartialOrd,
{
    let (n, lower) = (rng.one_of(&[1, 3, 5, 8, 13]), rng.below(2) == 0);
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let (a, b) = (random::<T>(rng, n, n).mirrored(lower, true), positive::<T>(rng, n));
    for of_two in [false, true] {
        let call = |vectors: bool, range: Option<EigenRange<T::Real>>| {
            let (mut v, mut factor) = (upload::<T>(device, &a), upload::<T>(device, &b));
            let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
            let (first, second) = (v.view_mut().triangle(uplo).unwrap(), factor.view_mut().triangle(uplo).unwrap());
            let problem = EigenProblem::AxLambdaBx;
            let (found, outcome) = match (range, of_two) {
                (None, false) => (n, solver.syevd(vectors, first, &mut w).unwrap()),
                (None, true) => (n, solver.sygvd(problem, vectors, first, second, &mut w).unwrap()),
                (Some(range), false) => solver.syevdx(vectors, range, first, &mut w).unwrap(),
                (Some(range), true) => solver.sygvdx(problem, vectors, range, first, second, &mut w).unwrap(),
            };
            outcome.wait().unwrap();
            let v = download(&v);
            (Host::from_fn(n, found, |row, col| v.at(row, col)), w.to_vec().unwrap()[..found].to_vec())
        };
        let (_, all) = call(false, None);
        let (start, end) = (n / 3, n - n / 4);
        let mut ranges = vec![(EigenRange::All, 0..n), (EigenRange::Indices(start..end), start..end)];
        if n > 2 {
            let bounds = EigenRange::Between(between(all[0], all[1]), between(all[n - 2], all[n - 1]));
            ranges.push((bounds, 1..n - 1));
        }
        // One that no eigenvalue is in.
        let far = T::Real::narrow((1e4 * n as f64).into());
        ranges.push((EigenRange::Between(far, T::Real::narrow(far.wide() * 2.0)), 0..0));
        for (range, wanted) in ranges {
            let what = format!("{range:?} of {n}, of two {of_two}");
            let scale = (a.max() + b.max()) * n as f64;
            for vectors in [false, true] {
                let (v, w) = call(vectors, Some(range.clone()));
                assert_eq!(w.len(), wanted.len(), "{what}");
                ascending(&w);
                let (got, want) = (Host::of(&w, w.len(), 1, n), Host::of(&all[wanted.clone()], w.len(), 1, n));
                close::<T>(&what, &got, &want, scale, n);
                if !vectors {
                    continue;
                }
                let values = diagonal(&w, w.len(), w.len());
                let right = if of_two { b.mul(&v) } else { v.clone() };
                close::<T>(&what, &a.mul(&v), &right.mul(&values), scale * v.max().max(1.0), n);
                // They are orthogonal, with B between if there are two.
                close::<T>(&what, &v.h().mul(&right), &Host::identity(w.len()), n as f64 * b.max().max(1.0), n * n);
            }
        }
    }
    // An indefinite B says which minor.
    let (mut v, mut bad) = (upload::<T>(device, &a), upload::<T>(device, &Host::identity(n).scale((-1.0).into())));
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
    let (first, second) = (v.view_mut().triangle(uplo).unwrap(), bad.view_mut().triangle(uplo).unwrap());
    let (_, outcome) = solver.sygvdx(EigenProblem::AxLambdaBx, false, EigenRange::All, first, second, &mut w).unwrap();
    assert_eq!(outcome.causes().unwrap(), [Some(hipsolver::Cause::NotPositiveDefinite { minor: 0 })]);
}

#[test]
fn a_part_of_the_eigenvalues() {
    if lacks("hipsolverSsyevdx") {
        return;
    }
    for_all_types!(3, parts);
}

/// Jacobi's method says how it ended.
#[test]
fn jacobi_says_how_many_sweeps_it_took() {
    let Some((device, solver)) = crate::solver() else { return };
    let mut rng = Rng::new(3);
    let a = random::<f64>(&mut rng, 8, 8).mirrored(true, true);
    let run = |host: &Host, jacobi| {
        let mut v = upload::<f64>(&device, host);
        let mut w = DeviceBuffer::<f64>::zeroed(&device, 8).unwrap();
        let outcome = solver.syevj(true, jacobi, v.view_mut().lower().unwrap(), &mut w).unwrap();
        let convergence = outcome.convergence().expect("of one matrix");
        (convergence, outcome.wait())
    };
    let (dense, done) = run(&a, Jacobi::default());
    done.unwrap();
    assert!((2..20).contains(&dense.sweeps), "{dense:?}");
    assert!(dense.residual <= 1e-12 * a.max() * 64.0, "{dense:?}");
    let (none, done) = run(&Host::identity(8), Jacobi::default());
    done.unwrap();
    assert!(none.sweeps < dense.sweeps && none.residual == 0.0, "{none:?}");
    let (early, done) = run(&a, Jacobi { max_sweeps: 1, ..Jacobi::default() });
    // The library may or may not say that it did not converge. The residual does.
    assert!(matches!(done, Ok(()) | Err(hipsolver::Error::Numerical { .. })), "{done:?}");
    assert!(early.sweeps == 1 && early.residual > 1e-3, "{early:?}");
    // Of singular values, likewise; of other methods, nothing.
    let mut copy = upload::<f64>(&device, &a);
    let mut s = DeviceBuffer::<f64>::zeroed(&device, 8).unwrap();
    let outcome = solver.gesvdj(Jacobi::default(), &mut copy, &mut s, None).unwrap();
    let singular = outcome.convergence().expect("of one matrix");
    outcome.wait().unwrap();
    assert!((2..20).contains(&singular.sweeps) && singular.residual < 1e-10, "{singular:?}");
    let outcome = solver.gesvd(&mut copy, &mut s, None, None).unwrap();
    assert_eq!(outcome.convergence(), None);
    outcome.wait().unwrap();
}

/// The largest singular values of each matrix of a batch whose operands have gaps between the members.
fn largest_singular_values<T: Number + ops::Gesvd + ops::GesvdaBatched>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let (m, n) = sizes(rng);
    let (m, n) = (m.max(2), n.max(2));
    let (small, gap, count) = (m.min(n), 3, 3);
    let rank = 1 + rng.below(small);
    // Of full rank, and the values are apart.
    let host = |rng: &mut Rng| {
        let part = random::<T>(rng, m, n).scale(0.25.into());
        Host::from_fn(m, n, |i, j| part.at(i, j) + if i == j { 4.0 * (i + 1) as f64 } else { 0.0 })
    };
    let hosts: Vec<Host> = (0..count).map(|_| host(rng)).collect();
    let filler = T::narrow(7.0.into());
    let apart = |host: &Host| host.data.iter().map(|&x| T::narrow(x)).chain([filler; 3]).collect::<Vec<T>>();
    let elements: Vec<T> = hosts.iter().flat_map(apart).collect();
    for vectors in [false, true] {
        let mut a = DeviceBuffer::from_slice(device, &elements).unwrap();
        let of_gaps = T::Real::narrow(7.0.into());
        let mut s = DeviceBuffer::from_slice(device, &vec![of_gaps; count * (rank + gap)]).unwrap();
        let (ldu, ldv) = (m + 1, n + 2);
        let (of_u, of_v) = (ldu * rank + gap, ldv * rank + gap);
        let mut u = DeviceBuffer::from_slice(device, &vec![filler; count * of_u]).unwrap();
        let mut v = DeviceBuffer::from_slice(device, &vec![filler; count * of_v]).unwrap();
        {
            let u = MatrixMut::strided_batch(&mut u, (m, rank, ldu), of_u, count).unwrap();
            let v = MatrixMut::strided_batch(&mut v, (n, rank, ldv), of_v, count).unwrap();
            let a = MatrixMut::strided_batch(&mut a, (m, n, m), m * n + gap, count).unwrap();
            let s = VectorMut::strided_batch(&mut s, rank, 1, rank + gap, count).unwrap();
            let outcome = solver.gesvda_batched(a, s, vectors.then_some((u, v))).unwrap();
            outcome.wait().unwrap();
        }
        let (u, v, s) = (u.to_vec().unwrap(), v.to_vec().unwrap(), s.to_vec().unwrap());
        for (member, a) in hosts.iter().enumerate() {
            let scale = a.max() * (m + n) as f64;
            let mut copy = upload::<T>(device, a);
            let mut all = DeviceBuffer::<T::Real>::zeroed(device, small).unwrap();
            solver.gesvd(&mut copy, &mut all, None, None).unwrap().wait().unwrap();
            let (got, gaps) = s[member * (rank + gap)..][..rank + gap].split_at(rank);
            let want = Host::of(&all.to_vec().unwrap()[..rank], rank, 1, rank);
            close::<T>("the largest values", &Host::of(got, rank, 1, rank), &want, scale, m + n);
            assert!(gaps.iter().all(|&x| x == of_gaps), "{gaps:?}");
            let (u_member, v_member) = (&u[member * of_u..][..of_u], &v[member * of_v..][..of_v]);
            if !vectors {
                assert!(u_member.iter().chain(v_member).all(|&x| x == filler));
                continue;
            }
            let (u_host, v_host) = (Host::of(u_member, m, rank, ldu), Host::of(v_member, n, rank, ldv));
            let values = diagonal(got, rank, rank);
            close::<T>("A V = U S", &a.mul(&v_host), &u_host.mul(&values), scale, m + n);
            close::<T>("Ah U = V S", &a.h().mul(&u_host), &v_host.mul(&values), scale, m + n);
            close::<T>("U is unitary", &u_host.h().mul(&u_host), &Host::identity(rank), m as f64, (m + n) * n);
            // Nothing but the vectors was written.
            let untouched = |memory: &[T], rows: usize, ld: usize| {
                memory.iter().enumerate().all(|(at, &x)| (at < ld * rank && at % ld < rows) || x == filler)
            };
            assert!(untouched(u_member, m, ldu) && untouched(v_member, n, ldv));
        }
    }
}

/// Values that the library does not find are NaN, not the old memory content.
#[test]
fn singular_values_that_are_not_found() {
    let Some((device, solver)) = crate::solver() else { return };
    let (n, count) = (4, 3);
    let mut a = vec![0.0_f64; n * n * count];
    (0..n).for_each(|i| a[n * n + i * (n + 1)] = 2.0);
    (0..n).for_each(|i| a[2 * n * n + i * (n + 1)] = (i + 1) as f64);
    let mut a = DeviceBuffer::from_slice(&device, &a).unwrap();
    let mut s = DeviceBuffer::from_slice(&device, &vec![7.0_f64; n * count]).unwrap();
    let batch = MatrixMut::strided_batch(&mut a, (n, n, n), n * n, count).unwrap();
    let values = VectorMut::strided_batch(&mut s, n, 1, n, count).unwrap();
    solver.gesvda_batched(batch, values, None).unwrap().wait().unwrap();
    let s = s.to_vec().unwrap();
    let right = |found: f64, want: f64| found.is_nan() || (found - want).abs() < 1e-12;
    assert!(s[..n].iter().all(|&x| right(x, 0.0)) && s[n..2 * n].iter().all(|&x| right(x, 2.0)), "{s:?}");
    assert!(s[2 * n..].iter().zip([4.0, 3.0, 2.0, 1.0]).all(|(x, want)| (x - want).abs() < 1e-12), "{s:?}");
}

#[test]
fn the_largest_singular_values_of_a_batch() {
    for_all_types!(3, largest_singular_values);
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
