//! cuFFT over hipFFT: CUDA's names in [`sys`], and cudarc's interface.
//!
//! ```no_run
//! use cuda_compat::cufft::{CudaFft, FftDirection, sys};
//! use cuda_compat::driver::CudaContext;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = CudaContext::new(0)?.default_stream();
//! let fft = CudaFft::plan_1d(256, sys::cufftType::CUFFT_C2C, 1, stream.clone())?;
//! let mut points = stream.alloc_zeros::<sys::float2>(256)?;
//! let mut spectrum = stream.alloc_zeros::<sys::float2>(256)?;
//! fft.exec_c2c(&mut points, &mut spectrum, FftDirection::Forward)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Implementation
//! Calls go to `hipfft-sys`, not to the crate `hipfft`, whose plans use `hip` buffers. Buffers are tracked by their
//! `device_ptr`.
//!
//! # Differences from cudarc
//! - A plan knows how many elements its transforms read and write: shorter buffers are `CUFFT_INVALID_SIZE`, and a
//!   transform of a type other than the plan's is `CUFFT_INVALID_TYPE`, before the call. cudarc passes them to the
//!   library.
//! - `cufftHandle` is a pointer, as in hipFFT; in cuFFT it is an integer.
//! - hipFFT has no plan properties (`cufftSetPlanPropertyInt64` and others): these functions are absent.

pub mod result;
pub mod safe;

pub mod sys {
    //! The names of CUDA's C header.
    pub use crate::generated::cufft::*;
    #[doc(no_inline)]
    pub use hipfft_sys::{has, load_error, symbol_error};
}

pub use safe::*;
pub use sys::*;
