//! What can go wrong while ROCm is installed, listed, removed or run.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::bytes::Bytes;

/// An error of [`install`](crate::install).
#[non_exhaustive]
pub enum Error {
    /// This machine cannot unpack Debian's packages at all.
    Unsupported {
        /// What it lacks.
        why: String,
        /// What to do about it.
        help: String,
    },
    /// Debian has no such release of ROCm.
    UnknownRelease {
        /// What was asked for.
        name: String,
        /// The releases that it has.
        known: Vec<&'static str>,
    },
    /// Debian has no such library in this release.
    UnknownLibrary {
        /// What was asked for.
        name: String,
        /// The release.
        release: String,
        /// The libraries that it has, where they could be asked for.
        known: Vec<String>,
    },
    /// Debian's suites hold another version by now.
    MovedOn {
        /// The package.
        package: String,
        /// Its version there, if it has one.
        found: Option<String>,
        /// What was asked for.
        release: String,
        /// The suites that were looked in.
        suites: Vec<String>,
    },
    /// A library is made for another release of ROCm, and would bring its runtime along.
    OtherRelease {
        /// The library's package and its version.
        package: String,
        /// The runtime that it needs.
        runtime: String,
        /// What was asked for.
        release: String,
    },
    /// A folder, mirror or file of keys that cannot be used.
    Setting {
        /// What was given, and where.
        what: String,
        /// What is wrong with it, and what to do.
        why: String,
    },
    /// There is no room for it.
    Space {
        /// Where.
        folder: PathBuf,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that there are.
        free: u64,
    },
    /// The caller's [`approve`](super::Progress::approve) said no.
    Declined,
    /// What the mirror offers is not signed by Debian, or is not what was signed.
    Untrusted {
        /// The mirror.
        mirror: String,
        /// What apt, or a comparison with what apt announced, says.
        why: String,
    },
    /// A package that would write outside the folder that it is unpacked into, or hold what no library needs.
    Hostile {
        /// The package's file.
        package: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is an installation, but what it says of itself cannot be read.
    Damaged {
        /// The file that says so.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A release that is not installed.
    NotInstalled {
        /// The release.
        release: String,
        /// Where it would be.
        folder: PathBuf,
        /// The releases that are installed there.
        installed: Vec<String>,
    },
    /// A program that cannot be run on an installation.
    Program {
        /// The program.
        program: String,
        /// Why not.
        why: String,
    },
    /// Another program failed.
    Command {
        /// Its command line.
        command: String,
        /// How it ended.
        status: String,
        /// What it said.
        said: String,
    },
    /// What apt said cannot be understood.
    Answer {
        /// The line.
        line: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The operating system refused something.
    Io {
        /// What was being done, to which file.
        what: String,
        /// Its words.
        source: io::Error,
    },
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn setting(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Setting { what: what.into(), why: why.into() }
    }
}

/// Says of an I/O error what was being done.
pub(crate) trait While<T> {
    /// `doing` is a clause such as "reading /x/y".
    fn while_(self, doing: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> While<T> for std::result::Result<T, E> {
    fn while_(self, doing: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Error::Io { what: doing(), source: error.into() })
    }
}

/// As [`Display`](fmt::Display): a program whose `main` returns the error prints it this way.
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
                crate::installs::VARIABLE,
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
