//! Vector clocks: the epochs that a wave knows to have happened before.

use std::sync::Arc;

use super::room::Kept;

/// The number of waves in a chunk.
const CHUNK: usize = 64;

/// The last known completed epoch of every wave of a dispatch; 0 if unknown.
///
/// Clocks share chunks: usually a wave knows only of its own workgroup, or the same as all others.
#[derive(Clone, Default)]
pub(super) struct Clock(Vec<(u32, Arc<Chunk>)>, Kept);

/// The epochs of consecutive waves.
#[derive(Clone)]
struct Chunk {
    epochs: [u32; CHUNK],
    _kept: Kept,
}

impl Chunk {
    fn new() -> Self {
        Self { epochs: [0; CHUNK], _kept: Kept::new(size_of::<Self>() as u64 + 16) }
    }
}

impl Clock {
    /// Inserts a chunk in order.
    fn insert(&mut self, at: usize, number: u32, chunk: Arc<Chunk>) {
        self.1.grow(size_of::<(u32, Arc<Chunk>)>() as u64);
        self.0.insert(at, (number, chunk));
    }

    /// The last known epoch of `wave`.
    pub(super) fn get(&self, wave: u32) -> u32 {
        match self.place(wave) {
            Ok(at) => self.0[at].1.epochs[wave as usize % CHUNK],
            Err(_) => 0,
        }
    }

    /// Records that `epoch` of `wave` has completed.
    pub(super) fn learn(&mut self, wave: u32, epoch: u32) {
        if self.get(wave) >= epoch {
            return;
        }
        let at = match self.place(wave) {
            Ok(at) => at,
            Err(at) => {
                self.insert(at, wave / CHUNK as u32, Arc::new(Chunk::new()));
                at
            }
        };
        Arc::make_mut(&mut self.0[at].1).epochs[wave as usize % CHUNK] = epoch;
    }

    fn place(&self, wave: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&(wave / CHUNK as u32), |chunk| chunk.0)
    }

    /// Merges everything that `other` knows.
    pub(super) fn join(&mut self, other: &Clock) {
        for (number, theirs) in &other.0 {
            match self.0.binary_search_by_key(number, |chunk| chunk.0) {
                Err(at) => self.insert(at, *number, Arc::clone(theirs)),
                Ok(at) if Arc::ptr_eq(&self.0[at].1, theirs) => {}
                Ok(at) => {
                    let ours = &mut self.0[at].1;
                    if ours.epochs.iter().zip(&theirs.epochs).any(|(a, b)| a < b) {
                        let ours = Arc::make_mut(ours);
                        ours.epochs.iter_mut().zip(&theirs.epochs).for_each(|(a, b)| *a = (*a).max(*b));
                    }
                }
            }
        }
    }

    /// Returns whether it knows everything that `other` knows.
    pub(super) fn covers(&self, other: &Clock) -> bool {
        other.0.iter().all(|(number, theirs)| match self.0.binary_search_by_key(number, |chunk| chunk.0) {
            Err(_) => theirs.epochs.iter().all(|epoch| *epoch == 0),
            Ok(at) => {
                let ours = &self.0[at].1;
                Arc::ptr_eq(ours, theirs) || ours.epochs.iter().zip(&theirs.epochs).all(|(a, b)| a >= b)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_learn_and_join() {
        let (mut a, mut b) = (Clock::default(), Clock::default());
        a.learn(3, 7);
        a.learn(3, 5);
        a.learn(1000, 1);
        b.learn(3, 9);
        b.learn(200, 2);
        assert!(!a.covers(&b) && !b.covers(&a) && a.covers(&Clock::default()));
        let before = a.clone();
        a.join(&b);
        assert_eq!([3, 200, 1000, 4].map(|w| a.get(w)), [9, 2, 1, 0]);
        assert_eq!([3, 200, 1000].map(|w| before.get(w)), [7, 0, 1], "a clone keeps its own");
        assert!(a.covers(&b) && a.covers(&before));
    }
}
