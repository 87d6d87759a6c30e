//! The race check's record of every byte of memory: the last write, and the reads since.

use std::collections::HashMap;

use super::memory_model::Kind;
use super::room::{Kept, Room};

/// An access: the wave, the epoch and the instruction.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// The wave's number in the dispatch; [`NOBODY`] if there was no access.
    pub(super) wave: u32,
    /// The wave's epoch.
    pub(super) epoch: u32,
    /// Index of the micro-operation.
    pub(super) position: u32,
    /// The lane, or [`SCALAR`].
    pub(super) lane: u8,
    pub(super) kind: Kind,
    /// The number of epochs between the last one whose writes had been performed and this access.
    pub(super) lag: u16,
}

/// The value for no wave.
pub(super) const NOBODY: u32 = u32::MAX;
/// The lane of a scalar instruction's access.
pub(super) const SCALAR: u8 = 64;

impl Entry {
    const NONE: Entry = Entry { wave: NOBODY, epoch: 0, position: 0, lane: 0, kind: Kind::Read, lag: 0 };
}

/// The accesses to a word or a byte.
#[derive(Clone, Copy)]
pub(super) struct Cell {
    /// The last write.
    pub(super) write: Entry,
    /// Two reads since the last write. Further ones are dropped.
    pub(super) reads: [Entry; 2],
}

const EMPTY: Cell = Cell { write: Entry::NONE, reads: [Entry::NONE; 2] };

/// The bytes that a page covers.
const PAGE: u64 = 4096;

/// Word cells, until a part of a word is accessed; from then on byte cells.
struct Page {
    cells: Box<[Cell]>,
    kept: Kept,
}

impl Page {
    /// The size of a cell in bytes.
    fn unit(&self) -> u64 {
        PAGE / self.cells.len() as u64
    }

    /// Switches to byte cells; false if there is no room for them.
    fn split(&mut self, room: &Room) -> bool {
        let Some(kept) = room.take(4 * size_of_val(&*self.cells) as u64) else { return false };
        self.kept = kept;
        self.cells = self.cells.iter().flat_map(|cell| [*cell; 4]).collect();
        true
    }
}

/// The cells by address.
#[derive(Default)]
pub(super) struct Shadow {
    pages: Vec<Page>,
    index: HashMap<u64, usize>,
    /// The page that was used last.
    last: Option<(u64, usize)>,
    /// The memory is exhausted, and records have been dropped.
    pub(super) incomplete: bool,
}

impl Shadow {
    /// Removes all records.
    pub(super) fn clear(&mut self) {
        if !self.pages.is_empty() {
            *self = Self::default();
        }
    }

    /// Removes all records, because the memory is exhausted.
    pub(super) fn give_up(&mut self) {
        *self = Self { incomplete: true, ..Self::default() };
    }

    /// Calls `visit` for the cells of `bytes` bytes at `address`, each with its address.
    pub(super) fn visit(&mut self, room: &Room, address: u64, bytes: u32, visit: &mut impl FnMut(u64, &mut Cell)) {
        let words = address % 4 == 0 && bytes % 4 == 0;
        let Some(end) = address.checked_add(u64::from(bytes)) else { return };
        let mut at = address;
        while at < end {
            let number = at / PAGE;
            let stop = end.min((number + 1).saturating_mul(PAGE));
            let Some(page) = self.page(room, number, words) else {
                self.give_up();
                return;
            };
            let unit = page.unit();
            while at < stop {
                visit(at, &mut page.cells[(at % PAGE / unit) as usize]);
                at += unit;
            }
        }
    }

    fn page(&mut self, room: &Room, number: u64, words: bool) -> Option<&mut Page> {
        if self.incomplete {
            return None;
        }
        let at = match self.last {
            Some((last, at)) if last == number => at,
            _ => {
                let at = match self.index.get(&number) {
                    Some(at) => *at,
                    None => {
                        let count = (PAGE / 4) as usize;
                        let kept = room.take((count * size_of::<Cell>()) as u64)?;
                        self.pages.push(Page { cells: vec![EMPTY; count].into_boxed_slice(), kept });
                        self.index.insert(number, self.pages.len() - 1);
                        self.pages.len() - 1
                    }
                };
                self.last = Some((number, at));
                at
            }
        };
        let page = &mut self.pages[at];
        if !words && page.unit() == 4 && !page.split(room) {
            return None;
        }
        Some(page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visited(shadow: &mut Shadow, address: u64, bytes: u32, wave: u32) -> Vec<(u64, u32)> {
        let mut seen = Vec::new();
        let room = Room::of(&crate::Config::default());
        shadow.visit(&room, address, bytes, &mut |at, cell| {
            seen.push((at, cell.write.wave));
            cell.write.wave = wave;
        });
        seen
    }

    #[test]
    fn words_become_bytes_where_a_part_is_accessed() {
        let mut shadow = Shadow::default();
        assert_eq!(visited(&mut shadow, 4092, 8, 1), [(4092, NOBODY), (4096, NOBODY)]);
        assert_eq!(visited(&mut shadow, 4094, 1, 2), [(4094, 1)]);
        let bytes = visited(&mut shadow, 4092, 8, 3);
        assert_eq!(bytes, [(4092, 1), (4093, 1), (4094, 2), (4095, 1), (4096, 1)]);
        shadow.clear();
        assert_eq!(visited(&mut shadow, 4096, 4, 1), [(4096, NOBODY)]);
    }
}
