//! Where libraries are, without loading them.

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

/// A library that was found and looked at, but not opened.
#[derive(Clone)]
pub struct FoundLibrary {
    spec: &'static LibrarySpec,
    path: PathBuf,
    origin: Origin,
    dynamic: Dynamic,
    report: Arc<Report>,
}

impl FoundLibrary {
    pub(crate) fn new(
        spec: &'static LibrarySpec,
        path: PathBuf,
        origin: Origin,
        dynamic: Dynamic,
        report: Arc<Report>,
    ) -> Self {
        Self { spec, path, origin, dynamic, report }
    }

    /// Its names.
    pub fn spec(&self) -> &'static LibrarySpec {
        self.spec
    }

    /// The file, an absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which step of the search found it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The name that it gives itself, `libamdhip64.so.7`.
    pub fn soname(&self) -> Option<&str> {
        self.dynamic.soname.as_deref()
    }

    /// The major number of its soname: 7 for `libamdhip64.so.7`.
    pub fn soname_major(&self) -> Option<u32> {
        let name = self.soname()?;
        soname_major(&name[name.find(".so")? + ".so".len()..])
    }

    /// The sonames of the libraries that it needs itself (`DT_NEEDED`).
    pub fn needed(&self) -> &[String] {
        &self.dynamic.needed
    }

    /// Whether its soname is one that this crate knows; another one is a newer release.
    pub fn is_known_release(&self) -> bool {
        self.soname().is_some_and(|name| self.spec.knows(name))
    }

    /// The release of the installation that it belongs to, as [`Library::release`](crate::Library::release) tells it.
    /// Read anew at each call.
    pub fn release(&self) -> Option<Release> {
        release_of_file(&self.path, self.spec.is_numbered_by_hip())
    }

    /// How it was found.
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

/// A library that was asked for and rightly is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Skipped {
    /// The library.
    pub spec: &'static LibrarySpec,
    /// Why it is not missed.
    pub why: SkipReason,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.spec.name(), self.why)
    }
}

/// Why a library is not missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipReason {
    /// ROCm does not have it on this platform.
    NotOnThisPlatform,
    /// It is optional, and this installation is without it.
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
    /// The libraries in the order asked for, without those skipped.
    pub fn libraries(&self) -> &[FoundLibrary] {
        &self.found
    }

    /// Their files, absolute paths in the order asked for, without those skipped.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.found.iter().map(|library| library.path.clone()).collect()
    }

    /// The one of that short name.
    pub fn get(&self, name: &str) -> Option<&FoundLibrary> {
        self.found.iter().find(|library| library.spec.name() == name)
    }

    /// What was asked for and rightly is not there: libraries that this platform does not have, and optional ones.
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }
}

impl Search {
    /// Finds a library without opening it: only the head of each candidate's file is read. Where the system loader
    /// would be asked, the directories of `LD_LIBRARY_PATH` and `/etc/ld.so.conf` and the usual ones are looked at.
    ///
    /// # Errors
    /// [`Error::UnknownLibrary`]; [`Error::NotFound`] where there is none; [`Error::Unusable`] where there is one that
    /// would not do, such as one for another processor. That the loader accepts it only [`open`](Search::open) can
    /// tell.
    ///
    /// ```
    /// use rocm_sdk::{Error, Search};
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
    /// As [`find_libraries`].
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
            // One that is there and broken is told.
            Err(Error::NotFound { .. }) if spec.is_optional() => Ok(Err(SkipReason::Optional)),
            Err(error) => Err(error),
        }
    }
}

/// Finds libraries by short name, or by their rows of the [table](crate::libraries), through the search of this
/// process. Nothing is loaded.
///
/// What this platform does not have and what is optional and absent is [skipped](FoundLibraries::skipped).
///
/// # Errors
/// [`Error::UnknownLibrary`] before anything is looked for; [`Error::NotFound`] or [`Error::Unusable`] if one library
/// is missing, with the steps of the search; [`Error::Several`] if more are.
///
/// ```
/// match rocm_sdk::find_libraries(["amdhip64", "hipblas"]) {
///     Ok(found) => found.libraries().iter().for_each(|l| println!("{} at {}", l.spec().name(), l.path().display())),
///     Err(error) => println!("{error}"),
/// }
/// assert!(rocm_sdk::find_libraries(["amdhip65"]).is_err());
/// ```
pub fn find_libraries<N: LibraryName>(names: impl IntoIterator<Item = N>) -> Result<FoundLibraries, Error> {
    process_search().find_libraries(names)
}
