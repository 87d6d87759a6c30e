//! Resources that a launch keeps for later ones, so that repeated launches of a kernel do not allocate.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::group::Group;
use crate::memory::Block;

/// The maximum size of a dispatch's own memory that is kept. Larger ones are allocated per launch.
const OWN_BYTES: u64 = 4096;
/// The alignment of a dispatch's own memory.
const OWN_ALIGN: u64 = 256;
/// The minimum number of kept memory blocks and workgroups; more with more threads.
const LEAST_KEPT: usize = 8;

/// Registers and memory of completed dispatches. Their number is bounded.
#[derive(Default)]
pub(crate) struct Spares(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Each with the number of its kernel, in order of last use.
    groups: VecDeque<(u64, Box<Group>)>,
    own: Vec<Block>,
}

impl Spares {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers and memory of a workgroup of the kernel with this [number](crate::module::KernelInner::id).
    pub(super) fn group(&self, kernel: u64) -> Option<Box<Group>> {
        let mut kept = self.lock();
        let at = kept.groups.iter().rposition(|(of, _)| *of == kernel)?;
        kept.groups.remove(at).map(|(_, group)| group)
    }

    /// Keeps `group`. Drops the least recently used one if there are too many for `threads` threads.
    pub(super) fn keep_group(&self, kernel: u64, group: Box<Group>, threads: usize) {
        let mut kept = self.lock();
        let oldest = if kept.groups.len() >= 2 * threads.max(LEAST_KEPT) { kept.groups.pop_front() } else { None };
        kept.groups.push_back((kernel, group));
        drop(kept);
        // Dropped without the lock.
        drop(oldest);
    }

    /// `size` uninitialised bytes for a dispatch's packet, queue and arguments; `None` if the host has no more memory.
    pub(super) fn own(&self, size: u64) -> Option<Block> {
        if size > OWN_BYTES {
            return Block::zeroed(size, OWN_ALIGN);
        }
        let kept = self.lock().own.pop();
        kept.or_else(|| Block::zeroed(OWN_BYTES, OWN_ALIGN))
    }

    /// Keeps a block of [`own`](Self::own).
    pub(super) fn keep_own(&self, block: Block) {
        let mut kept = self.lock();
        if block.size() == OWN_BYTES && kept.own.len() < LEAST_KEPT {
            kept.own.push(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pieces_of_memory_are_kept_and_only_of_the_one_size() {
        let spares = Spares::default();
        let large = spares.own(OWN_BYTES + 1).unwrap();
        assert!(large.size() > OWN_BYTES);
        spares.keep_own(large);
        assert!(spares.lock().own.is_empty());
        let pieces: Vec<Block> = (0..3 * LEAST_KEPT).map(|_| spares.own(100).unwrap()).collect();
        assert!(pieces.iter().all(|piece| piece.size() == OWN_BYTES));
        pieces.into_iter().for_each(|piece| spares.keep_own(piece));
        assert_eq!(spares.lock().own.len(), LEAST_KEPT);
        drop(spares.own(1));
        assert_eq!(spares.lock().own.len(), LEAST_KEPT - 1);
    }
}
