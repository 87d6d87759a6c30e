//! The handle.

use hip::Stream;
use hip_linalg::Handle;

use crate::library::HipBlas;
use crate::raw;
use crate::workspace::Workspace;
use crate::{Result, check};

/// hipBLAS on a device: its methods queue linear algebra on a stream.
///
/// Methods can be called from several threads; their calls are serialized. Create one `Blas` per stream to run work
/// concurrently.
#[derive(Debug)]
#[doc(alias("hipblasHandle_t", "cublasHandle_t", "rocblas_handle"))]
pub struct Blas {
    pub(crate) handle: Handle<HipBlas>,
    pub(crate) workspace: Workspace,
}

/// How 32-bit products may be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MathMode {
    /// In 32-bit floats.
    Default,
    /// With matrix instructions on narrower inputs (XF32), on GPUs that have them.
    Xf32,
}

impl Blas {
    /// Creates a hipBLAS handle on the stream's device. It queues its work on the stream. This takes some milliseconds,
    /// and device memory.
    ///
    /// # Errors
    /// [`Error::NoLibrary`](crate::Error::NoLibrary), with every path that was tried.
    #[doc(alias("hipblasCreate", "cublasCreate"))]
    pub fn new(stream: &Stream) -> Result<Self> {
        let handle = Handle::new(stream)?;
        let workspace = Workspace::new(stream, &handle)?;
        Ok(Self { handle, workspace })
    }

    /// Returns the stream that later calls queue their work on.
    #[must_use]
    #[doc(alias("hipblasGetStream", "cublasGetStream"))]
    pub fn stream(&self) -> &Stream {
        self.handle.stream()
    }

    /// Makes later calls queue their work on another stream of the device.
    ///
    /// # Errors
    /// [`Error::Hip`](crate::Error::Hip) for a stream of another device.
    #[doc(alias("hipblasSetStream", "cublasSetStream"))]
    pub fn set_stream(&mut self, stream: &Stream) -> Result<()> {
        Ok(self.handle.set_stream(stream)?)
    }

    /// Allows or forbids atomic additions. They are faster, but round in a different order each time. New handles allow
    /// them.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipblasSetAtomicsMode", "cublasSetAtomicsMode"))]
    pub fn set_atomics(&self, allowed: bool) -> Result<()> {
        self.handle.configure(|raw| {
            // SAFETY: a handle that is alive, and locked.
            let status = unsafe { raw::hipblasSetAtomicsMode(raw, allowed.into()) };
            check(status, "hipblasSetAtomicsMode", || format!("allowed: {allowed}"))
        })
    }

    /// Returns whether calls may use atomic additions.
    ///
    /// # Errors
    /// An error from the library.
    #[doc(alias("hipblasGetAtomicsMode", "cublasGetAtomicsMode"))]
    pub fn atomics(&self) -> Result<bool> {
        self.handle.configure(|raw| {
            let mut mode = 0;
            // SAFETY: a handle that is alive, and locked; it writes the mode.
            let status = unsafe { raw::hipblasGetAtomicsMode(raw, &mut mode) };
            check(status, "hipblasGetAtomicsMode", String::new)?;
            Ok(mode != 0)
        })
    }

    /// Sets how later calls may compute 32-bit products. Since ROCm 6.2.
    ///
    /// # Errors
    /// [`Error::NoSymbol`](crate::Error::NoSymbol) before ROCm 6.2.
    #[doc(alias("hipblasSetMathMode", "cublasSetMathMode"))]
    pub fn set_math_mode(&self, mode: MathMode) -> Result<()> {
        self.handle.configure(|raw| {
            // SAFETY: a handle that is alive, and locked.
            let status = unsafe { raw::hipblasSetMathMode(raw, (mode == MathMode::Xf32).into()) };
            check(status, "hipblasSetMathMode", || format!("{mode:?}"))
        })
    }
}
