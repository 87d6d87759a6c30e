//! Level 3 against the reference.

use half::f16;
use hip::Device;
use hipblas::{Blas, Side, Uplo, ops};
use linalg_testing::{Host, Kind, Number, Rng, TestMatrix, TestVector, assert_close};
use num_complex::{Complex32, Complex64};

use crate::{blas, for_types, size};

fn op(rng: &mut Rng) -> char {
    rng.one_of(&['N', 'T', 'C'])
}

/// An output matrix: BLAS cannot conjugate it.
fn out_op(rng: &mut Rng) -> char {
    rng.one_of(&['N', 'N', 'T'])
}

fn members<T: Number>(a: &TestMatrix<T>, kind: Kind) -> Vec<Host> {
    (0..kind.count()).map(|index| a.reference(index)).collect()
}

/// `want` of each member, with the bound of α A B + β C.
struct Expected {
    want: Host,
    size: Host,
    terms: usize,
}

fn product(alpha: impl Number, a: &Host, b: &Host, beta: impl Number, before: &Host) -> Expected {
    let old = before.map(|c| if beta.wide().norm() == 0.0 { 0.0.into() } else { c * beta.wide() });
    let factor = (alpha.wide().re.abs() + alpha.wide().im.abs()).into();
    Expected {
        want: a.mul(b).scale(alpha.wide()).add(&old),
        size: a.abs().mul(&b.abs()).scale(factor).add(&old.abs()),
        terms: a.cols + 2,
    }
}

fn gemm<T: Number + ops::Gemm>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, m, n, k) = (Kind::any(rng), size(rng), size(rng), size(rng));
    let c_op = out_op(rng);
    // With C transposed in memory, the others must not be conjugated.
    let letters = if c_op == 'N' { [op(rng), op(rng)] } else { [out_op(rng), out_op(rng)] };
    let a = TestMatrix::<T>::new(device, rng, kind, (m, k), letters[0]);
    let b = TestMatrix::<T>::new(device, rng, kind, (k, n), letters[1]);
    let mut c = TestMatrix::<T>::new(device, rng, kind, (m, n), c_op);
    let alpha: T = rng.number();
    let beta: T = if rng.below(3) == 0 { T::ZERO } else { rng.number() };
    if beta == T::ZERO {
        c.poison();
    }
    let before = members(&c, kind);
    let layout = c.layout();
    {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        blas.gemm(alpha, a.view(&a_held), b.view(&b_held), beta, layout.view(&mut c_held)).unwrap();
    }
    c.read(|_, _| true);
    for (index, before) in before.iter().enumerate() {
        let Expected { want, size, terms } = product(alpha, &a.reference(index), &b.reference(index), beta, before);
        assert_close::<T>("gemm", &c.reference(index), &want, &size, terms);
    }
}

#[test]
fn gemm_multiplies() {
    for_types!(12, blas(), gemm: f32, f64, Complex32, Complex64, f16);
}

/// A matrix of strided batches that all members use.
#[test]
fn one_matrix_is_used_by_every_member_of_a_strided_batch() {
    let Some((device, _stream, blas)) = blas() else { return };
    let mut rng = Rng::new(7);
    let a = TestMatrix::<f32>::new(&device, &mut rng, Kind::One, (3, 4), 'N');
    let b = TestMatrix::<f32>::new(&device, &mut rng, Kind::Strided(5), (4, 2), 'N');
    let mut c = TestMatrix::<f32>::new(&device, &mut rng, Kind::Strided(5), (3, 2), 'N');
    let layout = c.layout();
    {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        blas.gemm(1.0, a.view(&a_held), b.view(&b_held), 0.0, layout.view(&mut c_held)).unwrap();
    }
    c.read(|_, _| true);
    for index in 0..5 {
        let want = product(1.0_f32, &a.reference(0), &b.reference(index), 0.0_f32, &c.reference(index));
        assert_close::<f32>("gemm", &c.reference(index), &want.want, &want.size, 6);
    }
}

macro_rules! symmetric_products {
    ($($test:ident, $of:ident, $trait:ident, $hermitian:literal, [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng) {
            let (kind, m, n) = (Kind::any(rng), size(rng), size(rng));
            let (side, lower, turned) = (rng.one_of(&[Side::Left, Side::Right]), rng.below(2) == 0, out_op(rng));
            // A Hermitian matrix is row-major if B and C are.
            let a_op = if $hermitian { turned } else { out_op(rng) };
            let order = if side == Side::Left { m } else { n };
            let a = TestMatrix::<T>::new(device, rng, kind, (order, order), a_op);
            let b = TestMatrix::<T>::new(device, rng, kind, (m, n), turned);
            let mut c = TestMatrix::<T>::new(device, rng, kind, (m, n), turned);
            let (alpha, beta): (T, T) = (rng.number(), rng.number());
            let before = members(&c, kind);
            let layout = c.layout();
            {
                let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
                let view = a.view(&a_held).triangle(if lower { Uplo::Lower } else { Uplo::Upper }).unwrap();
                blas.$of(side, alpha, view, b.view(&b_held), beta, layout.view(&mut c_held)).unwrap();
            }
            c.read(|_, _| true);
            for (index, before) in before.iter().enumerate() {
                let (a, b) = (a.reference(index).mirrored(lower, $hermitian), b.reference(index));
                let (left, right) = if side == Side::Left { (&a, &b) } else { (&b, &a) };
                let Expected { want, size, terms } = product(alpha, left, right, beta, before);
                assert_close::<T>(stringify!($of), &c.reference(index), &want, &size, terms);
            }
        }

        #[test]
        fn $test() {
            for_types!(6, blas(), $of: $($t),+);
        }
    )*};
}

symmetric_products! {
    symm_multiplies, symm, Symm, false, [f32, f64, Complex32, Complex64];
    hemm_multiplies, hemm, Hemm, true, [Complex32, Complex64];
}

macro_rules! rank_updates {
    ($($test:ident, $of:ident, $trait:ident, $hermitian:literal, $alpha:ident, $beta:ident, $twice:literal, [$($b:ident)?], [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng)
        where
            T::Real: Number,
        {
            type Alpha<T> = rank_updates!(@ $alpha T);
            type Beta<T> = rank_updates!(@ $beta T);
            let (kind, n, k, lower) = (Kind::any(rng), size(rng), size(rng), rng.below(2) == 0);
            let c_op = out_op(rng);
            let letter = match ($hermitian, c_op) {
                (true, 'N') => rng.one_of(&['N', 'C']),
                (true, _) => 'T',
                (false, _) => out_op(rng),
            };
            let a = TestMatrix::<T>::new(device, rng, kind, (n, k), letter);
            $(let $b = TestMatrix::<T>::new(device, rng, kind, (n, k), letter);)?
            let mut c = TestMatrix::<T>::new(device, rng, kind, (n, n), c_op);
            // The sum is to be Hermitian, as C is taken to be.
            let (alpha, beta): (Alpha<T>, Beta<T>) = (rng.number(), rng.number());
            let before: Vec<Host> = members(&c, kind).iter().map(|c| c.mirrored(lower, $hermitian)).collect();
            let layout = c.layout();
            let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
            {
                let (a_held, mut c_held) = (a.memory.held(), c.memory.held_mut());
                $(let b_held = $b.memory.held();)?
                let view = layout.view(&mut c_held).triangle(uplo).unwrap();
                blas.$of(alpha, a.view(&a_held), $($b.view(&b_held),)? beta, view).unwrap();
            }
            c.read(|row, col| row == col || (row > col) == lower);
            for (index, before) in before.iter().enumerate() {
                let a = a.reference(index);
                let other = |x: &Host| if $hermitian { x.h() } else { x.t() };
                let right: Option<Host> = None;
                $(let right = right.or(Some($b.reference(index)));)?
                let right = right.unwrap_or_else(|| a.clone());
                let Expected { mut want, mut size, terms } = product(alpha, &a, &other(&right), beta, before);
                if $twice {
                    let back = if $hermitian { alpha.wide().conj() } else { alpha.wide() };
                    want = want.add(&right.mul(&other(&a)).scale(back));
                    size = size.add(&right.abs().mul(&a.abs().t()).scale(2.0.into()));
                }
                // With one triangle written, only it is compared.
                let (got, want) = (c.reference(index).triangle(lower, false), want.triangle(lower, false));
                let size = if $hermitian { size.scale(2.0.into()) } else { size };
                let real_diagonal = |x: Host| {
                    Host::from_fn(n, n, |i, j| if $hermitian && i == j { x.at(i, j).re.into() } else { x.at(i, j) })
                };
                assert_close::<T>(stringify!($of), &real_diagonal(got), &real_diagonal(want), &size, 2 * terms);
            }
        }

        #[test]
        fn $test() {
            for_types!(6, blas(), $of: $($t),+);
        }
    )*};
    (@ own $t:ident) => { $t };
    (@ real $t:ident) => { <$t as hipblas::Scalar>::Real };
}

rank_updates! {
    syrk_updates, syrk, Syrk, false, own, own, false, [], [f32, f64, Complex32, Complex64];
    herk_updates, herk, Herk, true, real, real, false, [], [Complex32, Complex64];
    syr2k_updates, syr2k, Syr2k, false, own, own, true, [b], [f32, f64, Complex32, Complex64];
    her2k_updates, her2k, Her2k, true, own, real, true, [b], [Complex32, Complex64];
    syrkx_updates, syrkx, Syrkx, false, own, own, false, [b], [f32, f64];
}

/// A Bᴴ with B = 2 A: it is Hermitian, as herkx wants it.
fn herkx<T: Number + ops::Herkx>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T::Real: Number,
{
    let (n, k, lower, c_op) = (size(rng), size(rng), rng.below(2) == 0, out_op(rng));
    let a = TestMatrix::<T>::new(device, rng, Kind::One, (n, k), if c_op == 'N' { 'N' } else { 'T' });
    let mut b = TestMatrix::<T>::new(device, rng, Kind::One, (n, k), if c_op == 'N' { 'N' } else { 'T' });
    let (rows, a_ld, b_ld) = (if c_op == 'N' { n } else { k }, a.ld, b.ld);
    let from = a.memory.member(0).to_vec();
    b.memory.set(|_, elements| {
        for (index, element) in elements.iter_mut().enumerate() {
            if index % b_ld < rows {
                *element = T::narrow(from[index / b_ld * a_ld + index % b_ld].wide() * 2.0);
            }
        }
    });
    let mut c = TestMatrix::<T>::new(device, rng, Kind::One, (n, n), c_op);
    let before = c.reference(0).mirrored(lower, true);
    let (alpha, beta): (T::Real, T::Real) = (rng.number(), rng.number());
    let layout = c.layout();
    {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        let view = layout.view(&mut c_held).triangle(if lower { Uplo::Lower } else { Uplo::Upper }).unwrap();
        blas.herkx(T::narrow(alpha.wide()), a.view(&a_held), b.view(&b_held), beta, view).unwrap();
    }
    c.read(|row, col| row == col || (row > col) == lower);
    let Expected { want, size, terms } = product(alpha, &a.reference(0), &b.reference(0).h(), beta, &before);
    let got = c.reference(0).mirrored(lower, true);
    assert_close::<T>("herkx", &got, &want.mirrored(lower, true), &size, terms);
}

#[test]
fn herkx_updates() {
    for_types!(6, blas(), herkx: Complex32, Complex64);
}

fn triangles<T>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T: Number + ops::Trmm + ops::Trsm + ops::Trtri,
{
    let (kind, m, n) = (Kind::any(rng), size(rng), size(rng));
    let (side, lower, unit) = (rng.one_of(&[Side::Left, Side::Right]), rng.below(2) == 0, rng.below(2) == 0);
    let b_op = out_op(rng);
    let a_op = if b_op == 'N' { op(rng) } else { out_op(rng) };
    let order = if side == Side::Left { m } else { n };
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let mut a = TestMatrix::<T>::new(device, rng, kind, (order, order), a_op);
    a.dominate();
    let mut b = TestMatrix::<T>::new(device, rng, kind, (m, n), b_op);
    let alpha: T = rng.number();
    let layout = b.layout();
    for solves in [false, true] {
        let start = members(&b, kind);
        {
            let (a_held, mut b_held) = (a.memory.held(), b.memory.held_mut());
            let view = a.view(&a_held).triangle(uplo).unwrap();
            let view = if unit { view.unit() } else { view };
            let b = layout.view(&mut b_held);
            if solves { blas.trsm(side, alpha, view, b) } else { blas.trmm(side, alpha, view, b) }.unwrap();
        }
        b.read(|_, _| true);
        for (index, start) in start.iter().enumerate() {
            let (a, now) = (a.reference(index).triangle(lower, unit), b.reference(index));
            let times = |b: &Host| if side == Side::Left { a.mul(b) } else { b.mul(&a) };
            let sizes = |b: &Host| {
                if side == Side::Left { a.abs().mul(&b.abs()) } else { b.abs().mul(&a.abs()) }
            };
            if solves {
                // A triangle with ones on the diagonal is not well conditioned: the test checks the residual.
                let right = start.scale(alpha.wide());
                assert_close::<T>("trsm", &times(&now), &right, &sizes(&now).add(&right.abs()), 2 * order + 4);
            } else {
                let want = times(start).scale(alpha.wide());
                assert_close::<T>("trmm", &now, &want, &sizes(start).scale(2.0.into()), order + 2);
            }
        }
    }
    // The inverse, in the same layout.
    let mut inverse = TestMatrix::<T>::new(device, rng, kind, (order, order), if a.transposed { 'T' } else { 'N' });
    let inverse_layout = inverse.layout();
    if a.conjugated {
        return;
    }
    {
        let (a_held, mut held) = (a.memory.held(), inverse.memory.held_mut());
        let (view, out) =
            (a.view(&a_held).triangle(uplo).unwrap(), inverse_layout.view(&mut held).triangle(uplo).unwrap());
        blas.trtri(view, out).unwrap();
    }
    inverse.read(|_, _| true);
    for index in 0..kind.count() {
        let (a, inverse) = (a.reference(index).triangle(lower, false), inverse.reference(index).triangle(lower, false));
        let size = a.abs().mul(&inverse.abs()).add(&inverse.abs().mul(&a.abs()));
        assert_close::<T>("trtri", &a.mul(&inverse), &Host::identity(order), &size, 4 * order + 4);
    }
}

#[test]
fn triangles_multiply_solve_and_invert() {
    for_types!(6, blas(), triangles: f32, f64, Complex32, Complex64);
}

#[test]
fn trmm_to_another_matrix() {
    let Some((device, _stream, blas)) = blas() else { return };
    let mut rng = Rng::new(3);
    let a = TestMatrix::<f64>::new(&device, &mut rng, Kind::One, (5, 5), 'N');
    let b = TestMatrix::<f64>::new(&device, &mut rng, Kind::One, (5, 3), 'N');
    let mut c = TestMatrix::<f64>::new(&device, &mut rng, Kind::One, (5, 3), 'N');
    let layout = c.layout();
    let done = {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        let triangle = a.view(&a_held).lower().unwrap();
        blas.trmm_to(Side::Left, 2.0, triangle, b.view(&b_held), layout.view(&mut c_held))
    };
    if std::env::var("ROCM_RS_RELEASE").is_ok_and(|release| release == "5.7") {
        let text = done.unwrap_err().to_string();
        return assert!(text.contains("6.2"), "{text}");
    }
    done.unwrap();
    c.read(|_, _| true);
    let (a, b) = (a.reference(0).triangle(true, false), b.reference(0));
    let size = a.abs().mul(&b.abs()).scale(2.0.into());
    assert_close::<f64>("trmm_to", &c.reference(0), &a.mul(&b).scale(2.0.into()), &size, 6);
}

fn geam_dgmm<T: Number + ops::Geam + ops::Dgmm>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, m, n, c_op) = (Kind::any(rng), size(rng), size(rng), out_op(rng));
    let letters = if c_op == 'N' { [op(rng), op(rng)] } else { [out_op(rng), out_op(rng)] };
    let a = TestMatrix::<T>::new(device, rng, kind, (m, n), letters[0]);
    let b = TestMatrix::<T>::new(device, rng, kind, (m, n), letters[1]);
    let mut c = TestMatrix::<T>::new(device, rng, kind, (m, n), c_op);
    let (alpha, beta): (T, T) = (rng.number(), rng.number());
    let layout = c.layout();
    {
        let (a_held, b_held, mut c_held) = (a.memory.held(), b.memory.held(), c.memory.held_mut());
        blas.geam(alpha, a.view(&a_held), beta, b.view(&b_held), layout.view(&mut c_held)).unwrap();
    }
    c.read(|_, _| true);
    for index in 0..kind.count() {
        let (a, b) = (a.reference(index).scale(alpha.wide()), b.reference(index).scale(beta.wide()));
        assert_close::<T>("geam", &c.reference(index), &a.add(&b), &a.abs().add(&b.abs()), 2);
    }
    let side = rng.one_of(&[Side::Left, Side::Right]);
    let a = TestMatrix::<T>::new(device, rng, kind, (m, n), c_op);
    let x = TestVector::<T>::new(device, rng, kind, if side == Side::Left { m } else { n });
    {
        let (a_held, x_held, mut c_held) = (a.memory.held(), x.memory.held(), c.memory.held_mut());
        blas.dgmm(side, a.view(&a_held), x.view(&x_held), layout.view(&mut c_held)).unwrap();
    }
    c.read(|_, _| true);
    for index in 0..kind.count() {
        let (a, x) = (a.reference(index), x.reference(index));
        let want = Host::from_fn(m, n, |i, j| a.at(i, j) * x.at(if side == Side::Left { i } else { j }, 0));
        assert_close::<T>("dgmm", &c.reference(index), &want, &want.abs(), 1);
    }
}

#[test]
fn geam_adds_and_dgmm_scales() {
    for_types!(6, blas(), geam_dgmm: f32, f64, Complex32, Complex64);
}

/// Other people's numbers: the 3 x 2 by 2 x 3 product of netlib's documentation of `dgemm`'s C interface, row-major.
#[test]
fn row_major_memory_is_multiplied_as_cblas_does() {
    let Some((device, _stream, blas)) = blas() else { return };
    let a = hip::DeviceBuffer::from_slice(&device, &[1.0_f64, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let b = hip::DeviceBuffer::from_slice(&device, &[7.0_f64, 8.0, 9.0, 10.0, 11.0, 12.0]).unwrap();
    let mut c = hip::DeviceBuffer::<f64>::zeroed(&device, 9).unwrap();
    let a = hipblas::MatrixRef::row_major(&a, 3, 2).unwrap();
    let b = hipblas::MatrixRef::row_major(&b, 2, 3).unwrap();
    blas.gemm(1.0, a, b, 0.0, hipblas::MatrixMut::row_major(&mut c, 3, 3).unwrap()).unwrap();
    assert_eq!(c.to_vec().unwrap(), [27.0, 30.0, 33.0, 61.0, 68.0, 75.0, 95.0, 106.0, 117.0]);
}
