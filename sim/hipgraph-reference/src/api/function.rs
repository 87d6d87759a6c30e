//! What the functions have in common: their table, objects behind C's pointers, and errors.

use std::any::Any;
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use hipgraph_sys::*;

use crate::graph::{Failure, FailureKind, Result, invalid};

/// The address of a function.
#[derive(Clone, Copy)]
pub(crate) struct Function(pub(super) *const ());

// SAFETY: the address of a function: nothing is ever read or written through it.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn address(self) -> *mut c_void {
        self.0.cast_mut().cast()
    }
}

/// The functions of a file by name. The compiler checks each signature against the bindings'.
macro_rules! functions {
    ($($name:ident),* $(,)?) => {
        pub(super) const FUNCTIONS: &[(&str, $crate::api::function::Function)] = &[
            $((stringify!($name), $crate::api::function::Function({
                let both = [hipgraph_sys::$name, $name];
                both[1] as *const ()
            }))),*
        ];
    };
}
pub(super) use functions;

/// What `hipgraph_error_t` is here.
pub(super) struct ErrorObject {
    pub(super) message: CString,
}

/// What an object of C's is here: a box with a value of some type, behind C's pointer.
pub(super) struct Object(Box<dyn Any>);

/// Puts a value behind a pointer of C's.
pub(super) fn give<C>(value: impl Any) -> *mut C {
    Box::into_raw(Box::new(Object(Box::new(value)))).cast()
}

/// Frees what [`give`] made.
///
/// # Safety
/// `pointer` is null or from [`give`], and is not used again.
pub(super) unsafe fn take<C>(pointer: *mut C) {
    if !pointer.is_null() {
        // SAFETY: made by `give`, as the caller ensures.
        drop(unsafe { Box::from_raw(pointer.cast::<Object>()) });
    }
}

/// The value behind a pointer of C's.
///
/// # Safety
/// `pointer` is null or from [`give`], and alive for `'a`.
pub(super) unsafe fn at<'a, T: Any, C>(pointer: *const C, what: &str) -> Result<&'a T> {
    if pointer.is_null() {
        return Err(invalid(format!("the {what} is null")));
    }
    // SAFETY: made by `give`, as the caller ensures.
    let object = unsafe { &*pointer.cast::<Object>() };
    object.0.downcast_ref().ok_or_else(|| invalid(format!("what is passed as the {what} is another object")))
}

/// [`at`] for a pointer that may be null.
///
/// # Safety
/// As [`at`].
pub(super) unsafe fn at_or_null<'a, T: Any, C>(pointer: *const C, what: &str) -> Result<Option<&'a T>> {
    // SAFETY: as the caller ensures.
    if pointer.is_null() { Ok(None) } else { unsafe { at(pointer, what) }.map(Some) }
}

/// Runs the body of a function: hands its object out, or the error.
///
/// # Safety
/// `result` and `error` are null or valid for writes.
pub(super) unsafe fn run<C, T: Any>(
    result: *mut *mut C,
    error: *mut *mut hipgraph_error_t,
    body: impl FnOnce() -> Result<T>,
) -> hipgraph_error_code_t {
    // SAFETY: as the caller ensures.
    unsafe {
        guard(error, || {
            if result.is_null() {
                return Err(invalid("the place of the result is null"));
            }
            *result = std::ptr::null_mut();
            *result = give(body()?);
            Ok(())
        })
    }
}

/// Runs the body of a function without an object.
///
/// # Safety
/// `error` is null or valid for writes.
pub(super) unsafe fn guard(
    error: *mut *mut hipgraph_error_t,
    body: impl FnOnce() -> Result<()>,
) -> hipgraph_error_code_t {
    if !error.is_null() {
        // SAFETY: as the caller ensures.
        unsafe { *error = std::ptr::null_mut() };
    }
    let failure = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return HIPGRAPH_SUCCESS,
        Ok(Err(failure)) => failure,
        Err(_) => Failure {
            kind: FailureKind::NotConverged,
            message: "the reference engine panicked: this is a bug of hipgraph-reference".to_owned(),
        },
    };
    if !error.is_null() {
        let message = CString::new(failure.message.replace('\0', " ")).unwrap_or_default();
        // SAFETY: as the caller ensures.
        unsafe { *error = give(ErrorObject { message }) };
    }
    match failure.kind {
        FailureKind::Input => HIPGRAPH_INVALID_INPUT,
        FailureKind::NotConverged => HIPGRAPH_UNKNOWN_ERROR,
        FailureKind::NotImplemented => HIPGRAPH_NOT_IMPLEMENTED,
        FailureKind::Memory => HIPGRAPH_ALLOC_ERROR,
        FailureKind::Types => HIPGRAPH_UNSUPPORTED_TYPE_COMBINATION,
    }
}

/// Defines functions that end with `result` and `error`, and the `FUNCTIONS` of a file, to which `also` adds others. A body
/// is an unsafe context, since its pointers come from C, and returns what the result's object holds.
macro_rules! algorithms {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $result:ident $body:block)* also: $($other:ident),* $(,)?) => {
        $(#[allow(clippy::too_many_arguments, reason = "the function is C's")]
        unsafe extern "C" fn $name(
            $($arg: $ty,)*
            result: *mut *mut hipgraph_sys::$result,
            error: *mut *mut hipgraph_sys::hipgraph_error_t,
        ) -> hipgraph_sys::hipgraph_error_code_t {
            // SAFETY: the pointers are C's, which its interface demands to be null or valid.
            unsafe { $crate::api::function::run(result, error, || $body) }
        })*
        $crate::api::function::functions! { $($name,)* $($other,)* }
    };
}
pub(super) use algorithms;
