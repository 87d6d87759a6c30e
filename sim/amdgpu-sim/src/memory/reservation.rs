//! Reserved address ranges, and what is mapped in them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pages::{self, PAGE};
use super::physical::Physical;

/// A reserved address range.
pub(super) struct Reservation {
    /// The whole range that the system returned.
    whole: (u64, u64),
    pub(super) base: u64,
    pub(super) size: u64,
    mapped: Mutex<Mapped>,
}

/// The mapped parts of a range.
#[derive(Default)]
struct Mapped {
    next: u64,
    /// Start, end, and the number of the mapping. A newer mapping takes over the parts that it overlaps.
    parts: Vec<(u64, u64, u64)>,
}

impl Reservation {
    pub(super) fn new(size: u64, align: u64, hint: u64) -> Option<Arc<Self>> {
        let new = |whole, base| Some(Arc::new(Self { whole, base, size, mapped: Mutex::default() }));
        if hint != 0 && hint % align == 0 {
            // An exact fit at the hint, possibly adjacent to another range of the program.
            match pages::reserve(size, hint) {
                Some(start) if start == hint => return new((start, size), start),
                // SAFETY: reserved just above.
                Some(start) => unsafe { pages::release(start, size) },
                None => {}
            }
        }
        // With an unused page on each side.
        let length = size.checked_add(align.max(PAGE))?.checked_add(2 * PAGE)?;
        let start = pages::reserve(length, 0)?;
        new((start, length), (start + PAGE).next_multiple_of(align))
    }

    fn mapped(&self) -> MutexGuard<'_, Mapped> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Maps memory at a part of the range, with `fill`.
    pub(super) fn put(self: &Arc<Self>, base: u64, size: u64, fill: impl FnOnce() -> Option<()>) -> Option<Mapping> {
        let mut mapped = self.mapped();
        fill()?;
        mapped.next += 1;
        let serial = mapped.next;
        let (from, to) = (base, base + size);
        let old = std::mem::take(&mut mapped.parts);
        mapped.parts = old
            .into_iter()
            .flat_map(|(a, b, of)| [(a, b.min(from), of), (a.max(to), b, of)])
            .filter(|(a, b, _)| a < b)
            .chain([(from, to, serial)])
            .collect();
        Some(Mapping { range: Arc::clone(self), base, size, serial, physical: Mutex::default() })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range is this reservation's. Every mapping in it holds the reservation, and every table of allocations that a kernel
        // or the host uses holds its mappings; so nothing uses the range any more.
        unsafe { pages::release(self.whole.0, self.whole.1) }
    }
}

/// Memory at a part of a reserved range. It is unmapped when the last allocation table that contains it is dropped.
pub(crate) struct Mapping {
    range: Arc<Reservation>,
    pub(super) base: u64,
    pub(super) size: u64,
    serial: u64,
    /// The mapped memory, if it is shareable.
    physical: Mutex<Option<Arc<Physical>>>,
}

impl Mapping {
    /// Returns whether an address is in the mapping.
    pub(super) fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.size)
    }

    /// Returns whether it is an allocation's own memory, not shared with anyone.
    pub(super) fn is_private(&self) -> bool {
        self.physical().is_none() && self.range.base == self.base
    }

    pub(super) fn physical(&self) -> MutexGuard<'_, Option<Arc<Physical>>> {
        self.physical.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let mut mapped = self.range.mapped();
        mapped.parts.retain(|(from, to, of)| {
            if *of == self.serial {
                // SAFETY: the part is the reservation's and of this mapping alone, which nothing uses any more.
                unsafe { pages::decommit(*from, to - from) };
            }
            *of != self.serial
        });
    }
}
