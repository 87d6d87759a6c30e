//! Level 2: matrices and vectors.

use hip_linalg::{
    BandRef, IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, IntoVectorMut, MatrixMut, MatrixRef, PackedMut,
    PackedRef, Scalar, TriangleMut, TriangleRef, Uplo,
};

use crate::call::invalid;
use crate::raw::{self, *};
use crate::{Blas, Result};

/// Returns the triangle of a Hermitian matrix in memory. A matrix that is only transposed or only conjugated in memory
/// is the conjugate of the matrix, and BLAS has no operation for that. With both or neither, it is the matrix itself.
pub(crate) fn hermitian<T: Scalar>(triangle: &TriangleRef<'_, T>) -> Result<u32> {
    let op = triangle.matrix().op();
    if T::COMPLEX && op.transposed != op.conjugated {
        return Err(invalid("a Hermitian matrix", format!("{op:?} in memory"), "as it is, or its conjugate transpose"));
    }
    Ok(triangle.stored().code())
}

/// Returns the triangle of a symmetric matrix in memory, transposed or not.
pub(crate) fn symmetric<T: Scalar>(triangle: &TriangleRef<'_, T>) -> Result<u32> {
    let op = triangle.matrix().op();
    if T::COMPLEX && op.conjugated {
        return Err(invalid("a symmetric matrix", format!("{op:?} in memory"), "not conjugated"));
    }
    Ok(triangle.stored().code())
}

/// Returns the triangle in memory that is written. With `hermitian`, the transpose is the conjugate, which is a
/// different matrix.
pub(crate) fn written<T: Scalar>(triangle: &TriangleMut<'_, T>, hermitian: bool) -> Result<u32> {
    let op = triangle.matrix().op();
    if T::COMPLEX && (op.conjugated || (hermitian && op.transposed)) {
        return Err(invalid("the matrix that is written", format!("{op:?} in memory"), "as it is"));
    }
    Ok(triangle.stored().code())
}

/// Returns whether a matrix that is written is transposed in memory.
pub(crate) fn output<T: Scalar>(matrix: &MatrixMut<'_, T>) -> Result<bool> {
    let op = matrix.op();
    if T::COMPLEX && op.conjugated {
        return Err(invalid("the matrix that is written", format!("{op:?} in memory"), "not conjugated"));
    }
    Ok(op.transposed)
}

/// y ← α A x + β y for the kinds of symmetric and Hermitian matrices.
macro_rules! symmetric_products {
    ($($trait:ident $name:ident $type:ident $lower:ident [$($k:ident)?] $uplo:expr, $what:literal, [$($alias:literal),*];)*) => {$(
        #[doc = concat!("y ← α A x + β y, where A is ", $what, ".")]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) if the vectors' lengths differ from the matrix's order, and for
        /// forms of it that BLAS lacks.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(
            &'a self,
            alpha: impl IntoScalar<'a, T>,
            a: $type<'a, T>,
            x: impl IntoVector<'a, T>,
            beta: impl IntoScalar<'a, T>,
            y: impl IntoVectorMut<'a, T>,
        ) -> Result<()> {
            let (x, y) = (x.into(), y.into());
            let order = OrderOf::order_of(&a);
            let mut call = self.start(stringify!($name), [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
            call.fits("the length of x", x.len(), order, "the order of the matrix")?;
            call.fits("the length of y", y.len(), order, "the order of the matrix")?;
            let uplo: fn(&$type<'_, T>) -> Result<u32> = $uplo;
            let uplo = uplo(&a)?;
            let n = call.size(order);
            $(let $k = call.size(a.diagonals().0 + a.diagonals().1);)?
            let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
            let (a, x, y) = (call.$lower("A", matrix_of(&a))?, call.vector("x", &x)?, call.vector_mut("y", y)?);
            call.run(T::forms(), factors, |[alpha, beta]| raw::$name(uplo, n, $($k,)? alpha, a, x, beta, y))
        }
    )*};
}

/// The orders of square matrices of all kinds.
trait OrderOf {
    /// The type that the call names: the triangle's matrix, or the operand itself.
    type Named;
    fn order_of(&self) -> usize;
    fn named(&self) -> &Self::Named;
}

impl<'a, T> OrderOf for TriangleRef<'a, T> {
    type Named = MatrixRef<'a, T>;
    fn order_of(&self) -> usize {
        self.order()
    }
    fn named(&self) -> &Self::Named {
        self.matrix()
    }
}

impl<T> OrderOf for PackedRef<'_, T> {
    type Named = Self;
    fn order_of(&self) -> usize {
        self.order()
    }
    fn named(&self) -> &Self {
        self
    }
}

impl<T> OrderOf for BandRef<'_, T> {
    type Named = Self;
    fn order_of(&self) -> usize {
        self.shape().1
    }
    fn named(&self) -> &Self {
        self
    }
}

fn matrix_of<M: OrderOf>(matrix: &M) -> &M::Named {
    matrix.named()
}

/// Checks a packed or band matrix that is symmetric: it is used as it is in memory.
fn plain_packed<T: Scalar>(a: &PackedRef<'_, T>) -> Result<u32> {
    let op = a.op();
    if T::COMPLEX && op.transposed != op.conjugated {
        return Err(invalid("a Hermitian matrix", format!("{op:?} in memory"), "as it is, or its conjugate transpose"));
    }
    Ok(a.stored().code())
}

fn plain_band<T: Scalar>(a: &BandRef<'_, T>) -> Result<u32> {
    let op = a.matrix().op();
    if T::COMPLEX && op.transposed != op.conjugated {
        return Err(invalid("a Hermitian matrix", format!("{op:?} in memory"), "as it is, or its conjugate transpose"));
    }
    Ok(a.stored("the band of a symmetric or Hermitian matrix")?.code())
}

/// x ← A x and x ← A⁻¹ x.
macro_rules! triangular {
    ($($trait:ident $name:ident $type:ident $lower:ident [$($k:ident)?] $op:expr, $uplo:expr, $what:literal, [$($alias:literal),*];)*) => {$(
        #[doc = concat!($what, ".")]
        ///
        /// A singular triangle gives infinities and NaN.
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) if the vector's length differs from the matrix's order, and for
        /// forms of it that BLAS lacks.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(&'a self, a: $type<'a, T>, x: impl IntoVectorMut<'a, T>) -> Result<()> {
            let x = x.into();
            let order = OrderOf::order_of(&a);
            let mut call = self.start(stringify!($name), [("A", (&a).into()), ("x", (&x).into())]);
            call.fits("the length of x", x.len(), order, "the order of the matrix")?;
            let uplo: fn(&$type<'_, T>) -> Result<Uplo> = $uplo;
            let op: fn(&$type<'_, T>) -> hip_linalg::Op = $op;
            let (uplo, op, diag) = (uplo(&a)?.code(), op(&a).code::<T>("a triangular matrix")?, a.diag_code());
            let n = call.size(order);
            $(let $k = call.size(a.diagonals().0 + a.diagonals().1);)?
            let (a, x) = (call.$lower("A", matrix_of(&a))?, call.vector_mut("x", x)?);
            call.run(T::forms(), [], |[]| raw::$name(uplo, op, diag, n, $($k,)? a, x))
        }
    )*};
}

/// A ← α x yᵀ + A and similar updates of triangles.
macro_rules! updates {
    ($($trait:ident $name:ident $alpha:ty, $type:ident $lower:ident [$($y:ident)?] $hermitian:literal, $what:literal, [$($alias:literal),*];)*) => {$(
        #[doc = concat!($what, ". Only the triangle is accessed.")]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) if the vectors' lengths differ from the matrix's order, and for
        /// forms of it that BLAS lacks.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(
            &'a self,
            alpha: impl IntoScalar<'a, $alpha>,
            x: impl IntoVector<'a, T>,
            $($y: impl IntoVector<'a, T>,)?
            a: $type<'a, T>,
        ) -> Result<()> {
            let x = x.into();
            let order = a.order();
            $(let $y = $y.into();)?
            let mut call = self.start(stringify!($name), [("x", (&x).into()), $(("y", (&$y).into()),)? ("A", (&a).into())]);
            call.fits("the length of x", x.len(), order, "the order of the matrix")?;
            $(call.fits("the length of y", $y.len(), order, "the order of the matrix")?;)?
            let uplo = Updated::uplo(&a, $hermitian)?;
            let n = call.size(order);
            let alpha = call.factor("alpha", alpha)?;
            let x = call.vector("x", &x)?;
            $(let $y = call.vector("y", &$y)?;)?
            let a = call.$lower("A", Updated::into_operand(a))?;
            call.run(T::forms(), [alpha], |[alpha]| raw::$name(uplo, n, alpha, x, $($y,)? a))
        }
    )*};
}

/// Triangles that updates write.
trait Updated: Sized {
    type Operand;
    fn uplo(&self, hermitian: bool) -> Result<u32>;
    fn into_operand(self) -> Self::Operand;
}

impl<'a, T: Scalar> Updated for TriangleMut<'a, T> {
    type Operand = MatrixMut<'a, T>;
    fn uplo(&self, hermitian: bool) -> Result<u32> {
        written(self, hermitian)
    }
    fn into_operand(self) -> Self::Operand {
        self.into_matrix()
    }
}

impl<T: Scalar> Updated for PackedMut<'_, T> {
    type Operand = Self;
    fn uplo(&self, hermitian: bool) -> Result<u32> {
        let op = self.op();
        if op.transposed || op.conjugated {
            let allowed = if hermitian { "as it is" } else { "as it is: a symmetric matrix is its transpose" };
            return Err(invalid("the matrix that is written", format!("{op:?} in memory"), allowed));
        }
        Ok(self.stored().code())
    }
    fn into_operand(self) -> Self {
        self
    }
}

/// Level 2: matrices and vectors.
impl Blas {
    /// y ← α A x + β y. With β = 0, the old content of y is ignored.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the shapes do not fit, or A is conjugated without being transposed.
    #[doc(alias(
        "hipblasSgemv",
        "hipblasDgemv",
        "hipblasCgemv",
        "hipblasZgemv",
        "cublasSgemv",
        "cublasDgemv",
        "cublasCgemv",
        "cublasZgemv"
    ))]
    pub fn gemv<'a, T: Gemv>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, x, y) = (a.into(), x.into(), y.into());
        let mut call = self.start("gemv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of x", x.len(), a.cols(), "the columns of A")?;
        call.fits("the length of y", y.len(), a.rows(), "the rows of A")?;
        let op = a.op().code::<T>("A")?;
        let stored = if a.op().transposed { (a.cols(), a.rows()) } else { (a.rows(), a.cols()) };
        let (m, n) = (call.size(stored.0), call.size(stored.1));
        let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
        let (a, x, y) = (call.matrix("A", &a)?, call.vector("x", &x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), factors, |[alpha, beta]| raw::gemv(op, m, n, alpha, a, x, beta, y))
    }

    /// y ← α A x + β y, where A is a band matrix.
    ///
    /// # Errors
    /// As [`gemv`](Self::gemv).
    #[doc(alias(
        "hipblasSgbmv",
        "hipblasDgbmv",
        "hipblasCgbmv",
        "hipblasZgbmv",
        "cublasSgbmv",
        "cublasDgbmv",
        "cublasCgbmv",
        "cublasZgbmv"
    ))]
    pub fn gbmv<'a, T: Gbmv>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: BandRef<'a, T>,
        x: impl IntoVector<'a, T>,
        beta: impl IntoScalar<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let (rows, cols) = a.rows_cols();
        let mut call = self.start("gbmv", [("A", (&a).into()), ("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of x", x.len(), cols, "the columns of A")?;
        call.fits("the length of y", y.len(), rows, "the rows of A")?;
        let op = a.matrix().op().code::<T>("A")?;
        let (m, n) = (call.size(a.shape().0), call.size(a.shape().1));
        let (kl, ku) = (call.size(a.diagonals().0), call.size(a.diagonals().1));
        let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
        let (a, x, y) = (call.band("A", &a)?, call.vector("x", &x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), factors, |[alpha, beta]| raw::gbmv(op, m, n, kl, ku, alpha, a, x, beta, y))
    }

    /// A ← α x yᵀ + A.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the shapes do not fit.
    #[doc(alias(
        "hipblasSger",
        "hipblasDger",
        "hipblasCgeru",
        "hipblasZgeru",
        "cublasSger",
        "cublasDger",
        "cublasCgeru",
        "cublasZgeru"
    ))]
    pub fn ger<'a, T: Ger>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        x: impl IntoVector<'a, T>,
        y: impl IntoVector<'a, T>,
        a: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (x, y, a) = (x.into(), y.into(), a.into());
        let mut call = self.start("ger", [("x", (&x).into()), ("y", (&y).into()), ("A", (&a).into())]);
        call.fits("the length of x", x.len(), a.rows(), "the rows of A")?;
        call.fits("the length of y", y.len(), a.cols(), "the columns of A")?;
        // For a matrix that is transposed in memory, the vectors change places.
        let (x, y, a) = if output(&a)? { (y, x, a.t()) } else { (x, y, a) };
        let (m, n) = (call.size(x.len()), call.size(y.len()));
        let alpha = call.factor("alpha", alpha)?;
        let (x, y, a) = (call.vector("x", &x)?, call.vector("y", &y)?, call.matrix_mut("A", a)?);
        call.run(T::forms(), [alpha], |[alpha]| raw::ger(m, n, alpha, x, y, a))
    }

    /// A ← α x yᴴ + A.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) if the shapes do not fit, or A is row-major.
    #[doc(alias("hipblasCgerc", "hipblasZgerc", "cublasCgerc", "cublasZgerc"))]
    pub fn gerc<'a, T: Gerc>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        x: impl IntoVector<'a, T>,
        y: impl IntoVector<'a, T>,
        a: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (x, y, a) = (x.into(), y.into(), a.into());
        let mut call = self.start("gerc", [("x", (&x).into()), ("y", (&y).into()), ("A", (&a).into())]);
        call.fits("the length of x", x.len(), a.rows(), "the rows of A")?;
        call.fits("the length of y", y.len(), a.cols(), "the columns of A")?;
        if output(&a)? {
            return Err(invalid("A", "row-major", "column-major: BLAS does not conjugate the first vector"));
        }
        let (m, n) = (call.size(x.len()), call.size(y.len()));
        let alpha = call.factor("alpha", alpha)?;
        let (x, y, a) = (call.vector("x", &x)?, call.vector("y", &y)?, call.matrix_mut("A", a)?);
        call.run(T::forms(), [alpha], |[alpha]| raw::gerc(m, n, alpha, x, y, a))
    }

    symmetric_products! {
        Symv symv TriangleRef matrix [] symmetric::<T>, "symmetric, with one triangle stored", ["hipblasSsymv", "hipblasDsymv", "hipblasCsymv", "hipblasZsymv", "cublasSsymv", "cublasDsymv", "cublasCsymv", "cublasZsymv"];
        Hemv hemv TriangleRef matrix [] hermitian::<T>, "Hermitian, with one triangle stored", ["hipblasChemv", "hipblasZhemv", "cublasChemv", "cublasZhemv"];
        Spmv spmv PackedRef packed [] plain_packed::<T>, "symmetric, packed", ["hipblasSspmv", "hipblasDspmv", "cublasSspmv", "cublasDspmv"];
        Hpmv hpmv PackedRef packed [] plain_packed::<T>, "Hermitian, packed", ["hipblasChpmv", "hipblasZhpmv", "cublasChpmv", "cublasZhpmv"];
        Sbmv sbmv BandRef band [k] plain_band::<T>, "a symmetric band matrix, with the diagonals on one side stored", ["hipblasSsbmv", "hipblasDsbmv", "cublasSsbmv", "cublasDsbmv"];
        Hbmv hbmv BandRef band [k] plain_band::<T>, "a Hermitian band matrix, with the diagonals on one side stored", ["hipblasChbmv", "hipblasZhbmv", "cublasChbmv", "cublasZhbmv"];
    }

    triangular! {
        Trmv trmv TriangleRef matrix [] |a| a.matrix().op(), |a| Ok(a.stored()), "x ← A x, where A is a triangle", ["hipblasStrmv", "hipblasDtrmv", "hipblasCtrmv", "hipblasZtrmv", "cublasStrmv", "cublasDtrmv", "cublasCtrmv", "cublasZtrmv"];
        Trsv trsv TriangleRef matrix [] |a| a.matrix().op(), |a| Ok(a.stored()), "x ← A⁻¹ x, where A is a triangle", ["hipblasStrsv", "hipblasDtrsv", "hipblasCtrsv", "hipblasZtrsv", "cublasStrsv", "cublasDtrsv", "cublasCtrsv", "cublasZtrsv"];
        Tpmv tpmv PackedRef packed [] |a| a.op(), |a| Ok(a.stored()), "x ← A x, where A is a packed triangle", ["hipblasStpmv", "hipblasDtpmv", "hipblasCtpmv", "hipblasZtpmv", "cublasStpmv", "cublasDtpmv", "cublasCtpmv", "cublasZtpmv"];
        Tpsv tpsv PackedRef packed [] |a| a.op(), |a| Ok(a.stored()), "x ← A⁻¹ x, where A is a packed triangle", ["hipblasStpsv", "hipblasDtpsv", "hipblasCtpsv", "hipblasZtpsv", "cublasStpsv", "cublasDtpsv", "cublasCtpsv", "cublasZtpsv"];
        Tbmv tbmv BandRef band [k] |a| a.matrix().op(), |a| Ok(a.stored("a triangular band")?), "x ← A x, where A is a triangular band", ["hipblasStbmv", "hipblasDtbmv", "hipblasCtbmv", "hipblasZtbmv", "cublasStbmv", "cublasDtbmv", "cublasCtbmv", "cublasZtbmv"];
        Tbsv tbsv BandRef band [k] |a| a.matrix().op(), |a| Ok(a.stored("a triangular band")?), "x ← A⁻¹ x, where A is a triangular band", ["hipblasStbsv", "hipblasDtbsv", "hipblasCtbsv", "hipblasZtbsv", "cublasStbsv", "cublasDtbsv", "cublasCtbsv", "cublasZtbsv"];
    }

    updates! {
        Syr syr T, TriangleMut matrix_mut [] false, "A ← α x xᵀ + A, where A is symmetric", ["hipblasSsyr", "hipblasDsyr", "hipblasCsyr", "hipblasZsyr", "cublasSsyr", "cublasDsyr", "cublasCsyr", "cublasZsyr"];
        Her her T::Real, TriangleMut matrix_mut [] true, "A ← α x xᴴ + A, where A is Hermitian", ["hipblasCher", "hipblasZher", "cublasCher", "cublasZher"];
        Spr spr T, PackedMut packed_mut [] false, "A ← α x xᵀ + A, where A is symmetric and packed", ["hipblasSspr", "hipblasDspr", "hipblasCspr", "hipblasZspr", "cublasSspr", "cublasDspr", "cublasCspr", "cublasZspr"];
        Hpr hpr T::Real, PackedMut packed_mut [] true, "A ← α x xᴴ + A, where A is Hermitian and packed", ["hipblasChpr", "hipblasZhpr", "cublasChpr", "cublasZhpr"];
        Syr2 syr2 T, TriangleMut matrix_mut [y] false, "A ← α x yᵀ + α y xᵀ + A, where A is symmetric", ["hipblasSsyr2", "hipblasDsyr2", "hipblasCsyr2", "hipblasZsyr2", "cublasSsyr2", "cublasDsyr2", "cublasCsyr2", "cublasZsyr2"];
        Her2 her2 T, TriangleMut matrix_mut [y] true, "A ← α x yᴴ + conj(α) y xᴴ + A, where A is Hermitian", ["hipblasCher2", "hipblasZher2", "cublasCher2", "cublasZher2"];
        Spr2 spr2 T, PackedMut packed_mut [y] false, "A ← α x yᵀ + α y xᵀ + A, where A is symmetric and packed", ["hipblasSspr2", "hipblasDspr2", "cublasSspr2", "cublasDspr2"];
        Hpr2 hpr2 T, PackedMut packed_mut [y] true, "A ← α x yᴴ + conj(α) y xᴴ + A, where A is Hermitian and packed", ["hipblasChpr2", "hipblasZhpr2", "cublasChpr2", "cublasZhpr2"];
    }
}
