//! Runs programs on ROCm's own HIP runtime over the software GPU: with `hsa-sim` as `libhsa-runtime64` instead of
//! ROCm's, and `gl-sim` instead of OpenGL.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo::{self, checked_cargo};
use crate::paths;
use crate::process::messages;
use crate::rocm::{self, Release};

/// The name under which ROCm's HIP runtime opens it.
const LIBRARY: &str = "libhsa-runtime64.so.1";

/// The names under which ROCm's HIP runtime opens OpenGL and X: one library, which must be loaded once.
const OPEN_GL: &str = "libGL.so.1";
const X: &str = "libX11.so.6";

/// The profile that it is compiled with.
#[derive(Clone, Copy)]
pub(crate) enum Profile {
    /// For tests: with our own checks enabled, and with the software GPU optimised.
    Dev,
    /// For measurements.
    Release,
}

/// Returns the folder that it is copied to.
fn folder(profile: Profile) -> PathBuf {
    match profile {
        Profile::Dev => paths::fetched("hsa"),
        Profile::Release => paths::fetched("hsa-release"),
    }
}

/// Returns whether it has been built.
pub(crate) fn is_built(profile: Profile) -> bool {
    [LIBRARY, OPEN_GL, X].iter().all(|name| folder(profile).join(name).exists())
}

/// Returns the condition that a release and the software GPU for it are available.
pub(crate) fn hsa_ready(release: &'static Release) -> impl Fn() -> Result<(), String> + 'static {
    move || {
        rocm::fetched(release)()?;
        if is_built(Profile::Dev) { Ok(()) } else { Err("hsa-sim was not built (step `build hsa-sim`)".to_owned()) }
    }
}

/// Builds both libraries.
pub(crate) fn build(offline: bool, profile: Profile) -> Result<()> {
    let mut command = checked_cargo("build", offline);
    command.args(cargo::packages(&["hsa-sim", "gl-sim"]));
    if matches!(profile, Profile::Release) {
        command.arg("--release");
    }
    let messages = messages(&mut command)?;
    put(&messages, "libhsa-runtime64", profile, LIBRARY)?;
    put(&messages, "gl_sim", profile, OPEN_GL)?;
    let link = folder(profile).join(X);
    if link.symlink_metadata().is_err() {
        std::os::unix::fs::symlink(OPEN_GL, &link).with_context(|| format!("making {}", link.display()))?;
    }
    Ok(())
}

/// Copies a library from cargo's messages to the folder in which it is searched.
fn put(messages: &str, target: &str, profile: Profile, name: &str) -> Result<()> {
    let built = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        if message["target"]["name"] != target {
            return None;
        }
        // A program that is linked as a library, or a library.
        let file = message["executable"].as_str().or_else(|| message["filenames"][0].as_str());
        file.map(PathBuf::from)
    });
    let built = built.with_context(|| format!("cargo built {target}, but did not say where"))?;
    let folder = folder(profile);
    std::fs::create_dir_all(&folder)?;
    let place = folder.join(name);
    // Copied to a new file first: a program may have the old one open.
    let beside = folder.join("new");
    std::fs::copy(&built, &beside).with_context(|| format!("copying {}", built.display()))?;
    std::fs::rename(&beside, &place).with_context(|| format!("writing {}", place.display()))
}

/// Returns a release's loader with the arguments that replace ROCm's HSA by the software GPU.
fn loader(release: &'static Release, profile: Profile) -> [String; 3] {
    let tree = rocm::tree(release);
    let folders = format!("{}:{}", folder(profile).display(), tree.libraries().display());
    [tree.loader().display().to_string(), "--library-path".to_owned(), folders]
}

/// Makes cargo run its programs with a release's HIP runtime, on the software GPU.
pub(crate) fn run_on(cargo: &mut Command, release: &'static Release, profile: Profile) {
    let runner = loader(release, profile).map(|word| format!("{word:?}"));
    cargo.args(["--config", &format!("target.'cfg(all())'.runner=[{}]", runner.join(","))]);
    environment(cargo, release);
}

/// Returns a program with a release's HIP runtime, on the software GPU.
pub(crate) fn program_on(program: &Path, release: &'static Release, profile: Profile) -> Command {
    let [loader, arguments @ ..] = loader(release, profile);
    let mut command = Command::new(loader);
    command.args(arguments).arg(program);
    cargo::environment(&mut command);
    environment(&mut command, release);
    command
}

/// Builds the command `hip-sim`, which shows programs the kernel driver's files of the GPUs: RCCL reads these.
pub(crate) fn build_command(offline: bool) -> Command {
    let mut command = checked_cargo("build", offline);
    command.args(cargo::packages(&["hsa-sim"])).args(["--features", "hsa-sim/cli"]);
    command
}

/// Returns `hip-sim run` with these settings on a release's libraries; the program must follow.
pub(crate) fn hip_sim_run(settings: impl IntoIterator<Item: AsRef<OsStr>>, release: &'static Release) -> Command {
    let mut command = Command::new(paths::built().join("hip-sim"));
    command.arg("run").args(settings).arg("--rocm").arg(rocm::tree(release).folder()).arg("--");
    cargo::environment(&mut command);
    command
}

/// As few connections as RCCL supports, since its defaults are for a real machine's links, and only local ones.
const FEW_CONNECTIONS: [(&str, &str); 3] =
    [("NCCL_MAX_NCHANNELS", "2"), ("NCCL_RAS_ENABLE", "0"), ("NCCL_SOCKET_IFNAME", "lo")];

/// Makes cargo run its programs with a release's HIP runtime, on several software GPUs, through `hip-sim`.
pub(crate) fn run_on_several(cargo: &mut Command, release: &'static Release, devices: usize) {
    let command = paths::built().join("hip-sim").display().to_string();
    let (devices, rocm) = (devices.to_string(), rocm::tree(release).folder().display().to_string());
    let runner = [&command, "run", "--devices", &devices, "--rocm", &rocm, "--"].map(|word| format!("{word:?}"));
    cargo.args(["--config", &format!("target.'cfg(all())'.runner=[{}]", runner.join(","))]);
    cargo.env("ROCM_RS_RELEASE", release.name).envs(FEW_CONNECTIONS);
}

/// Returns a program with a release's HIP runtime, on several software GPUs, through `hip-sim`: RCCL then finds them.
pub(crate) fn program_on_several(program: &Path, release: &'static Release, devices: usize) -> Command {
    let mut command = hip_sim_run(["--devices", &devices.to_string()], release);
    command.arg(program).env("ROCM_RS_RELEASE", release.name).envs(FEW_CONNECTIONS);
    command
}

/// Adds the arguments of `rccl-run` for as many ranks as simulated GPUs; the program must follow.
pub(crate) fn start_ranks(command: &mut Command, release: &'static Release, devices: usize) {
    command.arg("--sim").arg(devices.to_string()).arg("--rocm").arg(rocm::tree(release).folder()).arg("--");
    command.env("HIP_SIM_COMMAND", paths::built().join("hip-sim")).envs(FEW_CONNECTIONS);
}

/// Sets the variables that name the release, for the tests and for `rocm-sdk`.
fn environment(command: &mut Command, release: &'static Release) {
    command.env("ROCM_PATH", rocm::tree(release).folder().join("usr")).env("ROCM_RS_RELEASE", release.name);
    // rocFFT's compiler would run in another process, without this loader, and not find the release's libraries.
    command.env("ROCFFT_RTC_PROCESS", "0");
}
