//! Errors.

use std::fmt;
use std::path::PathBuf;

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the module [`clang`](crate::clang).
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No libclang was found.
    #[error(
        "libclang was not found: install libclang1 (Debian, Ubuntu), clang-libs (Fedora) or ROCm's rocm-llvm-dev, or set \
         LIBCLANG_PATH to the library"
    )]
    NotFound {
        /// Every path tried.
        report: String,
    },
    /// The library cannot be opened. Contains the search.
    #[error(transparent)]
    Open(#[from] rocm_loader::Error),
    /// The process already uses another libclang. There is one per process.
    #[error("{wanted} cannot be used: this process already uses {current}")]
    InUse {
        /// The library asked for.
        wanted: String,
        /// The library in use.
        current: String,
    },
    /// The library lacks a function.
    #[error("{function} is missing from {library}: use the libclang of LLVM 17 or newer")]
    MissingFunction {
        /// The function.
        function: &'static str,
        /// The library.
        library: String,
    },
    /// A string contains a NUL byte, which terminates C strings.
    #[error("{what} contains a null byte at {at}")]
    Null {
        /// The kind of string.
        what: &'static str,
        /// The position of the NUL byte.
        at: usize,
    },
    /// The source file does not exist or cannot be read.
    #[error("{} cannot be read: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's message.
        message: String,
    },
    /// libclang could not create a translation unit from the source.
    #[error("{name} cannot be parsed: {why} (arguments: {})", arguments.join(" "))]
    Parse {
        /// The source's name.
        name: String,
        /// The arguments.
        arguments: Vec<String>,
        /// The reason that libclang gives.
        why: &'static str,
    },
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_is_the_text() {
        assert_eq!(format!("{:?}", Error::Null { what: "a name", at: 3 }), "a name contains a null byte at 3");
    }
}
