//! The places where libraries are searched for, and their order.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf;
use crate::error::Error;
use crate::folders::{system_library_dirs, versioned, wheels_beside};
use crate::installation::Installation;
use crate::installs;
use crate::library::Library;
use crate::open::{Hit, Purpose, Trail};
use crate::report::{Attempt, Origin, Reason, Report};
use crate::scope::Scope;
use crate::set_uid::runs_set_uid;
use crate::spec::LibrarySpec;

type Environment = Arc<dyn Fn(&str) -> Option<OsString> + Send + Sync>;

/// The order in which places are searched for ROCm. Programs use [`Search::standard`]; tests and tools build their own.
///
/// The order, first hit wins:
/// 1. [`root`](Search::root)s given in code;
/// 2. `ROCM_PATH`, `HIP_PATH`;
/// 3. ROCm's wheels (`_rocm_sdk_core*`, `_rocm_sdk_libraries*`) in the Python environment that `VIRTUAL_ENV` or
///    `CONDA_PREFIX` names;
/// 4. installations of `rocm-sdk install` of this user, newest release first: in `ROCM_SDK_INSTALL_DIR`, otherwise in
///    `rocm-sdk` under `XDG_DATA_HOME` or `~/.local/share`;
/// 5. `/opt/rocm` and the versioned directories in it (`core`, `core-*`), then `/opt/rocm-*`, newest first;
/// 6. the system loader, by soname, except for names that `LD_LIBRARY_PATH` would resolve to a relative path.
///
/// All libraries of a process come from one installation: see [`Reason::OtherInstallation`]. If an installation that is
/// named in code or by `ROCM_PATH` or `HIP_PATH` has a library, but lacks a dependency that another one has, the search
/// ends with this error.
///
/// Within an installation the newest soname wins. Its library directories are `lib`, `lib64`, `lib/x86_64-linux-gnu`
/// (the machine's architecture) and `core/lib`. Only absolute paths and sonames are passed to the loader: a relative
/// path in a variable is rejected. A set-uid program ignores environment variables.
///
/// ```
/// use rocm_loader::{Search, libraries};
/// let nowhere = Search::nowhere().root("/no/such/rocm");
/// let error = nowhere.open(&libraries::AMDHIP64).unwrap_err();
/// assert!(error.to_string().contains("/no/such/rocm"));
/// ```
#[derive(Clone)]
pub struct Search {
    roots: Vec<PathBuf>,
    environment: Option<Environment>,
    opt: Option<PathBuf>,
    system: bool,
    set_uid: bool,
}

impl Search {
    /// Creates the search of [the list above](Search), with this process's environment.
    pub fn standard() -> Self {
        Self {
            roots: Vec::new(),
            environment: Some(Arc::new(|name| std::env::var_os(name))),
            opt: if cfg!(windows) { None } else { Some(PathBuf::from("/opt")) },
            system: true,
            set_uid: runs_set_uid(),
        }
    }

    /// Creates a search without places. Add them with the methods below.
    pub fn nowhere() -> Self {
        Self { roots: Vec::new(), environment: None, opt: None, system: false, set_uid: false }
    }

    /// Adds the installation `root`, after earlier roots and before all other places. It must be absolute: the search's
    /// [`Report`] lists a relative one as rejected.
    pub fn root(mut self, root: impl Into<PathBuf>) -> Self {
        self.roots.push(root.into());
        self
    }

    /// Reads variables through `get` instead of the process's environment.
    pub fn environment(mut self, get: impl Fn(&str) -> Option<OsString> + Send + Sync + 'static) -> Self {
        self.environment = Some(Arc::new(get));
        self
    }

    /// Ignores environment variables.
    pub fn without_environment(mut self) -> Self {
        self.environment = None;
        self
    }

    /// Searches this directory for `rocm` and `rocm-*` instead of `/opt`; with `None`, none.
    pub fn opt(mut self, directory: Option<PathBuf>) -> Self {
        self.opt = directory;
        self
    }

    /// Sets whether the system loader is the last step.
    pub fn system(mut self, ask: bool) -> Self {
        self.system = ask;
        self
    }

    /// Overrides whether the program is treated as set-uid.
    pub fn set_uid(mut self, set_uid: bool) -> Self {
        self.set_uid = set_uid;
        self
    }

    /// Returns the installations that are searched, in order, whether or not they exist. A [`Report`] lists the
    /// rejected ones.
    pub fn installations(&self) -> Vec<Installation> {
        self.steps().into_iter().filter_map(Result::ok).collect()
    }

    /// Returns the installations and the rejected values, in order.
    pub fn steps(&self) -> Vec<Result<Installation, Attempt>> {
        let mut found = Candidates::default();
        for root in &self.roots {
            found.add(root.clone(), Origin::Explicit);
        }
        for name in ["ROCM_PATH", "HIP_PATH"] {
            if let Some(root) = self.variable(name, Origin::Variable(name), &mut found) {
                found.add(root, Origin::Variable(name));
            }
        }
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            if let Some(prefix) = self.variable(name, Origin::Wheel(name), &mut found) {
                let wheels = wheels(&prefix);
                if wheels.is_empty() {
                    found.refuse(&sites(&prefix).join("_rocm_sdk_core"), Origin::Wheel(name), Reason::NotThere);
                }
                for wheel in wheels {
                    found.add(wheel, Origin::Wheel(name));
                }
            }
        }
        self.add_installed(&mut found);
        if let Some(opt) = &self.opt {
            let rocm = opt.join("rocm");
            found.add(rocm.clone(), Origin::Opt);
            for root in versioned(&rocm, "core-").into_iter().chain(versioned(opt, "rocm-")) {
                found.add(root, Origin::Opt);
            }
        }
        found.0
    }

    /// Adds the user's own installations.
    fn add_installed(&self, found: &mut Candidates) {
        let Some(directory) = self.environment.as_ref().and_then(|get| installs::directory(|name| get(name))) else {
            return;
        };
        let mut refuse = |path: &Path, reason| found.refuse(path, Origin::Installed, reason);
        if self.set_uid {
            return refuse(&directory, Reason::SetUid);
        }
        if !directory.is_absolute() {
            return refuse(&directory, Reason::RelativePath);
        }
        let releases = installs::releases(&directory);
        if releases.is_empty() {
            let unreadable = fs::read_dir(&directory).err().map(elf::unreadable);
            return refuse(&directory, unreadable.unwrap_or(Reason::NotThere));
        }
        for (release, folder) in releases {
            match folder.join(installs::STAMP).is_file() {
                true => found.add(folder.join(installs::ROOT), Origin::Installed),
                false => found.refuse(&folder, Origin::Installed, Reason::Unfinished { release }),
            }
        }
    }

    /// Returns the absolute path in a variable. A wrong value is recorded in `found`.
    fn variable(&self, name: &str, origin: Origin, found: &mut Candidates) -> Option<PathBuf> {
        let value = self.environment.as_ref()?(name).filter(|v| !v.is_empty())?;
        let path = PathBuf::from(value);
        if self.set_uid {
            found.refuse(&path, origin, Reason::SetUid);
            None
        } else if path.is_absolute() {
            Some(path)
        } else {
            found.refuse(&path, origin, Reason::RelativePath);
            None
        }
    }

    /// Returns the value of a variable, if this search reads variables and it is not empty.
    pub fn heeded(&self, name: &str) -> Option<OsString> {
        self.value(name).filter(|v| !v.is_empty())
    }

    /// Returns the value of a variable, if this search reads variables.
    pub(crate) fn value(&self, name: &str) -> Option<OsString> {
        self.environment.as_ref().filter(|_| !self.set_uid)?(name)
    }

    /// Returns whether the program is treated as set-uid.
    pub fn is_set_uid(&self) -> bool {
        self.set_uid
    }

    /// Returns the directories of `LD_LIBRARY_PATH` that depend on the current directory; an empty entry is the current
    /// directory.
    fn relative_loader_dirs(&self) -> Vec<PathBuf> {
        let relative = |dir: PathBuf| (!dir.is_absolute()).then(|| Path::new(".").join(dir));
        let value = self.heeded("LD_LIBRARY_PATH").filter(|_| !cfg!(windows));
        value.map_or_else(Vec::new, |v| std::env::split_paths(&v).filter_map(relative).collect())
    }

    /// Returns the directories that the system loader searches, as far as files state them. For a search that opens
    /// nothing.
    fn loader_dirs(&self) -> Vec<PathBuf> {
        let value = self.heeded("LD_LIBRARY_PATH").filter(|_| !cfg!(windows));
        let mut dirs: Vec<PathBuf> =
            value.iter().flat_map(std::env::split_paths).filter(|dir| dir.is_absolute()).collect();
        dirs.extend(system_library_dirs(Path::new("/"), self.heeded("SystemRoot")));
        dirs
    }

    /// Finds and opens a library. Its symbols stay local to it ([`Scope::Local`]).
    ///
    /// # Errors
    /// [`Error::NotFound`] if no library is found, [`Error::Unusable`] if one is found that cannot be used. Both carry
    /// the search.
    pub fn open(&self, spec: &'static LibrarySpec) -> Result<Library, Error> {
        self.open_with_scope(spec, Scope::Local)
    }

    pub fn open_with_scope(&self, spec: &'static LibrarySpec, scope: Scope) -> Result<Library, Error> {
        let mut trail = Trail::new(spec, Purpose::Open(scope));
        match self.follow(&mut trail) {
            Some(hit) => trail.into_library(hit),
            None => Err(trail.into_error()),
        }
    }

    /// Searches the places in order until one has the library.
    pub fn follow(&self, trail: &mut Trail) -> Option<Hit> {
        self.follow_steps(self.steps(), trail)
    }

    pub(crate) fn follow_steps(&self, steps: Vec<Result<Installation, Attempt>>, trail: &mut Trail) -> Option<Hit> {
        for step in steps {
            match step {
                Err(refused) => trail.refuse(refused),
                Ok(installation) => {
                    if let Some(hit) = trail.try_installation(&installation) {
                        return Some(hit);
                    }
                    // A user who names an installation does not want another in its place.
                    if trail.is_incomplete() && matches!(installation.origin, Origin::Explicit | Origin::Variable(_)) {
                        return None;
                    }
                }
            }
        }
        self.follow_system(trail)
    }

    /// Runs the last step alone.
    pub fn follow_system(&self, trail: &mut Trail) -> Option<Hit> {
        if !self.system {
            return None;
        }
        trail.try_system(&self.relative_loader_dirs(), &self.loader_dirs())
    }

    /// Searches like [`open`](Search::open), and returns every step. The library, if found, stays open.
    pub fn report(&self, spec: &'static LibrarySpec) -> Report {
        match self.open(spec) {
            Ok(library) => library.report().clone(),
            Err(error) => error.report().cloned().unwrap_or_else(|| Report::new(spec.name(), Vec::new())),
        }
    }
}

impl Default for Search {
    fn default() -> Self {
        Self::standard()
    }
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("roots", &self.roots)
            .field("environment", &self.environment.is_some())
            .field("opt", &self.opt)
            .field("system", &self.system)
            .field("set_uid", &self.set_uid)
            .finish()
    }
}

#[derive(Default)]
struct Candidates(Vec<Result<Installation, Attempt>>);

impl Candidates {
    fn add(&mut self, root: PathBuf, origin: Origin) {
        if !root.is_absolute() {
            self.refuse(&root, origin, Reason::RelativePath);
        } else if !self.0.iter().flatten().any(|i| i.root == root) {
            self.0.push(Ok(Installation { root, origin }));
        }
    }

    fn refuse(&mut self, path: &Path, origin: Origin, reason: Reason) {
        self.0.push(Err(Attempt::failed(origin, path.display().to_string(), reason)));
    }
}

/// Returns ROCm's wheels in a Python environment: of the newest Python first, the core before the libraries.
fn wheels(prefix: &Path) -> Vec<PathBuf> {
    let sites: Vec<PathBuf> = if cfg!(windows) {
        vec![prefix.join("Lib").join("site-packages")]
    } else {
        versioned(&prefix.join("lib"), "python").into_iter().map(|python| python.join("site-packages")).collect()
    };
    sites.iter().flat_map(|site| wheels_beside(site)).collect()
}

/// Returns the package directory of a Python environment, for messages.
fn sites(prefix: &Path) -> PathBuf {
    prefix.join(if cfg!(windows) { "Lib/site-packages" } else { "lib/python*/site-packages" })
}
