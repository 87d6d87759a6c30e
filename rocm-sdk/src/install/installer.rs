//! Installing.

use std::path::{Path, PathBuf};

use super::debian::{self, Archive, Fetch, Lock, Package, Tree, remove_all as clear};
use super::error::{Error, Result, While as _};
use super::installed::{BASE, Installed, STATE, directory, installed_in, names};
use super::progress::{Progress, Silent};
use super::release::{self, DebianRelease, Standard};

/// The lock of the folder of the installations.
const LOCK: &str = ".lock";

/// Creates installations in one directory, with a subdirectory for each release.
///
/// ```no_run
/// use rocm_sdk::install::{Error, Installer, Silent};
/// # fn main() -> Result<(), Error> {
/// let done = Installer::standard()?.release("7.2")?.with(["rocblas", "rocrand"]).run(&mut Silent)?;
/// println!("ROCm {} in {}", done.installed.version().unwrap_or("?"), done.installed.root().display());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Installer {
    folder: PathBuf,
    archive: Option<Archive>,
}

impl Installer {
    /// Installs into `folder`, which is created if necessary. A search finds installations there if
    /// `ROCM_SDK_INSTALL_DIR` names it.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), archive: None }
    }

    /// Installs into the directory that every search includes: `ROCM_SDK_INSTALL_DIR`, otherwise `rocm-sdk` in the
    /// user's data directory.
    ///
    /// # Errors
    /// [`Error::Setting`] if the environment names no such directory.
    pub fn standard() -> Result<Self> {
        directory().map(Self::new)
    }

    /// Uses packages from `archive` and trusts its keys, instead of [`Archive::of_this_machine`].
    pub fn archive(mut self, archive: Archive) -> Self {
        self.archive = Some(archive);
        self
    }

    /// Returns the archive, if this machine can use it.
    fn usable_archive(&self) -> Result<Archive> {
        debian::tools()?;
        self.archive.clone().map_or_else(Archive::of_this_machine, Ok)
    }

    /// Returns the directory of the installations.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates a request to install a release: `5.7`, `6.4` or `7.2`.
    ///
    /// # Errors
    /// [`Error::UnknownRelease`], which lists the available releases.
    pub fn release(self, name: &str) -> Result<Request> {
        let release = release::release(name)?;
        Ok(Request { installer: self, release, libraries: Vec::new(), update: false })
    }

    /// Returns the complete installations in the directory, newest release first.
    ///
    /// # Errors
    /// The same as [`installed`](super::installed).
    pub fn installed(&self) -> Result<Vec<Installed>> {
        installed_in(&self.folder)
    }

    /// Removes an installation completely, also an interrupted one. If it was the only one, its downloads are removed
    /// too. Programs that have its libraries open continue.
    ///
    /// # Errors
    /// [`Error::NotInstalled`]; [`Error::Io`].
    pub fn remove(&self, release: &str, progress: &mut dyn Progress) -> Result<Installed> {
        let folder = absolute(&self.folder)?;
        let find = || Installed::find_in_any_state(&folder, release);
        // Checked before the lock is taken, so that nothing is created if the installation does not exist.
        find()?;
        let _lock = Lock::hold(&folder.join(LOCK), progress)?;
        let installed = find()?;
        Tree::new(installed.folder().to_owned()).remove()?;
        if names(&folder).is_empty() {
            clear(&folder.join(STATE))?;
        }
        Ok(installed)
    }
}

/// A request to install a release.
#[derive(Clone, Debug)]
pub struct Request {
    installer: Installer,
    release: &'static DebianRelease,
    libraries: Vec<String>,
    update: bool,
}

/// The result of a [`Request`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The installation.
    pub installed: Installed,
    /// The packages that were added or replaced; empty if everything was installed already.
    pub added: Vec<Package>,
}

impl Request {
    /// Adds libraries to HIP, HIPRTC and their dependencies, each with its dependencies and headers. They are named by
    /// their short names (`rocblas`, `hipsparse`, `rccl`; see [`libraries`](crate::libraries)), or by Debian's names
    /// without `lib` and number. `hipcc` is the compiler driver with its compiler.
    pub fn with<S: Into<String>>(mut self, libraries: impl IntoIterator<Item = S>) -> Self {
        self.libraries.extend(libraries.into_iter().map(Into::into));
        self
    }

    /// Sets whether to replace installed packages by the newest ones of the release in the archive, for both the
    /// libraries already installed and the requested ones.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Downloads, verifies and unpacks the missing packages. Blocks until another installation into the same directory
    /// has ended. Nothing is written outside that directory, no script of a package runs, and nothing changes before
    /// everything is complete.
    ///
    /// # Errors
    /// Any [`Error`]. An existing installation is then unchanged, and the next run uses what was downloaded.
    pub fn run(&self, progress: &mut dyn Progress) -> Result<Outcome> {
        let folder = absolute(&self.installer.folder)?;
        self.libraries.iter().try_for_each(|name| release::check_name(name))?;
        let libraries = self.libraries.iter().map(|name| release::short_name(name));
        let libraries = libraries.filter(|name| !release::IN_BASE.contains(&name.as_str()));
        let mut sets: Vec<String> = std::iter::once(BASE.to_owned()).chain(libraries).collect();
        if let Some(installed) = self.already(&folder, &sets)? {
            return Ok(Outcome { installed, added: Vec::new() });
        }
        let archive = self.installer.usable_archive()?;
        let lock = Lock::hold(&folder.join(LOCK), progress)?;
        // The process that held the lock may have installed it.
        if let Some(installed) = self.already(&folder, &sets)? {
            return Ok(Outcome { installed, added: Vec::new() });
        }
        let tree = Tree::new(folder.join(self.release.name));
        if self.update {
            sets.extend(tree.contents()?.sets);
            sets.sort();
            sets.dedup();
        }
        let libraries: Vec<String> = sets.iter().filter(|set| *set != BASE).cloned().collect();
        let recipe = Standard { release: self.release, libraries: &libraries };
        let state = folder.join(STATE);
        let name = format!("rocm-{}", self.release.name);
        let selection = self.release.selection(&name);
        let fetch =
            Fetch { state: &state, lock: &lock, archive: &archive, selection, sets: &sets, afresh: self.update };
        let added = tree.fetch(&fetch, &recipe, progress)?;
        // The lists take 200 MB, and are outdated by the next time.
        clear(&state)?;
        Ok(Outcome { installed: Installed::find(&folder, self.release.name)?, added })
    }

    /// Returns the names that [`with`](Self::with) accepts for this release, in order: the libraries that the archive has
    /// for it, the compiler and the header-only libraries. Libraries that every installation has are not among them.
    /// Downloads the archive's lists of packages, and removes them at the end.
    ///
    /// # Errors
    /// Any [`Error`].
    pub fn available(&self, progress: &mut dyn Progress) -> Result<Vec<String>> {
        let folder = absolute(&self.installer.folder)?;
        let archive = self.installer.usable_archive()?;
        let lock = Lock::hold(&folder.join(LOCK), progress)?;
        let state = folder.join(STATE);
        // An interrupted installation keeps its downloads there.
        let interrupted = state.exists();
        let name = format!("rocm-{}", self.release.name);
        let selection = self.release.selection(&name);
        let fetch = Fetch { state: &state, lock: &lock, archive: &archive, selection, sets: &[], afresh: true };
        let found = fetch.ask(progress, |apt| self.release.available(apt));
        if !interrupted {
            clear(&state)?;
        }
        found
    }

    fn already(&self, folder: &Path, sets: &[String]) -> Result<Option<Installed>> {
        if self.update {
            return Ok(None);
        }
        match Installed::find(folder, self.release.name) {
            Ok(installed) => Ok(Some(installed).filter(|i| sets.iter().all(|set| i.contents().sets.contains(set)))),
            Err(Error::NotInstalled { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn absolute(folder: &Path) -> Result<PathBuf> {
    std::path::absolute(folder).while_(|| format!("finding the folder {}", folder.display()))
}

/// Removes an installation from the user's directory.
///
/// # Errors
/// The same as [`Installer::remove`].
pub fn remove(release: &str) -> Result<Installed> {
    Installer::standard()?.remove(release, &mut Silent)
}
