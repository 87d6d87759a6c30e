//! Safe Rust for hipRAND on AMD GPUs: pseudo-random and quasi-random numbers, on the device and on the host.
//!
//! A [`Generator`] queues work on a stream of [`hip`], which fills device memory; a [`HostGenerator`] fills host slices
//! with the same numbers. Lengths and parameters are checked before the call: all calls are safe. The same seed gives
//! the same numbers as in C. Nothing is linked: hipRAND of ROCm 5.7 to 10.0 is loaded on first use, and the same
//! program runs with each.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hiprand::{Generator, Pseudo, Quasi};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hiprand::is_available() {
//!         return Ok(()); // no GPU or no hipRAND is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let stream = Stream::new(&device)?;
//!     let mut pseudo = Generator::new(&stream, Pseudo::Philox4x32_10)?;
//!     pseudo.set_seed(0)?;
//!     let mut bits = DeviceBuffer::<u32>::zeroed(&device, 4)?;
//!     pseudo.generate(&mut bits)?;
//!     assert_eq!(bits.to_vec()?[0], 0x6627_e8d5); // the published first number for a key of 0
//!
//!     let mut quasi = Generator::new(&stream, Quasi::Sobol32)?;
//!     quasi.set_dimensions(2)?;
//!     let mut points = DeviceBuffer::<f64>::zeroed(&device, 2 * 1000)?; // 1000 x, then 1000 y
//!     quasi.uniform(&mut points)?;
//!     Ok(())
//! }
//! ```
//!
//! | hipRAND, cuRAND | this crate |
//! |---|---|
//! | `hiprandCreateGenerator`, `hiprandCreateGeneratorHost` | [`Generator::new`], [`HostGenerator::new`] with [`Pseudo`] or [`Quasi`] |
//! | `hiprandGenerate`, `...Char`, `...Short`, `...LongLong` | [`generate`](Generator::generate): the element type decides |
//! | `hiprandGenerateUniform`, `...Double`, `...Half` | [`uniform`](Generator::uniform), likewise |
//! | `hiprandGenerateNormal`, `hiprandGenerateLogNormal` | [`normal`](Generator::normal), [`log_normal`](Generator::log_normal) |
//! | `hiprandGeneratePoisson` | [`poisson`](Generator::poisson) |
//! | the offset, the ordering | [`set_offset`](Generator::set_offset), [`set_ordering`](Generator::set_ordering) |
//!
//! # Lengths
//! AMD's library supports odd lengths for normal numbers, which cuRAND rejects. The length for a quasi-random generator
//! must be a multiple of its dimensions: all numbers of the first dimension come first, then those of the second.
//!
//! # Order, capture
//! - **Streams.** Work is queued on the generator's stream. Buffers track it: reading a buffer waits for its numbers.
//! - **Waits.** The first call after setting a seed, an offset, dimensions or an ordering allocates memory, and can
//!   wait for the device. So does a call of `poisson` with another λ than before. All other calls only queue work.
//! - **Graphs.** Call [`prepare`](Generator::prepare) before a capture. With `Philox4x32_10` and the quasi-random
//!   generators, the numbers are fixed at the capture: each launch writes the same numbers. The other generators have
//!   their state in device memory, and continue with each launch. A graph keeps the state that it was captured with:
//!   settings that restart the sequence give the generator a new state, and a call of `poisson` with another λ is an
//!   error while a graph uses the tables.
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hiprand-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |
//! | `rand_core` | `HostRng` implements `TryRngCore` of rand_core 0.9, the traits of rand 0.9 |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod element;
mod generator;
mod host;
mod kind;
mod poisson;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
#[cfg(feature = "rand_core")]
mod rng;
mod tables;

pub use element::{Bits, Real};
pub use generator::Generator;
pub use half;
pub use host::HostGenerator;
pub use kind::{Kind, Ordering, Pseudo, Quasi};
pub use poisson::PoissonDistribution;
#[cfg(feature = "rand_core")]
#[cfg_attr(docsrs, doc(cfg(feature = "rand_core")))]
pub use rand_core;
#[cfg(feature = "rand_core")]
#[cfg_attr(docsrs, doc(cfg(feature = "rand_core")))]
pub use rng::HostRng;
pub use tables::{scramble_constants32, scramble_constants64, sobol32_vectors, sobol64_vectors};

/// The table of C functions, for the tests of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::FUNCTIONS;
}

hip::library_error! {
    library: "hipRAND",
    status: raw::hiprandStatus_t,
    success: raw::HIPRAND_STATUS_SUCCESS,
    no_library: raw::HIPRAND_STATUS_INITIALIZATION_FAILED,
    no_symbol: raw::HIPRAND_STATUS_NOT_IMPLEMENTED,
    load_error: raw::load_error,
    symbol_error: raw::symbol_error,
}

/// Returns whether hipRAND can be loaded. If not, [`Generator::new`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Returns the version of rocRAND, the library that hipRAND is built on: 100 000 times the major number, 100 times the
/// minor number, and the patch.
///
/// # Errors
/// [`Error::NoLibrary`], with every path that was tried.
#[doc(alias("hiprandGetVersion", "curandGetVersion"))]
pub fn version() -> Result<i32> {
    let mut version = 0;
    // SAFETY: the function writes the number through a valid pointer.
    check(unsafe { raw::hiprandGetVersion(&mut version) }, "hiprandGetVersion", || "the version".to_owned())?;
    Ok(version)
}

/// Returns the error for an invalid argument.
pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Invalid { what, value: value.into(), allowed: allowed.into() }
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
