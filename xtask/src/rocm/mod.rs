//! `cargo xtask rocm`: real ROCm libraries and headers for tests, without installing anything.
//!
//! Each release is a tree `target/rocm/REL` of Debian packages. Its libraries need their own libc, so programs run
//! through the tree's loader (`cargo xtask rocm run`, and Cargo's `runner` in `cargo xtask test`). Tests find the trees
//! in `ROCM_RS_TREES` (an absolute path), and their release in `ROCM_RS_RELEASE`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use rocm_sdk::install::Bytes;

use crate::steps::Got;
use crate::{paths, process};

mod releases;
mod sets;
mod trees;
mod unused;

pub(crate) use releases::{BINDINGS, RELEASES, Release, none_of, release};
use sets::library;
pub(crate) use sets::{FOR_BINDINGS, FOR_TESTS, fetch, fetch_what_is_there, missing};
use trees::{described, present};
pub(crate) use trees::{fetched, is_present, tree};

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
    /// Download and unpack releases; packages that are already there are not fetched again
    Fetch(FetchArgs),
    /// Show the fetched releases and packages
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
    /// Every release that the mirror has; missing ones are reported and skipped
    #[arg(long)]
    all: bool,
    /// Libraries in addition to HIP and HIPRTC, by Debian's name without `lib` and number: rocblas, hipsparse, rccl,
    /// ... (rocblas 320 MB, rocsolver 630 MB, rocsparse 350 MB, rccl 370 MB, rocrand 54 MB, rocfft 4 MB). Also sets of
    /// packages without their dependencies: bindings, which `cargo xtask bindgen` reads, bindings-large, libraries of
    /// which only the symbols are read, and programs (rocminfo)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = library)]
    with: Vec<String>,
    /// Replace the tree by one with the newest packages
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

/// Fetches every release that the mirror has, with the available parts of the sets.
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
    // A mistyped name is missing everywhere.
    let unlisted = |set: &&String| RELEASES.iter().all(|release| release.listed(set).is_empty());
    for set in args.with.iter().filter(unlisted) {
        let there = RELEASES.iter().any(|release| tree(release).contents().is_ok_and(|all| all.sets.contains(set)));
        ensure!(there, "the mirror has {set} for none of the releases");
    }
    Ok(())
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
