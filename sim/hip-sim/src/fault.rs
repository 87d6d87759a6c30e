//! Descriptions of failures on the device.

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use hip_sys::rocm_7_2::hipError_t;

/// A command that failed: the status that HIP has for it, and the simulator's text.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) status: hipError_t,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: hipError_t, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// A panic inside the simulator: a bug of ours, reported as such.
    pub(crate) fn from_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default();
        Self::new(hip_sys::hipErrorUnknown, format!("the software GPU panicked (a bug in it): {text}"))
    }
}

static LATEST: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// `None` until a call of this thread has failed. Then the description of the last failed call, if it has one.
    static TOLD: RefCell<Option<Option<String>>> = const { RefCell::new(None) };
}

/// Stores the text of a failure that has just happened on the device.
pub(crate) fn remember(failure: &Failure) {
    *LATEST.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure.text.clone());
}

/// Stores the description, if any, of the status that this thread's call is about to return.
pub(crate) fn tell(text: Option<String>) {
    // During thread exit nothing can read it any more.
    let _ = TOLD.try_with(|told| *told.borrow_mut() = Some(text));
}

/// The description of the last failure: the kernel, instruction, lane and address, or why a code object was rejected.
///
/// HIP's status codes carry little detail. This describes the last failing status that a HIP function returned to the
/// calling thread, if it has a description. Before any such status, it describes the last failure of any kernel in the
/// process.
pub fn last_fault() -> Option<String> {
    let told = TOLD.try_with(|told| told.borrow().clone()).ok().flatten();
    told.unwrap_or_else(|| LATEST.lock().unwrap_or_else(PoisonError::into_inner).clone())
}
