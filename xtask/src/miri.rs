//! `cargo xtask miri`: what `hip` does with no call into C, under Miri, which finds undefined behaviour.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::cargo::checked_cargo;
use crate::process::{capture, find};

/// Unit tests of `hip` that call nothing in C: how arguments are laid out, geometry, views, shapes, formats of code objects.
const TESTS: [&str; 7] = ["args::", "dlpack::", "geometry::", "launches::", "memory::", "typed::", "usage::"];

/// Tests of these that go by the last bit of `powi`, which Miri changes on purpose.
const LEFT_OUT: &str = "float8::";

/// Cases of each property: Miri takes a thousand times as long as the machine.
const CASES: &str = "4";

/// Runs the unit tests of `hip` that call nothing in C under Miri: no undefined behaviour.
///
/// Needs a nightly Rust with the component: rustup toolchain install nightly --component miri,rust-src. It is no part of `cargo xtask
/// ci`, which gets along without rustup.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Tests whose name has one of these words in it, in place of the usual ones
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let there = find("rustup").is_some()
        && capture(Command::new("rustup").args(["run", "nightly", "cargo", "miri", "--version"])).is_ok();
    ensure!(there, "no Miri: rustup toolchain install nightly --component miri,rust-src");
    // For what it sets and removes in the environment.
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
    // Proptest looks for a folder to keep failures in, which isolation forbids.
    command.env("MIRIFLAGS", "-Zmiri-disable-isolation").env("PROPTEST_CASES", CASES);
    let status = command.status()?;
    ensure!(status.success(), "Miri: {status}");
    Ok(())
}
