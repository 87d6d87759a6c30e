//! How long a wave runs before it lets others go on.

use crate::exec::{Ctx, Seen, Stop, Watch, Wave, run, run_exactly, run_to_store};

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
///
/// On a chip the waves of a workgroup go on side by side. Here each runs for a long turn, and a kernel that reads from LDS in one wave what
/// another is about to replace, with no barrier between, would get what it never gets there. So after a barrier a wave's turn ends before
/// its first store to LDS: by then the others have read what they read first.
#[derive(Default)]
pub(super) struct Turn {
    length: u64,
    /// Longest turns since the last look.
    unwatched: u32,
    /// The wave was found waiting, and is where `watch` left it.
    waiting: bool,
    watch: Watch,
    /// The wave has come from a barrier, and has not run since.
    from_barrier: bool,
    /// Instructions of a slice, where turns are cut into slices.
    slice: Option<u64>,
    /// Instructions of this turn's slices so far.
    used: u64,
}

/// What a turn came to, beside how it stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// The wave has worked all the time.
    Working,
    /// It only waits for others.
    Waiting,
    /// A slice of the turn is over, the turn is not.
    Sliced,
}

impl Turn {
    /// For a new wave; with `slice` all its turns are cut into slices of so many instructions.
    pub(super) fn reset(&mut self, slice: Option<u64>) {
        (self.length, self.unwatched, self.waiting) = (FIRST, 0, false);
        (self.from_barrier, self.slice, self.used) = (false, slice, 0);
        self.watch.clear();
    }

    /// The wave comes from a barrier, where it met others.
    pub(super) fn pass_barrier(&mut self) {
        self.from_barrier = true;
    }

    /// Gives `wave` a turn, or a slice of one. Returns why it stopped, and what it came to.
    pub(super) fn run(&mut self, wave: &mut Wave, ctx: &mut Ctx<'_>) -> (Stop, Came) {
        if self.waiting {
            match self.watch.run(wave, ctx, WATCHED) {
                Seen::Waiting => return (Stop::Yield, Came::Waiting),
                seen => {
                    (self.length, self.unwatched, self.waiting) = (AFTER_WAIT, 0, false);
                    self.watch.clear();
                    if let Seen::Stopped(stop) = seen {
                        return (stop, came(stop));
                    }
                }
            }
        }
        if std::mem::take(&mut self.from_barrier) && self.slice.is_none() {
            match run_to_store(wave, ctx, FIRST) {
                None => return (Stop::Yield, Came::Sliced),
                Some(stop) => return (stop, came(stop)),
            }
        }
        let before = wave.instructions;
        if let Some(slice) = self.slice {
            let stop = run_exactly(wave, ctx, slice);
            if stop != Stop::Yield || wave.instructions.wrapping_sub(before) < slice {
                return (stop, came(stop));
            }
            self.used += slice;
            if self.used < self.length {
                return (stop, Came::Sliced);
            }
            let used = std::mem::take(&mut self.used);
            return self.after(stop, used, wave, ctx);
        }
        let stop = run(wave, ctx, self.length);
        self.after(stop, wave.instructions.wrapping_sub(before), wave, ctx)
    }

    /// `wave` has stopped after `spent` instructions of its turn. Returns what [`run`](Self::run) does.
    pub(super) fn after(&mut self, stop: Stop, spent: u64, wave: &mut Wave, ctx: &mut Ctx<'_>) -> (Stop, Came) {
        if stop != Stop::Yield {
            return (stop, Came::Working);
        }
        if spent < self.length {
            // It gave way of itself: `s_sleep` is for waves that wait.
            return (stop, Came::Waiting);
        }
        if self.length < LONGEST {
            self.length *= 2;
        } else {
            self.unwatched += 1;
            if self.unwatched < LOOK_EVERY {
                return (stop, Came::Working);
            }
            self.unwatched = 0;
        }
        match self.watch.run(wave, ctx, WATCHED) {
            Seen::Waiting => {
                self.waiting = true;
                (Stop::Yield, Came::Waiting)
            }
            Seen::Working => {
                self.watch.clear();
                (Stop::Yield, Came::Working)
            }
            Seen::Stopped(stop) => {
                self.watch.clear();
                (stop, came(stop))
            }
        }
    }
}

/// What a turn came to that ended early: `s_sleep` is for waves that wait.
fn came(stop: Stop) -> Came {
    if stop == Stop::Yield { Came::Waiting } else { Came::Working }
}
