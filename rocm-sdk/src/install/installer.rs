//! Installing.

use std::path::{Path, PathBuf};

use super::debian::{self, Archive, Fetch, Lock, Package, Tree, remove_all as clear};
use super::error::{Error, Result, While as _};
use super::installed::{Installed, directory, installed_in, names};
use super::progress::Progress;
use super::release::{self, DebianRelease, Standard};

/// The set that every installation has.
pub(super) const BASE: &str = "hip";
/// apt's state in the folder of the installations, while one is being made.
pub(super) const STATE: &str = ".apt";
/// The lock of the folder of the installations.
const LOCK: &str = ".lock";

/// Makes installations in one folder, a folder each.
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
    /// Installs into `folder`, which is created when it is needed. A search finds installations there where `ROCM_SDK_INSTALL_DIR`
    /// names it.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), archive: None }
    }

    /// Installs where every search looks: `ROCM_SDK_INSTALL_DIR`, else `rocm-sdk` in the user's data folder.
    ///
    /// # Errors
    /// [`Error::Setting`] if the environment names no such folder.
    pub fn standard() -> Result<Self> {
        directory().map(Self::new)
    }

    /// Takes packages from `archive` and trusts its keys, instead of [`Archive::of_this_machine`].
    pub fn archive(mut self, archive: Archive) -> Self {
        self.archive = Some(archive);
        self
    }

    /// The folder of the installations.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A release to be installed: `5.7`, `6.4`, `7.2`.
    ///
    /// # Errors
    /// [`Error::UnknownRelease`] tells the releases that there are.
    pub fn release(self, name: &str) -> Result<Request> {
        let release = release::release(name)?;
        Ok(Request { installer: self, release, libraries: Vec::new(), update: false })
    }

    /// The complete installations in the folder, newest release first.
    ///
    /// # Errors
    /// As [`installed`](super::installed).
    pub fn installed(&self) -> Result<Vec<Installed>> {
        installed_in(&self.folder)
    }

    /// Removes an installation, with nothing left of it; of one that was cut off, too, and of its downloads where it was the only one.
    /// Programs that have its libraries open go on.
    ///
    /// # Errors
    /// [`Error::NotInstalled`]; [`Error::Io`].
    pub fn remove(&self, release: &str, progress: &mut dyn Progress) -> Result<Installed> {
        let folder = absolute(&self.folder)?;
        let find = || Installed::find_in_any_state(&folder, release);
        // Before the lock, so that nothing is created where nothing is.
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

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Request {
    installer: Installer,
    release: &'static DebianRelease,
    libraries: Vec<String>,
    update: bool,
}

/// What came of a [`Request`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The installation.
    pub installed: Installed,
    /// The packages that were added or replaced; none if all was there already.
    pub added: Vec<Package>,
}

impl Request {
    /// Libraries beside HIP, HIPRTC and what these need, each with what it needs itself and its headers: by their short names
    /// (`rocblas`, `hipsparse`, `rccl`; see [`libraries`](crate::libraries)), or Debian's names without `lib` and number.
    pub fn with<S: Into<String>>(mut self, libraries: impl IntoIterator<Item = S>) -> Self {
        self.libraries.extend(libraries.into_iter().map(Into::into));
        self
    }

    /// Whether to replace what is there by the newest packages of the release that the archive has, with the libraries that were
    /// installed already and those asked for now.
    pub fn update(mut self, update: bool) -> Self {
        self.update = update;
        self
    }

    /// Installs what is missing yet: downloads, verifies, unpacks; waits for another installation into the same folder to end. Nothing
    /// is written outside that folder, no script of a package runs, and nothing changes before all is complete.
    ///
    /// # Errors
    /// Any of [`Error`]. An installation that was there is then as it was, and what was downloaded is used by the next run.
    pub fn run(&self, progress: &mut dyn Progress) -> Result<Outcome> {
        let folder = absolute(&self.installer.folder)?;
        self.libraries.iter().try_for_each(|name| release::check_name(name))?;
        let libraries = self.libraries.iter().map(|name| release::short_name(name));
        let libraries = libraries.filter(|name| !release::IN_BASE.contains(&name.as_str()));
        let mut sets: Vec<String> = std::iter::once(BASE.to_owned()).chain(libraries).collect();
        if let Some(installed) = self.already(&folder, &sets)? {
            return Ok(Outcome { installed, added: Vec::new() });
        }
        debian::tools()?;
        let archive = match &self.installer.archive {
            Some(archive) => archive.clone(),
            None => Archive::of_this_machine()?,
        };
        let lock = Lock::hold(&folder.join(LOCK), progress)?;
        // Whoever was waited for may have installed it.
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
        // Lists of 200 MB, out of date by the next time.
        clear(&state)?;
        Ok(Outcome { installed: Installed::find(&folder, self.release.name)?, added })
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
