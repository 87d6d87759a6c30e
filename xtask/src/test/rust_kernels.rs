//! The steps `rust-src` and `kernels in Rust`.

use std::process::Command;

use hip_kernel_build::Toolchain;

use crate::cargo::{checked_cargo, named_tests, packages};
use crate::hsa::{self as hsa_sim, Profile, hsa_ready};
use crate::process::find;
use crate::rocm::Release;
use crate::steps::{Got, Step};

/// The packages whose kernels are built and tested in a separate step.
pub(crate) const PACKAGES: [&str; 3] = ["hip-kernel-build", "hip-kernel-testing", "rust-kernels"];

/// Those, and what they are made with.
const OWN: [&str; 5] = [PACKAGES[0], PACKAGES[1], PACKAGES[2], "hip-kernel", "hip-kernel-macros"];

/// Fetches the source of `core` for this Rust, with rustup. Without it the committed kernels are used.
pub(crate) fn source(offline: bool) -> Step {
    let about = "the source of Rust's `core`, by `rustup component add rust-src`: kernels in Rust are compiled with it";
    Step::fetch("rust-src", about, move || {
        let Err(why) = Toolchain::find() else { return Ok(Got::All) };
        let without =
            |why: String| Ok(Got::Nothing(format!("{why}; kernels in Rust are taken from the committed code")));
        if offline || find("rustup").is_none() {
            return without(why);
        }
        let status = Command::new("rustup").args(["component", "add", "rust-src"]).status()?;
        match Toolchain::find() {
            Ok(_) => Ok(Got::All),
            Err(why) => without(format!("rustup: {status}; {why}")),
        }
    })
}

/// Compiles all kernels in Rust and runs them on the software GPU, then the committed ones.
pub(crate) fn tests(offline: bool) -> Step {
    let about = "kernels in Rust: compiled where that is possible, and the committed code, on the software GPU";
    let test = |names: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.arg("--no-fail-fast").args(packages(names));
        command
    };
    let mut committed = test(&PACKAGES[1..]);
    committed.args(["--tests"]).env("HIP_KERNEL_BUILD", "committed");
    // A committed bundle that does not match the current source is an error.
    let mut compiled = test(&PACKAGES);
    compiled.env("HIP_KERNEL_BUILD", "check");
    Step::commands("kernels in Rust", about, vec![compiled, committed]).suite_of(&OWN)
}

/// The tests of kernels in Rust that depend on the HIP runtime, on a release's own: panics, stacks, modules that do not
/// load.
pub(crate) fn on_release(release: &'static Release, offline: bool) -> Step {
    let about = format!("kernels in Rust on the real HIP runtime of ROCm {}, over the software GPU", release.name);
    let mut command = checked_cargo("test", offline);
    // Uses the committed code: no kernel is compiled.
    command.arg("--no-fail-fast").args(packages(&PACKAGES[1..])).env("HIP_KERNEL_BUILD", "committed");
    command.args(named_tests(&["panics", "names"]));
    hsa_sim::run_on(&mut command, release, Profile::Dev);
    let step = Step::commands(format!("kernels in Rust {}", release.name), about, vec![command]);
    step.when(hsa_ready(release)).suite_of(&OWN)
}
