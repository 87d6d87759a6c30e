//! Finding libraries without loading them.

use crate::error::Error;
use crate::found::{FoundLibraries, FoundLibrary, SkipReason, Skipped};
use crate::library_name::LibraryName;
use crate::open::{Purpose, Trail};
use crate::search::Search;
use crate::spec::LibrarySpec;

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

    /// Finds several libraries without opening them; see [`find_libraries`](crate::find_libraries).
    ///
    /// # Errors
    /// The same as [`find_libraries`](crate::find_libraries).
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
