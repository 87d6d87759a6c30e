//! Runs cases, each in a process of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::case::Case;
use crate::hsa::{self, Profile};
use crate::paths;
use crate::process::{Ended, within};
use crate::rocm::Release;

/// Maximum time of a case.
const PATIENCE: Duration = Duration::from_secs(60);

/// The software GPUs that cases see: collectives and copies between devices need two.
const DEVICES: usize = 2;

/// Creates a folder to run examples in, like cudarc's. `compiler` compiles its `examples/sin.ptx` for the software GPU,
/// from cudarc's `examples/sin.cu`, since PTX is only for NVIDIA GPUs.
pub(super) fn folder(source: &Path, release: &'static Release, compiler: Option<&Path>) -> Result<PathBuf> {
    let folder = paths::fetched("cudarc").join("run");
    let image = folder.join("examples/sin.ptx");
    fs::create_dir_all(folder.join("examples"))?;
    if let Some(compiler) = compiler.filter(|_| !image.exists()) {
        let mut command = hsa::program_on(compiler, release, Profile::Dev);
        command.args([&source.join("examples/sin.cu"), &image]).env("HIP_RS_BACKEND", "sim");
        let status = command.status().context("starting the compiler of sin.cu")?;
        ensure!(status.success(), "sin.cu: {status}");
    }
    Ok(folder)
}

/// Runs a case, and records the outcome.
pub(super) fn run(case: &mut Case, backend: &'static str, release: &'static Release, folder: &Path) {
    let Some((program, arguments)) = &case.program else { return };
    let mut command = if case.feature == "nccl" {
        hsa::program_on_several(program, release, DEVICES)
    } else {
        hsa::program_on(program, release, Profile::Dev)
    };
    command
        .args(arguments)
        .env("HIP_RS_BACKEND", backend)
        .env("RUST_BACKTRACE", "0")
        .env("HIP_SIM_DEVICES", DEVICES.to_string())
        .current_dir(folder);
    let outcome = match outcome(&mut command) {
        Ok(outcome) => outcome,
        Err(error) => Some(format!("{error:#}")),
    };
    case.outcomes.push((backend, outcome));
}

/// Returns `None` if the program succeeds, otherwise its error messages.
fn outcome(command: &mut Command) -> Result<Option<String>> {
    let Ended { status, text } = within(command, PATIENCE, || false)?;
    let Some(status) = status else { return Ok(Some(format!("not done after {} s", PATIENCE.as_secs()))) };
    if status.success() {
        return Ok(None);
    }
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let says = |line: &str| ["Error", "panicked", "left:", "right:"].iter().any(|word| line.contains(word));
    // The message of a panic is in the next line.
    let said = |at: usize| says(lines[at]) || (at > 0 && lines[at - 1].contains("panicked"));
    let lines: Vec<&str> = (0..lines.len()).filter(|at| said(*at)).map(|at| lines[at]).collect();
    let text = lines.join(" ");
    Ok(Some(if text.is_empty() { status.to_string() } else { text.chars().take(300).collect() }))
}
