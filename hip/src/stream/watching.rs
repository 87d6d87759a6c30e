//! The start and the end of watching: a stream watches the reports of a graph from before its launch, and those of
//! another stream from a wait for it on.

use std::sync::Arc;

use super::inner::StreamInner;
use super::report::Report;
use super::watched::{BEING_QUEUED, Watch, Whose};

/// Reports of a graph that is being launched. Waits check them from before the launch is queued.
#[must_use]
pub(crate) struct Watching<'a> {
    stream: &'a StreamInner,
    reports: Vec<Arc<Report>>,
}

impl Watching<'_> {
    /// Sets the ticket of the launch: a wait that covers it is the last one that has to check.
    pub(crate) fn until(self, ticket: u64) {
        if self.reports.is_empty() {
            return;
        }
        let watched = &mut self.stream.lock().watched;
        for report in &self.reports {
            watched.remove_being_queued(report);
            watched.add(Watch { report: Arc::clone(report), until: ticket, of: Whose::Graph });
        }
    }
}

impl StreamInner {
    /// Makes waits for this stream return errors in the reports of a graph, which is launched on it next.
    pub(crate) fn watch<'r>(&self, reports: impl Iterator<Item = &'r Arc<Report>>) -> Watching<'_> {
        let reports: Vec<_> = reports.cloned().collect();
        if !reports.is_empty() {
            let watched = &mut self.lock().watched;
            for report in &reports {
                watched.add(Watch { report: Arc::clone(report), until: BEING_QUEUED, of: Whose::Graph });
            }
        }
        Watching { stream: self, reports }
    }

    /// Makes waits for this stream return panics of kernels of `other`, whose work comes before work that is queued
    /// here from now on.
    pub(super) fn watch_stream(&self, other: &Self) {
        if std::ptr::eq(self, other) {
            return;
        }
        let own = other.report.has_record().then(|| Arc::clone(&other.report));
        let theirs: Vec<Arc<Report>> = other.watched_reports();
        if own.is_none() && theirs.is_empty() {
            return;
        }
        let mut queue = self.lock();
        // The first work after the wait.
        let until = queue.issued + 1;
        for report in theirs.into_iter().chain(own).filter(|report| !Arc::ptr_eq(report, &self.report)) {
            queue.watched.add(Watch { report, until, of: Whose::OtherStream });
        }
    }

    /// Returns all reports of others that a wait for this stream checks.
    pub(super) fn watched_reports(&self) -> Vec<Arc<Report>> {
        self.lock().watched.reports()
    }
}
