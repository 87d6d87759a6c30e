//! Reports that a wait for a stream checks in addition to the stream's own: those of graphs that were launched on it,
//! and those of streams that its work comes after.

use std::sync::Arc;

use super::report::Report;
use crate::core::error::Error;

/// The reports of other streams and graphs whose work a wait for a stream covers.
#[derive(Default)]
pub(super) struct Watched(Vec<Watch>);

/// One report.
#[derive(Clone)]
pub(super) struct Watch {
    pub(super) report: Arc<Report>,
    /// The last ticket of the stream whose wait covers the work; [`BEING_QUEUED`] while it is unknown.
    pub(super) until: u64,
    pub(super) of: Whose,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Waits for the stream return all of its errors.
    Graph,
    /// Waits for the stream return the panics of kernels; waits for the other stream return the rest.
    OtherStream,
}

pub(super) const BEING_QUEUED: u64 = u64::MAX;

impl Watch {
    fn is_pending(&self) -> bool {
        match self.of {
            Whose::Graph => self.report.is_pending(),
            Whose::OtherStream => self.report.has_kernel_panic(),
        }
    }

    fn take(&self) -> Option<Error> {
        match self.of {
            Whose::Graph => self.report.take(),
            Whose::OtherStream => self.report.take_kernel(),
        }
    }

    fn is(&self, report: &Arc<Report>) -> bool {
        Arc::ptr_eq(&self.report, report)
    }
}

impl Watched {
    /// Takes the first error, for a wait for the stream.
    pub(super) fn take(&self) -> Option<Error> {
        self.0.iter().find_map(Watch::take)
    }

    /// Takes the first error, for a wait for the whole device. Panics of host functions are left.
    pub(super) fn take_of_device(&self) -> Option<Error> {
        self.0.iter().find_map(|watch| watch.report.take_kernel())
    }

    /// Returns all reports.
    pub(super) fn reports(&self) -> Vec<Arc<Report>> {
        self.0.iter().map(|watch| Arc::clone(&watch.report)).collect()
    }

    pub(super) fn is_pending(&self) -> bool {
        self.0.iter().any(Watch::is_pending)
    }

    /// Removes reports without errors whose work is over when the stream's work up to `ticket` is over. They are moved
    /// to `retired`, to be dropped without a lock.
    pub(super) fn retire(&mut self, ticket: u64, retired: &mut Vec<Arc<Report>>) {
        self.0.retain(|watch| {
            let stays = watch.until > ticket || watch.is_pending();
            if !stays {
                retired.push(Arc::clone(&watch.report));
            }
            stays
        });
    }

    pub(super) fn add(&mut self, new: Watch) {
        // One entry per report is enough once its end is known.
        let known = self.0.iter_mut().find(|known| {
            known.is(&new.report) && known.of == new.of && known.until != BEING_QUEUED && new.until != BEING_QUEUED
        });
        match known {
            Some(known) => known.until = known.until.max(new.until),
            None => self.0.push(new),
        }
    }

    pub(super) fn remove_being_queued(&mut self, report: &Arc<Report>) {
        if let Some(at) = self.0.iter().position(|watch| watch.is(report) && watch.until == BEING_QUEUED) {
            self.0.swap_remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(report: &Arc<Report>, until: u64) -> Watch {
        Watch { report: Arc::clone(report), until, of: Whose::Graph }
    }

    #[test]
    fn a_report_is_watched_until_its_work_is_covered() {
        let (first, second) = (Arc::<Report>::default(), Arc::<Report>::default());
        let (mut watched, mut retired) = (Watched::default(), Vec::new());
        watched.add(watch(&first, BEING_QUEUED));
        watched.retire(100, &mut retired);
        assert!(retired.is_empty(), "its launch is being queued");
        watched.remove_being_queued(&first);
        watched.add(watch(&first, 5));
        watched.add(watch(&first, 7));
        watched.add(watch(&second, 6));
        assert_eq!(watched.0.len(), 2);
        watched.retire(6, &mut retired);
        assert!(retired.len() == 1 && Arc::ptr_eq(&retired[0], &second));
        first.put(Error::NoDevice);
        watched.retire(7, &mut retired);
        assert_eq!(watched.0.len(), 1, "it has something to tell");
        assert!(watched.is_pending() && matches!(watched.take(), Some(Error::NoDevice)));
        watched.retire(7, &mut retired);
        assert!(watched.0.is_empty());
    }
}
