//! Statuses: the translation of CUDA's, a thread's last error, and its description.

use std::cell::{Cell, RefCell};

use hip_sys::rocm_7_2::{
    hipError_t, hipErrorInvalidValue, hipErrorLaunchFailure, hipErrorNotReady, hipErrorUnknown, hipSuccess,
};

/// The result of a function of this crate before its conversion to a status.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a call failed: the status, and a description if there is more to say.
pub(crate) struct Failure {
    pub(crate) status: hipError_t,
    text: Option<String>,
}

impl From<hipError_t> for Failure {
    fn from(status: hipError_t) -> Self {
        Self { status, text: None }
    }
}

impl Failure {
    pub(crate) fn new(status: hipError_t, text: impl Into<String>) -> Self {
        Self { status, text: Some(text.into()) }
    }
}

/// `Err(status)` unless `condition` holds.
pub(crate) fn ensure(condition: bool, status: hipError_t) -> Outcome {
    if condition { Ok(()) } else { Err(status.into()) }
}

/// Returns HIP's status for one of CUDA. The numbers are the same where both have a status. CUDA has more statuses for
/// a kernel that has failed, which HIP reports as `hipErrorLaunchFailure`. Others without a counterpart are
/// `hipErrorUnknown`. The description keeps CUDA's status.
pub(crate) fn from_cuda(code: u32) -> hipError_t {
    match code {
        // Hardware stack error, illegal instruction, misaligned address, invalid address space, invalid program counter, leak of tensor
        // memory, exception of another process of a shared server.
        714..=718 | 721 | 226 => hipErrorLaunchFailure,
        // Invalid cluster size.
        912 => hipErrorInvalidValue,
        code if has_name(hipError_t(code)) => hipError_t(code),
        _ => hipErrorUnknown,
    }
}

/// Returns whether HIP has a name for the status.
pub(crate) fn has_name(status: hipError_t) -> bool {
    // A status without a name is `hipError_t(54321)`.
    !name(status).ends_with(')')
}

/// Returns the C name of a status, or its number if it has none.
pub(crate) fn name(status: hipError_t) -> String {
    format!("{status:?}")
}

thread_local! {
    static LAST: Cell<hipError_t> = const { Cell::new(hipSuccess) };
    static TEXT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the status of a call, and stores a failure as the thread's last error.
#[inline]
pub(crate) fn finish(outcome: Outcome) -> hipError_t {
    match outcome {
        Ok(()) => hipSuccess,
        Err(failure) => failed(failure),
    }
}

#[cold]
fn failed(failure: Failure) -> hipError_t {
    if failure.status != hipErrorNotReady {
        // During thread exit nothing can query it any more.
        let _ = LAST.try_with(|last| last.set(failure.status));
        let _ = TEXT.try_with(|text| *text.borrow_mut() = failure.text);
    }
    failure.status
}

/// Returns the thread's last error; `clear` resets it to `hipSuccess`.
pub(crate) fn last_error(clear: bool) -> hipError_t {
    LAST.try_with(|last| if clear { last.replace(hipSuccess) } else { last.get() }).unwrap_or(hipSuccess)
}

/// Returns the description of the last failed call of this thread: the function of the CUDA driver, and its status with
/// CUDA's name and text; for code that the driver's compiler rejects, its messages. `None` if there was no failure, or
/// if its HIP status says everything.
///
/// ```
/// // No HIP function was called in this thread.
/// assert_eq!(hip_nvidia::last_fault(), None);
/// ```
pub fn last_fault() -> Option<String> {
    TEXT.try_with(|text| text.borrow().clone()).ok().flatten()
}

impl Failure {
    /// Returns the description, if there is one.
    pub(crate) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the description, or the name of the status.
    pub(crate) fn into_text(self) -> String {
        self.text.unwrap_or_else(|| name(self.status))
    }
}
