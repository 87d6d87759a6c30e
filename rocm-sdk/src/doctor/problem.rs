//! Problems, and what to do about them.

use std::fmt;

use serde::Serialize;

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// Something does not work.
    Error,
    /// Something may work differently than expected.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
        })
    }
}

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// The description.
    pub problem: String,
    /// What to do.
    pub todo: String,
}

/// The problems found so far; equal ones are stored once.
#[derive(Debug, Default)]
pub(crate) struct Problems(pub(crate) Vec<Problem>);

impl Problems {
    pub(crate) fn error(&mut self, problem: impl Into<String>, todo: impl Into<String>) {
        self.add(Severity::Error, problem.into(), todo.into());
    }

    pub(crate) fn warning(&mut self, problem: impl Into<String>, todo: impl Into<String>) {
        self.add(Severity::Warning, problem.into(), todo.into());
    }

    pub(crate) fn add(&mut self, severity: Severity, problem: String, todo: String) {
        let problem = Problem { severity, problem, todo };
        if !self.0.contains(&problem) {
            self.0.push(problem);
        }
    }
}
