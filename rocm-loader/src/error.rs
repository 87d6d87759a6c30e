//! Errors of finding a library, opening it and getting its functions.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::releases::{Abi, Releases};
use crate::report::{Reason, Report};

/// An error of this crate. It is cheap to clone, and carries the whole search (see [`Error::report`]).
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// The library was not found in any place searched.
    NotFound {
        /// Short name of the library.
        library: &'static str,
        /// The search.
        report: Arc<Report>,
    },
    /// The library was found, but cannot be used.
    Unusable {
        /// Short name of the library.
        library: &'static str,
        /// The path or soname.
        target: String,
        /// Why it cannot be used.
        reason: Reason,
        /// The search.
        report: Arc<Report>,
    },
    /// No library of ROCm has this short name.
    UnknownLibrary {
        /// The requested name.
        name: String,
        /// The most similar short name.
        meant: Option<&'static str>,
    },
    /// Several of the requested libraries are not available.
    Several {
        /// The error of each library.
        errors: Vec<Error>,
    },
    /// The library lacks a function.
    SymbolMissing {
        /// Short name of the library.
        library: &'static str,
        /// The function.
        symbol: String,
        /// The first release that has it.
        since: &'static str,
        /// The first release that no longer has it.
        before: Option<&'static str>,
        /// The file, or the provider that replaces it.
        found_in: String,
        /// The release found, if it is known: "ROCm 6.4.3".
        found: Option<Box<str>>,
    },
    /// The library has the function, but is of a release in which it has other parameters, or none of that name.
    OtherRelease {
        /// Short name of the library.
        library: &'static str,
        /// The function.
        symbol: String,
        /// The releases that it is declared for.
        declared_for: Releases,
        /// The file, or the provider that replaces it.
        found_in: String,
        /// The releases whose ABI the library has.
        found: Abi,
        /// The module of the `-sys` crate that has the function for these releases, such as `rocm_7_0`.
        module: Option<&'static str>,
    },
    /// A provider was set after the first function had been resolved.
    ProviderTooLate {
        /// Short name of the library.
        library: &'static str,
        /// The rejected provider.
        wanted: String,
        /// The library or provider in use.
        current: String,
    },
    /// A provider replaces the library, so no library is open.
    Provided {
        /// Short name of the library.
        library: &'static str,
        /// The provider.
        provider: String,
    },
    /// The process-wide search cannot be changed, because a library has been searched for already.
    SearchTooLate,
    /// A path is relative, but must be absolute.
    RelativePath {
        /// The path given.
        path: PathBuf,
    },
    /// The library is older than the API level that the program was built for.
    TooOld {
        /// Short name of the library.
        library: &'static str,
        /// The release found.
        found: String,
        /// The API level, major and minor.
        needed: (u32, u32),
    },
}

/// ROCm as a whole, and the libraries that `rocm-sdk install` always installs.
const ALWAYS: [&str; 5] = ["ROCm", "amd_comgr", "amdhip64", "hiprtc", "hsa-runtime64"];

/// Libraries that `rocm-sdk install` installs only if they are named.
const DEBIANS: [&str; 12] = [
    "hipblas",
    "hipblaslt",
    "hipfft",
    "hiprand",
    "hipsolver",
    "hipsparse",
    "rccl",
    "rocblas",
    "rocfft",
    "rocrand",
    "rocsolver",
    "rocsparse",
];

/// The same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { report, .. } | Self::Unusable { report, .. } => {
                write!(f, "{}.\nSearch for {report}", self.summary())
            }
            Self::UnknownLibrary { name, meant } => {
                write!(f, "{name} is not the short name of a library of ROCm")?;
                meant.map_or(Ok(()), |meant| write!(f, "; did you mean {meant}?"))
            }
            Self::Several { errors } => {
                let names: Vec<&str> = errors.iter().filter_map(Self::library).collect();
                write!(f, "{} libraries are not available: {}.", errors.len(), names.join(", "))?;
                errors.iter().try_for_each(|error| write!(f, "\n{error}"))
            }
            Self::SymbolMissing { symbol, since, before, found_in, found, .. } => write!(
                f,
                "{symbol} is missing from {found_in}{}: it needs ROCm {since} or newer{}",
                found.as_ref().map(|v| format!(" ({v})")).unwrap_or_default(),
                before.map(|v| format!(", and older than {v}")).unwrap_or_default()
            ),
            Self::OtherRelease { symbol, declared_for, found_in, found, module, .. } => {
                write!(f, "this is {symbol} of {declared_for}, but {found_in} is of {found}")?;
                match module {
                    Some(module) => write!(f, ": use {module}::{symbol}"),
                    None => write!(f, ", which does not declare it"),
                }
            }
            Self::ProviderTooLate { library, wanted, current } => write!(
                f,
                "{library}: provider {wanted} was set too late: {current} is in use; set the provider before the first call"
            ),
            Self::Provided { library, provider } => {
                write!(f, "{library} is provided by {provider}: no shared library is open")
            }
            Self::SearchTooLate => {
                write!(f, "the search for ROCm cannot be changed: a library has already been searched for")
            }
            Self::RelativePath { path } => write!(
                f,
                "{}: a relative path would depend on the current directory; give an absolute one",
                path.display()
            ),
            Self::TooOld { library, found, needed } => write!(
                f,
                "{library}: found {found}, but this program is built for ROCm {}.{}; install a newer ROCm or build with a lower rocm-* feature",
                needed.0, needed.1
            ),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Adds the release that dropped a missing function.
    pub(crate) fn before(mut self, dropped: Option<&'static str>) -> Self {
        if let Self::SymbolMissing { before, .. } = &mut self {
            *before = dropped;
        }
        self
    }

    /// Returns the short name of the library concerned, if there is one.
    pub fn library(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { library, .. }
            | Self::Unusable { library, .. }
            | Self::SymbolMissing { library, .. }
            | Self::OtherRelease { library, .. }
            | Self::ProviderTooLate { library, .. }
            | Self::Provided { library, .. }
            | Self::TooOld { library, .. } => Some(library),
            Self::UnknownLibrary { .. } | Self::Several { .. } | Self::SearchTooLate | Self::RelativePath { .. } => {
                None
            }
        }
    }

    /// Returns the text of the error without the list of the places that were searched: the reason, and what to do.
    pub fn summary(&self) -> String {
        match self {
            Self::NotFound { library, .. } => {
                let command = match library {
                    _ if ALWAYS.contains(library) => " (`rocm-sdk install 7.2`)".to_owned(),
                    _ if DEBIANS.contains(library) => format!(" (`rocm-sdk install 7.2 --with {library}`)"),
                    _ => String::new(),
                };
                format!("{library} was not found; install ROCm{command}, or set ROCM_PATH to an installation")
            }
            Self::Unusable { target, reason, .. } => format!("{target}: {reason}"),
            other => other.to_string(),
        }
    }

    /// Returns the text of the error with more advice, before the list of the places that were searched.
    pub fn with_advice(&self, advice: &str) -> String {
        let search = self.report().map_or_else(String::new, |report| format!("\nSearch for {report}"));
        format!("{}.\n{advice}{search}", self.summary())
    }

    /// Returns the search: every path tried, and why it was not used.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::NotFound { report, .. } | Self::Unusable { report, .. } => Some(report),
            _ => None,
        }
    }
}
