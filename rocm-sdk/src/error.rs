//! Errors about whole installations.

use std::fmt;
use std::path::PathBuf;

use crate::gpu::DetectedGpus;
use crate::version_check::VersionMismatch;
use crate::{LoadError, Report};

/// An error about an installation. It is cheap to clone, and carries the whole search (see [`Error::report`]).
#[derive(Clone)]
#[non_exhaustive]
pub enum Error {
    /// A library or an installation was not found, or cannot be used.
    Load(LoadError),
    /// The release of an installation is unknown.
    NoRelease {
        /// Its root.
        root: PathBuf,
    },
    /// The installation is of another release than the requested one.
    VersionMismatch {
        /// The requested and the installed release.
        mismatch: Box<VersionMismatch>,
    },
    /// A library that a variable names for preloading is not available.
    PreloadVariable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// Why the library is not available.
        error: Box<LoadError>,
    },
    /// A variable names a target family that the distribution does not have.
    UnknownFamily {
        /// The family.
        family: String,
        /// The variable.
        variable: &'static str,
        /// The families of the distribution.
        available: Vec<String>,
    },
    /// The target family is unknown: neither a variable nor a GPU nor a default determines it.
    NoFamily {
        /// The GPUs found, and the sources that failed.
        gpus: Box<DetectedGpus>,
        /// The families of the distribution; empty if unknown.
        available: Vec<String>,
    },
    /// A file that describes the distribution is invalid (feature `distribution`).
    Distribution {
        /// The file.
        path: PathBuf,
        /// Why it is invalid.
        why: String,
    },
}

/// The same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(error) => error.fmt(f),
            Self::NoRelease { root } => write!(
                f,
                "the ROCm at {} is of an unknown release: it has neither .info/version nor a HIP library with a version number",
                root.display()
            ),
            Self::VersionMismatch { mismatch } => mismatch.fmt(f),
            Self::PreloadVariable { variable, value, error } => {
                write!(f, "{variable}={value}: {error}\nUnset {variable} if it is not needed.")
            }
            Self::UnknownFamily { family, variable, available } => {
                write!(f, "{variable}={family}: the distribution has no such family, only {}", available.join(", "))
            }
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
        }
    }
}

impl std::error::Error for Error {}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl Error {
    /// Returns the short name of the library concerned, if there is one.
    pub fn library(&self) -> Option<&'static str> {
        self.load_error()?.library()
    }

    /// Returns the search: every path tried, and why it was not used.
    pub fn report(&self) -> Option<&Report> {
        self.load_error()?.report()
    }

    /// Returns the error of the loader behind it, if there is one.
    pub fn load_error(&self) -> Option<&LoadError> {
        match self {
            Self::Load(error) => Some(error),
            Self::PreloadVariable { error, .. } => Some(error),
            _ => None,
        }
    }
}
