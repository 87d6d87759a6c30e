//! The directory layout of an installation.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::LoadError;
use crate::error::Error;
use crate::libraries;
use rocm_loader::folders::{names_in, wheels_beside};
use rocm_loader::look::look_at_directory;
use rocm_loader::open::{Purpose, Trail, nothing_found};
use rocm_loader::process::process_search;
use rocm_loader::report::{Attempt, Origin, Reason, Report};
use rocm_loader::version::{Release, release_at};
use rocm_loader::{Installation, Search};
use rocm_loader::{LibrarySpec, number_of_llvm};

/// The kind of an installation's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LayoutKind {
    /// Everything below one root, as in `/opt/rocm`.
    Prefix,
    /// AMD's wheels in a Python environment.
    Wheels,
    /// Mixed with the system's other packages, with libraries in a directory of the machine's architecture (Debian,
    /// Ubuntu).
    Multiarch,
}

/// An installation and its directories. A directory is returned whether or not it exists: runtime packages have no
/// `include`.
///
/// ```
/// match rocm_sdk::layout() {
///     Ok(rocm) => println!("ROCm at {}, headers in {}", rocm.root().display(), rocm.include().display()),
///     Err(error) => println!("{error}"),
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    kind: LayoutKind,
    origin: Origin,
    lib: PathBuf,
    library_roots: Vec<PathBuf>,
}

/// Returns whether only ROCm has this library.
fn tell_tale(spec: &&&'static LibrarySpec) -> bool {
    !["LLVM", "clang"].contains(&spec.name())
}

/// Other files that identify an installation without libraries.
const TELL_TALE_FILES: &[&str] =
    &[".info/version", ".info/version-dev", "include/hip/hip_version.h", "bin/hipconfig", "bin/rocminfo"];

impl Layout {
    /// Returns the installation at `root`, or `None` if there is none. It is recognised by a library of ROCm,
    /// `.info/version`, HIP's headers or tools.
    pub fn at(root: impl Into<PathBuf>) -> Option<Self> {
        Self::inspect(&Installation { root: root.into(), origin: Origin::Explicit }).ok()
    }

    fn inspect(installation: &Installation) -> Result<Self, Reason> {
        let root = &installation.root;
        if !root.is_absolute() {
            return Err(Reason::RelativePath);
        }
        look_at_directory(root)?;
        let origin = installation.origin;
        if let Some(layout) = Self::of_wheel(root, origin) {
            return layout.ok_or(Reason::NotAnInstallation);
        }
        let with_libraries = installation.library_dirs().find(|dir| has_library(dir));
        if with_libraries.is_none() && !TELL_TALE_FILES.iter().any(|file| root.join(file).is_file()) {
            return Err(Reason::NotAnInstallation);
        }
        let lib = with_libraries.filter(|_| !cfg!(windows)).unwrap_or_else(|| root.join("lib"));
        // ROCm 7.10 and later: everything is in `core`, and `/opt/rocm` is only its parent.
        let root = if lib == root.join("core/lib") { root.join("core") } else { root.clone() };
        let kind = match lib.parent() {
            Some(parent) if parent == root => LayoutKind::Prefix,
            _ => LayoutKind::Multiarch,
        };
        Ok(Self { library_roots: vec![root.clone()], root, kind, origin, lib })
    }

    /// Returns the whole environment of a wheel; the inner option is `None` if only directories are left of it.
    fn of_wheel(wheel: &Path, origin: Origin) -> Option<Option<Self>> {
        let site = wheel.parent()?;
        wheel.file_name()?.to_str()?.strip_prefix("_rocm_sdk_")?;
        let devel = expanded_devel(site);
        let mut library_roots = wheels_beside(site);
        let root = devel.clone().or_else(|| library_roots.first().cloned()).unwrap_or_else(|| wheel.to_owned());
        if library_roots.is_empty() {
            library_roots.push(root.clone());
        }
        let has_library = library_roots.iter().any(|root| {
            let installation = Installation { root: root.clone(), origin };
            installation.library_dirs().any(|dir| has_library(&dir))
        });
        let layout = Self { lib: root.join("lib"), root, kind: LayoutKind::Wheels, origin, library_roots };
        Some((has_library || devel.is_some()).then_some(layout))
    }

    /// Returns its root. For wheels this is the devel tree if it is expanded, otherwise the core wheel.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the kind of its layout.
    pub fn kind(&self) -> LayoutKind {
        self.kind
    }

    /// Returns the step of the search that found it.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Returns the directory of the programs.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// Returns the directory of the libraries. On Windows it has the import libraries; the DLLs are in
    /// [`bin`](Layout::bin).
    pub fn lib(&self) -> &Path {
        &self.lib
    }

    /// Returns the directory of the C headers.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Returns the directory of the CMake packages, for `CMAKE_PREFIX_PATH`.
    pub fn cmake(&self) -> PathBuf {
        self.lib.join("cmake")
    }

    /// Returns the root of its LLVM, which contains `bin/clang`: ROCm's own, or in a distribution the LLVM that its
    /// Comgr depends on.
    pub fn llvm(&self) -> PathBuf {
        let own = self.root.join("lib/llvm");
        let candidates =
            [own.clone(), self.root.join("llvm"), self.lib.join("rocm/llvm"), self.root.join("lib64/rocm/llvm")];
        if let Some(found) = candidates.into_iter().find(|dir| dir.is_dir()) {
            return found;
        }
        let numbered = versioned_llvm(&self.root.join("lib"));
        let needed = self.llvm_of_comgr();
        let of_comgr = numbered.iter().find(|(number, _)| Some(*number) == needed);
        of_comgr.or(numbered.first()).map_or(own, |(_, path)| path.clone())
    }

    /// Returns the major number of the LLVM that Comgr depends on.
    fn llvm_of_comgr(&self) -> Option<u32> {
        number_of_llvm(self.search().find(&libraries::AMD_COMGR).ok()?.needed())
    }

    /// Returns the roots that contain its libraries: one; for wheels the core, then the others.
    pub fn library_roots(&self) -> &[PathBuf] {
        &self.library_roots
    }

    /// Returns a search of this installation only.
    pub fn search(&self) -> Search {
        self.library_roots.iter().fold(Search::nowhere(), |search, root| search.root(root))
    }

    /// Returns the release. For wheels it is the version of the packages, otherwise the result of [`release_at`] for
    /// the root, otherwise the version in the HIP library's file name.
    pub fn release(&self) -> Option<Release> {
        let roots = self.library_roots.iter().chain([&self.root]);
        let of_root = roots.map(PathBuf::as_path).find_map(release_at);
        of_root.or_else(|| self.search().find(&libraries::AMDHIP64).ok()?.release())
    }
}

/// Returns whether a directory contains a library of ROCm by name, even a broken one.
fn has_library(directory: &Path) -> bool {
    let specs: Vec<_> = libraries::ALL.iter().filter(tell_tale).collect();
    let of = |name: &str, spec: &LibrarySpec| {
        if cfg!(windows) {
            return spec.windows_names().contains(&name);
        }
        name.strip_prefix(spec.unversioned()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    !names_in(directory, |name| specs.iter().any(|spec| of(name, spec))).is_empty()
}

/// Returns the devel tree of the wheels in a `site-packages`, if it is expanded: the archive is removed when it is
/// complete.
fn expanded_devel(site: &Path) -> Option<PathBuf> {
    let package = site.join("rocm_sdk_devel");
    if ["_devel.tar", "_devel.tar.xz"].iter().any(|archive| package.join(archive).exists()) {
        return None;
    }
    let mut names = names_in(site, |name| name.starts_with("_rocm_sdk_devel"));
    names.sort();
    names.into_iter().map(|name| site.join(name)).find(|tree| tree.is_dir())
}

/// Returns the entries `llvm-NN` of a directory, newest first.
fn versioned_llvm(directory: &Path) -> Vec<(u32, PathBuf)> {
    let number = |name: &str| -> Option<u32> { name.strip_prefix("llvm-")?.parse().ok() };
    let mut found: Vec<_> = names_in(directory, |name| number(name).is_some())
        .into_iter()
        .filter_map(|name| Some((number(&name)?, directory.join(&name))))
        .collect();
    found.sort_by_key(|&(number, _)| std::cmp::Reverse(number));
    found
}

/// Queries of a [`Search`] about the whole installation.
pub trait SearchExt {
    /// Returns the first installation that contains something of ROCm, in the order of the search. The last step
    /// searches the system loader's directories for the HIP runtime.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] or [`LoadError::Unusable`] for the library "ROCm", with the places searched.
    ///
    /// ```
    /// use rocm_sdk::{Search, SearchExt};
    /// let error = Search::nowhere().root("/no/such/rocm").layout().unwrap_err();
    /// assert!(error.to_string().contains("/no/such/rocm [path given in code]: not found"));
    /// ```
    fn layout(&self) -> Result<Layout, LoadError>;

    /// Returns the release of the installation that the search finds.
    ///
    /// # Errors
    /// The same as [`layout`](SearchExt::layout); [`Error::NoRelease`] if the release of the installation is unknown.
    fn version(&self) -> Result<Release, Error>;
}

impl SearchExt for Search {
    fn layout(&self) -> Result<Layout, LoadError> {
        let mut attempts = Vec::new();
        for step in self.steps() {
            match step {
                Err(refused) => attempts.push(refused),
                Ok(installation) => match Layout::inspect(&installation) {
                    Ok(layout) => return Ok(layout),
                    Err(reason) => {
                        let target = installation.root.display().to_string();
                        attempts.push(Attempt::failed(installation.origin, target, reason));
                    }
                },
            }
        }
        for spec in [&libraries::AMDHIP64, &libraries::HSA_RUNTIME64, &libraries::AMD_COMGR] {
            let mut trail = Trail::new(spec, Purpose::Find);
            let found = match self.follow_system(&mut trail) {
                Some(hit) => trail.into_found(hit),
                None => Err(trail.into_error()),
            };
            match found {
                Ok(found) => {
                    let inspect = |root| Layout::inspect(&Installation { root, origin: Origin::System }).ok();
                    if let Some(layout) = root_above(found.path()).and_then(inspect) {
                        return Ok(layout);
                    }
                }
                Err(error) => attempts.extend(error.report().into_iter().flat_map(|r| r.attempts().to_vec())),
            }
        }
        let report = Arc::new(Report::new("ROCm", attempts));
        Err(nothing_found("ROCm", report))
    }

    fn version(&self) -> Result<Release, Error> {
        let layout = self.layout()?;
        layout.release().ok_or_else(|| Error::NoRelease { root: layout.root().to_owned() })
    }
}

/// Returns the root of the installation that the library file belongs to: `/usr` for
/// `/usr/lib/x86_64-linux-gnu/libX.so`.
fn root_above(library: &Path) -> Option<PathBuf> {
    let directory = library.parent()?;
    let roots = directory.ancestors().skip(1).map(Path::to_owned);
    // `/lib` is a link to `/usr/lib` on most systems, and all other files are under `/usr`.
    let usual = |root: PathBuf| if root == Path::new("/") { PathBuf::from("/usr") } else { root };
    let real = fs::canonicalize(directory).ok()?;
    let same = |dir: PathBuf| fs::canonicalize(dir).is_ok_and(|dir| dir == real);
    roots.map(usual).find(|root| {
        let installation = Installation { root: root.clone(), origin: Origin::System };
        let mut dirs = installation.library_dirs();
        dirs.any(&same)
    })
}

/// Returns the installation that the search of this process finds.
///
/// # Errors
/// The same as [`SearchExt::layout`].
pub fn layout() -> Result<Layout, LoadError> {
    process_search().layout()
}

/// Returns the release of the installation that the search of this process finds. [`Release::text`] is the text that
/// AMD's `rocm-sdk version` prints.
///
/// # Errors
/// The same as [`SearchExt::version`].
///
/// ```
/// match rocm_sdk::version() {
///     Ok(release) => println!("{} ({release}, says {})", release.text, release.source.display()),
///     Err(error) => println!("{error}"),
/// }
/// ```
pub fn version() -> Result<Release, Error> {
    process_search().version()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// `/lib` is a link to `/usr/lib` on most systems, and the installation is then in `/usr`, whichever of them the
    /// loader reports.
    #[test]
    fn the_root_above_a_library_of_the_system() {
        for directory in
            ["/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib", "/lib/x86_64-linux-gnu", "/lib64"]
        {
            let real = fs::canonicalize(directory);
            if real.is_ok_and(|real| real.starts_with("/usr"))
                && !directory.contains("x86_64") | cfg!(target_arch = "x86_64")
            {
                assert_eq!(root_above(&Path::new(directory).join("libx.so")), Some("/usr".into()), "{directory}");
            }
        }
        assert_eq!(root_above(Path::new("/no/such/lib/libx.so")), None);
    }
}
