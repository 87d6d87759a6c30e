//! What the tests of every `-sys` crate have in common: the bindings are held to C's headers ([`layout`]), to the
//! functions that AMD's own packages have ([`functions`]), to what the real libraries export ([`symbols`]), and to
//! their promise that a missing library is no panic ([`missing`]).
//!
//! A crate's test is one call of [`bindings!`] beside its `mod generated;`.

use std::ffi::c_void;
use std::path::{Path, PathBuf};

pub mod child;
pub mod forms;
pub mod functions;
pub mod inputs;
pub mod layout;
pub mod missing;
pub mod misuse;
pub mod symbols;

/// A row of a crate's table: function, the first release that has it, the first that has it no more.
pub type Row = (&'static str, &'static str, Option<&'static str>);

/// A real library: level, fetched tree, file.
pub type Binary = ((u32, u32), &'static str, &'static str);

/// The functions that a crate has at a level, with their addresses.
pub type Declared = ((u32, u32), Vec<(&'static str, *const ())>);

/// The form of functions that a module has and that is not the same at every level, with calls: the first level, and for each
/// function whether a call with zeros for arguments is refused. A form that fits the library is called in a process of its
/// own, which the library may end: C allows no null pointers in many places.
pub type Changed = ((u32, u32), Vec<Call>);

/// A function and its call.
pub type Call = (&'static str, fn() -> bool);

/// What a crate says of its bindings.
pub struct Bindings {
    /// The library's name in `api/presence.tsv`.
    pub name: &'static str,
    /// `coverage::FUNCTIONS`.
    pub functions: &'static [Row],
    /// `coverage::COUNTS`.
    pub counts: &'static [(u32, u32, usize)],
    /// `coverage::FORMS`.
    pub forms: &'static [rocm_loader::Form],
    /// `coverage::NOT_EXPORTED`.
    pub not_exported: &'static [(&'static str, &'static [&'static str])],
    /// The functions of each level that the crate has by its features.
    pub declared: Vec<Declared>,
    /// Functions in which the crate and AMD's packages differ, and why.
    pub exceptions: &'static [(&'static str, &'static str)],
    /// The real libraries.
    pub binaries: &'static [Binary],
}

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
            // SAFETY: if the form does not fit the library, nothing is passed to it; else the process is there for this call.
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

/// Whether this is what a call returns that does not reach the library, which has another form or none.
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

/// Where `cargo xtask rocm fetch` unpacks: `ROCM_RS_TREES`, else `target/rocm` of the workspace.
pub fn trees() -> PathBuf {
    let folder = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"))
}

/// Says so past the test harness, which keeps the output of tests that pass to itself.
pub fn skipped(why: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stdout().write_all(format!("SKIPPED: {why}\n").as_bytes());
}

/// `(6, 4)` of `6.4`.
pub(crate) fn level(text: &str) -> (u32, u32) {
    let (major, minor) = text.split_once('.').expect("MAJOR.MINOR");
    (major.parse().expect("a number"), minor.parse().expect("a number"))
}

/// The functions of a level, by the table in the crate.
pub fn covered(functions: &[Row], at: (u32, u32)) -> std::collections::BTreeSet<&'static str> {
    let there =
        functions.iter().filter(|(_, first, gone)| level(first) <= at && gone.is_none_or(|gone| at < level(gone)));
    there.map(|(name, ..)| *name).collect()
}

/// An address that is never read.
pub fn nowhere<T>() -> *mut T {
    std::ptr::null_mut::<c_void>().cast()
}
