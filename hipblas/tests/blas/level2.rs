//! Level 2 against the reference.

use hip::Device;
use hipblas::{BandRef, Blas, Uplo, ops};
use linalg_testing::{
    Host, Kind, Number, Rng, TestMatrix, TestVector, assert_close, packed, packed_mut, unpacked, vector_mut,
};
use num_complex::{Complex32, Complex64};

use crate::{blas, for_types, size};

/// y ← α A x + β y was computed for each member.
#[allow(clippy::too_many_arguments, reason = "what a product has")]
fn check_product<T: Number>(
    what: &str,
    alpha: T,
    a: &dyn Fn(usize) -> Host,
    x: &TestVector<T>,
    beta: T,
    before: &[Host],
    y: &mut TestVector<T>,
) {
    y.read();
    for (index, before) in before.iter().enumerate() {
        let (a, x) = (a(index), x.reference(index));
        // With β = 0, the old content is ignored, even NaN.
        let old = before.map(|y| if beta.wide().norm() == 0.0 { 0.0.into() } else { y * beta.wide() });
        let want = a.mul(&x).scale(alpha.wide()).add(&old);
        let factor = (alpha.wide().re.abs() + alpha.wide().im.abs()).into();
        let size = a.abs().mul(&x.abs()).scale(factor).add(&old.abs());
        assert_close::<T>(what, &y.reference(index), &want, &size, a.cols + 2);
    }
}

fn factors<T: Number>(rng: &mut Rng) -> (T, T) {
    let beta = if rng.below(3) == 0 { T::ZERO } else { rng.number() };
    (rng.number(), beta)
}

fn op(rng: &mut Rng) -> char {
    rng.one_of(&['N', 'T', 'C'])
}

fn members<T: Number>(x: &TestVector<T>, kind: Kind) -> Vec<Host> {
    (0..kind.count()).map(|index| x.reference(index)).collect()
}

fn gemv<T: Number + ops::Gemv>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, m, n) = (Kind::any(rng), size(rng), size(rng));
    let letter = op(rng);
    let a = TestMatrix::<T>::new(device, rng, kind, (m, n), letter);
    let x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, m);
    let (alpha, beta) = factors::<T>(rng);
    if beta == T::ZERO && n > 0 {
        let nan = T::narrow(f64::NAN.into());
        let step = y.increment.unsigned_abs();
        y.memory.set(|_, elements| elements.iter_mut().step_by(step).for_each(|element| *element = nan));
    }
    let before = members(&y, kind);
    let layout = y.layout();
    {
        let (a_held, x_held, mut y_held) = (a.memory.held(), x.memory.held(), y.memory.held_mut());
        blas.gemv(alpha, a.view(&a_held), x.view(&x_held), beta, vector_mut(layout, &mut y_held)).unwrap();
    }
    if n == 0 {
        // BLAS leaves y as it is if A has no columns: it does not even scale it.
        let now = members(&y, kind);
        return assert_eq!(now, before);
    }
    check_product("gemv", alpha, &|index| a.reference(index), &x, beta, &before, &mut y);
}

#[test]
fn gemv_multiplies() {
    for_types!(10, blas(), gemv: f32, f64, Complex32, Complex64);
}

/// The band of a matrix, and the matrix.
fn band<T: Number>(a: &TestMatrix<T>, member: usize, rows: usize, lower: usize, upper: usize) -> Host {
    let diagonals = a.reference(member);
    Host::from_fn(rows, a.cols, |row, col| {
        let inside = row <= col + lower && col <= row + upper;
        if inside { diagonals.at(upper + row - col, col) } else { 0.0.into() }
    })
}

fn turned(host: Host, letter: char) -> Host {
    match letter {
        'T' => host.t(),
        'C' => host.h(),
        _ => host,
    }
}

fn gbmv<T: Number + ops::Gbmv>(device: &Device, blas: &Blas, rng: &mut Rng) {
    let (kind, rows, cols) = (Kind::any(rng), size(rng), size(rng));
    let (lower, upper, letter) = (rng.below(3), rng.below(3), op(rng));
    let a = TestMatrix::<T>::new(device, rng, kind, (lower + upper + 1, cols), 'N');
    let (m, n) = if letter == 'N' { (rows, cols) } else { (cols, rows) };
    let x = TestVector::<T>::new(device, rng, kind, n);
    let mut y = TestVector::<T>::new(device, rng, kind, m);
    let (alpha, beta) = factors::<T>(rng);
    let before = members(&y, kind);
    let layout = y.layout();
    {
        let (a_held, x_held, mut y_held) = (a.memory.held(), x.memory.held(), y.memory.held_mut());
        let view = BandRef::new(a.view(&a_held), rows, lower, upper).unwrap();
        let view = match letter {
            'T' => view.t(),
            'C' => view.h(),
            _ => view,
        };
        blas.gbmv(alpha, view, x.view(&x_held), beta, vector_mut(layout, &mut y_held)).unwrap();
    }
    if rows == 0 || cols == 0 {
        return assert_eq!(members(&y, kind), before);
    }
    let reference = |index| turned(band(&a, index, rows, lower, upper), letter);
    check_product("gbmv", alpha, &reference, &x, beta, &before, &mut y);
}

#[test]
fn gbmv_multiplies_bands() {
    for_types!(6, blas(), gbmv: f32, f64, Complex32, Complex64);
}

macro_rules! symmetric_products {
    ($($test:ident, $of:ident, $hermitian:literal, [$($t:ty),+], $full:ident, $packed:ident, [$($band:ident: $($bt:ty),+)?];)*) => {$(
        fn $of<T: Number + ops::$full>(device: &Device, blas: &Blas, rng: &mut Rng) {
            let (kind, n) = (Kind::any(rng), size(rng));
            let letter = if $hermitian { rng.one_of(&['N', 'C']) } else { rng.one_of(&['N', 'T']) };
            let a = TestMatrix::<T>::new(device, rng, kind, (n, n), letter);
            let x = TestVector::<T>::new(device, rng, kind, n);
            let mut y = TestVector::<T>::new(device, rng, kind, n);
            let ((alpha, beta), lower) = (factors::<T>(rng), rng.below(2) == 0);
            let before = members(&y, kind);
            let layout = y.layout();
            {
                let (a_held, x_held, mut y_held) = (a.memory.held(), x.memory.held(), y.memory.held_mut());
                let view = a.view(&a_held).triangle(if lower { Uplo::Lower } else { Uplo::Upper }).unwrap();
                blas.$of(alpha, view, x.view(&x_held), beta, vector_mut(layout, &mut y_held)).unwrap();
            }
            let reference = |index| a.reference(index).mirrored(lower, $hermitian);
            check_product(stringify!($of), alpha, &reference, &x, beta, &before, &mut y);
        }

        #[test]
        fn $test() {
            for_types!(6, blas(), $of: $($t),+);
        }
    )*};
}

symmetric_products! {
    symv_multiplies, symv, false, [f32, f64, Complex32, Complex64], Symv, spmv, [];
    hemv_multiplies, hemv, true, [Complex32, Complex64], Hemv, hpmv, [];
}

macro_rules! packed_products {
    ($($test:ident, $of:ident, $trait:ident, $hermitian:literal, [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng) {
            let (kind, n, lower) = (Kind::any(rng), size(rng), rng.below(2) == 0);
            let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
            let a = linalg_testing::Memory::<T>::new(device, rng, kind, n * (n + 1) / 2);
            let x = TestVector::<T>::new(device, rng, kind, n);
            let mut y = TestVector::<T>::new(device, rng, kind, n);
            let (alpha, beta) = factors::<T>(rng);
            let before = members(&y, kind);
            let layout = y.layout();
            {
                let (a_held, x_held, mut y_held) = (a.held(), x.memory.held(), y.memory.held_mut());
                blas.$of(alpha, packed(n, uplo, &a_held), x.view(&x_held), beta, vector_mut(layout, &mut y_held)).unwrap();
            }
            let reference = |index| unpacked(a.member(index), n, lower).mirrored(lower, $hermitian);
            check_product(stringify!($of), alpha, &reference, &x, beta, &before, &mut y);
        }

        #[test]
        fn $test() {
            for_types!(5, blas(), $of: $($t),+);
        }
    )*};
}

packed_products! {
    spmv_multiplies, spmv, Spmv, false, [f32, f64];
    hpmv_multiplies, hpmv, Hpmv, true, [Complex32, Complex64];
}

macro_rules! band_products {
    ($($test:ident, $of:ident, $trait:ident, $hermitian:literal, [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng) {
            let (kind, n, k, lower) = (Kind::any(rng), size(rng), rng.below(3), rng.below(2) == 0);
            let a = TestMatrix::<T>::new(device, rng, kind, (k + 1, n), 'N');
            let x = TestVector::<T>::new(device, rng, kind, n);
            let mut y = TestVector::<T>::new(device, rng, kind, n);
            let (alpha, beta) = factors::<T>(rng);
            let before = members(&y, kind);
            let layout = y.layout();
            // With no diagonals off the main one, it is taken for a lower triangle.
            let (below, above) = if lower || k == 0 { (k, 0) } else { (0, k) };
            {
                let (a_held, x_held, mut y_held) = (a.memory.held(), x.memory.held(), y.memory.held_mut());
                let view = BandRef::new(a.view(&a_held), n, below, above).unwrap();
                blas.$of(alpha, view, x.view(&x_held), beta, vector_mut(layout, &mut y_held)).unwrap();
            }
            let reference = |index| band(&a, index, n, below, above).mirrored(above == 0, $hermitian);
            check_product(stringify!($of), alpha, &reference, &x, beta, &before, &mut y);
        }

        #[test]
        fn $test() {
            for_types!(5, blas(), $of: $($t),+);
        }
    )*};
}

band_products! {
    sbmv_multiplies, sbmv, Sbmv, false, [f32, f64];
    hbmv_multiplies, hbmv, Hbmv, true, [Complex32, Complex64];
}

macro_rules! rank_one {
    ($($test:ident, $of:ident, $trait:ident, $conjugated:literal, [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng) {
            let (kind, m, n) = (Kind::any(rng), size(rng), size(rng));
            let letter = if $conjugated { 'N' } else { rng.one_of(&['N', 'T']) };
            let mut a = TestMatrix::<T>::new(device, rng, kind, (m, n), letter);
            let x = TestVector::<T>::new(device, rng, kind, m);
            let y = TestVector::<T>::new(device, rng, kind, n);
            let alpha: T = rng.number();
            let before: Vec<Host> = (0..kind.count()).map(|index| a.reference(index)).collect();
            let layout = a.layout();
            {
                let (x_held, y_held, mut a_held) = (x.memory.held(), y.memory.held(), a.memory.held_mut());
                blas.$of(alpha, x.view(&x_held), y.view(&y_held), layout.view(&mut a_held)).unwrap();
            }
            a.read(|_, _| true);
            for (index, before) in before.iter().enumerate() {
                let (x, y) = (x.reference(index), y.reference(index));
                let y = if $conjugated { y.h() } else { y.t() };
                let want = x.mul(&y).scale(alpha.wide()).add(before);
                let size = x.abs().mul(&y.abs()).scale(2.0.into()).add(&before.abs());
                assert_close::<T>(stringify!($of), &a.reference(index), &want, &size, 3);
            }
        }

        #[test]
        fn $test() {
            for_types!(6, blas(), $of: $($t),+);
        }
    )*};
}

rank_one! {
    ger_updates, ger, Ger, false, [f32, f64, Complex32, Complex64];
    gerc_updates, gerc, Gerc, true, [Complex32, Complex64];
}

/// The reference of A ← α x yᵀ + α y xᵀ + A and similar updates.
fn updated(alpha: Complex64, x: &Host, y: Option<&Host>, before: &Host, hermitian: bool) -> Host {
    let other = |v: &Host| if hermitian { v.h() } else { v.t() };
    match y {
        None => x.mul(&other(x)).scale(alpha).add(before),
        Some(y) => {
            let back = if hermitian { alpha.conj() } else { alpha };
            x.mul(&other(y)).scale(alpha).add(&y.mul(&other(x)).scale(back)).add(before)
        }
    }
}

macro_rules! updates {
    ($($test:ident, $of:ident, $trait:ident, $packed:ident, $packed_trait:ident, $hermitian:literal, $alpha:ident, [$($y:ident)?], $packed_type:ty, [$($t:ty),+];)*) => {$(
        fn $of<T: Number + ops::$trait>(device: &Device, blas: &Blas, rng: &mut Rng)
        where
            T::Real: Number,
        {
            let (kind, n, lower) = (Kind::any(rng), size(rng), rng.below(2) == 0);
            let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
            let letter = if $hermitian { 'N' } else { rng.one_of(&['N', 'T']) };
            let mut a = TestMatrix::<T>::new(device, rng, kind, (n, n), letter);
            let x = TestVector::<T>::new(device, rng, kind, n);
            $(let $y = TestVector::<T>::new(device, rng, kind, n);)?
            type Alpha<T> = updates!(@ $alpha T);
            let alpha: Alpha<T> = rng.number();
            let before: Vec<Host> = (0..kind.count()).map(|i| a.reference(i).mirrored(lower, $hermitian)).collect();
            let layout = a.layout();
            {
                let (x_held, mut a_held) = (x.memory.held(), a.memory.held_mut());
                $(let y_held = $y.memory.held();)?
                let view = layout.view(&mut a_held).triangle(uplo).unwrap();
                blas.$of(alpha, x.view(&x_held), $($y.view(&y_held),)? view).unwrap();
            }
            a.read(|row, col| row == col || (row > col) == lower);
            for (index, before) in before.iter().enumerate() {
                let x = x.reference(index);
                let y: Option<Host> = None;
                $(let y = y.or(Some($y.reference(index)));)?
                let want = updated(alpha.wide(), &x, y.as_ref(), before, $hermitian);
                let other = y.as_ref().unwrap_or(&x).abs();
                let size = x.abs().mul(&other.t()).add(&other.mul(&x.abs().t())).scale(2.0.into()).add(&before.abs());
                let (got, want) = (a.reference(index).mirrored(lower, $hermitian), want.mirrored(lower, $hermitian));
                assert_close::<T>(stringify!($of), &got, &want, &size, 4);
            }
        }

        fn $packed<T: Number + ops::$packed_trait>(device: &Device, blas: &Blas, rng: &mut Rng)
        where
            T::Real: Number,
        {
            let (kind, n, lower) = (Kind::any(rng), size(rng), rng.below(2) == 0);
            let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
            let mut a = linalg_testing::Memory::<T>::new(device, rng, kind, n * (n + 1) / 2);
            let x = TestVector::<T>::new(device, rng, kind, n);
            $(let $y = TestVector::<T>::new(device, rng, kind, n);)?
            type Alpha<T> = updates!(@ $alpha T);
            let alpha: Alpha<T> = rng.number();
            let full = |a: &linalg_testing::Memory<T>, i| unpacked(a.member(i), n, lower).mirrored(lower, $hermitian);
            let before: Vec<Host> = (0..kind.count()).map(|i| full(&a, i)).collect();
            {
                let (x_held, mut a_held) = (x.memory.held(), a.held_mut());
                $(let y_held = $y.memory.held();)?
                blas.$packed(alpha, x.view(&x_held), $($y.view(&y_held),)? packed_mut(n, uplo, &mut a_held)).unwrap();
            }
            a.read(|_| true);
            for (index, before) in before.iter().enumerate() {
                let x = x.reference(index);
                let y: Option<Host> = None;
                $(let y = y.or(Some($y.reference(index)));)?
                let want = updated(alpha.wide(), &x, y.as_ref(), before, $hermitian);
                let other = y.as_ref().unwrap_or(&x).abs();
                let size = x.abs().mul(&other.t()).add(&other.mul(&x.abs().t())).scale(2.0.into()).add(&before.abs());
                assert_close::<T>(stringify!($packed), &full(&a, index), &want.mirrored(lower, $hermitian), &size, 4);
            }
        }

        #[test]
        fn $test() {
            for_types!(4, blas(), $of: $($t),+);
            for_types!(4, blas(), $packed: $packed_type);
        }
    )*};
    (@ own $t:ident) => { $t };
    (@ real $t:ident) => { <$t as hipblas::Scalar>::Real };
}

updates! {
    syr_and_spr_update, syr, Syr, spr, Spr, false, own, [], f64, [f32, f64, Complex32, Complex64];
    her_and_hpr_update, her, Her, hpr, Hpr, true, real, [], Complex64, [Complex32, Complex64];
    syr2_and_spr2_update, syr2, Syr2, spr2, Spr2, false, own, [y], f32, [f32, f64, Complex32, Complex64];
    her2_and_hpr2_update, her2, Her2, hpr2, Hpr2, true, own, [y], Complex32, [Complex32, Complex64];
}

fn triangles<T>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T: Number + ops::Trmv + ops::Trsv,
{
    let (kind, n) = (Kind::any(rng), size(rng));
    let (lower, unit, letter) = (rng.below(2) == 0, rng.below(2) == 0, op(rng));
    let mut a = TestMatrix::<T>::new(device, rng, kind, (n, n), letter);
    if !unit {
        a.dominate();
    }
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let before = members(&x, kind);
    let layout = x.layout();
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    for solves in [false, true] {
        let start = members(&x, kind);
        {
            let (a_held, mut x_held) = (a.memory.held(), x.memory.held_mut());
            let view = a.view(&a_held).triangle(uplo).unwrap();
            let view = if unit { view.unit() } else { view };
            let x = vector_mut(layout, &mut x_held);
            if solves { blas.trsv(view, x) } else { blas.trmv(view, x) }.unwrap();
        }
        x.read();
        for (index, start) in start.iter().enumerate() {
            let (a, x) = (a.reference(index).triangle(lower, unit), x.reference(index));
            // A solution is right if A x is the right-hand side, up to roundings of |A| |x|.
            let (got, want, of) = if solves { (a.mul(&x), start, &x) } else { (x.clone(), &a.mul(start), start) };
            assert_close::<T>("trmv, trsv", &got, want, &a.abs().mul(&of.abs()), n + 1);
        }
    }
    let _ = before;
}

#[test]
fn triangles_multiply_and_solve() {
    for_types!(8, blas(), triangles: f32, f64, Complex32, Complex64);
}

fn packed_and_band_triangles<T>(device: &Device, blas: &Blas, rng: &mut Rng)
where
    T: Number + ops::Tpmv + ops::Tpsv + ops::Tbmv + ops::Tbsv,
{
    let (kind, n, k) = (Kind::any(rng), size(rng), rng.below(3));
    let (lower, letter) = (rng.below(2) == 0, op(rng));
    let uplo = if lower { Uplo::Lower } else { Uplo::Upper };
    let (below, above) = if lower || k == 0 { (k, 0) } else { (0, k) };
    let tri = linalg_testing::Memory::<T>::new(device, rng, kind, n * (n + 1) / 2);
    let bands = TestMatrix::<T>::new(device, rng, kind, (k + 1, n), 'N');
    let mut x = TestVector::<T>::new(device, rng, kind, n);
    let layout = x.layout();
    for (step, what) in ["tpmv", "tpsv", "tbmv", "tbsv"].into_iter().enumerate() {
        let start = members(&x, kind);
        {
            let (tri_held, band_held, mut x_held) = (tri.held(), bands.memory.held(), x.memory.held_mut());
            let view = packed(n, uplo, &tri_held).unit();
            let band = BandRef::new(bands.view(&band_held), n, below, above).unwrap().unit();
            let (view, band) = match letter {
                'T' => (view.t(), band.t()),
                'C' => (view.h(), band.h()),
                _ => (view, band),
            };
            let x = vector_mut(layout, &mut x_held);
            match step {
                0 => blas.tpmv(view, x),
                1 => blas.tpsv(view, x),
                2 => blas.tbmv(band, x),
                _ => blas.tbsv(band, x),
            }
            .unwrap();
        }
        x.read();
        for (index, start) in start.iter().enumerate() {
            let a = match step {
                0 | 1 => unpacked(tri.member(index), n, lower).triangle(lower, true),
                _ => band(&bands, index, n, below, above).triangle(above == 0, true),
            };
            let (a, x) = (turned(a, letter), x.reference(index));
            let solves = step % 2 == 1;
            let (got, want, of) = if solves { (a.mul(&x), start, &x) } else { (x.clone(), &a.mul(start), start) };
            assert_close::<T>(what, &got, want, &a.abs().mul(&of.abs()), n + 1);
        }
    }
}

#[test]
fn packed_and_band_triangles_multiply_and_solve() {
    for_types!(4, blas(), packed_and_band_triangles: f32, f64, Complex32, Complex64);
}
