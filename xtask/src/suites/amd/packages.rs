//! Fetches test programs into a tree of their own, with the dependencies that a release's tree lacks.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rocm_sdk::install::debian::{Apt, Archive, Contents, Fetch, LIBRARIES, Lock, Recipe, Tree, Wanted, usable};
use rocm_sdk::install::{self, Bars};

use super::subjects::Subject;
use crate::paths;
use crate::rocm::{self, Release};

/// Returns the tree of the test programs of a subject.
fn tree(subject: &Subject) -> Tree {
    Tree::new(paths::root().join("target/amd-tests").join(subject.name))
}

/// The packages to fetch: the subject's and its dependencies, without those in the release's own tree.
struct Programs<'a> {
    subject: &'static Subject,
    release: &'a Contents,
    /// The folder of the release's libraries.
    libraries: &'a Path,
}

impl Recipe for Programs<'_> {
    fn wanted(&self, apt: &Apt<'_>) -> Result<Wanted, install::Error> {
        let package = self.subject.package.to_owned();
        if !self.subject.alone.is_empty() {
            let more = self.subject.alone.iter().map(|&name| name.to_owned());
            return Ok(Wanted { alone: [package].into_iter().chain(more).collect(), ..Wanted::default() });
        }
        let all = apt.closure(&[package])?;
        let missing = all.into_iter().filter(|package| self.release.package(&package.name).is_none());
        Ok(Wanted { alone: missing.map(|package| package.name).collect(), ..Wanted::default() })
    }

    fn finish(&self, folder: &Path, _: &Contents) -> Result<(), install::Error> {
        for (name, library) in self.subject.links {
            let link = folder.join(LIBRARIES).join(name);
            std::os::unix::fs::symlink(self.libraries.join(library), &link)
                .map_err(|error| install::Error::Io { what: format!("linking {}", link.display()), source: error })?;
        }
        Ok(())
    }
}

/// Test programs that have been fetched.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The folder of the unpacked packages.
    pub(crate) tree: PathBuf,
    /// The folder of the programs.
    pub(crate) folder: PathBuf,
    /// The programs, sorted by name.
    pub(crate) programs: Vec<PathBuf>,
    /// Folders of libraries that they need in addition to the release's.
    pub(crate) libraries: Vec<PathBuf>,
    /// The package's version.
    pub(crate) version: String,
}

/// Fetches the test programs of a subject if they are missing.
pub(crate) fn fetch(subject: &'static Subject, release: &'static Release, offline: bool) -> Result<Fetched> {
    let tree = tree(subject);
    let set = subject.name.to_owned();
    if !tree.contents()?.sets.contains(&set) {
        ensure!(!offline, "{} was not fetched yet, and --offline was given", subject.package);
        usable().with_context(|| format!("{} cannot be fetched", subject.package))?;
        let state = paths::fetched("debian");
        let mut progress = Bars::new();
        let lock = Lock::hold(&state.join("lock"), &mut progress)?;
        let release_contents = rocm::tree(release).contents()?;
        let libraries = rocm::tree(release).libraries();
        let recipe = Programs { subject, release: &release_contents, libraries: &libraries };
        let archive = Archive::of_this_machine()?;
        let name = format!("rocm-{}", release.name);
        let selection = release.selection(&name);
        let sets = [set];
        let fetch = Fetch { state: &state, lock: &lock, archive: &archive, selection, sets: &sets, afresh: true };
        tree.fetch(&fetch, &recipe, &mut progress).with_context(|| format!("fetching {}", subject.package))?;
    }
    let folder = tree.folder().join("usr/libexec/rocm").join(subject.package);
    let mut programs = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_none() && is_program(&path)? {
            programs.push(path);
        }
    }
    programs.sort();
    ensure!(!programs.is_empty(), "{} has no programs in {}", subject.package, folder.display());
    // BLAS and LAPACK have folders of their own, for Debian's alternatives; some programs have libraries next to them.
    let libraries = tree.libraries();
    let folders = ["", "blas", "lapack", "openblas-pthread"].map(|name| libraries.join(name));
    let folders = folders.into_iter().chain([folder.clone()]);
    let version = tree.contents()?.package(subject.package).map_or_else(String::new, |stamp| stamp.version.clone());
    let libraries = folders.filter(|folder| folder.is_dir()).collect();
    Ok(Fetched { tree: tree.folder().to_owned(), folder, programs, libraries, version })
}

fn is_program(path: &Path) -> Result<bool> {
    use std::io::Read as _;
    let mut head = Vec::new();
    fs::File::open(path)?.take(4).read_to_end(&mut head)?;
    Ok(head == b"\x7fELF")
}

/// Removes the fetched test programs of a subject.
pub(crate) fn remove(subject: &Subject) -> Result<()> {
    tree(subject).remove().with_context(|| format!("removing the test programs of {}", subject.name))
}
