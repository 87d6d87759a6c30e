//! Level 1: vectors with strides of one and more, forwards.

use std::ffi::{c_int, c_void};

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::support::libraries::on_each;
use super::support::scalar::{Scalar, assert_agree, real, sample};
use super::{Any, Blas, FILES, any, at, size, sum_of};

type Handle = *mut c_void;

/// Lengths and strides of x and y: less than a wave, many workgroups, and with gaps.
const SHAPES: [(usize, usize, usize); 3] = [(7, 1, 1), (1500, 1, 1), (333, 2, 3)];

/// Elements of a vector as it is stored.
fn elements<T: Scalar>(stored: &[T], n: usize, step: usize) -> Vec<Complex64> {
    stored.iter().step_by(step).take(n).map(|number| number.value()).collect()
}

/// A stored vector with its elements replaced.
fn replaced<T: Scalar>(stored: &[T], step: usize, elements: &[Complex64]) -> Vec<Complex64> {
    let mut out: Vec<Complex64> = stored.iter().map(|number| number.value()).collect();
    for (place, element) in out.iter_mut().step_by(step).zip(elements) {
        *place = *element;
    }
    out
}

fn scalar<T: Scalar>(re: f64, im: f64) -> Complex64 {
    T::of(Complex64::new(re, if T::COMPLEX { im } else { 0.0 })).value()
}

/// `axpy`, `scal`, `copy`, `swap` and `dot` of one type.
fn of_each_type<T: Scalar>(blas: &Blas, dots: &[(&str, bool)], scaled_and_moved: bool) {
    type Axpy = unsafe extern "C" fn(Handle, c_int, Any, Any, c_int, Any, c_int) -> c_int;
    type Scal = unsafe extern "C" fn(Handle, c_int, Any, Any, c_int) -> c_int;
    type Two = unsafe extern "C" fn(Handle, c_int, Any, c_int, Any, c_int) -> c_int;
    type Dot = unsafe extern "C" fn(Handle, c_int, Any, c_int, Any, c_int, *mut c_void) -> c_int;
    for (n, x_step, y_step) in SHAPES {
        let (x, y): (Vec<T>, Vec<T>) = (sample(n * x_step, 1), sample(n * y_step, 2));
        let (xs, ys) = (elements(&x, n, x_step), elements(&y, n, y_step));
        let alpha = scalar::<T>(1.5, -0.25);
        let factor = T::of(alpha);
        let (dx, dy) = (blas.upload(&x), blas.upload(&y));
        let (count, incx, incy) = (size(n), size(x_step), size(y_step));
        let what = |name: &str| format!("{}{name} of {n} by {x_step}, {y_step}", T::LETTER);
        for (name, conjugated) in dots {
            let mut dot = T::of(real(0.0));
            // SAFETY: the type is that of rocblas.h, buffers hold the vectors, and the result is waited for.
            let status = unsafe {
                let dot_at = (&raw mut dot).cast();
                blas.function::<Dot>(name)(blas.handle, count, at(&dx), incx, at(&dy), incy, dot_at)
            };
            assert_eq!(status, 0);
            let products = xs.iter().zip(&ys).map(|(x, y)| if *conjugated { x.conj() * y } else { x * y });
            let slack = sum_of::<T>(n).max(T::ROUNDING);
            assert_agree(&what(name), &[dot], &[products.sum()], slack);
        }
        // SAFETY: the type is that of rocblas.h, buffers hold the vectors.
        let status = unsafe {
            blas.function::<Axpy>(&format!("{}axpy", T::LETTER))(
                blas.handle,
                count,
                any(&factor),
                at(&dx),
                incx,
                at(&dy),
                incy,
            )
        };
        assert_eq!(status, 0);
        let sums: Vec<_> = xs.iter().zip(&ys).map(|(x, y)| alpha * x + y).collect();
        assert_agree(&what("axpy"), &blas.download(&dy), &replaced(&y, y_step, &sums), 2.0 * sum_of::<T>(1));
        if !scaled_and_moved {
            continue;
        }
        let dy = blas.upload(&y);
        // SAFETY: as above.
        let statuses = unsafe {
            [
                blas.function::<Scal>(&format!("{}scal", T::LETTER))(blas.handle, count, any(&factor), at(&dx), incx),
                blas.function::<Two>(&format!("{}swap", T::LETTER))(blas.handle, count, at(&dx), incx, at(&dy), incy),
            ]
        };
        assert_eq!(statuses, [0; 2]);
        let scaled: Vec<_> = xs.iter().map(|x| alpha * x).collect();
        assert_agree(&what("swap"), &blas.download(&dx), &replaced(&x, x_step, &ys), 0.0);
        assert_agree(&what("scal"), &blas.download(&dy), &replaced(&y, y_step, &scaled), 2.0 * sum_of::<T>(1));
        // SAFETY: as above.
        let status = unsafe {
            blas.function::<Two>(&format!("{}copy", T::LETTER))(blas.handle, count, at(&dx), incx, at(&dy), incy)
        };
        assert_eq!(status, 0);
        assert_agree(&what("copy"), &blas.download(&dy), &replaced(&y, y_step, &ys), 0.0);
    }
}

#[test]
fn sums_and_products_of_vectors_agree_with_the_host() {
    if on_each("vectors::sums_and_products_of_vectors_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    of_each_type::<f32>(&blas, &[("sdot", false)], true);
    of_each_type::<f64>(&blas, &[("ddot", false)], true);
    of_each_type::<Complex32>(&blas, &[("cdotu", false), ("cdotc", true)], true);
    of_each_type::<Complex64>(&blas, &[("zdotu", false), ("zdotc", true)], true);
    // Half precision supports no more than this.
    of_each_type::<f16>(&blas, &[("hdot", false)], false);
    // There is no axpy.
    let (x, y): (Vec<bf16>, Vec<bf16>) = (sample(600, 3), sample(600, 4));
    let (dx, dy) = (blas.upload(&x), blas.upload(&y));
    let mut dot = bf16::ZERO;
    // SAFETY: the type is that of rocblas.h, buffers hold the vectors, and the result is waited for.
    let status = unsafe {
        type Dot = unsafe extern "C" fn(Handle, c_int, Any, c_int, Any, c_int, *mut bf16) -> c_int;
        blas.function::<Dot>("bfdot")(blas.handle, 600, at(&dx), 1, at(&dy), 1, &mut dot)
    };
    assert_eq!(status, 0);
    let expected = x.iter().zip(&y).map(|(x, y)| x.value() * y.value()).sum();
    assert_agree("bfdot", &[dot], &[expected], bf16::ROUNDING);
}

/// `nrm2`, `asum`, `iamax` and `iamin`: `R` is the type of a part of `T`.
fn reductions<T: Scalar, R: Scalar>(blas: &Blas, nrm2: &str, asum: &str, max: &str) {
    type Of = unsafe extern "C" fn(Handle, c_int, Any, c_int, *mut c_void) -> c_int;
    for (n, step, _) in SHAPES {
        let x: Vec<T> = sample(n * step, 5);
        let xs = elements(&x, n, step);
        let dx = blas.upload(&x);
        let (mut norm, mut sum, mut largest, mut smallest) = (R::of(real(0.0)), R::of(real(0.0)), 0_i32, 0_i32);
        let (count, incx) = (size(n), size(step));
        // SAFETY: the types are those of rocblas.h, the buffer holds the vector, and results are waited for.
        let statuses = unsafe {
            let call = |name: &str, out: *mut c_void| blas.function::<Of>(name)(blas.handle, count, at(&dx), incx, out);
            [
                call(nrm2, (&raw mut norm).cast()),
                call(asum, (&raw mut sum).cast()),
                call(max, (&raw mut largest).cast()),
                call(&max.replace("max", "min"), (&raw mut smallest).cast()),
            ]
        };
        assert_eq!(statuses, [0; 4]);
        let absolute: Vec<f64> = xs.iter().map(|x| x.re.abs() + x.im.abs()).collect();
        let square: f64 = xs.iter().map(|x| x.norm_sqr()).sum();
        assert_agree(&format!("{nrm2} of {n}"), &[norm], &[real(square.sqrt())], sum_of::<R>(n));
        assert_agree(&format!("{asum} of {n}"), &[sum], &[real(absolute.iter().sum())], sum_of::<R>(n));
        // The first of equal elements.
        let first = |wanted: f64| absolute.iter().position(|value| *value == wanted).unwrap() as i32 + 1;
        assert_eq!(largest, first(absolute.iter().copied().fold(0.0, f64::max)), "{max} of {n}");
        assert_eq!(smallest, first(absolute.iter().copied().fold(9.0, f64::min)), "{max} of {n}, the least");
    }
}

#[test]
fn norms_and_extremes_agree_with_the_host() {
    if on_each("vectors::norms_and_extremes_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    reductions::<f32, f32>(&blas, "snrm2", "sasum", "isamax");
    reductions::<f64, f64>(&blas, "dnrm2", "dasum", "idamax");
    reductions::<Complex32, f32>(&blas, "scnrm2", "scasum", "icamax");
    reductions::<Complex64, f64>(&blas, "dznrm2", "dzasum", "izamax");
}

/// `rot` with a real cosine and a sine of the type itself.
fn rotations<T: Scalar, R: Scalar>(blas: &Blas) {
    type Rot = unsafe extern "C" fn(Handle, c_int, Any, c_int, Any, c_int, Any, Any) -> c_int;
    for (n, x_step, y_step) in SHAPES {
        let (x, y): (Vec<T>, Vec<T>) = (sample(n * x_step, 6), sample(n * y_step, 7));
        let (xs, ys) = (elements(&x, n, x_step), elements(&y, n, y_step));
        let (cosine, sine) = (R::of(real(0.6)), T::of(scalar::<T>(0.48, 0.64)));
        let (c, s) = (cosine.value(), sine.value());
        let (dx, dy) = (blas.upload(&x), blas.upload(&y));
        let (count, incx, incy) = (size(n), size(x_step), size(y_step));
        // SAFETY: the type is that of rocblas.h, buffers hold the vectors.
        let status = unsafe {
            blas.function::<Rot>(&format!("{}rot", T::LETTER))(
                blas.handle,
                count,
                at(&dx),
                incx,
                at(&dy),
                incy,
                any(&cosine),
                any(&sine),
            )
        };
        assert_eq!(status, 0);
        let new_x: Vec<_> = xs.iter().zip(&ys).map(|(x, y)| c * x + s * y).collect();
        let new_y: Vec<_> = xs.iter().zip(&ys).map(|(x, y)| c * y - s.conj() * x).collect();
        let what = |of: &str| format!("{}rot of {n}: {of}", T::LETTER);
        assert_agree(&what("x"), &blas.download(&dx), &replaced(&x, x_step, &new_x), 2.0 * sum_of::<T>(2));
        assert_agree(&what("y"), &blas.download(&dy), &replaced(&y, y_step, &new_y), 2.0 * sum_of::<T>(2));
    }
}

#[test]
fn rotations_agree_with_the_host() {
    if on_each("vectors::rotations_agree_with_the_host", &FILES, &[]).is_some() {
        return;
    }
    let blas = Blas::new();
    rotations::<f32, f32>(&blas);
    rotations::<f64, f64>(&blas);
    rotations::<Complex32, f32>(&blas);
    rotations::<Complex64, f64>(&blas);
}
