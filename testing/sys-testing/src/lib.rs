//! The common tests of every `-sys` crate. They compare the bindings with C's headers ([`layout`]), with the functions
//! in AMD's own packages ([`functions`]), and with the exports of the real libraries ([`symbols`]), and check that a
//! missing library does not cause a panic ([`missing`]).
//!
//! A crate's test is one call of [`bindings!`] after its `mod generated;`.

mod coverage;
mod trees;

pub mod child;
pub mod forms;
pub mod functions;
pub mod inputs;
pub mod layout;
pub mod missing;
pub mod misuse;
pub mod symbols;

use std::ffi::c_void;

pub use coverage::{Binary, Bindings, Call, Changed, Declared, Row, covered};
pub use trees::{skipped, trees};

/// Name and address of each function.
#[macro_export]
macro_rules! addresses {
    ($($name:ident)*) => { vec![$((stringify!($name), $name as *const ())),*] };
}

/// Calls of functions, each with as many arguments as there are words in the parentheses.
#[macro_export]
macro_rules! changed {
    ($($name:ident($($zero:ident)*))*) => {
        vec![$((stringify!($name), (|| {
            $(let $zero = ();)*
            // SAFETY: if the variant does not fit the library, nothing is passed to it; otherwise the process exists only for this call.
            let answer = unsafe { $name($($crate::zero($zero)),*) };
            $crate::is_refusal(&answer)
        }) as fn() -> bool)),*]
    };
}

/// All bytes zero.
///
/// # Safety
/// The caller must ensure that this is a value of the type: of integers, pointers, and structs and unions of them.
pub unsafe fn zero<T>((): ()) -> T {
    // SAFETY: the caller's promise.
    unsafe { std::mem::MaybeUninit::zeroed().assume_init() }
}

/// Returns whether this is the result of a call that does not reach the library, because it has another variant of the
/// function or none.
pub fn is_refusal<T: rocm_loader::MissingValue + std::fmt::Debug>(answer: &T) -> bool {
    let refusals = [rocm_loader::Missing::Release, rocm_loader::Missing::Symbol].map(T::missing);
    refusals.iter().any(|refusal| format!("{answer:?}") == format!("{refusal:?}"))
}

/// Declares the tests of a `-sys` crate (or of one module of it):
///
/// ```ignore
/// mod generated; // the folder that `cargo xtask bindgen` writes
///
/// sys_testing::bindings! {
///     hiprand_sys, "hiprand", generated;
///     // A function that returns a status and can be called with nothing, and what it then answers.
///     hiprandGetVersion(std::ptr::null_mut()) => HIPRAND_STATUS_INTERNAL_ERROR, HIPRAND_STATUS_NOT_IMPLEMENTED;
/// }
/// ```
///
/// The two values: without the library, and with a library that lacks the function.
#[macro_export]
macro_rules! bindings {
    ($($krate:ident)::+, $name:literal, $generated:ident; $function:ident($($argument:expr),*) => $library:expr, $symbol:expr;) => {
        fn bindings() -> $crate::Bindings {
            use $($krate)::+ as bound;
            $crate::Bindings {
                name: $name,
                functions: &bound::coverage::FUNCTIONS,
                counts: &bound::coverage::COUNTS,
                forms: &bound::coverage::FORMS,
                not_exported: &bound::coverage::NOT_EXPORTED,
                declared: $generated::functions::functions(),
                exceptions: $generated::functions::EXCEPTIONS,
                binaries: $generated::functions::BINARIES,
            }
        }

        #[test]
        fn layout_and_constants_are_those_of_the_headers() {
            $crate::layout::compare(&bindings(), $generated::LAYOUTS);
        }

        #[test]
        fn every_function_of_every_level_is_witnessed() {
            $crate::functions::compare(&bindings());
        }

        #[test]
        fn the_table_is_what_the_modules_have() {
            $crate::functions::table(&bindings());
        }

        #[test]
        fn the_real_library_exports_what_is_declared() {
            $crate::symbols::compare(&bindings());
        }

        #[test]
        fn forms_are_called_in_libraries_of_their_releases_only() {
            use $($krate)::+ as bound;
            let path = concat!(module_path!(), "::forms_are_called_in_libraries_of_their_releases_only");
            $crate::forms::compare(&bindings(), &bound::BINDING, $generated::functions::changed(), path);
        }

        #[test]
        fn a_missing_library_is_a_status() {
            if $crate::child::run(concat!(module_path!(), "::a_missing_library_is_a_status")) {
                return;
            }
            use $($krate)::+::*;
            $crate::missing::no_library(&BINDING, || {
                // SAFETY: there is no library: nothing is read or written through the arguments.
                assert_eq!(unsafe { $function($($argument),*) }, $library);
            });
        }

        #[test]
        fn a_missing_function_is_a_status() {
            if $crate::child::run(concat!(module_path!(), "::a_missing_function_is_a_status")) {
                return;
            }
            use $($krate)::+::*;
            $crate::missing::no_function(&BINDING, stringify!($function), || {
                // SAFETY: the library has no function of that name: nothing is read or written through the arguments.
                assert_eq!(unsafe { $function($($argument),*) }, $symbol);
            }, symbol_error);
        }
    };
}

/// An address that is never read.
pub fn nowhere<T>() -> *mut T {
    std::ptr::null_mut::<c_void>().cast()
}
