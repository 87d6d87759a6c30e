//! Runs tests of Rust's test harness, many in a process, and says how each ended.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process::until_silent;

/// Tests of one process: starting HIP takes longer than most of them.
const PART: usize = 40;

/// Maximum time of a test.
const PATIENCE: Duration = Duration::from_secs(240);

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passes,
    /// The crate marks it so that it does not run.
    Ignored,
    /// With its message.
    Fails(String),
}

/// A test, by its name.
pub(super) type Outcomes = BTreeMap<String, Outcome>;

/// Returns the names of the tests in the output of `--list --format terse`.
pub(super) fn names(list: &str) -> Vec<String> {
    list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// Runs tests. `start` returns the program, without arguments. A test that fails among others runs again alone, as does one
/// that a process did not come to.
pub(super) fn run(names: &[String], start: &dyn Fn() -> Command) -> Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    for part in names.chunks(PART) {
        let mut left = part.to_vec();
        while !left.is_empty() {
            let found = together(&left, start)?;
            let before = left.len();
            left.retain(|name| !found.contains_key(name));
            ensure!(left.len() < before, "no result for {}", left[0]);
            for (name, mut outcome) in found {
                if matches!(outcome, Outcome::Fails(_)) && part.len() > 1 {
                    let alone = together(std::slice::from_ref(&name), start)?;
                    outcome = alone.get(&name).cloned().unwrap_or(outcome);
                }
                if let Outcome::Fails(text) = &outcome {
                    println!("{name} FAILS: {text}");
                }
                outcomes.insert(name, outcome);
            }
        }
        println!("{} of {} tests have run", outcomes.len(), names.len());
    }
    Ok(outcomes)
}

/// Runs tests in one process. If it dies or hangs, there is no outcome of those behind the one that did it.
fn together(names: &[String], start: &dyn Fn() -> Command) -> Result<Outcomes> {
    let mut command = start();
    command.args(names).args(["--exact", "--test-threads=1"]);
    let heard = until_silent(&mut command, PATIENCE)?;
    let (mut outcomes, begun) = read(&heard.stdout);
    let failed = outcomes.values().any(|outcome| matches!(outcome, Outcome::Fails(_)));
    let end = match heard.status {
        None => Some(format!("not done after {} s", PATIENCE.as_secs())),
        Some(status) if begun.is_some() || !(status.success() || failed) => {
            Some(format!("the process ends: {status}{}", last(&heard.stderr)))
        }
        Some(_) => None,
    };
    if let Some(end) = end {
        // If all are done, the end of the process itself failed: the last one counts as failed.
        let name = begun.or_else(|| names.iter().rfind(|name| outcomes.contains_key(*name)).cloned());
        outcomes.insert(name.unwrap_or_else(|| names[0].clone()), Outcome::Fails(end));
    }
    Ok(outcomes)
}

/// Returns the outcomes in the harness's output, and the name of a test that has begun and not ended.
fn read(text: &str) -> (Outcomes, Option<String>) {
    let (mut outcomes, mut begun) = (Outcomes::new(), None);
    for line in text.lines() {
        let mut rest = line;
        if let Some((name, end)) = line.strip_prefix("test ").and_then(|line| line.split_once(" ... ")) {
            begun = name.split(" - ").next().map(str::to_owned);
            rest = end;
        }
        // A test may have written text before its result.
        let outcome = match rest.split_whitespace().next_back() {
            Some("ok") => Outcome::Passes,
            Some("FAILED") => Outcome::Fails(String::new()),
            Some(_) if rest.starts_with("ignored") => Outcome::Ignored,
            _ => continue,
        };
        if let Some(name) = begun.take() {
            outcomes.insert(name, outcome);
        }
    }
    for (name, outcome) in &mut outcomes {
        if let Outcome::Fails(message) = outcome {
            *message = said(text, name);
        }
    }
    (outcomes, begun)
}

/// Returns the message of a test's panic.
fn said(text: &str, name: &str) -> String {
    let Some((_, section)) = text.split_once(&format!("---- {name} stdout ----\n")) else {
        return "no message".to_owned();
    };
    let section = section.split("\n---- ").next().unwrap_or(section);
    let lines = section.lines().map(str::trim).skip_while(|line| !line.contains("panicked at ")).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("note:") && !line.starts_with("failures:"));
    let message = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let message = if message.is_empty() { section.split_whitespace().collect::<Vec<_>>().join(" ") } else { message };
    message.chars().take(300).collect()
}

/// Returns the last line of a text, behind a comma.
fn last(text: &str) -> String {
    let line = text.lines().rev().find(|line| !line.trim().is_empty());
    line.map_or_else(String::new, |line| format!(", {}", line.chars().take(200).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_read_from_the_harness() {
        let text = "\nrunning 4 tests\ntest a::one ... ok\ntest a::two - should panic ... ok\ntest three ... text of C\nFAILED\n\
            test four ... ignored, slow\n\nfailures:\n\n---- three stdout ----\n\nthread 'three' panicked at x.rs:1:2:\n\
            left: 1\nright: 2\nnote: run with\n\nfailures:\n    three\n";
        let (outcomes, begun) = read(text);
        assert_eq!(begun, None);
        assert_eq!(outcomes["a::one"], Outcome::Passes);
        assert_eq!(outcomes["a::two"], Outcome::Passes);
        assert_eq!(outcomes["three"], Outcome::Fails("left: 1 right: 2".to_owned()));
        assert_eq!(outcomes["four"], Outcome::Ignored);
        let (outcomes, begun) = read("test a ... ok\ntest b ... ");
        assert_eq!((outcomes.len(), begun.as_deref()), (1, Some("b")));
    }

    #[test]
    fn tests_behind_one_that_ends_its_process_run_nevertheless() {
        // A harness in which each test that is named `dies` ends the process, and `fails` fails unless it is alone.
        let harness = "for name; do case $name in --*) ;; dies*) printf 'test %s ... ' $name; echo why >&2; exit 7 ;; \
            fails) [ $3 = --test-threads=1 ] && echo \"test $name ... ok\" || echo \"test $name ... FAILED\" ;; \
            *) echo \"test $name ... ok\" ;; esac; done";
        let start = || {
            let mut command = Command::new("sh");
            command.args(["-c", harness, "sh"]);
            command
        };
        let names = ["a", "dies-1", "b", "fails", "dies-2"].map(str::to_owned);
        let outcomes = run(&names, &start).unwrap();
        let died = Outcome::Fails("the process ends: exit status: 7, why".to_owned());
        let expected = [Outcome::Passes, died.clone(), Outcome::Passes, Outcome::Passes, died];
        assert_eq!(outcomes, names.into_iter().zip(expected).collect());
    }

    #[test]
    fn names_are_those_of_tests() {
        assert_eq!(names("a::b: test\nc: benchmark\nd: test\n\n2 tests\n"), ["a::b", "d"]);
    }
}
