//! The packages that changed since the last whole run that passed. A sampled run leaves out the suites of the others, in
//! two of three turns.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::paths;
use crate::process::capture;
use crate::steps::Step;
use crate::turn::Turn;
use crate::workspace::{self, Package};

/// The file with the name of the last commit whose whole run passed, from the root of the workspace.
const PASSED: &str = ".ci/passed";

/// The number of turns in which an unchanged suite is run once.
const TURNS: usize = 3;

/// What is different from the commit in [`PASSED`].
#[derive(Debug, PartialEq, Eq)]
enum Changes {
    /// A file that concerns every package, or nothing is known. The text says which, or why.
    Everywhere(String),
    /// In these packages.
    In { packages: BTreeSet<String>, since: String },
}

/// Leaves out the suites whose packages are unchanged and whose turn it is not. They stay in the table, with the reason.
///
/// # Errors
/// If cargo cannot list the packages.
pub(crate) fn leave_out_unchanged(steps: Vec<Step>, turn: Turn) -> Result<Vec<Step>> {
    let changes = Changes::since_passed()?;
    if let Changes::Everywhere(why) = &changes {
        println!("every suite is run: {why}");
    }
    Ok(select(steps, turn, &changes))
}

fn select(steps: Vec<Step>, turn: Turn, changes: &Changes) -> Vec<Step> {
    let Changes::In { packages: changed, since } = changes else { return steps };
    let mut suites = 0;
    let decide = |step: Step| {
        let Some(own) = step.suite() else { return step };
        let index = suites;
        suites += 1;
        if turn.is_of(index, TURNS) || own.iter().any(|name| changed.contains(name)) {
            return step;
        }
        let why = format!("another turn's: {} unchanged since {since}, which passed", own.join(", "));
        step.when(move || Err(why.clone()))
    };
    steps.into_iter().map(decide).collect()
}

impl Changes {
    fn since_passed() -> Result<Self> {
        let Ok(text) = fs::read_to_string(paths::root().join(PASSED)) else {
            return Ok(Self::Everywhere(format!("there is no {PASSED}")));
        };
        let passed = text.trim();
        let Ok(files) = files_changed_since(passed) else {
            return Ok(Self::Everywhere(format!(
                "the commit in {PASSED}, {passed}, is not among those before this one"
            )));
        };
        let root = paths::root();
        let short = passed.get(..10).unwrap_or(passed);
        Ok(Self::of(&files, &workspace::packages()?, root, short))
    }

    /// Returns the packages that the files are in.
    fn of(files: &[String], packages: &[Package], root: &Path, since: &str) -> Self {
        let mut changed = BTreeSet::new();
        for file in files {
            let inside = packages.iter().filter(|package| root.join(file).starts_with(&package.folder));
            // A package's folder may be in that of another.
            let package = inside.max_by_key(|package| package.folder.components().count());
            match package {
                Some(package) if package.name == "xtask" => match task_of(file) {
                    Some(task) => drop(changed.insert(task.to_owned())),
                    None => return Self::Everywhere(format!("{file} has changed")),
                },
                Some(package) => drop(changed.insert(package.name.clone())),
                None if file == PASSED || is_page(file) => {}
                None => return Self::Everywhere(format!("{file} has changed")),
            }
        }
        Self::In { packages: changed, since: since.to_owned() }
    }
}

/// Folders of xtask that run no suite but those that name them with [`Step::suite_of`], as packages are named.
pub(crate) const TASKS: [&str; 5] =
    ["xtask/src/bench", "xtask/src/bindgen", "xtask/src/cuda", "xtask/src/functions", "xtask/src/suites"];

/// Returns the folder in [`TASKS`] that a file is in.
fn task_of(file: &str) -> Option<&'static str> {
    TASKS.into_iter().find(|task| file.strip_prefix(task).is_some_and(|rest| rest.starts_with('/')))
}

/// Returns whether no suite reads the file: pages that lie in no package.
fn is_page(file: &str) -> bool {
    file.ends_with(".md") || file.starts_with("LICENSE")
}

/// Returns the files that differ between a commit before this one and the folder as it is now.
fn files_changed_since(commit: &str) -> Result<Vec<String>> {
    let git = |words: &[&str]| {
        capture(std::process::Command::new("git").args(words).current_dir(paths::root()))
            .with_context(|| format!("git {}", words.join(" ")))
    };
    git(&["merge-base", "--is-ancestor", commit, "HEAD"])?;
    let changed = git(&["diff", "--name-only", "--no-renames", "-z", commit, "--"])?;
    let new = git(&["ls-files", "--others", "--exclude-standard", "-z"])?;
    Ok([changed, new].concat().split('\0').filter(|file| !file.is_empty()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::steps;

    fn package(name: &str, folder: &str) -> Package {
        Package {
            name: name.into(),
            version: "1.0.0".into(),
            folder: folder.into(),
            roots: Vec::new(),
            published: true,
            features: Vec::new(),
            examples: Vec::new(),
            tests: Vec::new(),
        }
    }

    fn changes(files: &[&str]) -> Changes {
        let packages = [package("hip", "/w/hip"), package("inner", "/w/hip/inner"), package("xtask", "/w/xtask")];
        let files: Vec<String> = files.iter().map(|&file| file.to_owned()).collect();
        Changes::of(&files, &packages, Path::new("/w"), "abc")
    }

    fn within(names: &[&str]) -> Changes {
        Changes::In { packages: names.iter().map(|&name| name.to_owned()).collect(), since: "abc".into() }
    }

    #[test]
    fn a_file_counts_for_the_innermost_package() {
        assert_eq!(changes(&["hip/src/lib.rs", "hip/README.md"]), within(&["hip"]));
        assert_eq!(changes(&["hip/inner/src/lib.rs"]), within(&["inner"]));
        assert_eq!(changes(&["xtask/src/suites/amd/mod.rs"]), within(&["xtask/src/suites"]));
        assert_eq!(changes(&["README.md", "LICENSE-MIT", PASSED]), within(&[]));
        assert_eq!(changes(&[]), within(&[]));
    }

    #[test]
    fn what_all_packages_share_counts_for_all() {
        for file in ["Cargo.lock", "Cargo.toml", ".ci/run", "api/hip.tsv", "xtask/src/suites.rs", "hiprand/src/lib.rs"]
        {
            assert_eq!(changes(&["hip/src/lib.rs", file]), Changes::Everywhere(format!("{file} has changed")));
        }
    }

    #[test]
    fn an_unchanged_suite_is_run_in_one_of_three_turns_and_a_changed_one_in_each() {
        let run = |turn: u64, changes: &Changes| -> (u64, u64, u64) {
            let step = |name: &str| Step::command(name, "", Command::new("true"));
            let suite = |name: &str| step(name).suite_of(&[name]);
            let steps = vec![step("always"), suite("hip"), suite("rccl"), suite("hipfft"), suite("hiprand")];
            steps::run(select(steps, Turn::new(turn), changes)).totals()
        };
        for turn in 0..3 {
            assert_eq!(run(turn, &Changes::Everywhere(String::new())), (5, 0, 0));
            let unchanged = run(turn, &within(&[]));
            assert_eq!(unchanged, if turn == 0 { (3, 0, 2) } else { (2, 0, 3) });
        }
        assert_eq!(run(1, &within(&["hip", "hiprand"])), (4, 0, 1));
    }

    #[test]
    fn the_folders_of_tasks_are_there() {
        for task in TASKS {
            assert!(paths::root().join(task).is_dir(), "{task}");
        }
    }

    #[test]
    fn changes_are_known_since_commits_before_this_one_only() {
        assert!(files_changed_since("HEAD").is_ok());
        assert!(files_changed_since("0123456789012345678901234567890123456789").is_err());
        assert!(!matches!(Changes::since_passed().unwrap(), Changes::Everywhere(why) if why.contains(PASSED)));
    }
}
