//! Levels 2 and 3 except products: matrices with vectors, symmetric and triangular matrices, triangular systems.

use std::ffi::{c_int, c_void};

use num_complex::{Complex32, Complex64};

use super::support::libraries::{on_each, since};
use super::support::scalar::{Scalar, assert_agree, real, sample};
use super::{Any, Blas, DIAGONALS, FILES, Fill, LEFT, Matrix, Op, SIDES, UNIT, any, at, size, sum_of};

type Handle = *mut c_void;

fn factors<T: Scalar>() -> (Complex64, Complex64) {
    let (alpha, beta) = (Complex64::new(1.25, -0.5), Complex64::new(-0.75, 0.25));
    if T::COMPLEX { (alpha, beta) } else { (real(alpha.re), real(beta.re)) }
}

fn values<T: Scalar>(stored: &[T]) -> Vec<Complex64> {
    stored.iter().map(|number| number.value()).collect()
}

/// `gemv`, and the variants of `ger`.
fn general<T: Scalar>(blas: &Blas, ranks: &[(&str, bool)]) {
    type Gemv =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, Any, Any, c_int, Any, c_int, Any, Any, c_int) -> c_int;
    type Ger = unsafe extern "C" fn(Handle, c_int, c_int, Any, Any, c_int, Any, c_int, Any, c_int) -> c_int;
    let (alpha, beta) = factors::<T>();
    for (m, n, incx, incy) in [(5_usize, 9_usize, 1_usize, 1_usize), (130, 70, 2, 1), (67, 301, 1, 3)] {
        let stride = m + 2;
        let a: Vec<T> = sample(stride * n, 21);
        let da = blas.upload(&a);
        let matrix = Matrix { at: &a, stride };
        for &op in Op::of::<T>() {
            let (outputs, inputs) = op.stored(m, n);
            let (x, y): (Vec<T>, Vec<T>) = (sample(inputs * incx, 22), sample(outputs * incy, 23));
            let (dx, dy) = (blas.upload(&x), blas.upload(&y));
            let (by, and) = (T::of(alpha), T::of(beta));
            // SAFETY: the type is that of rocblas.h, buffers hold matrix and vectors.
            let status = unsafe {
                blas.function::<Gemv>(&format!("{}gemv", T::LETTER))(
                    blas.handle,
                    op.code(),
                    size(m),
                    size(n),
                    any(&by),
                    at(&da),
                    size(stride),
                    at(&dx),
                    size(incx),
                    any(&and),
                    at(&dy),
                    size(incy),
                )
            };
            assert_eq!(status, 0);
            let mut expected = values(&y);
            for row in 0..outputs {
                let products = (0..inputs).map(|i| matrix.get(op, row, i) * x[i * incx].value());
                let sum: Complex64 = products.sum();
                expected[row * incy] = alpha * sum + beta * y[row * incy].value();
            }
            let what = format!("{}gemv {op:?} {m}x{n}", T::LETTER);
            assert_agree(&what, &blas.download(&dy), &expected, 2.0 * sum_of::<T>(inputs));
        }
        let (x, y): (Vec<T>, Vec<T>) = (sample(m * incx, 24), sample(n * incy, 25));
        let (dx, dy) = (blas.upload(&x), blas.upload(&y));
        for (name, conjugated) in ranks {
            let da = blas.upload(&a);
            let by = T::of(alpha);
            // SAFETY: as above.
            let status = unsafe {
                blas.function::<Ger>(name)(
                    blas.handle,
                    size(m),
                    size(n),
                    any(&by),
                    at(&dx),
                    size(incx),
                    at(&dy),
                    size(incy),
                    at(&da),
                    size(stride),
                )
            };
            assert_eq!(status, 0);
            let mut expected = values(&a);
            for column in 0..n {
                for row in 0..m {
                    let y = y[column * incy].value();
                    let y = if *conjugated { y.conj() } else { y };
                    expected[row + column * stride] += alpha * x[row * incx].value() * y;
                }
            }
            assert_agree(&format!("{name} {m}x{n}"), &blas.download(&da), &expected, 2.0 * sum_of::<T>(2));
        }
    }
}

#[test]
fn products_with_vectors_agree_with_the_host() {
    if on_each("matrices::products_with_vectors_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    general::<f32>(&blas, &[("sger", false)]);
    general::<f64>(&blas, &[("dger", false)]);
    general::<Complex32>(&blas, &[("cgeru", false), ("cgerc", true)]);
    general::<Complex64>(&blas, &[("zgeru", false), ("zgerc", true)]);
}

/// A diagonally dominant triangle, with NaN where it must not be read.
fn triangle<T: Scalar>(n: usize, stride: usize, fill: Fill, unit: bool) -> Vec<T> {
    let noise: Vec<T> = sample(stride * n, 31);
    (0..stride * n)
        .map(|index| {
            let (row, column) = (index % stride, index / stride);
            let value = noise[index].value();
            T::of(match row == column {
                _ if row >= n || !fill.holds(row, column) || row == column && unit => real(f64::NAN),
                true => real(2.0) + value,
                false => value / n as f64,
            })
        })
        .collect()
}

/// The full matrix of a triangle, by rows and columns.
fn whole<T: Scalar>(a: &[T], n: usize, stride: usize, fill: Fill, unit: bool, op: Op) -> Vec<Vec<Complex64>> {
    let element = |row: usize, column: usize| {
        let (i, j) = if op == Op::N { (row, column) } else { (column, row) };
        match i == j {
            true if unit => real(1.0),
            _ if !fill.holds(i, j) => real(0.0),
            _ => Matrix { at: a, stride }.get(op, row, column),
        }
    };
    (0..n).map(|row| (0..n).map(|column| element(row, column)).collect()).collect()
}

/// `trmm`, `trsm`, `trmv` and `trsv`: all sides, triangles, operations and diagonals.
fn triangular<T: Scalar>(blas: &Blas, (m, n): (usize, usize)) {
    type Trsm =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, c_int, c_int, c_int, Any, Any, c_int, Any, c_int) -> c_int;
    type Trmm = unsafe extern "C" fn(
        Handle,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        Any,
        Any,
        c_int,
        Any,
        c_int,
        Any,
        c_int,
    ) -> c_int;
    type Trv = unsafe extern "C" fn(Handle, c_int, c_int, c_int, c_int, Any, c_int, Any, c_int) -> c_int;
    let (alpha, _) = factors::<T>();
    let by = T::of(alpha);
    let b: Vec<T> = sample(m * n, 32);
    for side in SIDES {
        let order = if side == LEFT { m } else { n };
        let stride = order + 1;
        for (fill, diagonal) in Fill::BOTH.into_iter().flat_map(|fill| DIAGONALS.map(|diagonal| (fill, diagonal))) {
            let a: Vec<T> = triangle(order, stride, fill, diagonal == UNIT);
            let da = blas.upload(&a);
            for &op in Op::of::<T>() {
                let a = whole(&a, order, stride, fill, diagonal == UNIT, op);
                let times = |b: &[Complex64]| -> Vec<Complex64> {
                    let element = |row: usize, column: usize| -> Complex64 {
                        if side == LEFT {
                            (0..m).map(|i| a[row][i] * b[i + column * m]).sum()
                        } else {
                            (0..n).map(|i| b[row + i * m] * a[i][column]).sum()
                        }
                    };
                    (0..m * n).map(|at| element(at % m, at / m)).collect()
                };
                let what = |name: &str| format!("{}{name} {side} {fill:?} {op:?} {diagonal} {m}x{n}", T::LETTER);
                let (fill, op, rows, columns) = (fill as c_int, op.code(), size(m), size(n));
                let (db, lda) = (blas.upload(&b), size(stride));
                // SAFETY: the type is that of rocblas.h, buffers hold the matrices.
                let status = unsafe {
                    blas.function::<Trsm>(&format!("{}trsm", T::LETTER))(
                        blas.handle,
                        side,
                        fill,
                        op,
                        diagonal,
                        rows,
                        columns,
                        any(&by),
                        at(&da),
                        lda,
                        at(&db),
                        rows,
                    )
                };
                assert_eq!(status, 0);
                // The product with the solution gives the right-hand side. But rocBLAS's `rocblas_trsm_block_forward_substitution` (and its
                // counterpart), which is used for some sizes, uses the diagonal unconjugated where the rest is conjugated, as its source
                // confirms.
                let solution = values(&blas.download(&db));
                let expected: Vec<_> = b.iter().map(|b| alpha * b.value()).collect();
                let mut got = times(&solution);
                if T::COMPLEX && side == LEFT && op == Op::C.code() && diagonal != UNIT {
                    let stored = |at: usize| got[at] + (a[at % m][at % m].conj() - a[at % m][at % m]) * solution[at];
                    let stored: Vec<_> = (0..m * n).map(stored).collect();
                    let distance =
                        |of: &[Complex64]| -> f64 { of.iter().zip(&expected).map(|(a, b)| (a - b).norm()).sum() };
                    if distance(&stored) < distance(&got) {
                        got = stored;
                    }
                }
                let got: Vec<T> = got.into_iter().map(T::of).collect();
                assert_agree(&what("trsm"), &got, &expected, 4.0 * sum_of::<T>(order));

                let (db, dc) = (blas.upload(&b), blas.upload(&b));
                // Since 6.0 out of place, before that in place.
                // SAFETY: as above.
                let status = unsafe {
                    let trmm = format!("{}trmm", T::LETTER);
                    let (by, a, b, c) = (any(&by), at(&da), at(&db), at(&dc));
                    if since("6.0") {
                        blas.function::<Trmm>(&trmm)(
                            blas.handle,
                            side,
                            fill,
                            op,
                            diagonal,
                            rows,
                            columns,
                            by,
                            a,
                            lda,
                            b,
                            rows,
                            c,
                            rows,
                        )
                    } else {
                        blas.function::<Trsm>(&trmm)(
                            blas.handle,
                            side,
                            fill,
                            op,
                            diagonal,
                            rows,
                            columns,
                            by,
                            a,
                            lda,
                            c,
                            rows,
                        )
                    }
                };
                assert_eq!(status, 0);
                let expected: Vec<_> = times(&values(&b)).into_iter().map(|number| alpha * number).collect();
                assert_agree(&what("trmm"), &blas.download(&dc), &expected, 2.0 * sum_of::<T>(order));

                if side != LEFT {
                    continue;
                }
                let x = &b[..order];
                let product = |x: &[Complex64]| -> Vec<Complex64> {
                    (0..order).map(|row| (0..order).map(|i| a[row][i] * x[i]).sum()).collect()
                };
                let (dx, dy) = (blas.upload(x), blas.upload(x));
                // SAFETY: as above.
                let statuses = unsafe {
                    [("trmv", &dx), ("trsv", &dy)].map(|(name, x)| {
                        let name = format!("{}{name}", T::LETTER);
                        blas.function::<Trv>(&name)(
                            blas.handle,
                            fill,
                            op,
                            diagonal,
                            size(order),
                            at(&da),
                            lda,
                            at(x),
                            1,
                        )
                    })
                };
                assert_eq!(statuses, [0; 2]);
                let slack = 4.0 * sum_of::<T>(order);
                assert_agree(&what("trmv"), &blas.download(&dx), &product(&values(x)), slack);
                let got: Vec<T> = product(&values(&blas.download(&dy))).into_iter().map(T::of).collect();
                assert_agree(&what("trsv"), &got, &values(x), slack);
            }
        }
    }
}

/// Small ones, and ones that need several blocks, which wait for each other (`trsv`).
#[test]
fn triangular_products_and_systems_agree_with_the_host() {
    if on_each("matrices::triangular_products_and_systems_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    for sizes in [(20, 7), (150, 70)] {
        triangular::<f32>(&blas, sizes);
        triangular::<f64>(&blas, sizes);
    }
    triangular::<Complex32>(&blas, (37, 66));
    triangular::<Complex64>(&blas, (37, 66));
}

/// `symm`, `syrk` and `symv`, or their Hermitian kinds.
fn symmetric<T: Scalar>(blas: &Blas, hermitian: bool) {
    type Symm =
        unsafe extern "C" fn(Handle, c_int, c_int, c_int, c_int, Any, Any, c_int, Any, c_int, Any, Any, c_int) -> c_int;
    type Syrk = unsafe extern "C" fn(Handle, c_int, c_int, c_int, c_int, Any, Any, c_int, Any, Any, c_int) -> c_int;
    type Symv = unsafe extern "C" fn(Handle, c_int, c_int, Any, Any, c_int, Any, c_int, Any, Any, c_int) -> c_int;
    let name = |of: &str| format!("{}{}", T::LETTER, if hermitian { of.replace("sy", "he") } else { of.to_owned() });
    let (alpha, beta) = factors::<T>();
    let (by, and) = (T::of(alpha), T::of(beta));
    let (m, n) = (77_usize, 50_usize);
    for fill in Fill::BOTH {
        // The other half must not be read.
        let noise: Vec<T> = sample(m * m, 41);
        let a: Vec<T> =
            (0..m * m).map(|at| if fill.holds(at % m, at / m) { noise[at] } else { T::of(real(f64::NAN)) }).collect();
        let element = |row: usize, column: usize| {
            let value = |row: usize, column: usize| a[row + column * m].value();
            match (fill.holds(row, column), hermitian) {
                (true, true) if row == column => real(value(row, column).re),
                (true, _) => value(row, column),
                (false, true) => value(column, row).conj(),
                (false, false) => value(column, row),
            }
        };
        let da = blas.upload(&a);
        let (b, c): (Vec<T>, Vec<T>) = (sample(m * n, 42), sample(m * n, 43));
        for side in SIDES {
            // A is on the left of m by n, on the right of n by m.
            let (rows, columns) = if side == LEFT { (m, n) } else { (n, m) };
            let (db, dc) = (blas.upload(&b), blas.upload(&c));
            let stride = size(rows);
            // SAFETY: the type is that of rocblas.h, buffers hold the matrices.
            let status = unsafe {
                blas.function::<Symm>(&name("symm"))(
                    blas.handle,
                    side,
                    fill as c_int,
                    stride,
                    size(columns),
                    any(&by),
                    at(&da),
                    size(m),
                    at(&db),
                    stride,
                    any(&and),
                    at(&dc),
                    stride,
                )
            };
            assert_eq!(status, 0);
            let expected: Vec<Complex64> = (0..m * n)
                .map(|index| {
                    let (row, column) = (index % rows, index / rows);
                    let b = |row: usize, column: usize| b[row + column * rows].value();
                    let sum: Complex64 = match side == LEFT {
                        true => (0..m).map(|i| element(row, i) * b(i, column)).sum(),
                        false => (0..m).map(|i| b(row, i) * element(i, column)).sum(),
                    };
                    alpha * sum + beta * c[index].value()
                })
                .collect();
            let what = format!("{} {side} {fill:?}", name("symm"));
            assert_agree(&what, &blas.download(&dc), &expected, 2.0 * sum_of::<T>(m));
        }
        let (x, y): (Vec<T>, Vec<T>) = (sample(m, 44), sample(m, 45));
        let (dx, dy) = (blas.upload(&x), blas.upload(&y));
        if T::COMPLEX == hermitian {
            // SAFETY: as above.
            let status = unsafe {
                blas.function::<Symv>(&name("symv"))(
                    blas.handle,
                    fill as c_int,
                    size(m),
                    any(&by),
                    at(&da),
                    size(m),
                    at(&dx),
                    1,
                    any(&and),
                    at(&dy),
                    1,
                )
            };
            assert_eq!(status, 0);
            let line = |row: usize| (0..m).map(|i| element(row, i) * x[i].value()).sum::<Complex64>();
            let expected: Vec<_> = (0..m).map(|row| alpha * line(row) + beta * y[row].value()).collect();
            let what = format!("{} {fill:?}", name("symv"));
            assert_agree(&what, &blas.download(&dy), &expected, 2.0 * sum_of::<T>(m));
        }
        for op in [Op::N, if hermitian { Op::C } else { Op::T }] {
            let (order, depth) = op.stored(m, n);
            let (b_at, c): (Matrix<'_, T>, Vec<T>) = (Matrix { at: &b, stride: m }, sample(order * order, 46));
            let (db, dc) = (blas.upload(&b), blas.upload(&c));
            // The factors of the Hermitian variant are real.
            let (real_by, real_and) = (T::of(real(alpha.re)), T::of(real(beta.re)));
            let (by, and) = if hermitian { (real_by, real_and) } else { (by, and) };
            let (alpha, beta) = (by.value(), and.value());
            // SAFETY: as above; a real factor is the first part of a complex one.
            let status = unsafe {
                blas.function::<Syrk>(&name("syrk"))(
                    blas.handle,
                    fill as c_int,
                    op.code(),
                    size(order),
                    size(depth),
                    any(&by),
                    at(&db),
                    size(m),
                    any(&and),
                    at(&dc),
                    size(order),
                )
            };
            assert_eq!(status, 0);
            let other = |row: usize, i: usize| {
                let value = b_at.get(op, row, i);
                if hermitian { value.conj() } else { value }
            };
            let expected: Vec<Complex64> = (0..order * order)
                .map(|index| {
                    let (row, column) = (index % order, index / order);
                    let old = c[index].value();
                    if !fill.holds(row, column) {
                        return old;
                    }
                    let sum: Complex64 = (0..depth).map(|i| b_at.get(op, row, i) * other(column, i)).sum();
                    let new = alpha * sum + beta * old;
                    if hermitian && row == column { real(new.re) } else { new }
                })
                .collect();
            let what = format!("{} {fill:?} {op:?}", name("syrk"));
            assert_agree(&what, &blas.download(&dc), &expected, 2.0 * sum_of::<T>(depth));
        }
    }
}

#[test]
fn symmetric_products_agree_with_the_host() {
    if on_each("matrices::symmetric_products_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    symmetric::<f32>(&blas, false);
    symmetric::<f64>(&blas, false);
    symmetric::<Complex32>(&blas, false);
    symmetric::<Complex32>(&blas, true);
    symmetric::<Complex64>(&blas, true);
}
