//! `cargo xtask rocm`: real ROCm libraries and headers for tests, without installing anything.
//!
//! Each release is a tree `target/rocm/REL` of Debian packages. Its libraries need their own libc, so programs run
//! through the tree's loader (`cargo xtask rocm run`, and Cargo's `runner` in `cargo xtask test`). Tests find the
//! trees in `ROCM_RS_TREES` (an absolute path), the release that they run on in `ROCM_RS_RELEASE`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use rocm_sdk::install::debian::{Apt, Archive, Contents, Fetch, Lock, Recipe, Tree, Wanted, usable};
use rocm_sdk::install::{self, Bars, Bytes, DebianRelease};

use crate::{paths, process};

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
    /// Every release
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
        Action::Fetch(args) => {
            let releases: Vec<_> = if args.all { RELEASES.iter().collect() } else { args.releases.clone() };
            releases.into_iter().try_for_each(|release| fetch(release, &args.with, args.update))
        }
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
pub(crate) const FOR_TESTS: [&str; 8] =
    [BINDINGS, LARGE, PROGRAMS, "rocrand", "hiprand", "rocfft", "hipfft", "hipblas"];

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
pub(crate) fn fetch(release: &'static Release, with: &[String], update: bool) -> Result<()> {
    let tree = tree(release);
    let state = paths::fetched("debian");
    let mut progress = Bars::new();
    let lock = Lock::hold(&state.join("lock"), &mut progress)?;
    let contents = tree.contents()?;
    let mut sets = vec![BASE.to_owned()];
    sets.extend(with.iter().cloned());
    if !update && is_present(release) && incomplete(release, &contents, &sets).is_empty() {
        println!("ROCm {}: already there, {}", release.name, described(&contents));
        return Ok(());
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
    let recipe = Sets { release, sets: &sets };
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
    Ok(())
}

/// Chooses the packages of sets.
struct Sets<'a> {
    release: &'static Release,
    sets: &'a [String],
}

impl Recipe for Sets<'_> {
    fn wanted(&self, apt: &Apt<'_>) -> Result<Wanted, install::Error> {
        let mut wanted = Wanted::default();
        for set in self.sets {
            let alone = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
            wanted.add(match set.as_str() {
                BASE => self.release.debian.base(apt)?,
                BINDINGS | LARGE | PROGRAMS => Wanted { alone: alone(self.release.listed(set)), ..Wanted::default() },
                library => self.release.debian.library(library, apt)?,
            });
        }
        Ok(wanted)
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
mod tests {
    use super::*;

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
