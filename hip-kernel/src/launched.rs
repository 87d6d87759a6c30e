//! Functions for the code that `#[kernel]` writes.

use core::ptr::NonNull;

/// Returns a slice from its pointer and length.
///
/// # Safety
/// The same as for [`core::slice::from_raw_parts`].
#[inline(always)]
#[must_use]
pub unsafe fn slice<'a, T>(pointer: NonNull<T>, len: usize) -> &'a [T] {
    // SAFETY: the caller ensures it.
    unsafe { core::slice::from_raw_parts(pointer.as_ptr(), len) }
}

/// Added to the first argument of a kernel with a `GridBarrier`, whose state is the second argument.
pub const HAS_BARRIER: u64 = 1;

/// Added to the first argument of a kernel in a graph: the argument is the address of a word that has the address of
/// the record for a panic. `hip/src/stream/panic_cell.rs` has the same number.
pub const IS_CELL: u64 = 2;

/// Tells the compiler that a block has at most `N` threads.
///
/// # Safety
/// This must be true.
#[inline(always)]
pub unsafe fn max_threads<const N: u32>() {
    let (thread, block) = (crate::thread_idx(), crate::block_dim());
    // SAFETY: the caller ensures it; a thread's index is below the block's size.
    unsafe {
        core::hint::assert_unchecked(thread.x < N && thread.y < N && thread.z < N);
        core::hint::assert_unchecked(block.x <= N && block.y <= N && block.z <= N);
    }
}
