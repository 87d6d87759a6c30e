//! Transform types and normalizations.

use std::ffi::c_void;
use std::fmt::Debug;
use std::marker::PhantomData;

use half::f16;
use hip::Pod;
use num_complex::Complex;

use crate::raw::{self, hipfftResult_t};

/// Real numbers that hipFFT transforms: `f16`, `f32`, `f64`.
pub trait FftReal: Pod + Debug + Send + Sync + sealed::Sealed + 'static {
    /// The complex type.
    type Complex: Pod + Debug + Send + Sync + 'static;
    /// The precision.
    #[doc(hidden)]
    const PRECISION: Precision;
}

/// The precisions. hipFFT has separate functions for half precision.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    Half,
    Single,
    Double,
}

impl FftReal for f16 {
    type Complex = Complex<f16>;
    const PRECISION: Precision = Precision::Half;
}
impl FftReal for f32 {
    type Complex = Complex<f32>;
    const PRECISION: Precision = Precision::Single;
}
impl FftReal for f64 {
    type Complex = Complex<f64>;
    const PRECISION: Precision = Precision::Double;
}

/// Complex to complex, in both directions.
#[derive(Clone, Copy, Debug)]
#[doc(alias("HIPFFT_C2C", "HIPFFT_Z2Z", "CUFFT_C2C", "CUFFT_Z2Z"))]
pub struct C2C<T>(PhantomData<T>);

/// Real to complex: forward. Only the nonredundant half of the result is stored.
#[derive(Clone, Copy, Debug)]
#[doc(alias("HIPFFT_R2C", "HIPFFT_D2Z", "CUFFT_R2C", "CUFFT_D2Z"))]
pub struct R2C<T>(PhantomData<T>);

/// Complex to real: inverse. Only the nonredundant half of the input is stored.
#[derive(Clone, Copy, Debug)]
#[doc(alias("HIPFFT_C2R", "HIPFFT_Z2D", "CUFFT_C2R", "CUFFT_Z2D"))]
pub struct C2R<T>(PhantomData<T>);

/// A transform type: [`C2C`], [`R2C`] or [`C2R`].
pub trait Transform: Debug + sealed::Sealed + 'static {
    /// The precision.
    type Real: FftReal;
    /// The element type of the input.
    type Input: Pod + Debug + Send + Sync + 'static;
    /// The element type of the output.
    type Output: Pod + Debug + Send + Sync + 'static;
    /// The kind of transform.
    #[doc(hidden)]
    const KIND: TransformKind;
}

/// The kind of a transform.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransformKind {
    C2C,
    R2C,
    C2R,
}

/// Transforms that have a forward direction.
pub trait Forward: Transform {}
/// Transforms that have an inverse direction.
pub trait Inverse: Transform {}

impl<T: FftReal> Transform for C2C<T> {
    type Real = T;
    type Input = T::Complex;
    type Output = T::Complex;
    const KIND: TransformKind = TransformKind::C2C;
}
impl<T: FftReal> Transform for R2C<T> {
    type Real = T;
    type Input = T;
    type Output = T::Complex;
    const KIND: TransformKind = TransformKind::R2C;
}
impl<T: FftReal> Transform for C2R<T> {
    type Real = T;
    type Input = T::Complex;
    type Output = T;
    const KIND: TransformKind = TransformKind::C2R;
}
impl<T: FftReal> Forward for C2C<T> {}
impl<T: FftReal> Inverse for C2C<T> {}
impl<T: FftReal> Forward for R2C<T> {}
impl<T: FftReal> Inverse for C2R<T> {}

/// The factor that results are multiplied by, in transforms of `n` points.
pub trait Normalization: Debug + sealed::Sealed + 'static {
    /// Returns the factor of the forward direction.
    #[must_use]
    fn forward(n: f64) -> f64;
    /// Returns the factor of the inverse direction.
    #[must_use]
    fn inverse(n: f64) -> f64;
}

/// No scaling: a round trip multiplies by `n`, as in the C API, cuFFT and FFTW.
#[derive(Clone, Copy, Debug)]
pub struct Unnormalized;
/// The inverse direction divides by `n`: a round trip restores the data, as in NumPy.
#[derive(Clone, Copy, Debug)]
pub struct Normalized;
/// Both directions divide by the square root of `n`: they preserve the Euclidean norm.
#[derive(Clone, Copy, Debug)]
pub struct Unitary;

impl Normalization for Unnormalized {
    fn forward(_: f64) -> f64 {
        1.0
    }
    fn inverse(_: f64) -> f64 {
        1.0
    }
}
impl Normalization for Normalized {
    fn forward(_: f64) -> f64 {
        1.0
    }
    fn inverse(n: f64) -> f64 {
        n.recip()
    }
}
impl Normalization for Unitary {
    fn forward(n: f64) -> f64 {
        n.sqrt().recip()
    }
    fn inverse(n: f64) -> f64 {
        n.sqrt().recip()
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl<T> Sealed for super::C2C<T> {}
    impl<T> Sealed for super::R2C<T> {}
    impl<T> Sealed for super::C2R<T> {}
    impl Sealed for super::Unnormalized {}
    impl Sealed for super::Normalized {}
    impl Sealed for super::Unitary {}
}

/// The directions.
pub(crate) const FORWARD: i32 = -1;
pub(crate) const INVERSE: i32 = 1;

/// The C codes of a transform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Codes {
    /// `hipfftType`; `None` for half precision.
    pub(crate) kind: Option<u32>,
    /// `hipDataType` of the input, the output, and the execution.
    pub(crate) types: [u32; 3],
}

/// Returns the codes of a transform.
pub(crate) fn codes<T: Transform>() -> Codes {
    use TransformKind::{C2C, C2R, R2C};
    // hipDataType: HIP_R_16F 2, HIP_C_16F 6, HIP_R_32F 0, HIP_C_32F 4, HIP_R_64F 1, HIP_C_64F 5.
    let (real, complex) = match <T::Real as FftReal>::PRECISION {
        Precision::Half => (2, 6),
        Precision::Single => (0, 4),
        Precision::Double => (1, 5),
    };
    let types = match T::KIND {
        C2C => [complex, complex, complex],
        R2C => [real, complex, complex],
        C2R => [complex, real, complex],
    };
    let kind = match (T::KIND, <T::Real as FftReal>::PRECISION) {
        (_, Precision::Half) => None,
        (C2C, Precision::Single) => Some(41),
        (R2C, Precision::Single) => Some(42),
        (C2R, Precision::Single) => Some(44),
        (C2C, Precision::Double) => Some(105),
        (R2C, Precision::Double) => Some(106),
        (C2R, Precision::Double) => Some(108),
    };
    Codes { kind, types }
}

/// Queues a transform with the function for its type, and returns the function's name too.
///
/// # Safety
/// The plan must be alive and of this type, and its buffers as long as its layout requires.
pub(crate) unsafe fn execute<T: Transform>(
    plan: *mut c_void,
    input: *mut c_void,
    output: *mut c_void,
    direction: i32,
) -> (hipfftResult_t, &'static str) {
    use TransformKind::{C2C, C2R, R2C};
    macro_rules! call {
        ($function:ident($($argument:expr),*)) => {
            // SAFETY: the caller's plan and buffers.
            (unsafe { raw::$function(plan, $($argument),*) }, stringify!($function))
        };
    }
    match (T::KIND, <T::Real as FftReal>::PRECISION) {
        (_, Precision::Half) => call!(hipfftXtExec(input, output, direction)),
        (C2C, Precision::Single) => call!(hipfftExecC2C(input, output, direction)),
        (R2C, Precision::Single) => call!(hipfftExecR2C(input, output)),
        (C2R, Precision::Single) => call!(hipfftExecC2R(input, output)),
        (C2C, Precision::Double) => call!(hipfftExecZ2Z(input, output, direction)),
        (R2C, Precision::Double) => call!(hipfftExecD2Z(input, output)),
        (C2R, Precision::Double) => call!(hipfftExecZ2D(input, output)),
    }
}

/// As [`execute`], for the descriptors of several devices.
///
/// # Safety
/// The plan must be alive and of this type, and the descriptors its own.
pub(crate) unsafe fn execute_on_devices<T: Transform>(
    plan: *mut c_void,
    input: *mut c_void,
    output: *mut c_void,
    direction: i32,
) -> (hipfftResult_t, &'static str) {
    use TransformKind::{C2C, C2R, R2C};
    macro_rules! call {
        ($function:ident($($argument:expr),*)) => {
            // SAFETY: the caller's plan and descriptors.
            (unsafe { raw::$function(plan, $($argument),*) }, stringify!($function))
        };
    }
    match (T::KIND, <T::Real as FftReal>::PRECISION) {
        (_, Precision::Half) => call!(hipfftXtExecDescriptor(input, output, direction)),
        (C2C, Precision::Single) => call!(hipfftXtExecDescriptorC2C(input, output, direction)),
        (R2C, Precision::Single) => call!(hipfftXtExecDescriptorR2C(input, output)),
        (C2R, Precision::Single) => call!(hipfftXtExecDescriptorC2R(input, output)),
        (C2C, Precision::Double) => call!(hipfftXtExecDescriptorZ2Z(input, output, direction)),
        (R2C, Precision::Double) => call!(hipfftXtExecDescriptorD2Z(input, output)),
        (C2R, Precision::Double) => call!(hipfftXtExecDescriptorZ2D(input, output)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_c() {
        use hipfft_sys as sys;
        fn of<T: Transform>() -> (u32, [u32; 3]) {
            (codes::<T>().kind.unwrap_or(0), codes::<T>().types)
        }
        let types = |input: sys::hipDataType, output: sys::hipDataType, execution: sys::hipDataType| {
            [input.0, output.0, execution.0]
        };
        let (r16, c16) = (sys::HIP_R_16F, sys::HIP_C_16F);
        let (r32, c32, r64, c64) = (sys::HIP_R_32F, sys::HIP_C_32F, sys::HIP_R_64F, sys::HIP_C_64F);
        assert_eq!(of::<C2C<f32>>(), (sys::HIPFFT_C2C.0, types(c32, c32, c32)));
        assert_eq!(of::<R2C<f32>>(), (sys::HIPFFT_R2C.0, types(r32, c32, c32)));
        assert_eq!(of::<C2R<f32>>(), (sys::HIPFFT_C2R.0, types(c32, r32, c32)));
        assert_eq!(of::<C2C<f64>>(), (sys::HIPFFT_Z2Z.0, types(c64, c64, c64)));
        assert_eq!(of::<R2C<f64>>(), (sys::HIPFFT_D2Z.0, types(r64, c64, c64)));
        assert_eq!(of::<C2R<f64>>(), (sys::HIPFFT_Z2D.0, types(c64, r64, c64)));
        assert_eq!(of::<C2C<f16>>(), (0, types(c16, c16, c16)));
        assert_eq!(of::<R2C<f16>>(), (0, types(r16, c16, c16)));
        assert_eq!(of::<C2R<f16>>(), (0, types(c16, r16, c16)));
        assert_eq!((FORWARD, INVERSE), (sys::HIPFFT_FORWARD, sys::HIPFFT_BACKWARD as i32));
    }
}
