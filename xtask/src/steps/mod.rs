//! Steps: the units of `cargo xtask test` and `cargo xtask ci`. Each is run and reported separately, a failure does not
//! stop the others, and the [`summary`] says what was run, what was skipped, and why.

use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::shown;

pub(crate) mod cpu;
mod lane;
mod libtest;
mod progress;
mod report;
mod selection;
mod step;
mod summary;
mod watch;

pub(crate) use libtest::Counts;
use progress::{Heartbeat, Place, wrote};
use report::{Outcome, Report};
pub(crate) use selection::Selection;
use step::Work;
pub(crate) use step::{Got, Step};
pub(crate) use summary::Summary;
use watch::Patience;

/// Number of last lines shown of a command that failed without a failed test.
const LAST: usize = 20;

impl Step {
    fn run(self) -> Report {
        let (start, cpu) = (Instant::now(), cpu::used());
        let (mut counts, mut lacking) = (Counts::default(), Vec::new());
        let outcome = match (self.ready)() {
            Err(reason) => Outcome::Skipped(reason),
            Ok(()) => match self.work {
                Work::Commands(commands) => run_commands(commands, &mut counts),
                Work::Call(call) => match call() {
                    Ok(()) => passed(&mut counts),
                    Err(error) => failed(&error),
                },
                Work::Fetch(call) => match twice(call) {
                    Ok(Got::All) => passed(&mut counts),
                    Ok(Got::Without(lines)) => {
                        counts.skipped += lines.len() as u64;
                        lines.iter().for_each(|line| println!("skipped: {line}"));
                        lacking = lines;
                        passed(&mut counts)
                    }
                    Ok(Got::Nothing(line)) => {
                        lacking.push(line.clone());
                        Outcome::Skipped(line)
                    }
                    Err(error) => failed(&error),
                },
            },
        };
        match &outcome {
            Outcome::Passed => {}
            Outcome::Failed(reasons) => {
                // A failure that libtest did not count (a compile error, a crash) counts as one.
                counts.failed = counts.failed.max(1);
                reasons.iter().for_each(|reason| println!("FAILED: {reason}"));
            }
            Outcome::Skipped(reason) => {
                counts.skipped += 1;
                println!("skipped: {reason}");
            }
        }
        Report {
            name: self.name,
            outcome,
            counts,
            lacking,
            took: start.elapsed(),
            cpu: cpu::used().saturating_sub(cpu),
        }
    }
}

fn passed(counts: &mut Counts) -> Outcome {
    counts.passed += 1;
    Outcome::Passed
}

fn failed(error: &anyhow::Error) -> Outcome {
    Outcome::Failed(format!("{error:#}").lines().map(str::to_owned).collect())
}

/// Fetches, and retries once after an error.
fn twice(mut call: impl FnMut() -> Result<Got>) -> Result<Got> {
    call().or_else(|error| {
        println!("not fetched, and tried once more: {error:#}");
        call().context("not fetched in two tries, because of the network, the mirror, or this machine")
    })
}

/// Returns the error with its causes, on one line.
fn told(error: &anyhow::Error) -> String {
    format!("{error:#}").replace('\n', " ")
}

/// Runs the steps.
pub(crate) fn run(steps: Vec<Step>) -> Summary {
    let mut reports = Vec::new();
    let (count, begun) = (steps.len(), Instant::now());
    for (number, step) in steps.into_iter().enumerate() {
        let place = Place { number: number + 1, count, begun };
        println!("\n{place} ==> {}: {}", step.name, step.about);
        // On a terminal, cargo shows its own progress.
        let beats = match step.work {
            Work::Commands(_) => !std::io::stderr().is_terminal(),
            Work::Call(_) | Work::Fetch(_) => true,
        };
        let _beat = beats.then(|| Heartbeat::start(place, step.name.clone()));
        reports.push(step.run());
    }
    Summary::new(reports)
}

/// Lists the selected steps, or runs them and prints the summary.
///
/// # Errors
/// If a word of the selection matches no step's name, or not every step passes.
pub(crate) fn list_or_run(steps: Vec<Step>, selection: &Selection) -> Result<()> {
    let steps = selection.of(steps)?;
    if selection.list {
        steps.iter().for_each(|step| println!("{:<22} {}", step.name(), step.about()));
        return Ok(());
    }
    let summary = run(steps);
    println!("\n{summary}");
    if !summary.passed() {
        bail!("not everything passed");
    }
    Ok(())
}

fn run_commands(commands: Vec<Command>, counts: &mut Counts) -> Outcome {
    let mut failures = Vec::new();
    for mut command in commands {
        println!("$ {}", shown(&command));
        let (mut own, mut last) = (Counts::default(), VecDeque::new());
        match tee(&mut command, &mut own, &mut last) {
            Ok(true) if own.is_empty() => own.passed = 1,
            Ok(true) => {}
            // It crashed or did not compile: the last lines show where.
            Ok(false) if own.failures.is_empty() => {
                failures.push(format!("`{}`; its last lines were", shown(&command)));
                failures.extend(last);
            }
            Ok(false) => failures.extend(own.failures.iter().cloned()),
            Err(error) => {
                failures.push(format!("{}: `{}`; its last lines were", told(&error), shown(&command)));
                failures.extend(last);
            }
        }
        counts.add(own);
    }
    if failures.is_empty() { Outcome::Passed } else { Outcome::Failed(failures) }
}

/// Runs the command and passes its stdout on line by line, while its test results are counted and the `last` lines
/// kept.
fn tee(command: &mut Command, counts: &mut Counts, last: &mut VecDeque<String>) -> Result<bool> {
    let name = shown(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{name}`"))?;
    if let Some(stdout) = child.stdout.take() {
        watch::lines(&mut child, stdout, Patience::USUAL, |line| {
            counts.read(line);
            println!("{line}");
            wrote();
            if last.len() == LAST {
                last.pop_front();
            }
            last.push_back(line.to_owned());
        })?;
    }
    Ok(child.wait()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_failing_step_does_not_stop_the_next_and_all_are_counted() {
        let steps = vec![
            Step::commands("one", "two commands", vec![shell("true"), shell("true")]),
            Step::command("two", "fails", shell("exit 1")),
            Step::command("three", "tests", shell("echo 'test result: ok. 5 passed; 0 failed; 2 ignored; 0 measured'")),
            Step::command("four", "not here", shell("exit 1")).when(|| Err("there is no GPU".into())),
            Step::fetch("five", "gone", || Ok(Got::Nothing("the mirror has 7.3.0".into()))),
            Step::fetch("six", "partly there", || Ok(Got::Without(vec!["the mirror has no rocrand".into()]))),
        ];
        let summary = run(steps);
        assert_eq!(summary.totals(), (8, 1, 5));
        assert!(!summary.passed());
        let text = summary.to_string();
        assert!(text.contains("there is no GPU") && text.contains("exit 1"), "{text}");
        let lacking = "Skipped, because the mirror lacks it\n  the mirror has 7.3.0\n  the mirror has no rocrand\n";
        assert!(text.contains(lacking), "{text}");
        assert_eq!(text.lines().last(), Some("8 passed, 1 failed, 5 skipped"));
    }

    #[test]
    fn a_fetch_that_fails_is_no_skip() {
        let summary = run(vec![Step::fetch("one", "", || bail!("no network"))]);
        assert_eq!(summary.totals(), (0, 1, 0));
        assert!(summary.to_string().contains("not fetched in two tries"), "{summary}");
        assert!(summary.to_string().contains("no network"), "{summary}");
    }

    #[test]
    fn a_fetch_is_tried_again_and_a_test_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tries");
        let failing = format!("echo x >> {0}; test $(wc -l < {0}) -gt 1", file.display());
        let fetch = {
            let failing = failing.clone();
            move || if shell(&failing).status()?.success() { Ok(Got::All) } else { bail!("no network") }
        };
        assert_eq!(run(vec![Step::fetch("one", "", fetch)]).totals(), (1, 0, 0));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(run(vec![Step::command("one", "", shell(&failing))]).totals(), (0, 1, 0));
    }

    #[test]
    fn a_step_that_crashes_after_its_tests_has_failed() {
        let script = "echo 'test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured'; exit 101";
        let summary = run(vec![Step::command("one", "crashes", shell(script))]);
        assert_eq!(summary.totals(), (5, 1, 0));
    }

    #[test]
    fn nothing_run_is_nothing_proved() {
        assert!(!run(Vec::new()).passed());
    }

    #[test]
    fn a_condition_is_asked_when_the_turn_comes() {
        let folder = tempfile::tempdir().unwrap();
        let (made, asked) = (folder.path().join("made"), folder.path().join("made"));
        let steps = vec![
            Step::call("make", "", move || Ok(std::fs::write(&made, "")?)),
            Step::command("use", "", shell("true"))
                .when(move || if asked.exists() { Ok(()) } else { Err("missing".into()) }),
        ];
        assert_eq!(run(steps).totals(), (2, 0, 0));
    }
}
