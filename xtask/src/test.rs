//! `cargo xtask test`: every test that this machine can run.
//!
//! The steps are declared in [`fn@steps`]. Tests learn where ROCm is from `ROCM_RS_TREES`, the absolute path of a folder
//! with `5.7`, `6.4` and `7.2` in it (whichever were fetched). A test that runs on one of them, through its loader,
//! finds its name in `ROCM_RS_RELEASE`, and `ROCM_PATH` leads rocm-sdk to it.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result};
use rocm_sdk::install::debian::usable;

use crate::paths;
use crate::process::{capture, cargo};
use crate::rocm::{self, RELEASES, Release};
use crate::steps::{self, Step};

/// API levels of the crates, as their features name them, with none first (which is 5.7).
const LEVELS: &[&str] =
    &["", "rocm-5-7", "rocm-6-2", "rocm-6-3", "rocm-6-4", "rocm-7-0", "rocm-7-1", "rocm-7-2", "rocm-10-0"];

/// Crates that have the levels as features.
const LEVELLED: &[&str] = &["hip-sys", "hiprtc-sys", "hip", "hiprtc"];

/// Every test that this machine can run, with a summary that names what was skipped and why.
///
/// Real ROCm releases are fetched if they can be (about 65 MB each, once), so that the bindings are compared with
/// their headers and the crates run on their libraries. No AMD GPU is needed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask test                     everything
  cargo xtask test --offline           without the network
  cargo xtask test --list              what there is
  cargo xtask test layout real         steps with these words in their name
  cargo xtask test --rocm 7.2 real     on one ROCm release")]
pub(crate) struct Args {
    /// Use no network: only what is there already
    #[arg(long)]
    offline: bool,
    /// Only these ROCm releases (5.7, 6.4, 7.2); may be given several times
    #[arg(long, value_name = "REL", value_parser = rocm::release)]
    rocm: Vec<&'static Release>,
    /// Show the steps instead of running them
    #[arg(long)]
    list: bool,
    /// Run the steps with one of these in their name
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let steps = steps(args.offline, &args.releases())?;
    steps::list_or_run(steps, &args.filters, args.list)
}

impl Args {
    fn releases(&self) -> Vec<&'static Release> {
        if self.rocm.is_empty() { RELEASES.iter().collect() } else { self.rocm.clone() }
    }
}

/// The table of steps.
pub(crate) fn steps(offline: bool, releases: &[&'static Release]) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = releases.iter().map(|release| fetch(release, offline)).collect();
    let test = |words: &[&str]| {
        let mut command = checked_cargo("test", offline);
        command.arg("--no-fail-fast").args(words);
        command
    };
    steps.push(Step::command("workspace", "unit, integration and doc tests of every crate", test(&["--workspace"])));
    // The workspace has the software GPU on, for the examples use it.
    let crates = ["--lib", "--tests", "-p", "hip", "-p", "hiprtc"];
    let about = "the safe crates with neither ROCm nor the software GPU";
    steps.push(Step::command("no backend", about, test(&crates)));
    let about = "the safe crates on the software GPU, with nothing else on";
    steps.push(Step::command("sim", about, test(&[&crates[..], &["--features", "hip/sim,hiprtc/sim"]].concat())));
    for release in releases {
        let features = features(&["hip-sys", "hiprtc-sys"], &feature(release));
        let command = test(&["-p", "hip-sys", "-p", "hiprtc-sys", "--no-default-features", "--features", &features]);
        let about = format!("the bindings against the C headers of ROCm {}", release.name);
        steps.push(Step::command(format!("layout {}", release.name), about, command).when(fetched(release)));
    }
    for release in releases {
        steps.push(real(release, offline));
    }
    steps.push(levels(offline));
    steps.push(examples(offline)?);
    Ok(steps)
}

/// Getting a release: what cannot be had here is skipped, and so is later what needs it.
fn fetch(release: &'static Release, offline: bool) -> Step {
    let about = format!("real libraries and headers, under {}", rocm::tree(release).folder().display());
    Step::call(format!("fetch {}", release.name), about, move || rocm::fetch(release, &[], false)).or_skip().when(
        move || {
            if rocm::is_present(release) {
                Ok(())
            } else if offline {
                Err("told --offline, and it is not there yet".to_owned())
            } else {
                usable().map_err(|error| error.to_string())
            }
        },
    )
}

/// The condition that a release is there.
fn fetched(release: &'static Release) -> impl Fn() -> Result<(), String> + 'static {
    move || match rocm::is_present(release) {
        true => Ok(()),
        false => Err(format!("ROCm {name} is not there (cargo xtask rocm fetch {name})", name = release.name)),
    }
}

/// Tests on a release's own libraries, through its loader.
fn real(release: &'static Release, offline: bool) -> Step {
    let tree = rocm::tree(release);
    let runner: Vec<String> = tree.launcher().iter().map(|word| format!("{word:?}")).collect();
    let config = format!("target.'cfg(all())'.runner=[{}]", runner.join(","));
    let test = |packages: &[&str]| {
        let mut command = checked_cargo("test", offline);
        // Doc tests are rustdoc's to start; they run in the step `workspace`.
        command.args(["--config", &config, "--no-fail-fast", "--lib", "--tests", "--no-default-features"]);
        command.args(["--features", &features(packages, &feature(release))]);
        packages.iter().for_each(|package| {
            command.args(["-p", package]);
        });
        command.env("ROCM_PATH", tree.folder().join("usr")).env("ROCM_RS_RELEASE", release.name);
        command
    };
    // What HIPRTC compiles here runs on the software GPU, and only here is there both.
    let mut compiled = test(&["hiprtc"]);
    compiled.args(["--features", "hiprtc/sim"]);
    // The -sys crates start the loader themselves, in the steps `layout`.
    let commands = vec![test(&["hip"]), compiled];
    let about = format!("tests on the real libraries of ROCm {}, which find no GPU", release.name);
    Step::commands(format!("real {}", release.name), about, commands).when(fetched(release))
}

/// Every API level compiles without warnings, and so do two at a time.
fn levels(offline: bool) -> Step {
    let check = |features: &str| {
        let mut command = checked_cargo("check", offline);
        LEVELLED.iter().for_each(|package| {
            command.args(["-p", package]);
        });
        command.args(["--no-default-features", "--features", features]).env("RUSTFLAGS", "-D warnings");
        command
    };
    let mut commands: Vec<Command> = LEVELS.iter().map(|level| check(&features(LEVELLED, level))).collect();
    // Levels of different crates in one program, as Cargo unifies them.
    commands.push(check("hip/rocm-5-7,hiprtc/rocm-6-2,hip-sys/rocm-10-0"));
    commands.push(check("hip/rocm-6-4,hip/rocm-7-2,hiprtc/rocm-6-4,hiprtc/rocm-7-2"));
    Step::commands("levels", "every API level, and several at once", commands)
}

/// Each example runs to its end on the software GPU and finds its result right.
fn examples(offline: bool) -> Result<Step> {
    let metadata = capture(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?;
    let run = |name: &String| {
        let mut command = checked_cargo("run", offline);
        command.args(["-p", "rocm-examples", "--example", name]).env("HIP_RS_BACKEND", "sim");
        command
    };
    let commands = names_of_examples(&metadata)?.iter().map(run).collect();
    Ok(Step::commands("examples", "every example on the software GPU", commands))
}

fn names_of_examples(metadata: &str) -> Result<BTreeSet<String>> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).context("cargo metadata cannot be read")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let examples = packages.iter().filter(|package| package["name"] == "rocm-examples");
    let targets = examples.filter_map(|package| package["targets"].as_array()).flatten();
    let examples = targets.filter(|target| target["kind"][0] == "example");
    Ok(examples.filter_map(|target| target["name"].as_str()).map(str::to_owned).collect())
}

/// `cargo TASK` with what tests need in the environment.
pub(crate) fn checked_cargo(task: &str, offline: bool) -> Command {
    let mut command = cargo();
    command.arg(task).env("ROCM_RS_TREES", paths::rocm_trees());
    if offline {
        command.arg("--offline");
    }
    // The machine's own choice of a GPU or of ROCm must not decide what the tests see.
    for name in ["HIP_RS_BACKEND", "ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
    command
}

/// The level of a release, as a feature.
fn feature(release: &Release) -> String {
    format!("rocm-{}", release.name.replace('.', "-"))
}

/// `a/level,b/level`; nothing for no level.
fn features(packages: &[&str], level: &str) -> String {
    if level.is_empty() {
        return String::new();
    }
    packages.iter().map(|package| format!("{package}/{level}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_several_crates() {
        assert_eq!(features(&["hip", "hiprtc"], "rocm-6-4"), "hip/rocm-6-4,hiprtc/rocm-6-4");
        assert_eq!(features(&["hip"], ""), "");
        assert_eq!(feature(rocm::release("5.7").unwrap()), "rocm-5-7");
    }

    #[test]
    fn every_level_of_hip_sys_is_checked() {
        let manifest = std::fs::read_to_string(paths::root().join("hip-sys/Cargo.toml")).unwrap();
        let stated: Vec<&str> = manifest
            .lines()
            .filter(|line| line.starts_with("rocm-") && line.contains("= ["))
            .filter_map(|line| line.split(' ').next())
            .collect();
        assert_eq!(stated, LEVELS[1..]);
    }

    #[test]
    fn examples_are_found_by_cargos_own_account() {
        let metadata = r#"{"packages":[
            {"name":"rocm-examples","targets":[{"kind":["example"],"name":"vector_add"},{"kind":["lib"],"name":"x"}]},
            {"name":"hip","targets":[{"kind":["example"],"name":"other"}]}]}"#;
        assert_eq!(names_of_examples(metadata).unwrap().into_iter().collect::<Vec<_>>(), ["vector_add"]);
    }

    #[test]
    fn the_table_names_each_step_once() {
        let steps = steps(true, &RELEASES.iter().collect::<Vec<_>>()).unwrap();
        let names: BTreeSet<&str> = steps.iter().map(Step::name).collect();
        assert_eq!(names.len(), steps.len());
        assert!(names.contains("workspace") && names.contains("real 7.2"), "{names:?}");
    }
}
