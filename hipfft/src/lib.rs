//! Safe Rust for hipFFT on AMD GPUs: fast Fourier transforms in 1, 2 and 3 dimensions, of one array or of batches, in
//! place or out of place, on one or several devices.
//!
//! A [`Plan`] queues transforms on a stream of [`hip`]. Its type parameters select the transform ([`C2C`], [`R2C`],
//! [`C2R`] of `f16`, `f32`, `f64`) and the scaling ([`Unnormalized`], [`Normalized`], [`Unitary`]). Layouts are checked
//! when the plan is made, memory lengths before each call: all calls are safe. Nothing is linked: hipFFT of ROCm 5.7 to
//! 10.0 is loaded on first use, and the same program runs with each.
//!
//! ```
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipfft::{C2C, Complex32, Layout, Normalized, Plan};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipfft::is_available() {
//!         return Ok(()); // no GPU or no hipFFT is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let device = Device::get(0)?;
//!     let signal: Vec<Complex32> = [1.0, 2.0, 3.0, 4.0].map(|x| Complex32::new(x, 0.0)).into();
//!     let mut data = DeviceBuffer::from_slice(&device, &signal)?;
//!     let mut plan = Plan::<C2C<f32>, Normalized>::new(&Stream::new(&device)?, &Layout::new([4])?)?;
//!     plan.forward_in_place(&mut data)?;
//!     assert!((data.to_vec()?[0].re - 10.0).abs() < 1e-5); // the sum
//!     plan.inverse_in_place(&mut data)?; // divides by 4
//!     assert!((data.to_vec()?[3].re - 4.0).abs() < 1e-5);
//!     Ok(())
//! }
//! ```
//!
//! | hipFFT, cuFFT | this crate |
//! |---|---|
//! | `HIPFFT_C2C`, `HIPFFT_Z2Z`, ... | [`C2C<f32>`](C2C), [`C2C<f64>`](C2C), ... |
//! | `hipfftPlan1d`, `2d`, `3d` and `Many`, `hipfftMakePlan...` | [`Plan::new`] with a [`Layout`] |
//! | `inembed`, `istride`, `idist` | [`Layout::spaced`] with [`Spacing`] |
//! | `hipfftExecC2C(..., HIPFFT_FORWARD)` | [`forward`](Plan::forward), [`inverse`](Plan::inverse), and `_in_place` |
//! | `hipfftSetAutoAllocation`, `hipfftSetWorkArea` | [`Plan::workspace_len`], [`Plan::set_workspace`] |
//! | `hipfftExtPlanScaleFactor` | the plan's second type |
//! | `hipfftXtSetCallback` | [`Plan::set_callback`] |
//! | `hipfftXtSetGPUs`, `hipfftXtMalloc`, ... | [`MultiPlan`], [`MultiBuffer`] |
//!
//! # Layouts
//! - **Dimensions** are those of a row-major array: the last one is contiguous.
//! - **Real transforms** have `n / 2 + 1` complex numbers in the last dimension: symmetry determines the others.
//! - **In place**, rows of real numbers are padded to `2 (n / 2 + 1)`: see [`Plan::forward_in_place`].
//!
//! # Order, capture
//! Transforms only queue work. Making a plan compiles kernels, which takes seconds for a new length; the library caches
//! them in the file that `ROCFFT_RTC_CACHE_PATH` names. [`PlanCache`] caches plans. Transforms can be captured in
//! graphs; make the plans before the capture.
//!
//! # Graphs
//! A graph keeps the plan, the tables that the library made for it, and the workspace alive. A new workspace or new
//! callbacks only apply to later calls. A graph may still overwrite the workspace that [`Plan::set_workspace`] returns,
//! at each launch. [`PlanCache`] does not reuse a workspace that a graph has, and a plan that it drops is destroyed
//! after the last graph. The calls of a [`MultiPlan`] wait, and cannot be captured. See "Crates over hip" in `hip`'s
//! SAFETY.md.
//!
//! # Generic code
//!
//! A function for any precision has the bound [`FftReal`]. Its complex type is an associated type, `T::Complex`: with
//! `FftReal<Complex = Complex<T>>`, which `f16`, `f32` and `f64` meet, its parts can be used. Arithmetic on the host has the
//! bounds of Rust (`Add`, `Mul`, or those of `num_traits`). A function for any transform has the bound [`Transform`],
//! [`Forward`] or [`Inverse`], and one for any scale [`Normalization`].
//!
//! ```
//! use std::ops::{Add, Mul};
//!
//! use hip::{Device, DeviceBuffer, Stream};
//! use hipfft::{Complex, FftReal, Layout, Plan, R2C, Unitary};
//!
//! /// Returns the power of each frequency of a signal.
//! fn powers<T>(stream: &Stream, signal: &[T]) -> Result<Vec<T>, hipfft::Error>
//! where
//!     T: FftReal<Complex = Complex<T>> + Add<Output = T> + Mul<Output = T>,
//! {
//!     let input = DeviceBuffer::from_slice(&stream.device(), signal)?;
//!     let mut spectrum = DeviceBuffer::zeroed(&stream.device(), signal.len() / 2 + 1)?;
//!     Plan::<R2C<T>, Unitary>::new(stream, &Layout::new([signal.len()])?)?.forward(&input, &mut spectrum)?;
//!     Ok(spectrum.to_vec()?.into_iter().map(|z| z.re * z.re + z.im * z.im).collect())
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     if hip::sim_if_no_gpu().is_err() || !hipfft::is_available() {
//!         return Ok(()); // no GPU or no hipFFT is available
//!     }
//!     # if hip::backend()? == hip::Backend::Sim { return Ok(()) }
//!     let stream = Stream::new(&Device::get(0)?)?;
//!     assert!((powers(&stream, &[1.0f32, -1.0, 1.0, -1.0])?[2] - 4.0).abs() < 1e-5);
//!     assert!((powers(&stream, &[1.0f64; 4])?[0] - 4.0).abs() < 1e-12);
//!     Ok(())
//! }
//! ```
//!
//! # Features
//!
//! | feature | what it does |
//! |---|---|
//! | `rocm-5-7` to `rocm-10-0` | API levels of the crates `hip` and `hipfft-sys` below, each with those before it; `rocm-6-4` is the default. This crate's own API is the same at each: it calls the form of a function that the loaded library has |

#![cfg_attr(docsrs, feature(doc_cfg))]

mod cache;
mod layout;
mod library;
mod multi;
mod plan;
#[allow(missing_docs, reason = "not every parameter of C's has a sentence")]
mod raw;
mod transform;

pub use cache::{CachedPlan, PlanCache};
pub use half;
pub use layout::{Layout, Spacing};
pub use library::{Version, version};
pub use multi::{MultiBuffer, MultiPlan, Side};
pub use num_complex::{self, Complex, Complex32, Complex64};
pub use plan::{CallbackKind, Plan};
pub use transform::{
    C2C, C2R, FftReal, Forward, Inverse, Normalization, Normalized, R2C, Transform, Unitary, Unnormalized,
};

/// The table of C functions, for the tests of this workspace; not part of the public interface.
#[doc(hidden)]
pub mod table {
    pub use crate::raw::FUNCTIONS;
}

hip::library_error! {
    library: "hipFFT",
    status: raw::hipfftResult_t,
    success: raw::HIPFFT_SUCCESS,
    no_library: raw::HIPFFT_INTERNAL_ERROR,
    no_symbol: raw::HIPFFT_NOT_IMPLEMENTED,
    load_error: raw::load_error,
    symbol_error: raw::symbol_error,
}

/// Returns whether hipFFT can be loaded. If not, [`Plan::new`] returns the reason.
#[must_use]
pub fn is_available() -> bool {
    raw::load_error().is_none()
}

/// Returns the error for an invalid argument.
pub(crate) fn invalid(what: &'static str, value: impl Into<String>, allowed: impl Into<String>) -> Error {
    Error::Invalid { what, value: value.into(), allowed: allowed.into() }
}

/// Compiles the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
