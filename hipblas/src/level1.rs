//! Level 1: vectors.

use std::ffi::c_int;

use hip::{DeviceSliceMut, IntoSliceMut};
use hip_linalg::{Batch, IntoScalar, IntoVector, IntoVectorMut, Scalar, VectorRef};

use crate::call::{Call, invalid};
use crate::raw::{self, *};
use crate::{Blas, Result, range};

/// A rotation that makes the second element zero: the result of [`Blas::rotg`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Givens<T: Scalar> {
    /// The value that replaces the first element.
    pub r: T,
    /// The value that replaces `b`: for real numbers, LAPACK's short form of the rotation.
    pub z: T,
    /// The cosine.
    pub c: T::Real,
    /// The sine.
    pub s: T,
}

/// Checks that `out` has an element for each member of the batch, and makes it an operand.
fn result_into<'a, T: Scalar>(
    call: &mut Call<'a>,
    out: DeviceSliceMut<'a, T>,
    batch: Batch,
) -> Result<*const std::ffi::c_void> {
    let needed = match batch {
        Batch::One => 1,
        Batch::Strided(count) | Batch::Pointers(count) => count,
    };
    if out.len() < needed {
        let found = out.len().to_string();
        return Err(call.misfit("the memory of the results", found, format!("at least {needed} elements")));
    }
    Ok(call.operands().slice_mut("the results", out)?)
}

macro_rules! reductions {
    ($($trait:ident $name:ident $mended:ident $into:ident $what:literal $range:literal $range_into:literal [$($alias:literal),*];)*) => {$(
        #[doc = concat!("Returns ", $what, ". Waits for it. 0 for a vector of no elements.")]
        #[doc = $range]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) for a batch; errors of the queued work.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(&'a self, x: impl IntoVector<'a, T>) -> Result<T::Real> {
            // BLAS treats a vector with a negative increment as empty here; the order makes no difference.
            let x = x.into().forward();
            let mut call = self.start(stringify!($name), [("x", (&x).into())]);
            let n = call.size(x.len());
            let lowered = call.vector("x", &x)?;
            let found = call.run_for_number(T::forms(), |result| raw::$name(n, lowered, result))?;
            self.$mended(x, found)
        }

        #[doc = concat!("Writes ", $what, " to device memory: one number for each member of a batch.")]
        #[doc = $range_into]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) if `out` is too short.
        pub fn $into<'a, T: $trait>(
            &'a self,
            x: impl IntoVector<'a, T>,
            out: impl IntoSliceMut<'a, T::Real>,
        ) -> Result<()> {
            // BLAS treats a vector with a negative increment as empty here; the order makes no difference.
            let x = x.into().forward();
            let mut call = self.start(stringify!($into), [("x", (&x).into())]);
            let n = call.size(x.len());
            let batch = x.batch_size();
            let x = call.vector("x", &x)?;
            let out = result_into(&mut call, out.into(), batch)?;
            call.run_into(T::forms(), raw::$name(n, x, out))
        }
    )*};
}

macro_rules! indices {
    ($($trait:ident $name:ident $into:ident $what:literal [$($alias:literal),*];)*) => {$(
        #[doc = concat!("Returns the index, from 0, of the first element with ", $what, ": |re| + |im| for complex numbers. Waits for it.")]
        /// `None` for a vector of no elements.
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) for a batch and for a vector with a negative increment; errors of
        /// the queued work.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(&'a self, x: impl IntoVector<'a, T>) -> Result<Option<usize>> {
            let x = forwards(x.into())?;
            let mut call = self.start(stringify!($name), [("x", (&x).into())]);
            let n = call.size(x.len());
            let x = call.vector("x", &x)?;
            let wide = call.find(T::forms())?.form.wide;
            // As large as the result of the form with 64-bit integers.
            let result: i64 = call.run_for_number(T::forms(), |result| raw::$name(n, x, result))?;
            let result = if wide { result } else { i64::from(narrow(result)) };
            Ok(usize::try_from(result).ok().and_then(|index| index.checked_sub(1)))
        }

        #[doc = concat!("Writes the index of the first element with ", $what, " to device memory, for each member of a batch. It counts from **1**,")]
        /// as in BLAS, and is 0 for a vector of no elements.
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) if `out` is too short, or a vector has a negative increment or
        /// more than 2³¹ elements.
        pub fn $into<'a, T: $trait>(
            &'a self,
            x: impl IntoVector<'a, T>,
            out: impl IntoSliceMut<'a, c_int>,
        ) -> Result<()> {
            let x = forwards(x.into())?;
            let mut call = self.start(stringify!($into), [("x", (&x).into())]);
            let n = call.size(x.len());
            let batch = x.batch_size();
            let x = call.vector("x", &x)?;
            let out = result_into(&mut call, out.into(), batch)?;
            if call.find(T::forms())?.form.wide {
                return Err(invalid("the size of a vector", n.to_string(), "less than 2^31, for indices of 32 bits"));
            }
            call.run_into(T::forms(), raw::$name(n, x, out))
        }
    )*};
}

/// Returns the vector, unless its increment is negative: BLAS would treat it as empty.
fn forwards<T>(x: VectorRef<'_, T>) -> Result<VectorRef<'_, T>> {
    if x.increment() < 0 {
        return Err(invalid("the increment of x", x.increment().to_string(), "positive, for an index"));
    }
    Ok(x)
}

/// Returns the integer that the 32-bit forms have written to the first bytes.
fn narrow(value: i64) -> i32 {
    let [a, b, c, d, ..] = value.to_ne_bytes();
    i32::from_ne_bytes([a, b, c, d])
}

macro_rules! inner_products {
    ($($trait:ident $name:ident $into:ident $formula:literal [$($alias:literal),*];)*) => {$(
        #[doc = concat!("Returns ", $formula, ". Waits for it.")]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths, and for batches.
        #[doc(alias($($alias),*))]
        pub fn $name<'a, T: $trait>(
            &'a self,
            x: impl IntoVector<'a, T>,
            y: impl IntoVector<'a, T>,
        ) -> Result<T> {
            let (x, y) = (x.into(), y.into());
            let mut call = self.start(stringify!($name), [("x", (&x).into()), ("y", (&y).into())]);
            call.fits("the length of y", y.len(), x.len(), "as x")?;
            let n = call.size(x.len());
            let (x, y) = (call.vector("x", &x)?, call.vector("y", &y)?);
            call.run_for_number(T::forms(), |result| raw::$name(n, x, y, result))
        }

        #[doc = concat!("Writes ", $formula, " to device memory: one number for each member of a batch.")]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths, and if `out` is too short.
        pub fn $into<'a, T: $trait>(
            &'a self,
            x: impl IntoVector<'a, T>,
            y: impl IntoVector<'a, T>,
            out: impl IntoSliceMut<'a, T>,
        ) -> Result<()> {
            let (x, y) = (x.into(), y.into());
            let mut call = self.start(stringify!($into), [("x", (&x).into()), ("y", (&y).into())]);
            call.fits("the length of y", y.len(), x.len(), "as x")?;
            let n = call.size(x.len());
            let batch = if x.batch_size() == Batch::One { y.batch_size() } else { x.batch_size() };
            let (x, y) = (call.vector("x", &x)?, call.vector("y", &y)?);
            let out = result_into(&mut call, out.into(), batch)?;
            call.run_into(T::forms(), raw::$name(n, x, y, out))
        }
    )*};
}

/// Corrections of results that the library computes wrongly when squares overflow or underflow.
impl Blas {
    /// Returns the norm of x, given the library's result.
    fn norm_in_range<T: Scalar>(&self, x: VectorRef<'_, T>, found: T::Real) -> Result<T::Real> {
        if x.is_empty() || range::is_norm(found, x.len()) {
            return Ok(found);
        }
        let mut call = self.start("nrm2", [("x", (&x).into())]);
        let lowered = call.vector("x", &x)?;
        let mut norm = range::Norm::default();
        call.read_blocking(lowered, x.len(), |elements: &[T]| norm.add(elements))?;
        Ok(norm.result())
    }

    fn as_it_is<T: Scalar>(&self, _x: VectorRef<'_, T>, found: T::Real) -> Result<T::Real> {
        Ok(found)
    }
}

/// Level 1: vectors.
impl Blas {
    /// y ← α x + y.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias(
        "hipblasHaxpy",
        "hipblasSaxpy",
        "hipblasDaxpy",
        "hipblasCaxpy",
        "hipblasZaxpy",
        "cublasHaxpy",
        "cublasSaxpy",
        "cublasDaxpy",
        "cublasCaxpy",
        "cublasZaxpy"
    ))]
    pub fn axpy<'a, T: Axpy>(
        &'a self,
        alpha: impl IntoScalar<'a, T>,
        x: impl IntoVector<'a, T>,
        y: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("axpy", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let n = call.size(x.len());
        let alpha = call.factor("alpha", alpha)?;
        let (x, y) = (call.vector("x", &x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), [alpha], |[alpha]| raw::axpy(n, alpha, x, y))
    }

    /// x ← α x.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias(
        "hipblasSscal",
        "hipblasDscal",
        "hipblasCscal",
        "hipblasZscal",
        "hipblasCsscal",
        "hipblasZdscal",
        "cublasSscal",
        "cublasDscal",
        "cublasCscal",
        "cublasZscal",
        "cublasCsscal",
        "cublasZdscal"
    ))]
    pub fn scal<'a, A: Scalar, T: Scal<A>>(
        &'a self,
        alpha: impl IntoScalar<'a, A>,
        x: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let x = x.into().forward();
        let mut call = self.start("scal", [("x", (&x).into())]);
        let n = call.size(x.len());
        let alpha = call.factor("alpha", alpha)?;
        let x = call.vector_mut("x", x)?;
        call.run(T::forms(), [alpha], |[alpha]| raw::scal(n, alpha, x))
    }

    /// y ← x.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias(
        "hipblasScopy",
        "hipblasDcopy",
        "hipblasCcopy",
        "hipblasZcopy",
        "cublasScopy",
        "cublasDcopy",
        "cublasCcopy",
        "cublasZcopy"
    ))]
    pub fn copy<'a, T: Copy>(&'a self, x: impl IntoVector<'a, T>, y: impl IntoVectorMut<'a, T>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("copy", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let n = call.size(x.len());
        let (x, y) = (call.vector("x", &x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), [], |[]| raw::copy(n, x, y))
    }

    /// Exchanges x and y.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias(
        "hipblasSswap",
        "hipblasDswap",
        "hipblasCswap",
        "hipblasZswap",
        "cublasSswap",
        "cublasDswap",
        "cublasCswap",
        "cublasZswap"
    ))]
    pub fn swap<'a, T: Swap>(&'a self, x: impl IntoVectorMut<'a, T>, y: impl IntoVectorMut<'a, T>) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("swap", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let n = call.size(x.len());
        let (x, y) = (call.vector_mut("x", x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), [], |[]| raw::swap(n, x, y))
    }

    reductions! {
        Nrm2 nrm2 norm_in_range nrm2_into "the Euclidean norm of x"
            "\n\nThe library adds squares as they are. Where these overflow or underflow, and for a norm of 0, x is copied to the host, and the norm is computed there."
            "\n\nThe library adds squares as they are: the elements must be from about 1e-19 to 1e19 in single precision and from 1e-154 to 1e154 in double precision, or 0. [`nrm2`](Self::nrm2) has no such limits." ["hipblasSnrm2", "hipblasDnrm2", "hipblasScnrm2", "hipblasDznrm2", "cublasSnrm2", "cublasDnrm2", "cublasScnrm2", "cublasDznrm2"];
        Asum asum as_it_is asum_into "the sum of the absolute values of x, |re| + |im| for complex numbers" "" "" ["hipblasSasum", "hipblasDasum", "hipblasScasum", "hipblasDzasum", "cublasSasum", "cublasDasum", "cublasScasum", "cublasDzasum"];
    }

    indices! {
        Amax amax amax_into "the largest absolute value" ["hipblasIsamax", "hipblasIdamax", "hipblasIcamax", "hipblasIzamax", "cublasIsamax", "cublasIdamax", "cublasIcamax", "cublasIzamax"];
        Amin amin amin_into "the smallest absolute value" ["hipblasIsamin", "hipblasIdamin", "hipblasIcamin", "hipblasIzamin", "cublasIsamin", "cublasIdamin", "cublasIcamin", "cublasIzamin"];
    }

    inner_products! {
        Dot dot dot_into "xᵀ y, the inner product without a conjugate" ["hipblasHdot", "hipblasBfdot", "hipblasSdot", "hipblasDdot", "hipblasCdotu", "hipblasZdotu", "cublasHdot", "cublasBfdot", "cublasSdot", "cublasDdot", "cublasCdotu", "cublasZdotu"];
        Dotc dotc dotc_into "xᴴ y, the inner product with x conjugated" ["hipblasCdotc", "hipblasZdotc", "cublasCdotc", "cublasZdotc"];
    }

    /// Rotates the points (x, y): x ← c x + s y, y ← c y − conj(s) x.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths.
    #[doc(alias(
        "hipblasSrot",
        "hipblasDrot",
        "hipblasCrot",
        "hipblasZrot",
        "hipblasCsrot",
        "hipblasZdrot",
        "cublasSrot",
        "cublasDrot",
        "cublasCrot",
        "cublasZrot",
        "cublasCsrot",
        "cublasZdrot"
    ))]
    pub fn rot<'a, S: Scalar, T: Rot<S>>(
        &'a self,
        x: impl IntoVectorMut<'a, T>,
        y: impl IntoVectorMut<'a, T>,
        c: impl IntoScalar<'a, T::Real>,
        s: impl IntoScalar<'a, S>,
    ) -> Result<()> {
        let (x, y) = (x.into(), y.into());
        let mut call = self.start("rot", [("x", (&x).into()), ("y", (&y).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        let n = call.size(x.len());
        let factors = [call.factor("c", c)?, call.factor("s", s)?];
        let (x, y) = (call.vector_mut("x", x)?, call.vector_mut("y", y)?);
        call.run(T::forms(), factors, |[c, s]| raw::rot(n, x, y, c, s))
    }

    /// Returns the rotation that takes (a, b) to (r, 0).
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias(
        "hipblasSrotg",
        "hipblasDrotg",
        "hipblasCrotg",
        "hipblasZrotg",
        "cublasSrotg",
        "cublasDrotg",
        "cublasCrotg",
        "cublasZrotg"
    ))]
    pub fn rotg<T: Rotg>(&self, a: T, b: T) -> Result<Givens<T>> {
        // The library squares complex numbers without scaling. Scaling both numbers by a power of two does not change the rotation.
        let power = range::power(&[a, b]);
        let scaled = |x| range::times_power(x, power);
        let (mut a, mut b, mut c, mut s) = (scaled(a), scaled(b), T::Real::ZERO, T::ZERO);
        let call = self.start("rotg", []);
        let on_host = |pointer: *mut std::ffi::c_void| hip_linalg::Lowered { pointer, step: 0, stride: 0 };
        let operands = [(&raw mut a).cast(), (&raw mut b).cast(), (&raw mut c).cast(), (&raw mut s).cast()];
        let [a_, b_, c_, s_] = operands.map(on_host);
        call.run_blocking(T::forms(), raw::rotg(a_, b_, c_, s_))?;
        Ok(Givens { r: range::times_power(a, -power), z: b, c, s })
    }

    /// As [`rotg`](Self::rotg), for numbers in device memory, for each member of a batch: `a` is overwritten with r and
    /// `b` with z.
    ///
    /// The library squares complex numbers without scaling: their nonzero parts must be from about 1e-19 to 1e19 in
    /// single precision and from 1e-154 to 1e154 in double precision.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) unless each vector has one element.
    pub fn rotg_in_place<'a, T: Rotg>(
        &'a self,
        a: impl IntoVectorMut<'a, T>,
        b: impl IntoVectorMut<'a, T>,
        c: impl IntoVectorMut<'a, T::Real>,
        s: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (a, b, c, s) = (a.into(), b.into(), c.into(), s.into());
        let mut call = self
            .start("rotg_in_place", [("a", (&a).into()), ("b", (&b).into()), ("c", (&c).into()), ("s", (&s).into())]);
        let lengths = [
            ("the length of a", a.len()),
            ("the length of b", b.len()),
            ("the length of c", c.len()),
            ("the length of s", s.len()),
        ];
        for (what, len) in lengths {
            call.fits(what, len, 1, "a number")?;
        }
        let (a, b) = (call.vector_mut("a", a)?, call.vector_mut("b", b)?);
        let (c, s) = (call.vector_mut("c", c)?, call.vector_mut("s", s)?);
        call.run_into(T::forms(), raw::rotg(a, b, c, s))
    }

    /// Applies the modified rotation whose five parameters are in `param`, in device memory.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for vectors of different lengths, and unless `param` has 5 contiguous
    /// elements.
    #[doc(alias("hipblasSrotm", "hipblasDrotm", "cublasSrotm", "cublasDrotm"))]
    pub fn rotm<'a, T: Rotm>(
        &'a self,
        x: impl IntoVectorMut<'a, T>,
        y: impl IntoVectorMut<'a, T>,
        param: impl IntoVector<'a, T>,
    ) -> Result<()> {
        let (x, y, param) = (x.into(), y.into(), param.into());
        let mut call = self.start("rotm", [("x", (&x).into()), ("y", (&y).into()), ("param", (&param).into())]);
        call.fits("the length of y", y.len(), x.len(), "as x")?;
        five(&call, param.len(), param.increment())?;
        let n = call.size(x.len());
        let (x, y, param) = (call.vector_mut("x", x)?, call.vector_mut("y", y)?, call.vector("param", &param)?);
        call.run_into(T::forms(), raw::rotm(n, x, y, param))
    }

    /// Computes the modified rotation that eliminates the second of (√d1 x1, √d2 y1), all in device memory.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) unless `param` has 5 contiguous elements, and the other vectors have
    /// one.
    #[doc(alias("hipblasSrotmg", "hipblasDrotmg", "cublasSrotmg", "cublasDrotmg"))]
    pub fn rotmg<'a, T: Rotmg>(
        &'a self,
        d1: impl IntoVectorMut<'a, T>,
        d2: impl IntoVectorMut<'a, T>,
        x1: impl IntoVectorMut<'a, T>,
        y1: impl IntoVector<'a, T>,
        param: impl IntoVectorMut<'a, T>,
    ) -> Result<()> {
        let (d1, d2, x1, y1, param) = (d1.into(), d2.into(), x1.into(), y1.into(), param.into());
        let mut call = self.start(
            "rotmg",
            [
                ("d1", (&d1).into()),
                ("d2", (&d2).into()),
                ("x1", (&x1).into()),
                ("y1", (&y1).into()),
                ("param", (&param).into()),
            ],
        );
        let lengths = [
            ("the length of d1", d1.len()),
            ("the length of d2", d2.len()),
            ("the length of x1", x1.len()),
            ("the length of y1", y1.len()),
        ];
        for (what, len) in lengths {
            call.fits(what, len, 1, "a number")?;
        }
        five(&call, param.len(), param.increment())?;
        let (d1, d2) = (call.vector_mut("d1", d1)?, call.vector_mut("d2", d2)?);
        let (x1, y1, param) = (call.vector_mut("x1", x1)?, call.vector("y1", &y1)?, call.vector_mut("param", param)?);
        call.run_into(T::forms(), raw::rotmg(d1, d2, x1, y1, param))
    }
}

fn five(call: &Call<'_>, len: usize, increment: isize) -> Result<()> {
    call.fits("the length of param", len, 5, "the parameters of a modified rotation")?;
    if increment == 1 { Ok(()) } else { Err(invalid("the increment of param", increment.to_string(), "1")) }
}
