//! State of the whole process: the search that bindings use, and the preloaded libraries.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::Error;
use crate::found::FoundLibraries;
use crate::libraries::AMDHIP64;
use crate::library::Library;
use crate::library_name::LibraryName;
use crate::look::is_new_enough;
use crate::open::{Purpose, Trail};
use crate::scope::Scope;
use crate::search::Search;
use crate::spec::LibrarySpec;
use crate::tree::{Tree, is_rocm};
use crate::variables::warn_once;

struct Process {
    /// `None` means the standard search.
    search: Option<Search>,
    /// Whether a library has been searched for with it.
    used: bool,
}

static PROCESS: Mutex<Process> = Mutex::new(Process { search: None, used: false });

fn lock() -> MutexGuard<'static, Process> {
    PROCESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the ROCm installation at `root` the first place that every [`Binding`](crate::Binding) and [`preload`] of this
/// process searches. A second root comes after the first.
///
/// # Errors
/// [`Error::RelativePath`] if the path is not absolute; [`Error::SearchTooLate`] if a library has already been searched
/// for.
pub fn set_root(root: impl Into<PathBuf>) -> Result<(), Error> {
    let path = root.into();
    if !path.is_absolute() {
        return Err(Error::RelativePath { path });
    }
    let mut process = lock();
    if process.used {
        return Err(Error::SearchTooLate);
    }
    let search = process.search.take().unwrap_or_default();
    process.search = Some(search.root(path));
    Ok(())
}

/// Replaces the search of this process, for an order other than the standard one.
///
/// # Errors
/// [`Error::SearchTooLate`] if a library has already been searched for.
pub fn set_search(search: Search) -> Result<(), Error> {
    let mut process = lock();
    if process.used {
        return Err(Error::SearchTooLate);
    }
    process.search = Some(search);
    Ok(())
}

/// Returns a copy of the search that the bindings of this process use.
pub fn process_search() -> Search {
    lock().search.clone().unwrap_or_default()
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

pub fn open(spec: &'static LibrarySpec) -> Result<Library, Error> {
    open_with_scope(spec, Scope::Local)
}

/// The installation that provides the libraries of this process.
static IN_USE: Mutex<Option<Tree>> = Mutex::new(None);

/// Opens a library of the installation in use. The first call chooses it.
fn open_with_scope(spec: &'static LibrarySpec, scope: Scope) -> Result<Library, Error> {
    let search = fixed_search();
    warn_once(&search);
    // The lock is held to the end: two threads must not choose two installations.
    let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    let (library, tree) = search.open_within(spec, scope, in_use.as_ref())?;
    if in_use.is_none() {
        *in_use = tree;
    }
    Ok(library)
}

impl Search {
    /// Opens a library for a process that uses the installation `tree`. If there is none yet, the installation with the
    /// HIP runtime that the search finds is tried first, so that the choice does not depend on the order of the first
    /// calls. Returns the installation of the library, too.
    fn open_within(
        &self,
        spec: &'static LibrarySpec,
        scope: Scope,
        tree: Option<&Tree>,
    ) -> Result<(Library, Option<Tree>), Error> {
        let of_runtime = match tree {
            None if is_rocm(spec.unversioned()) && *spec != AMDHIP64 => self.find(&AMDHIP64).ok(),
            _ => None,
        };
        let of_runtime =
            of_runtime.filter(|found| is_new_enough(found.path())).map(|found| Tree::of_file(found.path()));
        let mut trail = Trail::new(spec, Purpose::Open(scope)).within(tree);
        let mut steps = self.steps();
        if let Some(first) = tree.or(of_runtime.as_ref()) {
            steps.sort_by_key(|step| !step.as_ref().is_ok_and(|installation| first.is_at(&installation.root)));
        }
        match self.follow_steps(steps, &mut trail) {
            Some(hit) => {
                let tree = hit.tree().cloned();
                Ok((trail.into_library(hit)?, tree))
            }
            None => Err(trail.into_error()),
        }
    }
}

/// Returns the search, which can no longer be changed afterwards.
fn fixed_search() -> Search {
    let mut process = lock();
    process.used = true;
    process.search.get_or_insert_default().clone()
}

static PRELOADED: Mutex<Vec<(Scope, &'static Library)>> = Mutex::new(Vec::new());

/// Opens a library before others that depend on it, and keeps it open. The library is named by its row of the
/// [table](crate::libraries) or by its short name. A second call returns the same library. With [`Scope::Global`] after
/// [`Scope::Local`], it makes the symbols of the open library global.
///
/// For example, `preload(&libraries::AMD_COMGR, Scope::Local)` finds out whether Comgr can be loaded before HIPRTC
/// calls it.
///
/// ```
/// use rocm_loader::{Scope, preload};
/// match preload("amd_comgr", Scope::Local) {
///     Ok(comgr) => println!("{}", comgr.opened_as()),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
/// [`Error::UnknownLibrary`], or the reason why it could not be opened. A failure is not cached: the next call searches
/// again.
pub fn preload(library: impl LibraryName, scope: Scope) -> Result<&'static Library, Error> {
    let spec = library.library()?;
    // The lock is held to the end, so that two threads do not open the library twice.
    let mut preloaded = PRELOADED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((widest, library)) = preloaded.iter_mut().find(|(_, library)| std::ptr::eq(library.spec(), spec)) {
        if *widest < scope {
            library.widen(scope)?;
            *widest = scope;
        }
        return Ok(library);
    }
    let library: &'static Library = Box::leak(Box::new(open_with_scope(spec, scope)?));
    preloaded.push((scope, library));
    Ok(library)
}

/// Returns the libraries preloaded so far, in order.
pub fn preloaded() -> Vec<&'static Library> {
    PRELOADED.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(_, library)| *library).collect()
}
