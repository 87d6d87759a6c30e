//! Polling with a growing interval.

use std::time::Duration;

/// The number of polls between which the thread only yields.
const EAGER: u32 = 200;
/// The sleep between later polls.
const NAP: Duration = Duration::from_micros(50);

/// The wait between polls: yields at first, then sleeps.
#[derive(Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Waits until the next poll.
    pub(crate) fn pause(&mut self) {
        if self.0 < EAGER {
            self.0 += 1;
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}
