//! How many workers there are, and what they do.

/// The number of workers in each state.
#[derive(Default)]
pub(super) struct Workers {
    /// All workers.
    pub(super) threads: usize,
    /// Workers inside a host function or a wait, where they may stay for an unlimited time.
    pub(super) in_host_function: usize,
    /// Workers that run device work.
    pub(super) busy: usize,
    /// Worker places beyond the number of cores, admitted because running commands seem to wait for others.
    pub(super) extra: usize,
    /// Whether a worker waits to see if the running commands need another place.
    pub(super) patient: bool,
    /// Workers that will poll the ready list again soon.
    pub(super) napping: usize,
    pub(super) asleep: usize,
    /// Sleeping workers that have been notified and have not woken yet.
    pub(super) called: usize,
}

#[cfg(test)]
impl Workers {
    /// The number of worker places beyond the number of cores.
    pub(super) fn extra_places(&self) -> usize {
        self.extra
    }
}
