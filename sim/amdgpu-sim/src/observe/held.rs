//! Races that may be none: a plain read against an atomic operation.
//!
//! A compiler begins a loop of compare-and-swaps with an ordinary load. It may find a value that is being replaced, as the
//! swap then fails and the loop goes round again. So such a race is held back until the wave that read compares and swaps
//! there, which shows it to be none, or ends.

use std::collections::HashMap;

use super::race::Conflict;
use super::room::Kept;
use crate::fault::Space;

/// A race, and where its second access was: by which wave, in which micro-operation.
pub(super) struct Race {
    pub(super) space: Space,
    pub(super) pc: u32,
    pub(super) wave: u32,
    pub(super) conflict: Conflict,
}

impl Race {
    /// What makes two races of a place the same.
    fn accesses(&self) -> (u32, u32, bool) {
        (self.pc, self.conflict.other.pc, self.wave == self.conflict.other.wave)
    }
}

/// The races of a wave's plain reads, by what was read.
#[derive(Default)]
struct Reader {
    races: HashMap<(bool, u64), Vec<Race>>,
    kept: Kept,
}

/// Races that are held back, by the wave that read.
#[derive(Default)]
pub(super) struct Held(HashMap<u32, Reader>);

impl Held {
    /// Holds back a race of what wave `reader` has read.
    pub(super) fn add(&mut self, reader: u32, race: Race) {
        let Reader { races, kept } = self.0.entry(reader).or_default();
        let races = races.entry((race.space == Space::Lds, race.conflict.address)).or_default();
        if !races.iter().any(|known| known.accesses() == race.accesses()) {
            kept.grow(size_of::<Race>() as u64);
            races.push(race);
        }
    }

    /// Wave `reader` compares and swaps `bytes` bytes at `address`: what it read there before was for that.
    pub(super) fn swaps(&mut self, reader: u32, space: Space, address: u64, bytes: u32) {
        if let Some(reader) = self.0.get_mut(&reader) {
            for at in address..address.saturating_add(u64::from(bytes)) {
                reader.races.remove(&(space == Space::Lds, at));
            }
        }
    }

    /// Wave `reader` has ended: what is left of its races are races, in the order of their places.
    pub(super) fn end(&mut self, reader: u32) -> Vec<Race> {
        let mut left: Vec<_> = self.0.remove(&reader).map(|reader| reader.races).into_iter().flatten().collect();
        left.sort_by_key(|(place, _)| *place);
        left.into_iter().flat_map(|(_, races)| races).collect()
    }

    /// Likewise for all waves.
    pub(super) fn end_all(&mut self) -> Vec<Race> {
        let mut readers: Vec<u32> = self.0.keys().copied().collect();
        readers.sort_unstable();
        readers.into_iter().flat_map(|reader| self.end(reader)).collect()
    }
}
