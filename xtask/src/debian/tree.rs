//! A folder of unpacked packages: what is in it, adding to it, and running programs with its libraries.
//!
//! The file `.packages` says which packages are there completely: control stanzas as in dpkg's status, with the size
//! and hash of the file that each came from. It is replaced as a whole, last: a fetch that was cut off leaves it as it
//! was, and its downloads where the next fetch finds them.

use std::fmt::Write as _;
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

/// What is in a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    /// What was asked for.
    pub(crate) sets: Vec<String>,
    /// The packages, by name.
    pub(crate) packages: Vec<Stamp>,
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
    /// Its control stanza.
    control: String,
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
        vec![self.loader().display().to_string(), "--library-path".to_owned(), self.libraries().display().to_string()]
    }

    /// What is there completely; nothing, if there is no tree.
    pub(crate) fn contents(&self) -> Result<Contents> {
        let path = self.folder.join(".packages");
        match fs::read_to_string(&path) {
            Ok(text) => Contents::parse(&text)
                .with_context(|| format!("{} is damaged; remove {}", path.display(), self.folder.display())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Contents::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// Holds all trees that are fetched with this apt state until the result is dropped.
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

    /// Downloads and unpacks what is missing of `sets`, which `wanted` turns into packages. Returns the packages that
    /// were added or replaced. The caller holds the lock.
    pub(crate) fn fetch(
        &self,
        state: &Path,
        selection: &Selection<'_>,
        sets: &[String],
        wanted: impl FnOnce(&Apt) -> Result<Wanted>,
    ) -> Result<Vec<Package>> {
        let mut contents = self.contents()?;
        let apt = Apt::new(state, selection)?;
        apt.set_installed(contents.packages.iter().filter(|stamp| !stamp.alone).map(|stamp| stamp.control.as_str()))?;
        apt.update()?;
        let wanted = wanted(&apt)?;
        let closure = apt.closure(&wanted.roots)?;
        let mut alone = apt.alone(&wanted.alone)?;
        alone.retain(|package| !contents.packages.iter().any(|stamp| stamp.is(package)));
        apt.download_closure(&wanted.roots, &closure)?;
        apt.download_alone(&alone)?;
        let archives = apt.archives();
        let all: Vec<(Package, bool)> = (closure.into_iter().map(|package| (package, false)))
            .chain(alone.into_iter().map(|package| (package, true)))
            .collect();
        verify(&archives, all.iter().map(|(package, _)| package))?;
        progress::each("Unpacking", &all, |(package, alone)| {
            contents.add(self.unpack(&archives, package, *alone)?);
            Ok(())
        })?;
        contents.add_sets(sets);
        self.commit(&contents)?;
        for (package, _) in &all {
            let file = archives.join(&package.file);
            fs::remove_file(&file).with_context(|| format!("removing {}", file.display()))?;
        }
        Ok(all.into_iter().map(|(package, _)| package).collect())
    }

    /// Unpacks one package over what is there.
    fn unpack(&self, archives: &Path, package: &Package, alone: bool) -> Result<Stamp> {
        let file = archives.join(&package.file);
        let staging = self.folder.join(".unpacking");
        if staging.exists() {
            fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
        }
        capture(Command::new("dpkg").arg("-x").arg(&file).arg(&staging))?;
        merge(&staging, &self.folder)?;
        fs::remove_dir_all(&staging).with_context(|| format!("removing {}", staging.display()))?;
        Ok(Stamp {
            name: package.name.clone(),
            version: package.version.clone(),
            size: package.size,
            sha256: package.sha256.clone(),
            alone,
            control: capture(Command::new("dpkg-deb").arg("-f").arg(&file))?.trim_end().to_owned(),
        })
    }

    fn commit(&self, contents: &Contents) -> Result<()> {
        let (new, path) = (self.folder.join(".packages.new"), self.folder.join(".packages"));
        fs::write(&new, contents.text()).with_context(|| format!("writing {}", new.display()))?;
        fs::rename(&new, &path).with_context(|| format!("replacing {}", path.display()))
    }
}

/// Checks the files against the hashes that apt announced.
fn verify<'a>(archives: &Path, packages: impl Iterator<Item = &'a Package>) -> Result<()> {
    let list: String = packages.map(|package| format!("{}  {}\n", package.sha256, package.file)).collect();
    if list.is_empty() {
        return Ok(());
    }
    feed(Command::new("sha256sum").args(["--check", "--quiet"]).current_dir(archives), &list).with_context(|| {
        format!("a downloaded package is not what apt announced; remove {} and fetch again", archives.display())
    })
}

impl Contents {
    /// Size of all package files, in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.packages.iter().map(|stamp| stamp.size).sum()
    }

    /// The package of this name.
    pub(crate) fn package(&self, name: &str) -> Option<&Stamp> {
        self.packages.iter().find(|stamp| stamp.name == name)
    }

    fn add(&mut self, stamp: Stamp) {
        self.packages.retain(|old| old.name != stamp.name);
        self.packages.push(stamp);
        self.packages.sort_by(|a, b| a.name.cmp(&b.name));
    }

    fn add_sets(&mut self, sets: &[String]) {
        self.sets.extend(sets.iter().cloned());
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

    fn parse(text: &str) -> Result<Self> {
        let mut stanzas = text.split("\n\n");
        let sets = stanzas.next().and_then(|first| first.strip_prefix("Sets:")).context("no sets")?;
        let packages = stanzas.map(Stamp::parse).collect::<Result<_>>()?;
        Ok(Self { sets: sets.split_whitespace().map(str::to_owned).collect(), packages })
    }
}

impl Stamp {
    fn is(&self, package: &Package) -> bool {
        self.name == package.name && self.version == package.version && self.sha256 == package.sha256
    }

    fn parse(stanza: &str) -> Result<Self> {
        let (first, control) = stanza.split_once('\n').context("a package without a control stanza")?;
        let words: Vec<&str> = first.split_whitespace().collect();
        ensure!(words.len() == 4 && words[0] == "Fetched:", "a package without `Fetched: size hash kind`");
        let field = |name: &str| -> Result<String> {
            let value = control.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            Ok(value.with_context(|| format!("a package without {name}"))?.trim().to_owned())
        };
        Ok(Self {
            name: field("Package")?,
            version: field("Version")?,
            size: words[1].parse().context("the size is no number")?,
            sha256: words[2].to_owned(),
            alone: words[3] == "alone",
            control: control.trim_end().to_owned(),
        })
    }
}

/// Moves everything under `from` into `to`; folders are merged, files and links replaced.
fn merge(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("creating {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("reading {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
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
        contents.add_sets(&["hip".into(), "rocfft".into()]);
        contents.add_sets(&["hip".into()]);
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
        merge(&from, &to).unwrap();
        let read = |path: &str| fs::read_to_string(to.join(path)).unwrap();
        assert_eq!(["usr/lib/a", "usr/lib/c", "usr/b", "usr/lib/link"].map(read), ["new", "c", "b", "new"]);
    }

    /// Builds a real package and takes it through checking, unpacking and noting.
    #[test]
    fn a_package_is_verified_and_unpacked() {
        if crate::process::find("dpkg-deb").is_none() {
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
        assert!(verify(folder.path(), [&wrong].into_iter()).is_err());
        verify(folder.path(), [&package].into_iter()).unwrap();

        let tree = Tree::new(folder.path().join("tree"));
        fs::create_dir_all(tree.folder()).unwrap();
        let stamp = tree.unpack(folder.path(), &package, false).unwrap();
        assert!(stamp.is(&package) && stamp.control.contains("Version: 1.0"), "{stamp:?}");
        assert_eq!(fs::read_to_string(tree.folder().join("usr/share/x/file")).unwrap(), "content");
        tree.commit(&Contents { sets: vec!["x".into()], packages: vec![stamp.clone()] }).unwrap();
        assert_eq!(tree.contents().unwrap().package("libx1"), Some(&stamp));
    }
}
