//! Factorizations and solves.

use std::ffi::c_void;

use hip_linalg::{
    IntoMatrix, IntoMatrixMut, IntoVector, IntoVectorMut, Op, Operands, PivotIndex, Pivots, Scalar, Shapes, Side,
    TriangleMut, TriangleRef,
};

use crate::checks::{alone, as_stored, int, invalid, long, pointers, side_by_side};
use crate::raw::{self, *};
use crate::scaling::{Array, Part, Scaling};
use crate::solver::{Outcome, Plan};
use crate::{Cause, Result, Solver};

/// Returns the code of a type.
fn kind<T: Scalar>() -> u32 {
    T::HIP_DATA_TYPE.0
}

/// Returns where functions with 64-bit sizes write the size of the host workspace: after the size of the device
/// workspace.
fn on_host(lwork: *mut c_void) -> *mut c_void {
    lwork.cast::<usize>().wrapping_add(1).cast()
}

/// Returns the triangle in memory. The transpose of a complex matrix is a different matrix.
fn stored<T: Scalar>(what: &'static str, op: Op, code: u32) -> Result<u32> {
    if T::COMPLEX && op.transposed != op.conjugated {
        return Err(invalid(what, format!("{op:?} in memory"), "as it is, or its conjugate transpose"));
    }
    Ok(code)
}

pub(crate) fn not_positive(info: usize) -> Cause {
    Cause::NotPositiveDefinite { minor: info - 1 }
}

pub(crate) fn singular(info: usize) -> Cause {
    Cause::Singular { pivot: info - 1 }
}

pub(crate) fn plan<T, F: Fn() -> String>(
    routine: &'static str,
    pair: &'static Pair,
    cause: fn(usize) -> Cause,
    asked: F,
) -> Plan<F> {
    let (members, jacobi, unit, extra) = (1, None, size_of::<T>(), 0);
    Plan {
        routine,
        pair,
        cause,
        members,
        jacobi,
        unit,
        extra,
        waits: false,
        cleared: false,
        scaling: None,
        wide: false,
        asked,
    }
}

/// Factorizations and solves.
impl Solver {
    /// A = L Lᴴ, or A = Uᴴ U: the Cholesky factorization of a Hermitian matrix of which one triangle is stored. The
    /// triangle is overwritten with the factor.
    ///
    /// A batch of pointers is factored in one call. One matrix with a leading dimension of 2³¹ or more needs ROCm
    /// 6.3.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a strided batch. The outcome is
    /// [`Cause::NotPositiveDefinite`] if the matrix is not.
    #[doc(alias("hipsolverSpotrf", "hipsolverDpotrf", "hipsolverCpotrf", "hipsolverZpotrf", "hipsolverDnSpotrf"))]
    #[doc(alias("hipsolverSpotrfBatched", "hipsolverDpotrfBatched", "cusolverDnSpotrf", "cusolverDnSpotrfBatched"))]
    #[doc(alias("hipsolverDnXpotrf", "cusolverDnXpotrf"))]
    pub fn potrf<T: Potrf + PotrfBatched>(&self, a: TriangleMut<'_, T>) -> Result<Outcome<'_>> {
        let uplo = stored::<T>("A", a.matrix().op(), a.stored().code())?;
        let (order, count) = (a.order(), pointers("A", a.matrix().batch_size())?);
        let wide = count == 0 && self.wide(&[order, a.matrix().leading_dimension()]);
        let asked = move || format!("A {order} x {order}");
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        if wide {
            let (n, kind) = (long("the order of A", order)?, kind::<T>());
            let a = Typed(kind, a);
            let plan = Plan { wide, unit: 1, ..plan::<T, _>("potrf", <f32 as Xpotrf>::pair(), not_positive, asked) };
            let size = |lwork, parameters| raw::xpotrf_size(parameters, uplo, n, a, kind, lwork, on_host(lwork));
            return self.run(operands, plan, size, |w| {
                raw::xpotrf(w.parameters, uplo, n, a, kind, w.pointer, w.len, w.host, w.host_len, w.info)
            });
        }
        let n = int("the order of A", order)?;
        if count == 0 {
            let plan = plan::<T, _>("potrf", <T as Potrf>::pair(), not_positive, asked);
            let size = |lwork, _| raw::potrf_size(uplo, n, a, lwork);
            return self.run(operands, plan, size, |w| raw::potrf(uplo, n, a, w.pointer, w.len(), w.info));
        }
        let members = int("the members of the batch", count)?;
        let plan = Plan { members: count, ..plan::<T, _>("potrf", <T as PotrfBatched>::pair(), not_positive, asked) };
        let size = |lwork, _| raw::potrf_batched_size(uplo, n, a, lwork, members);
        self.run(operands, plan, size, |w| raw::potrf_batched(uplo, n, a, w.pointer, w.len(), w.info, members))
    }

    /// Solves A X = B with the factor from [`potrf`](Self::potrf). B is overwritten with X. In a batch of pointers,
    /// each B has one column.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, B is row-major, or for strided
    /// batches.
    #[doc(alias("hipsolverSpotrs", "hipsolverDpotrs", "hipsolverCpotrs", "hipsolverZpotrs", "hipsolverDnSpotrs"))]
    #[doc(alias("hipsolverSpotrsBatched", "hipsolverDpotrsBatched", "cusolverDnSpotrs", "cusolverDnSpotrsBatched"))]
    pub fn potrs<'a, T: Potrs + PotrsBatched>(
        &self,
        a: TriangleRef<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let b = b.into();
        let uplo = stored::<T>("A", a.matrix().op(), a.stored().code())?;
        as_stored("B", b.op(), T::COMPLEX)?;
        let shapes = Shapes::of("potrs", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the rows of B", b.rows(), a.order(), "the order of A")?;
        let (n, nrhs) = (int("the order of A", a.order())?, int("the columns of B", b.cols())?);
        let count = pointers("A", a.matrix().batch_size())?;
        if count != 0 {
            shapes.fits("the columns of B in a batch", b.cols(), 1, "all that the library has")?;
        }
        let asked = move || format!("A {n} x {n}, B {n} x {nrhs}");
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix("A", a.matrix())?, operands.matrix_mut("B", b)?);
        if count == 0 {
            let plan = plan::<T, _>("potrs", <T as Potrs>::pair(), not_positive, asked);
            let size = |lwork, _| raw::potrs_size(uplo, n, nrhs, a, b, lwork);
            return self.run(operands, plan, size, |w| raw::potrs(uplo, n, nrhs, a, b, w.pointer, w.len(), w.info));
        }
        let members = int("the members of the batch", count)?;
        // The library clears a number for each member.
        let plan = Plan { members: count, ..plan::<T, _>("potrs", <T as PotrsBatched>::pair(), not_positive, asked) };
        let size = |lwork, _| raw::potrs_batched_size(uplo, n, nrhs, a, b, lwork, members);
        self.run(operands, plan, size, |w| raw::potrs_batched(uplo, n, nrhs, a, b, w.pointer, w.len(), w.info, members))
    }

    /// Overwrites the factor from [`potrf`](Self::potrf) with the same triangle of A⁻¹.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for a batch. The outcome is [`Cause::Singular`] if the factor
    /// has a zero on its diagonal.
    #[doc(alias("hipsolverSpotri", "hipsolverDpotri", "hipsolverCpotri", "hipsolverZpotri", "cusolverDnSpotri"))]
    pub fn potri<T: Potri>(&self, a: TriangleMut<'_, T>) -> Result<Outcome<'_>> {
        let uplo = stored::<T>("A", a.matrix().op(), a.stored().code())?;
        alone("A", a.matrix().batch_size())?;
        let n = int("the order of A", a.order())?;
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        // rocSOLVER multiplies a square part of the workspace, of which it has written one triangle only.
        let plan = Plan { cleared: true, ..plan::<T, _>("potri", T::pair(), singular, move || format!("A {n} x {n}")) };
        let size = |lwork, _| raw::potri_size(uplo, n, a, lwork);
        self.run(operands, plan, size, |w| raw::potri(uplo, n, a, w.pointer, w.len(), w.info))
    }

    /// P A = L U: the LU factorization with row exchanges, for a matrix of any shape. A is overwritten with U and with
    /// L without its unit diagonal.
    /// With [`Pivots<i64>`](Pivots::new_64), sizes have 64 bits: ROCm 6.2 and newer.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) for pivots of another shape, a row-major A, or a batch. The
    /// outcome is [`Cause::Singular`] if U has a zero on its diagonal; the factors are still correct.
    #[doc(alias("hipsolverSgetrf", "hipsolverDgetrf", "hipsolverCgetrf", "hipsolverZgetrf", "cusolverDnSgetrf"))]
    #[doc(alias("hipsolverDnXgetrf", "cusolverDnXgetrf"))]
    pub fn getrf<'a, T: Getrf, I: PivotIndex>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        pivots: &'a mut Pivots<I>,
    ) -> Result<Outcome<'_>> {
        let a = a.into();
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        let shapes = Shapes::of("getrf", [("A", (&a).into())]);
        shapes.fits("the members of the pivots", pivots.members(), 1, "as A")?;
        shapes.fits("the pivots", pivots.len(), a.rows().min(a.cols()), "the smaller side of A")?;
        if pivots.rows() < a.rows() {
            return Err(invalid("the rows of the pivots", pivots.rows().to_string(), format!("at least {}", a.rows())));
        }
        let (rows, cols) = (a.rows(), a.cols());
        let asked = move || format!("A {rows} x {cols}");
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        // SAFETY: the library writes row numbers of A there.
        let pivots = operands.slice_mut("the pivots", unsafe { pivots.as_slice_mut() })?;
        if I::WIDE {
            let (m, n, kind) = (long("the rows of A", rows)?, long("the columns of A", cols)?, kind::<T>());
            let a = Typed(kind, a);
            let plan = Plan { wide: true, unit: 1, ..plan::<T, _>("getrf", <f32 as Xgetrf>::pair(), singular, asked) };
            let size = |lwork, parameters| raw::xgetrf_size(parameters, m, n, a, kind, lwork, on_host(lwork));
            return self.run(operands, plan, size, |w| {
                raw::xgetrf(w.parameters, m, n, a, pivots, kind, w.pointer, w.len, w.host, w.host_len, w.info)
            });
        }
        let (m, n) = (int("the rows of A", rows)?, int("the columns of A", cols)?);
        let plan = plan::<T, _>("getrf", T::pair(), singular, asked);
        let size = |lwork, _| raw::getrf_size(m, n, a, lwork);
        self.run(operands, plan, size, |w| raw::getrf(m, n, a, w.pointer, w.len(), pivots, w.info))
    }

    /// Solves A X = B with the factors from [`getrf`](Self::getrf); with `a.t()` or `a.h()`, for the transpose of A. B
    /// is overwritten with X.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, B is row-major, or for batches.
    #[doc(alias("hipsolverSgetrs", "hipsolverDgetrs", "hipsolverCgetrs", "hipsolverZgetrs", "cusolverDnSgetrs"))]
    #[doc(alias("hipsolverDnXgetrs", "cusolverDnXgetrs"))]
    pub fn getrs<'a, T: Getrs, I: PivotIndex>(
        &self,
        a: impl IntoMatrix<'a, T>,
        pivots: &'a Pivots<I>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, b) = (a.into(), b.into());
        as_stored("B", b.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        alone("B", b.batch_size())?;
        let shapes = Shapes::of("getrs", [("A", (&a).into()), ("B", (&b).into())]);
        shapes.fits("the columns of A", a.cols(), a.rows(), "its rows")?;
        shapes.fits("the rows of B", b.rows(), a.rows(), "the order of A")?;
        shapes.fits("the members of the pivots", pivots.members(), 1, "as A")?;
        shapes.fits("the pivots", pivots.len(), a.rows(), "the order of A")?;
        shapes.fits("the rows of the pivots", pivots.rows(), a.rows(), "the order of A")?;
        let op = a.op().code::<T>("A")?;
        let (order, cols) = (a.rows(), b.cols());
        let asked = move || format!("A {order} x {order}, B {order} x {cols}");
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix("A", &a)?, operands.matrix_mut("B", b)?);
        let pivots = operands.slice("the pivots", pivots.as_slice())?.cast_mut();
        if I::WIDE {
            let (n, nrhs, kind) = (long("the order of A", order)?, long("the columns of B", cols)?, kind::<T>());
            let (a, b) = (Typed(kind, a), Typed(kind, b));
            // The library allocates its workspace itself.
            let waits = true;
            let plan = Plan { wide: true, waits, ..plan::<T, _>("getrs", <f32 as Xgetrs>::pair(), singular, asked) };
            return self.run(
                operands,
                plan,
                |_, _| raw::xgetrs_size(),
                |w| raw::xgetrs(w.parameters, op, n, nrhs, a, pivots, b, w.info),
            );
        }
        let (n, nrhs) = (int("the order of A", order)?, int("the columns of B", cols)?);
        let plan = plan::<T, _>("getrs", T::pair(), singular, asked);
        let size = |lwork, _| raw::getrs_size(op, n, nrhs, a, pivots, b, lwork);
        self.run(operands, plan, size, |w| raw::getrs(op, n, nrhs, a, pivots, b, w.pointer, w.len(), w.info))
    }

    /// A = Q R. A is overwritten with R; its part below the diagonal, together with `tau`, represents Q. An A with
    /// 2³¹ rows or more, or such a leading dimension, needs ROCm 6.3.
    ///
    /// The library adds squares of elements without scaling. The largest element of each column must be from about
    /// 1e-18 to 1e18 in single precision and from 1e-150 to 1e150 in double precision, or the column must be 0.
    /// Otherwise the factors may be wrong. Scale other matrices before the call, and R after it.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless `tau` has as many contiguous elements as the smaller
    /// dimension of A; for a row-major A, and for a batch.
    #[doc(alias("hipsolverSgeqrf", "hipsolverDgeqrf", "hipsolverCgeqrf", "hipsolverZgeqrf", "cusolverDnSgeqrf"))]
    #[doc(alias("hipsolverDnXgeqrf", "cusolverDnXgeqrf"))]
    pub fn geqrf<'a, T: Geqrf>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        tau: impl IntoVectorMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, tau) = (a.into(), tau.into());
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        alone("tau", tau.batch_size())?;
        let shapes = Shapes::of("geqrf", [("A", (&a).into()), ("tau", (&tau).into())]);
        side_by_side(&shapes, "the length of tau", tau.len(), tau.increment(), a.rows().min(a.cols()))?;
        let (rows, cols) = (a.rows(), a.cols());
        let wide = self.wide(&[rows, cols, a.leading_dimension()]);
        let asked = move || format!("A {rows} x {cols}");
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix_mut("A", a)?, operands.vector_mut("tau", tau)?);
        if wide {
            let (m, n, kind) = (long("the rows of A", rows)?, long("the columns of A", cols)?, kind::<T>());
            let (a, tau) = (Typed(kind, a), Typed(kind, tau));
            let plan = Plan { wide, unit: 1, ..plan::<T, _>("geqrf", <f32 as Xgeqrf>::pair(), singular, asked) };
            let size = |lwork, parameters| raw::xgeqrf_size(parameters, m, n, a, tau, kind, lwork, on_host(lwork));
            return self.run(operands, plan, size, |w| {
                raw::xgeqrf(w.parameters, m, n, a, tau, kind, w.pointer, w.len, w.host, w.host_len, w.info)
            });
        }
        let (m, n, tau) = (int("the rows of A", rows)?, int("the columns of A", cols)?, tau.pointer);
        let plan = plan::<T, _>("geqrf", T::pair(), singular, asked);
        let size = |lwork, _| raw::geqrf_size(m, n, a, lwork);
        self.run(operands, plan, size, |w| raw::geqrf(m, n, a, tau, w.pointer, w.len(), w.info))
    }

    /// Overwrites the result of [`geqrf`](Self::geqrf) with the first columns of Q, as many as A has.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if A has fewer rows than columns or than `tau` elements, is
    /// row-major, or a batch.
    #[doc(alias("hipsolverSorgqr", "hipsolverDorgqr", "hipsolverCungqr", "hipsolverZungqr", "cusolverDnSorgqr"))]
    pub fn orgqr<'a, T: Orgqr>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        tau: impl IntoVector<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, tau) = (a.into(), tau.into());
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        alone("tau", tau.batch_size())?;
        if a.cols() > a.rows() || tau.len() > a.cols() {
            let found = format!("of {} x {}, with {} reflections", a.rows(), a.cols(), tau.len());
            return Err(invalid("Q", found, "not wider than high, with no more reflections than columns"));
        }
        let shapes = Shapes::of("orgqr", [("A", (&a).into()), ("tau", (&tau).into())]);
        side_by_side(&shapes, "the length of tau", tau.len(), tau.increment(), tau.len())?;
        let (m, n, k) = (int("the rows of A", a.rows())?, int("the columns of A", a.cols())?, int("tau", tau.len())?);
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix_mut("A", a)?, operands.vector("tau", &tau)?.pointer);
        let plan = plan::<T, _>("orgqr", T::pair(), singular, move || format!("A {m} x {n}, {k} reflections"));
        let size = |lwork, _| raw::orgqr_size(m, n, k, a, tau, lwork);
        self.run(operands, plan, size, |w| raw::orgqr(m, n, k, a, tau, w.pointer, w.len(), w.info))
    }

    /// C ← Q C, or C Q with [`Side::Right`], where A and `tau` represent Q, as [`geqrf`](Self::geqrf) returns it;
    /// with `a.h()` (or `a.t()` for real numbers), its conjugate transpose.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, C is row-major, or for a batch.
    #[doc(alias("hipsolverSormqr", "hipsolverDormqr", "hipsolverCunmqr", "hipsolverZunmqr", "cusolverDnSormqr"))]
    pub fn ormqr<'a, T: Ormqr>(
        &self,
        side: Side,
        a: impl IntoMatrix<'a, T>,
        tau: impl IntoVector<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, tau, c) = (a.into(), tau.into(), c.into());
        as_stored("C", c.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        alone("tau", tau.batch_size())?;
        alone("C", c.batch_size())?;
        let op = a.op().code::<T>("A")?;
        if T::COMPLEX && op == 112 {
            return Err(invalid("A", "transposed in memory", "as it is, or its conjugate transpose"));
        }
        let (rows, cols) = if a.op().transposed { (a.cols(), a.rows()) } else { (a.rows(), a.cols()) };
        let shapes = Shapes::of("ormqr", [("A", (&a).into()), ("tau", (&tau).into()), ("C", (&c).into())]);
        shapes.fits("the rows of Q", rows, if side == Side::Left { c.rows() } else { c.cols() }, "as C has it")?;
        if tau.len() > rows.min(cols) {
            return Err(invalid("the length of tau", tau.len().to_string(), format!("at most {}", rows.min(cols))));
        }
        side_by_side(&shapes, "the length of tau", tau.len(), tau.increment(), tau.len())?;
        let (m, n, k) = (int("the rows of C", c.rows())?, int("the columns of C", c.cols())?, int("tau", tau.len())?);
        let side = side.code();
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix("A", &a)?, operands.vector("tau", &tau)?.pointer);
        let c = operands.matrix_mut("C", c)?;
        let plan = plan::<T, _>("ormqr", T::pair(), singular, move || format!("C {m} x {n}, {k} reflections"));
        let size = |lwork, _| raw::ormqr_size(side, op, m, n, k, a, tau, c, lwork);
        self.run(operands, plan, size, |w| raw::ormqr(side, op, m, n, k, a, tau, c, w.pointer, w.len(), w.info))
    }

    /// Computes the X that minimizes ‖B − A X‖, for an A with at least as many rows as columns and linearly
    /// independent columns. A and B are overwritten. It waits. If the largest element of A is less than 1 or very
    /// large, A is scaled by a power of two, as in [`syevd`](Self::syevd).
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, a matrix is row-major, or for a
    /// batch. The outcome is [`Cause::Singular`] if the columns of A are linearly dependent, and [`Cause::NotFinite`]
    /// if an element of A is NaN or infinite.
    #[doc(alias("hipsolverSSgels", "hipsolverDDgels", "hipsolverCCgels", "hipsolverZZgels", "cusolverDnSSgels"))]
    pub fn gels<'a, T: Gels>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
        x: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, b, x) = (a.into(), b.into(), x.into());
        for (what, op) in [("A", a.op()), ("B", b.op()), ("X", x.op())] {
            as_stored(what, op, T::COMPLEX)?;
        }
        alone("A", a.batch_size())?;
        alone("B", b.batch_size())?;
        alone("X", x.batch_size())?;
        if a.rows() < a.cols() {
            let found = format!("{} x {}", a.rows(), a.cols());
            return Err(invalid("the shape of A", found, "at least as many rows as columns"));
        }
        let shapes = Shapes::of("gels", [("A", (&a).into()), ("B", (&b).into()), ("X", (&x).into())]);
        shapes.fits("the rows of B", b.rows(), a.rows(), "as A")?;
        shapes.fits("the rows of X", x.rows(), a.cols(), "the columns of A")?;
        shapes.fits("the columns of X", x.cols(), b.cols(), "as B")?;
        let (m, n) = (int("the rows of A", a.rows())?, int("the columns of A", a.cols())?);
        let nrhs = int("the columns of B", b.cols())?;
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix_mut("A", a)?, operands.matrix_mut("B", b)?);
        let x = operands.matrix_mut("X", x)?;
        let scaling =
            Some(Scaling::of_system::<T>(Array::new::<T>(a, m, n, Part::All), Array::new::<T>(x, n, nrhs, Part::All)));
        let plan = Plan {
            waits: true,
            unit: 1,
            scaling,
            ..plan::<T, _>("gels", T::pair(), singular, move || format!("A {m} x {n}, B {m} x {nrhs}"))
        };
        let mut iterations = 0_i32;
        let iterations = (&raw mut iterations).cast();
        let size = |lwork, _| raw::gels_size(m, n, nrhs, a, b, x, lwork);
        self.run(operands, plan, size, |w| raw::gels(m, n, nrhs, a, b, x, w.pointer, w.len, iterations, w.info))
    }
}
