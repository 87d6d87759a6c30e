//! What a search tried and what came of it, step by step.

use std::fmt;

/// Why a place was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A path given in code.
    Explicit,
    /// An environment variable that names a ROCm installation.
    Variable(&'static str),
    /// ROCm's wheels in the Python environment that this variable names.
    Wheel(&'static str),
    /// An installation of the user's own, made by `rocm-sdk install`.
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

/// Why one attempt came to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// No such file, or the system loader knows no such name.
    NotThere,
    /// There is something of that name, but a directory or a device.
    NotAFile,
    /// A directory was expected and there is something else.
    NotADirectory,
    /// The directory is there and has nothing of ROCm in it.
    NotAnInstallation,
    /// The file is there and cannot be read.
    Unreadable {
        /// The operating system's words.
        message: String,
    },
    /// Not a shared library at all.
    NotElf {
        /// What it looks like.
        found: &'static str,
    },
    /// A shared library for another processor.
    WrongArchitecture {
        /// The processor it is for.
        found: String,
        /// The processor this program runs on.
        needed: String,
    },
    /// A library of a major release that these bindings do not fit.
    WrongMajor {
        /// The soname inside the file.
        found: String,
        /// The oldest soname that would do.
        oldest: &'static str,
    },
    /// It needs another library, which was not found.
    DependencyMissing {
        /// The library that it needs.
        dependency: String,
        /// The loader's words.
        message: String,
    },
    /// It is made for a newer system: it needs a newer C library, or C++ library, than this process runs on.
    SystemTooOld {
        /// What it needs: "glibc 2.38".
        needed: String,
        /// What there is: "2.36"; `None` where that is not known.
        found: Option<String>,
        /// How to run a program with what the installation has of its own, if it has.
        run: Option<String>,
    },
    /// An installation that was cut off, or is being made: it has no list of what it holds.
    Unfinished {
        /// The release.
        release: String,
    },
    /// The loader refused it for another reason.
    Loader {
        /// The loader's words.
        message: String,
    },
    /// A relative path: refused, since it would depend on the current directory.
    RelativePath,
    /// Variables are not heeded in a set-uid program.
    SetUid,
}

impl Reason {
    /// Whether something was there and would not do: more telling than that nothing was there, or that a variable was refused.
    pub fn is_fault(&self) -> bool {
        !matches!(self, Self::NotThere | Self::RelativePath | Self::SetUid)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotThere => f.write_str("not there"),
            Self::NotAFile => f.write_str("not a regular file"),
            Self::NotADirectory => f.write_str("not a directory"),
            Self::NotAnInstallation => f.write_str("nothing of ROCm in it"),
            Self::Unreadable { message } => write!(f, "cannot be read: {message}"),
            Self::NotElf { found } => write!(f, "not a shared library but {found}"),
            Self::WrongArchitecture { found, needed } => {
                write!(f, "made for {found}, this program runs on {needed}")
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
                    None => write!(f, "needs {needed}, which this machine has not")?,
                }
                run.iter().try_for_each(|run| write!(f, ": run the program with `{run}`"))
            }
            Self::Unfinished { release } => {
                write!(f, "not complete: run `rocm-sdk install {release}` again, or remove it")
            }
            Self::Loader { message } => write!(f, "refused by the loader: {message}"),
            Self::RelativePath => f.write_str("refused: a relative path"),
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
    /// What was tried: an absolute path, a soname, or a variable's value.
    pub target: String,
    /// `None` if it would do, else why not.
    pub failure: Option<Reason>,
    /// Whether it was opened: a search for the path alone opens nothing.
    pub opened: bool,
    /// What else there is to say of it.
    pub note: Option<String>,
}

impl Attempt {
    pub(crate) fn failed(origin: Origin, target: String, reason: Reason) -> Self {
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

/// A whole search, in order; its `Display` is one line a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    library: &'static str,
    attempts: Vec<Attempt>,
}

impl Report {
    pub(crate) fn new(library: &'static str, attempts: Vec<Attempt>) -> Self {
        Self { library, attempts }
    }

    /// Short name of the library looked for.
    pub fn library(&self) -> &'static str {
        self.library
    }

    /// Every step, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The step that found the library, and opened it if that was the purpose.
    pub fn opened(&self) -> Option<&Attempt> {
        self.attempts.iter().find(|a| a.failure.is_none())
    }

    /// The first step that met something that would not do: most often the cause of a failed search.
    pub fn first_fault(&self) -> Option<(&Attempt, &Reason)> {
        self.attempts.iter().find_map(|a| a.failure.as_ref().filter(|r| r.is_fault()).map(|r| (a, r)))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.library)?;
        if self.attempts.is_empty() {
            f.write_str(" nowhere to look")?;
        }
        for (n, attempt) in self.attempts.iter().enumerate() {
            write!(f, "\n{:>4}. {attempt}", n + 1)?;
        }
        Ok(())
    }
}
