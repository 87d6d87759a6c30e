//! A histogram with atomic operations in shared memory.

use hip_kernel::prelude::*;

/// The number of bins.
pub const BINS: usize = 256;

/// Adds the number of occurrences of each byte in `x` to `counts`. Each block counts in its shared memory, which is
/// fast, and adds its counts at the end.
#[kernel]
pub fn histogram(x: &[u8], counts: AtomicSlice<'_, u32>, local: Shared<'_, [Atomic<u32>; BINS]>) {
    let mine = || (thread_idx().x as usize..BINS).step_by(block_dim().x as usize);
    mine().for_each(|bin| local[bin].store_in(0, Scope::Block));
    barrier();
    for byte in x.iter().skip(global_idx().x as usize).step_by(global_dim().x as usize) {
        local[usize::from(*byte)].fetch_add_in(1, Scope::Block);
    }
    barrier();
    for bin in mine() {
        counts[bin].fetch_add(local[bin].load_in(Scope::Block));
    }
}
