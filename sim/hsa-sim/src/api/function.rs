//! What the functions have in common: their bodies return a `Result`, and none lets a panic out.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::{
    HSA_STATUS_ERROR, HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_INFO_BREAK, HSA_STATUS_SUCCESS, hsa_agent_t,
    hsa_status_t,
};
use crate::agent::AgentSet;
use crate::result::Result;
use crate::runtime::Runtime;

/// A function that the shared library exports.
#[derive(Clone, Copy, Debug)]
pub struct Export {
    /// Its name.
    pub name: &'static str,
    address: *const c_void,
}

// SAFETY: the address of a function, which nothing changes.
unsafe impl Sync for Export {}

/// Defines functions that return a status: the body is that of a closure that returns `Result<()>`.
macro_rules! functions {
    ($($(#[$attribute:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$attribute])*
            ///
            /// # Safety
            /// As HSA says: each pointer is null or valid for what the function does with it.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $crate::abi::hsa_status_t {
                $crate::api::function::guard(stringify!($name), move || $body)
            }
        )*
        pub(super) const FUNCTIONS: &[$crate::api::function::Export] = &[$($crate::api::function::export!($name)),*];
    };
}

/// An entry of a list of functions.
macro_rules! export {
    ($name:ident) => {
        $crate::api::function::Export::new(stringify!($name), $name as *const std::ffi::c_void)
    };
}

pub(super) use {export, functions};

impl Export {
    pub(super) const fn new(name: &'static str, address: *const c_void) -> Self {
        Self { name, address }
    }

    /// Its address.
    pub fn address(&self) -> *const c_void {
        self.address
    }
}

/// Runs a function's body; a panic becomes a status. Told of in the log, if one was asked for.
pub(super) fn guard(name: &'static str, body: impl FnOnce() -> Result<()>) -> hsa_status_t {
    crate::leaving::enter();
    let status = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => HSA_STATUS_SUCCESS,
        Ok(Err(status)) => status,
        Err(_) => HSA_STATUS_ERROR,
    };
    crate::log::call(name, status);
    status
}

/// Runs a function's body; what it gives when that fails or panics is `other`.
pub(super) fn guard_or<T>(other: T, body: impl FnOnce() -> Result<T>) -> T {
    crate::leaving::enter();
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) | Err(_) => other,
    }
}

/// Writes a result.
///
/// # Safety
/// `place` must be null or valid for the write.
pub(super) unsafe fn put<T, P>(place: *mut P, value: T) -> Result<()> {
    if place.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller vouches for it. Programs need not align what an untyped pointer points to.
    unsafe { place.cast::<T>().write_unaligned(value) };
    Ok(())
}

/// Writes bytes.
///
/// # Safety
/// `place` must be null or valid for the write.
pub(super) unsafe fn put_bytes<P>(place: *mut P, bytes: &[u8]) -> Result<()> {
    if place.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller vouches for it.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.cast::<u8>(), bytes.len()) };
    Ok(())
}

/// A text in a field of `N` bytes, the rest zero.
pub(super) fn field<const N: usize>(text: &str) -> [u8; N] {
    let mut out = [0; N];
    let len = text.len().min(N - 1);
    out[..len].copy_from_slice(&text.as_bytes()[..len]);
    out
}

/// A list that a pointer and a number say.
///
/// # Safety
/// `first` must be null or valid for reads of `count` values.
pub(super) unsafe fn list<T: Copy>(first: *const T, count: usize) -> Result<Vec<T>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || count > 1 << 20 {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller vouches for it.
    Ok((0..count).map(|n| unsafe { first.add(n).read_unaligned() }).collect())
}

/// A name.
///
/// # Safety
/// `text` must be null or a string that ends with a zero.
pub(super) unsafe fn name(text: *const c_char) -> Result<String> {
    if text.is_null() {
        return Err(HSA_STATUS_ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: not null, so the caller vouches for it.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map(str::to_owned).map_err(|_| HSA_STATUS_ERROR_INVALID_ARGUMENT)
}

/// The agents of a list.
///
/// # Safety
/// As of [`list`].
pub(super) unsafe fn agents(runtime: &Runtime, first: *const hsa_agent_t, count: usize) -> Result<AgentSet> {
    // SAFETY: as the caller vouches.
    let handles = unsafe { list(first, count) }?;
    handles.into_iter().try_fold(AgentSet::default(), |set, handle| Ok(set.with(runtime.agents.get(handle)?)))
}

/// Calls the program for each item until it says to stop, whose status is then the result.
pub(super) fn each<T>(items: impl IntoIterator<Item = T>, mut call: impl FnMut(T) -> hsa_status_t) -> Result<()> {
    for item in items {
        match call(item) {
            HSA_STATUS_SUCCESS => {}
            status @ HSA_STATUS_INFO_BREAK => return Err(status),
            status => return Err(status),
        }
    }
    Ok(())
}

/// The agents that may use what none were named for: all.
pub(super) fn all_agents(runtime: &Runtime) -> AgentSet {
    runtime.agents.ids().collect()
}
