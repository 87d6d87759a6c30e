//! Errors of expanding a devel wheel.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// An error of this module. After an error, an expanded tree is either complete or unchanged.
#[non_exhaustive]
pub enum Error {
    /// No `rocm_sdk_devel` package in any of the places.
    NotInstalled {
        /// The directories searched.
        looked_in: Vec<PathBuf>,
    },
    /// The package exists, but its `*.dist-info` with a RECORD is missing: the operating system's package manager owns
    /// it.
    NoRecord {
        /// The directory of `rocm_sdk_devel`.
        package: PathBuf,
    },
    /// Neither an archive to expand nor an expanded tree.
    Incomplete {
        /// The directory of `rocm_sdk_devel`.
        package: PathBuf,
    },
    /// The archive has not been expanded yet.
    NotExpanded {
        /// The archive.
        archive: PathBuf,
    },
    /// The archive is damaged, cut short, or holds no devel package.
    Damaged {
        /// The archive.
        archive: PathBuf,
        /// The reason.
        why: String,
    },
    /// The archive, or the list of a device wheel, names a file outside the devel tree, or a kind of entry that ROCm's
    /// packages do not contain. Nothing was kept.
    Refused {
        /// The archive or list.
        archive: PathBuf,
        /// The entry, with odd characters escaped.
        entry: String,
        /// The reason.
        why: String,
    },
    /// A file or directory could not be read or written.
    Io {
        /// The operation, such as "write".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        error: io::Error,
    },
}

impl Error {
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { action, path, error }
    }

    pub(super) fn refused(archive: &Path, entry: &[u8], why: impl Into<String>) -> Self {
        let entry = entry.escape_ascii().to_string();
        let shown = if entry.len() > 300 { format!("{}...", &entry[..300]) } else { entry };
        Self::Refused { archive: archive.to_owned(), entry: shown, why: why.into() }
    }
}

/// Same as [`Display`](fmt::Display), because `unwrap` and a `main` that returns the error print it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled { looked_in } => {
                f.write_str(
                    "the Python package rocm_sdk_devel is not installed; install it with `pip install rocm[devel]`",
                )?;
                match looked_in.as_slice() {
                    [] => f.write_str(" (no Python environment was found: set VIRTUAL_ENV or ROCM_PATH)"),
                    places => {
                        let places: Vec<_> = places.iter().map(|p| p.display().to_string()).collect();
                        write!(f, " (looked in {})", places.join(", "))
                    }
                }
            }
            Self::NoRecord { package } => write!(
                f,
                "{}: it has no *.dist-info with a RECORD, so the expanded files could never be uninstalled; \
                 install rocm[devel] in a virtual environment",
                package.display()
            ),
            Self::Incomplete { package } => write!(
                f,
                "{}: neither an archive (_devel.tar.xz, _devel.tar) nor an expanded tree; reinstall rocm[devel]",
                package.display()
            ),
            Self::NotExpanded { archive } => {
                write!(f, "{}: not expanded yet; run `rocm-sdk init`", archive.display())
            }
            Self::Damaged { archive, why } => write!(f, "{}: {why}; reinstall rocm[devel]", archive.display()),
            Self::Refused { archive, entry, why } => {
                write!(f, "{}: entry \"{entry}\" rejected: {why}", archive.display())
            }
            Self::Io { action, path, error } => {
                write!(f, "cannot {action} {}: {error}", path.display())?;
                match error.kind() {
                    io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
                        f.write_str("; install rocm[devel] in a virtual environment that you can write to")
                    }
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        f.write_str("; nothing was kept: free some space and try again")
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { error, .. } => Some(error),
            _ => None,
        }
    }
}
