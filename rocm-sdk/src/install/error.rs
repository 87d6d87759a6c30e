//! Errors of installing, listing, removing and running ROCm.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::bytes::Bytes;

/// An error of [`install`](crate::install).
#[non_exhaustive]
pub enum Error {
    /// This machine cannot unpack Debian's packages.
    Unsupported {
        /// What is missing.
        why: String,
        /// What to do about it.
        help: String,
    },
    /// Debian has no such release of ROCm.
    UnknownRelease {
        /// The requested name.
        name: String,
        /// The available releases.
        known: Vec<&'static str>,
    },
    /// Debian has no such library in this release.
    UnknownLibrary {
        /// The requested name.
        name: String,
        /// The release.
        release: String,
        /// The available libraries, if they could be queried.
        known: Vec<String>,
    },
    /// Debian's suites now contain another version.
    MovedOn {
        /// The package.
        package: String,
        /// Its version there, if there is one.
        found: Option<String>,
        /// The requested release.
        release: String,
        /// The suites searched.
        suites: Vec<String>,
    },
    /// The archive has the packages, but not all that they depend on, as happens in sid while a library changes.
    Dependencies {
        /// The packages.
        packages: Vec<String>,
        /// The message of apt.
        said: String,
    },
    /// A library is built for another release of ROCm, and would install that release's runtime.
    OtherRelease {
        /// The library's package and its version.
        package: String,
        /// The runtime that it depends on.
        runtime: String,
        /// The requested release.
        release: String,
    },
    /// A directory, mirror or key file that cannot be used.
    Setting {
        /// The setting and its value.
        what: String,
        /// Why it cannot be used, and what to do.
        why: String,
    },
    /// There is not enough space.
    Space {
        /// The directory.
        folder: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The caller's [`approve`](super::Progress::approve) returned `false`.
    Declined,
    /// The mirror's content is not signed by Debian, or differs from the signed content.
    Untrusted {
        /// The mirror.
        mirror: String,
        /// The message of apt, or of the comparison with apt's lists.
        why: String,
    },
    /// A package that would write outside its directory, or contains unexpected kinds of files.
    Hostile {
        /// The package's file.
        package: String,
        /// The reason.
        why: String,
    },
    /// The description of an installation cannot be read.
    Damaged {
        /// The file with the description.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A release that is not installed.
    NotInstalled {
        /// The release.
        release: String,
        /// The directory searched.
        folder: PathBuf,
        /// The installed releases.
        installed: Vec<String>,
    },
    /// A program that cannot be run on an installation.
    Program {
        /// The program.
        program: String,
        /// The reason.
        why: String,
    },
    /// Another program failed.
    Command {
        /// Its command line.
        command: String,
        /// Its exit status.
        status: String,
        /// Its output.
        said: String,
    },
    /// apt printed an unexpected line.
    Answer {
        /// The line.
        line: String,
        /// The reason.
        why: &'static str,
    },
    /// An operation of the operating system failed.
    Io {
        /// The operation and the file.
        what: String,
        /// The error.
        source: io::Error,
    },
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn setting(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Setting { what: what.into(), why: why.into() }
    }
}

/// Adds the operation to an I/O error.
pub(crate) trait While<T> {
    /// `doing` is a clause such as "reading /x/y".
    fn while_(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> While<T> for std::result::Result<T, E> {
    fn while_(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::Io { what: doing(), source: error.into() })
    }
}

/// The same as [`Display`](fmt::Display), because a `main` that returns the error prints it with `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported { why, help } => {
                write!(f, "ROCm cannot be installed from Debian's packages on this machine: {why}; {help}")
            }
            Self::UnknownRelease { name, known } => {
                write!(f, "Debian has no ROCm {name:?}; available releases: {}", known.join(", "))
            }
            Self::UnknownLibrary { name, release, known } => {
                write!(f, "Debian has no library {name:?} for ROCm {release}")?;
                if known.is_empty() { Ok(()) } else { write!(f, "; available: {}", known.join(", ")) }
            }
            Self::MovedOn { package, found, release, suites } => write!(
                f,
                "Debian now has {} of {package} in {}; set {} to a snapshot of the archive that has {release}, \
                 https://snapshot.debian.org/archive/debian/YYYYMMDDThhmmssZ",
                found.as_deref().unwrap_or("no version"),
                suites.join(" and "),
                super::debian::MIRROR_VARIABLE,
            ),
            Self::Dependencies { packages, said } => {
                write!(f, "Debian lacks dependencies of {} at present; try again later:\n{said}", packages.join(", "))
            }
            Self::OtherRelease { package, runtime, release } => write!(
                f,
                "Debian's {package} is built for another ROCm release (it needs {runtime}): it cannot be installed with ROCm {release}"
            ),
            Self::Setting { what, why } => write!(f, "{what}: {why}"),
            Self::Space { folder, needed, free } => write!(
                f,
                "not enough space in {}: {} needed, {} free; free some, or choose another folder with {}",
                folder.display(),
                Bytes(*needed),
                Bytes(*free),
                rocm_loader::installs::VARIABLE,
            ),
            Self::Declined => f.write_str("not installed: declined"),
            Self::Untrusted { mirror, why } => write!(f, "{mirror} cannot be trusted: {why}"),
            Self::Hostile { package, why } => write!(f, "{package} is rejected: {why}"),
            Self::Damaged { path, why } => {
                write!(
                    f,
                    "{} is damaged ({why}); remove {} and install again",
                    path.display(),
                    path.parent().unwrap_or(path).display()
                )
            }
            Self::NotInstalled { release, folder, installed } => {
                write!(f, "ROCm {release:?} is not installed in {}", folder.display())?;
                match &installed[..] {
                    [] => write!(f, ", nor is any other; see `rocm-sdk install --help`"),
                    some => write!(f, "; installed: {}", some.join(", ")),
                }
            }
            Self::Program { program, why } => write!(f, "{program} cannot be run: {why}"),
            Self::Command { command, status, said } => write!(f, "`{command}` failed with {status}:\n{said}"),
            Self::Answer { line, why } => write!(f, "apt printed an unexpected line ({why}): {line}"),
            Self::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
