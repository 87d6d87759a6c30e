//! Prefix sums of any number type.

use core::ops::Add;

use hip_kernel::atomic::AtomicElement;
use hip_kernel::prelude::*;
use hip_kernel::wave::Lane;

/// The number of threads of a block, and of elements that it adds.
pub const BLOCK: usize = 256;

/// A number that can be added.
pub trait Number: Lane + AtomicElement + Default + Add<Output = Self> {}

impl<T: Lane + AtomicElement + Default + Add<Output = T>> Number for T {}

/// Computes the prefix sums of each block's elements, and writes each block's total to `sums`.
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
        // SAFETY: the element was written before the barrier.
        sum = unsafe { of_waves.get(before) } + sum;
    }
    y.set(|_| sum);
    if thread_idx().x + 1 == block_dim().x {
        sums[block_idx().x as usize].store(sum);
    }
}

/// Adds the total of all previous blocks to each element.
#[kernel(<u32>, <i64>, <f32>, max_threads(256))]
pub fn add_before<T: Number>(mut y: DisjointSlice<'_, T>, running: &[T]) {
    let block = block_idx().x as usize;
    if let (Some((_, y)), Some(before)) = (y.mine(), block.checked_sub(1)) {
        *y = running[before] + *y;
    }
}
