//! Converts functions of `sys` to functions that return a result.

/// Defines functions that call functions of [`sys`](crate::driver::sys): `name(arguments) = call`, or `name(arguments)
/// -> T = |out| call` if the call writes its result to `out`.
macro_rules! calls {
    () => {};
    (
        $(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $call:ident($($value:expr),* $(,)?);
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        ///
        /// # Errors
        #[doc = concat!("The status of `", stringify!($call), "`.")]
        ///
        /// # Safety
        #[doc = concat!("That of `", stringify!($call), "`: handles are alive, and memory is valid until the work is done.")]
        pub unsafe fn $name($($arg: $ty),*) -> Result<(), $crate::driver::DriverError> {
            // SAFETY: the caller's contract is that of the function called.
            unsafe { $crate::driver::sys::$call($($value),*) }.result()
        }
        calls! { $($rest)* }
    };
    (
        $(#[$meta:meta])* unsafe fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $out_ty:ty = |$out:ident| $call:ident($($value:expr),* $(,)?);
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        ///
        /// # Errors
        #[doc = concat!("The status of `", stringify!($call), "`.")]
        ///
        /// # Safety
        #[doc = concat!("That of `", stringify!($call), "`: handles are alive.")]
        pub unsafe fn $name($($arg: $ty),*) -> Result<$out_ty, $crate::driver::DriverError> {
            // SAFETY: the caller's contract is that of the function called, and `out` is valid for the write.
            $crate::driver::result::written(|$out| unsafe { $crate::driver::sys::$call($($value),*) })
        }
        calls! { $($rest)* }
    };
    (
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) = $call:ident($($value:expr),* $(,)?);
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        ///
        /// # Errors
        #[doc = concat!("The status of `", stringify!($call), "`.")]
        pub fn $name($($arg: $ty),*) -> Result<(), $crate::driver::DriverError> {
            // SAFETY: the function takes no handles and no memory.
            unsafe { $crate::driver::sys::$call($($value),*) }.result()
        }
        calls! { $($rest)* }
    };
    (
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $out_ty:ty = |$out:ident| $call:ident($($value:expr),* $(,)?);
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        ///
        /// # Errors
        #[doc = concat!("The status of `", stringify!($call), "`.")]
        pub fn $name($($arg: $ty),*) -> Result<$out_ty, $crate::driver::DriverError> {
            // SAFETY: the function takes no handles, and `out` is valid for the write.
            $crate::driver::result::written(|$out| unsafe { $crate::driver::sys::$call($($value),*) })
        }
        calls! { $($rest)* }
    };
}

pub(crate) use calls;
