//! Shows the progress of the steps: a counter with the time, and a message if nothing was written for long.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The position of a step among all steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) count: usize,
    /// The start of the first step.
    pub(super) begun: Instant,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.begun.elapsed().as_secs();
        write!(f, "[{}/{} {:02}:{:02}]", self.number, self.count, seconds / 60, seconds % 60)
    }
}

/// Number of lines that commands have written, which shows whether they are silent.
static LINES: AtomicU64 = AtomicU64::new(0);

/// Records that a command has written a line.
pub(super) fn wrote() {
    LINES.fetch_add(1, Ordering::Relaxed);
}

/// Maximum time without output.
const SILENCE: Duration = Duration::from_secs(10);

/// Reports repeatedly that a step is still running, until it is dropped.
pub(super) struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    pub(super) fn start(place: Place, name: String) -> Self {
        Self::every(SILENCE, move || println!("{place} ... {name} goes on"))
    }

    /// Calls `tell` after each `silence`.
    fn every(silence: Duration, tell: impl Fn() + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut seen = LINES.load(Ordering::Relaxed);
            while stopped.recv_timeout(silence) == Err(RecvTimeoutError::Timeout) {
                let now = LINES.load(Ordering::Relaxed);
                if now == seen {
                    tell();
                }
                seen = now;
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn a_place_tells_number_and_time() {
        let begun = Instant::now().checked_sub(Duration::from_secs(125)).unwrap();
        let text = Place { number: 2, count: 7, begun }.to_string();
        assert!(text.starts_with("[2/7 02:0"), "{text}");
    }

    #[test]
    fn silence_is_told_of_until_the_step_ends() {
        let told = Arc::new(AtomicU32::new(0));
        let beat = Heartbeat::every(Duration::from_millis(1), {
            let told = Arc::clone(&told);
            move || {
                told.fetch_add(1, Ordering::Relaxed);
            }
        });
        while told.load(Ordering::Relaxed) < 3 {
            std::thread::yield_now();
        }
        drop(beat);
        let after = told.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(told.load(Ordering::Relaxed), after, "it tells of nothing after the end");
    }
}
