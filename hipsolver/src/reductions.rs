//! Reductions to tridiagonal and bidiagonal form, factorizations of indefinite matrices, and complete solves.

use hip_linalg::{
    IntoMatrixMut, IntoVector, IntoVectorMut, Operands, Pivots, Shapes, Side, TriangleMut, TriangleRef, VectorRef,
};

use crate::checks::{alone, as_stored, int, invalid, values};
use crate::dense::{plan, singular};
use crate::raw::{self, *};
use crate::solver::{Outcome, Plan};
use crate::{Result, Solver};

/// The factor of a bidiagonal reduction that [`Solver::orgbr`] computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// Q, on the left.
    Q,
    /// Pᴴ, on the right.
    PHermitian,
}

fn read_values<T>(shapes: &Shapes, what: &'static str, values: &VectorRef<'_, T>, needed: usize) -> Result<()> {
    shapes.fits(what, values.len(), needed, "as the matrix needs")?;
    if values.increment() == 1 {
        return Ok(());
    }
    Err(invalid("the increment of a vector", values.increment().to_string(), "1"))
}

/// Reductions, and operations on their results.
impl Solver {
    /// Solves A X = B with an LU factorization. A is overwritten with its factors or not changed; B may be overwritten.
    /// It waits.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, a matrix is row-major, or for a
    /// batch. The outcome is [`Cause::Singular`](crate::Cause::Singular) if A is singular.
    #[doc(alias("hipsolverSSgesv", "hipsolverDDgesv", "hipsolverCCgesv", "hipsolverZZgesv", "cusolverDnSSgesv"))]
    pub fn gesv<'a, T: Gesv>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        pivots: &'a mut Pivots,
        b: impl IntoMatrixMut<'a, T>,
        x: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, b, x) = (a.into(), b.into(), x.into());
        for (what, matrix) in [("A", &a), ("B", &b), ("X", &x)] {
            as_stored(what, matrix.op(), T::COMPLEX)?;
            alone(what, matrix.batch_size())?;
        }
        let shapes = Shapes::of("gesv", [("A", (&a).into()), ("B", (&b).into()), ("X", (&x).into())]);
        shapes.fits("the columns of A", a.cols(), a.rows(), "its rows")?;
        shapes.fits("the rows of B", b.rows(), a.rows(), "the order of A")?;
        shapes.fits("the rows of X", x.rows(), a.rows(), "the order of A")?;
        shapes.fits("the columns of X", x.cols(), b.cols(), "as B")?;
        shapes.fits("the members of the pivots", pivots.members(), 1, "as A")?;
        shapes.fits("the pivots", pivots.len(), a.rows(), "the order of A")?;
        shapes.fits("the rows of the pivots", pivots.rows(), a.rows(), "the order of A")?;
        let (n, nrhs) = (int("the order of A", a.rows())?, int("the columns of B", b.cols())?);
        let mut operands = Operands::on(self.stream());
        let (a, b) = (operands.matrix_mut("A", a)?, operands.matrix_mut("B", b)?);
        let x = operands.matrix_mut("X", x)?;
        // SAFETY: the library writes row numbers of A there.
        let pivots = operands.slice_mut("the pivots", unsafe { pivots.as_slice_mut() })?;
        let asked = move || format!("A {n} x {n}, B {n} x {nrhs}");
        let plan = Plan { waits: true, unit: 1, ..plan::<T, _>("gesv", T::pair(), singular, asked) };
        let mut iterations = 0_i32;
        let iterations = (&raw mut iterations).cast();
        let size = |lwork, _| raw::gesv_size(n, nrhs, a, pivots, b, x, lwork);
        self.run(operands, plan, size, |w| raw::gesv(n, nrhs, a, pivots, b, x, w.pointer, w.len, iterations, w.info))
    }

    /// A = Q T Qᴴ, where T is tridiagonal: `d` receives its diagonal and `e` its off-diagonal; A and `tau` are
    /// overwritten with the representation of Q.
    ///
    /// The elements must be in the range that [`geqrf`](Self::geqrf) names.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless `d` has as many elements as A has rows and `e` and
    /// `tau` one fewer; for a row-major A, and for a batch.
    #[doc(alias("hipsolverSsytrd", "hipsolverDsytrd", "hipsolverChetrd", "hipsolverZhetrd", "cusolverDnSsytrd"))]
    pub fn sytrd<'a, T: Sytrd>(
        &self,
        a: TriangleMut<'a, T>,
        d: impl IntoVectorMut<'a, T::Real>,
        e: impl IntoVectorMut<'a, T::Real>,
        tau: impl IntoVectorMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (d, e, tau) = (d.into(), e.into(), tau.into());
        as_stored("A", a.matrix().op(), T::COMPLEX)?;
        alone("A", a.matrix().batch_size())?;
        let beside = a.order().saturating_sub(1);
        let shapes =
            Shapes::of("sytrd", [("A", (&a).into()), ("d", (&d).into()), ("e", (&e).into()), ("tau", (&tau).into())]);
        values(&shapes, "the length of d", &d, a.order())?;
        values(&shapes, "the length of e", &e, beside)?;
        values(&shapes, "the length of tau", &tau, beside)?;
        let (n, uplo) = (int("the order of A", a.order())?, a.stored().code());
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        let (d, e) = (operands.vector_mut("d", d)?.pointer, operands.vector_mut("e", e)?.pointer);
        let tau = operands.vector_mut("tau", tau)?.pointer;
        let plan = plan::<T, _>("sytrd", T::pair(), singular, move || format!("A {n} x {n}"));
        let size = |lwork, _| raw::sytrd_size(uplo, n, a, d, e, tau, lwork);
        self.run(operands, plan, size, |w| raw::sytrd(uplo, n, a, d, e, tau, w.pointer, w.len(), w.info))
    }

    /// Overwrites the result of [`sytrd`](Self::sytrd) with Q.
    ///
    /// # Errors
    /// As [`sytrd`](Self::sytrd).
    #[doc(alias("hipsolverSorgtr", "hipsolverDorgtr", "hipsolverCungtr", "hipsolverZungtr", "cusolverDnSorgtr"))]
    pub fn orgtr<'a, T: Orgtr>(&self, a: TriangleMut<'a, T>, tau: impl IntoVector<'a, T>) -> Result<Outcome<'_>> {
        let tau = tau.into();
        as_stored("A", a.matrix().op(), T::COMPLEX)?;
        alone("A", a.matrix().batch_size())?;
        let shapes = Shapes::of("orgtr", [("A", (&a).into()), ("tau", (&tau).into())]);
        read_values(&shapes, "the length of tau", &tau, a.order().saturating_sub(1))?;
        let (n, uplo) = (int("the order of A", a.order())?, a.stored().code());
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix_mut("A", a.into_matrix())?, operands.vector("tau", &tau)?.pointer);
        let plan = plan::<T, _>("orgtr", T::pair(), singular, move || format!("A {n} x {n}"));
        let size = |lwork, _| raw::orgtr_size(uplo, n, a, tau, lwork);
        self.run(operands, plan, size, |w| raw::orgtr(uplo, n, a, tau, w.pointer, w.len(), w.info))
    }

    /// C ← Q C, or C Q with [`Side::Right`], where A and `tau` represent Q, as [`sytrd`](Self::sytrd) returns it;
    /// with `conjugated`, its conjugate transpose.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) if the shapes do not fit, a matrix is row-major, or for a
    /// batch.
    #[doc(alias("hipsolverSormtr", "hipsolverDormtr", "hipsolverCunmtr", "hipsolverZunmtr", "cusolverDnSormtr"))]
    pub fn ormtr<'a, T: Ormtr>(
        &self,
        side: Side,
        conjugated: bool,
        a: TriangleRef<'a, T>,
        tau: impl IntoVector<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (tau, c) = (tau.into(), c.into());
        as_stored("A", a.matrix().op(), T::COMPLEX)?;
        as_stored("C", c.op(), T::COMPLEX)?;
        alone("A", a.matrix().batch_size())?;
        alone("C", c.batch_size())?;
        let shapes = Shapes::of("ormtr", [("A", (&a).into()), ("tau", (&tau).into()), ("C", (&c).into())]);
        shapes.fits(
            "the order of A",
            a.order(),
            if side == Side::Left { c.rows() } else { c.cols() },
            "as C has it",
        )?;
        read_values(&shapes, "the length of tau", &tau, a.order().saturating_sub(1))?;
        let (m, n) = (int("the rows of C", c.rows())?, int("the columns of C", c.cols())?);
        let op = match (conjugated, T::COMPLEX) {
            (false, _) => 111,
            (true, false) => 112,
            (true, true) => 113,
        };
        let (side, uplo) = (side.code(), a.stored().code());
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix("A", a.matrix())?, operands.vector("tau", &tau)?.pointer);
        let c = operands.matrix_mut("C", c)?;
        let plan = plan::<T, _>("ormtr", T::pair(), singular, move || format!("C {m} x {n}"));
        let size = |lwork, _| raw::ormtr_size(side, uplo, op, m, n, a, tau, c, lwork);
        self.run(operands, plan, size, |w| raw::ormtr(side, uplo, op, m, n, a, tau, c, w.pointer, w.len(), w.info))
    }

    /// A = Q B Pᴴ, where B is bidiagonal: `d` receives its diagonal and `e` its off-diagonal (above the diagonal, if
    /// A has at least as many rows as columns); A, `tauq` and `taup` are overwritten with the representation of Q and
    /// P.
    ///
    /// The elements must be in the range that [`geqrf`](Self::geqrf) names.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless `d`, `tauq` and `taup` have as many elements as the
    /// smaller dimension of A and `e` one fewer; for a row-major A, and for a batch.
    #[doc(alias("hipsolverSgebrd", "hipsolverDgebrd", "hipsolverCgebrd", "hipsolverZgebrd", "cusolverDnSgebrd"))]
    pub fn gebrd<'a, T: Gebrd>(
        &self,
        a: impl IntoMatrixMut<'a, T>,
        d: impl IntoVectorMut<'a, T::Real>,
        e: impl IntoVectorMut<'a, T::Real>,
        tauq: impl IntoVectorMut<'a, T>,
        taup: impl IntoVectorMut<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, d, e, tauq, taup) = (a.into(), d.into(), e.into(), tauq.into(), taup.into());
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        let small = a.rows().min(a.cols());
        let shapes = Shapes::of(
            "gebrd",
            [
                ("A", (&a).into()),
                ("d", (&d).into()),
                ("e", (&e).into()),
                ("tauq", (&tauq).into()),
                ("taup", (&taup).into()),
            ],
        );
        values(&shapes, "the length of d", &d, small)?;
        values(&shapes, "the length of e", &e, small.saturating_sub(1))?;
        values(&shapes, "the length of tauq", &tauq, small)?;
        values(&shapes, "the length of taup", &taup, small)?;
        let (m, n) = (int("the rows of A", a.rows())?, int("the columns of A", a.cols())?);
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a)?;
        let (d, e) = (operands.vector_mut("d", d)?.pointer, operands.vector_mut("e", e)?.pointer);
        let (tauq, taup) = (operands.vector_mut("tauq", tauq)?.pointer, operands.vector_mut("taup", taup)?.pointer);
        let plan = plan::<T, _>("gebrd", T::pair(), singular, move || format!("A {m} x {n}"));
        let size = |lwork, _| raw::gebrd_size(m, n, lwork);
        self.run(operands, plan, size, |w| raw::gebrd(m, n, a, d, e, tauq, taup, w.pointer, w.len(), w.info))
    }

    /// Overwrites the result of [`gebrd`](Self::gebrd) for a square matrix with Q or Pᴴ.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless A is square and `tau` has as many elements as it has
    /// rows; for a row-major A, and for a batch.
    #[doc(alias("hipsolverSorgbr", "hipsolverDorgbr", "hipsolverCungbr", "hipsolverZungbr", "cusolverDnSorgbr"))]
    pub fn orgbr<'a, T: Orgbr>(
        &self,
        factor: Factor,
        a: impl IntoMatrixMut<'a, T>,
        tau: impl IntoVector<'a, T>,
    ) -> Result<Outcome<'_>> {
        let (a, tau) = (a.into(), tau.into());
        as_stored("A", a.op(), T::COMPLEX)?;
        alone("A", a.batch_size())?;
        let shapes = Shapes::of("orgbr", [("A", (&a).into()), ("tau", (&tau).into())]);
        shapes.fits("the columns of A", a.cols(), a.rows(), "its rows")?;
        read_values(&shapes, "the length of tau", &tau, a.rows())?;
        let n = int("the order of A", a.rows())?;
        let side = if factor == Factor::Q { Side::Left } else { Side::Right }.code();
        let mut operands = Operands::on(self.stream());
        let (a, tau) = (operands.matrix_mut("A", a)?, operands.vector("tau", &tau)?.pointer);
        let plan = plan::<T, _>("orgbr", T::pair(), singular, move || format!("A {n} x {n}"));
        let size = |lwork, _| raw::orgbr_size(side, n, n, n, a, tau, lwork);
        self.run(operands, plan, size, |w| raw::orgbr(side, n, n, n, a, tau, w.pointer, w.len(), w.info))
    }

    /// A = L D Lᵀ, or A = U D Uᵀ: the factorization of a symmetric matrix that may be indefinite (for complex
    /// numbers, symmetric and not Hermitian), with row exchanges. D has blocks of 1 x 1 and 2 x 2; `pivots`, LAPACK's
    /// `ipiv`, has negative numbers for the latter.
    ///
    /// # Errors
    /// [`CallError::Invalid`](crate::CallError::Invalid) unless `pivots` has as many elements as A has rows; for a
    /// row-major A, and for a batch. The outcome is [`Cause::Singular`](crate::Cause::Singular) if D has a zero on its
    /// diagonal.
    #[doc(alias("hipsolverSsytrf", "hipsolverDsytrf", "hipsolverCsytrf", "hipsolverZsytrf", "cusolverDnSsytrf"))]
    pub fn sytrf<'a, T: Sytrf>(
        &self,
        a: TriangleMut<'a, T>,
        pivots: impl IntoVectorMut<'a, i32>,
    ) -> Result<Outcome<'_>> {
        let pivots = pivots.into();
        as_stored("A", a.matrix().op(), T::COMPLEX)?;
        alone("A", a.matrix().batch_size())?;
        let shapes = Shapes::of("sytrf", [("A", (&a).into()), ("the pivots", (&pivots).into())]);
        values(&shapes, "the number of pivots", &pivots, a.order())?;
        let (n, uplo) = (int("the order of A", a.order())?, a.stored().code());
        let mut operands = Operands::on(self.stream());
        let a = operands.matrix_mut("A", a.into_matrix())?;
        let pivots = operands.vector_mut("the pivots", pivots)?.pointer;
        let plan = plan::<T, _>("sytrf", T::pair(), singular, move || format!("A {n} x {n}"));
        let size = |lwork, _| raw::sytrf_size(n, a, lwork);
        self.run(operands, plan, size, |w| raw::sytrf(uplo, n, a, pivots, w.pointer, w.len(), w.info))
    }
}
