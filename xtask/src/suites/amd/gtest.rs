//! GoogleTest programs: lists their cases, and runs them with a time limit for each.
//!
//! Cases run in batches, since starting a process takes as long as many cases. Output is read as it comes: if a case
//! takes too long, its process is killed; if it crashes, its process has ended. In both cases the rest of the batch
//! runs in another process.

use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::findings::Findings;
use crate::process::{Ended, end, shown, within};

/// Maximum number of cases in one process.
const BATCH: usize = 25;
/// Maximum time for the start and for the end of a program.
const AROUND: Duration = Duration::from_secs(120);
/// Number of the last output lines that are kept of a case.
const KEPT: usize = 6;

/// The outcome of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// The program reports that the case does not apply here.
    Skipped,
    /// Failed, with the last lines of its output.
    Failed(String),
    TimedOut,
}

/// A case with its outcome.
#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) case: String,
    pub(crate) outcome: Outcome,
    pub(crate) took: Duration,
}

/// Parses the output of `--gtest_list_tests`: cases by their full names.
pub(crate) fn listed(text: &str) -> Vec<String> {
    let mut cases = Vec::new();
    let mut suite = "";
    for line in text.lines() {
        // The type or the parameter follows it.
        let name = line.split(" #").next().unwrap_or_default().trim_end();
        match name.strip_prefix("  ") {
            Some(case) if !suite.is_empty() => cases.push(format!("{suite}{}", case.trim())),
            // Other lines are the program's own.
            None if name.ends_with('.') && !name.contains(' ') => suite = name,
            _ => suite = "",
        }
    }
    // Disabled cases are not run unless asked for.
    cases.retain(|case| !case.starts_with("DISABLED_") && !case.contains(".DISABLED_") && !case.contains("/DISABLED_"));
    cases
}

/// Returns the cases of a program that match a filter.
pub(crate) fn list(mut command: Command, filter: Option<&str>) -> Result<Vec<String>> {
    command.arg("--gtest_list_tests").args(filter.map(|filter| format!("--gtest_filter={filter}")));
    let name = shown(&command);
    let output = command.output().with_context(|| format!("could not start `{name}`"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let error = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = text.lines().chain(error.lines()).rev().take(KEPT).collect();
        bail!("`{name}` failed: {}: {}", output.status, last.into_iter().rev().collect::<Vec<_>>().join(" | "));
    }
    Ok(listed(&text))
}

/// A line of a program's report.
#[derive(Debug, PartialEq, Eq)]
enum Line<'a> {
    Began(&'a str),
    Ended(&'a str, bool, bool),
    Other,
}

impl<'a> Line<'a> {
    fn of(line: &'a str) -> Self {
        // The program may have written text without a newline before it.
        let Some((_, rest)) = line.split_once("[ ").map(|(before, _)| line.split_at(before.len())) else {
            return Self::Other;
        };
        let name = |rest: &'a str| rest.split([',', ' ']).next().unwrap_or_default();
        let marks = [
            ("[ RUN      ] ", None),
            ("[       OK ] ", Some((true, false))),
            ("[  FAILED  ] ", Some((false, false))),
            ("[  SKIPPED ] ", Some((true, true))),
        ];
        for (mark, result) in marks {
            if let Some(rest) = rest.strip_prefix(mark) {
                return match result {
                    None => Self::Began(name(rest)),
                    // The list at the end has no times.
                    Some((good, skipped)) if rest.ends_with(" ms)") => Self::Ended(name(rest), good, skipped),
                    Some(_) => Self::Other,
                };
            }
        }
        Self::Other
    }
}

/// Runs cases of a program, each within `limit`, until `end`. The result omits cases that did not start by then.
pub(crate) fn run(
    program: &dyn Fn() -> Command,
    cases: &[String],
    limit: Duration,
    end: Instant,
    findings: &mut Findings,
    told: &mut dyn FnMut(&Ran),
) -> Result<Vec<Ran>> {
    let mut all: Vec<Ran> = Vec::new();
    for batch in cases.chunks(BATCH) {
        let mut left: Vec<String> = batch.to_vec();
        while !left.is_empty() && Instant::now() < end {
            let ran = run_batch(program(), &left, limit, findings, told)?;
            left.retain(|case| ran.iter().all(|ran| ran.case != *case));
            all.extend(ran);
        }
    }
    Ok(all)
}

/// Runs cases in one process, up to the first that does not end. At least one case has a result.
fn run_batch(
    mut command: Command,
    cases: &[String],
    limit: Duration,
    findings: &mut Findings,
    told: &mut dyn FnMut(&Ran),
) -> Result<Vec<Ran>> {
    command.arg(format!("--gtest_filter={}", cases.join(":"))).arg("--gtest_color=no");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let name = shown(&command);
    let mut child = command.spawn().with_context(|| format!("could not start `{name}`"))?;
    let lines = lines(&mut child);
    let mut batch = Batch { ran: Vec::new(), current: None, last: Vec::new() };
    let mut until = Instant::now() + AROUND;
    let complete = loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                findings.read(&line, batch.current.as_ref().map_or("none", |(case, _)| case));
                if let Some(wait) = batch.read(&line, limit, told) {
                    until = Instant::now() + wait;
                }
            }
            Err(RecvTimeoutError::Timeout) => break false,
            Err(RecvTimeoutError::Disconnected) => break true,
        }
    };
    end(&mut child);
    let status = child.wait()?;
    batch.finish(cases, complete.then_some(status), told);
    Ok(batch.ran)
}

/// Runs a program without GoogleTest as one case: it passes if its exit status is success.
pub(crate) fn run_whole(
    mut command: Command,
    case: &str,
    limit: Duration,
    findings: &mut Findings,
    told: &mut dyn FnMut(&Ran),
) -> Result<Ran> {
    let begun = Instant::now();
    let Ended { status, text } = within(&mut command, limit, || false)?;
    let mut batch = Batch { ran: Vec::new(), current: Some((case.to_owned(), begun)), last: Vec::new() };
    for line in text.lines() {
        findings.read(line, case);
        batch.keep(line);
    }
    if status.is_some_and(|status| status.success()) {
        batch.add(Ran { case: case.to_owned(), outcome: Outcome::Passed, took: begun.elapsed() }, told);
    } else {
        batch.finish(&[], status, told);
    }
    batch.ran.pop().context("a case without a result")
}

struct Batch {
    ran: Vec<Ran>,
    current: Option<(String, Instant)>,
    last: Vec<String>,
}

impl Batch {
    /// Reads a line of output. Returns the time to wait from now on, if that changes.
    fn read(&mut self, line: &str, limit: Duration, told: &mut dyn FnMut(&Ran)) -> Option<Duration> {
        match Line::of(line) {
            Line::Began(case) => {
                self.current = Some((case.to_owned(), Instant::now()));
                self.last.clear();
                Some(limit)
            }
            Line::Ended(case, good, skipped) => {
                let took = self.current.take().map_or(Duration::ZERO, |(_, begun)| begun.elapsed());
                let outcome = match (good, skipped) {
                    (_, true) => Outcome::Skipped,
                    (true, false) => Outcome::Passed,
                    (false, false) => Outcome::Failed(self.last.join(" | ")),
                };
                self.add(Ran { case: case.to_owned(), outcome, took }, told);
                Some(AROUND)
            }
            Line::Other => {
                self.keep(line);
                None
            }
        }
    }

    /// Keeps a line as one of the last lines.
    fn keep(&mut self, line: &str) {
        if !line.trim().is_empty() {
            if self.last.len() == KEPT {
                self.last.remove(0);
            }
            self.last.push(line.trim().chars().take(300).collect());
        }
    }

    fn add(&mut self, ran: Ran, told: &mut dyn FnMut(&Ran)) {
        told(&ran);
        self.ran.push(ran);
    }

    /// Adds the result of the case that ran when the process ended, or of the first one that did not start.
    fn finish(&mut self, cases: &[String], status: Option<ExitStatus>, told: &mut dyn FnMut(&Ran)) {
        let last = self.last.join(" | ");
        let how = status.map(|status| match status.signal() {
            Some(signal) => format!("the process ended by signal {signal}: {last}"),
            None => format!("the process ended with {}: {last}", status.code().unwrap_or(-1)),
        });
        if let Some((case, begun)) = self.current.take() {
            let outcome = how.map_or(Outcome::TimedOut, Outcome::Failed);
            self.add(Ran { case, outcome, took: begun.elapsed() }, told);
            return;
        }
        let never: Vec<&String> = cases.iter().filter(|case| self.ran.iter().all(|ran| ran.case != **case)).collect();
        let Some(first) = never.first() else { return };
        if self.ran.is_empty() || status.is_some_and(|status| status.success()) {
            // It has run all of its cases, or it did not even start.
            let why = how.map_or(Outcome::TimedOut, |how| Outcome::Failed(format!("the case was not run: {how}")));
            self.add(Ran { case: (*first).clone(), outcome: why, took: Duration::ZERO }, told);
        }
    }
}

/// Returns the output of the process, line by line.
fn lines(child: &mut Child) -> Receiver<String> {
    fn read(pipe: Option<impl Read + Send + 'static>, sender: mpsc::Sender<String>) {
        let Some(pipe) = pipe else { return };
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
    }
    let (sender, receiver) = mpsc::channel();
    read(child.stdout.take(), sender.clone());
    read(child.stderr.take(), sender);
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_listed_by_their_full_names() {
        let text = "Found GPU: a chip.\nSuite/0.  # TypeParam = int\n  First\n  Second/1  # GetParam() = 8 byte object\n\
                    Other.\n  DISABLED_Third\n  Fourth\nDISABLED_Suite.\n  Fifth\nnoise\n  sixth\n";
        assert_eq!(listed(text), ["Suite/0.First", "Suite/0.Second/1", "Other.Fourth"]);
    }

    #[test]
    fn lines_of_a_report() {
        assert_eq!(Line::of("[ RUN      ] A/0.b/1"), Line::Began("A/0.b/1"));
        assert_eq!(Line::of("noise[       OK ] A/0.b/1 (12 ms)"), Line::Ended("A/0.b/1", true, false));
        assert_eq!(Line::of("[  FAILED  ] A.b, where TypeParam = int (12 ms)"), Line::Ended("A.b", false, false));
        assert_eq!(Line::of("[  SKIPPED ] A.b (0 ms)"), Line::Ended("A.b", true, true));
        assert_eq!(Line::of("[  FAILED  ] A.b, where TypeParam = int"), Line::Other, "the list at the end");
        assert_eq!(Line::of("[----------] 1 test from A"), Line::Other);
    }

    /// A script in place of a program: its behaviour depends on its filter, which is its first argument.
    fn program(script: &str) -> impl Fn() -> Command {
        let script = script.to_owned();
        move || {
            let mut command = Command::new("sh");
            command.args(["-c", &script, "program"]);
            command
        }
    }

    /// A limit that no test waits for.
    const LONG: Duration = Duration::from_secs(100_000);

    fn outcomes(script: &str, cases: &[&str], limit: Duration) -> Vec<(String, Outcome)> {
        let cases: Vec<String> = cases.iter().map(|case| (*case).to_owned()).collect();
        let end = Instant::now() + LONG;
        let ran = run(&program(script), &cases, limit, end, &mut Findings::default(), &mut |_| {}).unwrap();
        ran.into_iter().map(|ran| (ran.case, ran.outcome)).collect()
    }

    #[test]
    fn a_case_that_crashes_or_hangs_does_not_stop_the_others() {
        let script = r#"
            IFS=:
            for case in ${1#--gtest_filter=}; do
                echo "[ RUN      ] $case"
                case $case in
                    *crash) echo about to; kill -SEGV $$;;
                    *hang) exec sleep 100000;;
                    *wrong) echo 1 is not 2; echo "[  FAILED  ] $case (1 ms)";;
                    *skip) echo "[  SKIPPED ] $case (1 ms)";;
                    *) echo "[       OK ] $case (1 ms)";;
                esac
            done"#;
        let expected = [
            ("A.crash", Outcome::Failed("the process ended by signal 11: about to".into())),
            ("A.a", Outcome::Passed),
            ("A.hang", Outcome::TimedOut),
            ("A.wrong", Outcome::Failed("1 is not 2".into())),
            ("A.skip", Outcome::Skipped),
            ("A.b", Outcome::Passed),
        ];
        let expected = expected.map(|(case, outcome)| (case.to_owned(), outcome));
        // On a busy machine other cases may reach the limit too: then they get more time.
        let found = |seconds| {
            let found = outcomes(
                script,
                &["A.crash", "A.a", "A.hang", "A.wrong", "A.skip", "A.b"],
                Duration::from_secs(seconds),
            );
            println!("with {seconds} s: {found:?}");
            found == expected
        };
        assert!([1, 4, 16, 64].into_iter().any(found));
    }

    #[test]
    fn a_program_of_another_kind_is_one_case() {
        let outcome = |script: &str, limit| {
            run_whole(program(script)(), "all", limit, &mut Findings::default(), &mut |_| {}).unwrap().outcome
        };
        assert_eq!(outcome("echo 3 tests", LONG), Outcome::Passed);
        let Outcome::Failed(why) = outcome("echo 1 is not 2; exit 3", LONG) else { panic!() };
        assert!(why.contains("ended with 3: 1 is not 2"), "{why}");
        assert_eq!(outcome("exec sleep 100000", Duration::from_secs(1)), Outcome::TimedOut);
    }

    #[test]
    fn a_program_that_does_not_start_is_a_failure_of_each_case() {
        let found = outcomes("echo no such library >&2; exit 127", &["A.a", "A.b"], LONG);
        assert_eq!(found.len(), 2);
        for (_, outcome) in found {
            let Outcome::Failed(why) = outcome else { panic!("{outcome:?}") };
            assert!(why.contains("ended with 127") && why.contains("no such library"), "{why}");
        }
    }
}
