//! Groups of threads smaller and larger than a block: [`Tile`]s of a wave, and [`GridBarrier`] for all threads of the grid.

use core::marker::PhantomData;

use crate::atomic::{Atomic, Scope};
use crate::sync::{Order, barrier, fence, sleep};
use crate::wave::{self, Lane};
use crate::{grid_dim, thread_idx};

/// `N` neighbouring lanes of a wave: `cooperative_groups::thread_block_tile<N>`. All lanes of the tile must come by its methods.
#[derive(Clone, Copy, Debug)]
pub struct Tile<const N: u32>(());

impl<const N: u32> Tile<N> {
    /// The tile of this thread. `N` is a power of two, up to 32.
    #[inline(always)]
    #[must_use]
    pub fn of_this_thread() -> Self {
        const { assert!(N.is_power_of_two() && N <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes") };
        Self(())
    }

    /// This thread's number in the tile: `thread_rank()`.
    #[inline(always)]
    #[must_use]
    pub fn rank(self) -> u32 {
        wave::lane() % N
    }

    /// The tile's number in the wave: `meta_group_rank()`.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> u32 {
        wave::lane() / N
    }

    /// A bit for each active lane of the tile for which `condition` holds, from bit 0 on: `ballot`.
    #[inline(always)]
    #[must_use]
    pub fn ballot(self, condition: bool) -> u32 {
        let mask = u32::MAX >> (32 - N);
        (wave::ballot(condition) >> (self.number() * N)) as u32 & mask
    }

    /// Whether `condition` holds for an active lane of the tile.
    #[inline(always)]
    #[must_use]
    pub fn any(self, condition: bool) -> bool {
        self.ballot(condition) != 0
    }

    /// Whether `condition` holds for all active lanes of the tile.
    #[inline(always)]
    #[must_use]
    pub fn all(self, condition: bool) -> bool {
        self.ballot(condition) == self.ballot(true)
    }

    /// The value of thread `rank` of the tile, modulo `N`: `shfl`.
    #[inline(always)]
    #[must_use]
    pub fn shuffle<T: Lane>(self, value: T, rank: u32) -> T {
        wave::shuffle(value, self.number() * N + rank % N)
    }

    /// Combines the values of all lanes of the tile; all get the result: `cooperative_groups::reduce`. The operation must be associative
    /// and commutative.
    #[inline(always)]
    #[must_use]
    pub fn reduce<T: Lane>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let (mut value, mut mask) = (value, N / 2);
        while mask > 0 {
            value = combine(value, wave::shuffle_xor(value, mask));
            mask /= 2;
        }
        value
    }

    /// Combines the values of the tile's lanes up to this one, this one included: `inclusive_scan`. The operation must be associative.
    #[inline(always)]
    #[must_use]
    pub fn scan<T: Lane>(self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let (mut value, mut by) = (value, 1);
        while by < N {
            let before = wave::shuffle_up(value, by);
            if self.rank() >= by {
                value = combine(before, value);
            }
            by *= 2;
        }
        value
    }
}

/// A barrier for all threads of the grid: `cooperative_groups::this_grid().sync()`. A kernel that takes one is launched cooperatively: a
/// grid of more blocks than run at a time is refused. The host passes a `&mut host::GridState`.
#[derive(Clone, Copy, Debug)]
pub struct GridBarrier<'a> {
    state: *mut u32,
    marker: PhantomData<&'a ()>,
}

impl GridBarrier<'_> {
    /// # Safety
    /// The state is two words that begin as zero, used by barriers of this launch only, and all blocks of the launch run at a time.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_launch(state: *mut u32) -> Self {
        Self { state, marker: PhantomData }
    }

    /// Waits for all threads of the grid, and makes what each wrote before visible to all. All threads must come by; one that has
    /// panicked or returned never does.
    #[inline(always)]
    pub fn wait(self) {
        // SAFETY: the state of this launch's barriers, which all use by atomic operations.
        let [arrived, rounds] = unsafe { [Atomic::from_ptr(self.state), Atomic::from_ptr(self.state.add(1))] };
        barrier();
        let (thread, grid) = (thread_idx(), grid_dim());
        if (thread.x, thread.y, thread.z) == (0, 0, 0) {
            let round = rounds.load();
            fence(Scope::Device, Order::SeqCst);
            if arrived.fetch_add(1) == grid.x * grid.y * grid.z - 1 {
                arrived.store(0);
                fence(Scope::Device, Order::SeqCst);
                rounds.fetch_add(1);
            } else {
                while rounds.load() == round {
                    sleep();
                }
            }
            fence(Scope::Device, Order::SeqCst);
        }
        barrier();
    }
}
