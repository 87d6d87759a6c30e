//! What a launch leaves for the next one, so that launches of the same kernel allocate nothing.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::group::Group;
use crate::memory::Block;

/// Bytes of a dispatch's own memory that are kept; what is larger is made for its launch alone.
const OWN_BYTES: u64 = 4096;
/// Where a dispatch's own memory begins: at a multiple of this.
const OWN_ALIGN: u64 = 256;
/// Pieces of own memory and workgroups that are kept at least; more with more threads.
const LEAST_KEPT: usize = 8;

/// Registers and memory of dispatches that have ended. A GPU keeps few, whatever has run on it.
#[derive(Default)]
pub(crate) struct Spares(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// With the number of the kernel that each was made for, the one that was used last behind the others.
    groups: VecDeque<(u64, Box<Group>)>,
    own: Vec<Block>,
}

impl Spares {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A workgroup's registers and memory, made for the kernel of this [number](crate::module::KernelInner::id).
    pub(super) fn group(&self, kernel: u64) -> Option<Box<Group>> {
        let mut kept = self.lock();
        let at = kept.groups.iter().rposition(|(of, _)| *of == kernel)?;
        kept.groups.remove(at).map(|(_, group)| group)
    }

    /// Keeps `group`, in place of the one that has not been used for longest if there are too many for `threads` threads.
    pub(super) fn keep_group(&self, kernel: u64, group: Box<Group>, threads: usize) {
        let mut kept = self.lock();
        let oldest = if kept.groups.len() >= 2 * threads.max(LEAST_KEPT) { kept.groups.pop_front() } else { None };
        kept.groups.push_back((kernel, group));
        drop(kept);
        // Freed without the lock.
        drop(oldest);
    }

    /// `size` bytes for a dispatch's packet, queue and arguments, with whatever is in them; `None` if the host has no more memory.
    pub(super) fn own(&self, size: u64) -> Option<Block> {
        if size > OWN_BYTES {
            return Block::zeroed(size, OWN_ALIGN);
        }
        let kept = self.lock().own.pop();
        kept.or_else(|| Block::zeroed(OWN_BYTES, OWN_ALIGN))
    }

    /// Keeps what [`own`](Self::own) gave.
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
