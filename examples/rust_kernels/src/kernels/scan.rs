//! Running sums of any type of number.

use core::ops::Add;

use hip_kernel::atomic::AtomicElement;
use hip_kernel::prelude::*;
use hip_kernel::wave::Lane;

/// Threads of a block, and elements that it adds up.
pub const BLOCK: usize = 256;

/// What can be added up.
pub trait Number: Lane + AtomicElement + Default + Add<Output = Self> {}

impl<T: Lane + AtomicElement + Default + Add<Output = T>> Number for T {}

/// The sums of the block's elements up to each, and the sum of all of them in `sums`, an element for each block.
#[kernel(<u32>, <i64>, <f32>, same_len(x, y), max_threads(256))]
pub fn scan_blocks<T: Number>(
    x: &[T],
    mut y: DisjointSlice<'_, T>,
    sums: AtomicSlice<'_, T>,
    of_waves: Shared<'_, [T; 16]>,
) {
    let i = global_idx().x as usize;
    let (lane, number) = (wave::lane(), (thread_idx().x / wave::size()) as usize);
    let mut sum = wave::scan(x.get(i).copied().unwrap_or_default(), Add::add);
    if lane == wave::size() - 1 {
        // SAFETY: one lane of each wave writes the wave's own element.
        unsafe { of_waves.set(number, sum) };
    }
    barrier();
    for before in 0..number {
        // SAFETY: written before the barrier.
        sum = unsafe { of_waves.get(before) } + sum;
    }
    y.set(|_| sum);
    if thread_idx().x + 1 == block_dim().x {
        sums[block_idx().x as usize].store(sum);
    }
}

/// Adds to each element what the blocks before its own have summed up to.
#[kernel(<u32>, <i64>, <f32>, max_threads(256))]
pub fn add_before<T: Number>(mut y: DisjointSlice<'_, T>, running: &[T]) {
    let block = block_idx().x as usize;
    if let (Some((_, y)), Some(before)) = (y.mine(), block.checked_sub(1)) {
        *y = running[before] + *y;
    }
}
