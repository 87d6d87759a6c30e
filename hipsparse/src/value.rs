//! Numbers: values, indices, and index bases.

use std::fmt::{Debug, Display};

use hip::Pod;
use hip_linalg::Scalar;
use num_complex::{Complex32, Complex64};

mod sealed {
    pub trait Sealed {}
}

/// A value type of sparse matrices: `f32`, `f64`, [`Complex32`] or [`Complex64`].
pub trait Value: Scalar + sealed::Sealed {
    /// The index of the type's letter among S, D, C and Z.
    #[doc(hidden)]
    const LETTER: usize;
}

/// A complex type: [`Complex32`] or [`Complex64`].
pub trait ComplexValue: Value {}

impl ComplexValue for Complex32 {}
impl ComplexValue for Complex64 {}

/// A real type: `f32` or `f64`.
pub trait RealValue: Value + PartialOrd {}

macro_rules! values {
    ($($type:ty: $letter:literal;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Value for $type {
            const LETTER: usize = $letter;
        }
    )*};
}

values! {
    f32: 0;
    f64: 1;
    Complex32: 2;
    Complex64: 3;
}

impl RealValue for f32 {}
impl RealValue for f64 {}

/// An index type: `i32` or `i64`.
pub trait Index: Pod + sealed::Sealed + Ord + Debug + Display + Send + Sync + 'static {
    /// HIPSPARSE_INDEX_32I or HIPSPARSE_INDEX_64I.
    #[doc(hidden)]
    const TYPE: u32;
    /// The largest index.
    #[doc(hidden)]
    const LARGEST: i64;
    /// Converts to 64 bits.
    #[doc(hidden)]
    fn wide(self) -> i64;
    /// Converts a number that fits: sizes are checked first.
    #[doc(hidden)]
    fn narrow(value: i64) -> Self;
}

macro_rules! indices {
    ($($type:ty: $number:literal;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Index for $type {
            const TYPE: u32 = $number;
            const LARGEST: i64 = <$type>::MAX as i64;
            fn wide(self) -> i64 {
                i64::from(self)
            }
            #[allow(clippy::cast_possible_truncation, reason = "the number fits")]
            fn narrow(value: i64) -> Self {
                value as $type
            }
        }
    )*};
}

indices! {
    i32: 2;
    i64: 3;
}

/// Whether indices count from zero, as in C and Rust, or from one, as in Fortran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias("hipsparseIndexBase_t", "cusparseIndexBase_t"))]
pub enum Base {
    /// From zero.
    #[default]
    Zero,
    /// From one.
    One,
}

impl Base {
    pub(crate) fn code(self) -> u32 {
        (self == Self::One).into()
    }

    pub(crate) fn first(self) -> i64 {
        self.code().into()
    }
}
