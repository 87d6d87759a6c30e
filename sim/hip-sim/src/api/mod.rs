//! The HIP functions, one file per chapter of the API.

pub(crate) mod array;
pub(crate) mod attribute;
pub(crate) mod batch;
pub(crate) mod capture;
pub(crate) mod copy;
pub(crate) mod device;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod execution_context;
#[cfg(target_os = "linux")]
pub(crate) mod external;
pub(crate) mod graph;
#[cfg(target_os = "linux")]
pub(crate) mod ipc;
pub(crate) mod launch;
pub(crate) mod library;
pub(crate) mod limit;
pub(crate) mod link;
pub(crate) mod managed;
pub(crate) mod memory;
pub(crate) mod memset;
pub(crate) mod mipmap;
pub(crate) mod module;
pub(crate) mod occupancy;
pub(crate) mod pool;
pub(crate) mod signal;
pub(crate) mod stream;
pub(crate) mod table;
pub(crate) mod texture;
pub(crate) mod virtual_memory;

use std::ffi::c_void;

use hip_sys::rocm_7_2::hipErrorInvalidValue;

use crate::status::{Outcome, ensure};

/// The address of a function of the table.
#[derive(Clone, Copy)]
pub(crate) struct Function(pub(crate) *const ());

// SAFETY: the address of a function: nothing is ever read or written through it.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

impl Function {
    pub(crate) fn address(self) -> *mut c_void {
        self.0.cast_mut().cast()
    }
}

/// Defines HIP functions and the `FUNCTIONS` list from which the provider's table is built. A body returns an
/// [`Outcome`]; it is an unsafe context, since its pointers come from C. The compiler checks each signature against the
/// bindings, except those after `since`, which the lowest API level lacks.
macro_rules! hip_functions {
    (
        $($(#[$attr:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*
        $(since: $($(#[$later_attr:meta])* fn $later:ident($($later_arg:ident: $later_ty:ty),* $(,)?) $later_body:block)*)?
    ) => {
        $($crate::api::hip_functions!(@one $(#[$attr])* $name($($arg: $ty),*) $body);)*
        $($($crate::api::hip_functions!(@one $(#[$later_attr])* $later($($later_arg: $later_ty),*) $later_body);)*)?

        const _: () = {
            $(let _: unsafe extern "C" fn($($ty),*) -> hip_sys::hipError_t = hip_sys::rocm_7_2::$name;)*
        };

        /// The functions of this file by name.
        pub(crate) const FUNCTIONS: &[(&str, $crate::api::Function)] = &[
            $((stringify!($name), $crate::api::Function($name as *const ())),)*
            $($((stringify!($later), $crate::api::Function($later as *const ())),)*)?
        ];
    };
    (@one $(#[$attr:meta])* $name:ident($($arg:ident: $ty:ty),*) $body:block) => {
        $(#[$attr])*
        #[allow(non_snake_case, clippy::too_many_arguments)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> hip_sys::hipError_t {
            $crate::status::guard(|| {
                // SAFETY: every pointer is null (which the bodies check) or valid for what HIP documents for the parameter; the caller of
                // an unsafe function vouches for it. Handles are looked up, never dereferenced.
                #[allow(unused_unsafe)]
                unsafe { $body }
            })
        }
    };
}
pub(crate) use hip_functions;

/// Writes a result to the caller's output pointer; refuses null.
///
/// # Safety
/// `to` must be null or valid for a write.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Outcome {
    ensure(!to.is_null(), hipErrorInvalidValue)?;
    // SAFETY: not null, hence valid, as the caller vouches.
    unsafe { to.write(value) };
    Ok(())
}

/// As [`put`], but does nothing if `to` is null.
///
/// # Safety
/// `to` must be null or valid for a write.
pub(crate) unsafe fn put_if_wanted<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not null, hence valid, as the caller vouches.
        unsafe { to.write(value) };
    }
}
