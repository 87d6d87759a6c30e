//! The record of a search, step by step.

use std::fmt;

/// Why a place was searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A path given in code.
    Explicit,
    /// An environment variable that names a ROCm installation.
    Variable(&'static str),
    /// ROCm's wheels in the Python environment that this variable names.
    Wheel(&'static str),
    /// An installation of this user, from `rocm-sdk install`.
    Installed,
    /// `/opt/rocm` or `/opt/rocm-*`.
    Opt,
    /// The system loader (`ld.so.cache`, `LD_LIBRARY_PATH`, a Windows system directory).
    System,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Explicit => f.write_str("path given in code"),
            Self::Variable(name) => f.write_str(name),
            Self::Wheel(name) => write!(f, "wheels of {name}"),
            Self::Installed => f.write_str("rocm-sdk install"),
            Self::Opt => f.write_str("/opt"),
            Self::System => f.write_str("system loader"),
        }
    }
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The file does not exist, or the system loader does not know the name.
    NotThere,
    /// The path is a directory or a device.
    NotAFile,
    /// The path is not a directory.
    NotADirectory,
    /// The directory exists, but contains nothing of ROCm.
    NotAnInstallation,
    /// The file exists, but cannot be read.
    Unreadable {
        /// The operating system's message.
        message: String,
    },
    /// The file is not a shared library.
    NotElf {
        /// The kind of the file.
        found: &'static str,
    },
    /// A shared library for another processor.
    WrongArchitecture {
        /// The processor it is for.
        found: String,
        /// The processor this program runs on.
        needed: String,
    },
    /// A library of a major release that these bindings do not support.
    WrongMajor {
        /// The soname inside the file.
        found: String,
        /// The oldest supported soname.
        oldest: &'static str,
    },
    /// A dependency of the library was not found.
    DependencyMissing {
        /// The dependency.
        dependency: String,
        /// The loader's message.
        message: String,
    },
    /// The library needs a newer C or C++ library than that of this process.
    SystemTooOld {
        /// The required version: "glibc 2.38".
        needed: String,
        /// The version available: "2.36"; `None` if unknown.
        found: Option<String>,
        /// The command that runs a program with the installation's own C library, if it has one.
        run: Option<String>,
    },
    /// An incomplete installation: it was interrupted, or is still in progress.
    Unfinished {
        /// The release.
        release: String,
    },
    /// The loader rejected the library for another reason.
    Loader {
        /// The loader's message.
        message: String,
    },
    /// It would mix two ROCm installations in one process: the library is of another one than that in use, or the
    /// loader has, or would take, one of its dependencies from another one.
    OtherInstallation {
        /// The soname of the library that would be mixed in.
        library: Box<str>,
        /// Its file, in another installation.
        found: Box<str>,
        /// Whether the process has loaded that file already.
        loaded: bool,
        /// The directory of the installation that it should come from.
        wanted: Box<str>,
    },
    /// The path is relative. It is rejected, because it would depend on the current directory.
    RelativePath,
    /// A set-uid program ignores environment variables.
    SetUid,
}

impl Reason {
    /// Returns whether something was found and could not be used. This says more than a missing file or a rejected
    /// variable.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NotThere | Self::RelativePath | Self::SetUid)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere => f.write_str("not found"),
            Self::NotAFile => f.write_str("not a regular file"),
            Self::NotADirectory => f.write_str("not a directory"),
            Self::NotAnInstallation => f.write_str("contains nothing of ROCm"),
            Self::Unreadable { message } => write!(f, "cannot be read: {message}"),
            Self::NotElf { found } => write!(f, "not a shared library but {found}"),
            Self::WrongArchitecture { found, needed } => {
                write!(f, "built for {found}, but this program runs on {needed}")
            }
            Self::WrongMajor { found, oldest } => {
                write!(f, "{found} is too old: {oldest} or newer is needed")
            }
            Self::DependencyMissing { dependency, message } => {
                write!(f, "needs {dependency}, which was not found ({message})")
            }
            Self::SystemTooOld { needed, found, run } => {
                match found {
                    Some(found) => write!(f, "needs {needed}, this machine has {found}")?,
                    None => write!(f, "needs {needed}, which this machine lacks")?,
                }
                run.iter().try_for_each(|run| write!(f, ": run the program with `{run}`"))
            }
            Self::Unfinished { release } => {
                write!(f, "incomplete: run `rocm-sdk install {release}` again, or remove it")
            }
            Self::Loader { message } => write!(f, "rejected by the loader: {message}"),
            Self::OtherInstallation { library, found, loaded, wanted } => {
                write!(f, "would mix two ROCm installations in one process: {library} ")?;
                match loaded {
                    true => write!(f, "is loaded from {found}, not from {wanted}")?,
                    false => write!(f, "would come from {found}, not from {wanted}")?,
                }
                f.write_str(
                    "; set ROCM_PATH to one installation that has all libraries, and take the other out of LD_LIBRARY_PATH",
                )
            }
            Self::RelativePath => f.write_str("rejected: a relative path"),
            Self::SetUid => f.write_str("ignored: this program runs set-uid"),
        }
    }
}

/// One step of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attempt {
    /// Why it was tried.
    pub origin: Origin,
    /// The absolute path, soname or variable value that was tried.
    pub target: String,
    /// `None` if it can be used, otherwise the reason why not.
    pub failure: Option<Reason>,
    /// Whether it was opened. A search for a path opens nothing.
    pub opened: bool,
    /// A remark.
    pub note: Option<String>,
}

impl Attempt {
    pub fn failed(origin: Origin, target: String, reason: Reason) -> Self {
        Self { origin, target, failure: Some(reason), opened: false, note: None }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: ", self.target, self.origin)?;
        match &self.failure {
            None => f.write_str(if self.opened { "opened" } else { "found" })?,
            Some(reason) => reason.fmt(f)?,
        }
        self.note.iter().try_for_each(|note| write!(f, " {note}"))
    }
}

/// The steps of a search, in order. `Display` prints one line per step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    library: &'static str,
    attempts: Vec<Attempt>,
}

impl Report {
    pub fn new(library: &'static str, attempts: Vec<Attempt>) -> Self {
        Self { library, attempts }
    }

    /// Returns the short name of the library searched for.
    pub fn library(&self) -> &'static str {
        self.library
    }

    /// Returns every step, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// Returns the step that found the library (and opened it, if the search opens libraries).
    pub fn opened(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|a| a.failure.is_none())
    }

    /// Returns the first step that found something unusable. It is most often the cause of a failed search.
    pub fn first_fault(&self) -> Option<(&Attempt, &Reason)> {
        self.attempts.iter().find_map(|a| a.failure.as_ref().filter(|r| r.is_fault()).map(|r| (a, r)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.library)?;
        if self.attempts.is_empty() {
            f.write_str(" no place to search")?;
        }
        for (n, attempt) in self.attempts.iter().enumerate() {
            write!(f, "\n{:>4}. {attempt}", n + 1)?;
        }
        Ok(())
    }
}
