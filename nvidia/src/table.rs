//! The shape of the table of functions, and the macros that write it.

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

/// Some functions by name.
pub(crate) type Functions = &'static [(&'static str, Function)];

/// Defines HIP functions and the list `FUNCTIONS`. Each begins with its kind, which COVERAGE.md lists: `translated` (a
/// function of the driver with other parameters), or `emulated` (HIP's runtime does what the driver has no function
/// for). A body returns an [`Outcome`]; it is an unsafe context, since its pointers come from C. The compiler checks
/// each signature against the bindings.
macro_rules! hip_functions {
    (
        $($(#[$attr:meta])* $kind:ident fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $body:block)*
    ) => {
        $($crate::table::hip_functions!(@one $(#[$attr])* $kind $name($($arg: $ty),*) $body);)*

        const _: () = {
            $(let _: unsafe extern "C" fn($($ty),*) -> hip_sys::hipError_t = hip_sys::rocm_7_2::$name;)*
        };

        /// The functions of this file by name.
        pub(crate) const FUNCTIONS: $crate::table::Functions = &[
            $((stringify!($name), $crate::table::Function($name as *const ())),)*
        ];
    };
    (@one $(#[$attr:meta])* translated $name:ident($($arg:ident: $ty:ty),*) $body:block) => {
        $crate::table::hip_functions!(@define $(#[$attr])* $name($($arg: $ty),*) $body);
    };
    (@one $(#[$attr:meta])* emulated $name:ident($($arg:ident: $ty:ty),*) $body:block) => {
        $crate::table::hip_functions!(@define $(#[$attr])* $name($($arg: $ty),*) $body);
    };
    (@define $(#[$attr:meta])* $name:ident($($arg:ident: $ty:ty),*) $body:block) => {
        $(#[$attr])*
        #[allow(non_snake_case, clippy::too_many_arguments)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> hip_sys::hipError_t {
            let body = || -> $crate::status::Outcome {
                // SAFETY: every pointer is null (which the bodies check where they read or write) or valid for what HIP documents for
                // the parameter, and every handle is alive; the caller of an unsafe function vouches for it.
                #[allow(unused_unsafe)]
                unsafe { $body }
            };
            $crate::status::finish(body())
        }
    };
}
pub(crate) use hip_functions;

/// Defines HIP functions that have the parameters of their driver function: names of the driver in the order of
/// preference. `context` functions need a current context, `driver` functions only a started driver. The compiler
/// checks each signature against the bindings, except those after `since`.
macro_rules! forward_functions {
    (
        now { $($need:ident fn $name:ident($($arg:ident: $ty:ty),*) = $($cuda:literal)|+;)* }
        since { $($later_need:ident fn $later:ident($($later_arg:ident: $later_ty:ty),*) = $($later_cuda:literal)|+;)* }
    ) => {
        $($crate::table::forward_functions!(@one $need $name($($arg: $ty),*) $($cuda)|+);)*
        $($crate::table::forward_functions!(@one $later_need $later($($later_arg: $later_ty),*) $($later_cuda)|+);)*

        const _: () = {
            $(let _: unsafe extern "C" fn($($ty),*) -> hip_sys::hipError_t = hip_sys::rocm_7_2::$name;)*
        };

        /// The forwarded functions by name.
        pub(crate) const FUNCTIONS: $crate::table::Functions = &[
            $((stringify!($name), $crate::table::Function($name as *const ())),)*
            $((stringify!($later), $crate::table::Function($later as *const ())),)*
        ];
    };
    (@need context) => { $crate::context::enter().map(drop) };
    (@need driver) => { $crate::driver::start().map(drop) };
    (@one $need:ident $name:ident($($arg:ident: $ty:ty),*) $($cuda:literal)|+) => {
        #[allow(non_snake_case, clippy::too_many_arguments)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> hip_sys::hipError_t {
            static SYMBOL: $crate::driver::Symbol = $crate::driver::Symbol::new(&[$($cuda),+]);
            let body = || -> $crate::status::Outcome {
                $crate::table::forward_functions!(@need $need)?;
                let function = SYMBOL.get()?;
                // SAFETY: the generator has compared both parameter lists: they have the same ABI.
                let function = unsafe {
                    std::mem::transmute::<
                        std::ptr::NonNull<std::ffi::c_void>,
                        unsafe extern "C" fn($($ty),*) -> std::ffi::c_uint,
                    >(function)
                };
                // SAFETY: what HIP demands of the caller is what the driver demands: structures, enums and handles are the same.
                SYMBOL.check(unsafe { function($($arg),*) })
            };
            $crate::status::finish(body())
        }
    };
}
pub(crate) use forward_functions;

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

/// Returns the structure that a caller's pointer names; refuses null.
///
/// # Safety
/// `from` must be null or valid for reads while the result is used.
pub(crate) unsafe fn get<'a, T>(from: *const T) -> Outcome<&'a T> {
    // SAFETY: not null, hence valid, as the caller vouches.
    Ok(unsafe { from.as_ref() }.ok_or(hipErrorInvalidValue)?)
}
