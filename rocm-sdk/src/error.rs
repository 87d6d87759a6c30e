//! What can go wrong while a library is found, opened and asked for its functions.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

#[cfg(feature = "installation")]
use crate::family::DetectedGpus;
#[cfg(feature = "installation")]
use crate::initialize::VersionMismatch;
use crate::report::{Reason, Report};

/// An error of this crate. Cheap to clone; searches are carried whole (see [`Error::report`]).
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// No place that was looked at has the library.
    NotFound {
        /// Short name of the library.
        library: &'static str,
        /// The search.
        report: Arc<Report>,
    },
    /// The library is there and cannot be used.
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
        /// The name asked for.
        name: String,
        /// The short name that it looks like.
        meant: Option<&'static str>,
    },
    /// More than one of the libraries asked for could not be had.
    Several {
        /// Why, library by library.
        errors: Vec<Error>,
    },
    /// The library lacks a function.
    SymbolMissing {
        /// Short name of the library.
        library: &'static str,
        /// The function.
        symbol: String,
        /// The first release that has it.
        since: String,
        /// The file, or the provider in its place.
        found_in: String,
        /// The release found, where it says: "ROCm 6.4.3".
        found: Option<String>,
    },
    /// A provider was set after the first function had been resolved.
    ProviderTooLate {
        /// Short name of the library.
        library: &'static str,
        /// The provider that was to be set.
        wanted: String,
        /// What is in use instead.
        current: String,
    },
    /// A provider stands in for the library, so no library is open.
    Provided {
        /// Short name of the library.
        library: &'static str,
        /// The provider.
        provider: String,
    },
    /// The process-wide search was to be changed after a library had been opened by it.
    SearchTooLate,
    /// A relative path was given where it must be absolute.
    RelativePath {
        /// The path given.
        path: PathBuf,
    },
    /// There is an installation, and nothing in it tells its release.
    NoRelease {
        /// Its root.
        root: PathBuf,
    },
    /// The installation is of another release than the one that the program asks for.
    #[cfg(feature = "installation")]
    VersionMismatch {
        /// What was asked for and what there is.
        mismatch: Box<VersionMismatch>,
    },
    /// A library that a variable names for preloading cannot be had.
    PreloadVariable {
        /// The variable.
        variable: &'static str,
        /// What it says.
        value: String,
        /// Why the library cannot be had.
        error: Box<Error>,
    },
    /// A variable names a target family that the distribution does not have.
    UnknownFamily {
        /// The family.
        family: String,
        /// The variable.
        variable: &'static str,
        /// The families that it has.
        available: Vec<String>,
    },
    /// Neither a variable nor a GPU nor a default tells the target family.
    #[cfg(feature = "installation")]
    NoFamily {
        /// The GPUs that were found, and what did not answer.
        gpus: Box<DetectedGpus>,
        /// The families that the distribution has; empty if that is not known.
        available: Vec<String>,
    },
    /// What a distribution says of itself cannot be understood (feature `distribution`).
    Distribution {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The library is older than the API level that the program was built for.
    TooOld {
        /// Short name of the library.
        library: &'static str,
        /// What was found.
        found: String,
        /// The API level, major and minor.
        needed: (u32, u32),
    },
}

/// As [`Display`](fmt::Display): a program whose `main` returns the error prints it this way, and so does `unwrap`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound { library, report } => write!(
                f,
                "{library} was not found; install ROCm, or set ROCM_PATH to an installation. Search for {report}"
            ),
            Self::Unusable { target, reason, report, .. } => write!(f, "{target}: {reason}. Search for {report}"),
            Self::UnknownLibrary { name, meant } => {
                write!(f, "{name} is not the short name of a library of ROCm")?;
                meant.map_or(Ok(()), |meant| write!(f, "; is {meant} meant?"))
            }
            Self::Several { errors } => {
                let names: Vec<&str> = errors.iter().filter_map(Self::library).collect();
                write!(f, "{} libraries cannot be had: {}.", errors.len(), names.join(", "))?;
                errors.iter().try_for_each(|error| write!(f, "\n{error}"))
            }
            Self::SymbolMissing { symbol, since, found_in, found, .. } => write!(
                f,
                "{symbol} is missing from {found_in}{}: it needs ROCm {since} or newer",
                found.as_ref().map(|v| format!(" ({v})")).unwrap_or_default()
            ),
            Self::ProviderTooLate { library, wanted, current } => write!(
                f,
                "{library}: provider {wanted} comes too late, {current} is in use; set it before the first call"
            ),
            Self::Provided { library, provider } => {
                write!(f, "{library} is provided by {provider}: there is no shared library behind it")
            }
            Self::SearchTooLate => {
                write!(f, "the search for ROCm cannot be changed any more: a library has been looked for already")
            }
            Self::RelativePath { path } => write!(
                f,
                "{}: a relative path would depend on the current directory; give an absolute one",
                path.display()
            ),
            Self::NoRelease { root } => write!(
                f,
                "the ROCm at {} does not say which release it is: it has neither .info/version nor a numbered HIP library",
                root.display()
            ),
            #[cfg(feature = "installation")]
            Self::VersionMismatch { mismatch } => mismatch.fmt(f),
            Self::PreloadVariable { variable, value, error } => {
                write!(f, "{variable}={value}: {error}\nUnset {variable} if it is not needed.")
            }
            Self::UnknownFamily { family, variable, available } => {
                write!(f, "{variable}={family}: the distribution does not have it; it has {}", available.join(", "))
            }
            #[cfg(feature = "installation")]
            Self::NoFamily { gpus, available } => {
                f.write_str("no target family: ")?;
                match &gpus.targets[..] {
                    [] => f.write_str("no GPU was found")?,
                    targets => {
                        let names: Vec<&str> = targets.iter().map(|t| &*t.name).collect();
                        write!(f, "the distribution has none for {}", names.join(", "))?;
                    }
                }
                f.write_str("; set ROCM_SDK_TARGET_FAMILY")?;
                if !available.is_empty() {
                    write!(f, " to one of {}", available.join(", "))?;
                }
                gpus.failures.iter().try_for_each(|(path, why)| write!(f, "\n{}: {why}", path.display()))
            }
            Self::Distribution { path, why } => write!(f, "{}: {why}; install ROCm again", path.display()),
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
    /// Short name of the library that it is about, if it is about one.
    pub fn library(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { library, .. }
            | Self::Unusable { library, .. }
            | Self::SymbolMissing { library, .. }
            | Self::ProviderTooLate { library, .. }
            | Self::Provided { library, .. }
            | Self::TooOld { library, .. } => Some(library),
            Self::PreloadVariable { error, .. } => error.library(),
            Self::Distribution { .. }
            | Self::UnknownFamily { .. }
            | Self::NoRelease { .. }
            | Self::UnknownLibrary { .. }
            | Self::Several { .. }
            | Self::SearchTooLate
            | Self::RelativePath { .. } => None,
            #[cfg(feature = "installation")]
            Self::NoFamily { .. } | Self::VersionMismatch { .. } => None,
        }
    }

    /// The search behind it: every path tried and why it would not do.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::NotFound { report, .. } | Self::Unusable { report, .. } => Some(report),
            Self::PreloadVariable { error, .. } => error.report(),
            _ => None,
        }
    }
}
