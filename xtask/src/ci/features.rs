//! The step `features`.

use anyhow::Result;

use super::checking;
use crate::steps::Step;
use crate::turn::Turn;
use crate::workspace;

/// Each feature that is no API level compiles without warnings by itself, and its crate without any. Of the crates that rest on `hip` one
/// feature each is on at a time: fewer runs, in which they compile side by side.
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
        // None at all, always.
        for index in turn.map_or_else(|| all.clone(), |turn| turn.select(all.clone(), 3, |index| *index == 0)) {
            let mut command = checking("check");
            // With workspace-hack, so that what they depend on is checked once. It may hide a feature that a crate forgot to ask for: the step
            // `levels` is without.
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

/// Whether a feature of `cuda-compat` is there so that programs for cudarc keep theirs, and no code asks for it,
/// except for the value of `CUDA_VERSION`.
fn is_name_of_cudarc(feature: &str) -> bool {
    const BEGINNINGS: [&str; 9] =
        ["cuda-", "nccl-", "cudnn", "cupti", "cusolvermg", "cutensor", "dynamic-", "static-", "fallback-"];
    ["nvrtc", "runtime", "std", "no-std"].contains(&feature)
        || BEGINNINGS.iter().any(|start| feature.starts_with(start))
}
