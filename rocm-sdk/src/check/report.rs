//! The outcomes of a check.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The outcome of one check. `Display` prints a line in the format of Python's unittest: `name (group) ... ok`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// The name of the check, such as `loads: lib/libamdhip64.so.7`.
    pub name: String,
    /// The part of the installation, or of the check: `core`, `initialize_process`.
    pub group: String,
    /// The verdict.
    pub verdict: Verdict,
    /// The cause and what to do, or why it was skipped.
    pub detail: Option<String>,
    /// The duration.
    pub seconds: f64,
}

/// The verdict of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Verdict {
    /// It passed.
    Ok,
    /// It failed.
    Fail,
    /// It does not apply to this installation or machine.
    Skipped,
}

/// All outcomes. `Display` prints them in the format of Python's unittest: a line each, then the failures, then the
/// count. serde serialises the same data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// The installation.
    pub root: String,
    /// Its layout: `prefix`, `wheels` or `multiarch`.
    pub layout: String,
    /// Its release, if known.
    pub release: Option<String>,
    /// All outcomes, in the order of the checks.
    pub outcomes: Vec<Outcome>,
    /// The duration.
    pub seconds: f64,
}

impl Report {
    /// Returns whether nothing failed.
    pub fn is_success(&self) -> bool {
        self.failures().next().is_none()
    }

    /// Returns the failures.
    pub fn failures(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Fail)
    }

    /// Returns the number of outcomes with this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.verdict == verdict).count()
    }

    /// Returns the end of the text: the failures and the count. Use it if the outcomes were printed one by one.
    pub fn summary(&self) -> impl fmt::Display + '_ {
        Summary(self)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "ok",
            Self::Fail => "FAIL",
            Self::Skipped => "skipped",
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}) ... {}", self.name, self.group, self.verdict)?;
        match &self.detail {
            Some(why) if self.verdict == Verdict::Skipped => write!(f, " '{why}'"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for outcome in &self.outcomes {
            writeln!(f, "{outcome}")?;
        }
        Summary(self).fmt(f)
    }
}

struct Summary<'a>(&'a Report);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        let (thick, thin) = ("=".repeat(70), "-".repeat(70));
        for outcome in report.failures() {
            writeln!(f, "\n{thick}\nFAIL: {} ({})\n{thin}", outcome.name, outcome.group)?;
            writeln!(f, "{}", outcome.detail.as_deref().unwrap_or("no more is known"))?;
        }
        let (ran, failed, skipped) =
            (report.outcomes.len(), report.count(Verdict::Fail), report.count(Verdict::Skipped));
        let plural = if ran == 1 { "" } else { "s" };
        writeln!(f, "\n{thin}\nRan {ran} test{plural} in {:.3}s\n", report.seconds)?;
        match (failed, skipped) {
            (0, 0) => f.write_str("OK"),
            (0, _) => write!(f, "OK (skipped={skipped})"),
            (_, 0) => write!(f, "FAILED (failures={failed})"),
            _ => write!(f, "FAILED (failures={failed}, skipped={skipped})"),
        }
    }
}

/// Collects outcomes and passes each to the caller.
pub(super) struct Collector<'a> {
    outcomes: Vec<Outcome>,
    each: &'a mut dyn FnMut(&Outcome),
}

/// Passed, failed with the reason, or skipped with the reason.
pub(super) enum Finding {
    Ok,
    Fail(String),
    Skipped(String),
}

impl<'a> Collector<'a> {
    pub(super) fn new(each: &'a mut dyn FnMut(&Outcome)) -> Self {
        Self { outcomes: Vec::new(), each }
    }

    /// Adds the finding of `check`, and returns whether it passed.
    pub(super) fn check(&mut self, group: &str, name: impl Into<String>, check: impl FnOnce() -> Finding) -> bool {
        let begun = Instant::now();
        let finding = check();
        self.add(group, name, finding, begun.elapsed().as_secs_f64())
    }

    pub(super) fn add(&mut self, group: &str, name: impl Into<String>, finding: Finding, seconds: f64) -> bool {
        let (verdict, detail) = match finding {
            Finding::Ok => (Verdict::Ok, None),
            Finding::Fail(why) => (Verdict::Fail, Some(why)),
            Finding::Skipped(why) => (Verdict::Skipped, Some(why)),
        };
        let outcome = Outcome { name: name.into(), group: group.to_owned(), verdict, detail, seconds };
        (self.each)(&outcome);
        self.outcomes.push(outcome);
        verdict == Verdict::Ok
    }

    pub(super) fn into_outcomes(self) -> Vec<Outcome> {
        self.outcomes
    }
}

impl From<Result<(), String>> for Finding {
    fn from(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::Ok,
            Err(why) => Self::Fail(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_like_unittest_s() {
        let mut lines = Vec::new();
        let mut each = |outcome: &Outcome| lines.push(outcome.to_string());
        let mut collector = Collector::new(&mut each);
        assert!(collector.add("core", "loads: lib/a.so", Finding::Ok, 0.1));
        assert!(!collector.add("core", "loads: lib/b.so", Finding::Fail("it crashed".into()), 0.1));
        assert!(!collector.add("devel", "layout", Finding::Skipped("not expanded".into()), 0.1));
        let outcomes = collector.into_outcomes();
        let mut report =
            Report { root: "/opt/rocm".into(), layout: "prefix".into(), release: None, outcomes, seconds: 1.5 };
        let text = report.to_string();
        assert_eq!(
            text,
            "loads: lib/a.so (core) ... ok\n\
             loads: lib/b.so (core) ... FAIL\n\
             layout (devel) ... skipped 'not expanded'\n\
             \n\
             ======================================================================\n\
             FAIL: loads: lib/b.so (core)\n\
             ----------------------------------------------------------------------\n\
             it crashed\n\
             \n\
             ----------------------------------------------------------------------\n\
             Ran 3 tests in 1.500s\n\
             \n\
             FAILED (failures=1, skipped=1)"
        );
        assert!(text.starts_with(&lines.join("\n")) && !report.is_success());
        let json = serde_json::to_string(&report).unwrap();
        assert!(json.contains(r#""verdict":"fail","detail":"it crashed""#), "{json}");
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report);
        report.outcomes.truncate(1);
        assert!(report.is_success() && report.to_string().ends_with("Ran 1 test in 1.500s\n\nOK"));
    }
}
