//! What a search without loading finds.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf::Dynamic;
use crate::report::{Origin, Report};
use crate::spec::{LibrarySpec, soname_major};
use crate::version::{Release, release_of_file};

/// A library that was found, but not opened.
#[derive(Clone)]
pub struct FoundLibrary {
    spec: &'static LibrarySpec,
    path: PathBuf,
    origin: Origin,
    dynamic: Dynamic,
    report: Arc<Report>,
}

impl FoundLibrary {
    pub fn new(
        spec: &'static LibrarySpec,
        path: PathBuf,
        origin: Origin,
        dynamic: Dynamic,
        report: Arc<Report>,
    ) -> Self {
        Self { spec, path, origin, dynamic, report }
    }

    /// Returns its names.
    pub fn spec(&self) -> &'static LibrarySpec {
        self.spec
    }

    /// Returns the absolute path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the step of the search that found it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns its soname, such as `libamdhip64.so.7`.
    pub fn soname(&self) -> Option<&str> {
        self.dynamic.soname.as_deref()
    }

    /// Returns the major number of its soname: 7 for `libamdhip64.so.7`.
    pub fn soname_major(&self) -> Option<u32> {
        let name = self.soname()?;
        soname_major(&name[name.find(".so")? + ".so".len()..])
    }

    /// Returns the sonames of its direct dependencies (`DT_NEEDED`).
    pub fn needed(&self) -> &[String] {
        &self.dynamic.needed
    }

    /// Returns whether this crate knows its soname. An unknown one is of a newer release.
    pub fn is_known_release(&self) -> bool {
        self.soname().is_some_and(|name| self.spec.knows(name))
    }

    /// Returns the release of its installation, like [`Library::release`](crate::Library::release). It is read again on
    /// each call.
    pub fn release(&self) -> Option<Release> {
        release_of_file(&self.path, self.spec.is_numbered_by_hip())
    }

    /// Returns the search that found it.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl fmt::Debug for FoundLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FoundLibrary")
            .field("name", &self.spec.name())
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// A requested library that is missing, which is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// The library.
    pub spec: &'static LibrarySpec,
    /// Why this is not an error.
    pub why: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.spec.name(), self.why)
    }
}

/// Why a missing library is not an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// ROCm does not include it on this platform.
    NotOnThisPlatform,
    /// It is optional, and not part of this installation.
    Optional,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotOnThisPlatform => "ROCm does not have it on this platform",
            Self::Optional => "optional, not in this installation",
        })
    }
}

/// Several libraries that were found.
#[derive(Debug, Clone, Default)]
pub struct FoundLibraries {
    pub(crate) found: Vec<FoundLibrary>,
    pub(crate) skipped: Vec<Skipped>,
}

impl FoundLibraries {
    /// Returns the libraries in the requested order, without the skipped ones.
    pub fn libraries(&self) -> &[FoundLibrary] {
        &self.found
    }

    /// Returns the absolute paths of their files in the requested order, without the skipped ones.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.found.iter().map(|library| library.path.clone()).collect()
    }

    /// Returns the library with this short name.
    pub fn get(&self, name: &str) -> Option<&FoundLibrary> {
        self.found.iter().find(|library| library.spec.name() == name)
    }

    /// Returns the skipped libraries: those that ROCm does not include on this platform, and missing optional ones.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}
