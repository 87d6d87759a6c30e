//! `cargo xtask example`: runs an example on ROCm's own libraries, which are fetched if missing, and on the software
//! GPU.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::cargo::checked_cargo;
use crate::hsa::{self, Profile};
use crate::paths;
use crate::rocm::{self, Release};
use crate::test::examples;
use crate::test::{LIBRARIES, RCCL};
use crate::workspace::{self, Package};

/// Runs an example on AMD's own libraries and the software GPU. No GPU, no ROCm and no root is needed.
///
/// Missing packages are fetched first, with progress shown: ROCm's HIP runtime (70 MB), and the library of the example
/// (hipblas and hipsolver 1 GB, hipblaslt 260 MB, hiprand 60 MB, hipfft 10 MB, hipsparse 350 MB, rccl 370 MB). They are
/// kept in target/rocm.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask example                 what there is
  cargo xtask example blas_saxpy
  cargo xtask example eigenvalues --rocm 6.4
  cargo xtask example training        four processes, by rccl-run, on four simulated GPUs")]
pub(crate) struct Args {
    /// Which example; all are listed if none is named
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// ROCm release: 5.7, 6.4 or 7.2
    #[arg(long, value_name = "REL", default_value = "7.2", value_parser = rocm::release)]
    rocm: &'static Release,
    /// Arguments of the example
    #[arg(last = true, value_name = "ARGUMENTS")]
    arguments: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let packages: Vec<Package> = workspace::packages()?.into_iter().filter(has_examples).collect();
    let Some(name) = &args.name else {
        packages.iter().for_each(|package| println!("{}: {}", package.name, package.examples.join(" ")));
        return Ok(());
    };
    let package = packages.iter().find(|package| package.examples.contains(name));
    let package = package.with_context(|| format!("there is no example {name}; `cargo xtask example` lists all"))?;
    let library = LIBRARIES.iter().chain([&RCCL]).filter(|library| **library == package.name);
    rocm::fetch(args.rocm, &library.map(|library| (*library).to_owned()).collect::<Vec<_>>(), false)?;
    if package.name == RCCL {
        return on_several(name, args);
    }
    hsa::build(false, Profile::Dev)?;
    let mut command = checked_cargo("run", false);
    command.args(["-p", &package.name, "--example", name]);
    if package.features.iter().any(|feature| feature == "ndarray") {
        command.args(["--features", "ndarray"]);
    }
    hsa::run_on(&mut command, args.rocm, Profile::Dev);
    succeed(name, command.arg("--").args(&args.arguments))
}

fn succeed(name: &str, command: &mut Command) -> Result<()> {
    let status = command.status().context("starting cargo")?;
    ensure!(status.success(), "{name}: {status}");
    Ok(())
}

/// Runs an example with several devices, in one process or in one process per device.
fn on_several(name: &str, args: &Args) -> Result<()> {
    succeed("hip-sim", &mut hsa::build_command(false))?;
    let with = ["-p", RCCL, "--features", "cli"];
    let mut command = checked_cargo("run", false);
    if name == RANKS {
        succeed(name, checked_cargo("build", false).args(with).args(["--example", name]))?;
        command.args(with).args(["--bin", "rccl-run", "--"]);
        hsa::start_ranks(&mut command, args.rocm, DEVICES);
        return succeed(name, command.arg(paths::built().join("examples").join(name)).args(&args.arguments));
    }
    command.args(with).args(["--example", name]);
    hsa::run_on_several(&mut command, args.rocm, DEVICES);
    succeed(name, command.arg("--").args(&args.arguments))
}

/// Number of simulated GPUs of the examples with several.
const DEVICES: usize = 4;

/// The example whose ranks are processes.
const RANKS: &str = "training";

/// Returns whether a package has examples for users; those of the tools have their own commands.
fn has_examples(package: &Package) -> bool {
    let name = package.name.as_str();
    examples::PACKAGES.contains(&name) || name == RCCL || LIBRARIES.contains(&name)
}
