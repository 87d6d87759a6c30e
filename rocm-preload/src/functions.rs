//! Functions of the C library that take a path.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The address of a function, which keeps it in the library.
#[derive(Clone, Copy, Debug)]
pub struct Function(#[allow(dead_code, reason = "it is there to be linked")] pub *const c_void);

// SAFETY: the address of a function, which never changes.
unsafe impl Sync for Function {}

/// The return value of a failed function.
pub trait Failure {
    /// The value.
    const VALUE: Self;
}

impl Failure for c_int {
    const VALUE: Self = -1;
}

impl Failure for isize {
    const VALUE: Self = -1;
}

impl<T> Failure for *mut T {
    const VALUE: Self = null_mut();
}

/// Fails like a function that the C library lacks: sets `errno` to `ENOSYS`, and returns the value for a failure.
pub fn missing<T: Failure>() -> T {
    // SAFETY: points to this thread's error number.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    T::VALUE
}

/// Defines functions of the C library, and their list `ALL`. Each calls the real function, with another path if `LEAD`,
/// a function of the path, returns a [`Place`](crate::Place). `by` names another such function. `unless` may return the
/// result instead. `then` is executed with the result.
///
/// ```ignore
/// rocm_preload::functions! {
///     by LEAD;
///     /// Documentation.
///     fn name(before: T, [path], after: T) -> R, by LEAD, unless Option<R>, then |result| EXPRESSION;
/// }
/// ```
#[macro_export]
macro_rules! functions {
    (by $usual:path; $(
        $(#[$attribute:meta])*
        fn $name:ident($($before:ident: $before_type:ty,)* [$path:ident] $(, $after:ident: $after_type:ty)*) -> $result:ty
        $(, by $lead:path)? $(, unless $unless:expr)? $(, then |$value:ident| $then:expr)?;
    )*) => {
        $(
            $(#[$attribute])*
            ///
            /// # Safety
            /// As of the C library's function.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name(
                $($before: $before_type,)* $path: *const ::std::ffi::c_char $(, $after: $after_type)*
            ) -> $result {
                type Function = unsafe extern "C" fn(
                    $($before_type,)* *const ::std::ffi::c_char $(, $after_type)*
                ) -> $result;
                const NAME: &::std::ffi::CStr =
                    match ::std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => panic!("a name has no zero inside"),
                    };
                static REAL: $crate::Real = $crate::Real::new(NAME);
                $(
                    // SAFETY: the arguments are as the C library's function wants them.
                    if let Some(result) = unsafe { $unless } {
                        return result;
                    }
                )?
                let Some(real) = REAL.get() else { return $crate::missing() };
                // SAFETY: the C library's function of this name has this type.
                let real = unsafe { ::std::mem::transmute::<*mut ::std::ffi::c_void, Function>(real) };
                // SAFETY: the caller passes a C string, or null.
                let place = unsafe { $crate::functions!(@lead $usual $(, $lead)?)($path) };
                let path = place.as_ref().map_or($path, |place| place.as_ptr());
                // SAFETY: as the caller vouches; the path is the caller's or one of ours.
                let result = unsafe { real($($before,)* path $(, $after)*) };
                $(
                    let $value = result;
                    // SAFETY: the result that the C library's function returned for this call.
                    unsafe { $then };
                )?
                result
            }
        )*
        /// All functions of the list.
        pub(crate) const ALL: &[$crate::Function] = &[$($crate::Function($name as *const ::std::ffi::c_void)),*];
    };
    (@lead $usual:path) => { $usual };
    (@lead $usual:path, $lead:path) => { $lead };
}
