//! The table at the end: what was run, the results, what was skipped and why.

use std::collections::BTreeMap;
use std::fmt;

use super::report::{Outcome, Report};

/// The reports of all steps.
#[derive(Debug)]
pub(crate) struct Summary {
    reports: Vec<Report>,
}

impl Summary {
    pub(super) fn new(reports: Vec<Report>) -> Self {
        Self { reports }
    }

    /// Returns whether something was run and nothing failed.
    pub(crate) fn passed(&self) -> bool {
        let (passed, failed, _) = self.totals();
        passed > 0 && failed == 0
    }

    /// Returns the numbers of passed, failed and skipped: tests for steps that run tests, otherwise checks.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        self.reports.iter().fold((0, 0, 0), |(passed, failed, skipped), report| {
            let counts = &report.counts;
            (passed + counts.passed, failed + counts.failed, skipped + counts.skipped)
        })
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.reports.iter().map(|report| report.name.len()).max().unwrap_or(0);
        writeln!(f, "Summary")?;
        for report in &self.reports {
            let word = match report.outcome {
                Outcome::Passed => "ok",
                Outcome::Failed(_) => "FAILED",
                Outcome::Skipped(_) => "skipped",
            };
            write!(f, "  {word:<7} {:<width$}", report.name)?;
            match &report.outcome {
                Outcome::Skipped(reason) => writeln!(f, "  {reason}")?,
                _ => {
                    let (wall, cpu) = (report.took.as_secs_f64(), report.cpu.as_secs_f64());
                    writeln!(f, "  {:>5} passed {wall:>7.1} s {cpu:>7.1} s of processors", report.counts.passed)?;
                }
            }
        }
        let ignored: Vec<_> = self
            .reports
            .iter()
            .flat_map(|report| report.counts.ignored.iter().map(move |test| (report, test)))
            .collect();
        let said = self.reports.iter().any(|report| !report.counts.reasons.is_empty());
        if said || !ignored.is_empty() {
            writeln!(f, "Skipped tests")?;
        }
        for (report, (test, reason)) in ignored {
            let reason = if reason.is_empty() { "ignored, no reason given" } else { reason };
            writeln!(f, "  {}: {test}: {reason}", report.name)?;
        }
        for report in &self.reports {
            for (reason, tests) in grouped(&report.counts.reasons) {
                writeln!(f, "  {}: {tests} said: {reason}", report.name)?;
            }
        }
        let lacking: Vec<&String> = self.reports.iter().flat_map(|report| &report.lacking).collect();
        if !lacking.is_empty() {
            writeln!(f, "Skipped, because the mirror lacks it")?;
            lacking.iter().try_for_each(|line| writeln!(f, "  {line}"))?;
        }
        // Printed last, for readers who only see the end of a log.
        for report in &self.reports {
            if let Outcome::Failed(reasons) = &report.outcome {
                writeln!(f, "Failed in {}", report.name)?;
                reasons.iter().chain(&report.counts.wrote).try_for_each(|line| writeln!(f, "  {line}"))?;
            }
        }
        let (passed, failed, skipped) = self.totals();
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Merges reasons that differ only in their first word, which is usually a library's name.
fn grouped(reasons: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut groups: BTreeMap<&str, (Vec<&str>, u64)> = BTreeMap::new();
    for (reason, tests) in reasons {
        let (first, rest) = reason.split_once(' ').unwrap_or((reason, ""));
        let (firsts, sum) = groups.entry(rest).or_default();
        firsts.push(first);
        *sum += tests;
    }
    let text = |rest: &str, firsts: &[&str]| format!("{} {rest}", firsts.join(", ")).trim_end().to_owned();
    groups.iter().map(|(rest, (firsts, sum))| (text(rest, firsts), *sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_their_first_word_are_told_as_one() {
        let reasons =
            ["hip has no headers", "no GPU", "rccl has no headers", "offline"].map(|text| (text.to_owned(), 2));
        let expected = [("offline", 2), ("no GPU", 2), ("hip, rccl has no headers", 4)];
        let expected = expected.map(|(text, tests)| (text.to_owned(), tests));
        assert_eq!(grouped(&reasons.into()), expected);
    }
}
