//! `cargo xtask cudarc --crates`: published crates that depend on cudarc, unchanged, with the crate `cudarc` of this
//! workspace in its place by `[patch.crates-io]`.

mod guide;
mod harness;
mod list;
mod page;
mod patch;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use self::harness::Outcomes;
use self::list::{PUBLISHED, Program, Published};
use self::page::Results;
use super::scratch;
use crate::cargo::{checked_cargo, packages};
use crate::hsa::{self, Profile};
use crate::paths;
use crate::process::{capture, cargo, messages, program};
use crate::rocm::{self, Release};

/// Compiles and runs the crates whose names contain `name`, and puts their results on the page. Of the tests, each
/// `every`th runs.
pub(super) fn run(release: &'static Release, name: Option<&str>, every: usize) -> Result<()> {
    hsa::build(false, Profile::Dev)?;
    let mut command = checked_cargo("build", false);
    command.args(packages(&["cuda-compat"])).args(["--features", "cuda-compat/cli", "--bin", "cuda-compat"]);
    messages(&mut command)?;
    let is_wanted = |of: &str| name.is_none_or(|name| of.contains(name));
    let wanted: Vec<&Published> = PUBLISHED.iter().filter(|of| is_wanted(of.name)).collect();
    if is_wanted(guide::NAME) {
        run_guide(release)?;
    } else if wanted.is_empty() {
        let names: Vec<&str> = PUBLISHED.iter().map(|of| of.name).chain([guide::NAME]).collect();
        bail!("no crate has such a name; the names are {}", names.join(", "));
    }
    let mut wrong = Vec::new();
    for of in wanted {
        let results = results(of, release, every)?;
        println!("{} {}: {} tests", of.name, of.version, results.outcomes.len());
        if let Err(error) = page::put(of, &results) {
            wrong.push(format!("{error:#}"));
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Builds and runs the program of the guide, which compares the GPU with the CPU itself.
fn run_guide(release: &'static Release) -> Result<()> {
    let folder = guide::application()?;
    let built = messages(&mut in_crate(&[], &folder, release, "build"))?;
    let mut command = hsa::program_on(&program(&built, "bin", "candle-app")?, release, Profile::Dev);
    let output = capture(command.env("HIP_RS_BACKEND", "rocm"))?;
    print!("{}: {output}", guide::NAME);
    Ok(())
}

fn results(of: &Published, release: &'static Release, every: usize) -> Result<Results> {
    let (folder, asked) = patch::patch(of)?;
    let mut library = in_crate(of.features, &folder, release, "build");
    let output = library.args(["--lib", "--message-format", "json"]).stderr(Stdio::inherit()).output()?;
    let errors = scratch::errors(&String::from_utf8_lossy(&output.stdout));
    ensure!(output.status.success() || !errors.is_empty(), "cargo could not build {}", folder.display());
    let refused = errors.first().map(|first| (first.text.clone(), errors.len()));
    let (mut outcomes, mut all) = (Outcomes::new(), 0);
    for program in of.programs.iter().filter(|_| refused.is_none()) {
        let program = build(of, &folder, release, *program)?;
        let start = || {
            let mut command = hsa::program_on(&program, release, Profile::Dev);
            command.env("HIP_RS_BACKEND", "rocm").env("RUST_BACKTRACE", "0").current_dir(&folder);
            // cubecl-cuda looks for headers of CUDA when the program runs.
            command.env("CUDA_PATH", patch::folder().join("cuda"));
            command
        };
        let list = capture(start().args(["--list", "--format", "terse"]))?;
        let is_wanted = |name: &String| of.parts.is_empty() || of.parts.iter().any(|part| name.contains(part));
        let names: Vec<String> = harness::names(&list).into_iter().filter(is_wanted).collect();
        all += names.len();
        let sample: Vec<String> = names.into_iter().step_by(every).collect();
        outcomes.extend(harness::run(&sample, &start)?);
    }
    ensure!(refused.is_some() || !outcomes.is_empty(), "{} has no test for GPUs", of.name);
    let sampled = (all > outcomes.len()).then_some(all);
    Ok(Results { asked, refused, outcomes, sampled })
}

/// Returns a program with tests.
fn build(of: &Published, folder: &Path, release: &'static Release, which: Program) -> Result<PathBuf> {
    let mut command = in_crate(of.features, folder, release, "test");
    command.arg("--no-run");
    let library = of.name.replace('-', "_");
    let (kind, name) = match which {
        Program::Library => ("lib", library.as_str()),
        Program::Test(name) => ("test", name),
    };
    match which {
        Program::Library => command.arg("--lib"),
        Program::Test(name) => command.args(["--test", name]),
    };
    program(&messages(&mut command)?, kind, name).with_context(|| format!("the tests of {}", of.name))
}

/// Returns cargo in the crate, with the stand-ins for CUDA's commands.
fn in_crate(features: &[&str], folder: &Path, release: &'static Release, task: &str) -> Command {
    let mut command = Command::new(paths::built().join("cuda-compat"));
    command.args(["env", "--omit-host-code", "--dir"]).arg(patch::folder().join("cuda")).arg("--");
    command.arg(cargo().get_program()).arg(task).arg("--target-dir").arg(patch::folder().join("target"));
    if !features.is_empty() {
        command.arg("--features").arg(features.join(","));
    }
    command.current_dir(folder).env("CUDA_COMPAT_ARCH", "gfx90a");
    // Their lints are not ours, and files for debuggers are large.
    command.env("RUSTFLAGS", "--cap-lints=warn").env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.env("ROCM_PATH", rocm::tree(release).folder().join("usr"));
    command
}
