//! Errors.

use std::path::PathBuf;

/// The result of this module's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the module [`clang`](crate::clang).
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The library was not found or cannot be opened; the search is in it.
    #[error(transparent)]
    Open(#[from] rocm_loader::Error),
    /// The process uses another libclang already: there is one a process.
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
    /// A text contains a null byte, which C's strings end at.
    #[error("{what} contains a null byte at {at}")]
    Null {
        /// The kind of text.
        what: &'static str,
        /// The place of the null byte.
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
    /// libclang made no translation unit of the source.
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
