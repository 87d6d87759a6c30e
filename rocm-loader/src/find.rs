//! Finding libraries without loading them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::elf::Dynamic;
use crate::error::Error;
use crate::library_name::LibraryName;
use crate::open::{Purpose, Trail};
use crate::process::process_search;
use crate::report::{Origin, Report};
use crate::search::Search;
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
    found: Vec<FoundLibrary>,
    skipped: Vec<Skipped>,
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

impl Search {
    /// Finds a library without opening it: only the headers of each candidate file are read. The step of the system
    /// loader searches the directories of `LD_LIBRARY_PATH` and `/etc/ld.so.conf`, and the loader's default
    /// directories.
    ///
    /// # Errors
    /// [`Error::UnknownLibrary`] for an unknown name; [`Error::NotFound`] if no library is found; [`Error::Unusable`]
    /// if one is found that cannot be used, such as one for another processor. Only [`open`](Search::open) determines
    /// whether the loader accepts it.
    ///
    /// ```
    /// use rocm_loader::{Error, Search};
    /// let error = Search::nowhere().root("/no/such/rocm").find("hipblas").unwrap_err();
    /// assert!(matches!(error, Error::NotFound { library: "hipblas", .. }));
    /// ```
    pub fn find(&self, library: impl LibraryName) -> Result<FoundLibrary, Error> {
        let mut trail = Trail::new(library.library()?, Purpose::Find);
        match self.follow(&mut trail) {
            Some(hit) => trail.into_found(hit),
            None => Err(trail.into_error()),
        }
    }

    /// Finds several libraries without opening them; see [`find_libraries`].
    ///
    /// # Errors
    /// The same as [`find_libraries`].
    pub fn find_libraries<N: LibraryName>(&self, names: impl IntoIterator<Item = N>) -> Result<FoundLibraries, Error> {
        let specs = names.into_iter().map(|name| name.library()).collect::<Result<Vec<_>, _>>()?;
        let mut all = FoundLibraries::default();
        let mut errors = Vec::new();
        for spec in specs {
            match self.find_or_skip(spec) {
                Ok(Ok(found)) => all.found.push(found),
                Ok(Err(why)) => all.skipped.push(Skipped { spec, why }),
                Err(error) => errors.push(error),
            }
        }
        if errors.len() > 1 {
            return Err(Error::Several { errors });
        }
        errors.pop().map_or(Ok(all), Err)
    }

    fn find_or_skip(&self, spec: &'static LibrarySpec) -> Result<Result<FoundLibrary, SkipReason>, Error> {
        if !spec.is_on_this_platform() {
            return Ok(Err(SkipReason::NotOnThisPlatform));
        }
        match self.find(spec) {
            Ok(found) => Ok(Ok(found)),
            // An optional library that exists but is broken is an error.
            Err(Error::NotFound { .. }) if spec.is_optional() => Ok(Err(SkipReason::Optional)),
            Err(error) => Err(error),
        }
    }
}

/// Finds libraries by short name, or by their rows of the [table](crate::libraries), with the search of this process.
/// Nothing is loaded.
///
/// Libraries that ROCm does not include on this platform, and missing optional ones, are
/// [skipped](FoundLibraries::skipped).
///
/// # Errors
/// [`Error::UnknownLibrary`] for an unknown name, before anything is searched; [`Error::NotFound`] or
/// [`Error::Unusable`] if one library is missing, with the steps of the search; [`Error::Several`] if several are.
///
/// ```
/// match rocm_loader::find_libraries(["amdhip64", "hipblas"]) {
///     Ok(found) => found.libraries().iter().for_each(|l| println!("{} at {}", l.spec().name(), l.path().display())),
///     Err(error) => println!("{error}"),
/// }
/// assert!(rocm_loader::find_libraries(["amdhip65"]).is_err());
/// ```
pub fn find_libraries<N: LibraryName>(names: impl IntoIterator<Item = N>) -> Result<FoundLibraries, Error> {
    process_search().find_libraries(names)
}
