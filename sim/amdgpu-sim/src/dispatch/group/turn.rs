//! How long a wave runs before it lets others go on.

use crate::exec::{Ctx, Seen, Stop, Watch, Wave, run};

/// Instructions of the longest turn.
const LONGEST: u64 = 1 << 16;
/// Instructions of a wave's first turn: waves that end within it never pay for being watched.
pub(super) const FIRST: u64 = 1 << 12;
/// Instructions of the first turn of a wave that has waited: it may soon wait again.
const AFTER_WAIT: u64 = 1 << 8;
/// Instructions that a wave is watched for at most.
const WATCHED: u64 = 1024;
/// Longest turns between two looks.
const LOOK_EVERY: u32 = 8;

/// A wave's turns. They grow while it works, and are one iteration of the loop while it waits.
#[derive(Default)]
pub(super) struct Turn {
    length: u64,
    /// Longest turns since the last look.
    unwatched: u32,
    /// The wave was found waiting, and is where `watch` left it.
    waiting: bool,
    watch: Watch,
}

impl Turn {
    /// For a new wave.
    pub(super) fn reset(&mut self) {
        (self.length, self.unwatched, self.waiting) = (FIRST, 0, false);
        self.watch.clear();
    }

    /// Gives `wave` a turn. Returns why it stopped, and whether it only waits for others.
    pub(super) fn run(&mut self, wave: &mut Wave, ctx: &mut Ctx<'_>) -> (Stop, bool) {
        if self.waiting {
            match self.watch.run(wave, ctx, WATCHED) {
                Seen::Waiting => return (Stop::Yield, true),
                seen => {
                    (self.length, self.unwatched, self.waiting) = (AFTER_WAIT, 0, false);
                    self.watch.clear();
                    if let Seen::Stopped(stop) = seen {
                        return (stop, stop == Stop::Yield);
                    }
                }
            }
        }
        let before = wave.instructions;
        let stop = run(wave, ctx, self.length);
        self.after(stop, wave.instructions.wrapping_sub(before), wave, ctx)
    }

    /// `wave` has stopped after `spent` instructions of its turn. Returns what [`run`](Self::run) does.
    pub(super) fn after(&mut self, stop: Stop, spent: u64, wave: &mut Wave, ctx: &mut Ctx<'_>) -> (Stop, bool) {
        if stop != Stop::Yield {
            return (stop, false);
        }
        if spent < self.length {
            // It gave way of itself: `s_sleep` is for waves that wait.
            return (stop, true);
        }
        if self.length < LONGEST {
            self.length *= 2;
        } else {
            self.unwatched += 1;
            if self.unwatched < LOOK_EVERY {
                return (stop, false);
            }
            self.unwatched = 0;
        }
        match self.watch.run(wave, ctx, WATCHED) {
            Seen::Waiting => {
                self.waiting = true;
                (Stop::Yield, true)
            }
            Seen::Working => {
                self.watch.clear();
                (Stop::Yield, false)
            }
            Seen::Stopped(stop) => {
                self.watch.clear();
                (stop, stop == Stop::Yield)
            }
        }
    }
}
