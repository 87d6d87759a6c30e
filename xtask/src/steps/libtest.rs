//! Counts the results that the test programs of `cargo test` report.
//!
//! libtest has no tests that skip themselves at run time. This workspace's tests write a line `SKIPPED: why` to stdout,
//! past libtest's capture; such a test is counted as skipped, not as passed.

use std::collections::BTreeMap;

/// The start of an ignored test's reason if another test runs it in a separate process: it is that test's body, and
/// does not count as skipped.
const RUN_BY_ANOTHER: &str = "run by ";

/// Maximum number of output lines of a failed test in the summary.
const KEPT: usize = 60;

/// The number of tests by result, with the names for the summary.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// Names of failed tests.
    pub(crate) failures: Vec<String>,
    /// The output of failed tests, without stack backtraces: the first lines of each.
    pub(crate) wrote: Vec<String>,
    /// Names and reasons of ignored tests.
    pub(crate) ignored: Vec<(String, String)>,
    /// Reasons of tests that skipped themselves, and the number of tests for each.
    pub(crate) reasons: BTreeMap<String, u64>,
    /// Set while the output of failed tests is read, which may contain reports of child processes: how many of those
    /// are open.
    quoted: Option<u32>,
    /// Number of lines in [`wrote`](Self::wrote) of the failed test whose output is being read.
    kept: usize,
    /// Whether the current line is in a stack backtrace of a failed test.
    backtrace: bool,
    /// Number of tests of the running program that reported that they were skipped.
    said: u64,
    /// Number of ignored tests of the running program that another test runs.
    bodies: u64,
}

impl Counts {
    pub(crate) fn is_empty(&self) -> bool {
        self.passed + self.failed + self.skipped == 0
    }

    pub(crate) fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.wrote.extend(other.wrote);
        self.ignored.extend(other.ignored);
        for (reason, tests) in other.reasons {
            *self.reasons.entry(reason).or_default() += tests;
        }
    }

    /// Processes one line of output.
    pub(crate) fn read(&mut self, line: &str) {
        if self.is_quoted(line) {
            return;
        }
        // Other lines of the same program may precede it on the line.
        if let Some((_, reason)) = line.split_once("SKIPPED: ") {
            *self.reasons.entry(reason.trim().to_owned()).or_default() += 1;
            self.said += 1;
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.result(rest);
        } else if let Some((name, result)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            if result == "FAILED" {
                self.failures.push(name.to_owned());
            } else if let Some(reason) = result.strip_prefix("ignored") {
                let reason = reason.trim_start_matches([',', ' ']);
                if reason.starts_with(RUN_BY_ANOTHER) {
                    self.bodies += 1;
                } else {
                    self.ignored.push((name.to_owned(), reason.to_owned()));
                }
            }
        }
    }

    /// Returns whether the line is part of a failed test's output. It ends at the first result that does not belong to
    /// a child process.
    fn is_quoted(&mut self, line: &str) -> bool {
        if line.starts_with("---- ") && line.ends_with(" stdout ----") {
            self.quoted.get_or_insert(0);
            (self.kept, self.backtrace) = (0, false);
        }
        let Some(open) = &mut self.quoted else { return false };
        if line.starts_with("running ") {
            *open += 1;
        } else if line.starts_with("test result: ") {
            if *open == 0 {
                self.quoted = None;
                return false;
            }
            *open -= 1;
        }
        self.keep(line);
        true
    }

    /// Keeps a line of a failed test, if it is informative and the limit is not reached.
    fn keep(&mut self, line: &str) {
        // A frame is `   3: name` or `             at file:line`.
        let frame = |line: &str| line.starts_with(' ') || line.starts_with("note: ");
        self.backtrace = line == "stack backtrace:" || self.backtrace && frame(line);
        if !self.backtrace && !line.trim().is_empty() && self.kept < KEPT {
            self.kept += 1;
            self.wrote.push(line.to_owned());
        }
    }

    /// `ok. 5 passed; 0 failed; 2 ignored; ...`
    fn result(&mut self, text: &str) {
        let said = std::mem::take(&mut self.said);
        let bodies = std::mem::take(&mut self.bodies);
        for part in text.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let count: Option<u64> = words.next().and_then(|word| word.parse().ok());
            match (count, words.next()) {
                (Some(count), Some("passed")) => {
                    self.passed += count.saturating_sub(said);
                    self.skipped += said.min(count);
                }
                (Some(count), Some("failed")) => self.failed += count,
                (Some(count), Some("ignored")) => self.skipped += count.saturating_sub(bodies),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_skips_itself_is_not_counted_as_passed() {
        let mut counts = Counts::default();
        let lines = "running 3 tests\nSKIPPED: no GPU\ntest a ... SKIPPED: no GPU\nok\ntest b ... ok\ntest c ... ok\n\
                     test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: ok. 2 passed; 0 failed; 0 ignored";
        lines.lines().for_each(|line| counts.read(line));
        assert_eq!((counts.passed, counts.skipped), (3, 2));
        assert_eq!(counts.reasons, BTreeMap::from([("no GPU".to_owned(), 2)]));
    }

    #[test]
    fn a_test_that_another_runs_is_not_skipped() {
        let mut counts = Counts::default();
        let lines = "running 3 tests\ntest child ... ignored, run by parent\ntest gpu ... ignored, no GPU\ntest parent ... ok\n\
                     test result: ok. 1 passed; 0 failed; 2 ignored\ntest result: ok. 0 passed; 0 failed; 1 ignored";
        lines.lines().for_each(|line| counts.read(line));
        assert_eq!((counts.passed, counts.skipped), (1, 2));
        assert_eq!(counts.ignored, [("gpu".to_owned(), "no GPU".to_owned())]);
    }

    #[test]
    fn what_libtest_prints_is_counted_and_named() {
        let mut counts = Counts::default();
        include_str!("../../fixtures/libtest.txt").lines().for_each(|line| counts.read(line));
        assert_eq!((counts.passed, counts.failed, counts.skipped), (4, 1, 2));
        assert_eq!(counts.failures, ["a::fails"]);
        let reason = "needs an AMD GPU".to_owned();
        assert_eq!(
            counts.ignored,
            [("a::gpu".to_owned(), reason), ("src/lib.rs - (line 3)".to_owned(), String::new())]
        );
    }

    #[test]
    fn what_a_failed_test_wrote_is_not_counted() {
        let mut counts = Counts::default();
        include_str!("../../fixtures/libtest-child.txt").lines().for_each(|line| counts.read(line));
        assert_eq!((counts.passed, counts.failed), (4, 1));
        assert_eq!(counts.failures, ["spawns"]);
        assert_eq!(counts.wrote[..2], ["---- spawns stdout ----", "in a child process:"]);
    }

    #[test]
    fn of_what_a_failed_test_wrote_the_first_lines_are_kept_without_backtraces() {
        let mut counts = Counts::default();
        let panic = "---- a stdout ----\n\nthread 'a' panicked at a.rs:1:2:\nwrong\nstack backtrace:\n   0: begin\n             \
                     at ./x.rs:5:6\nnote: Some details are omitted\nafter\n";
        let lines =
            format!("{panic}{}---- b stdout ----\nb said\n\nfailures:\n    a\n    b\n", "more\n".repeat(2 * KEPT));
        lines.lines().for_each(|line| counts.read(line));
        let expected = ["---- a stdout ----", "thread 'a' panicked at a.rs:1:2:", "wrong", "after", "more"];
        assert_eq!(counts.wrote[..5], expected);
        let second = counts.wrote.iter().position(|line| line == "---- b stdout ----");
        assert_eq!(second, Some(KEPT), "{:?}", counts.wrote);
        assert_eq!(counts.wrote[KEPT + 1], "b said");
    }
}
