//! Calls of cargo for the tests.

use std::path::Path;
use std::process::Command;

use crate::paths;
use crate::process::cargo;
use crate::rocm::Release;

/// API levels of the crates by their features, with an empty one first (which is 5.7).
pub(crate) const LEVELS: &[&str] =
    &["", "rocm-5-7", "rocm-6-2", "rocm-6-3", "rocm-6-4", "rocm-7-0", "rocm-7-1", "rocm-7-2", "rocm-10-0"];

/// The newest one.
pub(crate) const NEWEST: &str = LEVELS[LEVELS.len() - 1];

/// Returns `cargo TASK` with the environment for tests.
pub(crate) fn checked_cargo(task: &str, offline: bool) -> Command {
    let mut command = cargo();
    command.arg(task);
    if offline {
        command.arg("--offline");
    }
    environment(&mut command);
    command
}

/// Returns `cargo TASK` for code that is not run: it uses the committed kernels in Rust, since compiling them takes a
/// minute.
pub(crate) fn checking(task: &str) -> Command {
    let mut command = checked_cargo(task, false);
    command.env("HIP_KERNEL_BUILD", "committed");
    command
}

/// Sets the environment for tests.
pub(crate) fn environment(command: &mut Command) {
    command.env("ROCM_RS_TREES", paths::rocm_trees());
    // The machine's own choice of a GPU or of ROCm must not affect the tests.
    for name in ["HIP_RS_BACKEND", "ROCM_PATH", "HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(name);
    }
}

/// Returns `-p a -p b`, and `workspace-hack`: with it, their dependencies always have the same features and are built
/// once.
pub(crate) fn packages<'a>(names: &[&'a str]) -> Vec<&'a str> {
    names.iter().chain(&["workspace-hack"]).flat_map(|&name| ["-p", name]).collect()
}

/// Returns `--lib --test a --test b`: named test programs, and the libraries.
///
/// The libraries are for `workspace-hack`, which cargo omits otherwise. With `lto = "off"`, cargo compiles crates that
/// only macros need differently from crates that programs need as well. `workspace-hack` needs all of them: with it,
/// they are the same in every step, and so are all crates that use these macros.
pub(crate) fn named_tests<'a>(names: &[&'a str]) -> Vec<&'a str> {
    std::iter::once("--lib").chain(names.iter().flat_map(|&name| ["--test", name])).collect()
}

/// Returns the level of a release, as a feature.
pub(crate) fn feature(release: &Release) -> String {
    format!("rocm-{}", release.name.replace('.', "-"))
}

/// Returns `a/level,b/level`; nothing for no level.
pub(crate) fn features(packages: &[&str], level: &str) -> String {
    if level.is_empty() {
        return String::new();
    }
    packages.iter().map(|package| format!("{package}/{level}")).collect::<Vec<_>>().join(",")
}

/// Features of `hip` for other crates, which have tests of their own.
const INTEROP: &[&str] = &["half", "complex", "ndarray", "bytes", "tracing"];

/// Returns the features of crates at the newest API level with all features of `hip`: `hip` is the same in all steps
/// that run on ROCm's own libraries.
pub(crate) fn newest(names: &[&str]) -> String {
    let interop = INTEROP.iter().map(|feature| format!("hip/{feature}"));
    std::iter::once(features(names, NEWEST)).chain(interop).collect::<Vec<_>>().join(",")
}

/// Builds examples of a package, and returns commands that run each as `start` creates them.
pub(crate) fn programs(
    package: &str,
    with: &[&str],
    names: &[&str],
    offline: bool,
    start: impl Fn(&Path) -> Command,
) -> Vec<Command> {
    let mut build = checked_cargo("build", offline);
    // The libraries, as in `named_tests`.
    build.args(packages(&[package])).args(with).arg("--lib");
    names.iter().for_each(|name| {
        build.args(["--example", name]);
    });
    let folder = paths::built().join("examples");
    let run = |name| {
        let mut command = start(&folder.join(name));
        command.current_dir(paths::root());
        command
    };
    [build].into_iter().chain(names.iter().map(run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocm;

    #[test]
    fn features_of_several_crates() {
        assert_eq!(features(&["hip", "hiprtc"], "rocm-6-4"), "hip/rocm-6-4,hiprtc/rocm-6-4");
        assert_eq!(features(&["hip"], ""), "");
        assert_eq!(feature(rocm::release("5.7").unwrap()), "rocm-5-7");
    }

    #[test]
    fn a_release_beyond_the_newest_level_counts_as_newer_than_any_known() {
        let (major, minor) = rocm_loader::NEWEST_RELEASE;
        assert_eq!(NEWEST, format!("rocm-{major}-{minor}"));
    }
}
