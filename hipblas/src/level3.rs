//! Level 3: matrices and matrices.

use hip_linalg::{
    IntoMatrix, IntoMatrixMut, IntoScalar, IntoVector, MatrixMut, MatrixRef, Scalar, Side, TriangleMut, TriangleRef,
};

use crate::call::{Call, invalid};
use crate::level2::{hermitian, output, symmetric, written};
use crate::raw::{self, *};
use crate::{Blas, Error, Result};

/// C ← α A B + β C, where A is symmetric or Hermitian.
macro_rules! symmetric_products {
    ($($trait:ident $name:ident $uplo:ident $hermitian:literal $what:literal, [$($alias:literal),*];)*) => {$(
        #[doc = concat!("C ← α A B + β C, or α B A + β C with [`Side::Right`], where A is ", $what, " with one triangle stored.")]
        ///
        /// # Errors
        /// [`Error::Invalid`] if the shapes do not fit, B and C are not both row-major or both column-major, or BLAS
        /// lacks the form.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(
            &'a self,
            side: Side,
            alpha: impl IntoScalar<'a, T>,
            a: TriangleRef<'a, T>,
            b: impl IntoMatrix<'a, T>,
            beta: impl IntoScalar<'a, T>,
            c: impl IntoMatrixMut<'a, T>,
        ) -> Result<()> {
            let (b, c) = (b.into(), c.into());
            let mut call = self.start(stringify!($name), [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
            order_fits(&call, side, a.order(), (b.rows(), b.cols()))?;
            call.fits_shape("C", (c.rows(), c.cols()), (b.rows(), b.cols()), "as B")?;
            let turned = output(&c)?;
            // The transpose of the whole equation: for a Hermitian matrix, that is the conjugate.
            let a = if turned { a.t() } else { a };
            let (b, c) = if turned { (b.t(), c.t()) } else { (b, c) };
            if b.op().code::<T>("B")? != 111 {
                return Err(invalid("B", format!("{:?} in memory", b.op()), "as C is in memory"));
            }
            let (side, uplo) = (side.flipped_if(turned).code(), $uplo(&a)?);
            let (m, n) = (call.size(c.rows()), call.size(c.cols()));
            let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
            let (a, b) = (call.matrix("A", a.matrix())?, call.matrix("B", &b)?);
            let c = call.matrix_mut("C", c)?;
            call.run(T::forms(), factors, |[alpha, beta]| raw::$name(side, uplo, m, n, alpha, a, b, beta, c))
        }
    )*};
}

/// Returns the operation on the n x k operands of rank updates: none, or the (conjugate) transpose.
fn rank_op<T: Scalar>(what: &'static str, a: &MatrixRef<'_, T>, hermitian: bool) -> Result<u32> {
    let code = a.op().code::<T>(what)?;
    let other = if hermitian && T::COMPLEX { 113 } else { 112 };
    if code != 111 && code != other {
        return Err(invalid(
            what,
            format!("{:?} in memory", a.op()),
            if hermitian { "not only transposed" } else { "not conjugated" },
        ));
    }
    Ok(code)
}

/// C ← α A Aᵀ + β C and similar updates.
macro_rules! rank_updates {
    ($($trait:ident $name:ident $alpha:ty, $beta:ty, [$($b:ident)?] $hermitian:literal $what:literal, [$($alias:literal),*];)*) => {$(
        #[doc = concat!($what, ". Only the triangle is accessed.")]
        ///
        /// # Errors
        /// [`Error::Invalid`] if the shapes do not fit, or BLAS lacks the form.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(
            &'a self,
            alpha: impl IntoScalar<'a, $alpha>,
            a: impl IntoMatrix<'a, T>,
            $($b: impl IntoMatrix<'a, T>,)?
            beta: impl IntoScalar<'a, $beta>,
            c: TriangleMut<'a, T>,
        ) -> Result<()> {
            let a = a.into();
            $(let $b = $b.into();)?
            let mut call = self.start(stringify!($name), [("A", (&a).into()), $(("B", (&$b).into()),)? ("C", (&c).into())]);
            $(call.fits_shape("B", ($b.rows(), $b.cols()), (a.rows(), a.cols()), "as A")?;)?
            call.fits("the order of C", c.order(), a.rows(), "the rows of A")?;
            // A Hermitian matrix that is transposed in memory is stored as its conjugate.
            let turned = $hermitian && T::COMPLEX && c.matrix().op().transposed && !c.matrix().op().conjugated;
            let (a, c) = if turned { (a.conj(), c.t()) } else { (a, c) };
            $(
                let $b = if turned { $b.conj() } else { $b };
                if rank_op("B", &$b, $hermitian)? != rank_op("A", &a, $hermitian)? {
                    return Err(invalid("B", format!("{:?} in memory", $b.op()), "as A is in memory"));
                }
                // Instead of conjugating alpha.
                let (a, $b) = if turned { ($b, a) } else { (a, $b) };
            )?
            let op = rank_op("A", &a, $hermitian)?;
            let uplo = written(&c, $hermitian)?;
            let (n, k) = (call.size(c.order()), call.size(a.cols()));
            let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
            let a = call.matrix("A", &a)?;
            $(let $b = call.matrix("B", &$b)?;)?
            let c = call.matrix_mut("C", c.into_matrix())?;
            call.run(T::forms(), factors, |[alpha, beta]| raw::$name(uplo, op, n, k, alpha, a, $($b,)? beta, c))
        }
    )*};
}

/// Level 3: matrices and matrices.
impl Blas {
    /// C ← α A B + β C. With β = 0, the old content of C is ignored.
    ///
    /// Batches, transposes and row-major matrices are views of A, B and C. For `f16` it computes in 16 bits;
    /// [`gemm_ex`](Self::gemm_ex) computes in a wider type, and supports `bf16` and `i8`.
    ///
    /// ```
    /// use hip::{Device, DeviceBuffer, Stream};
    /// use hipblas::{Blas, MatrixMut, MatrixRef};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # if hip::sim_if_no_gpu().is_err() || !hipblas::is_available()
    /// #     || hip::backend()? == hip::Backend::Sim { return Ok(()) }
    /// let device = Device::get(0)?;
    /// let blas = Blas::new(&Stream::new(&device)?)?;
    /// // 100 products of 4 x 4 matrices, one after the other in memory, in one call.
    /// let a = DeviceBuffer::from_slice(&device, &[1.0f64; 1600])?;
    /// let mut c = DeviceBuffer::<f64>::zeroed(&device, 1600)?;
    /// let batch = MatrixRef::strided_batch(&a, (4, 4, 4), 16, 100)?;
    /// blas.gemm(1.0, batch, batch, 0.0, MatrixMut::strided_batch(&mut c, (4, 4, 4), 16, 100)?)?;
    /// assert_eq!(c.to_vec()?, [4.0; 1600]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or a matrix is conjugated without being transposed.
    #[doc(alias(
        "hipblasHgemm",
        "hipblasSgemm",
        "hipblasDgemm",
        "hipblasCgemm",
        "hipblasZgemm",
        "cublasHgemm",
        "cublasSgemm",
        "cublasDgemm",
        "cublasCgemm",
        "cublasZgemm"
    ))]
    pub fn gemm<'a, T: Gemm>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        b: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let mut call = self.start("gemm", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        product_fits(&call, &a, &b, &c)?;
        // The transpose of a product is the product of the transposes in the other order.
        let (a, b, c) = if output(&c)? { (b.t(), a.t(), c.t()) } else { (a, b, c) };
        let (ta, tb) = (a.op().code::<T>("A")?, b.op().code::<T>("B")?);
        let (m, n, k) = (call.size(c.rows()), call.size(c.cols()), call.size(a.cols()));
        let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
        let (a, b, c) = (call.matrix("A", &a)?, call.matrix("B", &b)?, call.matrix_mut("C", c)?);
        call.run(T::forms(), factors, |[alpha, beta]| raw::gemm(ta, tb, m, n, k, alpha, a, b, beta, c))
    }

    symmetric_products! {
        Symm symm symmetric false "symmetric", ["hipblasSsymm", "hipblasDsymm", "hipblasCsymm", "hipblasZsymm", "cublasSsymm", "cublasDsymm", "cublasCsymm", "cublasZsymm"];
        Hemm hemm hermitian true "Hermitian", ["hipblasChemm", "hipblasZhemm", "cublasChemm", "cublasZhemm"];
    }

    rank_updates! {
        Syrk syrk T, T, [] false "C ← α A Aᵀ + β C, where C is symmetric", ["hipblasSsyrk", "hipblasDsyrk", "hipblasCsyrk", "hipblasZsyrk", "cublasSsyrk", "cublasDsyrk", "cublasCsyrk", "cublasZsyrk"];
        Herk herk T::Real, T::Real, [] true "C ← α A Aᴴ + β C, where C is Hermitian", ["hipblasCherk", "hipblasZherk", "cublasCherk", "cublasZherk"];
        Syr2k syr2k T, T, [b] false "C ← α A Bᵀ + α B Aᵀ + β C, where C is symmetric", ["hipblasSsyr2k", "hipblasDsyr2k", "hipblasCsyr2k", "hipblasZsyr2k", "cublasSsyr2k", "cublasDsyr2k", "cublasCsyr2k", "cublasZsyr2k"];
        Her2k her2k T, T::Real, [b] true "C ← α A Bᴴ + conj(α) B Aᴴ + β C, where C is Hermitian", ["hipblasCher2k", "hipblasZher2k", "cublasCher2k", "cublasZher2k"];
        Syrkx syrkx T, T, [b] false "C ← α A Bᵀ + β C, where the product is known to be symmetric", ["hipblasSsyrkx", "hipblasDsyrkx", "hipblasCsyrkx", "hipblasZsyrkx", "cublasSsyrkx", "cublasDsyrkx", "cublasCsyrkx", "cublasZsyrkx"];
        Herkx herkx T, T::Real, [b] true "C ← α A Bᴴ + β C, where the product is known to be Hermitian", ["hipblasCherkx", "hipblasZherkx", "cublasCherkx", "cublasZherkx"];
    }

    /// B ← α A B, or α B A with [`Side::Right`], where A is a triangle.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or BLAS lacks the form.
    #[doc(alias(
        "hipblasStrmm",
        "hipblasDtrmm",
        "hipblasCtrmm",
        "hipblasZtrmm",
        "cublasStrmm",
        "cublasDtrmm",
        "cublasCtrmm",
        "cublasZtrmm"
    ))]
    pub fn trmm<'a, T: Trmm>(
        &'a self,
        side: Side,
        alpha: impl IntoScalar<'a, T>,
        a: TriangleRef<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let b = b.into();
        let mut call = self.start("trmm", [("A", (&a).into()), ("B", (&b).into())]);
        let (turned, codes) = triangular(&call, side, &a, (b.rows(), b.cols()), output(&b)?)?;
        let b = if turned { b.t() } else { b };
        let (m, n) = (call.size(b.rows()), call.size(b.cols()));
        let alpha = call.factor("alpha", alpha)?;
        let (a, b) = (call.matrix("A", a.matrix())?, call.matrix_mut("B", b)?);
        let [side, uplo, op, diag] = codes;
        if raw::api() == raw::Api::V5 {
            return call.run(T::forms(), [alpha], |[alpha]| raw::trmm_in_place(codes, m, n, alpha, a, b));
        }
        call.run(T::forms(), [alpha], |[alpha]| raw::trmm(side, uplo, op, diag, m, n, alpha, a, b, b))
    }

    /// C ← α A B, or α B A with [`Side::Right`], where A is a triangle. Since ROCm 6.2.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, B and C are not both row-major or both column-major, BLAS lacks the
    /// form, or the library is older than 6.2 and has only [`trmm`](Self::trmm).
    pub fn trmm_to<'a, T: Trmm>(
        &'a self,
        side: Side,
        alpha: impl IntoScalar<'a, T>,
        a: TriangleRef<'a, T>,
        b: impl IntoMatrix<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (b, c) = (b.into(), c.into());
        let mut call = self.start("trmm_to", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        let shape = (b.rows(), b.cols());
        let (turned, [side, uplo, op, diag]) = triangular(&call, side, &a, shape, output(&c)?)?;
        call.fits_shape("C", (c.rows(), c.cols()), shape, "as B")?;
        let (b, c) = if turned { (b.t(), c.t()) } else { (b, c) };
        if b.op().code::<T>("B")? != 111 {
            return Err(invalid("B", format!("{:?} in memory", b.op()), "as C is in memory"));
        }
        let (m, n) = (call.size(c.rows()), call.size(c.cols()));
        let alpha = call.factor("alpha", alpha)?;
        let (a, b, c) = (call.matrix("A", a.matrix())?, call.matrix("B", &b)?, call.matrix_mut("C", c)?);
        if raw::api() == raw::Api::V5 && raw::load_error().is_none() {
            return Err(invalid(
                "the hipBLAS for trmm_to",
                "of a release before 6.2",
                "of 6.2 or newer; trmm is in all",
            ));
        }
        call.run(T::forms(), [alpha], |[alpha]| raw::trmm(side, uplo, op, diag, m, n, alpha, a, b, c))
    }

    /// Solves A X = α B, or X A = α B with [`Side::Right`], where A is a triangle. B is overwritten with X.
    ///
    /// A singular triangle gives infinities and NaN.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or BLAS lacks the form.
    #[doc(alias(
        "hipblasStrsm",
        "hipblasDtrsm",
        "hipblasCtrsm",
        "hipblasZtrsm",
        "cublasStrsm",
        "cublasDtrsm",
        "cublasCtrsm",
        "cublasZtrsm"
    ))]
    pub fn trsm<'a, T: Trsm>(
        &'a self,
        side: Side,
        alpha: impl IntoScalar<'a, T>,
        a: TriangleRef<'a, T>,
        b: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let b = b.into();
        let mut call = self.start("trsm", [("A", (&a).into()), ("B", (&b).into())]);
        let (turned, [side, uplo, op, diag]) = triangular(&call, side, &a, (b.rows(), b.cols()), output(&b)?)?;
        let b = if turned { b.t() } else { b };
        let (m, n) = (call.size(b.rows()), call.size(b.cols()));
        let alpha = call.factor("alpha", alpha)?;
        let (a, b) = (call.matrix("A", a.matrix())?, call.matrix_mut("B", b)?);
        call.run(T::forms(), [alpha], |[alpha]| raw::trsm(side, uplo, op, diag, m, n, alpha, a, b))
    }

    /// Writes the inverse of a triangle to the same triangle of another matrix. A zero on the diagonal gives
    /// infinities.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the orders differ, or the triangles are stored differently.
    #[doc(alias(
        "hipblasStrtri",
        "hipblasDtrtri",
        "hipblasCtrtri",
        "hipblasZtrtri",
        "cublasStrtri",
        "cublasDtrtri",
        "cublasCtrtri",
        "cublasZtrtri"
    ))]
    pub fn trtri<'a, T: Trtri>(&'a self, a: TriangleRef<'a, T>, inverse: TriangleMut<'a, T>) -> Result<()> {
        let mut call = self.start("trtri", [("A", (&a).into()), ("the inverse", (&inverse).into())]);
        call.fits("the order of the inverse", inverse.order(), a.order(), "as A")?;
        if a.matrix().op() != inverse.matrix().op() || a.stored() != inverse.stored() {
            return Err(invalid("the triangle of the inverse", "another than that of A in memory", "the same"));
        }
        let (uplo, diag) = (a.stored().code(), a.diag_code());
        let n = call.size(a.order());
        let (a, inverse) = (call.matrix("A", a.matrix())?, call.matrix_mut("the inverse", inverse.into_matrix())?);
        call.run(T::forms(), [], |[]| raw::trtri(uplo, diag, n, a, inverse))
    }

    /// C ← α A + β B: sums, scaled copies, transposes.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or a matrix is conjugated without being transposed.
    #[doc(alias(
        "hipblasSgeam",
        "hipblasDgeam",
        "hipblasCgeam",
        "hipblasZgeam",
        "cublasSgeam",
        "cublasDgeam",
        "cublasCgeam",
        "cublasZgeam"
    ))]
    pub fn geam<'a, T: Geam>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        a: impl IntoMatrix<'a, T>,
        beta: impl IntoScalar<'a, T>,
        b: impl IntoMatrix<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c) = (a.into(), b.into(), c.into());
        let mut call = self.start("geam", [("A", (&a).into()), ("B", (&b).into()), ("C", (&c).into())]);
        call.fits_shape("B", (b.rows(), b.cols()), (a.rows(), a.cols()), "as A")?;
        call.fits_shape("C", (c.rows(), c.cols()), (a.rows(), a.cols()), "as A")?;
        let (a, b, c) = if output(&c)? { (a.t(), b.t(), c.t()) } else { (a, b, c) };
        let (ta, tb) = (a.op().code::<T>("A")?, b.op().code::<T>("B")?);
        let (m, n) = (call.size(c.rows()), call.size(c.cols()));
        let factors = [call.factor("alpha", alpha)?, call.factor("beta", beta)?];
        let (a, b, c) = (call.matrix("A", &a)?, call.matrix("B", &b)?, call.matrix_mut("C", c)?);
        call.run(T::forms(), factors, |[alpha, beta]| raw::geam(ta, tb, m, n, alpha, a, beta, b, c))
    }

    /// C ← diag(x) A, or A diag(x) with [`Side::Right`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if the shapes do not fit, or A and C are not both row-major or both column-major.
    #[doc(alias(
        "hipblasSdgmm",
        "hipblasDdgmm",
        "hipblasCdgmm",
        "hipblasZdgmm",
        "cublasSdgmm",
        "cublasDdgmm",
        "cublasCdgmm",
        "cublasZdgmm"
    ))]
    pub fn dgmm<'a, T: Dgmm>(
        &'a self,
        side: Side,
        a: impl IntoMatrix<'a, T>,
        x: impl IntoVector<'a, T>,
        c: impl IntoMatrixMut<'a, T>,
    ) -> Result<()> {
        let (a, x, c) = (a.into(), x.into(), c.into());
        let mut call = self.start("dgmm", [("A", (&a).into()), ("x", (&x).into()), ("C", (&c).into())]);
        let (needed, of) =
            if side == Side::Left { (a.rows(), "the rows of A") } else { (a.cols(), "the columns of A") };
        call.fits("the length of x", x.len(), needed, of)?;
        call.fits_shape("C", (c.rows(), c.cols()), (a.rows(), a.cols()), "as A")?;
        let turned = output(&c)?;
        let (a, c) = if turned { (a.t(), c.t()) } else { (a, c) };
        if a.op().code::<T>("A")? != 111 {
            return Err(invalid("A", format!("{:?} in memory", a.op()), "as C is in memory"));
        }
        let side = side.flipped_if(turned).code();
        let (m, n) = (call.size(c.rows()), call.size(c.cols()));
        let (a, x, c) = (call.matrix("A", &a)?, call.vector("x", &x)?, call.matrix_mut("C", c)?);
        call.run(T::forms(), [], |[]| raw::dgmm(side, m, n, a, x, c))
    }
}

/// Returns an error unless the product A B exists and C has its shape.
pub(crate) fn product_fits<A, B, C>(
    call: &Call<'_>,
    a: &MatrixRef<'_, A>,
    b: &MatrixRef<'_, B>,
    c: &MatrixMut<'_, C>,
) -> Result<(), Error> {
    call.fits("the rows of B", b.rows(), a.cols(), "the columns of A")?;
    call.fits("the rows of C", c.rows(), a.rows(), "the rows of A")?;
    call.fits("the columns of C", c.cols(), b.cols(), "the columns of B")
}

/// Returns an error unless a square A fits the side of B that it is multiplied with.
fn order_fits(call: &Call<'_>, side: Side, order: usize, (rows, cols): (usize, usize)) -> Result<()> {
    let (needed, of) = if side == Side::Left { (rows, "the rows of B") } else { (cols, "the columns of B") };
    call.fits("the order of A", order, needed, of)
}

/// Returns whether the call is made for the transposes, and the side, triangle, operation and diagonal for it.
fn triangular<T: Scalar>(
    call: &Call<'_>,
    side: Side,
    a: &TriangleRef<'_, T>,
    shape: (usize, usize),
    turned: bool,
) -> Result<(bool, [u32; 4])> {
    order_fits(call, side, a.order(), shape)?;
    let mut op = a.matrix().op();
    op.transposed ^= turned;
    let op = op.code::<T>("A")?;
    Ok((turned, [side.flipped_if(turned).code(), a.stored().code(), op, a.diag_code()]))
}
