//! The step `features`.

use anyhow::Result;

use crate::cargo::checking;
use crate::steps::Step;
use crate::turn::Turn;
use crate::workspace;

/// Checks that each feature that is not an API level compiles without warnings alone, and its crate without any. For
/// the crates over `hip`, one feature of each is enabled at a time: fewer runs, in which they compile in parallel.
pub(super) fn features(turn: Option<Turn>) -> Result<Step> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for package in workspace::published()?.into_iter().filter(|package| !package.is_sys()) {
        let name = &package.name;
        let features = package.features.iter().filter(|feature| !feature.starts_with("rocm-"));
        let features = features.filter(|feature| name != "cuda-compat" || !is_name_of_cudarc(feature));
        let features = [String::new()].into_iter().chain(features.map(|feature| format!("{name}/{feature}"))).collect();
        all.push((package.name, features));
    }
    let (alone, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|(name, _)| name == "hip");
    let mut commands = Vec::new();
    for group in [alone, others] {
        let most = group.iter().map(|(_, features)| features.len()).max().unwrap_or(0);
        let all: Vec<usize> = (0..most).collect();
        // Always without any feature.
        for index in turn.map_or_else(|| all.clone(), |turn| turn.select(all.clone(), 3, |index| *index == 0)) {
            let mut command = checking("check");
            // With workspace-hack, so that dependencies are checked once. It may hide a feature that a crate forgot to request: the step
            // `levels` runs without it.
            command.args(["--no-default-features", "-p", "workspace-hack"]).env("RUSTFLAGS", "-D warnings");
            let mut on = Vec::new();
            for (name, features) in &group {
                if let Some(feature) = features.get(index) {
                    command.args(["-p", name]);
                    on.push(feature.as_str());
                }
            }
            command.args(["--features", &on.join(",")]);
            commands.push(command);
        }
    }
    Ok(Step::commands("features", "each feature by itself, and none", commands))
}

/// Returns whether a feature of `cuda-compat` only exists so that programs for cudarc can keep theirs, and no code uses
/// it, except for the value of `CUDA_VERSION`.
fn is_name_of_cudarc(feature: &str) -> bool {
    const BEGINNINGS: [&str; 9] =
        ["cuda-", "nccl-", "cudnn", "cupti", "cusolvermg", "cutensor", "dynamic-", "static-", "fallback-"];
    ["nvrtc", "runtime", "std", "no-std"].contains(&feature)
        || BEGINNINGS.iter().any(|start| feature.starts_with(start))
}
