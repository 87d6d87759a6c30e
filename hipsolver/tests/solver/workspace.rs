//! No result depends on the workspace content that other calls have left: every routine returns the same bits for every
//! content.

use hip::{Device, DeviceBuffer};
use hipsolver::linalg::{Scalar, VectorMut};
use hipsolver::{
    Cause, EigenProblem, EigenRange, Factor, Jacobi, MatrixBuffer, MatrixMut, Pivots, Pointers, PointersMut, Side,
    Solver, TriangleMut, TriangleRef, Uplo, ops,
};
use linalg_testing::{Host, Number, Rng};
use num_complex::{Complex32, Complex64};

use crate::{lacks, positive, random, solver, upload};

/// More than any routine needs here.
const BYTES: usize = 1 << 20;

/// Numbers that all routines are for.
trait All:
    Number
    + Scalar<Real: Number + PartialOrd>
    + ops::Potrf
    + ops::PotrfBatched
    + ops::Potrs
    + ops::PotrsBatched
    + ops::Potri
    + ops::Getrf
    + ops::Getrs
    + ops::Geqrf
    + ops::Orgqr
    + ops::Ormqr
    + ops::Gels
    + ops::Gesv
    + ops::Syevd
    + ops::Syevdx
    + ops::Syevj
    + ops::SyevjBatched
    + ops::Sygvd
    + ops::Sygvdx
    + ops::Sygvj
    + ops::Gesvd
    + ops::Gesvdj
    + ops::GesvdjBatched
    + ops::GesvdaBatched
    + ops::Sytrd
    + ops::Orgtr
    + ops::Ormtr
    + ops::Gebrd
    + ops::Orgbr
    + ops::Sytrf
{
}

impl All for f32 {}
impl All for f64 {}
impl All for Complex32 {}
impl All for Complex64 {}

/// The result of a routine: its name, the outcome of each member, and the bits of its results.
type Found = (&'static str, Vec<Option<Cause>>, Vec<Vec<u8>>);

/// Calls a routine with a workspace whose bytes are all equal.
macro_rules! step {
    ($found:ident, $solver:ident, $byte:ident, $name:literal, $outcome:expr, $($result:expr),+) => {
        $solver.fill_workspace(BYTES, $byte).unwrap();
        let causes = $outcome.unwrap().causes().unwrap();
        let results = vec![$(hip::bytemuck::cast_slice(&$result.to_vec().unwrap()).to_vec()),+];
        $found.push(($name, causes, results));
    };
}

/// Factorizations, and operations on their results.
fn factors<T: All>(device: &Device, solver: &Solver, n: usize, uplo: Uplo, byte: u8) -> Vec<Found> {
    let (mut found, rng) = (Vec::new(), &mut Rng::new(n as u64));
    let (definite, b) = (positive::<T>(rng, n), random::<T>(rng, n, 3));
    let any = random::<T>(rng, n, n).add(&Host::identity(n).scale((2.0 * n as f64).into()));
    let (mut a, mut x) = (upload::<T>(device, &definite), upload::<T>(device, &b));
    step!(found, solver, byte, "potrf", solver.potrf(a.view_mut().triangle(uplo).unwrap()), a);
    step!(found, solver, byte, "potrs", solver.potrs::<T>(a.view().triangle(uplo).unwrap(), &mut x), x);
    step!(found, solver, byte, "potri", solver.potri(a.view_mut().triangle(uplo).unwrap()), a);
    let mut batch: Vec<_> =
        (0..17).map(|_| DeviceBuffer::<T>::from_slice(device, &narrow(&definite)).unwrap()).collect();
    let mut sides: Vec<_> = (0..17).map(|_| DeviceBuffer::<T>::from_slice(device, &narrow(&b)).unwrap()).collect();
    {
        solver.fill_workspace(BYTES, byte).unwrap();
        let mut pointers = PointersMut::new(device, batch.iter_mut()).unwrap();
        let a: TriangleMut<'_, T> = MatrixMut::batch(&mut pointers, (n, n, n)).unwrap().triangle(uplo).unwrap();
        let causes = solver.potrf(a).unwrap().causes().unwrap();
        found.push(("potrf of a batch", causes, Vec::new()));
    }
    {
        solver.fill_workspace(BYTES, byte).unwrap();
        let pointers = Pointers::new(device, batch.iter()).unwrap();
        let mut sides = PointersMut::new(device, sides.iter_mut()).unwrap();
        let a: TriangleRef<'_, T> = hipsolver::MatrixRef::batch(&pointers, (n, n, n)).unwrap().triangle(uplo).unwrap();
        let b = MatrixMut::batch(&mut sides, (n, 1, n)).unwrap();
        let causes = solver.potrs(a, b).unwrap().causes().unwrap();
        found.push(("potrs of a batch", causes, Vec::new()));
    }
    for one in batch.iter().chain(&sides) {
        found.push(("a batch", Vec::new(), vec![bytes(one)]));
    }
    let (mut a, mut x) = (upload::<T>(device, &any), upload::<T>(device, &b));
    let mut pivots = Pivots::new(device, n, n).unwrap();
    step!(found, solver, byte, "getrf", solver.getrf(&mut a, &mut pivots), a, pivots.as_slice());
    step!(found, solver, byte, "getrs", solver.getrs(&a, &pivots, &mut x), x);
    let (mut a, mut tau) = (upload::<T>(device, &any), DeviceBuffer::<T>::zeroed(device, n).unwrap());
    step!(found, solver, byte, "geqrf", solver.geqrf(&mut a, &mut tau), a, tau);
    let mut x = upload::<T>(device, &b);
    step!(found, solver, byte, "ormqr", solver.ormqr(Side::Left, &a, &tau, &mut x), x);
    step!(found, solver, byte, "orgqr", solver.orgqr(&mut a, &tau), a);
    let (mut a, mut b_dev) =
        (upload::<T>(device, &random::<T>(rng, n + 2, n)), upload::<T>(device, &random::<T>(rng, n + 2, 3)));
    let mut x = upload::<T>(device, &b);
    step!(found, solver, byte, "gels", solver.gels(&mut a, &mut b_dev, &mut x), x);
    let (mut a, mut b_dev) = (upload::<T>(device, &any), upload::<T>(device, &b));
    step!(found, solver, byte, "gesv", solver.gesv(&mut a, &mut pivots, &mut b_dev, &mut x), x);
    let mut a = upload::<T>(device, &any);
    let mut exchanges = DeviceBuffer::<i32>::zeroed(device, n).unwrap();
    step!(
        found,
        solver,
        byte,
        "sytrf",
        solver.sytrf(a.view_mut().triangle(uplo).unwrap(), &mut exchanges),
        a,
        exchanges
    );
    found
}

/// Reductions.
fn reductions<T: All>(device: &Device, solver: &Solver, n: usize, uplo: Uplo, byte: u8) -> Vec<Found> {
    let (mut found, rng) = (Vec::new(), &mut Rng::new(n as u64));
    let any = random::<T>(rng, n, n);
    let real = |len| DeviceBuffer::<T::Real>::zeroed(device, len).unwrap();
    let numbers = |len| DeviceBuffer::<T>::zeroed(device, len).unwrap();
    let (mut a, mut x) = (upload::<T>(device, &any), upload::<T>(device, &any));
    let (mut d, mut e, mut tau, mut taup) = (real(n), real(n - 1), numbers(n - 1), numbers(n));
    step!(
        found,
        solver,
        byte,
        "sytrd",
        solver.sytrd(a.view_mut().triangle(uplo).unwrap(), &mut d, &mut e, &mut tau),
        a,
        d,
        e,
        tau
    );
    step!(
        found,
        solver,
        byte,
        "ormtr",
        solver.ormtr(Side::Left, true, a.view().triangle(uplo).unwrap(), &tau, &mut x),
        x
    );
    step!(found, solver, byte, "orgtr", solver.orgtr(a.view_mut().triangle(uplo).unwrap(), &tau), a);
    let (mut a, mut tauq) = (upload::<T>(device, &any), numbers(n));
    step!(
        found,
        solver,
        byte,
        "gebrd",
        solver.gebrd(&mut a, &mut d, &mut e, &mut tauq, &mut taup),
        a,
        d,
        e,
        tauq,
        taup
    );
    let mut p: MatrixBuffer<T> = MatrixBuffer::from_columns(device, &a.to_vec().unwrap(), n, n).unwrap();
    step!(found, solver, byte, "orgbr of Q", solver.orgbr(Factor::Q, &mut a, &tauq), a);
    step!(found, solver, byte, "orgbr of P", solver.orgbr(Factor::PHermitian, &mut p, &taup), p);
    found
}

/// Eigenvalues and singular values.
fn values<T: All>(device: &Device, solver: &Solver, n: usize, uplo: Uplo, byte: u8) -> Vec<Found> {
    let (mut found, rng) = (Vec::new(), &mut Rng::new(n as u64));
    let (any, definite) = (random::<T>(rng, n, n), positive::<T>(rng, n));
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, n).unwrap();
    let (jacobi, problem) = (Jacobi::default(), EigenProblem::AxLambdaBx);
    let of_any = || upload::<T>(device, &any);
    let mut a = of_any();
    step!(found, solver, byte, "values by syevd", solver.syevd(false, a.view_mut().triangle(uplo).unwrap(), &mut w), w);
    let mut a = of_any();
    step!(found, solver, byte, "syevd", solver.syevd(true, a.view_mut().triangle(uplo).unwrap(), &mut w), a, w);
    let mut a = of_any();
    step!(found, solver, byte, "syevj", solver.syevj(true, jacobi, a.view_mut().triangle(uplo).unwrap(), &mut w), a, w);
    let (mut a, mut b) = (of_any(), upload::<T>(device, &definite));
    let (first, second) = (a.view_mut().triangle(uplo).unwrap(), b.view_mut().triangle(uplo).unwrap());
    step!(found, solver, byte, "sygvd", solver.sygvd(problem, true, first, second, &mut w), a, b, w);
    let (mut a, mut b) = (of_any(), upload::<T>(device, &definite));
    let (first, second) = (a.view_mut().triangle(uplo).unwrap(), b.view_mut().triangle(uplo).unwrap());
    step!(found, solver, byte, "sygvj", solver.sygvj(problem, true, jacobi, first, second, &mut w), a, b, w);
    if !lacks("hipsolverSsyevdx") {
        let range = || EigenRange::Indices(1..3);
        let mut a = of_any();
        solver.fill_workspace(BYTES, byte).unwrap();
        let (few, outcome) = solver.syevdx(true, range(), a.view_mut().triangle(uplo).unwrap(), &mut w).unwrap();
        let causes = outcome.causes().unwrap();
        let (vectors, w_found) = (a.to_vec().unwrap()[..few * n].to_vec(), w.to_vec().unwrap()[..few].to_vec());
        found.push(("syevdx", causes, vec![cast(&vectors), cast(&w_found)]));
        let (mut a, mut b) = (of_any(), upload::<T>(device, &definite));
        let (first, second) = (a.view_mut().triangle(uplo).unwrap(), b.view_mut().triangle(uplo).unwrap());
        solver.fill_workspace(BYTES, byte).unwrap();
        let (few, outcome) = solver.sygvdx(problem, true, range(), first, second, &mut w).unwrap();
        let causes = outcome.causes().unwrap();
        let (vectors, w_found) = (a.to_vec().unwrap()[..few * n].to_vec(), w.to_vec().unwrap()[..few].to_vec());
        found.push(("sygvdx", causes, vec![cast(&vectors), cast(&w_found)]));
    }
    let (mut a, mut u, mut v) = (of_any(), of_any(), of_any());
    step!(found, solver, byte, "gesvd", solver.gesvd(&mut a, &mut w, Some(u.view_mut()), Some(v.view_mut())), u, v, w);
    let mut a = of_any();
    step!(
        found,
        solver,
        byte,
        "gesvdj",
        solver.gesvdj(jacobi, &mut a, &mut w, Some((u.view_mut(), v.view_mut()))),
        u,
        v,
        w
    );
    // Batches of two.
    let elements = [narrow::<T>(&any), narrow::<T>(&definite)].concat();
    let memory = || DeviceBuffer::from_slice(device, &elements).unwrap();
    let mut w = DeviceBuffer::<T::Real>::zeroed(device, 2 * n).unwrap();
    let (mut a, mut u, mut v) = (memory(), memory(), memory());
    step!(
        found,
        solver,
        byte,
        "syevj of a batch",
        solver.syevj(
            true,
            jacobi,
            two(&mut a, n).triangle(uplo).unwrap(),
            VectorMut::strided_batch(&mut w, n, 1, n, 2).unwrap()
        ),
        a,
        w
    );
    let mut a = memory();
    let s = VectorMut::strided_batch(&mut w, n, 1, n, 2).unwrap();
    step!(
        found,
        solver,
        byte,
        "gesvdj of a batch",
        solver.gesvdj_batched(jacobi, two(&mut a, n), s, Some((two(&mut u, n), two(&mut v, n)))),
        u,
        v,
        w
    );
    let (mut a, mut u, mut v) = (memory(), memory(), memory());
    let s = VectorMut::strided_batch(&mut w, n, 1, n, 2).unwrap();
    step!(
        found,
        solver,
        byte,
        "gesvda of a batch",
        solver.gesvda_batched(two(&mut a, n), s, Some((two(&mut u, n), two(&mut v, n)))),
        u,
        v,
        w
    );
    found
}

/// A batch of two.
fn two<T: Number>(memory: &mut DeviceBuffer<T>, n: usize) -> MatrixMut<'_, T> {
    MatrixMut::strided_batch(memory, (n, n, n), n * n, 2).unwrap()
}

fn narrow<T: Number>(host: &Host) -> Vec<T> {
    host.data.iter().map(|&x| T::narrow(x)).collect()
}

fn cast<T: Number>(elements: &[T]) -> Vec<u8> {
    hip::bytemuck::cast_slice(elements).to_vec()
}

fn bytes<T: Number>(buffer: &DeviceBuffer<T>) -> Vec<u8> {
    cast(&buffer.to_vec().unwrap())
}

fn the_same<T: All>(device: &Device, solver: &Solver, n: usize, uplo: Uplo) {
    for group in [factors::<T>, reductions::<T>, values::<T>] {
        // Zeros, and bytes of which every number is NaN.
        let (clear, full) = (group(device, solver, n, uplo, 0), group(device, solver, n, uplo, 0xff));
        assert_eq!(clear.len(), full.len());
        for ((name, causes, results), (_, causes_full, results_full)) in clear.iter().zip(&full) {
            assert_eq!(causes, causes_full, "{name} of order {n}");
            for (which, (result, result_full)) in results.iter().zip(results_full).enumerate() {
                let size = size_of::<T>();
                let differ = result.chunks(size).zip(result_full.chunks(size)).filter(|(a, b)| a != b).count();
                assert!(differ == 0, "{name} of order {n}, result {which}: {differ} of {} differ", result.len() / size);
            }
        }
    }
}

#[test]
fn no_result_depends_on_the_workspace() {
    let Some((device, solver)) = solver() else { return };
    the_same::<f32>(&device, &solver, 5, Uplo::Upper);
    the_same::<f64>(&device, &solver, 17, Uplo::Lower);
    the_same::<Complex32>(&device, &solver, 9, Uplo::Lower);
    the_same::<Complex64>(&device, &solver, 3, Uplo::Upper);
}
