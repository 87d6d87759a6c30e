//! `cargo xtask rocm`: real ROCm libraries and headers for tests, without installing anything.
//!
//! Each release is a tree `target/rocm/REL` of Debian packages. Its libraries need their own libc, so programs run
//! through the tree's loader (`cargo xtask rocm run`, and Cargo's `runner` in `cargo xtask test`). Tests find the
//! trees in `ROCM_RS_TREES` (an absolute path), the release that they run on in `ROCM_RS_RELEASE`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use rocm_sdk::install::debian::{
    Apt, Archive, Contents, Fetch, Lock, MIRROR_VARIABLE, Recipe, Selection, Tree, Wanted, usable,
};
use rocm_sdk::install::{self, Bars, Bytes, DebianRelease};

use crate::steps::Got;
use crate::{paths, process};

mod unused;

/// A ROCm release that Debian has.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Release {
    /// `7.2`.
    pub(crate) name: &'static str,
    /// Its packages.
    debian: &'static DebianRelease,
    /// What `cargo xtask bindgen` reads, without what it depends on: headers, and libraries for their symbols.
    bindings: &'static [&'static str],
    /// Libraries that are large for what they are needed for: their symbols.
    large: &'static [&'static str],
}

impl Release {
    /// What to ask apt for; `name` keeps the files of its state apart.
    pub(crate) fn selection<'a>(&self, name: &'a str) -> Selection<'a> {
        self.debian.selection(name)
    }

    /// Packages of a set that is listed here; none for one that Debian's dependencies make.
    fn listed(&self, set: &str) -> &'static [&'static str] {
        match set {
            BINDINGS => self.bindings,
            LARGE => self.large,
            PROGRAMS => &["rocminfo"],
            _ => &[],
        }
    }
}

/// Every release that can be fetched.
pub(crate) const RELEASES: &[Release] = &[
    Release {
        name: "5.7",
        debian: &install::RELEASES[0],
        bindings: &[
            "libhipblas-dev",
            "libhipblas0",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver0",
            "libhipsparse-dev",
            "libhipsparse0",
            "librccl-dev",
            "libroctx-dev",
            "libroctx64-4",
            "libamd-smi-dev",
            "libamd-smi0",
            // For RCCL.
            "librocm-smi64-1",
            "llvm-17-dev",
            "libclang-17-dev",
            "libclang1-17t64",
        ],
        large: &["librccl1"],
    },
    Release {
        name: "6.4",
        debian: &install::RELEASES[1],
        bindings: &[
            "libhipblas-dev",
            "libhipblas-common-dev",
            "libhipblas2",
            // Of ROCm 7.1.
            "libhipblaslt-dev",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver0",
            "libhipsparse-dev",
            "libhipsparse1",
            "libroctx-dev",
            "libroctx64-4",
            "llvm-19-dev",
            "libllvm19",
            "libclang-19-dev",
            "libclang1-19",
        ],
        large: &["libhipblaslt1"],
    },
    Release {
        name: "7.2",
        debian: &install::RELEASES[2],
        bindings: &[
            "libhipblas-dev",
            "libhipblas-common-dev",
            "libhipblas3",
            "libhipblaslt-dev",
            "libhipfft-dev",
            "libhipfft0",
            "libhiprand-dev",
            "libhiprand1",
            "librocrand-dev",
            "libhipsolver-dev",
            "libhipsolver1",
            "libhipsparse-dev",
            "libhipsparse4",
            "libhipsparselt-dev",
            "librccl-dev",
            "libroctx-dev",
            "libroctx64-4",
            // Of ROCm 10.1.
            "libamd-smi-dev",
            "libamd-smi27",
            "libe-smi64-1",
            "libmnl0",
            "libnl-3-200",
            "libnl-genl-3-200",
            // For RCCL.
            "librocm-smi64-7",
            "llvm-22-dev",
            "libclang-22-dev",
            "libclang1-22",
            "llvm-23-dev",
            "libclang-23-dev",
        ],
        large: &["libhipblaslt1", "libhipsparselt0", "librccl1"],
    },
];

/// Real ROCm releases for tests, unpacked under target/rocm (nothing is installed, no root).
///
/// The packages are Debian's. They come from the mirror that this machine's apt sources name for Debian, or from the
/// one in ROCM_SDK_DEBIAN_MIRROR; apt verifies signatures and checksums. Needs apt, dpkg and debian-archive-keyring.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  cargo xtask rocm fetch 7.2                          HIP, HIPRTC and their headers, about 70 MB
  cargo xtask rocm fetch --all                        all three releases
  cargo xtask rocm fetch 7.2 --with rocrand,hiprand   and these libraries with their headers
  cargo xtask rocm fetch --all --with bindings        what `cargo xtask bindgen` reads
  cargo xtask rocm run 7.2 -- ./my-program            run a program on that release's libraries")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Download and unpack releases; what is there already is not fetched again
    Fetch(FetchArgs),
    /// Show which releases and packages are there
    List {
        /// Every package with its version and size
        #[arg(long)]
        packages: bool,
    },
    /// Print the folder of a release
    Path {
        /// Release, such as 7.2
        #[arg(value_name = "REL", value_parser = release)]
        release: &'static Release,
        /// The folder of its libraries instead
        #[arg(long)]
        libraries: bool,
    },
    /// Run a program on a release's libraries, through its own loader
    Run {
        /// Release, such as 7.2
        #[arg(value_name = "REL", value_parser = release)]
        release: &'static Release,
        /// Program and its arguments
        #[arg(required = true, last = true, value_name = "PROGRAM")]
        command: Vec<OsString>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FetchArgs {
    /// Releases: 5.7, 6.4, 7.2
    #[arg(value_name = "REL", value_parser = release, required_unless_present = "all")]
    releases: Vec<&'static Release>,
    /// Every release that the mirror has; what it lacks is reported and skipped
    #[arg(long)]
    all: bool,
    /// Libraries beside HIP and HIPRTC, by Debian's name without `lib` and number: rocblas, hipsparse, rccl, ...
    /// (rocblas 320 MB, rocsolver 630 MB, rocsparse 350 MB, rccl 370 MB, rocrand 54 MB, rocfft 4 MB).
    /// And sets of packages without their dependencies: bindings, which `cargo xtask bindgen` reads, bindings-large,
    /// libraries of which only the symbols are read, and programs (rocminfo)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = library)]
    with: Vec<String>,
    /// Start the tree afresh with the newest packages
    #[arg(long)]
    update: bool,
}

/// Runs the command.
pub(crate) fn run(cli: &Cli) -> Result<()> {
    match &cli.command {
        Action::Fetch(args) if args.all => fetch_all(args),
        Action::Fetch(args) => args.releases.iter().try_for_each(|release| fetch(release, &args.with, args.update)),
        Action::List { packages } => list(*packages),
        Action::Path { release, libraries } => {
            let tree = present(release)?;
            println!("{}", if *libraries { tree.libraries() } else { tree.folder().to_owned() }.display());
            Ok(())
        }
        Action::Run { release, command } => {
            let tree = present(release)?;
            let [program, arguments @ ..] = &command[..] else { bail!("no program given") };
            let found = program.to_str().filter(|name| !name.contains('/')).and_then(process::find);
            let error = Command::new(tree.loader())
                .arg("--library-path")
                .arg(tree.libraries())
                .arg("--argv0")
                .arg(program)
                .arg(found.map_or_else(|| program.clone(), Into::into))
                .args(arguments)
                .env("ROCM_RS_TREES", paths::rocm_trees())
                .env("ROCM_RS_RELEASE", release.name)
                .env("ROCM_PATH", tree.folder().join("usr"))
                .exec();
            Err(error).with_context(|| format!("could not start {}", tree.loader().display()))
        }
    }
}

/// Fetches every release that the mirror has, with what it has of the sets.
fn fetch_all(args: &FetchArgs) -> Result<()> {
    let mut left_out = Vec::new();
    for release in RELEASES {
        if args.releases.contains(&release) {
            fetch(release, &args.with, args.update)?;
            continue;
        }
        match fetch_what_is_there(release, &args.with, args.update)? {
            Got::All => {}
            Got::Without(lines) => left_out.extend(lines),
            Got::Nothing(why) => {
                println!("{why}; it is skipped");
                left_out.push(why);
            }
        }
    }
    if !left_out.is_empty() {
        println!("Left out, because the mirror lacks it:");
        left_out.iter().for_each(|line| println!("  {line}"));
    }
    ensure!(RELEASES.iter().any(is_present), "{}", none_of(&RELEASES.iter().collect::<Vec<_>>()));
    // A mistyped name is lacking everywhere.
    let unlisted = |set: &&String| RELEASES.iter().all(|release| release.listed(set).is_empty());
    for set in args.with.iter().filter(unlisted) {
        let there = RELEASES.iter().any(|release| tree(release).contents().is_ok_and(|all| all.sets.contains(set)));
        ensure!(there, "the mirror has {set} for none of the releases");
    }
    Ok(())
}

/// The error if none of these releases can be had.
pub(crate) fn none_of(releases: &[&Release]) -> String {
    let names: Vec<&str> = releases.iter().map(|release| release.name).collect();
    format!(
        "the mirror has none of ROCm {}; set {MIRROR_VARIABLE} to a snapshot of Debian's archive that has one, such as \
         https://snapshot.debian.org/archive/debian/YYYYMMDDThhmmssZ",
        names.join(", ")
    )
}

/// Parses a release's name.
pub(crate) fn release(name: &str) -> Result<&'static Release> {
    let found = RELEASES.iter().find(|release| release.name == name);
    found.with_context(|| {
        let names: Vec<_> = RELEASES.iter().map(|release| release.name).collect();
        format!("the releases that can be fetched are {}", names.join(", "))
    })
}

fn library(name: &str) -> Result<String, install::Error> {
    install::check_name(name)?;
    Ok(name.strip_prefix("lib").unwrap_or(name).to_owned())
}

/// The tree of a release, there or not.
pub(crate) fn tree(release: &Release) -> Tree {
    Tree::new(paths::rocm_trees().join(release.name))
}

/// Whether HIP and its headers are there completely.
pub(crate) fn is_present(release: &Release) -> bool {
    let tree = tree(release);
    let library = tree.libraries().join(format!("libamdhip64.so.{}", release.debian.major));
    let needed = [library, tree.loader(), tree.folder().join("usr/include/hip/hip_runtime_api.h")];
    tree.contents().is_ok_and(|contents| contents.sets.iter().any(|set| set == BASE))
        && needed.iter().all(|path| path.exists())
}

fn present(release: &Release) -> Result<Tree> {
    ensure!(
        is_present(release),
        "ROCm {name} is not there; fetch it with `cargo xtask rocm fetch {name}`",
        name = release.name
    );
    Ok(tree(release))
}

/// The set that every tree has.
const BASE: &str = "hip";
/// What `cargo xtask bindgen` needs beside it.
pub(crate) const BINDINGS: &str = "bindings";
/// Libraries whose symbols `cargo xtask bindgen` can compare as well.
pub(crate) const LARGE: &str = "bindings-large";

/// ROCm's own programs that run on the software GPU.
const PROGRAMS: &str = "programs";

/// What the tests need beside HIP, so that none of them is skipped: what is generated from, libraries to open, and programs to run.
pub(crate) const FOR_TESTS: [&str; 9] =
    [BINDINGS, LARGE, PROGRAMS, "rocrand", "hiprand", "rocfft", "hipfft", "hipblas", "hipsparse"];

/// Which of `sets` are not in the release's tree, or not with all packages that they have by now.
pub(crate) fn missing(release: &Release, sets: &[&str]) -> Vec<String> {
    let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
    match tree(release).contents() {
        Ok(contents) if is_present(release) => incomplete(release, &contents, &sets),
        _ => [vec![BASE.to_owned()], sets].concat(),
    }
}

/// Which of `sets` a tree with these contents lacks. Of a set that is listed here each package is looked for, as the
/// list may have grown since the set was fetched.
fn incomplete(release: &Release, contents: &Contents, sets: &[String]) -> Vec<String> {
    let packages: BTreeSet<&str> = contents.packages.iter().map(|stamp| stamp.name.as_str()).collect();
    let holds =
        |set: &&String| contents.sets.contains(set) && release.listed(set).iter().all(|name| packages.contains(name));
    sets.iter().filter(|set| !holds(set)).cloned().collect()
}

/// Brings a release's tree to hold HIP, HIPRTC, their headers, and the libraries `with`.
///
/// # Errors
/// Also if the mirror lacks any of it.
pub(crate) fn fetch(release: &'static Release, with: &[String], update: bool) -> Result<()> {
    fetch_sets(release, with, update, false).map(drop)
}

/// Like [`fetch`], but what the mirror lacks, of the sets or the release itself, is reported and left out.
///
/// # Errors
/// Anything else, such as a mirror that cannot be reached.
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

/// What the mirror has instead of the release, if that is the error.
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

/// What the mirror lacks of a set, if that is the error.
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
    /// Leave out what the mirror lacks.
    lenient: bool,
    /// What was left out, a line for each set.
    lacking: RefCell<Vec<String>>,
}

impl Sets<'_> {
    /// The packages of a set that is listed here, without those that the mirror lacks, which are named in a line.
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

    /// The packages of a library, if they can be had with those that are wanted already.
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
            source: error.into(),
        })
    }
}

fn described(contents: &Contents) -> String {
    format!("{} packages, {} ({})", contents.packages.len(), Bytes(contents.size()), contents.sets.join(", "))
}

fn list(packages: bool) -> Result<()> {
    for release in RELEASES {
        let tree = tree(release);
        if !is_present(release) {
            println!("{}  not there (cargo xtask rocm fetch {})", release.name, release.name);
            continue;
        }
        let contents = tree.contents()?;
        let version = contents.package(&release.debian.runtime()).map_or("?", |stamp| stamp.version.as_str());
        println!("{}  {version}: {}; {}", release.name, described(&contents), tree.folder().display());
        for stamp in contents.packages.iter().filter(|_| packages) {
            let note = if stamp.alone { " (without its dependencies)" } else { "" };
            println!("  {:<32} {:<34} {:>11}{note}", stamp.name, stamp.version, Bytes(stamp.size));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "../../rocm-sdk/tests/install/repository.rs"]
#[allow(dead_code, unreachable_pub)] // Other tests use the rest of it.
mod repository;

#[cfg(test)]
mod tests {
    use rocm_sdk::install::Silent;

    use super::repository::{Deb, Repository};
    use super::*;

    /// What is fetched of 7.2 from an archive, and the lines of what it lacks.
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
        // All of the set but one, a library that needs another release, and one that needs what is not there.
        for name in release.bindings.iter().filter(|name| **name != "libamd-smi27") {
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
        assert_eq!(incomplete(release, &stamp(release.bindings), &asked), ["rocfft"]);
        assert_eq!(incomplete(release, &stamp(&release.bindings[1..]), &asked), ["bindings", "rocfft"]);
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
