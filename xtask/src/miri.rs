//! `cargo xtask miri`: runs the parts of `hip` that do not call C under Miri, which detects undefined behaviour.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::cargo::checked_cargo;
use crate::process::{capture, find};

/// Unit tests of `hip` that call nothing in C: layout of arguments, geometry, views, shapes, formats of code objects.
const TESTS: [&str; 7] = ["args::", "dlpack::", "geometry::", "launches::", "memory::", "typed::", "usage::"];

/// Tests that depend on the last bit of `powi`, which Miri changes on purpose.
const LEFT_OUT: &str = "float8::";

/// Number of cases of each property: Miri takes a thousand times as long as native code.
const CASES: &str = "4";

/// Runs the unit tests of `hip` that call nothing in C under Miri: no undefined behaviour.
///
/// Needs a nightly Rust with the component: rustup toolchain install nightly --component miri,rust-src. It is not part
/// of `cargo xtask ci`, which does not need rustup.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tests whose name contains one of these words, instead of the usual ones
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let there = find("rustup").is_some()
        && capture(Command::new("rustup").args(["run", "nightly", "cargo", "miri", "--version"])).is_ok();
    ensure!(there, "no Miri: rustup toolchain install nightly --component miri,rust-src");
    // Used for its changes to the environment.
    let like = checked_cargo("miri", false);
    let mut command = Command::new("rustup");
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(crate::paths::root());
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("RUSTC").env_remove("CARGO");
    command.args(["run", "nightly", "cargo", "miri", "test", "-p", "hip", "--lib"]);
    command.args(["--features", "half,complex,ndarray", "--"]);
    match args.filters.is_empty() {
        true => command.args(TESTS).args(["--skip", LEFT_OUT]),
        false => command.args(&args.filters),
    };
    // Proptest searches for a folder to save failures in, which isolation forbids.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", CASES);
    let status = command.status()?;
    ensure!(status.success(), "Miri: {status}");
    Ok(())
}
