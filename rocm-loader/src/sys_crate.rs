//! The common parts of every `-sys` crate besides its functions: its binding, its API levels, its enums.

use std::ffi::CStr;

use crate::error::Error;
use crate::releases::Releases;

/// Declares the part that every `-sys` crate has in common.
///
/// Write `rocm_loader::sys_crate!(rocm_loader::libraries::AMDHIP64);` next to the generated module `coverage`, in the
/// crate root or in a module. It declares
///
/// - `BINDING`, the [`Binding`](crate::Binding) to the library,
/// - `set_provider`, `load_error`, `has` and `symbol_error`.
#[macro_export]
macro_rules! sys_crate {
    ($spec:expr) => {
        pub use $crate::{Binding, Error, Missing, MissingValue, Provider};

        /// The binding of the functions: to the library, or to the provider that replaces it.
        pub static BINDING: Binding = Binding::new(&$spec);

        /// Replaces the library by `provider`, such as a simulator, for the whole process.
        ///
        /// # Errors
        /// If a function was called or queried before, or if another provider is set.
        pub fn set_provider(provider: &'static dyn Provider) -> Result<(), Error> {
            BINDING.set_provider(provider)
        }

        /// Returns why the library cannot be used, with every path tried; `None` if it can. Opens it if it is not open
        /// yet.
        pub fn load_error() -> Option<&'static Error> {
            BINDING.check().err()
        }

        /// Returns whether the library has a function of this name. Opens the library if it is not open yet; calls
        /// nothing. For a function that differs between releases, ask the module of a level.
        pub fn has(name: &::core::ffi::CStr) -> bool {
            BINDING.has(name)
        }

        /// Returns why the function is not available (library, paths tried, the first release that has it); `None` if
        /// it is. For a function that differs between releases, the answer is about the form that was called and did
        /// not fit the library.
        pub fn symbol_error(name: &::core::ffi::CStr) -> Option<Error> {
            $crate::__symbol_error(&BINDING, name, None, &coverage::FUNCTIONS, &coverage::FORMS)
        }
    };
}

/// Declares the part that every module of a `-sys` crate for one ROCm release has in common.
#[doc(hidden)]
#[macro_export]
macro_rules! sys_level {
    ($($scope:ident)::+, $level:tt, $name:literal) => {
        #[doc(no_inline)]
        pub use $($scope)::+::{BINDING, Binding, Error, Missing, MissingValue, Provider, load_error, set_provider};

        /// The release whose interface this module declares: major, minor.
        pub const API_LEVEL: (u32, u32) = $level;

        /// [`API_LEVEL`] as text, such as `"6.4"`.
        pub const API_LEVEL_NAME: &str = $name;

        /// Returns whether this module has the function, the library has it too, and its ABI is that of this module.
        /// Opens the library if it is not open yet; calls nothing.
        pub fn has(name: &::core::ffi::CStr) -> bool {
            symbol_error(name).is_none() && BINDING.has(name)
        }

        /// Returns why this module's function is not available (library, paths tried, the releases that have it);
        /// `None` if it is.
        pub fn symbol_error(name: &::core::ffi::CStr) -> Option<Error> {
            use $($scope)::+::coverage;
            $crate::__symbol_error(&BINDING, name, Some(API_LEVEL), &coverage::FUNCTIONS, &coverage::FORMS)
        }
    };
}

/// A row of a `-sys` crate's table: function, first release that has it, first release that no longer has it.
type Row = (&'static str, &'static str, Option<&'static str>);

/// Functions that differ between levels: the module of the first level that has this form, the first and the last
/// level, the releases whose ABI it has, and the names in alphabetical order.
pub type Form = (&'static str, (u32, u32), (u32, u32), Releases, &'static [&'static str]);

#[doc(hidden)]
pub fn __symbol_error(
    binding: &'static crate::Binding,
    name: &CStr,
    level: Option<(u32, u32)>,
    functions: &[Row],
    forms: &[Form],
) -> Option<Error> {
    let text = name.to_str().unwrap_or_default();
    let row = functions.binary_search_by(|(other, ..)| (*other).cmp(text)).ok().map(|at| functions[at]);
    let forms: Vec<&Form> = forms.iter().filter(|form| form.4.binary_search(&text).is_ok()).collect();
    if let Some(error) = binding.symbol_error(name, row.map_or("an unknown release", |row| row.1)) {
        let dropped = row.and_then(|row| row.2);
        return Some(error.before(dropped));
    }
    // The form of the level, or the one that was called.
    let called =
        || binding.missing_symbols().into_iter().find(|called| called.name == text).map(|called| called.releases);
    let (declared_for, at_level) = match level {
        Some(level) => {
            let form = forms.iter().find(|form| form.1 <= level && level <= form.2);
            (form.map(|form| form.3), form.is_some() || forms.is_empty())
        }
        None => (called(), true),
    };
    let declared_for = match (declared_for, at_level) {
        (Some(releases), _) => releases,
        (None, true) => return None,
        // The module of this level has no form of the function.
        (None, false) => forms.first()?.3,
    };
    let found = binding.abi()?;
    if at_level && declared_for.contain(found) {
        return None;
    }
    Some(Error::OtherRelease {
        library: binding.spec().name(),
        symbol: text.to_owned(),
        declared_for,
        found_in: binding.describe(),
        found,
        module: forms.iter().find(|form| form.3.contain(found)).map(|form| form.0),
    })
}

/// Declares a C enum: a newtype over its integer, its constants, and a `Debug` that prints their names.
///
/// ```
/// rocm_loader::c_enum! {
///     /// Result of a call.
///     pub enum result_t: u32 {
///         /// It worked.
///         RESULT_OK = 0,
///         RESULT_FINE = 0,
///         RESULT_BAD = 1,
///     }
/// }
/// # fn main() {
/// assert_eq!(format!("{RESULT_FINE:?} {:?}", result_t(7)), "RESULT_OK result_t(7)");
/// # }
/// ```
///
/// If two constants have the same value, the first name is printed. A value without a constant is valid: C may return
/// it. After the constants, `also { VALUE => NAME, .. }` lists names for printing that are declared elsewhere, with
/// [`c_constants!`](crate::c_constants).
#[macro_export]
macro_rules! c_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident: $integer:ty {
            $( $(#[$of:meta])* $constant:ident = $value:literal, )*
        }
        $(also { $( $other:literal => $text:ident, )* })?
    ) => {
        $(#[$attribute])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $integer);
        $( $(#[$of])* pub const $constant: $name = $name($value); )*
        impl ::core::fmt::Debug for $name {
            #[allow(unreachable_code, unreachable_patterns)]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let name = match self.0 {
                    $( $value => stringify!($constant), )*
                    $($( $other => stringify!($text), )*)?
                    other => return write!(f, concat!(stringify!($name), "({})"), other),
                };
                f.write_str(name)
            }
        }
    };
}

/// Declares constants of a C enum that [`c_enum!`](crate::c_enum) declares elsewhere.
///
/// ```
/// rocm_loader::c_enum! {
///     pub enum result_t: u32 {
///         RESULT_OK = 0,
///     }
///     also { 1 => RESULT_BAD, }
/// }
/// rocm_loader::c_constants! {
///     result_t:
///     /// It did not work.
///     RESULT_BAD = 1,
/// }
/// # fn main() {
/// assert_eq!(format!("{RESULT_BAD:?}"), "RESULT_BAD");
/// # }
/// ```
#[macro_export]
macro_rules! c_constants {
    ($name:ident: $( $(#[$of:meta])* $constant:ident = $value:literal, )*) => {
        $( $(#[$of])* pub const $constant: $name = $name($value); )*
    };
}
