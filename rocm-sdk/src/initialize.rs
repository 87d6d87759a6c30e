//! What a program does once, before the first library of ROCm is used.

use std::fmt;

use semver::VersionReq;

use crate::error::Error;
use crate::find::{SkipReason, Skipped};
use crate::library::{Library, Scope};
use crate::library_name::LibraryName;
use crate::process::{preload, process_search};
use crate::search::matches_wildcards;
use crate::spec::LibrarySpec;
use crate::version::Release;

/// The variable that names libraries to preload, by short name, with `,` or `;` between them.
const PRELOAD_VARIABLE: &str = "ROCM_SDK_PRELOAD_LIBRARIES";

/// Prepares this process for ROCm: preloads libraries and checks the release, as told by the methods. Nothing is
/// printed.
///
/// ```
/// use rocm_sdk::{Error, initialize_process};
///
/// match initialize_process().preload(["amd_comgr", "amdhip64"]).check_version("7.*").run() {
///     Ok(done) => {
///         println!("{} libraries loaded", done.preloaded.len());
///         if let Some(mismatch) = done.mismatch {
///             eprintln!("warning: {mismatch}");
///         }
///     }
///     Err(error) => println!("{error}"), // no ROCm here, say
/// }
/// ```
pub fn initialize_process() -> InitializeProcess {
    InitializeProcess { libraries: Vec::new(), scope: Scope::Global, environment: true, version: None, fail: false }
}

/// What [`initialize_process`] is to do.
#[must_use = "nothing is done before `run`"]
#[derive(Debug, Clone)]
pub struct InitializeProcess {
    libraries: Vec<Result<&'static LibrarySpec, Error>>,
    scope: Scope,
    environment: bool,
    version: Option<VersionCheck>,
    fail: bool,
}

impl InitializeProcess {
    /// Preloads these libraries, named as [`find_libraries`](crate::find_libraries) has it, in this order, after those
    /// given before.
    pub fn preload<N: LibraryName>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.libraries.extend(names.into_iter().map(|name| name.library()));
        self
    }

    /// Who sees the symbols of what is preloaded: [`Scope::Global`] if not told.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Whether the libraries that `ROCM_SDK_PRELOAD_LIBRARIES` names are preloaded too, after the others; they are if
    /// not told. A set-uid program never heeds it.
    pub fn env_override(mut self, heed: bool) -> Self {
        self.environment = heed;
        self
    }

    /// Compares the release of the installation with this: a text, exact or with `*` for any number of characters, or a
    /// [`semver::VersionReq`].
    pub fn check_version(mut self, wanted: impl Into<VersionCheck>) -> Self {
        self.version = Some(wanted.into());
        self
    }

    /// Whether another release is an error ([`Error::VersionMismatch`]) and not only told in [`Initialized::mismatch`].
    pub fn fail_on_version_mismatch(mut self, fail: bool) -> Self {
        self.fail = fail;
        self
    }

    /// Does it: compares the release, then opens the libraries. What ROCm does not have on this platform and what is
    /// optional and absent is skipped. Doing it again is cheap, libraries are opened once.
    ///
    /// # Errors
    /// [`Error::UnknownLibrary`] before anything is done; [`Error::VersionMismatch`] if asked for, before anything is
    /// loaded; what [`preload`](crate::preload) says of a library, those before it being loaded by then; any of these
    /// as [`Error::PreloadVariable`] for a library that only the variable names.
    pub fn run(self) -> Result<Initialized, Error> {
        let search = process_search();
        let mut plan = self.libraries.into_iter().map(|l| Ok((l?, None))).collect::<Result<Vec<_>, Error>>()?;
        if let Some(value) = search.heeded(PRELOAD_VARIABLE).filter(|_| self.environment) {
            let value = value.to_string_lossy().into_owned();
            for name in value.split([',', ';']).map(str::trim).filter(|name| !name.is_empty()) {
                let spec = name.library().map_err(|error| of_variable(&value, error))?;
                plan.push((spec, Some(value.clone())));
            }
        }
        let mut done = Initialized::default();
        if let Some(wanted) = self.version {
            done.release = search.version().ok();
            if !done.release.as_ref().is_some_and(|release| wanted.accepts(release)) {
                let mismatch = VersionMismatch { wanted, found: done.release.clone() };
                if self.fail {
                    return Err(Error::VersionMismatch { mismatch: Box::new(mismatch) });
                }
                done.mismatch = Some(mismatch);
            }
        }
        for (spec, variable) in plan {
            let named_twice = done.preloaded.iter().any(|library| library.spec() == spec)
                || done.skipped.iter().any(|skipped| skipped.spec == spec);
            if named_twice {
                continue;
            }
            if !spec.is_on_this_platform() {
                done.skipped.push(Skipped { spec, why: SkipReason::NotOnThisPlatform });
                continue;
            }
            match (preload(spec, self.scope), variable) {
                (Ok(library), _) => done.preloaded.push(library),
                (Err(Error::NotFound { .. }), _) if spec.is_optional() => {
                    done.skipped.push(Skipped { spec, why: SkipReason::Optional });
                }
                (Err(error), None) => return Err(error),
                (Err(error), Some(value)) => return Err(of_variable(&value, error)),
            }
        }
        Ok(done)
    }
}

fn of_variable(value: &str, error: Error) -> Error {
    Error::PreloadVariable { variable: PRELOAD_VARIABLE, value: value.to_owned(), error: Box::new(error) }
}

/// What [`InitializeProcess::run`] did.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Initialized {
    /// The libraries asked for that are open now, in order, each once.
    pub preloaded: Vec<&'static Library>,
    /// What was asked for and rightly is missing.
    pub skipped: Vec<Skipped>,
    /// The release of the installation, where one was asked for and it says.
    pub release: Option<Release>,
    /// That it is not the one asked for: a warning worth showing.
    pub mismatch: Option<VersionMismatch>,
}

/// Which releases a program is content with.
///
/// ```
/// use rocm_sdk::VersionCheck;
/// use semver::VersionReq;
///
/// let exact = VersionCheck::from("7.10.0a20251120");
/// let any_7 = VersionCheck::from("7.*");
/// let since_6_4 = VersionCheck::from(VersionReq::parse(">=6.4, <8")?);
/// assert_eq!([exact.to_string(), any_7.to_string(), since_6_4.to_string()], ["7.10.0a20251120", "7.*", ">=6.4, <8"]);
/// # Ok::<(), semver::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VersionCheck {
    /// This text, in which `*` stands for any number of characters, compared with [`Release::text`].
    Text(String),
    /// This requirement, met in ROCm's count. A pre-release counts as the release that it leads to, unless the
    /// requirement names a pre-release. Where only HIP's version is known, its patch number is that of a build:
    /// requirements on it say little.
    Requirement(VersionReq),
}

impl VersionCheck {
    /// Whether `release` will do.
    pub fn accepts(&self, release: &Release) -> bool {
        match self {
            Self::Text(pattern) => matches_wildcards(pattern, &release.text),
            Self::Requirement(requirement) => {
                let mut version = release.in_rocms_count();
                if requirement.comparators.iter().all(|c| c.pre.is_empty()) {
                    version.pre = semver::Prerelease::EMPTY;
                }
                requirement.matches(&version)
            }
        }
    }
}

impl From<&str> for VersionCheck {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for VersionCheck {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<VersionReq> for VersionCheck {
    fn from(requirement: VersionReq) -> Self {
        Self::Requirement(requirement)
    }
}

impl fmt::Display for VersionCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Requirement(requirement) => requirement.fmt(f),
        }
    }
}

/// Another release than the one that the program is made for; its `Display` is the warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionMismatch {
    /// What would have done.
    pub wanted: VersionCheck,
    /// What there is; `None` if no installation is found, or it does not say.
    pub found: Option<Release>,
}

impl fmt::Display for VersionMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this program expects ROCm {}, but ", self.wanted)?;
        match &self.found {
            Some(release) => {
                write!(f, "{} is installed ({}); it may not work", release.label(), release.source.display())
            }
            None => f.write_str("the installed release is unknown"),
        }
    }
}
