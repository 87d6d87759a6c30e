//! A sum with operations between the lanes of a wave.

use hip_kernel::prelude::*;

/// Adds all elements of `x` to `total[0]`: each thread adds every n-th element, each wave the sums of its lanes, and
/// the first wave of each block those of its waves. The block must consist of complete waves.
#[kernel]
pub fn reduce(x: &[f32], total: AtomicSlice<'_, f32>, sums: Shared<'_, [f32; 32]>) {
    let mine: f32 = x.iter().skip(global_idx().x as usize).step_by(global_dim().x as usize).sum();
    let of_wave = wave::sum(mine);
    let (lane, number, waves) = (wave::lane(), thread_idx().x / wave::size(), block_dim().x / wave::size());
    if lane == 0 {
        // SAFETY: one lane of each wave writes the wave's own element.
        unsafe { sums.set(number as usize, of_wave) };
    }
    barrier();
    if number == 0 {
        // SAFETY: the element was written before the barrier.
        let part = if lane < waves { unsafe { sums.get(lane as usize) } } else { 0.0 };
        let of_block = wave::sum(part);
        if lane == 0 {
            total[0].fetch_add(of_block);
        }
    }
}
