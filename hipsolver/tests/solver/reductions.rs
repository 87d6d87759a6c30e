//! Reductions, indefinite matrices, whole solves.

use hip::{Device, DeviceBuffer};
use hipsolver::{Factor, Pivots, Side, Solver, Uplo, ops};
use linalg_testing::{Host, Number, Rng};

use crate::{close, download, for_all_types, random, sizes, solver, upload};

fn solve<T: Number + ops::Gesv>(device: &Device, solver: &Solver, rng: &mut Rng) {
    let (n, nrhs) = sizes(rng);
    let a = random::<T>(rng, n, n).add(&Host::identity(n).scale((2.0 * n as f64).into()));
    let b = random::<T>(rng, n, nrhs);
    let (mut a_dev, mut b_dev) = (upload::<T>(device, &a), upload::<T>(device, &b));
    let mut x = upload::<T>(device, &b);
    let mut pivots = Pivots::new(device, n, n).unwrap();
    solver.gesv(&mut a_dev, &mut pivots, &mut b_dev, &mut x).unwrap().wait().unwrap();
    let x = download(&x);
    close::<T>("gesv", &a.mul(&x), &b, a.max() * x.max() * n as f64, n);
}

#[test]
fn whole_solves() {
    for_all_types!(3, solve);
}

fn tridiagonal<T: Number + ops::Sytrd + ops::Orgtr + ops::Ormtr>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let (n, lower) = (rng.one_of(&[2, 3, 8, 13]), rng.below(2) == 0);
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let a = random::<T>(rng, n, n);
    let full = a.mirrored(lower, true);
    let mut reduced = upload::<T>(device, &a);
    let real = |len| DeviceBuffer::<T::Real>::zeroed(device, len).unwrap();
    let (mut d, mut e, mut tau) = (real(n), real(n - 1), DeviceBuffer::<T>::zeroed(device, n - 1).unwrap());
    solver.sytrd(reduced.view_mut().triangle(uplo).unwrap(), &mut d, &mut e, &mut tau).unwrap().wait().unwrap();
    let (d, e) = (d.to_vec().unwrap(), e.to_vec().unwrap());
    let t = Host::from_fn(n, n, |i, j| match i.abs_diff(j) {
        0 => d[i].wide(),
        1 => e[i.min(j)].wide(),
        _ => 0.0.into(),
    });
    // Qᴴ A Q = T, by the reflections: Qᴴ from the left, then Q from the right.
    let mut c = upload::<T>(device, &full);
    let factor = || reduced.view().triangle(uplo).unwrap();
    solver.ormtr(Side::Left, true, factor(), &tau, &mut c).unwrap().wait().unwrap();
    solver.ormtr(Side::Right, false, factor(), &tau, &mut c).unwrap().wait().unwrap();
    let size = full.max() * n as f64;
    close::<T>("ormtr", &download(&c), &t, size, 2 * n);
    solver.orgtr(reduced.view_mut().triangle(uplo).unwrap(), &tau).unwrap().wait().unwrap();
    let q = download(&reduced);
    close::<T>("orgtr", &q.h().mul(&q), &Host::identity(n), n as f64, n);
    close::<T>("sytrd", &q.mul(&t).mul(&q.h()), &full, size, 2 * n);
}

#[test]
fn reductions_to_tridiagonal_form() {
    for_all_types!(3, tridiagonal);
}

fn bidiagonal<T: Number + ops::Gebrd + ops::Orgbr>(device: &Device, solver: &Solver, rng: &mut Rng)
where
    T::Real: Number,
{
    let n = rng.one_of(&[2, 3, 8]);
    let a = random::<T>(rng, n, n);
    let mut reduced = upload::<T>(device, &a);
    let real = |len| DeviceBuffer::<T::Real>::zeroed(device, len).unwrap();
    let tau = || DeviceBuffer::<T>::zeroed(device, n).unwrap();
    let (mut d, mut e, mut tauq, mut taup) = (real(n), real(n - 1), tau(), tau());
    solver.gebrd(&mut reduced, &mut d, &mut e, &mut tauq, &mut taup).unwrap().wait().unwrap();
    let (d, e) = (d.to_vec().unwrap(), e.to_vec().unwrap());
    let b = Host::from_fn(n, n, |i, j| match (i, j) {
        _ if i == j => d[i].wide(),
        _ if i + 1 == j => e[i].wide(),
        _ => 0.0.into(),
    });
    let mut p = upload::<T>(device, &download(&reduced));
    solver.orgbr(Factor::Q, &mut reduced, &tauq).unwrap().wait().unwrap();
    solver.orgbr(Factor::PHermitian, &mut p, &taup).unwrap().wait().unwrap();
    let (q, p) = (download(&reduced), download(&p));
    close::<T>("Q", &q.h().mul(&q), &Host::identity(n), n as f64, n);
    close::<T>("P", &p.mul(&p.h()), &Host::identity(n), n as f64, n);
    close::<T>("gebrd", &q.mul(&b).mul(&p), &a, a.max() * n as f64, 2 * n);
}

#[test]
fn reductions_to_bidiagonal_form() {
    for_all_types!(3, bidiagonal);
}

fn indefinite<T: Number + ops::Sytrf>(device: &Device, solver: &Solver, rng: &mut Rng) {
    let n = sizes(rng).0;
    // Large on the diagonal, of both signs: no rows are exchanged.
    let a = random::<T>(rng, n, n);
    let sign = |i: usize| if i % 2 == 0 { 1.0 } else { -1.0 };
    let a = Host::from_fn(n, n, |i, j| a.at(i, j) + if i == j { sign(i) * 4.0 * n as f64 } else { 0.0 });
    let mut factor = upload::<T>(device, &a);
    let mut pivots = DeviceBuffer::<i32>::zeroed(device, n).unwrap();
    solver.sytrf(factor.view_mut().lower().unwrap(), &mut pivots).unwrap().wait().unwrap();
    assert_eq!(pivots.to_vec().unwrap(), (1..=n as i32).collect::<Vec<_>>());
    let found = download(&factor);
    let (l, d) =
        (found.triangle(true, true), Host::from_fn(n, n, |i, j| if i == j { found.at(i, j) } else { 0.0.into() }));
    close::<T>("sytrf", &l.mul(&d).mul(&l.t()), &a.mirrored(true, false), a.max() * n as f64, n);
}

#[test]
fn indefinite_matrices() {
    for_all_types!(3, indefinite);
    let Some((device, solver)) = solver() else { return };
    // A block of 2 x 2, which the pivots mark with their sign.
    let mut a = upload::<f64>(&device, &Host::of(&[0.0, 1.0, 1.0, 0.0], 2, 2, 2));
    let mut pivots = DeviceBuffer::<i32>::zeroed(&device, 2).unwrap();
    solver.sytrf(a.view_mut().lower().unwrap(), &mut pivots).unwrap().wait().unwrap();
    assert!(pivots.to_vec().unwrap().iter().all(|&pivot| pivot < 0));
}
