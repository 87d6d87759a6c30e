//! What is remembered of a step.

use std::time::Duration;

use super::libtest::Counts;

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed(Vec<String>),
    Skipped(String),
}

/// The record of a step.
#[derive(Debug)]
pub(crate) struct Report {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) counts: Counts,
    /// The parts that the mirror lacks.
    pub(super) lacking: Vec<String>,
    pub(super) took: Duration,
    /// Processor time, on all processors.
    pub(super) cpu: Duration,
}
