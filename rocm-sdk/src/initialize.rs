//! Initialisation of a process, before the first library of ROCm is used.

use crate::LoadError;
use crate::error::Error;
use crate::layout::SearchExt as _;
use crate::version_check::{VersionCheck, VersionMismatch};
use rocm_loader::LibrarySpec;
use rocm_loader::library_name::LibraryName;
use rocm_loader::process::{preload, process_search};
use rocm_loader::version::Release;
use rocm_loader::{Library, Scope};
use rocm_loader::{SkipReason, Skipped};

/// The variable that names libraries to preload, by short name, separated by `,` or `;`.
const PRELOAD_VARIABLE: &str = "ROCM_SDK_PRELOAD_LIBRARIES";

/// Prepares this process for ROCm: preloads libraries and checks the release. The methods configure it. It prints
/// nothing.
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
///     Err(error) => println!("{error}"), // for example, ROCm was not found
/// }
/// ```
pub fn initialize_process() -> InitializeProcess {
    InitializeProcess { libraries: Vec::new(), scope: Scope::Global, environment: true, version: None, fail: false }
}

/// The configuration of [`initialize_process`].
#[must_use = "nothing is done before `run`"]
#[derive(Debug, Clone)]
pub struct InitializeProcess {
    libraries: Vec<Result<&'static LibrarySpec, LoadError>>,
    scope: Scope,
    environment: bool,
    version: Option<VersionCheck>,
    fail: bool,
}

impl InitializeProcess {
    /// Preloads these libraries in this order, after earlier ones. They are named as for
    /// [`find_libraries`](crate::find_libraries).
    pub fn preload<N: LibraryName>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.libraries.extend(names.into_iter().map(|name| name.library()));
        self
    }

    /// Sets the scope of the preloaded libraries' symbols. The default is [`Scope::Global`].
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Sets whether the libraries that `ROCM_SDK_PRELOAD_LIBRARIES` names are preloaded too, after the others. The
    /// default is yes. A set-uid program always ignores the variable.
    pub fn env_override(mut self, heed: bool) -> Self {
        self.environment = heed;
        self
    }

    /// Checks the release of the installation against a text, exact or with `*` for any number of characters, or a
    /// [`semver::VersionReq`].
    pub fn check_version(mut self, wanted: impl Into<VersionCheck>) -> Self {
        self.version = Some(wanted.into());
        self
    }

    /// Sets whether another release is an error ([`Error::VersionMismatch`]). The default is no: it is reported in
    /// [`Initialized::mismatch`].
    pub fn fail_on_version_mismatch(mut self, fail: bool) -> Self {
        self.fail = fail;
        self
    }

    /// Checks the release, then opens the libraries. Libraries that ROCm does not include on this platform, and missing
    /// optional ones, are skipped. Running it again is cheap, because libraries are opened once.
    ///
    /// # Errors
    /// - [`LoadError::UnknownLibrary`], before anything is done.
    /// - [`Error::VersionMismatch`] if [requested](Self::fail_on_version_mismatch), before anything is loaded.
    /// - The errors of [`preload`](crate::preload) for a library; earlier ones are loaded by then.
    /// - [`Error::PreloadVariable`], with one of these errors, for a library that only the variable names.
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
                (Err(LoadError::NotFound { .. }), _) if spec.is_optional() => {
                    done.skipped.push(Skipped { spec, why: SkipReason::Optional });
                }
                (Err(error), None) => return Err(error.into()),
                (Err(error), Some(value)) => return Err(of_variable(&value, error)),
            }
        }
        Ok(done)
    }
}

fn of_variable(value: &str, error: LoadError) -> Error {
    Error::PreloadVariable { variable: PRELOAD_VARIABLE, value: value.to_owned(), error: Box::new(error) }
}

/// The result of [`InitializeProcess::run`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Initialized {
    /// The requested libraries that are now open, in order, each once.
    pub preloaded: Vec<&'static Library>,
    /// The skipped libraries.
    pub skipped: Vec<Skipped>,
    /// The release of the installation, if a check was requested and the release is known.
    pub release: Option<Release>,
    /// Set if it is not the requested release: a warning to show.
    pub mismatch: Option<VersionMismatch>,
}
