//! Matrix products: Tensile's kernels with matrix instructions.

use std::ffi::c_int;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::support::libraries::on_each;
use super::support::scalar::{Scalar, assert_agree, real, sample};
use super::{Any, Blas, FILES, Matrix, Op, any, at, size, sum_of};

/// Checks the names of the kernels that ran, and that some of them use matrix instructions: Tensile names those `MI`.
fn assert_tensile_ran(texts: Option<Vec<(&str, String)>>) -> bool {
    let Some(texts) = texts else { return false };
    for (arch, text) in texts {
        let kernels: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("hsa-sim: kernel ")?.split(':').next()).collect();
        let tensile = kernels.iter().filter(|name| name.starts_with("Cijk_")).count();
        let matrix = kernels.iter().filter(|name| name.starts_with("Cijk_") && name.contains("_MI")).count();
        assert!(matrix > 0, "{arch}: no matrix instructions in {kernels:?}");
        println!("{arch}: {} kernels, {tensile} of Tensile, {matrix} with matrix instructions", kernels.len());
    }
    true
}

/// The parameters of a matrix product.
struct Case {
    ops: (Op, Op),
    sizes: (usize, usize, usize),
    batch: usize,
    alpha: Complex64,
    beta: Complex64,
}

/// A product; without an imaginary part for real types, since infinity times zero is NaN.
fn times<T: Scalar>(a: Complex64, b: Complex64) -> Complex64 {
    if T::COMPLEX { a * b } else { real(a.re * b.re) }
}

/// The matrices of a case, one batch after the other; the column stride is three more than the column length.
struct Operands<A, C> {
    a: Vec<A>,
    b: Vec<A>,
    c: Vec<C>,
    strides: [usize; 3],
    lengths: [usize; 3],
}

impl<A: Scalar, C: Scalar> Operands<A, C> {
    fn sample(case: &Case) -> Self {
        let (m, n, k) = case.sizes;
        let ((a_rows, a_columns), (b_rows, b_columns)) = (case.ops.0.stored(m, k), case.ops.1.stored(k, n));
        let strides = [a_rows + 3, b_rows + 3, m + 3];
        let lengths = [strides[0] * a_columns, strides[1] * b_columns, strides[2] * n];
        let mut c: Vec<C> = sample(lengths[2] * case.batch, 13);
        if case.beta == real(0.0) && C::ROUNDING > 0.0 {
            // It must not be read.
            c.fill(C::of(Complex64::new(f64::NAN, f64::NAN)));
        }
        Self { a: sample(lengths[0] * case.batch, 11), b: sample(lengths[1] * case.batch, 12), c, strides, lengths }
    }

    /// The expected contents of `c`; the elements between columns do not change.
    fn expected(&self, case: &Case) -> Vec<Complex64> {
        let (m, n, k) = case.sizes;
        let mut out: Vec<Complex64> = self.c.iter().map(|c| c.value()).collect();
        for batch in 0..case.batch {
            let a = Matrix { at: &self.a[batch * self.lengths[0]..], stride: self.strides[0] };
            let b = Matrix { at: &self.b[batch * self.lengths[1]..], stride: self.strides[1] };
            for column in 0..n {
                for row in 0..m {
                    let sum: Complex64 =
                        (0..k).map(|i| times::<A>(a.get(case.ops.0, row, i), b.get(case.ops.1, i, column))).sum();
                    let c = &mut out[batch * self.lengths[2] + row + column * self.strides[2]];
                    let old = if case.beta == real(0.0) { real(0.0) } else { times::<A>(case.beta, *c) };
                    *c = times::<A>(case.alpha, sum) + old;
                }
            }
        }
        out
    }
}

type Gemm = unsafe extern "C" fn(
    *mut std::ffi::c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    Any,
    Any,
    c_int,
    i64,
    Any,
    c_int,
    i64,
    Any,
    Any,
    c_int,
    i64,
    c_int,
) -> c_int;

/// `rocblas_Xgemm_strided_batched`.
fn gemm<T: Scalar>(blas: &Blas, case: &Case, operands: &Operands<T, T>) -> Vec<T> {
    let [a, b, c] = [&operands.a, &operands.b, &operands.c].map(|matrix| blas.upload(matrix));
    let (alpha, beta) = (T::of(case.alpha), T::of(case.beta));
    let [lda, ldb, ldc] = operands.strides.map(size);
    let [stride_a, stride_b, stride_c] = operands.lengths.map(|n| n as i64);
    // SAFETY: the type is that of rocblas.h, buffers hold the matrices.
    let status = unsafe {
        blas.function::<Gemm>(&format!("{}gemm_strided_batched", T::LETTER))(
            blas.handle,
            case.ops.0.code(),
            case.ops.1.code(),
            size(case.sizes.0),
            size(case.sizes.1),
            size(case.sizes.2),
            any(&alpha),
            at(&a),
            lda,
            stride_a,
            at(&b),
            ldb,
            stride_b,
            any(&beta),
            at(&c),
            ldc,
            stride_c,
            size(case.batch),
        )
    };
    assert_eq!(status, 0);
    blas.download(&c)
}

const SIZES: [(usize, usize, usize, usize); 4] = [(1, 1, 1, 1), (33, 17, 29, 1), (70, 65, 40, 2), (128, 96, 64, 1)];

fn gemms<T: Scalar>(blas: &Blas) {
    for &first in Op::of::<T>() {
        for &second in Op::of::<T>() {
            for (at, (m, n, k, batch)) in SIZES.into_iter().enumerate() {
                let beta = if at % 2 == 1 { real(0.0) } else { Complex64::new(-0.5, 0.25) };
                let alpha = Complex64::new(1.5, -0.5);
                let [alpha, beta] =
                    if T::COMPLEX { [alpha, beta] } else { [alpha, beta].map(|factor| real(factor.re)) };
                let case = Case { ops: (first, second), sizes: (m, n, k), batch, alpha, beta };
                let operands = Operands::<T, T>::sample(&case);
                let what = format!("{}gemm {first:?}{second:?} {m}x{n}x{k}x{batch}", T::LETTER);
                assert_agree(&what, &gemm(blas, &case, &operands), &operands.expected(&case), 2.0 * sum_of::<T>(k));
            }
        }
    }
}

/// Batches, plain, transposed and conjugated, of odd sizes and of sizes that Tensile's large kernels take.
#[test]
fn sgemm_agrees_with_the_host() {
    let texts = on_each("gemm::sgemm_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if !assert_tensile_ran(texts) {
        gemms::<f32>(&Blas::new());
    }
}

#[test]
fn dgemm_agrees_with_the_host() {
    let texts = on_each("gemm::dgemm_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if !assert_tensile_ran(texts) {
        gemms::<f64>(&Blas::new());
    }
}

#[test]
fn hgemm_agrees_with_the_host() {
    let texts = on_each("gemm::hgemm_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if !assert_tensile_ran(texts) {
        gemms::<f16>(&Blas::new());
    }
}

#[test]
fn cgemm_agrees_with_the_host() {
    let texts = on_each("gemm::cgemm_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if !assert_tensile_ran(texts) {
        gemms::<Complex32>(&Blas::new());
    }
}

#[test]
fn zgemm_agrees_with_the_host() {
    let texts = on_each("gemm::zgemm_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if !assert_tensile_ran(texts) {
        gemms::<Complex64>(&Blas::new());
    }
}

type GemmEx = unsafe extern "C" fn(
    *mut std::ffi::c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    Any,
    Any,
    c_int,
    c_int,
    Any,
    c_int,
    c_int,
    Any,
    Any,
    c_int,
    c_int,
    Any,
    c_int,
    c_int,
    c_int,
    c_int,
    i32,
    u32,
) -> c_int;

/// `rocblas_datatype` of a real type.
fn code<T: Scalar>() -> c_int {
    match T::LETTER {
        "h" => 150,
        "s" => 151,
        "d" => 152,
        "i8" => 160,
        "i32" => 162,
        "bf" => 168,
        other => unreachable!("{other}"),
    }
}

/// `rocblas_gemm_ex`, out of place: A and B of one type, C and D of another, calculated in a third.
fn gemm_ex<A: Scalar, C: Scalar, By: Scalar>(blas: &Blas) {
    for first in [Op::N, Op::T] {
        for second in [Op::N, Op::T] {
            // Sizes that are multiples of four, as old releases require.
            for (m, n, k) in [(16, 16, 16), (68, 36, 44), (128, 64, 96)] {
                let (alpha, beta) = (real(2.0), real(-3.0));
                let case = Case { ops: (first, second), sizes: (m, n, k), batch: 1, alpha, beta };
                let mut operands = Operands::<A, C>::sample(&case);
                // Columns of bytes must be aligned to four.
                if A::LETTER == "i8" {
                    let ((rows, columns), (of_b, by)) = (first.stored(m, k), second.stored(k, n));
                    (operands.strides[0], operands.strides[1]) = (rows, of_b);
                    operands.a.truncate(rows * columns);
                    operands.b.truncate(of_b * by);
                }
                let [a, b] = [&operands.a, &operands.b].map(|matrix| blas.upload(matrix));
                let (c, d) = (blas.upload(&operands.c), blas.upload(&operands.c));
                let (alpha, beta) = (By::of(alpha), By::of(beta));
                let [lda, ldb, ldc] = operands.strides.map(size);
                // SAFETY: the type is that of rocblas.h, buffers hold the matrices.
                let status = unsafe {
                    blas.function::<GemmEx>("gemm_ex")(
                        blas.handle,
                        first.code(),
                        second.code(),
                        size(m),
                        size(n),
                        size(k),
                        any(&alpha),
                        at(&a),
                        code::<A>(),
                        lda,
                        at(&b),
                        code::<A>(),
                        ldb,
                        any(&beta),
                        at(&c),
                        code::<C>(),
                        ldc,
                        at(&d),
                        code::<C>(),
                        ldc,
                        code::<By>(),
                        0,
                        0,
                        0,
                    )
                };
                let what = format!("gemm_ex {} to {} {first:?}{second:?} {m}x{n}x{k}", A::LETTER, C::LETTER);
                assert_eq!(status, 0, "{what}");
                let slack = 4.0 * sum_of::<By>(k);
                assert_agree(&what, &blas.download(&d), &operands.expected(&case), slack);
            }
        }
    }
}

/// Small types whose products are accumulated in larger ones; integers are exact.
#[test]
fn gemm_ex_agrees_with_the_host() {
    let texts = on_each("gemm::gemm_ex_agrees_with_the_host", &FILES, &[("HIP_SIM_LOG", "kernels")]);
    if assert_tensile_ran(texts) {
        return;
    }
    let blas = Blas::new();
    gemm_ex::<f16, f32, f32>(&blas);
    gemm_ex::<f16, f16, f32>(&blas);
    gemm_ex::<bf16, f32, f32>(&blas);
    gemm_ex::<bf16, bf16, f32>(&blas);
    gemm_ex::<i8, i32, i32>(&blas);
}

/// Infinities and NaNs propagate to rows and columns as in f64 arithmetic; with a factor of zero they are not read.
fn spreads<T: Scalar>(blas: &Blas) {
    let case = |alpha, beta| Case { ops: (Op::N, Op::T), sizes: (40, 50, 30), batch: 1, alpha, beta };
    let (plain, none) = (case(real(1.0), real(1.0)), case(real(0.0), real(2.0)));
    let mut operands = Operands::<T, T>::sample(&plain);
    // Without zeros: zero times infinity is NaN, and complex arithmetic has several variants.
    for number in operands.a.iter_mut().chain(&mut operands.b) {
        if number.value() == real(0.0) {
            *number = T::of(real(0.5));
        }
    }
    let stride = operands.strides[0];
    operands.a[3 + 5 * stride] = T::of(real(f64::INFINITY));
    operands.a[10 + 2 * stride] = T::of(real(f64::NAN));
    operands.b[20 + 7 * operands.strides[1]] = T::of(real(f64::NEG_INFINITY));
    let expected = operands.expected(&plain);
    assert!(expected.iter().filter(|number| !number.re.is_finite()).count() > 2 * 50);
    let what = format!("{}gemm with infinities", T::LETTER);
    assert_agree(&what, &gemm(blas, &plain, &operands), &expected, 2.0 * sum_of::<T>(30));
    let expected: Vec<_> = operands.expected(&Case { sizes: (40, 50, 0), ..none });
    let what = format!("{}gemm with no factor", T::LETTER);
    assert_agree(&what, &gemm(blas, &case(real(0.0), real(2.0)), &operands), &expected, 0.0);
}

#[test]
fn infinities_and_nans_spread_as_on_the_host() {
    if on_each("gemm::infinities_and_nans_spread_as_on_the_host", &FILES, &[]).is_none() {
        let blas = Blas::new();
        spreads::<f32>(&blas);
        spreads::<f64>(&blas);
        spreads::<f16>(&blas);
    }
}
