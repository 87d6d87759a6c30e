//! Mathematical functions: [`Float`], with the names of `f32`'s and `f64`'s methods in the standard library.
//!
//! On the device:
//!
//! - roots, rounding, `mul_add`, and in single precision the exponential functions and logarithms, are LLVM's
//!   intrinsics: the same instructions as in HIP C++, with errors of 1 ulp at most;
//! - the others are those of `libm`, which is part of Rust's own source (`rust-src`): pure Rust, without a library of
//!   ROCm. In single precision some compute in double precision.
//!
//! LLVM would silently drop a call of `exp` in double precision, since AMD GPUs have no library for it:
//! `hip-kernel-build` rejects code objects with calls of missing functions.

#[cfg(target_arch = "amdgpu")]
use crate::raw;

/// Mathematical functions of floats. The trait is in the prelude, so that `x.sqrt()` works on the device as on the
/// host.
pub trait Float:
    Copy
    + PartialOrd
    + core::ops::Add<Output = Self>
    + core::ops::Sub<Output = Self>
    + core::ops::Mul<Output = Self>
    + core::ops::Div<Output = Self>
    + core::ops::Neg<Output = Self>
{
    /// Returns a constant of this type.
    fn of(value: f64) -> Self;
    /// Returns the square root, correctly rounded.
    fn sqrt(self) -> Self;
    /// Returns `1 / sqrt(self)`. In single precision it uses the hardware's instruction, with an error of 1 ulp:
    /// `rsqrtf`.
    fn rsqrt(self) -> Self;
    /// Returns `self * a + b` with one rounding: `fmaf`.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// Returns the largest integer less than or equal to `self`.
    fn floor(self) -> Self;
    /// Returns the smallest integer greater than or equal to `self`.
    fn ceil(self) -> Self;
    /// Removes the fraction.
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer; halves away from 0.
    fn round(self) -> Self;
    /// Rounds to the nearest integer; halves to the even one: `rintf`.
    fn round_ties_even(self) -> Self;
    /// Returns the fraction.
    fn fract(self) -> Self {
        self - self.trunc()
    }
    /// Raises to an integer power.
    fn powi(self, exponent: i32) -> Self;
    /// Returns `e` to this power.
    fn exp(self) -> Self;
    /// Returns 2 to this power.
    fn exp2(self) -> Self;
    /// Returns `exp(self) - 1`, accurate for small numbers.
    fn exp_m1(self) -> Self;
    /// Returns the natural logarithm.
    fn ln(self) -> Self;
    /// Returns `ln(1 + self)`, accurate for small numbers.
    fn ln_1p(self) -> Self;
    /// Returns the logarithm to base 2.
    fn log2(self) -> Self;
    /// Returns the logarithm to base 10.
    fn log10(self) -> Self;
    /// Raises to a power.
    fn powf(self, exponent: Self) -> Self;
    /// Returns the cube root.
    fn cbrt(self) -> Self;
    /// Returns the length of the hypotenuse.
    fn hypot(self, other: Self) -> Self;
    /// Returns the sine.
    fn sin(self) -> Self;
    /// Returns the cosine.
    fn cos(self) -> Self;
    /// Returns the sine and the cosine.
    fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
    /// Returns the tangent.
    fn tan(self) -> Self;
    /// Returns the arc sine.
    fn asin(self) -> Self;
    /// Returns the arc cosine.
    fn acos(self) -> Self;
    /// Returns the arc tangent.
    fn atan(self) -> Self;
    /// Returns the angle of the point `(other, self)`.
    fn atan2(self, other: Self) -> Self;
    /// Returns the hyperbolic sine.
    fn sinh(self) -> Self;
    /// Returns the hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Returns the hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Returns the error function.
    fn erf(self) -> Self;
    /// Returns one minus the error function.
    fn erfc(self) -> Self;
    /// Returns the logarithm of the absolute value of the gamma function.
    fn lgamma(self) -> Self;
    /// Returns the gamma function.
    fn tgamma(self) -> Self;
}

/// Implements a function of one or more arguments: with the intrinsic or libm on the device, and with std, if it has
/// one, on the host.
macro_rules! float {
    ($type:ident, $sqrt:ident $fma:ident $floor:ident $ceil:ident $trunc:ident $round:ident $even:ident,
     intrinsics { $($iname:ident = $iraw:ident;)* }
     libm { $($name:ident($($argument:ident),*) = $libm:ident;)* }
     device_only { $($dname:ident = $dlibm:ident;)* }
     rsqrt: |$x:ident| $rsqrt:expr
    ) => {
        #[cfg_attr(not(target_arch = "amdgpu"), allow(unconditional_recursion))]
        impl Float for $type {
            #[inline(always)]
            fn of(value: f64) -> Self {
                value as Self
            }
            float!(@raw $type sqrt() = $sqrt);
            float!(@raw $type mul_add(a, b) = $fma);
            float!(@raw $type floor() = $floor);
            float!(@raw $type ceil() = $ceil);
            float!(@raw $type trunc() = $trunc);
            float!(@raw $type round() = $round);
            float!(@raw $type round_ties_even() = $even);
            $(float!(@raw $type $iname() = $iraw);)*
            $(
                #[inline(always)]
                fn $name(self $(, $argument: Self)*) -> Self {
                    #[cfg(target_arch = "amdgpu")]
                    return libm::$libm(self $(, $argument)*);
                    #[cfg(not(target_arch = "amdgpu"))]
                    $type::$name(self $(, $argument)*)
                }
            )*
            $(
                #[inline(always)]
                fn $dname(self) -> Self {
                    #[cfg(target_arch = "amdgpu")]
                    return libm::$dlibm(self);
                    // Rust's standard library does not have it on the stable channel.
                    #[cfg(not(target_arch = "amdgpu"))]
                    crate::raw::on_the_host()
                }
            )*
            #[inline(always)]
            fn rsqrt(self) -> Self {
                let $x = self;
                #[cfg(target_arch = "amdgpu")]
                return $rsqrt;
                #[cfg(not(target_arch = "amdgpu"))]
                return 1.0 / $type::sqrt($x);
            }
            #[inline(always)]
            fn powi(self, exponent: i32) -> Self {
                let (mut result, mut base, mut left) = (1.0, self, exponent.unsigned_abs());
                while left > 0 {
                    if left & 1 == 1 {
                        result *= base;
                    }
                    base *= base;
                    left >>= 1;
                }
                if exponent < 0 { 1.0 / result } else { result }
            }
        }
    };
    (@raw $type:ident $name:ident($($argument:ident),*) = $raw:ident) => {
        #[inline(always)]
        fn $name(self $(, $argument: Self)*) -> Self {
            #[cfg(target_arch = "amdgpu")]
            // SAFETY: arithmetic.
            return unsafe { raw::$raw(self $(, $argument)*) };
            #[cfg(not(target_arch = "amdgpu"))]
            $type::$name(self $(, $argument)*)
        }
    };
}

float! {
    f32, sqrt_f32 fma_f32 floor_f32 ceil_f32 trunc_f32 round_f32 even_f32,
    intrinsics {
        exp = exp_f32;
        exp2 = exp2_f32;
        ln = log_f32;
        log2 = log2_f32;
        log10 = log10_f32;
    }
    libm {
        exp_m1() = expm1f;
        ln_1p() = log1pf;
        powf(exponent) = powf;
        cbrt() = cbrtf;
        hypot(other) = hypotf;
        sin() = sinf;
        cos() = cosf;
        tan() = tanf;
        asin() = asinf;
        acos() = acosf;
        atan() = atanf;
        atan2(other) = atan2f;
        sinh() = sinhf;
        cosh() = coshf;
        tanh() = tanhf;
    }
    device_only {
        erf = erff;
        erfc = erfcf;
        lgamma = lgammaf;
        tgamma = tgammaf;
    }
    // SAFETY: arithmetic.
    rsqrt: |x| unsafe { raw::rsq_f32(x) }
}

float! {
    f64, sqrt_f64 fma_f64 floor_f64 ceil_f64 trunc_f64 round_f64 even_f64,
    intrinsics {}
    libm {
        exp() = exp;
        exp2() = exp2;
        ln() = log;
        log2() = log2;
        log10() = log10;
        exp_m1() = expm1;
        ln_1p() = log1p;
        powf(exponent) = pow;
        cbrt() = cbrt;
        hypot(other) = hypot;
        sin() = sin;
        cos() = cos;
        tan() = tan;
        asin() = asin;
        acos() = acos;
        atan() = atan;
        atan2(other) = atan2;
        sinh() = sinh;
        cosh() = cosh;
        tanh() = tanh;
    }
    device_only {
        erf = erf;
        erfc = erfc;
        lgamma = lgamma;
        tgamma = tgamma;
    }
    rsqrt: |x| 1.0 / Float::sqrt(x)
}

/// The hardware's approximations in single precision, like HIP's functions that begin with `__`: fast, but not exact.
pub mod fast {
    use crate::raw;

    macro_rules! fast {
        ($($(#[$attribute:meta])* $name:ident = |$x:ident| $value:expr;)*) => {$(
            $(#[$attribute])*
            #[inline(always)]
            #[must_use]
            pub fn $name($x: f32) -> f32 {
                // SAFETY: arithmetic.
                unsafe { $value }
            }
        )*};
    }

    fast! {
        /// Returns `1 / x`: `__frcp_rn`, with an error of 1 ulp.
        recip = |x| raw::rcp_f32(x);
        /// Returns `1 / sqrt(x)`: `__frsqrt_rn`, with an error of 1 ulp.
        rsqrt = |x| raw::rsq_f32(x);
        /// Returns 2 to this power; 0 for results below 2^-126: `exp2f` with flushed results.
        exp2 = |x| raw::fast_exp2_f32(x);
        /// Returns the logarithm to base 2; not valid for numbers below 2^-126.
        log2 = |x| raw::fast_log2_f32(x);
        /// Returns `e` to this power: `__expf`.
        exp = |x| raw::fast_exp2_f32(x * core::f32::consts::LOG2_E);
        /// Returns the natural logarithm: `__logf`.
        ln = |x| raw::fast_log2_f32(x) * core::f32::consts::LN_2;
        /// Returns the sine: `__sinf`.
        sin = |x| raw::turn_sin_f32(x * (0.5 * core::f32::consts::FRAC_1_PI));
        /// Returns the cosine: `__cosf`.
        cos = |x| raw::turn_cos_f32(x * (0.5 * core::f32::consts::FRAC_1_PI));
    }
}
