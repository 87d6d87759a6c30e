//! How long a wave runs before it lets others go on.

use crate::exec::{Ctx, Seen, Stop, Watch, Wave, run, run_exactly, run_to_store};

/// Instructions of the longest turn.
const LONGEST: u64 = 1 << 16;
/// Instructions of a wave's first turn: waves that end within it never pay for being watched.
const FIRST: u64 = 1 << 12;
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
    /// It was worked all the time.
    Working,
    /// The wave only waits for others.
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
                        return (stop, gave_way(stop));
                    }
                }
            }
        }
        if std::mem::take(&mut self.from_barrier) && self.slice.is_none() {
            match run_to_store(wave, ctx, FIRST) {
                None => return (Stop::Yield, Came::Sliced),
                Some(stop) => return (stop, gave_way(stop)),
            }
        }
        let before = wave.instructions;
        let (stop, whole) = match self.slice {
            None => (run(wave, ctx, self.length), self.length),
            Some(slice) => (run_exactly(wave, ctx, slice), slice),
        };
        if stop != Stop::Yield {
            return (stop, Came::Working);
        }
        if wave.instructions.wrapping_sub(before) < whole {
            // It gave way of itself: `s_sleep` is for waves that wait.
            return (stop, Came::Waiting);
        }
        if self.slice.is_some() {
            self.used += whole;
            if self.used < self.length {
                return (stop, Came::Sliced);
            }
            self.used = 0;
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
                (stop, gave_way(stop))
            }
        }
    }
}

/// What a turn came to that ended early: `s_sleep` is for waves that wait.
fn gave_way(stop: Stop) -> Came {
    if stop == Stop::Yield { Came::Waiting } else { Came::Working }
}
