//! Opening one candidate after the other, keeping a record of each.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf;
use crate::error::Error;
use crate::library::{Library, Scope};
use crate::report::{Attempt, Origin, Reason, Report};
use crate::search::{Installation, names_in};
use crate::spec::{LibrarySpec, soname_major};
use crate::sys;

/// A search under way.
pub(crate) struct Trail {
    spec: &'static LibrarySpec,
    scope: Scope,
    attempts: Vec<Attempt>,
}

impl Trail {
    pub(crate) fn new(spec: &'static LibrarySpec, scope: Scope) -> Self {
        Self { spec, scope, attempts: Vec::new() }
    }

    pub(crate) fn refuse(&mut self, attempt: Attempt) {
        self.attempts.push(attempt);
    }

    /// What to say when nothing was found.
    pub(crate) fn into_error(self) -> Error {
        let library = self.spec.name();
        let report = Arc::new(Report::new(library, self.attempts));
        let cause = report.first_fault().map(|(attempt, reason)| (attempt.target.clone(), reason.clone()));
        match cause {
            Some((target, reason)) => Error::Unusable { library, target, reason, report },
            None => Error::NotFound { library, report },
        }
    }

    pub(crate) fn try_installation(&mut self, installation: &Installation) -> Option<Library> {
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
        // The newest known release, then releases newer than any known, then the name that tells no release.
        for name in self.spec.file_names().filter(|&name| cfg!(windows) || name != self.spec.unversioned()) {
            for directory in &directories {
                if let Some(library) = self.try_file(origin, &directory.join(name)) {
                    return Some(library);
                }
            }
        }
        for directory in &directories {
            for name in self.newer_names(directory) {
                if let Some(library) = self.try_file(origin, &directory.join(name)) {
                    return Some(library);
                }
            }
        }
        let unversioned = directories.iter().filter(|_| !cfg!(windows));
        unversioned
            .map(|d| d.join(self.spec.unversioned()))
            .collect::<Vec<_>>()
            .iter()
            .find_map(|path| self.try_file(origin, path))
    }

    /// `libX.so.N` of a major newer than any known, newest first; `libLLVM.so.N.M` where the known names are such.
    fn newer_names(&self, directory: &Path) -> Vec<String> {
        let newest = self.spec.newest_major();
        let minor_too = self.spec.sonames().iter().any(|s| s.has_minor());
        let major = |name: &str| -> Option<u32> {
            let number = name.strip_prefix(self.spec.unversioned())?;
            if minor_too { soname_major(number) } else { number.strip_prefix('.')?.parse().ok() }
        };
        let mut names = names_in(directory, |name| major(name).is_some_and(|m| newest.is_none_or(|n| m > n)));
        names.sort_by_key(|name| std::cmp::Reverse(major(name)));
        names
    }

    /// Looks at the file, then opens it.
    pub(crate) fn try_file(&mut self, origin: Origin, path: &Path) -> Option<Library> {
        let opened = look_at(path).and_then(|soname| {
            self.check_major(soname.as_deref())?;
            let handle = sys::open_path(path, self.scope).map_err(|message| sys::explain(path.as_os_str(), message))?;
            Ok((handle, soname))
        });
        match opened {
            Ok((handle, soname)) => {
                Some(self.succeed(handle, origin, path.display().to_string(), Some(path.to_owned()), soname))
            }
            Err(reason) => {
                self.fail(origin, path, reason);
                None
            }
        }
    }

    /// Asks the system loader for each name, but for those that it would find in one of `refused`.
    pub(crate) fn try_system(&mut self, refused: &[PathBuf]) -> Option<Library> {
        for name in self.spec.file_names() {
            if let Some(path) = refused.iter().map(|dir| dir.join(name)).find(|path| path.exists()) {
                self.fail(Origin::System, &path, Reason::RelativePath);
                continue;
            }
            let opened = sys::open_name(name, self.scope)
                .map_err(|message| sys::explain(name.as_ref(), message))
                .and_then(|handle| {
                    let (handle, path) = sys::path_of(handle);
                    let soname = path.as_deref().and_then(|p| look_at(p).ok().flatten());
                    self.check_major(soname.as_deref())?;
                    Ok((handle, path, soname))
                });
            match opened {
                Ok((handle, path, soname)) => {
                    return Some(self.succeed(handle, Origin::System, name.to_owned(), path, soname));
                }
                Err(reason) => self.attempts.push(Attempt::failed(Origin::System, name.to_owned(), reason)),
            }
        }
        None
    }

    /// Refuses what calls itself an older major than any of the table: its functions have other signatures.
    fn check_major(&self, soname: Option<&str>) -> Result<(), Reason> {
        let Some(found) = soname else { return Ok(()) };
        let Some(major) = found.strip_prefix(self.spec.unversioned()).and_then(soname_major) else {
            return Ok(());
        };
        let newer = self.spec.newest_major().is_none_or(|newest| major > newest);
        match self.spec.sonames().last() {
            Some(oldest) if !newer && self.spec.known_major(major).is_none() => {
                Err(Reason::WrongMajor { found: found.to_owned(), oldest: oldest.file })
            }
            _ => Ok(()),
        }
    }

    /// What is worth knowing of a library that was opened.
    fn note(&self, soname: Option<&str>) -> Option<String> {
        let soname = soname?;
        (!self.spec.knows(soname)).then(|| format!("as {soname}, a release that this table does not know"))
    }

    fn fail(&mut self, origin: Origin, path: &Path, reason: Reason) {
        self.attempts.push(Attempt::failed(origin, path.display().to_string(), reason));
    }

    fn succeed(
        &mut self,
        handle: libloading::Library,
        origin: Origin,
        target: String,
        path: Option<PathBuf>,
        soname: Option<String>,
    ) -> Library {
        let mut attempts = std::mem::take(&mut self.attempts);
        attempts.push(Attempt { origin, target: target.clone(), failure: None, note: self.note(soname.as_deref()) });
        let report = Arc::new(Report::new(self.spec.name(), attempts));
        Library::new(self.spec, handle, origin, target, path, soname, report)
    }
}

/// The soname of a file that is a shared library for this machine.
fn look_at(path: &Path) -> Result<Option<String>, Reason> {
    let metadata = fs::metadata(path).map_err(elf::unreadable)?;
    if !metadata.is_file() {
        return Err(Reason::NotAFile);
    }
    let mut file = File::open(path).map_err(elf::unreadable)?;
    if cfg!(any(windows, target_vendor = "apple")) {
        return Ok(None);
    }
    Ok(elf::inspect(&mut file)?.soname)
}

fn look_at_directory(path: &Path) -> Result<(), Reason> {
    match fs::metadata(path).map_err(elf::unreadable)?.is_dir() {
        true => Ok(()),
        false => Err(Reason::NotADirectory),
    }
}
