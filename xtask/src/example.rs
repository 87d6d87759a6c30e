//! `cargo xtask example`: an example on ROCm's own libraries, fetched if they are not there, and on the software GPU.

use anyhow::{Context, Result, ensure};

use crate::examples;
use crate::hsa::{self, Profile};
use crate::rocm::{self, Release};
use crate::test::{LIBRARIES, checked_cargo};
use crate::workspace::{self, Package};

/// Runs an example on AMD's own libraries and the software GPU. No GPU, no ROCm and no root is needed.
///
/// What is missing is fetched first, with progress shown: ROCm's HIP runtime (70 MB), and the library that the example is
/// about (hipblas and hipsolver 1 GB, hipblaslt 260 MB, hiprand 60 MB, hipfft 10 MB, hipsparse 350 MB). It goes to target/rocm and
/// is kept there.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask example                 what there is
  cargo xtask example blas_saxpy
  cargo xtask example eigenvalues --rocm 6.4")]
pub(crate) struct Args {
    /// Which example; all are listed if none is named
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// ROCm release: 5.7, 6.4 or 7.2
    #[arg(long, value_name = "REL", default_value = "7.2", value_parser = rocm::release)]
    rocm: &'static Release,
    /// What the example is given
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
    let library = LIBRARIES.iter().filter(|library| **library == package.name).map(|library| (*library).to_owned());
    rocm::fetch(args.rocm, &library.collect::<Vec<_>>(), false)?;
    hsa::build(false, Profile::Dev)?;
    let mut command = checked_cargo("run", false);
    command.args(["-p", &package.name, "--example", name]);
    if package.features.iter().any(|feature| feature == "ndarray") {
        command.args(["--features", "ndarray"]);
    }
    hsa::run_on(&mut command, args.rocm, Profile::Dev);
    let status = command.arg("--").args(&args.arguments).status().context("starting cargo")?;
    ensure!(status.success(), "{name}: {status}");
    Ok(())
}

/// The examples for users; those of the tools have commands of their own.
fn has_examples(package: &Package) -> bool {
    examples::PACKAGES.contains(&package.name.as_str()) || LIBRARIES.contains(&package.name.as_str())
}
