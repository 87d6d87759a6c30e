//! Statuses of the HIP runtime.

use std::fmt;

/// A status of the HIP runtime (`hipError_t`), open to values that a newer runtime may add.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Status(pub u32);

impl Status {
    /// `hipSuccess`
    pub const SUCCESS: Self = Self(0);
    /// `hipErrorInvalidValue`
    pub const INVALID_VALUE: Self = Self(1);
    /// `hipErrorOutOfMemory`
    pub const OUT_OF_MEMORY: Self = Self(2);
    /// `hipErrorNotInitialized`
    pub const NOT_INITIALIZED: Self = Self(3);
    /// `hipErrorNoDevice`
    pub const NO_DEVICE: Self = Self(100);
    /// `hipErrorInvalidDevice`
    pub const INVALID_DEVICE: Self = Self(101);
    /// `hipErrorInvalidImage`
    pub const INVALID_IMAGE: Self = Self(200);
    /// `hipErrorNoBinaryForGpu`
    pub const NO_BINARY_FOR_GPU: Self = Self(209);
    /// `hipErrorSharedObjectSymbolNotFound`: also returned by a function that the loaded runtime lacks.
    pub const SYMBOL_NOT_FOUND: Self = Self(302);
    /// `hipErrorSharedObjectInitFailed`: also returned by every function if no HIP runtime was found.
    pub const LIBRARY_NOT_FOUND: Self = Self(303);
    /// `hipErrorInvalidHandle`
    pub const INVALID_HANDLE: Self = Self(400);
    /// `hipErrorNotFound`
    pub const NOT_FOUND: Self = Self(500);
    /// `hipErrorNotReady`
    pub const NOT_READY: Self = Self(600);
    /// `hipErrorIllegalAddress`
    pub const ILLEGAL_ADDRESS: Self = Self(700);
    /// `hipErrorLaunchTimeOut`
    pub const LAUNCH_TIMEOUT: Self = Self(702);
    /// `hipErrorAssert`
    pub const ASSERT: Self = Self(710);
    /// `hipErrorLaunchFailure`
    pub const LAUNCH_FAILURE: Self = Self(719);
    /// `hipErrorNotSupported`
    pub const NOT_SUPPORTED: Self = Self(801);
    /// `hipErrorUnknown`
    pub const UNKNOWN: Self = Self(999);
}

impl From<hip_sys::hipError_t> for Status {
    fn from(status: hip_sys::hipError_t) -> Self {
        Self(status.0)
    }
}

impl From<Status> for hip_sys::hipError_t {
    fn from(status: Status) -> Self {
        Self(status.0)
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Prints the name from the bindings, without a call into the runtime.
        write!(f, "{:?} ({})", hip_sys::hipError_t(self.0), self.0)
    }
}
