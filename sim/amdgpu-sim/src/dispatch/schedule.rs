//! The order in which workgroups and waves run.

use std::num::NonZeroU32;

/// The order in which the workgroups and waves of a dispatch run, and the number of threads.
///
/// A kernel without races gives the same result under every schedule. With [`InOrder`](Schedule::InOrder) and
/// [`Shuffled`](Schedule::Shuffled), a kernel *with* races also gives the same result in each run, because one thread
/// runs all its waves. Only external inputs can still differ between runs: clocks (`s_memtime`), addresses, and memory
/// that another dispatch or the host writes concurrently.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schedule {
    /// Workgroups start in order and run on all threads of [`Config::threads`](crate::Config::threads), each wave for a
    /// long turn. With more than one thread, the order of atomic operations of different workgroups is random: sums of
    /// floats and ticket numbers can differ between runs.
    ///
    /// After a barrier, all waves of a workgroup run up to their first store to LDS before any of them stores. On a
    /// chip, waves run side by side, so some kernels omit a barrier that they never need there; such a kernel gets the
    /// same result as on the chip.
    #[default]
    Parallel,
    /// As `Parallel`, with the waves of a workgroup always taking turns of this many instructions. This is closest to a
    /// chip, where waves run side by side. It is slower because of the short turns.
    Interleaved(NonZeroU32),
    /// As `Parallel` on one thread: every run gives the same result.
    InOrder,
    /// On one thread, in an order determined by the seed. Workgroups start shuffled (among the next 64), several run
    /// side by side, and waves take turns of random length in random order. The same seed gives the same order; another
    /// seed may reveal a race.
    Shuffled(u64),
}

impl Schedule {
    /// Returns whether all waves run on one thread.
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Self::InOrder | Self::Shuffled(_))
    }

    /// The number of instructions after which another wave of the workgroup runs, if turns are sliced.
    pub(super) fn slice(self) -> Option<u64> {
        match self {
            Self::Interleaved(instructions) => Some(instructions.get().into()),
            _ => None,
        }
    }
}

/// The number of workgroups that are shuffled together. Limited to those that can run side by side, since one may wait
/// for any earlier one.
const WINDOW: u64 = 64;
/// The minimum number of workgroups that run side by side when shuffled.
pub(super) const SIDE_BY_SIDE: usize = 4;
/// The longest turn of a wave when shuffled, in instructions.
const LONGEST_TURN: u64 = 256;

/// The random state of a shuffled dispatch.
pub(super) struct Shuffle {
    seed: u64,
    state: u64,
    /// The window that `order` describes, a permutation of its workgroups.
    window: Option<u64>,
    order: Vec<u64>,
}

impl Shuffle {
    /// The random state for `schedule`, if it is shuffled.
    pub(super) fn of(schedule: Schedule) -> Option<Self> {
        let Schedule::Shuffled(seed) = schedule else { return None };
        Some(Self { seed, state: mix(seed), window: None, order: Vec::new() })
    }

    /// The number of the workgroup, of `total`, that starts as number `index`.
    pub(super) fn workgroup(&mut self, index: u64, total: u64) -> u64 {
        let window = index / WINDOW;
        if self.window != Some(window) {
            self.window = Some(window);
            self.order = (window * WINDOW..total.min((window + 1) * WINDOW)).collect();
            let mut state = mix(self.seed ^ mix(window));
            shuffle(&mut self.order, &mut state);
        }
        self.order.get((index % WINDOW) as usize).copied().unwrap_or(index)
    }

    /// The length of the next turn in instructions.
    pub(super) fn turn(&mut self) -> u64 {
        // Short turns are as likely as long ones: they find different races.
        let longest = LONGEST_TURN >> (next(&mut self.state) % 8);
        1 + next(&mut self.state) % longest
    }

    /// Shuffles `items`.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        shuffle(items, &mut self.state);
    }
}

fn shuffle<T>(items: &mut [T], state: &mut u64) {
    for last in (1..items.len()).rev() {
        items.swap(last, (next(state) % (last as u64 + 1)) as usize);
    }
}

fn mix(seed: u64) -> u64 {
    let mut state = seed;
    next(&mut state)
}

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workgroup_starts_once_and_near_its_place() {
        for total in [1, 63, 64, 65, 1000] {
            let mut shuffle = Shuffle::of(Schedule::Shuffled(7)).unwrap();
            let started: Vec<u64> = (0..total).map(|i| shuffle.workgroup(i, total)).collect();
            let mut sorted = started.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..total), "{total}");
            assert!(started.iter().zip(0..).all(|(w, i)| w / WINDOW == i / WINDOW), "{total}");
            assert!(total == 1 || !started.iter().copied().eq(0..total), "{total}: not shuffled");
        }
    }

    #[test]
    fn a_seed_gives_its_own_order_every_time() {
        let order = |seed| {
            let mut shuffle = Shuffle::of(Schedule::Shuffled(seed)).unwrap();
            let groups: Vec<u64> = (0..200).map(|i| shuffle.workgroup(i, 200)).collect();
            (groups, (0..50).map(|_| shuffle.turn()).collect::<Vec<_>>())
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1).0, order(2).0);
        assert_ne!(order(1).1, order(2).1);
        assert!(order(3).1.iter().all(|turn| (1..=LONGEST_TURN).contains(turn)));
        assert!(Shuffle::of(Schedule::InOrder).is_none());
    }
}
