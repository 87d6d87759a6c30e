//! A counting allocator, for tests that assert that calls do not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// Counts the allocations of each thread. C libraries have their own allocator. For `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

// SAFETY: forwards to the system's allocator; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: what `alloc` has returned.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Panics if `round` still allocates after several rounds. The first rounds load code, request workspaces, and allocate
/// the records of buffer uses.
///
/// # Panics
/// Also if [`Counting`] is not the allocator of the program.
pub fn assert_steady(stream: &hip::Stream, mut round: impl FnMut()) {
    let count = || COUNT.with(Cell::get);
    let before = count();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(count(), before + 1, "the allocator does not count");
    (0..20).for_each(|_| round());
    stream.synchronize().expect("the work");
    let before = count();
    (0..20).for_each(|_| round());
    assert_eq!(count() - before, 0, "allocations in 20 rounds");
}
