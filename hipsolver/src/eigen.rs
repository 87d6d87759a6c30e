//! Eigenvalues and singular values.

use std::ffi::{c_schar, c_void};
use std::ops::Range;
use std::ptr;

use hip_linalg::{Batch, IntoMatrixMut, IntoVectorMut, Lowered, MatrixMut, Op, Operands, Scalar, Shapes, TriangleMut};

use crate::checks::{alone, as_stored, int, invalid, values};
use crate::dense::{not_positive, plan};
use crate::problem::EigenProblem;
use crate::raw::{self, *};
use crate::scaling::{Array, Part, Scaling, times_power};
use crate::solver::{Jacobi, Outcome, Plan};
use crate::{Cause, Result, Solver};

/// The eigenvalues that [`Solver::syevdx`] and [`Solver::sygvdx`] compute.
#[derive(Clone, Debug, PartialEq)]
pub enum EigenRange<R> {
    /// All.
    All,
    /// Those above the first number, up to and including the second.
    Between(R, R),
    /// Those with these indices, counted from 0, in ascending order.
    Indices(Range<usize>),
}

/// A range as C expects it.
struct Bounds<R> {
    kind: u32,
    above: R,
    up_to: R,
    first: i32,
    last: i32,
}

impl<R: Scalar + PartialOrd> EigenRange<R> {
    fn bounds(self, order: usize) -> Result<Bounds<R>> {
        let all = Bounds { kind: 221, above: R::ZERO, up_to: R::ZERO, first: 1, last: int("the order of A", order)? };
        match self {
            // An empty matrix has no eigenvalues in any range.
            _ if order == 0 => Ok(all),
            Self::All => Ok(all),
            Self::Between(above, up_to) if above < up_to => Ok(Bounds { kind: 222, above, up_to, ..all }),
            Self::Between(above, up_to) => {
                let found = format!("above {above:?}, up to {up_to:?}");
                Err(invalid("the range of eigenvalues", found, "numbers, the first below the second"))
            }
            Self::Indices(range) if range.start < range.end && range.end <= order => {
                let (first, last) = (int("an index", range.start + 1)?, int("an index", range.end)?);
                Ok(Bounds { kind: 223, first, last, ..all })
            }
            Self::Indices(range) => {
                let allowed = format!("at least one, and within 0..{order}");
                Err(invalid("the indices of eigenvalues", format!("{range:?}"), allowed))
            }
        }
    }
}

/// Adds the matrices of singular vectors to the shapes of a call.
fn with_vectors<T>(shapes: Shapes, vectors: &Option<(MatrixMut<'_, T>, MatrixMut<'_, T>)>) -> Shapes {
    match vectors {
        Some((u, v)) => shapes.and("U", u.into()).and("V", v.into()),
        None => shapes,
    }
}

/// Returns the triangle in memory of A and B, which must be the same.
fn pair_of_triangles<T: Scalar>(shapes: &Shapes, a: &TriangleMut<'_, T>, b: &TriangleMut<'_, T>) -> Result<u32> {
    let uplo = triangle("A", a, true)?;
    if triangle("B", b, true)? != uplo {
        return Err(invalid("the triangle of B", format!("{:?}", b.stored()), format!("{:?}, as of A", a.stored())));
    }
    alone("A", a.matrix().batch_size())?;
    alone("B", b.matrix().batch_size())?;
    shapes.fits("the order of B", b.order(), a.order(), "as A")?;
    Ok(uplo)
}

/// Describes A and B of a generalized problem, and the location of the eigenvalues, for [`Scaling`].
fn generalised<T: Scalar>(
    (a, b, w): (Lowered, Lowered, *mut c_void),
    n: i32,
    uplo: u32,
    problem: EigenProblem,
    vectors: u32,
) -> Option<Scaling> {
    let of = |place| Array::new::<T>(place, n, n, Part::of(uplo));
    Some(Scaling::new::<T>(of(a), w, n, 1).generalised(of(b), problem, vectors == mode(true)))
}

fn not_converged(info: usize) -> Cause {
    Cause::NotConverged { remaining: info }
}

fn mode(vectors: bool) -> u32 {
    if vectors { 202 } else { 201 }
}

/// An output that is not requested.
const NONE: Lowered = Lowered { pointer: ptr::null_mut(), step: 1, stride: 0 };

/// Checks the triangle of a matrix that the eigenvectors overwrite: it must be stored as it is viewed, unless it is
/// real and no vectors are requested.
fn triangle<T: Scalar>(what: &'static str, a: &TriangleMut<'_, T>, vectors: bool) -> Result<u32> {
    let op = a.matrix().op();
    if vectors || T::COMPLEX {
        as_stored(what, op, T::COMPLEX)?;
    }
    Ok(a.stored().code())
}

/// Returns the number of members of a batch whose matrices follow each other without gaps, or 0 for one matrix.
fn dense_batch(what: &'static str, batch: Batch, stride: usize, ld: usize, cols: usize) -> Result<usize> {
    match batch {
        Batch::One => Ok(0),
        Batch::Strided(count) if stride == ld * cols || count < 2 => Ok(count),
        other => Err(invalid(
            what,
            format!("{other:?}, {stride} elements apart"),
            format!("a strided batch, {ld} x {cols} elements apart"),
        )),
    }
}

/// Eigenvalues and singular values. These methods wait for the library, which may wait for the device.
impl Solver {
    /// Computes the eigenvalues of a symmetric or Hermitian matrix of which one triangle is stored, in ascending order.
    /// With `vectors`, A is overwritten with the eigenvectors, as columns. Otherwise its triangle is overwritten.
    ///
    /// A matrix whose largest element is less than 1 or very large is scaled by a power of two, and its eigenvalues are
    /// scaled back, because rocSOLVER compares with absolute numbers. All eigenvalue and singular value problems do so
    /// except [`gesvda_batched`](Self::gesvda_batched), on devices that the crate has code for: gfx90a, gfx942, gfx1100
    /// and gfx1201.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless there is room for as many values as A has rows; for a
    /// row-major A, and for a batch. The outcome is [`Cause::NotConverged`], or [`Cause::NotFinite`] if an element is
    /// NaN or infinite.
    #[doc(alias("hipsolverSsyevd", "hipsolverDsyevd", "hipsolverCheevd", "hipsolverZheevd", "cusolverDnSsyevd"))]
    pub fn syevd<'a, T: Syevd>(
        &self,
        vectors: bool,
        a: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<Outcome<'_>> {
        let w = eigenvalues.into();
        let uplo = triangle("A", &a, vectors)?;
        alone("A", a.matrix().batch_size())?;
        let shapes = Shapes::of("syevd", [("A", (&a).into()), ("the eigenvalues", (&w).into())]);
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let (n, vectors) = (int("the order of A", a.order())?, mode(vectors));
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, n, n, Part::of(uplo)), w, n, 1));
        let asked = move || format!("A {n} x {n}");
        let plan = Plan { waits: true, scaling, ..plan::<T, _>("syevd", T::pair(), not_converged, asked) };
        let size = |lwork, _| raw::syevd_size(vectors, uplo, n, a, w, lwork);
        self.run(operands, plan, size, |work| raw::syevd(vectors, uplo, n, a, w, work.pointer, work.len(), work.info))
    }

    /// As [`syevd`](Self::syevd), for some of the eigenvalues. Returns how many it found: they are at the start of
    /// `eigenvalues`, and as many columns of A are eigenvectors. `eigenvalues` must have room for as many values as A
    /// has rows. It waits. ROCm 6.2 and newer.
    ///
    /// # Errors
    /// As [`syevd`](Self::syevd); [`CallError::Invalid`](crate::CallError::Invalid) for an empty range.
    #[doc(alias("hipsolverSsyevdx", "hipsolverDsyevdx", "hipsolverCheevdx", "hipsolverZheevdx", "cusolverDnSsyevdx"))]
    pub fn syevdx<'a, T: Syevdx<Real: PartialOrd>>(
        &self,
        vectors: bool,
        range: EigenRange<T::Real>,
        a: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<(usize, Outcome<'_>)> {
        let w = eigenvalues.into();
        let uplo = triangle("A", &a, vectors)?;
        alone("A", a.matrix().batch_size())?;
        alone("the eigenvalues", w.batch_size())?;
        let shapes = Shapes::of("syevdx", [("A", (&a).into()), ("the eigenvalues", (&w).into())]);
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let Bounds { kind, above, up_to, first, last } = range.bounds(a.order())?;
        let (n, vectors) = (int("the order of A", a.order())?, mode(vectors));
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        if n == 0 {
            return Ok((0, self.nothing("syevdx", not_converged)));
        }
        let asked = move || format!("A {n} x {n}");
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, n, n, Part::of(uplo)), w, n, 1));
        let plan = Plan { waits: true, scaling, ..plan::<T, _>("syevdx", T::pair(), not_converged, asked) };
        self.counted(|found| {
            let size =
                |lwork, _| raw::syevdx_size(vectors, kind, uplo, n, a, above, up_to, first, last, found, w, lwork);
            self.run(operands, plan, size, |work| {
                let (memory, len) = (work.pointer, work.len());
                let (above, up_to) = (times_power(above, work.power), times_power(up_to, work.power));
                raw::syevdx(vectors, kind, uplo, n, a, above, up_to, first, last, found, w, memory, len, work.info)
            })
        })
    }

    /// Makes a call that writes the number of eigenvalues to the host.
    fn counted<'s>(&'s self, call: impl FnOnce(*mut c_void) -> Result<Outcome<'s>>) -> Result<(usize, Outcome<'s>)> {
        let mut found = 0_i32;
        let outcome = call((&raw mut found).cast());
        // The copy to the host may be queued even if the call failed.
        self.stream().synchronize()?;
        Ok((usize::try_from(found).unwrap_or(0), outcome?))
    }

    /// As [`syevd`](Self::syevd), with Jacobi's method. A strided batch without gaps, with a strided batch of
    /// eigenvalues without gaps, is computed in one call.
    ///
    /// # Errors
    /// As [`syevd`](Self::syevd).
    #[doc(alias("hipsolverSsyevj", "hipsolverDsyevj", "hipsolverCheevj", "hipsolverZheevj", "cusolverDnSsyevj"))]
    #[doc(alias("hipsolverSsyevjBatched", "hipsolverDsyevjBatched", "cusolverDnSsyevjBatched"))]
    pub fn syevj<'a, T: Syevj + SyevjBatched>(
        &self,
        vectors: bool,
        jacobi: Jacobi,
        a: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<Outcome<'_>> {
        let w = eigenvalues.into();
        let uplo = triangle("A", &a, vectors)?;
        let shapes = Shapes::of("syevj", [("A", (&a).into()), ("the eigenvalues", (&w).into())]);
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let (n, vectors) = (int("the order of A", a.order())?, mode(vectors));
        let ld = a.matrix().leading_dimension();
        let count = dense_batch("A", a.matrix().batch_size(), a.matrix().stride(), ld, a.order())?;
        let of_values = dense_batch("the eigenvalues", w.batch_size(), w.stride(), a.order(), 1)?;
        shapes.fits("the members of the eigenvalues", of_values, count, "as A")?;
        let asked = move || format!("A {n} x {n}");
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        let jacobi = Some((jacobi, false));
        if count == 0 {
            let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, n, n, Part::of(uplo)), w, n, 1));
            let plan = plan::<T, _>("syevj", <T as Syevj>::pair(), not_converged, asked);
            let plan = Plan { waits: true, jacobi, scaling, ..plan };
            let size = |lwork, parameters| raw::syevj_size(vectors, uplo, n, a, w, lwork, parameters);
            return self.run(operands, plan, size, |work| {
                raw::syevj(vectors, uplo, n, a, w, work.pointer, work.len(), work.info, work.parameters)
            });
        }
        let members = int("the members of the batch", count)?;
        let pair = <T as SyevjBatched>::pair();
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, n, n, Part::of(uplo)), w, n, count));
        let plan = plan::<T, _>("syevj", pair, not_converged, asked);
        let plan = Plan { waits: true, jacobi, members: count, scaling, ..plan };
        let size = |lwork, parameters| raw::syevj_batched_size(vectors, uplo, n, a, w, lwork, parameters, members);
        self.run(operands, plan, size, |work| {
            raw::syevj_batched(vectors, uplo, n, a, w, work.pointer, work.len(), work.info, work.parameters, members)
        })
    }

    /// Computes the generalized eigenvalues of a symmetric or Hermitian A and a positive definite B, in ascending
    /// order. The same triangle of both must be stored. With `vectors`, A is overwritten with the eigenvectors; B is
    /// overwritten with its Cholesky factor.
    ///
    /// # Errors
    /// As [`syevd`](Self::syevd). The outcome is [`Cause::NotPositiveDefinite`] for B, or [`Cause::NotConverged`].
    #[doc(alias("hipsolverSsygvd", "hipsolverDsygvd", "hipsolverChegvd", "hipsolverZhegvd", "cusolverDnSsygvd"))]
    pub fn sygvd<'a, T: Sygvd>(
        &self,
        problem: EigenProblem,
        vectors: bool,
        a: TriangleMut<'a, T>,
        b: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<Outcome<'_>> {
        let w = eigenvalues.into();
        let shapes = Shapes::of("sygvd", [("A", (&a).into()), ("B", (&b).into()), ("the eigenvalues", (&w).into())]);
        let uplo = pair_of_triangles(&shapes, &a, &b)?;
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let (n, vectors) = (int("the order of A", a.order())?, mode(vectors));
        let kind = problem.code();
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix_mut("A", a.into_matrix())?, operands.matrix_mut("B", b.into_matrix())?);
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        let scaling = generalised::<T>((a, b, w), n, uplo, problem, vectors);
        let asked = move || format!("A and B {n} x {n}");
        let plan = Plan { waits: true, scaling, ..plan::<T, _>("sygvd", T::pair(), not_converged, asked) };
        let size = |lwork, _| raw::sygvd_size(kind, vectors, uplo, n, a, b, w, lwork);
        let outcome = self.run(operands, plan, size, |work| {
            raw::sygvd(kind, vectors, uplo, n, a, b, w, work.pointer, work.len(), work.info)
        })?;
        // An info above the order of the matrix refers to B.
        Ok(outcome.beyond(n.unsigned_abs() as usize, not_positive))
    }

    /// As [`sygvd`](Self::sygvd), for some of the eigenvalues, as in [`syevdx`](Self::syevdx).
    ///
    /// # Errors
    /// As [`sygvd`](Self::sygvd) and [`syevdx`](Self::syevdx).
    #[doc(alias("hipsolverSsygvdx", "hipsolverDsygvdx", "hipsolverChegvdx", "hipsolverZhegvdx", "cusolverDnSsygvdx"))]
    pub fn sygvdx<'a, T: Sygvdx<Real: PartialOrd>>(
        &self,
        problem: EigenProblem,
        vectors: bool,
        range: EigenRange<T::Real>,
        a: TriangleMut<'a, T>,
        b: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<(usize, Outcome<'_>)> {
        let w = eigenvalues.into();
        let shapes = Shapes::of("sygvdx", [("A", (&a).into()), ("B", (&b).into()), ("the eigenvalues", (&w).into())]);
        let uplo = pair_of_triangles(&shapes, &a, &b)?;
        alone("the eigenvalues", w.batch_size())?;
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let Bounds { kind, above, up_to, first, last } = range.bounds(a.order())?;
        let (n, vectors, kind_of) = (int("the order of A", a.order())?, mode(vectors), problem.code());
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix_mut("A", a.into_matrix())?, operands.matrix_mut("B", b.into_matrix())?);
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        if n == 0 {
            return Ok((0, self.nothing("sygvdx", not_converged)));
        }
        let asked = move || format!("A and B {n} x {n}");
        let scaling = generalised::<T>((a, b, w), n, uplo, problem, vectors);
        let plan = Plan { waits: true, scaling, ..plan::<T, _>("sygvdx", T::pair(), not_converged, asked) };
        let (found, outcome) = self.counted(|found| {
            let size = |lwork, _| {
                raw::sygvdx_size(kind_of, vectors, kind, uplo, n, a, b, above, up_to, first, last, found, w, lwork)
            };
            self.run(operands, plan, size, |work| {
                let (memory, len, info) = (work.pointer, work.len(), work.info);
                let (above, up_to) = (times_power(above, work.power), times_power(up_to, work.power));
                raw::sygvdx(
                    kind_of, vectors, kind, uplo, n, a, b, above, up_to, first, last, found, w, memory, len, info,
                )
            })
        })?;
        Ok((found, outcome.beyond(n.unsigned_abs() as usize, not_positive)))
    }

    /// As [`sygvd`](Self::sygvd), with Jacobi's method.
    ///
    /// # Errors
    /// As [`sygvd`](Self::sygvd).
    #[doc(alias("hipsolverSsygvj", "hipsolverDsygvj", "hipsolverChegvj", "hipsolverZhegvj", "cusolverDnSsygvj"))]
    pub fn sygvj<'a, T: Sygvj>(
        &self,
        problem: EigenProblem,
        vectors: bool,
        jacobi: Jacobi,
        a: TriangleMut<'a, T>,
        b: TriangleMut<'a, T>,
        eigenvalues: impl IntoVectorMut<'a, T::Real>,
    ) -> Result<Outcome<'_>> {
        let w = eigenvalues.into();
        let shapes = Shapes::of("sygvj", [("A", (&a).into()), ("B", (&b).into()), ("the eigenvalues", (&w).into())]);
        let uplo = pair_of_triangles(&shapes, &a, &b)?;
        values(&shapes, "the number of eigenvalues", &w, a.order())?;
        let (n, vectors, kind) = (int("the order of A", a.order())?, mode(vectors), problem.code());
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix_mut("A", a.into_matrix())?, operands.matrix_mut("B", b.into_matrix())?);
        let w = operands.vector_mut("the eigenvalues", w)?.pointer;
        let jacobi = Some((jacobi, false));
        let scaling = generalised::<T>((a, b, w), n, uplo, problem, vectors);
        let asked = move || format!("A and B {n} x {n}");
        let plan = Plan { waits: true, jacobi, scaling, ..plan::<T, _>("sygvj", T::pair(), not_converged, asked) };
        let size = |lwork, parameters| raw::sygvj_size(kind, vectors, uplo, n, a, b, w, lwork, parameters);
        let outcome = self.run(operands, plan, size, |work| {
            raw::sygvj(kind, vectors, uplo, n, a, b, w, work.pointer, work.len(), work.info, work.parameters)
        })?;
        Ok(outcome.beyond(n.unsigned_abs() as usize, not_positive))
    }

    /// Computes the singular values of A, in descending order, and with `u` and `vt` the singular vectors: A = U
    /// diag(s) Vᴴ. A is overwritten.
    ///
    /// `u` has as many columns as A has rows, or as A's smaller dimension; `vt`, which is Vᴴ, has rows accordingly.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, a matrix is row-major, or for a
    /// batch. The outcome is [`Cause::NotConverged`].
    #[doc(alias("hipsolverSgesvd", "hipsolverDgesvd", "hipsolverCgesvd", "hipsolverZgesvd", "cusolverDnSgesvd"))]
    pub fn gesvd<'a, T: Gesvd>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        s: impl IntoVectorMut<'a, T::Real>,
        u: Option<MatrixMut<'a, T>>,
        vt: Option<MatrixMut<'a, T>>,
    ) -> Result<Outcome<'_>> {
        let (a, s) = (a.into(), s.into());
        let (rows, cols) = (a.rows(), a.cols());
        let small = rows.min(cols);
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        let shapes = Shapes::of("gesvd", [("A", (&a).into()), ("the singular values", (&s).into())]);
        values(&shapes, "the number of singular values", &s, small)?;
        let (m, n) = (int("the rows of A", rows)?, int("the columns of A", cols)?);
        let jobu = job(u.as_ref().map(|u| (u.op(), u.batch_size(), u.rows(), u.cols())), "U", rows, small, T::COMPLEX)?;
        let vt_shape = vt.as_ref().map(|v| (v.op(), v.batch_size(), v.cols(), v.rows()));
        let jobv = job(vt_shape, "Vt", cols, small, T::COMPLEX)?;
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        let s = operands.vector_mut("the singular values", s)?.pointer;
        let u = u.map_or(Ok(NONE), |u| operands.matrix_mut("U", u))?;
        let vt = vt.map_or(Ok(NONE), |vt| operands.matrix_mut("Vt", vt))?;
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, m, n, Part::All), s, m.min(n), 1));
        let asked = move || format!("A {m} x {n}");
        let plan = Plan { waits: true, scaling, ..plan::<T, _>("gesvd", T::pair(), not_converged, asked) };
        let size = |lwork, _| raw::gesvd_size(jobu, jobv, m, n, lwork);
        self.run(operands, plan, size, |work| {
            let no_superdiagonal = ptr::null_mut();
            raw::gesvd(jobu, jobv, m, n, a, s, u, vt, work.pointer, work.len(), no_superdiagonal, work.info)
        })
    }

    /// As [`gesvd`](Self::gesvd), with Jacobi's method, and with **V** instead of its conjugate transpose: A = U
    /// diag(s) Vᴴ. Pass both or none of `u` and `v`: with as many columns as rows, or as A's smaller dimension.
    ///
    /// # Errors
    /// As [`gesvd`](Self::gesvd).
    #[doc(alias("hipsolverSgesvdj", "hipsolverDgesvdj", "hipsolverCgesvdj", "hipsolverZgesvdj", "cusolverDnSgesvdj"))]
    pub fn gesvdj<'a, T: Gesvdj>(
        &self,
        jacobi: Jacobi,
        a: impl IntoMatrixMut<'a, T>,
        s: impl IntoVectorMut<'a, T::Real>,
        vectors: Option<(MatrixMut<'a, T>, MatrixMut<'a, T>)>,
    ) -> Result<Outcome<'_>> {
        let (a, s) = (a.into(), s.into());
        let (rows, cols) = (a.rows(), a.cols());
        let small = rows.min(cols);
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        let shapes =
            with_vectors(Shapes::of("gesvdj", [("A", (&a).into()), ("the singular values", (&s).into())]), &vectors);
        values(&shapes, "the number of singular values", &s, small)?;
        let (m, n) = (int("the rows of A", rows)?, int("the columns of A", cols)?);
        let mut economy = 0;
        if let Some((u, v)) = &vectors {
            let shape = |x: &MatrixMut<'a, T>| Some((x.op(), x.batch_size(), x.rows(), x.cols()));
            let jobs = (job(shape(u), "U", rows, small, T::COMPLEX)?, job(shape(v), "V", cols, small, T::COMPLEX)?);
            economy = i32::from(u.cols() == small && v.cols() == small);
            if economy == 0 && (u.cols() != rows || v.cols() != cols) {
                return Err(invalid("U and V", format!("{jobs:?}"), "both with all columns, or both with few"));
            }
        }
        let mode = mode(vectors.is_some());
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        let s = operands.vector_mut("the singular values", s)?.pointer;
        let (u, v) = match vectors {
            Some((u, v)) => (operands.matrix_mut("U", u)?, operands.matrix_mut("V", v)?),
            None => (Lowered { step: m.max(1).into(), ..NONE }, Lowered { step: n.max(1).into(), ..NONE }),
        };
        let jacobi = Some((jacobi, true));
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, m, n, Part::All), s, m.min(n), 1));
        let asked = move || format!("A {m} x {n}");
        let plan = Plan { waits: true, jacobi, scaling, ..plan::<T, _>("gesvdj", T::pair(), not_converged, asked) };
        let size = |lwork, parameters| raw::gesvdj_size(mode, economy, m, n, a, s, u, v, lwork, parameters);
        self.run(operands, plan, size, |work| {
            raw::gesvdj(mode, economy, m, n, a, s, u, v, work.pointer, work.len(), work.info, work.parameters)
        })
    }

    /// As [`gesvdj`](Self::gesvdj), for strided batches without gaps: `a`, `s`, and square `u` and `v`.
    ///
    /// # Errors
    /// As [`gesvd`](Self::gesvd).
    #[doc(alias("hipsolverSgesvdjBatched", "hipsolverDgesvdjBatched", "cusolverDnSgesvdjBatched"))]
    pub fn gesvdj_batched<'a, T: GesvdjBatched>(
        &self,
        jacobi: Jacobi,
        a: impl IntoMatrixMut<'a, T>,
        s: impl IntoVectorMut<'a, T::Real>,
        vectors: Option<(MatrixMut<'a, T>, MatrixMut<'a, T>)>,
    ) -> Result<Outcome<'_>> {
        let (a, s) = (a.into(), s.into());
        let (rows, cols) = (a.rows(), a.cols());
        let small = rows.min(cols);
        as_stored("A", a.op(), T::COMPLEX)?;
        let shapes = with_vectors(
            Shapes::of("gesvdj_batched", [("A", (&a).into()), ("the singular values", (&s).into())]),
            &vectors,
        );
        values(&shapes, "the number of singular values", &s, small)?;
        let count = dense_batch("A", a.batch_size(), a.stride(), a.leading_dimension(), cols)?;
        let (m, n) = (int("the rows of A", rows)?, int("the columns of A", cols)?);
        let members = int("the members of the batch", count)?;
        shapes.fits(
            "the members of the singular values",
            dense_batch("s", s.batch_size(), s.stride(), small, 1)?,
            count,
            "as A",
        )?;
        if let Some((u, v)) = &vectors {
            for (what, x, order) in [("U", u, rows), ("V", v, cols)] {
                as_stored(what, x.op(), T::COMPLEX)?;
                shapes.fits("the rows of U or V", x.rows(), order, "as A")?;
                shapes.fits("the columns of U or V", x.cols(), order, "its rows")?;
                let members = dense_batch(what, x.batch_size(), x.stride(), x.leading_dimension(), order)?;
                shapes.fits("the members of U or V", members, count, "as A")?;
            }
        }
        if count == 0 {
            return Err(invalid("A", "one matrix", "a strided batch: gesvdj is for one"));
        }
        let mode = mode(vectors.is_some());
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        let s = operands.vector_mut("the singular values", s)?.pointer;
        let (u, v) = match vectors {
            Some((u, v)) => (operands.matrix_mut("U", u)?, operands.matrix_mut("V", v)?),
            None => (Lowered { step: m.max(1).into(), ..NONE }, Lowered { step: n.max(1).into(), ..NONE }),
        };
        let jacobi = Some((jacobi, true));
        let asked = move || format!("{count} matrices A of {m} x {n}");
        let scaling = Some(Scaling::new::<T>(Array::new::<T>(a, m, n, Part::All), s, m.min(n), count));
        let plan = plan::<T, _>("gesvdj", T::pair(), not_converged, asked);
        let plan = Plan { waits: true, jacobi, members: count, scaling, ..plan };
        let size = |lwork, parameters| raw::gesvdj_batched_size(mode, m, n, a, s, u, v, lwork, parameters, members);
        self.run(operands, plan, size, |work| {
            raw::gesvdj_batched(mode, m, n, a, s, u, v, work.pointer, work.len(), work.info, work.parameters, members)
        })
    }

    /// Computes the largest singular values of each member of a strided batch, in descending order: as many as each
    /// member of `s` has room for. With `vectors`, also as many columns of U and of **V**. A is overwritten. The
    /// members of each operand may have any distance. It waits.
    ///
    /// rocSOLVER may miss some of them: singular values that are repeated, 0, or the only one of a row or column. The
    /// missed values are NaN, after the others, and their columns of U and V are not changed.
    /// [`gesvdj_batched`](Self::gesvdj_batched) finds all.
    ///
    /// Matrices are not scaled, unlike in [`gesvd`](Self::gesvd): the largest element of each should be near 1.
    /// Otherwise, small singular values may be wrong.
    ///
    /// # Errors
    /// As [`gesvd`](Self::gesvd).
    #[doc(alias("hipsolverDnSgesvdaStridedBatched", "hipsolverDnDgesvdaStridedBatched"))]
    #[doc(alias("hipsolverDnCgesvdaStridedBatched", "hipsolverDnZgesvdaStridedBatched"))]
    #[doc(alias("cusolverDnSgesvdaStridedBatched"))]
    pub fn gesvda_batched<'a, T: GesvdaBatched>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        s: impl IntoVectorMut<'a, T::Real>,
        vectors: Option<(MatrixMut<'a, T>, MatrixMut<'a, T>)>,
    ) -> Result<Outcome<'_>> {
        let (a, s) = (a.into(), s.into());
        let (rows, cols, largest) = (a.rows(), a.cols(), s.len());
        as_stored("A", a.op(), T::COMPLEX)?;
        let members = |what, batch| match batch {
            Batch::Strided(count) => Ok(count),
            other => Err(invalid(what, format!("{other:?}"), "a strided batch")),
        };
        let count = members("A", a.batch_size())?;
        let shapes = with_vectors(
            Shapes::of("gesvda_batched", [("A", (&a).into()), ("the singular values", (&s).into())]),
            &vectors,
        );
        shapes.fits(
            "the members of the singular values",
            members("the singular values", s.batch_size())?,
            count,
            "as A",
        )?;
        values(&shapes, "the number of singular values", &s, largest)?;
        if largest > rows.min(cols) {
            let allowed = format!("at most {}, the smaller side of A", rows.min(cols));
            return Err(invalid("the number of singular values", largest.to_string(), allowed));
        }
        if let Some((u, v)) = &vectors {
            for (what, x, side) in [("U", u, rows), ("V", v, cols)] {
                as_stored(what, x.op(), T::COMPLEX)?;
                shapes.fits("the rows of U or V", x.rows(), side, "as A")?;
                shapes.fits("the columns of U or V", x.cols(), largest, "the singular values")?;
                shapes.fits("the members of U or V", members(what, x.batch_size())?, count, "as A")?;
            }
        }
        let (m, n) = (int("the rows of A", rows)?, int("the columns of A", cols)?);
        let (rank, members) = (int("the singular values", largest)?, int("the members of the batch", count)?);
        let mode = mode(vectors.is_some());
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        let s = operands.vector_mut("the singular values", s)?;
        let (u, v) = match vectors {
            Some((u, v)) => (operands.matrix_mut("U", u)?, operands.matrix_mut("V", v)?),
            None => (Lowered { step: m.max(1).into(), ..NONE }, Lowered { step: n.max(1).into(), ..NONE }),
        };
        if largest == 0 || count == 0 {
            let _ = operands.form()?;
            return Ok(self.nothing("gesvda", not_converged));
        }
        // The library takes memory for each member from the workspace, but tells rocSOLVER the size before that.
        let extra = count.saturating_mul(4 * (1 + rows.min(cols)));
        let asked = move || format!("{count} matrices A of {m} x {n}, {rank} singular values");
        let plan = plan::<T, _>("gesvda", T::pair(), not_converged, asked);
        // The library of ROCm 5.7 computes vectors from the old content of the workspace.
        let plan = Plan { waits: true, members: count, extra, cleared: true, ..plan };
        // AMD's library does not access them; NVIDIA's writes them.
        let mut residuals = vec![0.0_f64; count];
        let residuals = residuals.as_mut_ptr().cast();
        let size = |lwork, _| raw::gesvda_size(mode, rank, m, n, a, s, u, v, lwork, members);
        let bytes = size_of::<T::Real>();
        let (pitch, width) = (s.stride as usize * bytes, largest * bytes);
        let stream = self.stream().as_raw();
        let outcome = self.run(operands, plan, size, |work| {
            let (memory, len) = (work.pointer, work.len());
            let call = raw::gesvda(mode, rank, m, n, a, s, u, v, memory, len, work.info, residuals, members);
            move |function, handle| {
                // All-ones bytes are NaN. They mark missed values, because the library does not return how many it finds.
                // SAFETY: the memory of the values, which was passed to the call, on its stream.
                match unsafe { hip::sys::hipMemset2DAsync(s.pointer, pitch, 0xff, width, count, stream) } {
                    hip::sys::hipSuccess => call(function, handle),
                    _ => raw::HIPSOLVER_STATUS_INTERNAL_ERROR,
                }
            }
        });
        self.stream().synchronize()?;
        outcome
    }
}

/// Returns LAPACK's letter for the singular vectors that a matrix has room for.
fn job(
    matrix: Option<(Op, Batch, usize, usize)>,
    what: &'static str,
    side: usize,
    small: usize,
    complex: bool,
) -> Result<c_schar> {
    let Some((op, batch, length, vectors)) = matrix else { return Ok(b'N' as c_schar) };
    as_stored(what, op, complex)?;
    alone(what, batch)?;
    if length != side || (vectors != side && vectors != small) {
        let allowed = format!("{side} or {small} vectors of length {side}");
        return Err(invalid(what, format!("{vectors} vectors of length {length}"), allowed));
    }
    Ok(if vectors == side { b'A' as c_schar } else { b'S' as c_schar })
}
