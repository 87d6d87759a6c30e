//! The length of a wave's turns.

use crate::exec::{Ctx, Seen, Stop, Watch, Wave, run, run_exactly, run_to_store};

/// Instructions of the longest turn.
const LONGEST: u64 = 1 << 16;
/// The length of a wave's first turn: waves that end within it need no further bookkeeping.
pub(super) const FIRST: u64 = 1 << 12;
/// The length of the first turn after waiting: the wave may soon wait again.
const AFTER_WAIT: u64 = 1 << 8;
/// The maximum number of instructions for which a wave is watched.
const WATCHED: u64 = 1024;
/// The number of longest turns after which a wave is watched again.
const LOOK_EVERY: u32 = 8;

/// A wave's turns. They grow while the wave works, and are one loop iteration while it waits.
///
/// On a chip the waves of a workgroup run side by side. Here each runs for a long turn. Suppose one wave reads from LDS
/// and another then replaces the value, without a barrier in between: long turns could give a result that never occurs
/// on a chip. So after a barrier, a wave's turn ends before its first store to LDS; by then the other waves have done
/// their first reads.
#[derive(Default)]
pub(super) struct Turn {
    length: u64,
    /// The number of longest turns since the wave was last watched.
    unwatched: u32,
    /// The wave was found waiting, and is at the instruction where `watch` left it.
    waiting: bool,
    watch: Watch,
    /// The wave has passed a barrier and has not run since.
    from_barrier: bool,
    /// The length of a slice, if turns are sliced.
    slice: Option<u64>,
    /// The instructions of this turn's slices so far.
    used: u64,
}

/// The result of a turn, in addition to why it stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// The wave has worked throughout.
    Working,
    /// The wave is only waiting for others.
    Waiting,
    /// A slice has ended, but the turn has not.
    Sliced,
}

impl Turn {
    /// Resets the state for a new wave. With `slice`, all turns are cut into slices of that many instructions.
    pub(super) fn reset(&mut self, slice: Option<u64>) {
        (self.length, self.unwatched, self.waiting) = (FIRST, 0, false);
        (self.from_barrier, self.slice, self.used) = (false, slice, 0);
        self.watch.clear();
    }

    /// The wave has passed a barrier together with others.
    pub(super) fn pass_barrier(&mut self) {
        self.from_barrier = true;
    }

    /// Runs `wave` for a turn, or for a slice of one. Returns why it stopped, and the result.
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

    /// Updates the state after `wave` stopped with `spent` instructions of its turn. Returns the same as
    /// [`run`](Self::run).
    pub(super) fn after(&mut self, stop: Stop, spent: u64, wave: &mut Wave, ctx: &mut Ctx<'_>) -> (Stop, Came) {
        if stop != Stop::Yield {
            return (stop, Came::Working);
        }
        if spent < self.length {
            // The wave yielded: `s_sleep` indicates waiting.
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

/// The result of a turn that ended early: `s_sleep` indicates waiting.
fn came(stop: Stop) -> Came {
    if stop == Stop::Yield { Came::Waiting } else { Came::Working }
}
