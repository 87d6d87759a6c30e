//! The steps `levels` and `bindings`: the crates at each API level.

use std::process::Command;

use crate::cargo::{LEVELS, checked_cargo, features, packages};
use crate::steps::Step;
use crate::turn::Turn;

/// Safe crates with the levels as features, like every -sys crate.
pub(super) const SAFE: [&str; 12] = [
    "hip",
    "hip-gl",
    "hiprtc",
    "hipblas",
    "hipblaslt",
    "hipsolver",
    "hiprand",
    "hipfft",
    "hipsparse",
    "rccl",
    "rocm-llvm",
    "cuda-compat",
];

/// Returns the oldest and the newest API level, and in each turn a third of those in between; all levels without a
/// turn.
pub(super) fn levels_of(all: &[&'static str], turn: Option<Turn>) -> Vec<&'static str> {
    let ends = [all[0], all[all.len() - 1]];
    turn.map_or_else(|| all.to_vec(), |turn| turn.select(all.to_vec(), 3, |level| ends.contains(level)))
}

/// The safe and the raw crates compile without warnings at every API level alone, and with several at once.
pub(super) fn levels(raw: &[&str], turn: Option<Turn>, offline: bool) -> Step {
    let check = |names: &[&str], features: &str| {
        let mut command = checked_cargo("check", offline);
        // Without workspace-hack: each crate must request all features of others that it needs.
        command.args(names.iter().flat_map(|&name| ["-p", name]));
        command.args(["--no-default-features", "--features", features]);
        command.env("RUSTFLAGS", "-D warnings");
        command
    };
    let of_turn = levels_of(LEVELS, turn);
    let mut commands: Vec<Command> = of_turn.iter().map(|level| check(&SAFE, &features(&SAFE, level))).collect();
    commands.push(check(raw, ""));
    // Different levels of crates in one program, as Cargo unifies them.
    commands.push(check(&SAFE, "hip/rocm-5-7,hiprtc/rocm-6-2,hip/rocm-10-0"));
    commands.push(check(&SAFE, "hip/rocm-6-4,hip/rocm-7-2,hiprtc/rocm-6-4,hiprtc/rocm-7-2"));
    commands.push(check(raw, "hip-sys/rocm-10-0,hipblas-sys/rocm-5-7,hipsolver-sys/rocm-6-4,hipblaslt-sys/rocm-7-0"));
    Step::commands("levels", "every API level of the crates, none, and several at once", commands)
}

/// The raw bindings with the modules of all levels compile without warnings, and agree with the headers, the packages
/// and the libraries of each release.
pub(super) fn bindings(raw: &[&str], offline: bool) -> Step {
    let mut command = checked_cargo("test", offline);
    command.args(["--no-fail-fast", "--lib", "--tests", "--all-features"]).args(packages(raw));
    command.env("RUSTFLAGS", "-D warnings");
    let step = Step::command("bindings", "every -sys crate at all API levels, which are in one program", command);
    step.suite_of(&[raw, &["rocm-loader", "sys-testing"]].concat())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::workspace;

    #[test]
    fn every_level_of_every_crate_is_checked() {
        for package in workspace::published().unwrap() {
            let stated: BTreeSet<&str> =
                package.features.iter().map(String::as_str).filter(|name| name.starts_with("rocm-")).collect();
            let expected: BTreeSet<&str> = match package.is_sys() || SAFE.contains(&package.name.as_str()) {
                true => LEVELS[1..].iter().copied().collect(),
                false => BTreeSet::new(),
            };
            assert_eq!(stated, expected, "{}", package.name);
        }
    }
}
