//! Errors of installing, listing, removing and running ROCm.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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
    /// The disk became full.
    Full {
        /// A directory on it.
        folder: PathBuf,
        /// The message of the program or operation that failed.
        said: String,
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
        /// The releases that can be installed.
        known: Vec<&'static str>,
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

/// What programs print on a full disk.
const FULL: [&str; 3] = ["No space left on device", "have enough free space", "Disk quota exceeded"];
/// With less free space than this, a program may fail without saying why. Signatures cannot be checked, for example.
const NEARLY_FULL: u64 = 1 << 20;

impl Error {
    /// Returns [`Error::Full`] if the cause is a full disk. `free` returns the free space in `folder`.
    pub(crate) fn or_full(self, folder: &Path, free: impl FnOnce() -> Option<u64>) -> Self {
        let said = match &self {
            Self::Command { said, .. } => said,
            Self::Hostile { why, .. } | Self::Untrusted { why, .. } => why,
            Self::Io { source, .. } => {
                return match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        Self::Full { folder: folder.to_owned(), said: self.to_string() }
                    }
                    _ => self,
                };
            }
            _ => return self,
        };
        let signs: Vec<&str> = said.lines().filter(|line| FULL.iter().any(|sign| line.contains(sign))).collect();
        match signs.is_empty() && free().is_none_or(|free| free >= NEARLY_FULL) {
            true => self,
            false if signs.is_empty() => Self::Full { folder: folder.to_owned(), said: said.clone() },
            false => Self::Full { folder: folder.to_owned(), said: signs.join("\n") },
        }
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
            Self::Full { folder, said } => write!(
                f,
                "the disk with {} is full: free some space, or choose another folder with {}, and run the command again; what has \
                 been downloaded is kept:\n{said}",
                folder.display(),
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
            Self::NotInstalled { release, folder, installed, known } => {
                write!(f, "ROCm {release:?} is not installed in {}", folder.display())?;
                match &installed[..] {
                    [] => f.write_str(", nor is any other")?,
                    some => write!(f, "; installed: {}", some.join(", "))?,
                }
                match known.contains(&release.as_str()) {
                    true => write!(f, "; `rocm-sdk install {release}` installs it, without root"),
                    false => write!(f, "; `rocm-sdk install` can install {}", known.join(", ")),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_release_says_how_it_is_installed() {
        let text = |release: &str| {
            let known = vec!["5.7", "6.4", "7.2"];
            let installed = vec!["7.2".into()];
            Error::NotInstalled { release: release.into(), folder: "/own".into(), installed, known }.to_string()
        };
        assert!(
            text("6.4").ends_with("installed: 7.2; `rocm-sdk install 6.4` installs it, without root"),
            "{}",
            text("6.4")
        );
        assert!(text("6.1").ends_with("`rocm-sdk install` can install 5.7, 6.4, 7.2"), "{}", text("6.1"));
    }

    #[test]
    fn a_full_disk_is_neither_the_network_nor_a_forgery() {
        let folder = Path::new("/own");
        let command =
            |said: &str| Error::Command { command: "apt-get update".into(), status: "100".into(), said: said.into() };
        let hostile =
            || Error::Hostile { package: "a.deb".into(), why: "tar: x: Cannot write: No space left on device".into() };
        let untrusted = || Error::Untrusted { mirror: "http://m".into(), why: "GPG error: no signatures".into() };
        let io = |kind: io::ErrorKind| Error::Io { what: "writing x".into(), source: kind.into() };
        for (error, free) in [
            (
                command("Get:1 http://m\nE: Write error - write (28: No space left on device)\n(check the network)"),
                None,
            ),
            (command("E: You don't have enough free space in /own/archives/."), Some(1 << 30)),
            (hostile(), Some(1 << 30)),
            (untrusted(), Some(4096)),
            (io(io::ErrorKind::StorageFull), None),
            (io(io::ErrorKind::QuotaExceeded), None),
        ] {
            let text = error.or_full(folder, || free).to_string();
            assert!(
                text.starts_with(
                    "the disk with /own is full: free some space, or choose another folder with ROCM_SDK_INSTALL_DIR"
                ),
                "{text}"
            );
            assert!(!text.contains("network") && !text.contains("Get:1"), "{text}");
        }
        for (error, free) in [
            (command("E: Could not resolve host"), Some(1 << 30)),
            (command("E: Could not resolve host"), None),
            (untrusted(), Some(NEARLY_FULL)),
            (io(io::ErrorKind::PermissionDenied), Some(0)),
        ] {
            let before = error.to_string();
            assert_eq!(error.or_full(folder, || free).to_string(), before);
        }
    }
}
