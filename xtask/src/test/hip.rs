//! The steps `real`, `hsa` and `repeat`: `hip` and `hip-gl` on ROCm's own HIP runtime.

use std::process::Command;

use super::repeat;
use crate::cargo::{checked_cargo, named_tests, newest, packages};
use crate::hsa::{self as hsa_sim, Profile, hsa_ready};
use crate::paths;
use crate::rocm::{self, Release};
use crate::steps::Step;

/// The crates whose tests run on a HIP runtime over the software GPU.
const ON_HIP: [&str; 2] = ["hip", "hip-gl"];

/// Code that must not compile does not depend on the runtime: the step `workspace` tests it.
pub(super) const BUT_MISUSE: [&str; 3] = ["--", "--skip", "misuse_does_not_compile"];

/// Returns the tests on a release's own libraries, through its loader.
pub(super) fn real(release: &'static Release, offline: bool) -> Step {
    let tree = rocm::tree(release);
    let runner: Vec<String> = tree.launcher().iter().map(|word| format!("{word:?}")).collect();
    let config = format!("target.'cfg(all())'.runner=[{}]", runner.join(","));
    let test = |packages: &[&str]| {
        let mut command = checked_cargo("test", offline);
        // rustdoc starts doc tests itself; they run in the step `workspace`.
        command.args(["--config", &config, "--no-fail-fast", "--lib", "--tests", "--no-default-features"]);
        command.args(["--features", &newest(packages)]).args(crate::cargo::packages(packages));
        command.env("ROCM_PATH", tree.folder().join("usr")).env("ROCM_RS_RELEASE", release.name);
        command
    };
    // Code that HIPRTC compiles here runs on the software GPU, and only this step has both.
    let mut compiled = test(&["hiprtc"]);
    compiled.args(["--features", "hiprtc/sim,hiprtc/cli"]).args(BUT_MISUSE);
    let mut found = test(&ON_HIP);
    found.args(BUT_MISUSE);
    // The -sys crates start the loader themselves, in the step `bindings`.
    let commands = vec![found, compiled];
    let about = format!("tests on the real libraries of ROCm {}, which find no GPU", release.name);
    Step::commands(format!("real {}", release.name), about, commands).when(rocm::fetched(release))
}

/// Builds the library that replaces ROCm's own in the steps `hsa`.
pub(super) fn hsa_library(offline: bool) -> Step {
    let about = "libhsa-runtime64 over the software GPU, and a software OpenGL";
    Step::call("build hsa-sim", about, move || hsa_sim::build(offline, Profile::Dev).map(drop))
}

/// Their tests that use a second device if available.
const WITH_PEERS: [&str; 5] =
    ["peer::", "memory_pool::", "foreign::", "a_stream_of_another_device", "what_the_runtime_does_not_capture"];

/// The software GPU of a step `hsa`.
#[derive(Clone, Copy)]
pub(super) enum Variant {
    /// One GPU of the usual architecture.
    Usual,
    /// One GPU of another architecture.
    Architecture(&'static str),
    /// Two GPUs, for the tests that use a second one.
    TwoDevices,
    /// The usual one, for the test programs with most of the tests.
    Quick,
}

/// Returns `cargo test` of `hip` and `hip-gl` with some features, for the steps `hsa`.
fn test_hip(features: &str, offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(packages(&ON_HIP)).args(["--no-default-features", "--features", features]);
    command
}

/// Returns the tests of `hip` and `hip-gl` on a release's own HIP runtime, on the software GPU through hsa-sim, also
/// with another architecture. They are built for the newest API level, the same for every release.
pub(super) fn hsa(release: &'static Release, variant: Variant, offline: bool) -> Step {
    let mut command = test_hip(&newest(&ON_HIP), offline);
    command.arg("--no-fail-fast");
    match variant {
        Variant::Quick => command.args(named_tests(&["gpu", "graph", "gl"])),
        _ => command.args(["--lib", "--tests"]),
    };
    hsa_sim::run_on(&mut command, release, Profile::Dev);
    command.args(BUT_MISUSE);
    let mut about =
        format!("tests of hip and hip-gl on the real HIP runtime of ROCm {}, over the software GPU", release.name);
    let mut name = format!("hsa {}", release.name);
    match variant {
        Variant::Usual | Variant::Quick => {}
        Variant::Architecture(architecture) => {
            command.env("HIP_SIM_ARCH", architecture);
            about.push_str(&format!(" as {architecture}"));
            name.push_str(&format!(" {architecture}"));
        }
        Variant::TwoDevices => {
            command.env("HIP_SIM_DEVICES", "2").args(WITH_PEERS);
            about.push_str(": what uses two devices");
            name.push_str(" two devices");
        }
    }
    let mut commands = vec![command];
    if let Variant::Usual = variant {
        commands.push(linked(release, offline));
    }
    Step::commands(name, about, commands).when(hsa_ready(release))
}

/// Returns the tests of `hiprtc` that need a device of the release's own runtime: HIPRTC asks it for the target of
/// linking.
fn linked(release: &'static Release, offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(packages(&["hiprtc"])).args(["--no-default-features", "--features", &newest(&["hiprtc"])]);
    command.arg("--no-fail-fast").args(named_tests(&["link", "load"]));
    hsa_sim::run_on(&mut command, release, Profile::Dev);
    command
}

/// Returns the tests of a release's step `hsa`, repeated many times.
pub(super) fn repeated(release: &'static Release, sample: bool, offline: bool) -> Step {
    let times = if sample { 4 } else { 8 };
    let call = move || {
        repeat::run(times, test_hip(&newest(&ON_HIP), offline), |program| {
            let mut command = hsa_sim::program_on(program, release, Profile::Dev);
            command.current_dir(paths::root().join("hip"));
            command
        })
    };
    Step::call(format!("repeat {}", release.name), repeat::about(release, times), call).when(hsa_ready(release))
}
