//! A folder of unpacked packages: what is in it, adding to it, and running programs with its libraries.
//!
//! `.packages/NAME` says that a package is there completely: version, size and hash of the file it came from, whether
//! its dependencies are there too, and its control stanza. It is written last, so a fetch that was cut off goes on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rustix::fs::{FlockOperation, flock};

use super::apt::{Apt, Selection};
use super::progress;
use super::uris::Package;
use super::{LIBRARIES, LOADER};
use crate::process::{capture, feed};

/// What to put into a tree.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// Packages with all that they depend on.
    pub(crate) roots: Vec<String>,
    /// Packages without what they depend on (headers, whose dependencies are whole compilers).
    pub(crate) alone: Vec<String>,
}

/// A tree of unpacked packages.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    folder: PathBuf,
}

/// One package of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) size: u64,
    pub(crate) sha256: String,
    /// Its dependencies are not there.
    pub(crate) alone: bool,
    control: String,
}

/// What a fetch did.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The packages that were added or replaced.
    pub(crate) packages: Vec<Package>,
}

impl Tree {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A program is started through the tree's own loader, as the tree's libraries go with its libc, not the machine's.
    pub(crate) fn loader(&self) -> PathBuf {
        self.folder.join(LOADER)
    }

    pub(crate) fn libraries(&self) -> PathBuf {
        self.folder.join(LIBRARIES)
    }

    /// The loader and its arguments, up to the program.
    pub(crate) fn launcher(&self) -> Vec<String> {
        vec![
            self.loader().display().to_string(),
            "--library-path".to_owned(),
            self.libraries().display().to_string(),
        ]
    }

    /// The packages that are there completely, by name.
    pub(crate) fn stamps(&self) -> Result<Vec<Stamp>> {
        let folder = self.folder.join(".packages");
        let Ok(listing) = fs::read_dir(&folder) else { return Ok(Vec::new()) };
        let mut paths: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        let read = |path: &PathBuf| {
            let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Stamp::parse(&name, &text).with_context(|| format!("{} is damaged; remove {}", path.display(), self.folder.display()))
        };
        paths.iter().map(read).collect()
    }

    /// What was asked of the tree and is there completely.
    pub(crate) fn sets(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join(".sets")).unwrap_or_default();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// Notes that `sets` are there.
    pub(crate) fn add_sets(&self, sets: &[String]) -> Result<()> {
        let mut all = self.sets();
        all.extend(sets.iter().cloned());
        all.sort();
        all.dedup();
        fs::write(self.folder.join(".sets"), all.join("\n") + "\n").context("noting what is complete")
    }

    /// Holds the trees beside this one against a second fetch until the result is dropped.
    pub(crate) fn lock(&self, state: &Path) -> Result<fs::File> {
        fs::create_dir_all(state).with_context(|| format!("creating {}", state.display()))?;
        fs::create_dir_all(&self.folder).with_context(|| format!("creating {}", self.folder.display()))?;
        let path = state.join("lock");
        let file = fs::File::create(&path).with_context(|| format!("creating {}", path.display()))?;
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            eprintln!("Waiting for another fetch to end");
            flock(&file, FlockOperation::LockExclusive).with_context(|| format!("locking {}", path.display()))?;
        }
        Ok(file)
    }

    /// Removes everything, so that the next fetch starts afresh.
    pub(crate) fn clear(&self) -> Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| format!("removing {}", self.folder.display()))?;
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("creating {}", self.folder.display()))
    }

    /// Downloads and unpacks what is missing of what `wanted` asks for. The caller holds the lock.
    pub(crate) fn fetch(&self, state: &Path, selection: &Selection<'_>, wanted: impl FnOnce(&Apt) -> Result<Wanted>) -> Result<Fetched> {
        let stamps = self.stamps()?;
        let apt = Apt::new(state, selection)?;
        let installed: Vec<String> = stamps.iter().filter(|stamp| !stamp.alone).map(|stamp| stamp.control.clone()).collect();
        apt.set_installed(&installed)?;
        apt.update()?;
        let wanted = wanted(&apt)?;
        let closure = apt.closure(&wanted.roots)?;
        let mut alone = apt.alone(&wanted.alone)?;
        alone.retain(|package| !stamps.iter().any(|stamp| stamp.is(package)));
        apt.download_closure(&wanted.roots, &closure)?;
        apt.download_alone(&alone)?;
        let all: Vec<(Package, bool)> = (closure.into_iter().map(|package| (package, false)))
            .chain(alone.into_iter().map(|package| (package, true)))
            .collect();
        if !all.is_empty() {
            let archives = apt.archives();
            let files: String = all.iter().map(|(package, _)| format!("{}  {}\n", package.sha256, package.file)).collect();
            feed(Command::new("sha256sum").args(["--check", "--quiet"]).current_dir(&archives), &files)
                .with_context(|| format!("a downloaded package is not what apt announced; remove {} and fetch again", archives.display()))?;
            progress::each("Unpacking", &all, |(package, alone)| self.add(&archives, package, *alone))?;
        }
        Ok(Fetched { packages: all.into_iter().map(|(package, _)| package).collect() })
    }

    /// Unpacks one package and stamps it.
    fn add(&self, archives: &Path, package: &Package, alone: bool) -> Result<()> {
        let file = archives.join(&package.file);
        let staging = self.folder.join(".unpacking");
        if staging.exists() {
            fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
        }
        capture(Command::new("dpkg").arg("-x").arg(&file).arg(&staging))?;
        merge(&staging, &self.folder)?;
        fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
        let stamp = Stamp {
            name: package.name.clone(),
            version: package.version.clone(),
            size: package.size,
            sha256: package.sha256.clone(),
            alone,
            control: capture(Command::new("dpkg-deb").arg("-f").arg(&file))?,
        };
        let stamps = self.folder.join(".packages");
        fs::create_dir_all(&stamps)?;
        fs::write(self.folder.join(".stamp"), stamp.text())?;
        fs::rename(self.folder.join(".stamp"), stamps.join(&package.name)).context("stamping a package")?;
        fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))
    }
}

impl Stamp {
    fn is(&self, package: &Package) -> bool {
        self.name == package.name && self.version == package.version && self.sha256 == package.sha256
    }

    fn text(&self) -> String {
        let kind = if self.alone { "alone" } else { "complete" };
        format!("{} {} {} {kind}\n{}", self.version, self.size, self.sha256, self.control)
    }

    fn parse(name: &str, text: &str) -> Result<Self> {
        let (first, control) = text.split_once('\n').context("no control stanza")?;
        let words: Vec<&str> = first.split(' ').collect();
        ensure!(words.len() == 4, "its first line is not `version size hash kind`");
        Ok(Self {
            name: name.to_owned(),
            version: words[0].to_owned(),
            size: words[1].parse().context("the size is no number")?,
            sha256: words[2].to_owned(),
            alone: words[3] == "alone",
            control: control.to_owned(),
        })
    }
}

/// Moves everything under `from` into `to`; folders are merged, files and links replaced.
fn merge(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        // A link to a folder that another package has as a folder (or the other way round) is walked through.
        if entry.file_type()?.is_dir() {
            merge(&entry.path(), &target)?;
        } else {
            fs::rename(entry.path(), &target).with_context(|| format!("moving to {}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> Stamp {
        Stamp {
            name: "libx1".into(),
            version: "1:2.0-3".into(),
            size: 42,
            sha256: "ab".into(),
            alone: true,
            control: "Package: libx1\nDescription: several\n lines\n".into(),
        }
    }

    #[test]
    fn a_stamp_reads_back_and_a_damaged_one_is_an_error() {
        let stamp = stamp();
        assert_eq!(Stamp::parse("libx1", &stamp.text()).unwrap(), stamp);
        assert!(Stamp::parse("libx1", "").is_err());
        assert!(Stamp::parse("libx1", "1 2 3\n").is_err());
        assert!(Stamp::parse("libx1", "1 two 3 alone\n").is_err());
    }

    #[test]
    fn merging_keeps_what_was_there_and_replaces_files() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (path, text) in [("from/usr/lib/a", "new"), ("from/usr/b", "b"), ("to/usr/lib/a", "old"), ("to/usr/lib/c", "c")] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        std::os::unix::fs::symlink("a", from.join("usr/lib/link")).unwrap();
        merge(&from, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!((read("usr/lib/a"), read("usr/lib/c"), read("usr/b"), read("usr/lib/link")), ("new".into(), "c".into(), "b".into(), "new".into()));
    }

    #[test]
    fn sets_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let tree = Tree::new(folder.path().to_owned());
        assert!(tree.sets().is_empty());
        tree.add_sets(&["runtime".into(), "headers".into()]).unwrap();
        tree.add_sets(&["rocblas".into(), "headers".into()]).unwrap();
        assert_eq!(tree.sets(), ["headers", "rocblas", "runtime"]);
    }

    /// Builds a real package and takes it through unpacking, stamping and reading back.
    #[test]
    fn a_package_is_unpacked_and_stamped() {
        if crate::process::find("dpkg-deb").is_none() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir_all(source.join("DEBIAN")).unwrap();
        fs::create_dir_all(source.join("usr/share/x")).unwrap();
        fs::write(source.join("usr/share/x/file"), "content").unwrap();
        let control = "Package: libx1\nVersion: 1.0\nArchitecture: all\nMaintainer: a test <t@example.org>\nDescription: x\n";
        fs::write(source.join("DEBIAN/control"), control).unwrap();
        capture(Command::new("dpkg-deb").arg("-b").arg(&source).arg(folder.path().join("libx1_1.0_all.deb"))).unwrap();
        let package = Package { name: "libx1".into(), version: "1.0".into(), file: "libx1_1.0_all.deb".into(), size: 7, sha256: "00".into() };
        let tree = Tree::new(folder.path().join("tree"));
        fs::create_dir_all(tree.folder()).unwrap();
        tree.add(folder.path(), &package, false).unwrap();
        assert_eq!(fs::read_to_string(tree.folder().join("usr/share/x/file")).unwrap(), "content");
        let stamps = tree.stamps().unwrap();
        assert_eq!(stamps.len(), 1);
        assert!(stamps[0].is(&package) && stamps[0].control.contains("Version: 1.0"), "{stamps:?}");
        assert!(!folder.path().join("libx1_1.0_all.deb").exists(), "the package file has served");
    }
}
