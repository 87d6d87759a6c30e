//! Programs on ROCm's own HIP runtime over the software GPU: `libhsa-runtime64` of `hsa-sim` in the place of ROCm's.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::paths;
use crate::process::capture;
use crate::rocm::{self, Release};
use crate::test::{self, checked_cargo};

/// The name under which ROCm's HIP runtime looks for it.
const LIBRARY: &str = "libhsa-runtime64.so.1";

/// How it is compiled.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// For tests: with checks of our own, and the software GPU optimised all the same.
    Dev,
    /// For figures.
    Release,
}

/// Where it is put.
fn folder(profile: Profile) -> PathBuf {
    match profile {
        Profile::Dev => paths::fetched("hsa"),
        Profile::Release => paths::fetched("hsa-release"),
    }
}

/// Whether it is there.
pub(crate) fn is_built(profile: Profile) -> bool {
    folder(profile).join(LIBRARY).exists()
}

/// Builds it.
pub(crate) fn build(offline: bool, profile: Profile) -> Result<()> {
    let mut command = checked_cargo("build", offline);
    command.args(["-p", "hsa-sim", "--message-format", "json"]);
    if matches!(profile, Profile::Release) {
        command.arg("--release");
    }
    let messages = capture(&mut command)?;
    let built = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let ours = message["target"]["name"] == "libhsa-runtime64";
        ours.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    let built = built.context("cargo built libhsa-runtime64, but did not say where")?;
    let folder = folder(profile);
    std::fs::create_dir_all(&folder)?;
    let place = folder.join(LIBRARY);
    // Beside it first: a program may have the old one open.
    let beside = folder.join("new");
    std::fs::copy(&built, &beside).with_context(|| format!("copying {}", built.display()))?;
    std::fs::rename(&beside, &place).with_context(|| format!("writing {}", place.display()))
}

/// The loader of a release, with what has it take the software GPU for ROCm's.
fn loader(release: &'static Release, profile: Profile) -> [String; 3] {
    let tree = rocm::tree(release);
    let folders = format!("{}:{}", folder(profile).display(), tree.libraries().display());
    [tree.loader().display().to_string(), "--library-path".to_owned(), folders]
}

/// Has cargo run its programs with a release's HIP runtime, on the software GPU.
pub(crate) fn run_on(cargo: &mut Command, release: &'static Release, profile: Profile) {
    let runner = loader(release, profile).map(|word| format!("{word:?}"));
    cargo.args(["--config", &format!("target.'cfg(all())'.runner=[{}]", runner.join(","))]);
    environment(cargo, release);
}

/// A program with a release's HIP runtime, on the software GPU.
pub(crate) fn program_on(program: &Path, release: &'static Release, profile: Profile) -> Command {
    let [loader, arguments @ ..] = loader(release, profile);
    let mut command = Command::new(loader);
    command.args(arguments).arg(program);
    test::environment(&mut command);
    environment(&mut command, release);
    command
}

/// Which release it is, for the tests and for `rocm-sdk`.
fn environment(command: &mut Command, release: &'static Release) {
    command.env("ROCM_PATH", rocm::tree(release).folder().join("usr")).env("ROCM_RS_RELEASE", release.name);
}
