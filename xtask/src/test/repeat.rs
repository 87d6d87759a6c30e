//! The steps `repeat`: runs the tests of `hip` and `hip-gl` on each HIP runtime many times, two programs at a time,
//! since a single run does not show a failure in one run of ten.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cargo::named_tests;
use crate::process::{Ended, messages, program, within};
use crate::rocm::Release;
use crate::steps::Counts;

/// Test programs of `hip` and `hip-gl`.
const PROGRAMS: [&str; 3] = ["gpu", "graph", "gl"];
/// Number of programs that run at a time.
const AT_A_TIME: usize = 2;
/// Number of tests that a program runs at a time in every other run, instead of one per processor.
const MANY: &str = "8";
/// Maximum wait of the queues in every fourth run, in microseconds; the lengths are the same in each.
const DELAY: u32 = 300;
/// Setting of the C library in every fourth run: freed memory is overwritten, and damage of the heap is detected
/// earlier.
const HEAP: &str = "glibc.malloc.perturb=85:glibc.malloc.tcache_count=0";
/// Longer than any successful run: these take some seconds.
const LIMIT: Duration = Duration::from_secs(180);
/// Maximum number of lines of a crashed or hanging run in the error.
const LAST: usize = 40;

/// Returns the description of a step.
pub(crate) fn about(release: &Release, times: usize) -> String {
    let programs = PROGRAMS.join(", ");
    format!(
        "tests of hip and hip-gl on ROCm {} again and again, {AT_A_TIME} programs at a time, some with slow queues or overwritten heaps: {programs}, {times} times each",
        release.name
    )
}

/// Runs the test programs that `build` makes (`cargo test`, without its programs' names), `times` times each, each
/// started by `start`.
///
/// # Errors
/// The first run that fails or does not end, with its output; no further ones are started then.
pub(crate) fn run(times: usize, mut build: Command, start: impl Fn(&Path) -> Command + Sync) -> Result<()> {
    let messages = messages(build.args(named_tests(&PROGRAMS)).arg("--no-run"))?;
    let runs = PROGRAMS.iter().map(|name| Ok(vec![program(&messages, "test", name)?; times]));
    let runs = runs.collect::<Result<Vec<_>>>()?.concat();
    let commands = runs.iter().enumerate().map(|(number, program)| {
        let mut command = start(program);
        if number % 2 == 1 {
            command.env("RUST_TEST_THREADS", MANY);
        }
        match number % 4 {
            2 => command.env("GLIBC_TUNABLES", HEAP),
            3 => command.env("HIP_SIM_DELAY", format!("{DELAY}:{number}")),
            _ => &mut command,
        };
        command
    });
    let done = all(commands.collect(), LIMIT)?;
    println!("{done} runs, all well");
    Ok(())
}

/// Runs the commands, some at a time, and returns how many they were.
fn all(commands: Vec<Command>, limit: Duration) -> Result<u32> {
    let (done, stop) = (AtomicU32::new(0), AtomicBool::new(false));
    let left = Mutex::new(commands.into_iter());
    let next = || if stop.load(Ordering::Relaxed) { None } else { left.lock().ok()?.next() };
    let work = || -> Result<()> {
        while let Some(command) = next() {
            one(command, limit, &stop).inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
            done.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    let results: Vec<Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("it does not panic")).collect()
    });
    let done = done.into_inner();
    results.into_iter().collect::<Result<()>>().with_context(|| format!("after {done} runs that were well"))?;
    Ok(done)
}

/// Runs a command to its end, or until the others stop.
fn one(mut command: Command, limit: Duration, stop: &AtomicBool) -> Result<()> {
    let Ended { status, text } = within(&mut command, limit, || stop.load(Ordering::Relaxed))?;
    if status.map_or_else(|| stop.load(Ordering::Relaxed), |status| status.success()) {
        return Ok(());
    }
    println!("{text}");
    let (failed, end) = (failed(&text), "of what it wrote, all of which is above:");
    match status {
        Some(status) => bail!("a run ended with {status}; {end}\n{failed}"),
        None => bail!("a run did not end within {} seconds; {end}\n{failed}", limit.as_secs()),
    }
}

/// Returns the most informative part of a run's output: its failed tests, or its last lines if it reported none.
fn failed(text: &str) -> String {
    let mut counts = Counts::default();
    text.lines().for_each(|line| counts.read(line));
    if !counts.wrote.is_empty() {
        return counts.wrote.join("\n");
    }
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LAST)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: String) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &script]);
        command
    }

    #[test]
    fn every_command_is_run_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number| folder.path().join(format!("{number}"));
        let commands = (0..9).map(|number| shell(format!("mkdir '{}'", path(number).display()))).collect();
        assert_eq!(all(commands, Duration::MAX).unwrap(), 9);
        assert!((0..9).all(|number| path(number).exists()));
    }

    #[test]
    fn a_failure_is_told_and_ends_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let later = folder.path().join("later");
        let scripts = ["true".to_owned(), "exit 3".to_owned(), "exec sleep 100000".to_owned()];
        let rest = (0..4).map(|_| format!("mkdir -p '{}'", later.display()));
        let error = all(scripts.into_iter().chain(rest).map(shell).collect(), Duration::MAX).unwrap_err();
        assert!(format!("{error:#}").contains("exit status: 3"), "{error:#}");
        assert!(!later.exists());
    }

    #[test]
    fn what_does_not_end_is_ended() {
        // A busy machine may need longer to start a shell, so the time is increased.
        let ends_in = |seconds| {
            let command = shell("echo begun; exec sleep 100000".to_owned());
            let error = format!("{:#}", all(vec![command], Duration::from_secs(seconds)).unwrap_err());
            assert!(error.contains("did not end"), "{error}");
            error
        };
        assert!([1, 4, 16, 64, 256].into_iter().any(|seconds| ends_in(seconds).ends_with("begun")));
    }

    #[test]
    fn the_error_has_what_a_failed_test_wrote() {
        let lines =
            "running 1 test\ntest a ... FAILED\n\nfailures:\n\n---- a stdout ----\nwrong\n\ntest result: FAILED.\n";
        assert_eq!(failed(lines), "---- a stdout ----\nwrong");
    }
}
