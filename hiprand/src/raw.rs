//! The C functions. All hipRAND names that this crate calls are here; they are looked up by name in the library that
//! [`hiprand_sys`] has opened.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::NonNull;

use half::f16;
use hip::sys::hipStream_t;
use hip_linalg::__private::Slot;

pub(crate) use hiprand_sys::{
    BINDING, HIPRAND_STATUS_INITIALIZATION_FAILED, HIPRAND_STATUS_NOT_IMPLEMENTED, HIPRAND_STATUS_SUCCESS,
    hiprandStatus_t, load_error, symbol_error,
};

/// Returns the first release that has a function.
macro_rules! since {
    () => {
        "5.7"
    };
    ($release:literal) => {
        $release
    };
}

macro_rules! functions {
    ($(fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $(since $since:literal)?;)*) => {$(
        /// The C function.
        #[allow(non_snake_case, reason = "names are C's")]
        pub(crate) unsafe fn $name($($parameter: $type),*) -> hiprandStatus_t {
            static SLOT: Slot = Slot::new(concat!(stringify!($name), "\0"), since!($($since)?));
            match SLOT.get(&BINDING) {
                Ok(function) => {
                    // SAFETY: the library has the function under this name, and its C signature is the one declared here.
                    let function = unsafe {
                        transmute::<NonNull<c_void>, unsafe extern "C" fn($($type),*) -> hiprandStatus_t>(function)
                    };
                    // SAFETY: the caller keeps the function's contract.
                    unsafe { function($($parameter),*) }
                }
                Err(why) => hiprand_sys::MissingValue::missing(why),
            }
        }
    )*
        /// The functions' names, and the types of their parameters.
        pub static FUNCTIONS: &[(&str, &[&str])] = &[$((stringify!($name), &[$(stringify!($type)),*])),*];
    };
}

pub(crate) type Opaque = *mut c_void;

functions! {
    fn hiprandCreateGenerator(generator: *mut Opaque, kind: u32);
    fn hiprandCreateGeneratorHost(generator: *mut Opaque, kind: u32);
    fn hiprandDestroyGenerator(generator: Opaque);
    fn hiprandSetStream(generator: Opaque, stream: hipStream_t);
    fn hiprandSetPseudoRandomGeneratorSeed(generator: Opaque, seed: u64);
    fn hiprandSetGeneratorOffset(generator: Opaque, offset: u64);
    fn hiprandSetGeneratorOrdering(generator: Opaque, ordering: u32) since "6.2";
    fn hiprandSetQuasiRandomGeneratorDimensions(generator: Opaque, dimensions: u32);
    fn hiprandGenerateSeeds(generator: Opaque);
    fn hiprandGenerate(generator: Opaque, numbers: *mut u32, count: usize);
    fn hiprandGenerateChar(generator: Opaque, numbers: *mut u8, count: usize);
    fn hiprandGenerateShort(generator: Opaque, numbers: *mut u16, count: usize);
    fn hiprandGenerateLongLong(generator: Opaque, numbers: *mut u64, count: usize);
    fn hiprandGenerateUniform(generator: Opaque, numbers: *mut f32, count: usize);
    fn hiprandGenerateUniformDouble(generator: Opaque, numbers: *mut f64, count: usize);
    fn hiprandGenerateUniformHalf(generator: Opaque, numbers: *mut f16, count: usize);
    fn hiprandGenerateNormal(generator: Opaque, numbers: *mut f32, count: usize, mean: f32, deviation: f32);
    fn hiprandGenerateNormalDouble(generator: Opaque, numbers: *mut f64, count: usize, mean: f64, deviation: f64);
    fn hiprandGenerateNormalHalf(generator: Opaque, numbers: *mut f16, count: usize, mean: u16, deviation: u16);
    fn hiprandGenerateLogNormal(generator: Opaque, numbers: *mut f32, count: usize, mean: f32, deviation: f32);
    fn hiprandGenerateLogNormalDouble(generator: Opaque, numbers: *mut f64, count: usize, mean: f64, deviation: f64);
    fn hiprandGenerateLogNormalHalf(generator: Opaque, numbers: *mut f16, count: usize, mean: u16, deviation: u16);
    fn hiprandGeneratePoisson(generator: Opaque, counts: *mut u32, count: usize, lambda: f64);
    fn hiprandCreatePoissonDistribution(lambda: f64, distribution: *mut Opaque);
    fn hiprandDestroyDistribution(distribution: Opaque);
    fn hiprandGetDirectionVectors32(vectors: *mut *const [u32; 32], set: u32) since "6.2";
    fn hiprandGetDirectionVectors64(vectors: *mut *const [u64; 64], set: u32) since "6.2";
    fn hiprandGetScrambleConstants32(constants: *mut *const u32) since "6.2";
    fn hiprandGetScrambleConstants64(constants: *mut *const u64) since "6.2";
    fn hiprandGetVersion(version: *mut c_int);
}
