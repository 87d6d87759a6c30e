//! Possibly harmless races: a plain read against an atomic operation.
//!
//! A compiler starts a compare-and-swap loop with a plain load. The load may read a value that is being replaced, but
//! then the swap fails and the loop repeats. So such a race is held back until the reading wave compares and swaps at
//! that address, which proves it harmless, or ends.

use std::collections::HashMap;

use super::race::Conflict;
use super::room::Kept;
use crate::fault::Space;

/// A race, with the wave and the micro-operation of its second access.
pub(super) struct Race {
    pub(super) space: Space,
    pub(super) position: u32,
    pub(super) wave: u32,
    pub(super) conflict: Conflict,
}

impl Race {
    /// The identity of a race at one address.
    fn accesses(&self) -> (u32, u32, bool) {
        (self.position, self.conflict.other.position, self.wave == self.conflict.other.wave)
    }
}

/// The races of a wave's plain reads, by the address that was read.
#[derive(Default)]
struct Reader {
    races: HashMap<(bool, u64), Vec<Race>>,
    kept: Kept,
}

/// The races that are held back, by reading wave.
#[derive(Default)]
pub(super) struct Held(HashMap<u32, Reader>);

impl Held {
    /// Holds back a race of a read by wave `reader`.
    pub(super) fn add(&mut self, reader: u32, race: Race) {
        let Reader { races, kept } = self.0.entry(reader).or_default();
        let races = races.entry((race.space == Space::Lds, race.conflict.address)).or_default();
        if !races.iter().any(|known| known.accesses() == race.accesses()) {
            kept.grow(size_of::<Race>() as u64);
            races.push(race);
        }
    }

    /// Wave `reader` compares and swaps `bytes` bytes at `address`: drops the races of its earlier reads there.
    pub(super) fn swaps(&mut self, reader: u32, space: Space, address: u64, bytes: u32) {
        if let Some(reader) = self.0.get_mut(&reader) {
            for at in address..address.saturating_add(u64::from(bytes)) {
                reader.races.remove(&(space == Space::Lds, at));
            }
        }
    }

    /// Wave `reader` has ended: returns its remaining races, sorted by place.
    pub(super) fn end(&mut self, reader: u32) -> Vec<Race> {
        let mut left: Vec<_> = self.0.remove(&reader).map(|reader| reader.races).into_iter().flatten().collect();
        left.sort_by_key(|(place, _)| *place);
        left.into_iter().flat_map(|(_, races)| races).collect()
    }

    /// Returns the remaining races of all waves.
    pub(super) fn end_all(&mut self) -> Vec<Race> {
        let mut readers: Vec<u32> = self.0.keys().copied().collect();
        readers.sort_unstable();
        readers.into_iter().flat_map(|reader| self.end(reader)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory_model::Kind;
    use super::super::shadow::Entry;
    use super::*;

    /// A read by wave 1 at `position`, against an atomic operation of wave 2.
    fn race(position: u32, space: Space, address: u64) -> Race {
        let other = Entry { wave: 2, epoch: 1, position: 9, lane: 0, kind: Kind::Update, lag: 0 };
        Race { space, position, wave: 1, conflict: Conflict { lane: 0, address, kind: Kind::Read, other } }
    }

    #[test]
    fn a_swap_clears_what_its_wave_has_read_there() {
        let mut held = Held::default();
        let global = Space::Global;
        for race in [race(1, global, 64), race(1, global, 64), race(2, global, 68), race(1, Space::Lds, 64)] {
            held.add(1, race);
        }
        held.add(5, race(1, global, 64));
        held.swaps(1, global, 60, 8);
        held.swaps(3, global, 68, 4);
        let left: Vec<_> = held.end(1).iter().map(|race| (race.space, race.position, race.conflict.address)).collect();
        assert_eq!(left, [(global, 2, 68), (Space::Lds, 1, 64)]);
        assert!(held.end(1).is_empty());
        assert_eq!(held.end_all().len(), 1);
        assert!(held.end_all().is_empty());
    }

    #[test]
    fn the_reader_is_the_wave_that_read() {
        let found_by_read = race(1, Space::Global, 0).conflict;
        assert_eq!(found_by_read.plain_reader(1), Some(1));
        let by_operation =
            Conflict { kind: Kind::Update, other: Entry { kind: Kind::Read, ..found_by_read.other }, ..found_by_read };
        assert_eq!(by_operation.plain_reader(1), Some(2));
        let coherent = Conflict { kind: Kind::CoherentRead, ..by_operation };
        assert_eq!(coherent.plain_reader(1), None);
    }
}
