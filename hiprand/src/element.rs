//! The number types, and the requests to a generator.

use half::f16;
use hip::Pod;

use crate::raw::{self, Opaque, hiprandStatus_t};
use crate::{Result, invalid};

/// A request to a generator, for its checks and for errors.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// How many numbers are requested.
    pub count: usize,
    /// Whether they are 64-bit integers.
    pub wide: bool,
}

mod sealed {
    pub trait Sealed {}
}

/// Integer types that a generator fills with random bits: `u8`, `u16`, `u32`, and `u64` for the 64-bit quasi-random
/// generators.
pub trait Bits: Pod + sealed::Sealed {
    #[doc(hidden)]
    const FUNCTION: &'static str;
    #[doc(hidden)]
    const WIDE: bool = false;
    /// # Safety
    /// The generator must be alive, and `numbers` must have room for `count` numbers.
    #[doc(hidden)]
    unsafe fn generate(generator: Opaque, numbers: *mut Self, count: usize) -> hiprandStatus_t;
}

macro_rules! bits {
    ($($t:ty: $function:ident $(, $wide:literal)?;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Bits for $t {
            const FUNCTION: &'static str = stringify!($function);
            $(const WIDE: bool = $wide;)?
            unsafe fn generate(generator: Opaque, numbers: *mut Self, count: usize) -> hiprandStatus_t {
                // SAFETY: the caller's generator and numbers.
                unsafe { raw::$function(generator, numbers, count) }
            }
        }
    )*};
}

bits! {
    u8: hiprandGenerateChar;
    u16: hiprandGenerateShort;
    u32: hiprandGenerate;
    u64: hiprandGenerateLongLong, true;
}

/// Real types that a generator supports: `f16`, `f32` and `f64`.
pub trait Real: Pod + sealed::Sealed {
    /// The C functions: uniform, normal, log-normal.
    #[doc(hidden)]
    const FUNCTIONS: [&'static str; 3];
    #[doc(hidden)]
    fn wide(self) -> f64;
    /// Rounds a number.
    #[doc(hidden)]
    fn narrow(number: f64) -> Self;
    /// # Safety
    /// The generator must be alive, and `numbers` must have room for `count` numbers.
    #[doc(hidden)]
    unsafe fn uniform(generator: Opaque, numbers: *mut Self, count: usize) -> hiprandStatus_t;
    /// # Safety
    /// As for [`uniform`](Self::uniform).
    #[doc(hidden)]
    unsafe fn normal(generator: Opaque, numbers: *mut Self, count: usize, shape: [Self; 2]) -> hiprandStatus_t;
    /// # Safety
    /// As for [`uniform`](Self::uniform).
    #[doc(hidden)]
    unsafe fn log_normal(generator: Opaque, numbers: *mut Self, count: usize, shape: [Self; 2]) -> hiprandStatus_t;
}

macro_rules! reals {
    ($($t:ty: |$x:ident| $wide:expr, |$n:ident| $narrow:expr, |$p:ident| $parameter:expr, $uniform:ident, $normal:ident, $log:ident;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Real for $t {
            const FUNCTIONS: [&'static str; 3] = [stringify!($uniform), stringify!($normal), stringify!($log)];
            fn wide(self) -> f64 {
                let $x = self;
                $wide
            }
            fn narrow($n: f64) -> Self {
                $narrow
            }
            unsafe fn uniform(generator: Opaque, numbers: *mut Self, count: usize) -> hiprandStatus_t {
                // SAFETY: the caller's generator and numbers.
                unsafe { raw::$uniform(generator, numbers, count) }
            }
            unsafe fn normal(generator: Opaque, numbers: *mut Self, count: usize, shape: [Self; 2]) -> hiprandStatus_t {
                let [mean, deviation] = shape.map(|$p| $parameter);
                // SAFETY: the caller's generator and numbers.
                unsafe { raw::$normal(generator, numbers, count, mean, deviation) }
            }
            unsafe fn log_normal(generator: Opaque, numbers: *mut Self, count: usize, shape: [Self; 2]) -> hiprandStatus_t {
                let [mean, deviation] = shape.map(|$p| $parameter);
                // SAFETY: the caller's generator and numbers.
                unsafe { raw::$log(generator, numbers, count, mean, deviation) }
            }
        }
    )*};
}

reals! {
    f16: |x| x.to_f64(), |x| f16::from_f64(x), |p| p.to_bits(),
        hiprandGenerateUniformHalf, hiprandGenerateNormalHalf, hiprandGenerateLogNormalHalf;
    f32: |x| x.into(), |x| x as f32, |p| p, hiprandGenerateUniform, hiprandGenerateNormal, hiprandGenerateLogNormal;
    f64: |x| x, |x| x, |p| p, hiprandGenerateUniformDouble, hiprandGenerateNormalDouble, hiprandGenerateLogNormalDouble;
}

/// Returns an error unless these are a valid mean and standard deviation.
pub(crate) fn shape<T: Real>(mean: T, deviation: T) -> Result<[T; 2]> {
    if !mean.wide().is_finite() {
        return Err(invalid("the mean", mean.wide().to_string(), "finite"));
    }
    if !(deviation.wide().is_finite() && deviation.wide() >= 0.0) {
        return Err(invalid("the standard deviation", deviation.wide().to_string(), "finite, and not negative"));
    }
    Ok([mean, deviation])
}

/// The standard normal number for the uniform one of 2⁻³², by the library's approximation in `f64`.
const SMALLEST: f64 = -6.231_835_294_108_533;

/// Returns the normal number of the point at the origin, if the library returns another one: in 32 and 16 bits, it takes
/// the logarithm of zero, and returns the mean.
pub(crate) fn of_origin<T: Real>([mean, deviation]: [T; 2], log: bool) -> Option<T> {
    let normal = mean.wide() + deviation.wide() * SMALLEST;
    (size_of::<T>() < 8).then(|| T::narrow(if log { normal.exp() } else { normal }))
}

/// The largest λ whose counts fit into 31 bits, including the width of the library's tables: the library computes them
/// in `int`, and for a larger λ the kernels of 5.7 read from a null pointer.
const LARGEST: f64 = 2.146e9;

/// Returns an error unless this is a valid parameter of a Poisson distribution.
pub(crate) fn lambda(lambda: f64) -> Result<f64> {
    if lambda > 0.0 && lambda <= LARGEST {
        return Ok(lambda);
    }
    Err(invalid("λ of a Poisson distribution", lambda.to_string(), format!("more than 0 and at most {LARGEST:e}")))
}
