//! The common form of the errors of library crates.

use std::fmt;

/// A failed call into a library, as the error types of library crates contain it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LibraryError {
    /// The library's usual name: `hipBLAS`.
    pub library: &'static str,
    /// The number of the status.
    pub status: i64,
    /// The name of the status: `HIPBLAS_STATUS_ALLOC_FAILED`.
    pub name: String,
    /// The library's description, if it has one.
    pub description: String,
    /// The C function.
    pub function: &'static str,
    /// The request: sizes, names, the device.
    pub asked: String,
}

impl LibraryError {
    /// Creates the error of a failed library function.
    #[must_use]
    pub fn new(library: &'static str, status: i64, name: String, function: &'static str, asked: String) -> Self {
        Self { library, status, name, description: String::new(), function, asked }
    }

    /// Adds the library's own description.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for LibraryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { library, status, name, description, function, asked } = self;
        write!(f, "{function} failed ({asked}): {name} ({status}) of {library}")?;
        if description.is_empty() || description == name { Ok(()) } else { write!(f, ": {description}") }
    }
}

impl std::error::Error for LibraryError {}

/// Defines the error type `Error` of a library crate, with `Result` and the function `check`, in a form common to all
/// library crates.
///
/// - `Error::Library`: the library returned a status ([`LibraryError`](crate::interop::LibraryError)).
/// - `Error::NoLibrary`: it could not be loaded, with every path that was tried.
/// - `Error::NoSymbol`: it lacks a function, with the release that added it.
/// - `Error::Invalid`: invalid input, found before the call: its name, its value, and the allowed values.
/// - `Error::Hip`: an error of `hip`.
///
/// `status` is the type of the library's statuses, an integer in a struct (`.0`) with `Debug`. `success`, `no_library`
/// and `no_symbol` are its values with these meanings. `load_error` and `symbol_error` are the functions of the `-sys`
/// crate that return the reasons.
///
/// ```
/// mod lib_sys {
/// #   #![allow(non_camel_case_types, non_upper_case_globals)]
/// #   use std::ffi::CStr;
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub struct libStatus_t(pub u32);
///     pub const libSuccess: libStatus_t = libStatus_t(0);
///     pub const libNotInitialized: libStatus_t = libStatus_t(1);
///     pub const libNotSupported: libStatus_t = libStatus_t(2);
///     // A -sys crate of this workspace has these two.
///     pub fn load_error() -> Option<String> { None }
///     pub fn symbol_error(_function: &CStr) -> Option<String> { None }
/// }
///
/// hip::library_error! {
///     library: "lib",
///     status: lib_sys::libStatus_t,
///     success: lib_sys::libSuccess,
///     no_library: lib_sys::libNotInitialized,
///     no_symbol: lib_sys::libNotSupported,
///     load_error: lib_sys::load_error,
///     symbol_error: lib_sys::symbol_error,
/// }
///
/// assert!(check(lib_sys::libSuccess, "libGemm", || unreachable!()).is_ok());
/// let error = check(lib_sys::libStatus_t(7), "libGemm", || "8 x 8".to_owned()).unwrap_err();
/// assert_eq!(error.to_string(), "libGemm failed (8 x 8): libStatus_t(7) (7) of lib");
/// assert_eq!(error.status(), Some(lib_sys::libStatus_t(7)));
/// ```
#[macro_export]
macro_rules! library_error {
    (
        library: $library:literal,
        status: $status:ty,
        success: $success:expr,
        no_library: $no_library:expr,
        no_symbol: $no_symbol:expr,
        load_error: $load_error:path,
        symbol_error: $symbol_error:path $(,)?
    ) => {
        /// The reason why a function of this crate failed. Arguments are checked before the C call wherever possible.
        #[derive(Clone)]
        #[non_exhaustive]
        pub enum Error {
            /// The library returned a status other than success.
            Library(::std::boxed::Box<$crate::interop::LibraryError>),
            /// The library could not be loaded.
            NoLibrary {
                /// Every path that was tried, and the result.
                report: ::std::string::String,
            },
            /// The library that was loaded lacks a function that was called.
            NoSymbol {
                /// The C function.
                function: &'static str,
                /// The library that was loaded, and the release that added the function.
                report: ::std::string::String,
            },
            /// Invalid input, found before the C call.
            Invalid {
                /// The name of the input.
                what: &'static str,
                /// Its value.
                value: ::std::string::String,
                /// The allowed values.
                allowed: ::std::string::String,
            },
            /// An error of `hip`: memory, streams, devices.
            Hip($crate::Error),
        }

        /// The result of nearly every function of this crate.
        pub type Result<T, E = Error> = ::std::result::Result<T, E>;

        impl Error {
            /// Returns the library's status, if it returned one.
            #[must_use]
            #[allow(clippy::unnecessary_cast, reason = "the integer differs from library to library")]
            pub fn status(&self) -> ::std::option::Option<$status> {
                match self {
                    Self::Library(error) => Some({
                        let mut status: $status = $success;
                        status.0 = error.status as _;
                        status
                    }),
                    Self::NoLibrary { .. } => Some($no_library),
                    Self::NoSymbol { .. } => Some($no_symbol),
                    _ => None,
                }
            }
        }

        /// Same as `Display`, because `unwrap` and a `main` that returns the error print it with `Debug`.
        impl ::std::fmt::Debug for Error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Display::fmt(self, f)
            }
        }

        impl ::std::fmt::Display for Error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    Self::Library(error) => error.fmt(f),
                    Self::NoLibrary { report } => write!(f, "{} could not be loaded: {report}", $library),
                    Self::NoSymbol { function, report } => {
                        write!(f, "{function} is not in the {} that was loaded: {report}", $library)
                    }
                    Self::Invalid { what, value, allowed } => write!(f, "{what} is {value}, but must be {allowed}"),
                    Self::Hip(error) => error.fmt(f),
                }
            }
        }

        impl ::std::error::Error for Error {
            fn source(&self) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                match self {
                    Self::Library(error) => Some(&**error),
                    Self::Hip(error) => Some(error),
                    _ => None,
                }
            }
        }

        impl ::std::convert::From<$crate::Error> for Error {
            fn from(error: $crate::Error) -> Self {
                Self::Hip(error)
            }
        }

        /// Returns `Ok` on success, else an error with the request. `asked` describes it, and is only called on
        /// failure.
        #[allow(dead_code, clippy::unnecessary_cast, reason = "not every crate calls it; the integer differs")]
        pub(crate) fn check(
            status: $status,
            function: &'static str,
            asked: impl FnOnce() -> ::std::string::String,
        ) -> Result<()> {
            if status.0 == $success.0 {
                return Ok(());
            }
            if status.0 == $no_library.0 {
                if let Some(report) = $load_error() {
                    return Err(Error::NoLibrary { report: report.to_string() });
                }
            }
            if status.0 == $no_symbol.0 {
                let name = ::std::ffi::CString::new(function).unwrap_or_default();
                if let Some(report) = $symbol_error(&name) {
                    return Err(Error::NoSymbol { function, report: report.to_string() });
                }
            }
            let name = format!("{status:?}");
            let error = $crate::interop::LibraryError::new($library, status.0 as i64, name, function, asked());
            Err(Error::Library(::std::boxed::Box::new(error)))
        }
    };
}

#[cfg(test)]
mod tests {
    mod lib_sys {
        use std::ffi::CStr;

        #[derive(Clone, Copy, Debug)]
        pub(super) struct Status(pub(super) u32);
        pub(super) const SUCCESS: Status = Status(0);
        pub(super) const NO_LIBRARY: Status = Status(1);
        pub(super) const NO_SYMBOL: Status = Status(2);

        pub(super) fn load_error() -> Option<String> {
            Some("libx.so was not found. Tried:\n   1. /nowhere".to_owned())
        }

        pub(super) fn symbol_error(_function: &CStr) -> Option<String> {
            Some("it is of release 7".to_owned())
        }
    }

    #[allow(unreachable_pub, reason = "the macro makes a public type")]
    mod lib {
        use super::lib_sys;

        crate::library_error! {
            library: "libx",
            status: lib_sys::Status,
            success: lib_sys::SUCCESS,
            no_library: lib_sys::NO_LIBRARY,
            no_symbol: lib_sys::NO_SYMBOL,
            load_error: lib_sys::load_error,
            symbol_error: lib_sys::symbol_error,
        }
    }

    /// `main` prints a returned error with `Debug`.
    #[test]
    fn a_main_that_returns_the_error_prints_its_text() {
        let failed = |status| lib::check(lib_sys::Status(status), "xGemm", || "8 x 8".to_owned()).unwrap_err();
        assert_eq!(failed(7).status().map(|status| status.0), Some(7));
        let invalid = lib::Error::Invalid { what: "n", value: "0".to_owned(), allowed: "positive".to_owned() };
        let errors = [
            (failed(1), "libx could not be loaded: libx.so was not found. Tried:\n   1. /nowhere"),
            (failed(2), "xGemm is not in the libx that was loaded: it is of release 7"),
            (failed(7), "xGemm failed (8 x 8): Status(7) (7) of libx"),
            (invalid, "n is 0, but must be positive"),
            (lib::Error::Hip(crate::Error::EventNotRecorded), "the event was never recorded on a stream"),
        ];
        for (error, expected) in errors {
            let boxed: Box<dyn std::error::Error> = error.into();
            assert_eq!((format!("{boxed:?}"), boxed.to_string()), (expected.to_owned(), expected.to_owned()));
        }
    }
}
