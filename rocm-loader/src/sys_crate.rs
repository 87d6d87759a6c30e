//! The common parts of every `-sys` crate besides its functions: its binding, its API level, its enums.

/// Declares the part that every `-sys` crate has in common.
///
/// Write `rocm_loader::sys_crate!(rocm_loader::libraries::AMDHIP64);` next to the generated module `coverage`, in the crate
/// root or in a module. The crate has the features `rocm-5-7` to `rocm-10-0`. It declares
///
/// - `BINDING`, the [`Binding`](crate::Binding) to the library, `API_LEVEL` and `API_LEVEL_NAME`,
/// - `set_provider`, `load_error`, `has` and `symbol_error`.
#[macro_export]
macro_rules! sys_crate {
    ($spec:expr) => {
        pub use $crate::{Binding, Error, Missing, MissingValue, Provider};

        /// The binding of the functions: to the library, or to the provider that replaces it.
        pub static BINDING: Binding = Binding::new(&$spec);

        $crate::__api_level! {
            "5.7" (5, 7) if not(feature = "rocm-6-2");
            "6.2" (6, 2) if all(feature = "rocm-6-2", not(feature = "rocm-6-3"));
            "6.3" (6, 3) if all(feature = "rocm-6-3", not(feature = "rocm-6-4"));
            "6.4" (6, 4) if all(feature = "rocm-6-4", not(feature = "rocm-7-0"));
            "7.0" (7, 0) if all(feature = "rocm-7-0", not(feature = "rocm-7-1"));
            "7.1" (7, 1) if all(feature = "rocm-7-1", not(feature = "rocm-7-2"));
            "7.2" (7, 2) if all(feature = "rocm-7-2", not(feature = "rocm-10-0"));
            "10.0" (10, 0) if feature = "rocm-10-0";
        }

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

        /// Returns whether the function is available. Opens the library if it is not open yet; calls nothing.
        pub fn has(name: &::core::ffi::CStr) -> bool {
            BINDING.has(name)
        }

        /// Returns why the function is not available (library, paths tried, the first release that has it); `None` if
        /// it is.
        pub fn symbol_error(name: &::core::ffi::CStr) -> Option<Error> {
            $crate::__symbol_error(&BINDING, name, &coverage::FUNCTIONS)
        }
    };
}

/// The release whose interface is declared.
#[doc(hidden)]
#[macro_export]
macro_rules! __api_level {
    ($($name:literal $level:tt if $condition:meta;)*) => {$(
        /// The release whose interface is declared: major, minor.
        #[cfg($condition)]
        pub const API_LEVEL: (u32, u32) = $level;

        /// [`API_LEVEL`] as text, such as `"6.4"`.
        #[cfg($condition)]
        pub const API_LEVEL_NAME: &str = $name;
    )*};
}

/// A row of a `-sys` crate's table: function, the first release that has it, the first that has it no more.
type Row = (&'static str, &'static str, Option<&'static str>);

#[doc(hidden)]
pub fn __symbol_error(
    binding: &'static crate::Binding,
    name: &std::ffi::CStr,
    functions: &[Row],
) -> Option<crate::Error> {
    let row = |name: &str| functions.binary_search_by(|(other, ..)| (*other).cmp(name)).ok();
    let known = name.to_str().ok().and_then(row).map(|at| functions[at].1);
    binding.symbol_error(name, known.unwrap_or("an unknown release"))
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
/// it.
#[macro_export]
macro_rules! c_enum {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident: $integer:ty {
            $( $(#[$of:meta])* $constant:ident = $value:literal, )*
        }
        $(where #[cfg($condition:meta)])?
    ) => {
        $(#[$attribute])*
        $(#[cfg($condition)])?
        #[repr(transparent)]
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $integer);
        $( $(#[$of])* pub const $constant: $name = $name($value); )*
        $(#[cfg($condition)])?
        impl ::core::fmt::Debug for $name {
            #[allow(unreachable_code, unreachable_patterns, unused_doc_comments)]
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                let name = match self.0 {
                    $( $(#[$of])* $value => stringify!($constant), )*
                    other => return write!(f, concat!(stringify!($name), "({})"), other),
                };
                f.write_str(name)
            }
        }
    };
}
