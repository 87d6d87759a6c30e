//! Queues of numbered work, and the state of the work on them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// A queue of numbered work.
pub(crate) trait Queue: Send + Sync {
    /// Identifies the queue.
    fn id(&self) -> u64;

    /// Returns the known state of the work up to `ticket`. Makes no call into the runtime.
    fn verdict(&self, ticket: u64) -> Verdict;

    /// Asks the runtime whether all work is over, without waiting. Errors of the work are stored for the next wait.
    fn ask(&self);

    /// Blocks until there is a verdict on the work up to `ticket`.
    fn wait(&self, ticket: u64) -> Verdict {
        let mut pause = Pause::new();
        loop {
            match self.verdict(ticket) {
                Verdict::Open => {}
                known => return known,
            }
            self.ask();
            if self.verdict(ticket) == Verdict::Open {
                pause.sleep();
            }
        }
    }
}

/// State of queued work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The work may still run.
    Open,
    /// The work has ended, with or without an error.
    Over,
    /// The runtime cannot report the state, and never will.
    Unknown,
}

/// Queued work, up to a ticket, that a job must wait for.
pub(crate) type Blocker = (Arc<dyn Queue>, u64);

/// A pause between two polls, which grows.
pub(super) struct Pause(Duration);

impl Pause {
    const SHORTEST: Duration = Duration::from_micros(20);
    const LONGEST: Duration = Duration::from_millis(2);

    pub(super) fn new() -> Self {
        Self(Self::SHORTEST)
    }

    pub(super) fn next(&mut self) -> Duration {
        let now = self.0;
        self.0 = (now * 2).min(Self::LONGEST);
        now
    }

    fn sleep(&mut self) {
        thread::sleep(self.next());
    }
}
