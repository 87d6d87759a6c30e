//! Looking again and again for what nobody tells of.

use std::time::Duration;

/// Looks that only let other threads go first.
const EAGER: u32 = 200;
/// How long a thread sleeps between later looks.
const NAP: Duration = Duration::from_micros(50);

/// How long to wait until the next look: hardly at first.
#[derive(Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Waits until it is time to look again.
    pub(crate) fn pause(&mut self) {
        if self.0 < EAGER {
            self.0 += 1;
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
    }
}
