//! Statuses: the guard around every function, a thread's last error, names and descriptions.

use std::cell::Cell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use hip_sys::rocm_7_2::{hipError_t, hipErrorNotInitialized, hipErrorNotReady, hipSuccess};

use crate::fault::{self, Failure};

/// The result of a function of this crate before its conversion to a status.
pub(crate) type Outcome = Result<(), Refusal>;

/// Why a call was refused: the status, and for some a description.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: hipError_t,
    text: Option<String>,
}

impl From<hipError_t> for Refusal {
    fn from(status: hipError_t) -> Self {
        Self { status, text: None }
    }
}

impl From<&Failure> for Refusal {
    fn from(failure: &Failure) -> Self {
        Self { status: failure.status, text: Some(failure.text.clone()) }
    }
}

impl Refusal {
    pub(crate) fn new(status: hipError_t, text: impl Into<String>) -> Self {
        Self { status, text: Some(text.into()) }
    }

    /// Whether the call is refused with this status.
    pub(crate) fn is(&self, status: hipError_t) -> bool {
        self.status == status
    }
}

/// `Err(status)` unless `condition` holds.
pub(crate) fn ensure(condition: bool, status: hipError_t) -> Outcome {
    if condition { Ok(()) } else { Err(status.into()) }
}

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hipSuccess) };
}

/// Set in the child of a `fork`: the threads that run streams do not exist there, and locks may stay locked for ever.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Whether this is the child of a `fork`.
pub(crate) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Registers the `fork` handler, once.
#[cfg(unix)]
pub(crate) fn watch_fork() {
    extern "C" fn in_child() {
        FORKED.store(true, Ordering::Relaxed);
    }
    // SAFETY: `in_child` is a function of this program and does nothing that is forbidden after a fork.
    let registered = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    debug_assert_eq!(registered, 0);
}

/// This platform has no `fork`.
#[cfg(not(unix))]
pub(crate) fn watch_fork() {}

/// Runs the body of a HIP function: stops panics, and stores a failure as the thread's last error.
pub(crate) fn guard(body: impl FnOnce() -> Outcome) -> hipError_t {
    let status = unremembered(body);
    if status != hipSuccess && status != hipErrorNotReady {
        // During thread exit nothing can query it any more.
        let _ = LAST.try_with(|last| last.set(status));
    }
    status
}

/// As [`guard`], for functions that must not change the last error.
pub(crate) fn unremembered(body: impl FnOnce() -> Outcome) -> hipError_t {
    if is_forked() {
        return hipErrorNotInitialized;
    }
    let refusal = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return hipSuccess,
        Ok(Err(refusal)) => refusal,
        Err(panic) => Refusal::from(&Failure::from_panic(&*panic)),
    };
    if refusal.status != hipErrorNotReady {
        fault::tell(refusal.text);
    }
    refusal.status
}

/// The thread's last error; `clear` resets it to `hipSuccess`.
pub(crate) fn last_error(clear: bool) -> hipError_t {
    LAST.try_with(|last| if clear { last.replace(hipSuccess) } else { last.get() }).unwrap_or(hipSuccess)
}

macro_rules! descriptions {
    ($($name:ident = $code:literal: $text:literal,)*) => {
        /// The C name of a status.
        pub(crate) fn name(status: hipError_t) -> &'static CStr {
            match status.0 {
                $($code => const { c_str(concat!(stringify!($name), "\0")) },)*
                _ => c"hipErrorUnknown",
            }
        }

        /// The description of a status.
        pub(crate) fn description(status: hipError_t) -> &'static CStr {
            match status.0 {
                $($code => const { c_str(concat!($text, "\0")) },)*
                _ => c"unknown error",
            }
        }

        #[cfg(test)]
        const KNOWN: &[(&str, u32)] = &[$((stringify!($name), $code)),*];
    };
}

const fn c_str(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a NUL inside a literal"),
    }
}

descriptions! {
    hipSuccess = 0: "no error",
    hipErrorInvalidValue = 1: "invalid argument",
    hipErrorOutOfMemory = 2: "out of memory",
    hipErrorNotInitialized = 3: "initialization error",
    hipErrorDeinitialized = 4: "driver shutting down",
    hipErrorProfilerDisabled = 5: "profiler disabled while using external profiling tool",
    hipErrorProfilerNotInitialized = 6: "profiler is not initialized",
    hipErrorProfilerAlreadyStarted = 7: "profiler already started",
    hipErrorProfilerAlreadyStopped = 8: "profiler already stopped",
    hipErrorInvalidConfiguration = 9: "invalid configuration argument",
    hipErrorInvalidPitchValue = 12: "invalid pitch argument",
    hipErrorInvalidSymbol = 13: "invalid device symbol",
    hipErrorInvalidDevicePointer = 17: "invalid device pointer",
    hipErrorInvalidMemcpyDirection = 21: "invalid copy direction for memcpy",
    hipErrorInsufficientDriver = 35: "driver version is insufficient for runtime version",
    hipErrorMissingConfiguration = 52: "__global__ function call is not configured",
    hipErrorPriorLaunchFailure = 53: "unspecified launch failure in prior launch",
    hipErrorInvalidDeviceFunction = 98: "invalid device function",
    hipErrorNoDevice = 100: "no ROCm-capable device is detected",
    hipErrorInvalidDevice = 101: "invalid device ordinal",
    hipErrorInvalidImage = 200: "device kernel image is invalid",
    hipErrorInvalidContext = 201: "invalid device context",
    hipErrorContextAlreadyCurrent = 202: "context is already current context",
    hipErrorMapFailed = 205: "mapping of buffer object failed",
    hipErrorUnmapFailed = 206: "unmapping of buffer object failed",
    hipErrorArrayIsMapped = 207: "array is mapped",
    hipErrorAlreadyMapped = 208: "resource already mapped",
    hipErrorNoBinaryForGpu = 209: "no kernel image is available for execution on the device",
    hipErrorAlreadyAcquired = 210: "resource already acquired",
    hipErrorNotMapped = 211: "resource not mapped",
    hipErrorNotMappedAsArray = 212: "resource not mapped as array",
    hipErrorNotMappedAsPointer = 213: "resource not mapped as pointer",
    hipErrorECCNotCorrectable = 214: "uncorrectable ECC error encountered",
    hipErrorUnsupportedLimit = 215: "limit is not supported on this architecture",
    hipErrorContextAlreadyInUse = 216: "exclusive-thread device already in use by a different thread",
    hipErrorPeerAccessUnsupported = 217: "peer access is not supported between these two devices",
    hipErrorInvalidKernelFile = 218: "invalid kernel file",
    hipErrorInvalidGraphicsContext = 219: "invalid OpenGL or DirectX context",
    hipErrorInvalidSource = 300: "device kernel image is invalid",
    hipErrorFileNotFound = 301: "file not found",
    hipErrorSharedObjectSymbolNotFound = 302: "shared object symbol not found",
    hipErrorSharedObjectInitFailed = 303: "shared object initialization failed",
    hipErrorOperatingSystem = 304: "OS call failed or operation not supported on this OS",
    hipErrorInvalidHandle = 400: "invalid resource handle",
    hipErrorIllegalState = 401: "the operation cannot be performed in the present state",
    hipErrorNotFound = 500: "named symbol not found",
    hipErrorNotReady = 600: "device not ready",
    hipErrorIllegalAddress = 700: "an illegal memory access was encountered",
    hipErrorLaunchOutOfResources = 701: "too many resources requested for launch",
    hipErrorLaunchTimeOut = 702: "the launch timed out and was terminated",
    hipErrorPeerAccessAlreadyEnabled = 704: "peer access is already enabled",
    hipErrorPeerAccessNotEnabled = 705: "peer access has not been enabled",
    hipErrorSetOnActiveProcess = 708: "cannot set while device is active in this process",
    hipErrorContextIsDestroyed = 709: "context is destroyed",
    hipErrorAssert = 710: "device-side assert triggered",
    hipErrorHostMemoryAlreadyRegistered = 712: "part or all of the requested memory range is already mapped",
    hipErrorHostMemoryNotRegistered = 713: "pointer does not correspond to a registered memory region",
    hipErrorLaunchFailure = 719: "unspecified launch failure",
    hipErrorCooperativeLaunchTooLarge = 720: "too many blocks in cooperative launch",
    hipErrorNotSupported = 801: "operation not supported",
    hipErrorStreamCaptureUnsupported = 900: "operation not permitted when stream is capturing",
    hipErrorStreamCaptureInvalidated = 901: "operation failed due to a previous error during capture",
    hipErrorStreamCaptureMerge = 902: "operation would result in a merge of separate capture sequences",
    hipErrorStreamCaptureUnmatched = 903: "capture was not ended in the same stream as it began",
    hipErrorStreamCaptureUnjoined = 904: "capturing stream has unjoined work",
    hipErrorStreamCaptureIsolation = 905: "dependency created on uncaptured work in another stream",
    hipErrorStreamCaptureImplicit = 906: "operation would make the legacy stream depend on a capturing blocking stream",
    hipErrorCapturedEvent = 907: "operation not permitted on an event last recorded in a capturing stream",
    hipErrorStreamCaptureWrongThread = 908: "attempt to terminate a thread-local capture sequence from another thread",
    hipErrorGraphExecUpdateFailure = 910: "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update",
    hipErrorInvalidResourceType = 914: "invalid resource type",
    hipErrorInvalidResourceConfiguration = 915: "invalid resource configuration",
    hipErrorStreamDetached = 916: "stream is detached from its context",
    hipErrorUnknown = 999: "unknown error",
    hipErrorRuntimeMemory = 1052: "runtime memory call returned error",
    hipErrorRuntimeOther = 1053: "runtime call other than memory returned error",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_the_bindings() {
        for &(text, code) in KNOWN {
            assert_eq!(name(hipError_t(code)).to_str(), Ok(text));
        }
        assert_eq!(hip_sys::hipErrorNoBinaryForGpu.0, 209);
        assert_eq!(name(hipError_t(123_456)), c"hipErrorUnknown");
    }

    #[test]
    fn the_last_error_outlives_successes_and_not_ready_until_it_is_read() {
        assert_eq!(guard(|| Err(hip_sys::hipErrorInvalidValue.into())), hip_sys::hipErrorInvalidValue);
        assert_eq!(guard(|| Ok(())), hipSuccess);
        assert_eq!(guard(|| Err(hipErrorNotReady.into())), hipErrorNotReady);
        assert_eq!(last_error(false), hip_sys::hipErrorInvalidValue);
        assert_eq!(last_error(true), hip_sys::hipErrorInvalidValue);
        assert_eq!(last_error(true), hipSuccess);
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("oh")), hip_sys::hipErrorUnknown);
        assert!(fault::last_fault().is_some_and(|text| text.contains("oh")));
        last_error(true);
    }

    #[test]
    fn a_failure_without_a_story_does_not_get_an_older_one() {
        guard(|| Err(Refusal::new(hip_sys::hipErrorNotFound, "a story")));
        guard(|| Err(hipErrorNotReady.into()));
        assert_eq!(fault::last_fault().as_deref(), Some("a story"));
        guard(|| Err(hip_sys::hipErrorInvalidValue.into()));
        assert_eq!(fault::last_fault(), None);
        last_error(true);
    }
}
