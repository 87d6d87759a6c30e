//! `cargo xtask test`: the quick set of tests, or every test that this machine can run.
//!
//! The steps are declared in [`fn@steps`]. Tests find ROCm through `ROCM_RS_TREES`, the absolute path of a folder that
//! contains the fetched ones of `5.7`, `6.4` and `7.2`. A test that runs on one of them, through its loader, finds its
//! name in `ROCM_RS_RELEASE`, and `ROCM_PATH` points rocm-sdk to it.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

mod all;
mod cuda;
pub(crate) mod examples;
mod fetch;
mod hip;
mod levels;
mod libraries;
mod probes;
mod rccl;
mod repeat;
mod rust_kernels;

use crate::cargo::{checked_cargo, named_tests, packages, programs};
use crate::changes::leave_out_unchanged;
use crate::hsa::hsa_ready;
use crate::rocm::{self, RELEASES, Release};
use crate::steps::{self, Selection, Step};
use crate::suites::{self, amd};
use crate::turn::Turn;
use crate::{leaks, workspace};
use all::COMPILER;
pub(crate) use all::all_crates;
use cuda::{cuda, cuda_ranks};
pub(crate) use fetch::{FETCHED, crates, fetches};
use fetch::{fetch, fetched_here, tested};
use hip::{BUT_MISUSE, Variant, hsa, hsa_library, real, repeated};
use levels::{bindings, levels};
pub(crate) use libraries::LIBRARIES;
use libraries::library;
pub(crate) use rccl::RCCL;
use rccl::rccl;

/// Tests of the main crates, on the software GPU and on ROCm 7.2's own HIP runtime; with `--all`, every test that this
/// machine can run.
///
/// The quick set is for every change: unit and integration tests of the crates that users meet, `hip`'s tests on AMD's
/// own HIP runtime, and the examples there. `--all` adds every API level of every crate, ROCm 6.4 and 5.7, the
/// libraries of ROCm, repeated tests, and doc tests. The summary names what was skipped and why. No AMD GPU is needed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask test                     the quick set: minutes
  cargo xtask test --all               everything: an hour and more, 4 GB fetched, 16 GB on disk
  cargo xtask test --sample            what CI runs
  cargo xtask test --offline           without the network
  cargo xtask test --all --list        what there is
  cargo xtask test hsa real            of all, steps with these words in their name
  cargo xtask test --rocm 7.2 real     on one ROCm release")]
pub(crate) struct Args {
    /// Everything, not just the quick set
    #[arg(long)]
    all: bool,
    /// Everything, but only a sample of what takes longest, and of what takes turns from commit to commit: ROCm 5.7 or
    /// 6.4, a third of the API levels, half of ROCm's libraries on the software GPU, a part of the fuzz cases; nothing
    /// under valgrind
    #[arg(long)]
    sample: bool,
    /// Use no network: only what is already fetched
    #[arg(long)]
    offline: bool,
    /// Only these ROCm releases (5.7, 6.4, 7.2); may be given several times
    #[arg(long, value_name = "REL", value_parser = rocm::release)]
    rocm: Vec<&'static Release>,
    #[command(flatten)]
    selection: Selection,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    // A command that names steps selects from all, and one that names releases uses those.
    let quick = !args.all && !args.sample && args.selection.filters.is_empty() && args.rocm.is_empty();
    let steps = if quick {
        quick_steps(args.offline)?
    } else {
        let turn = if args.sample { Some(Turn::of_this_run()?) } else { None };
        if let Some(turn) = turn {
            println!("{turn}");
        }
        let steps = steps(args.offline, turn, &args.releases(), &args.named())?;
        match turn {
            Some(turn) if args.selection.filters.is_empty() => leave_out_unchanged(steps, turn)?,
            _ => steps,
        }
    };
    if !args.selection.list {
        println!("{}", if quick { QUICK_COSTS } else { COSTS });
    }
    steps::list_or_run(steps, &args.selection)
}

/// The cost of the quick set, printed before it runs.
const QUICK_COSTS: &str = "\
The quick set (`cargo xtask test --all` is everything). From nothing, on two idle cores: 10 minutes, 70 MB of ROCm 7.2 to download
once, 7 GB on disk under target/.";

/// The cost of all tests.
const COSTS: &str = "\
All steps, or those that were named. From nothing, on two idle cores, all of them: an hour and more, 4 GB of ROCm 5.7, 6.4 and 7.2 to download
once, 16 GB on disk under target/.";

/// The release that the quick set runs on.
const QUICK_RELEASE: &str = "7.2";

/// Returns the steps that are run often: the main crates on the software GPU, and `hip` and the examples on one real
/// HIP runtime.
fn quick_steps(offline: bool) -> Result<Vec<Step>> {
    let release = rocm::release(QUICK_RELEASE)?;
    let mut crates = checked_cargo("test", offline);
    // The feature is the examples' own, so that the second build below is the same.
    crates.args(["--no-fail-fast", "--lib", "--tests", "--features", "hip/sim"]);
    crates.args(packages(&[
        "rocm-sdk",
        "hip",
        "hip-gl",
        "hiprtc",
        "hip-sim",
        "hip-kernel",
        "rocm-examples",
        "rust-kernels",
    ]));
    Ok(vec![
        fetch(release, &[], false, fetched_here(offline)),
        Step::command("crates", "unit and integration tests of the main crates, on the software GPU", crates),
        hsa_library(offline),
        hsa(release, Variant::Quick, offline),
        examples::real(release, offline)?,
    ])
}

impl Args {
    fn releases(&self) -> Vec<&'static Release> {
        if self.rocm.is_empty() { RELEASES.iter().collect() } else { self.rocm.clone() }
    }

    /// Returns the releases that are requested by name.
    fn named(&self) -> Vec<&'static Release> {
        [&self.rocm[..], &named_in(&self.selection.filters)].concat()
    }
}

/// Returns the releases that filters name.
pub(crate) fn named_in(filters: &[String]) -> Vec<&'static Release> {
    RELEASES.iter().filter(|release| filters.iter().any(|filter| filter.contains(release.name))).collect()
}

/// Returns the table of steps, or a sample of the longest: those of a `turn`. A release in `named` must be available.
pub(crate) fn steps(
    offline: bool,
    turn: Option<Turn>,
    releases: &[&'static Release],
    named: &[&'static Release],
) -> Result<Vec<Step>> {
    let mut steps = vec![crates(offline)];
    steps.extend(fetches(releases, named, turn, fetched_here(offline)));
    let releases = &tested(releases, named, turn);
    let sample = turn.is_some();
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.arg("--no-fail-fast").args(words);
        command
    };
    steps.push(rust_kernels::source(offline));
    // Their tests take minutes, and have their own steps.
    let mut most = all_crates(offline);
    most.args(["--exclude", SIMULATOR, "--exclude", "rocm-sdk"]);
    if let Some(turn) = turn {
        most.env("ROCM_RS_FUZZ_START", turn.first_case().to_string()).env("ROCM_RS_FUZZ_SHARE", FUZZ_SHARE);
    }
    let about = "unit, integration and doc tests of every crate but those that have a step, at the newest API level";
    steps.push(Step::command("workspace", about, most));
    steps.push(rust_kernels::tests(offline).by_compiler());
    if !sample {
        steps.push(leaks::step(offline));
    }
    // The workspace enables the software GPU, since the examples use it. The crates of libraries behave the same with and without it.
    let about = "the crates that have the software GPU in them, without it, and with no ROCm";
    let without = test(&[&["--lib", "--tests"][..], &packages(&["hip", "hip-gl", "hiprtc"]), &BUT_MISUSE].concat());
    steps.push(Step::command("no backend", about, without));
    let about = "rocm-sdk as a library with its default features, and as the command";
    let sdk = [
        test(&[&packages(&["rocm-sdk"])[..], &["--lib"]].concat()),
        test(&[&packages(&["rocm-sdk"])[..], &["--features", "rocm-sdk/cli"]].concat()),
    ];
    steps.push(Step::commands("rocm-sdk", about, sdk.into()).by_compiler().suite_of(&["rocm-sdk", "rocm-loader"]));
    // Its tests start the releases' own loaders.
    let about = "rocm-llvm on each release's compiler, its results on the software GPU, and its command";
    let compiler = test(&[&packages(&[COMPILER])[..], &["--features", "rocm-llvm/cli,rocm-llvm/sim"]].concat());
    let compiler = Step::command("rocm-llvm", about, compiler).by_compiler();
    steps.push(compiler.suite_of(&[COMPILER, "rocm-llvm-sys"]));
    let about = "hipgraph with all that goes in and out, and its examples, on the reference engine";
    let with = ["--features", "hipgraph/petgraph,hipgraph/ndarray"];
    let mut graph = vec![test(&[&packages(&["hipgraph"])[..], &["--tests"], &with].concat())];
    let names = ["pagerank", "communities", "shortest_path", "cugraph"];
    let program = |path: &Path| {
        let mut command = Command::new(path);
        if path.ends_with("cugraph") {
            command.args(["--reference", "check", "--scales", "6"]);
        }
        command
    };
    graph.extend(programs("hipgraph", &with, &names, offline, program));
    let graph = Step::commands("hipgraph", about, graph).by_compiler();
    steps.push(graph.suite_of(&["hipgraph", "hipgraph-sys", "hipgraph-reference"]));
    let raw = workspace::sys_crates()?;
    let raw: Vec<&str> = raw.iter().map(String::as_str).collect();
    steps.push(bindings(&raw, offline).by_compiler());
    for release in releases {
        steps.push(real(release, offline));
    }
    let about = "the command hip-sim";
    let with = ["--features", "hsa-sim/cli", "--bin", "hip-sim"];
    let words = [&packages(&[SIMULATOR])[..], &with, &named_tests(&["command"])].concat();
    steps.push(Step::command("hip-sim command", about, test(&words)).suite_of(&[SIMULATOR, "rocm-preload"]));
    if let Some(&release) = releases.iter().find(|release| release.name == suites::RELEASE) {
        let call = move || amd::check(offline);
        let tests = Step::call("amd-tests", amd::about(), call).when(rocm::fetched(release));
        steps.push(tests.suite_of(&[SIMULATOR, "amdgpu-sim", "xtask/src/suites"]));
    }
    let about = "CUDA's names: all of them, and those that differ from HIP's on the embedded software GPU";
    let names = test(&[&packages(&["cuda-compat"])[..], &["--all-features"]].concat());
    steps.push(Step::command("cuda-compat", about, names).by_compiler().suite_of(&["cuda-compat"]));
    steps.push(hsa_library(offline));
    for release in releases.iter().filter(|release| release.name == "7.2") {
        steps.push(cuda(release, offline));
        steps.push(cuda_ranks(release, offline));
    }
    for release in releases {
        steps.push(hsa(release, Variant::Usual, offline));
        steps.push(hsa(release, Variant::TwoDevices, offline));
    }
    for release in releases {
        // Debian only has hipBLASLt of 7.1 and newer.
        for &name in LIBRARIES.iter().filter(|&&name| name != "hipblaslt" || release.name == "7.2") {
            steps.push(library(release, name, sample, offline));
        }
    }
    // Debian has no RCCL of 6.4.
    steps.extend(releases.iter().filter(|release| release.name != "6.4").map(|release| rccl(release, turn, offline)));
    let often = releases.iter().filter(|release| !sample || release.name == "7.2");
    steps.extend(often.map(|release| repeated(release, sample, offline)));
    // Only on the newest: the code differs, not HIP.
    steps.extend(
        releases
            .iter()
            .filter(|release| release.name == "7.2")
            .flat_map(|r| [hsa(r, Variant::Architecture("gfx942"), offline), rust_kernels::on_release(r, offline)]),
    );
    steps.push(hsa_sim_tests(turn, offline)?);
    steps.push(levels(&raw, turn, offline).by_compiler());
    let about = "crates written for each API level compile alone, and in one program";
    steps.push(Step::call("probes", about, move || probes::check(turn, offline)));
    for &release in releases {
        let about = format!("a program with all levels and hip's default features, on ROCm {}", release.name);
        let run = move || probes::run(release, offline);
        steps.push(Step::call(format!("probes {}", release.name), about, run).when(hsa_ready(release)));
    }
    steps.push(examples::simulated(offline)?);
    for release in releases.iter().filter(|release| !sample || release.name == "7.2") {
        steps.push(examples::real(release, offline)?);
    }
    Ok(steps)
}

/// The crate of ROCm's libraries on the software GPU.
const SIMULATOR: &str = "hsa-sim";

/// A run with turns tries a fifth of the usual number of fuzz cases; each turn has its own cases.
const FUZZ_SHARE: &str = "5";

/// The tests of `hsa-sim` alone: in the whole workspace, `hip` is built for a level that is newer than any available
/// runtime.
fn hsa_sim_tests(turn: Option<Turn>, offline: bool) -> Result<Step> {
    let mut command = checked_cargo("test", offline);
    command.arg("--no-fail-fast").args(packages(&[SIMULATOR]));
    if let Some(turn) = turn {
        let programs = workspace::test_programs(SIMULATOR)?;
        let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
        command.args(named_tests(&turn.select(programs, 2, |_| false)));
    }
    let step = Step::command(SIMULATOR, "ROCm's libraries on the software GPU", command);
    Ok(step.suite_of(&[SIMULATOR, "amdgpu-sim"]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_quick_set_is_small_and_on_one_release() {
        let steps = quick_steps(true).unwrap();
        let names: Vec<&str> = steps.iter().map(Step::name).collect();
        assert_eq!(names, ["fetch 7.2", "crates", "build hsa-sim", "hsa 7.2", "examples 7.2"]);
    }

    #[test]
    fn the_table_names_each_step_once() {
        let steps = steps(true, None, &RELEASES.iter().collect::<Vec<_>>(), &[]).unwrap();
        let names: BTreeSet<&str> = steps.iter().map(Step::name).collect();
        assert_eq!(names.len(), steps.len());
        for name in ["fetch 7.2", "fetch any", "workspace", "rocm-sdk", "bindings", "levels", "real 7.2"] {
            assert!(names.contains(name), "{name} is not in {names:?}");
        }
        let packages = workspace::packages().unwrap().into_iter().map(|package| package.name);
        let known: BTreeSet<String> = packages.chain(crate::changes::TASKS.map(str::to_owned)).collect();
        let suites: Vec<&[String]> = steps.iter().filter_map(Step::suite).collect();
        assert!(suites.len() > 20 && suites.concat().iter().all(|name| known.contains(name)), "{suites:?}");
    }
}
