//! Fetches sets of packages into a tree.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use rocm_sdk::install::debian::{Apt, Archive, Contents, Fetch, Lock, Recipe, Wanted, usable};
use rocm_sdk::install::{self, Bars, Bytes};

use super::releases::{BASE, BINDINGS, LARGE, PROGRAMS, Release};
use super::trees::{described, is_present, tree};
use super::unused;
use crate::paths;
use crate::steps::Got;

/// The sets that the tests need besides HIP, so that none of them is skipped: inputs of the generator, libraries to
/// open, and programs to run.
pub(crate) const FOR_TESTS: [&str; 9] =
    [BINDINGS, LARGE, PROGRAMS, "rocrand", "hiprand", "rocfft", "hipfft", "hipblas", "hipsparse"];

/// The sets of a release on which a run executes no tests: inputs of the generator, and HIP's own libraries. A tenth of
/// [`FOR_TESTS`].
pub(crate) const FOR_BINDINGS: [&str; 1] = [BINDINGS];

/// Returns those of `sets` that are not in the release's tree, or not with all of their current packages.
pub(crate) fn missing(release: &Release, sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    match tree(release).contents() {
        Ok(contents) if is_present(release) => incomplete(release, &contents, &sets),
        _ => [vec![BASE.to_owned()], sets].concat(),
    }
}

/// Returns those of `sets` that a tree with these contents lacks. For a set that is listed here each package is
/// checked, as the list may have grown since the set was fetched.
fn incomplete(release: &Release, contents: &Contents, sets: &[String]) -> Vec<String> {
    let packages: BTreeSet<&str> = contents.packages.iter().map(|stamp| stamp.name.as_str()).collect();
    let holds =
        |set: &&String| contents.sets.contains(set) && release.listed(set).iter().all(|name| packages.contains(name));
    sets.iter().filter(|set| !holds(set)).cloned().collect()
}

/// Adds HIP, HIPRTC, their headers, and the libraries `with` to a release's tree.
///
/// # Errors
/// Also if the mirror lacks any of them.
pub(crate) fn fetch(release: &'static Release, with: &[String], update: bool) -> Result<()> {
    fetch_sets(release, with, update, false).map(drop)
}

/// Like [`fetch`], but sets that the mirror lacks, or the release itself, are reported and skipped.
///
/// # Errors
/// Any other failure, such as a mirror that cannot be reached.
pub(crate) fn fetch_what_is_there(release: &'static Release, with: &[String], update: bool) -> Result<Got> {
    match fetch_sets(release, with, update, true) {
        Ok(lacking) if lacking.is_empty() => Ok(Got::All),
        Ok(lacking) => Ok(Got::Without(lacking)),
        Err(error) => match (moved_on(release, &error), is_present(release)) {
            (None, _) => Err(error),
            (Some(why), true) => Ok(Got::Without(vec![format!("{why}; the packages fetched earlier are tested")])),
            (Some(why), false) => Ok(Got::Nothing(why)),
        },
    }
}

/// Returns what the mirror has instead of the release, if that is the error.
fn moved_on(release: &Release, error: &anyhow::Error) -> Option<String> {
    let why = match error.downcast_ref()? {
        install::Error::MovedOn { package, found, suites, .. } => {
            let found = found.as_ref().map_or(format!("no {package}"), |version| format!("{version} of {package}"));
            format!("the mirror has {found} in {}", suites.join(", "))
        }
        install::Error::Dependencies { packages, .. } => {
            format!("the mirror lacks dependencies of {}", packages.join(", "))
        }
        _ => return None,
    };
    Some(format!("ROCm {}: {why}", release.name))
}

/// Returns what the mirror lacks of a set, if that is the error.
fn lacking_of_set(error: &install::Error) -> Option<String> {
    Some(match error {
        install::Error::UnknownLibrary { name, .. } => format!("the mirror has no {name}"),
        install::Error::OtherRelease { package, runtime, .. } => format!("the mirror's {package} needs {runtime}"),
        install::Error::Dependencies { .. } => "the mirror lacks dependencies of it".to_owned(),
        _ => return None,
    })
}

/// Fetches, and returns a line for each set of which the mirror lacks something; that is an error unless it is
/// `lenient`.
fn fetch_sets(release: &'static Release, with: &[String], update: bool, lenient: bool) -> Result<Vec<String>> {
    let tree = tree(release);
    let state = paths::fetched("debian");
    let mut progress = Bars::new();
    let lock = Lock::hold(&state.join("lock"), &mut progress)?;
    let contents = tree.contents()?;
    let mut sets = vec![BASE.to_owned()];
    sets.extend(with.iter().cloned());
    if !update && is_present(release) && incomplete(release, &contents, &sets).is_empty() {
        println!("ROCm {}: already there, {}", release.name, described(&contents));
        return Ok(Vec::new());
    }
    usable().with_context(|| format!("ROCm {} cannot be fetched", release.name))?;
    if update {
        sets.extend(contents.sets);
        sets.sort();
        sets.dedup();
    }
    println!("ROCm {} ({})", release.name, tree.folder().display());
    let archive = Archive::of_this_machine()?;
    let name = format!("rocm-{}", release.name);
    let fetch = Fetch {
        state: &state,
        lock: &lock,
        archive: &archive,
        selection: release.debian.selection(&name),
        sets: &sets,
        afresh: update || !is_present(release),
    };
    let recipe = Sets { release, sets: &sets, lenient, lacking: RefCell::default() };
    let packages =
        tree.fetch(&fetch, &recipe, &mut progress).with_context(|| format!("fetching ROCm {}", release.name))?;
    for package in &packages {
        println!("  {:<32} {:<34} {:>11}", package.name, package.version, Bytes(package.size));
    }
    let size = packages.iter().map(|package| package.size).sum();
    println!(
        "ROCm {}: fetched {} packages, {}; the tree holds {}",
        release.name,
        packages.len(),
        Bytes(size),
        described(&tree.contents()?)
    );
    let lacking = recipe.lacking.into_inner();
    lacking.iter().for_each(|line| println!("  {line}"));
    Ok(lacking)
}

/// Chooses the packages of sets.
struct Sets<'a> {
    release: &'static Release,
    sets: &'a [String],
    /// Whether to skip packages that the mirror lacks.
    lenient: bool,
    /// The skipped packages, one line per set.
    lacking: RefCell<Vec<String>>,
}

impl Sets<'_> {
    /// Returns the packages of a set that is listed here, without those that the mirror lacks, which are named in a
    /// line.
    fn listed(&self, set: &str, apt: &Apt<'_>) -> Result<Wanted, install::Error> {
        let names: Vec<String> = self.release.listed(set).iter().map(|&name| name.to_owned()).collect();
        let Err(error) = apt.alone(&names) else { return Ok(Wanted { alone: names, ..Wanted::default() }) };
        let there = |name: &String| apt.alone(std::slice::from_ref(name)).is_ok();
        let (alone, gone): (Vec<String>, Vec<String>) = names.into_iter().partition(there);
        if !self.lenient || gone.is_empty() {
            return Err(error);
        }
        Ok(Wanted { alone, ..self.left_out(set, &format!("the mirror has no {}", gone.join(", "))) })
    }

    /// Returns the packages of a library, if they are compatible with those already chosen.
    fn library(&self, name: &str, with: &Wanted, apt: &Apt<'_>) -> Result<Wanted, install::Error> {
        let found = self.release.debian.library(name, apt).and_then(|library| {
            apt.closure(&[&with.roots[..], &library.roots].concat())?;
            Ok(library)
        });
        found.or_else(|error| match lacking_of_set(&error).filter(|_| self.lenient) {
            Some(why) => Ok(self.left_out(name, &why)),
            None => Err(error),
        })
    }

    fn left_out(&self, set: &str, why: &str) -> Wanted {
        let line = format!("ROCm {}, set {set}: {why}; tests that need it are skipped", self.release.name);
        self.lacking.borrow_mut().push(line);
        Wanted { left_out: vec![set.to_owned()], ..Wanted::default() }
    }
}

impl Recipe for Sets<'_> {
    fn wanted(&self, apt: &Apt<'_>) -> Result<Wanted, install::Error> {
        let mut wanted = Wanted::default();
        for set in self.sets {
            let more = match set.as_str() {
                BASE => self.release.debian.base(apt)?,
                BINDINGS | LARGE | PROGRAMS => self.listed(set, apt)?,
                library => self.library(library, &wanted, apt)?,
            };
            wanted.add(more);
        }
        Ok(wanted)
    }

    fn finish(&self, folder: &Path, _: &Contents) -> Result<(), install::Error> {
        unused::remove(folder).map_err(|error| install::Error::Io {
            what: format!("removing what nothing reads from {}", folder.display()),
            source: error,
        })
    }
}

pub(super) fn library(name: &str) -> Result<String, install::Error> {
    install::check_name(name)?;
    Ok(name.strip_prefix("lib").unwrap_or(name).to_owned())
}

#[cfg(test)]
#[path = "../../../rocm-sdk/tests/install/repository.rs"]
#[allow(dead_code, unreachable_pub)] // Other tests use the rest of it.
mod repository;

#[cfg(test)]
mod tests {
    use rocm_sdk::install::Silent;
    use rocm_sdk::install::debian::Tree;

    use super::super::releases::{RELEASES, release};
    use super::repository::{Deb, Repository};
    use super::*;

    /// Returns the packages of 7.2 that are fetched from an archive, and the lines of what it lacks.
    fn fetched(repository: &Repository, sets: &[&str], lenient: bool) -> Result<(Contents, Vec<String>)> {
        let release = release("7.2")?;
        let folder = tempfile::tempdir()?;
        let tree = Tree::new(folder.path().join("7.2"));
        let state = folder.path().join("state");
        let lock = Lock::hold(&state.join("lock"), &mut Silent)?;
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        let archive = repository.archive();
        let selection = release.debian.selection("rocm-7.2");
        let fetch = Fetch { state: &state, lock: &lock, archive: &archive, selection, sets: &sets, afresh: true };
        let recipe = Sets { release, sets: &sets, lenient, lacking: RefCell::default() };
        tree.fetch(&fetch, &recipe, &mut Silent)?;
        Ok((tree.contents()?, recipe.lacking.into_inner()))
    }

    #[test]
    fn what_the_mirror_lacks_of_a_set_is_left_out_and_named() {
        let Some(mut repository) = Repository::rocm() else { return };
        let release = release("7.2").unwrap();
        // All packages of the set except one, a library that needs another release, and one with a missing dependency.
        for name in release.listed(BINDINGS).iter().filter(|name| **name != "libamd-smi27") {
            repository.add(Deb::new(name, "7.2.4-1"));
        }
        repository.add(Deb::new("libamd-smi28", "7.3.0-1"));
        repository.add(Deb::new("libamdhip64-8", "8.0.0-1"));
        repository.add(Deb::new("libhipblas3", "7.2.4-2").needs("libamdhip64-8"));
        repository.add(Deb::new("librocrand1", "7.2.4-1").needs("libamdhip64-7, libnowhere1"));
        repository.publish();
        let sets = [BASE, BINDINGS, "rocblas", "hipblas", "rocrand", "rocfft"];
        let (contents, lacking) = fetched(&repository, &sets, true).unwrap();
        assert_eq!(contents.sets, ["hip", "rocblas"]);
        assert!(contents.package("libhipfft-dev").is_some() && contents.package("librocblas5").is_some());
        assert!(contents.package("librocrand1").is_none() && contents.package("libamdhip64-8").is_none());
        let line = |set: &str, why: &str| format!("ROCm 7.2, set {set}: {why}; tests that need it are skipped");
        assert_eq!(
            lacking,
            [
                line(BINDINGS, "the mirror has no libamd-smi27"),
                line("hipblas", "the mirror's libhipblas3 7.2.4-2 needs libamdhip64-8"),
                line("rocrand", "the mirror lacks dependencies of it"),
                line("rocfft", "the mirror has no rocfft"),
            ]
        );
        // The next run looks for them again.
        let asked = sets.map(str::to_owned);
        assert_eq!(incomplete(release, &contents, &asked), [BINDINGS, "hipblas", "rocrand", "rocfft"]);

        for set in [BINDINGS, "hipblas", "rocrand", "rocfft"] {
            assert!(fetched(&repository, &[BASE, set], false).is_err(), "{set} is named");
        }
        repository.add(Deb::new("libamd-smi27", "7.2.4-1"));
        repository.publish();
        assert!(fetched(&repository, &[BASE, BINDINGS], false).unwrap().1.is_empty());
    }

    #[test]
    fn a_release_that_is_gone_is_told_from_a_mirror_that_fails() {
        let Some(mut repository) = Repository::new() else { return };
        let release = release("7.2").unwrap();
        let why = |repository: &Repository| {
            let error = fetched(repository, &[BASE, "rocblas"], true).map(drop).unwrap_err().context("fetching");
            moved_on(release, &error)
        };
        repository.add(Deb::new("libc6", "2.99-1"));
        repository.publish();
        assert_eq!(why(&repository).unwrap(), "ROCm 7.2: the mirror has no libamdhip64-7 in sid, experimental");
        repository.add(Deb::new("libamdhip64-7", "7.3.0-1"));
        repository.publish();
        let moved = "ROCm 7.2: the mirror has 7.3.0-1 of libamdhip64-7 in sid, experimental";
        assert_eq!(why(&repository).unwrap(), moved);
        repository.add(Deb::new("libamdhip64-7", "7.2.4-1").needs("libnowhere1"));
        repository.publish();
        assert_eq!(why(&repository).unwrap(), "ROCm 7.2: the mirror lacks dependencies of libamdhip64-7");
        std::fs::remove_dir_all(repository.lists("sid")).unwrap();
        assert_eq!(why(&repository), None);
    }

    #[test]
    fn releases_parse_by_name() {
        assert_eq!(release("6.4").unwrap().debian.major, 6);
        let error = release("6.5").unwrap_err().to_string();
        assert!(error.contains("5.7, 6.4, 7.2"), "{error}");
    }

    #[test]
    fn a_set_that_has_grown_since_it_was_fetched_is_incomplete() {
        let folder = tempfile::tempdir().unwrap();
        let release = release("7.2").unwrap();
        let stamp = |names: &[&str]| {
            let mut text = "Sets: bindings hip rocrand\n".to_owned();
            for name in names {
                text += &format!("\nFetched: 1 ab alone\nPackage: {name}\nVersion: 1\n");
            }
            std::fs::write(folder.path().join(".packages"), text).unwrap();
            Tree::new(folder.path().to_owned()).contents().unwrap()
        };
        let asked = ["hip", "bindings", "rocrand", "rocfft"].map(str::to_owned);
        assert_eq!(incomplete(release, &stamp(release.listed(BINDINGS)), &asked), ["rocfft"]);
        assert_eq!(incomplete(release, &stamp(&release.listed(BINDINGS)[1..]), &asked), ["bindings", "rocfft"]);
    }

    #[test]
    fn each_release_has_its_own_packages() {
        for release in RELEASES {
            assert_eq!(release.name, release.debian.name);
        }
    }

    #[test]
    fn a_library_is_a_plain_name() {
        assert_eq!(library("librocblas").unwrap(), "rocblas");
        assert_eq!(library("rocm-smi64").unwrap(), "rocm-smi64");
        for bad in ["", "-o", "a b", "a;b", "../x"] {
            assert!(library(bad).is_err(), "{bad:?}");
        }
    }
}
