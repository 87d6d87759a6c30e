//! Threads that go on when the process ends, while others are held up (see `leaving`).

use std::cell::Cell;

thread_local! {
    /// Whether this thread goes on whatever happens: the ending thread waits for it.
    static EXEMPT: Cell<bool> = const { Cell::new(false) };
}

/// Lets this thread, one of the library's own, go on whatever happens.
pub(crate) fn exempt() {
    let _ = EXEMPT.try_with(|exempt| exempt.set(true));
}

/// Whether it goes on. At its very end, it does.
pub(crate) fn is_exempt() -> bool {
    EXEMPT.try_with(Cell::get).unwrap_or(true)
}
