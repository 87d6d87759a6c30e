//! `cargo xtask mpi`: `rccl`'s tests with the MPI libraries of Debian and Ubuntu.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo::checked_cargo;
use crate::paths;
use crate::process::capture;

/// The packages of the launchers and libraries of both MPIs.
const PACKAGES: [&str; 3] = ["openmpi-bin", "openmpi-common", "mpich"];

/// Runs tests of `rccl` under the launchers of Open MPI and of MPICH, from the packages of this Debian or Ubuntu.
///
/// They are unpacked under target/mpi with those of their dependencies that are not installed (about 20 MB). Nothing is
/// installed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Use the packages that were unpacked before
    #[arg(long)]
    offline: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = paths::fetched("mpi");
    if !args.offline {
        unpack(&root)?;
    }
    let launchers = ["usr/bin/orterun", "usr/bin/mpiexec.hydra"].map(|name| root.join(name));
    for launcher in launchers {
        ensure!(launcher.exists(), "{} is missing: run `cargo xtask mpi` with the network", launcher.display());
    }
    let mut test = checked_cargo("test", args.offline);
    test.args(["-p", "rccl", "--features", "mpi", "--test", "hub", "--", "mpi::"]).env("RCCL_TEST_MPI", &root);
    succeed(&mut test)
}

/// Downloads and unpacks the packages and their dependencies.
fn unpack(root: &Path) -> Result<()> {
    let archives = root.join("archives");
    std::fs::create_dir_all(&archives).with_context(|| format!("making {}", archives.display()))?;
    let mut depends = Command::new("apt-cache");
    depends.args(["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts", "--no-breaks"]);
    depends.args(["--no-replaces", "--no-enhances"]).args(PACKAGES);
    let listed = capture(&mut depends).context("asking apt for packages: this needs Debian or Ubuntu")?;
    // Packages begin a line; their dependencies are indented, and virtual packages are in angle brackets.
    let is_wanted = |name: &&str| (name.starts_with("lib") || PACKAGES.contains(name)) && !is_installed(name);
    let needed: Vec<&str> = listed.lines().filter(is_wanted).collect();
    ensure!(!needed.is_empty() || root.join("usr").exists(), "apt knows no packages: run `apt-get update`");
    succeed(Command::new("apt-get").args(["download", "--quiet"]).args(&needed).current_dir(&archives))?;
    for entry in std::fs::read_dir(&archives)? {
        succeed(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(root))?;
    }
    std::fs::remove_dir_all(&archives).with_context(|| format!("removing {}", archives.display()))
}

fn is_installed(package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    query.args(["--show", "--showformat=${db:Status-Abbrev}", package]);
    capture(&mut query).is_ok_and(|status| status.starts_with("ii"))
}

/// Returns an error if a program does not succeed.
fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}
