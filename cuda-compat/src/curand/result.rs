//! cuRAND functions that return results instead of statuses. [`UniformFill`], [`NormalFill`] and [`LogNormalFill`]
//! select the function by the element type; [`generate`] has one function for each.

use core::ptr::null_mut;

use super::sys;

pub use hiprand_sys::cuda::CurandError;

/// Creates a generator of the default kind on the current device.
///
/// # Errors
/// `CURAND_STATUS_NOT_INITIALIZED` if hipRAND cannot be loaded: [`sys::load_error`] returns the reason.
#[doc(alias("hiprandCreateGenerator"))]
pub fn create_generator() -> Result<sys::curandGenerator_t, CurandError> {
    create_generator_kind(sys::curandRngType_t::CURAND_RNG_PSEUDO_DEFAULT)
}

/// Creates a generator on the current device.
///
/// # Errors
/// As for [`create_generator`]; also if the library does not support the kind.
#[doc(alias("hiprandCreateGenerator"))]
pub fn create_generator_kind(kind: sys::curandRngType_t) -> Result<sys::curandGenerator_t, CurandError> {
    let mut generator = null_mut();
    // SAFETY: room for the result.
    unsafe { sys::curandCreateGenerator(&mut generator, kind) }.result()?;
    Ok(generator)
}

/// Sets the seed, and restarts the sequence.
///
/// # Errors
/// If the library returns an error: a quasi-random generator has no seed.
///
/// # Safety
/// The generator must be alive.
#[doc(alias("hiprandSetPseudoRandomGeneratorSeed"))]
pub unsafe fn set_seed(generator: sys::curandGenerator_t, seed: u64) -> Result<(), CurandError> {
    // SAFETY: the caller's contract.
    unsafe { sys::curandSetPseudoRandomGeneratorSeed(generator, seed) }.result()
}

/// Sets the position in the sequence.
///
/// # Errors
/// If the library returns an error: some generators have no position.
///
/// # Safety
/// The generator must be alive.
#[doc(alias("hiprandSetGeneratorOffset"))]
pub unsafe fn set_offset(generator: sys::curandGenerator_t, offset: u64) -> Result<(), CurandError> {
    // SAFETY: the caller's contract.
    unsafe { sys::curandSetGeneratorOffset(generator, offset) }.result()
}

/// Sets the stream of a generator.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The generator and the stream must be alive.
#[doc(alias("hiprandSetStream"))]
pub unsafe fn set_stream(generator: sys::curandGenerator_t, stream: sys::cudaStream_t) -> Result<(), CurandError> {
    // SAFETY: the caller's contract.
    unsafe { sys::curandSetStream(generator, stream) }.result()
}

/// Destroys a generator.
///
/// # Errors
/// If the library returns an error.
///
/// # Safety
/// The generator must be alive, and not used again.
#[doc(alias("hiprandDestroyGenerator"))]
pub unsafe fn destroy_generator(generator: sys::curandGenerator_t) -> Result<(), CurandError> {
    // SAFETY: the caller's contract.
    unsafe { sys::curandDestroyGenerator(generator) }.result()
}

pub mod generate {
    //! A function for each distribution and type. Each fills `num` elements at a device address.

    use super::{CurandError, sys};

    macro_rules! functions {
        ($($(#[$attribute:meta])* $name:ident($ty:ty $(, $argument:ident: $of:ty)*) = $function:ident;)+) => {$(
            $(#[$attribute])*
            ///
            /// # Errors
            /// If the library returns an error: not every kind of generator supports every distribution.
            ///
            /// # Safety
            /// The generator must be alive, and `out` valid for writes of `num` elements on the device.
            pub unsafe fn $name(
                generator: sys::curandGenerator_t,
                out: *mut $ty,
                num: usize
                $(, $argument: $of)*
            ) -> Result<(), CurandError> {
                // SAFETY: the caller's contract.
                unsafe { sys::$function(generator, out, num $(, $argument)*) }.result()
            }
        )+};
    }

    functions! {
        /// Fills memory with uniformly distributed numbers above 0 and up to 1.
        uniform_f32(f32) = curandGenerateUniform;
        /// Fills memory with uniformly distributed numbers above 0 and up to 1.
        uniform_f64(f64) = curandGenerateUniformDouble;
        /// Fills memory with random bits.
        uniform_u32(u32) = curandGenerate;
        /// Fills memory with random bits. The library supports this only for 64-bit quasi-random generators.
        uniform_u64(u64) = curandGenerateLongLong;
        /// Fills memory with normally distributed numbers.
        normal_f32(f32, mean: f32, std: f32) = curandGenerateNormal;
        /// Fills memory with normally distributed numbers.
        normal_f64(f64, mean: f64, std: f64) = curandGenerateNormalDouble;
        /// Fills memory with log-normally distributed numbers.
        log_normal_f32(f32, mean: f32, std: f32) = curandGenerateLogNormal;
        /// Fills memory with log-normally distributed numbers.
        log_normal_f64(f64, mean: f64, std: f64) = curandGenerateLogNormalDouble;
    }

    /// Fills memory with Poisson distributed numbers.
    ///
    /// With another `lambda` than the generator's last one, the library fills tables in a host function, for which the
    /// call holds a lock. So calls of this crate that wait for the device wait for the end of this one, and this one
    /// waits for them: it must not be made in [`wait_for_device`](hip::interop::wait_for_device).
    ///
    /// # Errors
    /// If the library returns an error: not every kind of generator supports the distribution.
    /// `CURAND_STATUS_LAUNCH_FAILURE` in a thread that cannot call HIP, such as that of a host function.
    ///
    /// # Safety
    /// The generator must be alive, and `out` valid for writes of `num` elements on the device.
    pub unsafe fn poisson_u32(
        generator: sys::curandGenerator_t,
        out: *mut u32,
        num: usize,
        lambda: f64,
    ) -> Result<(), CurandError> {
        // SAFETY: the caller's contract.
        let call = || unsafe { sys::curandGeneratePoisson(generator, out, num, lambda) }.result().map_err(Failed);
        hip::interop::queue_for_host(call).map_err(|Failed(error)| error)
    }

    /// A status, as an error of the functions of `hip::interop`.
    struct Failed(CurandError);

    impl From<hip::Error> for Failed {
        fn from(_: hip::Error) -> Self {
            Self(CurandError(sys::curandStatus::CURAND_STATUS_LAUNCH_FAILURE))
        }
    }
}

/// Fills memory with uniformly distributed numbers.
pub trait UniformFill<T> {
    /// Fills `num` elements.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// As for the functions in [`generate`].
    unsafe fn fill(self, out: *mut T, num: usize) -> Result<(), CurandError>;
}

/// Fills memory with normally distributed numbers.
pub trait NormalFill<T> {
    /// Fills `n` elements with mean `m` and standard deviation `s`.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// As for the functions in [`generate`].
    unsafe fn fill(self, o: *mut T, n: usize, m: T, s: T) -> Result<(), CurandError>;
}

/// Fills memory with log-normally distributed numbers.
pub trait LogNormalFill<T> {
    /// Fills `n` elements; the logarithms have mean `m` and standard deviation `s`.
    ///
    /// # Errors
    /// If the library returns an error.
    ///
    /// # Safety
    /// As for the functions in [`generate`].
    unsafe fn fill(self, o: *mut T, n: usize, m: T, s: T) -> Result<(), CurandError>;
}

macro_rules! fill {
    ($($trait:ident<$ty:ty>: $function:ident($($argument:ident),*);)+) => {$(
        impl $trait<$ty> for sys::curandGenerator_t {
            unsafe fn fill(self, out: *mut $ty, num: usize $(, $argument: $ty)*) -> Result<(), CurandError> {
                // SAFETY: the caller's contract.
                unsafe { generate::$function(self, out, num $(, $argument)*) }
            }
        }
    )+};
}

fill! {
    UniformFill<f32>: uniform_f32();
    UniformFill<f64>: uniform_f64();
    UniformFill<u32>: uniform_u32();
    UniformFill<u64>: uniform_u64();
    NormalFill<f32>: normal_f32(mean, std);
    NormalFill<f64>: normal_f64(mean, std);
    LogNormalFill<f32>: log_normal_f32(mean, std);
    LogNormalFill<f64>: log_normal_f64(mean, std);
}
