//! Groups of threads smaller and larger than a block: [`Tile`]s of a wave, and [`GridBarrier`] for all threads of the
//! grid.

use core::marker::PhantomData;

use crate::atomic::Scope;
use crate::sync::{Order, fence, sleep, wave_barrier};
use crate::wave::{self, Lane};
use crate::{block_dim, grid_dim, raw};

/// `N` neighbouring lanes of a wave: `cooperative_groups::thread_block_tile<N>`. All lanes of the tile must call its
/// methods together.
#[derive(Clone, Copy, Debug)]
pub struct Tile<const N: u32>(());

impl<const N: u32> Tile<N> {
    /// Returns the tile of this thread. `N` must be a power of two, up to 32.
    #[inline(always)]
    #[must_use]
    pub fn of_this_thread() -> Self {
        const { assert!(N.is_power_of_two() && N <= 32, "a tile has 1, 2, 4, 8, 16 or 32 lanes") };
        Self(())
    }

    /// Returns this thread's number in the tile: `thread_rank()`.
    #[inline(always)]
    #[must_use]
    pub fn rank(self) -> u32 {
        wave::lane() % N
    }

    /// Returns the tile's number in the wave: `meta_group_rank()`.
    #[inline(always)]
    #[must_use]
    pub fn number(self) -> u32 {
        wave::lane() / N
    }

    /// Returns a bit for each active lane of the tile for which `condition` holds, from bit 0 on: `ballot`.
    #[inline(always)]
    #[must_use]
    pub fn ballot(self, condition: bool) -> u32 {
        let mask = u32::MAX >> (32 - N);
        (wave::ballot(condition) >> (self.number() * N)) as u32 & mask
    }

    /// Returns whether `condition` holds for any active lane of the tile.
    #[inline(always)]
    #[must_use]
    pub fn any(self, condition: bool) -> bool {
        self.ballot(condition) != 0
    }

    /// Returns whether `condition` holds for all active lanes of the tile.
    #[inline(always)]
    #[must_use]
    pub fn all(self, condition: bool) -> bool {
        self.ballot(condition) == self.ballot(true)
    }

    /// Returns the value of thread `rank` of the tile, modulo `N`: `shfl`.
    #[inline(always)]
    #[must_use]
    pub fn shuffle<T: Lane>(self, value: T, rank: u32) -> T {
        wave::shuffle(value, self.number() * N + rank % N)
    }

    /// Combines the values of all lanes of the tile; all get the result: `cooperative_groups::reduce`. The operation
    /// must be associative and commutative.
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

    /// Combines the values of the tile's lanes up to and including this one: `inclusive_scan`. The operation must be
    /// associative.
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

/// A barrier for all threads of the grid: `cooperative_groups::this_grid().sync()`. A kernel with this parameter is
/// launched cooperatively: a grid with more blocks than can run at a time is rejected. The host passes a `&mut
/// host::GridState`.
#[derive(Clone, Copy, Debug)]
pub struct GridBarrier<'a> {
    state: *mut u32,
    marker: PhantomData<&'a ()>,
}

/// The mark of a wave that has left the grid, in the word that counts waves. A waiting wave counts 1.
const GONE: u64 = 1 << 32;

impl GridBarrier<'_> {
    /// # Safety
    /// The state must be four words at a multiple of 8 that are initially zero and are used only by barriers of this
    /// launch. All blocks of the launch must run at a time.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn from_launch(state: *mut u32) -> Self {
        Self { state, marker: PhantomData }
    }

    /// Waits for all waves of the grid, and makes all earlier writes of each visible to all. It does not wait for a
    /// wave whose threads have returned or panicked. All threads of a wave that have not returned must call it
    /// together.
    #[inline(always)]
    pub fn wait(self) {
        fence(Scope::Device, Order::SeqCst);
        if is_first_lane() {
            // SAFETY: the state of this launch's barriers, which is only accessed by atomic operations.
            unsafe {
                let rounds = rounds(self.state);
                let round = raw::device::load_u32(rounds);
                fence(Scope::Device, Order::SeqCst);
                let count = raw::device::add_u64(self.state.cast(), 1) + 1;
                complete(self.state, count);
                while raw::device::load_u32(rounds) == round {
                    sleep();
                }
            }
        }
        wave_barrier();
        fence(Scope::Device, Order::SeqCst);
    }

    /// Counts this wave as one that no barrier waits for any more: its threads have returned, or one has panicked.
    ///
    /// # Safety
    /// The same as for [`from_launch`](Self::from_launch).
    #[doc(hidden)]
    #[inline(always)]
    pub unsafe fn leave(state: *mut u32) {
        wave_barrier();
        fence(Scope::Device, Order::SeqCst);
        if is_first_lane() {
            // SAFETY: as above.
            unsafe {
                let count = raw::device::add_u64(state.cast(), GONE) + GONE;
                complete(state, count);
            }
        }
        wave_barrier();
    }
}

/// Returns the word that counts the rounds of a barrier.
#[inline(always)]
fn rounds(state: *mut u32) -> *mut u32 {
    state.wrapping_add(2)
}

/// Returns whether this is the first active lane of the wave.
#[inline(always)]
fn is_first_lane() -> bool {
    let lane = wave::lane();
    // SAFETY: it reads another lane's register.
    lane == unsafe { raw::first_lane(lane) }
}

/// Ends the round if all waves wait or have left. `count` is the previous value of the word that counts waves.
///
/// A count that is too high, because a wave panicked after some of its threads had returned, ends rounds early; nothing
/// waits forever.
///
/// # Safety
/// The same as for [`GridBarrier::from_launch`].
#[inline(always)]
unsafe fn complete(state: *mut u32, mut count: u64) {
    let (grid, block) = (grid_dim(), block_dim());
    let (threads, size) = (block.x * block.y * block.z, wave::size());
    // Not a division, which can panic for 0: the panic handler would call itself.
    let waves = ((threads + size - 1) >> if size == 64 { 6 } else { 5 }) * (grid.x * grid.y * grid.z);
    loop {
        let (waiting, gone) = (count as u32, (count / GONE) as u32);
        if waiting == 0 || waiting + gone < waves {
            return;
        }
        // SAFETY: the caller ensures it.
        unsafe {
            let before = raw::device::cas_u64(state.cast(), count, u64::from(gone) * GONE);
            if before == count {
                fence(Scope::Device, Order::SeqCst);
                raw::device::add_u32(rounds(state), 1);
                return;
            }
            count = before;
        }
    }
}
