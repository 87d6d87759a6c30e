//! Tries one candidate after the other, and records each.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf::Dynamic;
use crate::error::Error;
use crate::folders::names_in;
use crate::found::FoundLibrary;
use crate::installation::Installation;
use crate::installs;
use crate::library::Library;
use crate::look::{check_versions, look_at, look_at_directory};
use crate::report::{Attempt, Origin, Reason, Report};
use crate::scope::Scope;
use crate::spec::{LibrarySpec, first_number, number_of_llvm, soname_major};
use crate::sys;
use crate::tree::{Tree, is_rocm};

/// The use of a file that passes the checks.
#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    /// Open it. A file that cannot be opened is skipped.
    Open(Scope),
    /// Return its path only.
    Find,
}

impl Purpose {
    /// Returns the visibility of the symbols of an opened library; `None` if nothing is opened.
    fn scope(self) -> Option<Scope> {
        match self {
            Self::Open(scope) => Some(scope),
            Self::Find => None,
        }
    }
}

/// Limit on the number of libraries opened for one library.
const MAX_DEPENDENCIES: usize = 256;

/// A search in progress.
pub struct Trail {
    spec: &'static LibrarySpec,
    purpose: Purpose,
    attempts: Vec<Attempt>,
    /// The installation that the process uses.
    in_use: Option<Tree>,
    /// A library was found with a dependency that only another installation has.
    incomplete: bool,
}

/// The result of a search.
pub struct Hit {
    /// Set if the purpose is to open the library.
    handle: Option<libloading::Library>,
    /// The installation that the library belongs to.
    tree: Option<Tree>,
    origin: Origin,
    /// The path or soname passed to the dynamic loader.
    target: String,
    path: Option<PathBuf>,
    dynamic: Dynamic,
}

impl Trail {
    pub fn new(spec: &'static LibrarySpec, purpose: Purpose) -> Self {
        Self { spec, purpose, attempts: Vec::new(), in_use: None, incomplete: false }
    }

    /// Rejects libraries of installations other than this one.
    pub(crate) fn within(mut self, tree: Option<&Tree>) -> Self {
        self.in_use = tree.cloned();
        self
    }

    /// Returns whether an installation was found that lacks a dependency which another one has.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    pub fn refuse(&mut self, attempt: Attempt) {
        self.attempts.push(attempt);
    }

    /// Returns the error for a search that found nothing.
    pub fn into_error(self) -> Error {
        let library = self.spec.name();
        let report = Arc::new(Report::new(library, self.attempts));
        nothing_found(library, report)
    }

    /// Returns whether the search opens what it finds.
    fn opens(&self) -> bool {
        self.purpose.scope().is_some()
    }

    pub fn try_installation(&mut self, installation: &Installation) -> Option<Hit> {
        let origin = installation.origin;
        if let Err(reason) = look_at_directory(&installation.root) {
            self.fail(origin, &installation.root, reason);
            return None;
        }
        let mut directories = Vec::new();
        let own = self.spec.directories().iter().map(|dir| installation.root.join(dir));
        for directory in own.chain(installation.library_dirs()) {
            match look_at_directory(&directory) {
                Ok(()) => directories.push(directory),
                Err(reason) => self.fail(origin, &directory, reason),
            }
        }
        let wanted = self.wanted_number(&directories);
        let newer_first = wanted.is_some_and(|number| self.is_newer(number));
        // The newest known release, then releases newer than any known, then the unversioned name.
        for newer in [newer_first, !newer_first] {
            let paths: Vec<PathBuf> = if newer {
                directories
                    .iter()
                    .flat_map(|dir| self.newer_names(dir, wanted).into_iter().map(|n| dir.join(n)))
                    .collect()
            } else {
                let versioned = |name: &&str| cfg!(windows) || *name != self.spec.unversioned();
                let names = self.names(wanted).into_iter().filter(versioned);
                names.flat_map(|name| directories.iter().map(move |dir| dir.join(name))).collect()
            };
            if let Some(hit) = paths.iter().find_map(|path| self.try_file(origin, path)) {
                return Some(hit);
            }
        }
        let unversioned = directories.iter().filter(|_| !cfg!(windows));
        unversioned
            .map(|d| d.join(self.spec.unversioned()))
            .collect::<Vec<_>>()
            .iter()
            .find_map(|path| self.try_file(origin, path))
    }

    /// Returns whether this major number is newer than any known.
    fn is_newer(&self, major: u32) -> bool {
        self.spec.newest_major().is_none_or(|newest| major > newest)
    }

    /// Returns the names to try, in order; those with the number `wanted` first.
    fn names(&self, wanted: Option<u32>) -> Vec<&'static str> {
        let mut names: Vec<_> = self.spec.file_names().collect();
        if wanted.is_some() {
            names.sort_by_key(|name| first_number(name) != wanted);
        }
        names
    }

    /// Returns the number that the library's companion in one of `directories` depends on.
    fn wanted_number(&self, directories: &[PathBuf]) -> Option<u32> {
        let companion = self.spec.companion()?;
        let files = companion.file_names().flat_map(|name| directories.iter().map(move |dir| dir.join(name)));
        number_of_llvm(&files.filter_map(|path| look_at(&path).ok()).next()?.needed)
    }

    /// Returns the names `libX.so.N` of a major newer than any known, newest first; `libLLVM.so.N.M` if the known names
    /// have that form.
    fn newer_names(&self, directory: &Path, wanted: Option<u32>) -> Vec<String> {
        let minor_too = self.spec.sonames().iter().any(|s| s.has_minor());
        let major = |name: &str| -> Option<u32> {
            let number = name.strip_prefix(self.spec.unversioned())?;
            if minor_too { soname_major(number) } else { number.strip_prefix('.')?.parse().ok() }
        };
        let mut names = names_in(directory, |name| major(name).is_some_and(|m| self.is_newer(m)));
        names.sort_by_key(|name| (major(name) != wanted, std::cmp::Reverse(major(name))));
        names
    }

    /// Checks the file, then opens it if that is the purpose.
    pub fn try_file(&mut self, origin: Origin, path: &Path) -> Option<Hit> {
        let tried = look_at(path).and_then(|dynamic| {
            self.check_major(dynamic.soname.as_deref())?;
            let Some(scope) = self.purpose.scope() else {
                return Ok((None, None, path.to_owned(), dynamic));
            };
            let found = self.prepare(path, &dynamic).map_err(|reason| with_help(reason, origin, path))?;
            let handle = open_file(&found.file, scope, &mut Vec::new());
            let handle = found.check(handle).map_err(|reason| with_help(reason, origin, path))?;
            Ok((Some(handle), found.tree, found.file, dynamic))
        });
        match tried {
            Ok((handle, tree, path, dynamic)) => {
                Some(Hit { handle, tree, origin, target: path.display().to_string(), path: Some(path), dynamic })
            }
            Err(reason) => {
                self.fail(origin, path, reason);
                None
            }
        }
    }

    /// Opens the dependencies of a ROCm library.
    fn prepare(&mut self, path: &Path, dynamic: &Dynamic) -> Result<Prepared, Reason> {
        if !is_rocm(self.spec.unversioned()) {
            return Ok(Prepared { file: path.to_owned(), tree: None, loaded: Vec::new() });
        }
        check_versions(path)?;
        let tree = Tree::of_file(path);
        let loaded = loaded();
        let found = dependencies(&tree, path, dynamic);
        // The error names the library rather than the first of its dependencies.
        self.check_in_use(
            path,
            found.iter().flat_map(|(dependencies, _)| dependencies.iter().map(|d| d.file.as_path())),
        )?;
        let (dependencies, file) = found.inspect_err(|reason| {
            self.incomplete |= matches!(reason, Reason::OtherInstallation { loaded: false, .. });
        })?;
        for dependency in dependencies {
            match open_file(&dependency.file, Scope::Local, &mut Vec::new()) {
                // Like every library, it stays open.
                Ok(handle) => {
                    std::mem::forget(handle);
                    name_also(dependency)?;
                }
                // If it relies on symbols of the library that needs it, it is opened together with that library.
                Err(Reason::Loader { .. }) => {}
                Err(reason) if dependency.needed => return Err(reason),
                Err(_) => {}
            }
        }
        Ok(Prepared { file, tree: Some(tree), loaded })
    }

    /// Rejects a library that belongs neither to the installation in use nor to libraries of that installation.
    fn check_in_use<'a>(&self, path: &Path, mut dependencies: impl Iterator<Item = &'a Path>) -> Result<(), Reason> {
        match &self.in_use {
            Some(used) if !used.holds(path) && !dependencies.any(|file| used.holds(file)) => {
                Err(Reason::OtherInstallation {
                    library: path.file_name().unwrap_or_default().to_string_lossy().into(),
                    found: path.display().to_string().into(),
                    loaded: false,
                    wanted: used.name().into(),
                })
            }
            _ => Ok(()),
        }
    }

    /// Asks the system loader for each name, except names that it would find in one of `refused`. If nothing is to be
    /// opened, looks in the loader's `directories` instead.
    pub fn try_system(&mut self, refused: &[PathBuf], directories: &[PathBuf]) -> Option<Hit> {
        let origin = Origin::System;
        for name in self.names(self.wanted_number(directories)) {
            if let Some(path) = refused.iter().map(|dir| dir.join(name)).find(|path| path.exists()) {
                self.fail(origin, &path, Reason::RelativePath);
                continue;
            }
            let Some(scope) = self.purpose.scope() else {
                let mut there = directories.iter().map(|dir| dir.join(name)).filter(|path| path.exists()).peekable();
                if there.peek().is_none() {
                    self.attempts.push(Attempt::failed(origin, name.to_owned(), Reason::NotThere));
                } else if let Some(hit) = there.find_map(|path| self.try_file(origin, &path)) {
                    return Some(hit);
                }
                continue;
            };
            let file = directories.iter().map(|dir| dir.join(name)).find(|file| file.is_file());
            let opened = self.open_by_name(name, scope, file.as_deref());
            match opened {
                Ok((handle, tree, path, dynamic)) => {
                    return Some(Hit { handle: Some(handle), tree, origin, target: name.to_owned(), path, dynamic });
                }
                Err(reason) => self.attempts.push(Attempt::failed(origin, name.to_owned(), reason)),
            }
        }
        None
    }

    /// Opens the library that the dynamic loader finds under this name: most likely `file`, whose dependencies are
    /// opened first.
    #[allow(clippy::type_complexity)] // The parts of a hit.
    fn open_by_name(
        &mut self,
        name: &str,
        scope: Scope,
        file: Option<&Path>,
    ) -> Result<(libloading::Library, Option<Tree>, Option<PathBuf>, Dynamic), Reason> {
        let prepared = match file.map(|file| (file, look_at(file))) {
            Some((file, Ok(dynamic))) => Some((file, self.prepare(file, &dynamic)?)),
            _ => None,
        };
        let opened = match &prepared {
            // Another library replaces it.
            Some((file, found)) if found.file != *file => open_file(&found.file, scope, &mut Vec::new()),
            _ => sys::open_name(name, scope).map_err(|message| sys::explain(name.as_ref(), message)),
        };
        let handle = match &prepared {
            Some((_, found)) => found.check(opened)?,
            None => opened?,
        };
        let (handle, path) = sys::path_of(handle);
        let dynamic = path.as_deref().and_then(|p| look_at(p).ok()).unwrap_or_default();
        let usable = self.check_major(dynamic.soname.as_deref()).and_then(|()| match (&prepared, path.as_deref()) {
            (None, Some(path)) => self.check_in_use(path, std::iter::empty()),
            _ => Ok(()),
        });
        match usable {
            Ok(()) => {
                let of_file = || path.as_deref().filter(|_| is_rocm(self.spec.unversioned())).map(Tree::of_file);
                let tree = prepared.and_then(|(_, found)| found.tree).or_else(of_file);
                Ok((handle, tree, path, dynamic))
            }
            Err(reason) => {
                // It stays open: threads and state of its initialisers may not survive closing it.
                std::mem::forget(handle);
                Err(reason)
            }
        }
    }

    /// Rejects a library whose soname has an older major than any of the table: its functions have other signatures.
    fn check_major(&self, soname: Option<&str>) -> Result<(), Reason> {
        let Some(found) = soname else { return Ok(()) };
        let Some(major) = found.strip_prefix(self.spec.unversioned()).and_then(soname_major) else {
            return Ok(());
        };
        let newer = self.is_newer(major);
        match self.spec.sonames().last() {
            Some(oldest) if !newer && self.spec.known_major(major).is_none() => {
                Err(Reason::WrongMajor { found: found.to_owned(), oldest: oldest.file })
            }
            _ => Ok(()),
        }
    }

    /// Returns a remark on an opened library for the report.
    fn note(&self, soname: Option<&str>) -> Option<String> {
        let soname = soname?;
        (!self.spec.knows(soname)).then(|| format!("as {soname}, a release that this table does not know"))
    }

    fn fail(&mut self, origin: Origin, path: &Path, reason: Reason) {
        self.attempts.push(Attempt::failed(origin, path.display().to_string(), reason));
    }

    /// Returns the opened library with the record of the search.
    pub fn into_library(self, hit: Hit) -> Result<Library, Error> {
        let Hit { handle: Some(handle), origin, target, path, dynamic, .. } = hit else {
            return Err(self.into_error());
        };
        let (spec, report) = self.into_report(origin, &target, dynamic.soname.as_deref());
        Ok(Library::new(spec, handle, origin, target, path, dynamic, report))
    }

    /// Returns the file that was found with the record of the search.
    pub fn into_found(self, hit: Hit) -> Result<FoundLibrary, Error> {
        let Hit { path: Some(path), origin, target, dynamic, .. } = hit else {
            return Err(self.into_error());
        };
        let (spec, report) = self.into_report(origin, &target, dynamic.soname.as_deref());
        Ok(FoundLibrary::new(spec, path, origin, dynamic, report))
    }

    fn into_report(
        mut self,
        origin: Origin,
        target: &str,
        soname: Option<&str>,
    ) -> (&'static LibrarySpec, Arc<Report>) {
        let (target, note) = (target.to_owned(), self.note(soname));
        let opened = self.opens();
        self.attempts.push(Attempt { origin, target, failure: None, opened, note });
        (self.spec, Arc::new(Report::new(self.spec.name(), self.attempts)))
    }
}

impl Library {
    /// Opens exactly the file `path` as the library `spec`.
    ///
    /// # Errors
    /// [`Error::RelativePath`] if the path is not absolute; [`Error::NotFound`] and [`Error::Unusable`] as in a search.
    pub fn open(spec: &'static LibrarySpec, path: impl AsRef<Path>, scope: Scope) -> Result<Self, Error> {
        let path = path.as_ref();
        if !path.is_absolute() {
            return Err(Error::RelativePath { path: path.to_owned() });
        }
        let mut trail = Trail::new(spec, Purpose::Open(scope));
        match trail.try_file(Origin::Explicit, path) {
            Some(hit) => trail.into_library(hit),
            None => Err(trail.into_error()),
        }
    }
}

impl Hit {
    /// Returns the installation that it belongs to, if it was opened and is a library of ROCm.
    pub(crate) fn tree(&self) -> Option<&Tree> {
        self.tree.as_ref()
    }
}

/// A library whose dependencies are open.
struct Prepared {
    /// The file to open.
    file: PathBuf,
    /// The installation that it belongs to, if it is a library of ROCm.
    tree: Option<Tree>,
    /// The libraries that the process had loaded before.
    loaded: Vec<PathBuf>,
}

impl Prepared {
    /// Checks that the dynamic loader has not mixed in a library of another installation.
    fn check(&self, opened: Result<libloading::Library, Reason>) -> Result<libloading::Library, Reason> {
        let handle = opened?;
        match self.tree.as_ref().map_or(Ok(()), |tree| check_loaded(&self.loaded, tree)) {
            Ok(()) => Ok(handle),
            Err(reason) => {
                std::mem::forget(handle);
                Err(reason)
            }
        }
    }
}

#[cfg(target_os = "linux")]
use {
    crate::closure::{Dependency, check_loaded},
    crate::mapped::libraries as loaded,
};

/// Adds the other name of an open library.
#[cfg(target_os = "linux")]
fn name_also(dependency: Dependency) -> Result<(), Reason> {
    let Some((name, reason)) = dependency.alias else { return Ok(()) };
    let soname = look_at(&dependency.file).ok().and_then(|dynamic| dynamic.soname);
    let added = soname.is_some_and(|soname| crate::alias::add(&name, &soname).is_ok());
    if added { Ok(()) } else { Err(reason) }
}

#[cfg(target_os = "linux")]
fn dependencies(tree: &Tree, path: &Path, dynamic: &Dynamic) -> Result<(Vec<Dependency>, PathBuf), Reason> {
    crate::closure::Closure::new(tree).of(path, dynamic)
}

/// Windows searches the directory of a library first for its dependencies.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{Dynamic, Path, PathBuf, Reason, Tree};

    pub(super) struct Dependency {
        pub(super) file: PathBuf,
        pub(super) needed: bool,
    }

    pub(super) fn name_also(_: Dependency) -> Result<(), Reason> {
        Ok(())
    }

    pub(super) fn loaded() -> Vec<PathBuf> {
        Vec::new()
    }

    pub(super) fn check_loaded(_: &[PathBuf], _: &Tree) -> Result<(), Reason> {
        Ok(())
    }

    pub(super) fn dependencies(_: &Tree, path: &Path, _: &Dynamic) -> Result<(Vec<Dependency>, PathBuf), Reason> {
        Ok((Vec::new(), path.to_owned()))
    }
}
#[cfg(not(target_os = "linux"))]
use elsewhere::{check_loaded, dependencies, loaded, name_also};

/// Returns the error for a search that found nothing usable: the first fault, otherwise that nothing was found.
pub fn nothing_found(library: &'static str, report: Arc<Report>) -> Error {
    let cause = report.first_fault().map(|(attempt, reason)| (attempt.target.clone(), reason.clone()));
    match cause {
        Some((target, reason)) => Error::Unusable { library, target, reason, report },
        None => Error::NotFound { library, report },
    }
}

/// Opens a library. Dependencies that the dynamic loader does not find, but which lie next to the library, are opened
/// first: packages of a distribution rely on a directory that the loader knows, and are not found if they were unpacked
/// elsewhere. `above` are the libraries that depend on this one.
fn open_file(path: &Path, scope: Scope, above: &mut Vec<PathBuf>) -> Result<libloading::Library, Reason> {
    check_versions(path)?;
    for _ in 0..MAX_DEPENDENCIES {
        let reason = match sys::open_path(path, scope) {
            Ok(handle) => return Ok(handle),
            Err(message) => sys::explain(path.as_os_str(), message),
        };
        let Reason::DependencyMissing { dependency, .. } = &reason else { return Err(reason) };
        // A plain name: the dynamic loader does not search for a name that contains a path, either.
        let beside = path.parent().filter(|_| !dependency.contains(['/', '\\'])).map(|dir| dir.join(dependency));
        // Circular dependencies are not resolved here.
        let beside = beside.filter(|beside| beside != path && !above.contains(beside) && beside.is_file());
        let Some(beside) = beside else { return Err(reason) };
        above.push(path.to_owned());
        let opened = open_file(&beside, Scope::Local, above);
        above.pop();
        // Like every library, it stays open.
        std::mem::forget(opened?);
    }
    Err(Reason::Loader { message: "it needs too many libraries that the loader does not find".to_owned() })
}

/// Adds the command that runs a program on the installation itself, if there is one.
fn with_help(mut reason: Reason, origin: Origin, path: &Path) -> Reason {
    if let Reason::SystemTooOld { run, .. } = &mut reason {
        *run = installs::how_to_run(path, origin == Origin::Installed);
    }
    reason
}
