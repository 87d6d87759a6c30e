//! A folder of unpacked packages: its content, and adding packages.
//!
//! The file [`STAMP`] lists the packages: control stanzas as in dpkg's status, with the size and hash of each package
//! file. A tree changes as a whole: a new one is built next to it, with links to the files that stay, and replaces it
//! when it is complete. An interrupted run leaves the tree unchanged, and the next run uses its downloads.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::{Apt, Selection, installed_size};
use super::lock::Lock;
use super::plan::Plan;
use super::sources::Archive;
use super::uris::Package;
use super::{LIBRARIES, LOADER};
use crate::install::command::capture;
use crate::install::error::{Error, Result, While as _};
use crate::install::host;
use crate::install::progress::{Amount, Event, Progress, step};
use rocm_loader::installs::STAMP;

/// Temporary folders next to a tree that is being changed.
const LEFTOVERS: [&str; 3] = ["new", "unpacking", "old"];
/// Space in bytes that apt needs for the package lists of one or two suites, and their caches.
const LISTS: u64 = 300_000_000;

/// The packages that a tree must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Packages with all their dependencies.
    pub roots: Vec<String>,
    /// Packages without their dependencies (headers, whose dependencies are whole compilers).
    pub alone: Vec<String>,
    /// Names of [`Fetch::sets`] that are removed from [`Contents::sets`], because the archive lacks a part of them.
    pub left_out: Vec<String>,
}

impl Wanted {
    /// Adds everything that `other` contains.
    pub fn add(&mut self, other: Self) {
        self.roots.extend(other.roots);
        self.alone.extend(other.alone);
        self.left_out.extend(other.left_out);
    }
}

/// The input of [`Tree::fetch`].
#[derive(Debug)]
pub struct Fetch<'a> {
    /// Folder of apt's state, an absolute path. Trees may share it, under one lock.
    pub state: &'a Path,
    /// Keeps other processes from the tree and from apt's state.
    pub lock: &'a Lock,
    /// The source of the packages.
    pub archive: &'a Archive,
    /// The suites and versions to use.
    pub selection: Selection<'a>,
    /// Names of the requested sets, which [`Contents::sets`] contains afterwards.
    pub sets: &'a [String],
    /// Whether to start with an empty tree instead of adding to the existing one.
    pub afresh: bool,
}

impl<'a> Fetch<'a> {
    /// Returns apt with lists that are up to date, and the packages of `contents` as the installed ones.
    fn apt(&self, contents: &Contents, progress: &mut dyn Progress) -> Result<Apt<'a>> {
        fs::create_dir_all(self.state).while_(|| format!("creating {}", self.state.display()))?;
        if !self.state.join("lists").exists() {
            room(self.state, LISTS)?;
        }
        let apt = Apt::new(self.state, self.lock, &self.selection, self.archive)?;
        apt.set_installed(contents.packages.iter().filter(|stamp| !stamp.alone).map(|stamp| stamp.control.as_str()))?;
        apt.update(progress)?;
        Ok(apt)
    }

    /// Updates the package lists, and returns the result of `ask`. Nothing is downloaded besides the lists.
    ///
    /// # Errors
    /// Those of `ask`, and any of [`Error`].
    pub fn ask<T>(&self, progress: &mut dyn Progress, ask: impl FnOnce(&Apt<'_>) -> Result<T>) -> Result<T> {
        let answer = self.apt(&Contents::default(), progress).and_then(|apt| ask(&apt));
        answer.map_err(|error| error.or_full(self.state, || host::free_space(self.state).ok()))
    }
}

/// Chooses the packages for a request.
pub trait Recipe {
    /// Chooses the packages.
    ///
    /// # Errors
    /// If there are no suitable packages.
    fn wanted(&self, apt: &Apt<'_>) -> Result<Wanted>;

    /// Adds or removes files in the new tree at `folder`, which is complete otherwise. Files may be shared with the old
    /// tree: replace them instead of writing to them.
    ///
    /// # Errors
    /// If an operation fails.
    fn finish(&self, folder: &Path, contents: &Contents) -> Result<()> {
        let _ = (folder, contents);
        Ok(())
    }
}

/// A tree of unpacked packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    folder: PathBuf,
}

/// The content of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// The requested sets.
    pub sets: Vec<String>,
    /// The packages, by name.
    pub packages: Vec<Stamp>,
}

/// One package of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Name, such as `libamdhip64-7`.
    pub name: String,
    /// Full version, such as `1:22.1.8-3`.
    pub version: String,
    /// Size of the package's file in bytes.
    pub size: u64,
    /// SHA-256 of the package's file, in hexadecimal.
    pub sha256: String,
    /// Whether it was installed without its dependencies.
    pub alone: bool,
    /// Its control stanza.
    control: String,
}

impl Tree {
    /// Creates a tree at `folder`, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the tree's own loader. Programs are started through it, since the tree's libraries need the tree's libc,
    /// not the machine's.
    pub fn loader(&self) -> PathBuf {
        self.folder.join(LOADER)
    }

    /// Returns the folder of its libraries.
    pub fn libraries(&self) -> PathBuf {
        self.folder.join(LIBRARIES)
    }

    /// Returns the loader and its arguments, up to the program.
    pub fn launcher(&self) -> Vec<String> {
        vec![self.loader().display().to_string(), "--library-path".to_owned(), self.libraries().display().to_string()]
    }

    /// Returns its content; empty if the tree does not exist.
    ///
    /// # Errors
    /// [`Error::Damaged`]; [`Error::Io`].
    pub fn contents(&self) -> Result<Contents> {
        let path = self.folder.join(STAMP);
        match fs::read_to_string(&path) {
            Ok(text) => Contents::parse(&text).map_err(|why| Error::Damaged { path, why: why.to_owned() }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(error) => Err(error).while_(|| format!("reading {}", path.display())),
        }
    }

    /// Downloads and unpacks the missing packages that `recipe` wants. Returns the packages that were added or
    /// replaced.
    ///
    /// # Errors
    /// Any of [`Error`]; the tree is then unchanged.
    pub fn fetch(&self, fetch: &Fetch<'_>, recipe: &dyn Recipe, progress: &mut dyn Progress) -> Result<Vec<Package>> {
        self.fetch_missing(fetch, recipe, progress).map_err(|error| {
            let space = |folder: &Path| host::free_space(folder).ok();
            // The lists and downloads can be on another disk than the tree.
            let folders = [Some(fetch.state), self.folder.parent()].into_iter().flatten();
            let fullest = folders.min_by_key(|folder| space(folder).unwrap_or(u64::MAX)).unwrap_or(fetch.state);
            let error = error.or_full(fullest, || space(fullest));
            if matches!(error, Error::Full { .. }) {
                // They are of no use to the next run, and take space.
                let _ = self.clear_leftovers();
            }
            error
        })
    }

    fn fetch_missing(
        &self,
        fetch: &Fetch<'_>,
        recipe: &dyn Recipe,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Package>> {
        self.check_ours()?;
        self.clear_leftovers()?;
        let mut contents = if fetch.afresh { Contents::default() } else { self.contents()? };
        let parent = self.beside("")?.parent().unwrap_or(&self.folder).to_owned();
        fs::create_dir_all(&parent).while_(|| format!("creating {}", parent.display()))?;
        let apt = fetch.apt(&contents, progress)?;
        let wanted = recipe.wanted(&apt)?;
        let closure = apt.closure(&wanted.roots)?;
        let alone = still_alone(apt.alone(&wanted.alone)?, &closure, &contents);
        let packages: Vec<Package> = closure.iter().chain(&alone).cloned().collect();

        let plan = self.plan(&apt, packages, &parent)?;
        if !plan.packages.is_empty() && !progress.approve(&plan) {
            return Err(Error::Declined);
        }
        room(&parent, plan.needed().saturating_add(plan.needed() / 50))?;
        apt.download_closure(&wanted.roots, &closure, progress)?;
        apt.download_alone(&alone, progress)?;
        let archives = apt.archives();
        step(progress, "Verifying", None, |_| verify(&archives, &plan.packages))?;
        let new = self.begin(fetch.afresh)?;
        step(progress, "Unpacking", Some(Amount::Packages(plan.packages.len() as u64)), |progress| {
            for (n, package) in plan.packages.iter().enumerate() {
                contents.add(self.unpack(&archives, package, n >= closure.len(), &new)?);
                progress.event(Event::Advance(n as u64 + 1));
            }
            Ok(())
        })?;
        contents.add_sets(fetch.sets.iter().filter(|set| !wanted.left_out.contains(set)));
        recipe.finish(&new, &contents)?;
        self.commit(&new, &contents)?;
        for package in &plan.packages {
            let file = archives.join(&package.file);
            fs::remove_file(&file).while_(|| format!("removing {}", file.display()))?;
        }
        Ok(plan.packages)
    }

    fn plan(&self, apt: &Apt<'_>, packages: Vec<Package>, parent: &Path) -> Result<Plan> {
        let total: u64 = packages.iter().map(|package| package.size).sum();
        Ok(Plan {
            folder: self.folder.clone(),
            download: total.saturating_sub(apt.arrived(&packages)),
            unpacked: apt.unpacked_size(packages.iter())?,
            free: free(parent)?,
            packages,
        })
    }

    /// Creates the folder of the new tree next to the tree, with the content of the old one unless `afresh` is set.
    fn begin(&self, afresh: bool) -> Result<PathBuf> {
        let new = self.beside("new")?;
        match afresh || !self.folder.exists() {
            true => fs::create_dir(&new).while_(|| format!("creating {}", new.display()))?,
            false => link_tree(&self.folder, &new)?,
        }
        Ok(new)
    }

    /// Writes the list of the new tree's packages, last of all, and moves it to its place.
    fn commit(&self, new: &Path, contents: &Contents) -> Result<()> {
        replace(&new.join(STAMP), &contents.text())?;
        host::sync(new).while_(|| format!("writing {}", new.display()))?;
        self.put_in_place(new)
    }

    /// Replaces the old tree by the new one.
    fn put_in_place(&self, new: &Path) -> Result<()> {
        let old = self.beside("old")?;
        let doing = || format!("moving {} to {}", new.display(), self.folder.display());
        if self.folder.exists() && host::exchange(new, &self.folder).is_ok() {
            fs::rename(new, &old).while_(doing)?;
        } else {
            if self.folder.exists() {
                fs::rename(&self.folder, &old).while_(doing)?;
            }
            fs::rename(new, &self.folder).while_(doing)?;
        }
        remove_all(&old)
    }

    /// Removes the tree. It disappears at once for other processes.
    ///
    /// # Errors
    /// [`Error::Setting`] if the folder was not made by [`fetch`](Self::fetch); [`Error::Io`].
    pub fn remove(&self) -> Result<()> {
        self.check_ours()?;
        self.clear_leftovers()?;
        let old = self.beside("old")?;
        if self.folder.exists() {
            fs::rename(&self.folder, &old).while_(|| format!("removing {}", self.folder.display()))?;
        }
        remove_all(&old)
    }

    /// Fails if another program made the folder.
    fn check_ours(&self) -> Result<()> {
        let Ok(data) = fs::symlink_metadata(&self.folder) else { return Ok(()) };
        let empty = || fs::read_dir(&self.folder).is_ok_and(|mut entries| entries.next().is_none());
        if data.is_dir() && (self.folder.join(STAMP).is_file() || empty()) {
            return Ok(());
        }
        Err(Error::setting(
            self.folder.display().to_string(),
            format!("there is something that was not put there by an installation (it has no {STAMP}); move it away"),
        ))
    }

    /// Removes temporary folders of interrupted runs.
    fn clear_leftovers(&self) -> Result<()> {
        LEFTOVERS.into_iter().try_for_each(|kind| remove_all(&self.beside(kind)?))
    }

    /// Returns whether an interrupted run left temporary folders.
    pub(crate) fn has_leftovers(&self) -> bool {
        LEFTOVERS.into_iter().any(|kind| self.beside(kind).is_ok_and(|folder| folder.exists()))
    }

    /// Returns a hidden folder next to the tree, on the same file system and not reachable by a package's content.
    fn beside(&self, kind: &str) -> Result<PathBuf> {
        let name = self.folder.file_name().and_then(|name| name.to_str()).filter(|_| self.folder.is_absolute());
        match name {
            Some(name) => Ok(self.folder.with_file_name(format!(".{name}.{kind}"))),
            None => Err(Error::setting(self.folder.display().to_string(), "not an absolute path of a folder")),
        }
    }

    /// Unpacks one package over the content of `to`. No script of it runs.
    fn unpack(&self, archives: &Path, package: &Package, alone: bool, to: &Path) -> Result<Stamp> {
        let file = archives.join(&package.file);
        let staging = self.beside("unpacking")?;
        remove_all(&staging)?;
        let dpkg = |option: &str| {
            let mut command = Command::new("dpkg-deb");
            command.arg(option).arg(&file).env_remove("TAR_OPTIONS").env("TMPDIR", archives).env("LC_ALL", "C");
            command
        };
        let hostile = |why: String| Error::Hostile { package: package.file.clone(), why };
        capture(dpkg("-x").arg(&staging)).map_err(|error| match error {
            Error::Command { said, .. } => hostile(said),
            other => other,
        })?;
        let root = fs::canonicalize(to).while_(|| format!("reading {}", to.display()))?;
        merge(&staging, to, &root).map_err(|error| match error {
            Trouble::Hostile(why) => hostile(why),
            Trouble::Other(error) => error,
        })?;
        remove_all(&staging)?;
        Ok(Stamp {
            name: package.name.clone(),
            version: package.version.clone(),
            size: package.size,
            sha256: package.sha256.clone(),
            alone,
            control: capture(&mut dpkg("-f"))?.trim_end().to_owned(),
        })
    }
}

/// Removes a folder with its content, if it exists.
pub(crate) fn remove_all(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).while_(|| format!("removing {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Writes a new file in place of an old one: hard links to the old file keep its content.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let new = path.with_extension("new");
    let doing = || format!("writing {}", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).while_(doing)?;
    }
    let _ = fs::remove_file(&new);
    fs::write(&new, text).while_(doing)?;
    fs::rename(&new, path).while_(doing)
}

fn free(folder: &Path) -> Result<u64> {
    host::free_space(folder).while_(|| format!("asking for the free space in {}", folder.display()))
}

fn room(folder: &Path, needed: u64) -> Result<()> {
    let free = free(folder)?;
    match free >= needed {
        true => Ok(()),
        false => Err(Error::Space { folder: folder.to_owned(), needed, free }),
    }
}

/// Returns the packages that are wanted without their dependencies, each once, except those in the closure or in the
/// tree.
fn still_alone(alone: Vec<Package>, closure: &[Package], contents: &Contents) -> Vec<Package> {
    let mut left: Vec<Package> = Vec::new();
    for package in alone {
        let there = contents.packages.iter().any(|stamp| stamp.is(&package));
        if !there && closure.iter().chain(&left).all(|other| other.name != package.name) {
            left.push(package);
        }
    }
    left
}

/// Checks the files against the hashes of the signed lists: apt itself does not check files that are already
/// downloaded. A wrong file is removed, so that the next run downloads it again.
fn verify(archives: &Path, packages: &[Package]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let files = packages.iter().map(|package| &package.file);
    let sums = capture(Command::new("sha256sum").args(files).current_dir(archives).env("LC_ALL", "C"))?;
    let right = |package: &&Package| {
        let announced = format!("{}  {}", package.sha256, package.file);
        sums.lines().any(|line| line == announced)
    };
    let wrong: Vec<&Package> = packages.iter().filter(|package| !right(package)).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = wrong.iter().map(|package| package.file.as_str()).collect();
    for name in &names {
        let _ = fs::remove_file(archives.join(name));
    }
    Err(Error::Untrusted {
        mirror: archives.display().to_string(),
        why: format!("different from the signed package list, and removed: {}", names.join(", ")),
    })
}

impl Contents {
    /// Returns the size of all package files in bytes.
    pub fn size(&self) -> u64 {
        self.packages.iter().map(|stamp| stamp.size).sum()
    }

    /// Returns the unpacked size of the packages in bytes, according to the packages.
    pub fn unpacked(&self) -> u64 {
        self.packages.iter().map(|stamp| installed_size(&stamp.control)).fold(0, u64::saturating_add)
    }

    /// Returns the package with this name.
    pub fn package(&self, name: &str) -> Option<&Stamp> {
        self.packages.iter().find(|stamp| stamp.name == name)
    }

    fn add(&mut self, stamp: Stamp) {
        self.packages.retain(|old| old.name != stamp.name);
        self.packages.push(stamp);
        self.packages.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn add_sets<'a>(&mut self, sets: impl Iterator<Item = &'a String>) {
        self.sets.extend(sets.cloned());
        self.sets.sort();
        self.sets.dedup();
    }

    fn text(&self) -> String {
        let mut text = format!("Sets: {}\n", self.sets.join(" "));
        for stamp in &self.packages {
            let kind = if stamp.alone { "alone" } else { "complete" };
            let _ = write!(text, "\nFetched: {} {} {kind}\n{}\n", stamp.size, stamp.sha256, stamp.control);
        }
        text
    }

    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut stanzas = text.split("\n\n");
        let sets = stanzas.next().and_then(|first| first.strip_prefix("Sets:")).ok_or("no sets")?;
        let packages = stanzas.map(Stamp::parse).collect::<Result<_, _>>()?;
        Ok(Self { sets: sets.split_whitespace().map(str::to_owned).collect(), packages })
    }
}

impl Stamp {
    fn is(&self, package: &Package) -> bool {
        self.name == package.name && self.version == package.version && self.sha256 == package.sha256
    }

    fn parse(stanza: &str) -> Result<Self, &'static str> {
        let (first, control) = stanza.split_once('\n').ok_or("a package without a control stanza")?;
        let words: Vec<&str> = first.split_whitespace().collect();
        let &["Fetched:", size, sha256, kind] = &words[..] else {
            return Err("a package without `Fetched: size hash kind`");
        };
        let field = |name: &str| {
            let value = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(|value| value.trim().to_owned())
        };
        Ok(Self {
            name: field("Package").ok_or("a package without Package")?,
            version: field("Version").ok_or("a package without Version")?,
            size: size.parse().map_err(|_| "the size is not a number")?,
            sha256: sha256.to_owned(),
            alone: kind == "alone",
            control: control.trim_end().to_owned(),
        })
    }
}

/// Makes a copy of the tree `from` at `to`, of hard links, or copies if links are not possible.
fn link_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to).while_(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).while_(|| format!("reading {}", from.display()))? {
        let entry = entry.while_(|| format!("reading {}", from.display()))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let doing = || format!("copying {} to {}", source.display(), target.display());
        let kind = entry.file_type().while_(doing)?;
        if kind.is_dir() {
            link_tree(&source, &target)?;
        } else if kind.is_symlink() {
            host::copy_link(&source, &target).while_(doing)?;
        } else if fs::hard_link(&source, &target).is_err() {
            fs::copy(&source, &target).while_(doing)?;
        }
    }
    Ok(())
}

enum Trouble {
    Hostile(String),
    Other(Error),
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Moves everything under `from` into `to`, a folder of the tree `root`. Folders are merged, files and links replaced.
/// If another package has a link in place of a folder, the link is followed within the tree, and never out of it.
fn merge(from: &Path, to: &Path, root: &Path) -> Result<(), Trouble> {
    for entry in fs::read_dir(from).while_(|| format!("reading {}", from.display()))? {
        let entry = entry.while_(|| format!("reading {}", from.display()))?;
        let (source, mut target) = (entry.path(), to.join(entry.file_name()));
        let data = entry.metadata().while_(|| format!("reading {}", source.display()))?;
        let doing = || format!("moving {} to {}", source.display(), to.display());
        if data.is_dir() {
            if fs::symlink_metadata(&target).is_ok_and(|data| data.is_symlink()) {
                let resolved = fs::canonicalize(&target).ok().filter(|path| path.starts_with(root) && path.is_dir());
                target = resolved.ok_or_else(|| {
                    Trouble::Hostile(format!(
                        "its folder {} would be written through a link that leaves the tree",
                        target.display()
                    ))
                })?;
            } else if !target.is_dir() {
                fs::create_dir(&target).while_(doing)?;
            }
            merge(&source, &target, root)?;
        } else if data.is_file() || data.is_symlink() {
            if data.is_file() {
                host::drop_special_rights(&source, &data).while_(doing)?;
            }
            fs::rename(&source, &target).while_(doing)?;
        } else {
            return Err(Trouble::Hostile(format!("{} is neither file, folder nor link", source.display())));
        }
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const CONTROL: &str = "Package: libx1\nVersion: 1:2.0-3\nDescription: several\n lines\n .\n more";

    fn stamp() -> Stamp {
        Stamp {
            name: "libx1".into(),
            version: "1:2.0-3".into(),
            size: 42,
            sha256: "ab".into(),
            alone: true,
            control: CONTROL.into(),
        }
    }

    #[test]
    fn a_package_that_is_wanted_twice_is_fetched_once() {
        let package = |name: &str| Package {
            name: name.to_owned(),
            version: "1:2.0-3".to_owned(),
            file: format!("{name}.deb"),
            size: 1,
            sha256: "ab".to_owned(),
        };
        let mut contents = Contents::default();
        contents.add(stamp());
        let alone = ["libx1", "liba1", "libb1", "libb1"].map(package).to_vec();
        let left = still_alone(alone, &[package("liba1")], &contents);
        assert_eq!(left.iter().map(|package| package.name.as_str()).collect::<Vec<_>>(), ["libb1"]);
    }

    #[test]
    fn contents_read_back_and_damage_is_an_error() {
        let mut contents = Contents::default();
        contents.add(Stamp {
            name: "other".into(),
            control: CONTROL.replace("libx1", "other"),
            alone: false,
            ..stamp()
        });
        contents.add(stamp());
        contents.add(stamp());
        contents.add_sets(["hip".to_owned(), "rocfft".to_owned()].iter());
        contents.add_sets(["hip".to_owned()].iter());
        let read = Contents::parse(&contents.text()).unwrap();
        assert_eq!(read, contents);
        assert_eq!((read.sets.len(), read.packages.len(), read.size()), (2, 2, 84));
        for bad in
            ["", "Sets: hip\n\nFetched: 1 2\nPackage: x\nVersion: 1\n", "Sets:\n\nFetched: 1 2 alone\nPackage: x\n"]
        {
            assert!(Contents::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_tree_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Tree::new(folder.path().join("none")).contents().unwrap(), Contents::default());
    }

    #[test]
    fn merging_keeps_what_was_there_and_replaces_files() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let files = [("from/usr/lib/a", "new"), ("from/usr/b", "b"), ("to/usr/lib/a", "old"), ("to/usr/lib/c", "c")];
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("a", from.join("usr/lib/link")).unwrap();
        merge(&from, &to, &fs::canonicalize(&to).unwrap()).unwrap_or_else(|_| panic!("not merged"));
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(["usr/lib/a", "usr/lib/c", "usr/b", "usr/lib/link"].map(read), ["new", "c", "b", "new"]);
    }

    /// Builds a real package, checks and unpacks it, and records it.
    #[test]
    fn a_package_is_verified_and_unpacked() {
        if crate::install::command::find("dpkg-deb").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir_all(source.join("DEBIAN")).unwrap();
        fs::create_dir_all(source.join("usr/share/x")).unwrap();
        fs::write(source.join("usr/share/x/file"), "content").unwrap();
        let control =
            "Package: libx1\nVersion: 1.0\nArchitecture: all\nMaintainer: a test <t@example.org>\nDescription: x\n";
        fs::write(source.join("DEBIAN/control"), control).unwrap();
        let file = folder.path().join("libx1_1.0_all.deb");
        capture(Command::new("dpkg-deb").arg("-b").arg(&source).arg(&file)).unwrap();
        let sum = capture(Command::new("sha256sum").arg(&file)).unwrap();
        let package = Package {
            name: "libx1".into(),
            version: "1.0".into(),
            file: "libx1_1.0_all.deb".into(),
            size: 7,
            sha256: sum[..64].to_owned(),
        };
        let wrong = Package { sha256: "0".repeat(64), ..package.clone() };
        verify(folder.path(), std::slice::from_ref(&package)).unwrap();

        let tree = Tree::new(folder.path().join("tree"));
        let new = tree.begin(false).unwrap();
        let stamp = tree.unpack(folder.path(), &package, false, &new).unwrap();
        assert!(stamp.is(&package) && stamp.control.contains("Version: 1.0"), "{stamp:?}");
        assert_eq!(fs::read_to_string(new.join("usr/share/x/file")).unwrap(), "content");
        assert_eq!(tree.contents().unwrap(), Contents::default(), "nothing is there before all is");
        tree.commit(&new, &Contents { sets: vec!["x".into()], packages: vec![stamp.clone()] }).unwrap();
        assert_eq!(tree.contents().unwrap().package("libx1"), Some(&stamp));
        assert!(!new.exists() && tree.folder().join("usr/share/x/file").exists());

        // A file that differs from the announced one is rejected and removed, so that it is downloaded again.
        let error = verify(folder.path(), &[wrong]).unwrap_err().to_string();
        assert!(error.contains("libx1_1.0_all.deb") && !file.exists(), "{error}");
    }

    #[test]
    fn a_new_tree_shares_what_stays_and_leaves_the_old_one_alone() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path().join("7.2"));
        let new = tree.begin(false).unwrap();
        fs::create_dir_all(new.join("usr/lib")).unwrap();
        fs::write(new.join("usr/lib/kept"), "kept").unwrap();
        replace(&new.join("usr/.info/version"), "1\n").unwrap();
        std::os::unix::fs::symlink("kept", new.join("usr/lib/link")).unwrap();
        tree.commit(&new, &Contents::default()).unwrap();

        let open = fs::File::open(tree.folder().join("usr/.info/version")).unwrap();
        let new = tree.begin(false).unwrap();
        replace(&new.join("usr/.info/version"), "2\n").unwrap();
        let version = |tree: &Path| fs::read_to_string(tree.join("usr/.info/version")).unwrap();
        assert_eq!((version(tree.folder()), version(&new)), ("1\n".into(), "2\n".into()));
        tree.commit(&new, &Contents::default()).unwrap();
        assert_eq!(version(tree.folder()), "2\n");
        assert_eq!(std::io::read_to_string(open).unwrap(), "1\n");
        assert_eq!(fs::read_to_string(tree.folder().join("usr/lib/link")).unwrap(), "kept");
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["7.2"], "nothing is left beside it");

        let afresh = tree.begin(true).unwrap();
        assert!(!afresh.join("usr").exists());
        tree.remove().unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_somebody_else_put_there_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path().join("7.2"));
        tree.check_ours().unwrap();
        fs::create_dir(tree.folder()).unwrap();
        tree.check_ours().unwrap();
        fs::write(tree.folder().join("thesis.tex"), "years of work").unwrap();
        let error = tree.remove().unwrap_err().to_string();
        assert!(error.contains("move it away") && tree.folder().join("thesis.tex").exists(), "{error}");
        assert!(Tree::new("relative".into()).beside("new").is_err());
    }

    #[test]
    fn links_are_followed_within_the_tree_and_not_out_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
        for path in [root.join("usr/lib"), outside.clone()] {
            fs::create_dir_all(path).unwrap();
        }
        std::os::unix::fs::symlink("usr/lib", root.join("lib")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("etc")).unwrap();
        std::os::unix::fs::symlink("../../outside", root.join("usr/share")).unwrap();
        let from = |path: &str| {
            let from = tempfile::tempdir().unwrap();
            fs::create_dir_all(from.path().join(path)).unwrap();
            fs::write(from.path().join(path).join("file"), "x").unwrap();
            merge(from.path(), &root, &fs::canonicalize(&root).unwrap())
        };
        assert!(from("lib").is_ok() && root.join("usr/lib/file").exists());
        for path in ["etc", "etc/deep", "usr/share"] {
            assert!(matches!(from(path), Err(Trouble::Hostile(why)) if why.contains("leaves the tree")), "{path}");
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }

    #[test]
    fn a_program_that_ran_as_root_does_so_no_more() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        fs::write(from.join("su"), "").unwrap();
        fs::set_permissions(from.join("su"), fs::Permissions::from_mode(0o4755)).unwrap();
        assert!(merge(&from, &to, &to).is_ok());
        assert_eq!(fs::metadata(to.join("su")).unwrap().permissions().mode() & 0o7777, 0o755);
    }
}
