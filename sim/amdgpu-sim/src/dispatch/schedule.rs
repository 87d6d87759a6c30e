//! In which order workgroups and waves run.

use std::num::NonZeroU32;

/// In which order the workgroups and waves of a dispatch run, and on how many threads.
///
/// A kernel without races gives the same result under every schedule. With [`InOrder`](Schedule::InOrder) and
/// [`Shuffled`](Schedule::Shuffled) a kernel *with* races does too, each time it runs, as one thread runs all its waves: what may
/// still differ from run to run is what the kernel sees of the outside, namely clocks (`s_memtime`), the values of
/// addresses, and memory that another dispatch or the host writes meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Schedule {
    /// Workgroups start in order and run on all threads of [`Config::threads`](crate::Config::threads), each wave for a long turn.
    /// With more than one thread the order of atomic operations of different workgroups is that of chance: sums of floats
    /// and who gets which ticket can differ from run to run.
    ///
    /// Waves of a workgroup that have met at a barrier all go on from there to their first store to LDS before one of them stores: a
    /// kernel that lacks a barrier where a chip never needs it, as its waves go on side by side there, gets what it gets on the chip.
    #[default]
    Parallel,
    /// As `Parallel`, with the waves of a workgroup taking turns of so many instructions from beginning to end: as close to the waves
    /// of a chip, which go on side by side, as it gets. Slower, by as much as short turns cost.
    Interleaved(NonZeroU32),
    /// As `Parallel` on one thread: the same run gives the same result.
    InOrder,
    /// On one thread, in an order that the seed decides: workgroups start shuffled (among the next 64), several run side
    /// by side, waves take turns of random length in random order. The same seed gives the same order; another seed may
    /// bring a race to light.
    Shuffled(u64),
}

impl Schedule {
    /// Whether all waves run on one thread.
    pub(super) fn is_ordered(self) -> bool {
        matches!(self, Self::InOrder | Self::Shuffled(_))
    }

    /// Instructions after which another wave of the workgroup goes on, if turns are cut so.
    pub(super) fn slice(self) -> Option<u64> {
        match self {
            Self::Interleaved(instructions) => Some(instructions.get().into()),
            _ => None,
        }
    }
}

/// Workgroups that are shuffled among each other. No more than can run side by side, as one may wait for any before it.
const WINDOW: u64 = 64;
/// Workgroups that run side by side at least, when shuffled.
pub(super) const SIDE_BY_SIDE: usize = 4;
/// The longest turn of a wave, when shuffled.
const LONGEST_TURN: u64 = 256;

/// The chances of a shuffled dispatch.
pub(super) struct Shuffle {
    seed: u64,
    state: u64,
    /// The window that `order` is of, and where each of its workgroups has gone.
    window: Option<u64>,
    order: Vec<u64>,
}

impl Shuffle {
    /// The chances of `schedule`, if it has any.
    pub(super) fn of(schedule: Schedule) -> Option<Self> {
        let Schedule::Shuffled(seed) = schedule else { return None };
        Some(Self { seed, state: mix(seed), window: None, order: Vec::new() })
    }

    /// The number of the workgroup, of `total`, that starts as the `index`-th.
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

    /// Instructions of the next turn.
    pub(super) fn turn(&mut self) -> u64 {
        // As many short ones as long ones: a turn of one instruction finds what one of a hundred does not.
        let longest = LONGEST_TURN >> (next(&mut self.state) % 8);
        1 + next(&mut self.state) % longest
    }

    /// Brings `items` into another order.
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
