//! Expanding the devel wheel (feature `devel`).
//!
//! `pip install rocm[devel]` installs ROCm's headers, CMake files, static libraries and compilers as one archive in the
//! package `rocm_sdk_devel`, because a wheel cannot contain symbolic links. [`Devel::expand`] unpacks it to the tree
//! `_rocm_sdk_devel`, next to the wheels with the libraries. Files of these wheels are linked, and take no space.
//! Python's `rocm-sdk init` does the same; each recognises the result of the other, and they wait for each other.
//!
//! - Symbolic links to files become hard links, so that programs and libraries that search their own directory find the
//!   files of the devel tree. The compiler drivers in `bin` stay symbolic links, because they must search
//!   `lib/llvm/bin`. So do links to directories, links to files that are not installed, and all links if the file
//!   system does not support hard links.
//! - Expanded files are added to the wheel's RECORD, so that `pip uninstall` removes them.
//! - Files of `rocm-sdk-device-*` wheels are linked in, also when such a wheel is installed later: expand again.
//! - A run that is killed at any moment leaves the archive in place: the next run starts over. (As with pip, a power
//!   cut can lose what was just written.)
//! - The archive is not trusted: names and links that lead out of the tree, devices and pipes are rejected, and then
//!   nothing is kept.
//!
//! ```no_run
//! use rocm_sdk::{Search, devel::Devel};
//!
//! let devel = Devel::find(&Search::standard())?;
//! let expansion = devel.expand(&mut |progress| eprint!("\r{}/{}", progress.done, progress.total))?;
//! println!("headers are in {}", expansion.root.join("include").display());
//! # Ok::<(), rocm_sdk::devel::Error>(())
//! ```

mod archive;
mod device;
mod error;
mod lock;
mod names;
mod progress;
mod record;
mod unpack;
mod wheel;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use error::Error;
pub use progress::{Progress, Skipped, Step};

use lock::Lock;
use record::Record;
use rocm_loader::Search;
use rocm_loader::folders::names_in;
use unpack::Unpacked;
use wheel::Wheel;

/// Names of the new tree while it is built, and of the old one while it is replaced. They are at the depth of the tree
/// itself, so that relative links have the same meaning.
const PARTIAL: &str = ".rocm_sdk_devel.partial";
const REPLACED: &str = ".rocm_sdk_devel.replaced";

/// An installed devel wheel, expanded or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Devel {
    site_packages: PathBuf,
}

/// The result of [`Devel::expand`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Expansion {
    /// The expanded tree.
    pub root: PathBuf,
    /// Whether this call unpacked the archive; the four numbers below are 0 and empty if not.
    pub unpacked: bool,
    /// Files that were written.
    pub files: usize,
    /// Hard links that were made.
    pub hard_links: usize,
    /// Symbolic links that were made.
    pub symlinks: usize,
    /// Links whose target is missing, mostly in wheels that are not installed; relative to site-packages. They work as
    /// soon as such a wheel is installed. When pip uninstalls the devel wheel, it leaves links that are still dangling.
    pub dangling: Vec<PathBuf>,
    /// Files of device wheels that this call linked.
    pub device_links: usize,
    /// The files and wheels that were skipped, with the reasons.
    pub skipped: Vec<Skipped>,
}

impl Devel {
    /// Returns the devel wheel next to the first installation of the search that has one.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] if there is none.
    pub fn find(search: &Search) -> Result<Self, Error> {
        let mut looked_in: Vec<PathBuf> = Vec::new();
        for installation in search.installations() {
            let is_wheel = installation.root.file_name().is_some_and(|n| n.to_string_lossy().starts_with("_rocm_"));
            let Some(site_packages) = installation.root.parent().filter(|_| is_wheel) else { continue };
            if looked_in.iter().any(|p| p == site_packages) {
                continue;
            }
            if let Ok(devel) = Self::at(site_packages) {
                return Ok(devel);
            }
            looked_in.push(site_packages.to_owned());
        }
        Err(Error::NotInstalled { looked_in })
    }

    /// Returns the devel wheel of this site-packages directory.
    ///
    /// # Errors
    /// [`Error::NotInstalled`] if there is none.
    pub fn at(site_packages: impl AsRef<Path>) -> Result<Self, Error> {
        let given = site_packages.as_ref();
        let site_packages = std::path::absolute(given).unwrap_or_else(|_| given.to_owned());
        let devel = Self { site_packages };
        match devel.package().join("__init__.py").is_file() {
            true => Ok(devel),
            false => Err(Error::NotInstalled { looked_in: vec![devel.site_packages] }),
        }
    }

    /// Returns the directory that the wheel is installed in.
    pub fn site_packages(&self) -> &Path {
        &self.site_packages
    }

    /// Returns the version of the wheel as written there, such as `7.10.0a20251120`.
    pub fn version(&self) -> Option<String> {
        self.wheels().into_iter().next().map(|wheel| wheel.version)
    }

    /// Returns the archive, if it is not expanded yet.
    pub fn archive(&self) -> Option<PathBuf> {
        archive::find(&self.package())
    }

    /// Returns the expanded tree.
    ///
    /// # Errors
    /// [`Error::NotExpanded`], or [`Error::Incomplete`] if there is no archive to expand either.
    pub fn root(&self) -> Result<PathBuf, Error> {
        if let Some(archive) = self.archive() {
            return Err(Error::NotExpanded { archive });
        }
        let is_package = |name: &str| self.site_packages.join(name).join("__init__.py").is_file();
        // If several versions left directories behind, the wheel's own RECORD names the right one.
        let recorded = self.record().and_then(|record| Record::read(&record).ok()).and_then(|record| {
            let mut names: Vec<_> = record.names().filter_map(|name| name.split('/').next()).collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().find(|name| name.starts_with("_rocm_sdk_devel") && is_package(name)).map(str::to_owned)
        });
        let any = || {
            let mut names = names_in(&self.site_packages, |n| n.starts_with("_rocm_sdk_devel") && is_package(n));
            names.sort();
            names.into_iter().next()
        };
        match recorded.or_else(any) {
            Some(name) => Ok(self.site_packages.join(name)),
            None => Err(Error::Incomplete { package: self.package() }),
        }
    }

    /// Expands the archive if necessary, and links files of device wheels that are not linked yet. Blocks until other
    /// processes that do the same have ended. `progress` is called for every quarter of a mebibyte and for every file.
    ///
    /// # Errors
    /// Any error except [`Error::NotInstalled`] and [`Error::NotExpanded`]. The archive is kept; no part of a tree is.
    pub fn expand(&self, progress: &mut dyn FnMut(Progress)) -> Result<Expansion, Error> {
        let mut expansion = Expansion::default();
        if self.archive().is_some() {
            if let Some(unpacked) = self.unpack(progress)? {
                expansion.unpacked = true;
                expansion.files = unpacked.files;
                expansion.hard_links = unpacked.hard_links;
                expansion.symlinks = unpacked.symlinks;
                expansion.dangling = unpacked.dangling;
            }
        }
        expansion.root = self.root()?;
        let (site, version) = (&self.site_packages, self.version());
        expansion.device_links =
            device::link(site, &expansion.root, version.as_deref(), &mut expansion.skipped, progress)?;
        Ok(expansion)
    }

    /// Returns `None` if another process has unpacked it in the meantime.
    fn unpack(&self, progress: &mut dyn FnMut(Progress)) -> Result<Option<Unpacked>, Error> {
        let record = self.record().ok_or_else(|| Error::NoRecord { package: self.package() })?;
        let waiting = || progress(Progress { step: Step::Waiting, done: 0, total: 0 });
        let _lock = Lock::take(&record, false, waiting)?;
        let Some(archive) = self.archive() else { return Ok(None) };
        let partial = Partial::new(self.site_packages.join(PARTIAL))?;
        let unpacked = unpack::unpack(&archive, &self.site_packages, &partial.0, progress)?;
        if !partial.0.join("__init__.py").is_file() {
            let why = "it holds no package with an __init__.py".to_owned();
            return Err(Error::Damaged { archive, why });
        }
        progress(Progress { step: Step::Recording, done: 0, total: unpacked.rows.len() as u64 });
        // Recorded before the tree is moved to its place: a run that is killed here would otherwise leave files that nothing uninstalls.
        let mut rows = Record::read(&record)?;
        unpacked.rows.iter().for_each(|row| rows.add(row));
        rows.write()?;
        partial.move_to(&self.site_packages.join(&unpacked.package), &self.site_packages.join(REPLACED))?;
        // The last step: an existing archive means that the tree is not complete.
        while let Some(archive) = self.archive() {
            fs::remove_file(&archive).map_err(Error::io("remove", &archive))?;
        }
        Ok(Some(unpacked))
    }

    fn package(&self) -> PathBuf {
        self.site_packages.join("rocm_sdk_devel")
    }

    fn record(&self) -> Option<PathBuf> {
        self.wheels().iter().find_map(Wheel::record)
    }

    /// Returns this wheel and the rests of other versions.
    fn wheels(&self) -> Vec<Wheel> {
        let mut wheels = wheel::installed(&self.site_packages);
        wheels.retain(|wheel| wheel.name == "rocm-sdk-devel");
        wheels.sort_by_key(|wheel| wheel.record().is_none());
        wheels
    }
}

/// An unfinished tree; removed on drop.
struct Partial(PathBuf);

impl Partial {
    /// Creates a new one, and removes the rest of a killed run.
    fn new(path: PathBuf) -> Result<Self, Error> {
        remove(&path).map_err(Error::io("remove", &path))?;
        fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(Self(path))
    }

    /// Moves the tree to `place`, and removes the previous one.
    fn move_to(self, place: &Path, aside: &Path) -> Result<(), Error> {
        remove(aside).map_err(Error::io("remove", aside))?;
        let replaces = fs::symlink_metadata(place).is_ok();
        if replaces {
            fs::rename(place, aside).map_err(Error::io("move", place))?;
        }
        if let Err(error) = fs::rename(&self.0, place) {
            if replaces {
                let _ = fs::rename(aside, place);
            }
            return Err(Error::io("create", place)(error));
        }
        // The archive still exists: a failure is reported, and the next run tries again.
        remove(aside).map_err(Error::io("remove", aside))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        let _ = remove(&self.0);
    }
}

/// Removes a tree or a file, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
