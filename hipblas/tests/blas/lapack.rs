//! LAPACK's routines: the factors make the matrix, the solutions solve.

use hip::{Device, DeviceBuffer};
use hipblas::{Blas, MatrixMut, MatrixRef, Pivots, Pointers, PointersMut, VectorMut, VectorRef, ops};
use linalg_testing::{Host, Kind, Number, Rng, TestMatrix, assert_close};
use num_complex::{Complex32, Complex64};

use crate::{blas, for_types};

/// Returns whether the library has LAPACK's routines at all.
fn missing(result: hipblas::Result<()>) -> bool {
    match result {
        Ok(()) => false,
        Err(error) if error.to_string().contains("NOT_SUPPORTED") => {
            linalg_testing::skipped(&"this hipBLAS was built without rocSOLVER");
            true
        }
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn close<T: Number>(what: &str, got: &Host, want: &Host, size: f64, terms: usize) {
    assert_close::<T>(what, got, want, &want.map(|_| size.into()), 8 * terms + 8);
}

fn lu<T>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T: Number + ops::Getrf + ops::Getrs + ops::Getri,
{
    let (kind, n) = (Kind::any(rng), rng.one_of(&[1, 2, 3, 7, 9]));
    let mut a = TestMatrix::<T>::new(device, rng, kind, (n, n), 'N');
    a.dominate();
    let mut b = TestMatrix::<T>::new(device, rng, kind, (n, 2), 'N');
    let of = |x: &TestMatrix<T>| (0..kind.count()).map(|index| x.reference(index)).collect::<Vec<_>>();
    let (a_before, b_before) = (of(&a), of(&b));
    let mut pivots = Pivots::batch(device, n, n, kind.count()).unwrap();
    let mut info = DeviceBuffer::<i32>::from_slice(device, &vec![7; kind.count()]).unwrap();
    let layout = a.layout();
    if missing(blas.getrf(layout.view(&mut a.memory.held_mut()), &mut pivots, &mut info)) {
        return;
    }
    assert!(info.to_vec().unwrap().iter().all(|&info| info == 0));
    let layout = b.layout();
    blas.getrs(a.view(&a.memory.held()), &pivots, layout.view(&mut b.memory.held_mut())).unwrap();
    b.read(|_, _| true);
    a.read(|_, _| true);
    for (index, x) in of(&b).iter().enumerate() {
        let a = &a_before[index];
        close::<T>("getrs", &a.mul(x), &b_before[index], a.max() * x.max() * n as f64, n);
    }
    if let Kind::Pointers(_) = kind {
        let mut inverse = TestMatrix::<T>::new(device, rng, kind, (n, n), 'N');
        let layout = inverse.layout();
        let done = {
            let (a_held, mut held) = (a.memory.held(), inverse.memory.held_mut());
            blas.getri(a.view(&a_held), &pivots, layout.view(&mut held), &mut info)
        };
        done.unwrap();
        inverse.read(|_, _| true);
        for (index, inverse) in of(&inverse).iter().enumerate() {
            let a = &a_before[index];
            close::<T>("getri", &a.mul(inverse), &Host::identity(n), a.max() * inverse.max() * n as f64, n);
        }
    } else {
        let mut other = TestMatrix::<T>::new(device, rng, kind, (n, n), 'N');
        let layout = other.layout();
        let refused =
            blas.getri(a.view(&a.memory.held()), &pivots, layout.view(&mut other.memory.held_mut()), &mut info);
        assert!(matches!(refused, Err(hipblas::Error::Invalid { .. })), "{refused:?}");
    }
}

#[test]
fn lu_factorises_solves_and_inverts() {
    for_types!(5, blas(), lu: f32, f64, Complex32, Complex64);
}

fn qr_and_least_squares<T: Number + ops::Geqrf + ops::Gels>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, m, n) = (Kind::any(rng), rng.one_of(&[5, 8, 9]), rng.one_of(&[1, 2, 5]));
    let mut a = TestMatrix::<T>::new(device, rng, kind, (m, n), 'N');
    let before: Vec<Host> = (0..kind.count()).map(|index| a.reference(index)).collect();
    let mut tau = linalg_testing::Memory::<T>::new(device, rng, kind, n);
    let layout = a.layout();
    {
        let (mut a_held, mut tau_held) = (a.memory.held_mut(), tau.held_mut());
        let tau = linalg_testing::vector_mut((n, 1), &mut tau_held);
        if missing(blas.geqrf(layout.view(&mut a_held), tau)) {
            return;
        }
    }
    a.read(|_, _| true);
    for (index, before) in before.iter().enumerate() {
        // Rᴴ R = Aᴴ A.
        let r = a.reference(index).triangle(false, false);
        let size = before.max() * before.max() * m as f64;
        close::<T>("geqrf", &r.h().mul(&r), &before.h().mul(before), size, m);
    }

    let mut a = TestMatrix::<T>::new(device, rng, kind, (m, n), 'N');
    let mut b = TestMatrix::<T>::new(device, rng, kind, (m, 2), 'N');
    let reference = |x: &TestMatrix<T>| (0..kind.count()).map(|index| x.reference(index)).collect::<Vec<_>>();
    let (a_before, b_before) = (reference(&a), reference(&b));
    let mut info = DeviceBuffer::<i32>::zeroed(device, kind.count()).unwrap();
    let (a_layout, b_layout) = (a.layout(), b.layout());
    {
        let (mut a_held, mut b_held) = (a.memory.held_mut(), b.memory.held_mut());
        blas.gels(false, a_layout.view(&mut a_held), b_layout.view(&mut b_held), &mut info).unwrap();
    }
    a.read(|_, _| true);
    b.read(|_, _| true);
    let info = info.to_vec().unwrap();
    for (index, found) in reference(&b).iter().enumerate() {
        if info[index] != 0 {
            continue; // random columns that depend on each other
        }
        let x = Host::from_fn(n, 2, |row, col| found.at(row, col));
        let (a, b) = (&a_before[index], &b_before[index]);
        let rest = b.add(&a.mul(&x).scale((-1.0).into()));
        let size = a.max() * (b.max() + a.max() * x.max()) * (m * n) as f64;
        close::<T>("gels", &a.h().mul(&rest), &Host::from_fn(n, 2, |_, _| 0.0.into()), size, m);
    }
}

#[test]
fn qr_and_least_squares_fit() {
    for_types!(4, blas(), qr_and_least_squares: f32, f64, Complex32, Complex64);
}

#[test]
fn pivots_of_another_matrix_are_refused() {
    let Some((device, _stream, blas)) = blas() else { return };
    let mut a = hipblas::MatrixBuffer::<f32>::zeroed(&device, 3, 3).unwrap();
    let mut b = hipblas::MatrixBuffer::<f32>::zeroed(&device, 3, 1).unwrap();
    let mut info = DeviceBuffer::<i32>::zeroed(&device, 1).unwrap();
    // They name a fourth row, which A has not.
    let mut pivots = Pivots::new(&device, 4, 3).unwrap();
    for refused in [blas.getrf(&mut a, &mut pivots, &mut info), blas.getrs(&a, &pivots, &mut b)] {
        assert!(matches!(&refused, Err(hipblas::Error::Invalid { what: "the rows of the pivots", .. })), "{refused:?}");
    }
}

fn square(memory: &mut DeviceBuffer<f64>, count: usize) -> MatrixMut<'_, f64> {
    MatrixMut::strided_batch(memory, (2, 2, 2), 4, count).unwrap()
}

/// Batches of all sizes: of each member, the result is its own.
#[test]
fn batches_of_one_and_of_many_members() {
    let Some((device, _stream, blas)) = blas() else { return };
    for count in [1, 15, 16, 17, 300] {
        // [[4 + i, 1], [1, 3]] times [1, 1] and times [1, 2].
        let members = |of: &dyn Fn(f64) -> Vec<f64>| (0..count).map(|i| of(f64::from(i))).collect::<Vec<_>>();
        let matrices = members(&|i| vec![4.0 + i, 1.0, 1.0, 3.0]).concat();
        let (sides, twos) = (members(&|i| vec![5.0 + i, 4.0]).concat(), members(&|i| vec![6.0 + i, 7.0]).concat());
        let count = count as usize;
        let memory = |numbers: &[f64]| DeviceBuffer::from_slice(&device, numbers).unwrap();
        let near = |what: &str, found: &[f64], want: [f64; 2]| {
            for (member, x) in found.chunks(2).enumerate() {
                let near = (x[0] - want[0]).abs() < 1e-12 && (x[1] - want[1]).abs() < 1e-12;
                assert!(near, "{what}, member {member} of {count}: {x:?}");
            }
        };
        let (mut a, mut b) = (memory(&matrices), memory(&sides));
        let mut pivots = Pivots::batch(&device, 2, 2, count).unwrap();
        let mut info = DeviceBuffer::from_slice(&device, &vec![7; count]).unwrap();
        if missing(blas.getrf(square(&mut a, count), &mut pivots, &mut info)) {
            return;
        }
        assert_eq!(info.to_vec().unwrap(), vec![0; count]);
        {
            let factors = MatrixRef::strided_batch(&a, (2, 2, 2), 4, count).unwrap();
            blas.getrs(factors, &pivots, MatrixMut::strided_batch(&mut b, (2, 1, 2), 2, count).unwrap()).unwrap();
        }
        near("getrs", &b.to_vec().unwrap(), [1.0, 1.0]);
        // The same with an address each, and the inverses.
        let (mut inverses, mut b) = (memory(&matrices), memory(&twos));
        {
            let parts: Vec<_> = (0..count).map(|i| a.slice(4 * i..4 * i + 4).unwrap()).collect();
            let factors = Pointers::new(&device, parts).unwrap();
            let factors = MatrixRef::batch(&factors, (2, 2, 2)).unwrap();
            let places: Vec<_> = b.as_slice_mut().chunks_exact_mut(2).unwrap().collect();
            let mut places = PointersMut::new(&device, places).unwrap();
            blas.getrs(factors, &pivots, MatrixMut::batch(&mut places, (2, 1, 2)).unwrap()).unwrap();
            let places: Vec<_> = inverses.as_slice_mut().chunks_exact_mut(4).unwrap().collect();
            let mut places = PointersMut::new(&device, places).unwrap();
            blas.getri(factors, &pivots, MatrixMut::batch(&mut places, (2, 2, 2)).unwrap(), &mut info).unwrap();
        }
        near("getrs of pointers", &b.to_vec().unwrap(), [1.0, 2.0]);
        assert_eq!(info.to_vec().unwrap(), vec![0; count]);
        // The inverses times A x, one product for each member.
        let (ax, mut x) = (memory(&twos), memory(&sides));
        let result = MatrixMut::strided_batch(&mut x, (2, 1, 2), 2, count).unwrap();
        let inverse = MatrixRef::strided_batch(&inverses, (2, 2, 2), 4, count).unwrap();
        blas.gemm(1.0, inverse, MatrixRef::strided_batch(&ax, (2, 1, 2), 2, count).unwrap(), 0.0, result).unwrap();
        near("getri", &x.to_vec().unwrap(), [1.0, 2.0]);
        let (mut a, mut b, mut tau) = (memory(&matrices), memory(&twos), memory(&sides));
        let sides = MatrixMut::strided_batch(&mut b, (2, 1, 2), 2, count).unwrap();
        blas.gels(false, square(&mut a, count), sides, &mut info).unwrap();
        near("gels", &b.to_vec().unwrap(), [1.0, 2.0]);
        let mut a = memory(&matrices);
        blas.geqrf(square(&mut a, count), VectorMut::strided_batch(&mut tau, 2, 1, 2, count).unwrap()).unwrap();
        for (member, (r, before)) in a.to_vec().unwrap().chunks(4).zip(matrices.chunks(4)).enumerate() {
            let (found, want) = (r[0].abs(), before[0].hypot(before[1]));
            assert!((found - want).abs() < 1e-12 * want, "geqrf, member {member} of {count}: {found} for {want}");
        }
        // A number for each member.
        let (x, mut out) = (memory(&twos), memory(&vec![0.0; count]));
        let vectors = VectorRef::strided_batch(&x, 2, 1, 2, count).unwrap();
        blas.nrm2_into(vectors, &mut out).unwrap();
        let squares: Vec<f64> = out.to_vec().unwrap().iter().map(|x| x * x).collect();
        blas.dot_into(vectors, vectors, &mut out).unwrap();
        for (member, (found, (dot, want))) in
            squares.iter().zip(out.to_vec().unwrap().iter().zip(twos.chunks(2))).enumerate()
        {
            let want = want[0] * want[0] + want[1] * want[1];
            assert!(
                (found - want).abs() < 1e-12 * want && *dot == want,
                "member {member} of {count}: {found} and {dot} for {want}"
            );
        }
        let mut indices = DeviceBuffer::<i32>::zeroed(&device, count).unwrap();
        blas.amax_into(vectors, &mut indices).unwrap();
        let want: Vec<i32> = twos.chunks(2).map(|x| if x[0] >= x[1] { 1 } else { 2 }).collect();
        assert_eq!(indices.to_vec().unwrap(), want, "{count} members");
    }
}
