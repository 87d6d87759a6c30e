//! Numbers, and scalars on the host or on the device.

use std::fmt::Debug;

use half::{bf16, f16};
use hip::interop::Element;
use hip::{DeviceBuffer, DeviceSlice};
use num_complex::{Complex32, Complex64};

/// An element type of vectors and matrices.
pub trait Scalar: Element + PartialEq + Debug + Send + Sync + 'static {
    /// The type of its absolute value: `f32` for [`Complex32`].
    type Real: Scalar;
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Whether the type has an imaginary part.
    const COMPLEX: bool = false;
}

macro_rules! scalars {
    ($($type:ty: $real:ty, $zero:expr, $one:expr, $complex:literal;)*) => {$(
        impl Scalar for $type {
            type Real = $real;
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const COMPLEX: bool = $complex;
        }
    )*};
}

scalars! {
    f16: Self, Self::ZERO, Self::ONE, false;
    bf16: Self, Self::ZERO, Self::ONE, false;
    f32: Self, 0.0, 1.0, false;
    f64: Self, 0.0, 1.0, false;
    Complex32: f32, Self::new(0.0, 0.0), Self::new(1.0, 0.0), true;
    Complex64: f64, Self::new(0.0, 0.0), Self::new(1.0, 0.0), true;
    i8: Self, 0, 1, false;
    i32: Self, 0, 1, false;
}

/// A factor such as α: a number on the host, or one in device memory, which the call reads when it runs.
///
/// ```
/// use hip_linalg::ScalarRef;
/// let alpha: ScalarRef<'_, f32> = 2.0.into(); // or `(&buffer).into()`, `buffer.slice(3..4)?.into()`
/// assert!(matches!(alpha, ScalarRef::Host(2.0)));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum ScalarRef<'a, T> {
    /// A number on the host.
    Host(T),
    /// The first element of this device memory.
    Device(DeviceSlice<'a, T>),
}

impl<T: Scalar> From<T> for ScalarRef<'_, T> {
    fn from(value: T) -> Self {
        Self::Host(value)
    }
}

impl<'a, T> From<DeviceSlice<'a, T>> for ScalarRef<'a, T> {
    fn from(slice: DeviceSlice<'a, T>) -> Self {
        Self::Device(slice)
    }
}

impl<'a, T: Scalar> From<&'a DeviceBuffer<T>> for ScalarRef<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> Self {
        Self::Device(buffer.as_slice())
    }
}
