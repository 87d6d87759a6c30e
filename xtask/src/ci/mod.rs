//! `cargo xtask ci`: the checks that a change must pass. Formatting, lints, documentation, generated files, the oldest
//! Rust, then `cargo xtask test --all`.

use std::process::Command;

use anyhow::{Context, Result};

mod circles;
mod code;
mod features;
mod layers;
mod modules;
mod package;
mod variants;

use crate::cargo::checking;
use crate::changes::leave_out_unchanged;
use crate::process::cargo;
use crate::rocm::{RELEASES, Release};
use crate::steps::{self, Selection, Step};
use crate::turn::Turn;
use crate::{bench, msrv, test, workspace};
use features::features;
pub(crate) use layers::wrap_compiler;
use package::package;

/// Runs every check: formatting, lints, docs, generated files, the oldest Rust, all tests.
///
/// Unlike `cargo xtask test --all` it fails if ROCm cannot be fetched. A release that the mirror no longer has is
/// skipped, in both, as long as it has another one.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  cargo xtask ci                everything
  cargo xtask ci --no-test      everything but the tests
  cargo xtask ci --skip doc     everything but this step
  cargo xtask ci fmt clippy     steps with these words in their name")]
pub(crate) struct Args {
    /// Leave the tests to `cargo xtask test --all`
    #[arg(long)]
    no_test: bool,
    /// Of the longest checks, run only those whose turn it is, which changes from commit to commit: a third of the
    /// features, and the tests of `cargo xtask test --sample`
    #[arg(long)]
    sample: bool,
    #[command(flatten)]
    selection: Selection,
}

/// Runs the command; `tasks` are the names of xtask's own tasks.
pub(crate) fn run(args: &Args, tasks: &[String]) -> Result<()> {
    let turn = if args.sample { Some(Turn::of_this_run()?) } else { None };
    if let Some(turn) = turn {
        println!("{turn}");
    }
    let mut steps = steps(tasks, &test::named_in(&args.selection.filters), turn)?;
    if !args.no_test {
        let releases: Vec<_> = RELEASES.iter().collect();
        // The releases have been fetched by then.
        steps.extend(
            test::steps(false, turn, &releases, &[])?.into_iter().filter(|step| !step.name().starts_with("fetch")),
        );
    }
    if let Some(turn) = turn.filter(|_| args.selection.filters.is_empty()) {
        steps = leave_out_unchanged(steps, turn)?;
    }
    steps::list_or_run(steps, &args.selection)
}

/// Returns the table of steps, without the tests. A release in `named` must be available.
fn steps(tasks: &[String], named: &[&'static Release], turn: Option<Turn>) -> Result<Vec<Step>> {
    let has = |task: &str| tasks.iter().any(|name| name == task);
    let mut steps = vec![
        Step::command("fmt", "formatting", {
            let mut command = cargo();
            command.args(["fmt", "--all", "--check"]);
            command
        }),
        test::crates(false),
    ];
    let about = "imports of `hip` run down, layer by layer, and the files of no crate import each other in a circle";
    steps.push(Step::call("layers", about, || layers::check().and_then(|()| circles::check())));
    let about = "each layer of `hip` compiles with those below it alone";
    steps.push(Step::call("layers alone", about, layers::check_alone));
    steps.push(Step::command("clippy", "lints of every crate, with all features", {
        let mut command = checking("clippy");
        command.args(["--workspace", "--all-features", "--all-targets", "--keep-going", "--", "-D", "warnings"]);
        command
    }));
    steps.push(features(turn)?);
    steps.push(Step::command("doc", "documentation without warnings, with all features, as docs.rs has it", {
        let mut command = checking("doc");
        command.args(["--workspace", "--all-features", "--no-deps", "--keep-going"]).env("RUSTDOCFLAGS", "-D warnings");
        command
    }));
    // As late as possible: the other lane of `.ci/run` fetches during the steps before.
    steps.extend(test::fetches(&RELEASES.iter().collect::<Vec<_>>(), named, turn, test::FETCHED));
    if has("bindgen") {
        let step = Step::command("bindgen", "the bindings are what is generated now", own(&["bindgen", "--check"])?);
        let raw = workspace::sys_crates()?;
        let own = raw.iter().map(String::as_str).chain(["xtask/src/bindgen", "xtask/src/cuda"]);
        steps.push(step.suite_of(&own.collect::<Vec<_>>()));
    }
    if has("kernels") {
        steps.push(Step::command(
            "kernels",
            "the shipped kernels are what is compiled now",
            own(&["kernels", if turn.is_some() { "--sample" } else { "--check" }])?,
        ));
    }
    steps.push(variants());
    steps.push(Step::call(
        "package",
        "the published crates can be packaged, with their licences and feature badges on docs.rs",
        package,
    ));
    if turn.is_none_or(|turn| turn.is_of(0, 3)) {
        let about = "what a cold build of `hip` costs against its peers: shown, and no limit";
        steps.push(Step::call("cold build", about, bench::build_ratio));
    }
    let about = "the published crates build on the Rust that they promise";
    let sample = turn.is_some();
    steps.push(Step::call("msrv", about, move || msrv::run(&msrv::Args { offline: false, sample })));
    Ok(steps.into_iter().map(|step| if step.name().starts_with("fetch") { step } else { step.by_compiler() }).collect())
}

/// Checks that `workspace-hack` works: all tests together build crates from the registry once or twice.
fn variants() -> Step {
    Step::call("variants", "the tests build no crate of the registry in many variants", || {
        variants::check(&test::steps(false, None, &RELEASES.iter().collect::<Vec<_>>(), &[])?)
    })
}

/// Returns a command for another task of this program.
fn own(words: &[&str]) -> Result<Command> {
    let program = std::env::current_exe().context("this program's own path is unknown")?;
    let mut command = Command::new(program);
    command.args(words).current_dir(crate::paths::root());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_tasks_that_exist_are_in_the_table() {
        let names = |tasks: &[&str]| -> Vec<String> {
            let tasks: Vec<String> = tasks.iter().map(|task| (*task).to_owned()).collect();
            steps(&tasks, &[], None).unwrap().iter().map(|step| step.name().to_owned()).collect()
        };
        assert!(names(&["bindgen"]).contains(&"bindgen".to_owned()));
        assert!(!names(&["bindgen"]).contains(&"kernels".to_owned()));
        assert!(names(&["bindgen", "kernels"]).contains(&"kernels".to_owned()));
    }
}
