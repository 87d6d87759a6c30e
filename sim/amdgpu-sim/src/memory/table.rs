//! The live allocations, sorted by address.

use std::sync::Arc;

use super::storage::Storage;
use super::{Agent, AllocKind, Allocation, Rights, Written};

/// An entry of the table.
#[derive(Clone)]
pub(crate) struct Region {
    pub(crate) allocation: Allocation,
    /// The memory, unless it is the program's own. Segments of one code object share it.
    pub(crate) storage: Option<Arc<Storage>>,
    /// The map of written bytes, if they are tracked.
    pub(crate) written: Option<Arc<Written>>,
}

impl Region {
    /// Records `len` bytes at `address` as written.
    pub(super) fn mark(&self, address: u64, len: u64) {
        if let Some(written) = &self.written {
            written.write(address - self.allocation.base, len);
        }
    }
}

/// The live allocations: sorted by address, without overlaps.
#[derive(Clone, Default)]
pub(crate) struct Table {
    regions: Vec<Region>,
    /// The bytes that each GPU owns. Shorter than the number of GPUs if the last ones have never owned any.
    owned: Vec<u64>,
}

impl Table {
    /// The index of the first region that starts after `address`.
    fn after(&self, address: u64) -> usize {
        self.regions.partition_point(|r| r.allocation.base <= address)
    }

    pub(crate) fn find(&self, address: u64) -> Option<&Region> {
        let region = self.regions.get(self.after(address).checked_sub(1)?)?;
        region.allocation.contains(address).then_some(region)
    }

    /// The region that contains `address`, or that ends before it within the same `granule` bytes.
    pub(crate) fn find_within(&self, address: u64, granule: u64) -> Option<&Region> {
        let region = self.regions.get(self.after(address).checked_sub(1)?)?;
        (address < region.allocation.read_end(granule)).then_some(region)
    }

    pub(crate) fn overlapping(&self, base: u64, len: u64) -> Option<Allocation> {
        self.all_overlapping(base, len).next()
    }

    /// All allocations that overlap `len` bytes at `base`, the last first.
    pub(crate) fn all_overlapping(&self, base: u64, len: u64) -> impl Iterator<Item = Allocation> + '_ {
        let before = &self.regions[..self.after(base.saturating_add(len - 1))];
        before.iter().rev().map(|region| region.allocation).take_while(move |a| a.end() > base)
    }

    /// Removes the part of registrations that overlaps `len` bytes at `base`, which the host's allocator has just
    /// returned: the program has freed that memory without unregistering it. The remaining parts may be in use.
    pub(crate) fn forget_stale(&mut self, base: u64, len: u64) {
        let end = base.saturating_add(len);
        // By reference: otherwise the compiler reads the kind of a missing allocation first, which memcheck reports.
        let last = |table: &Self| {
            let region = &table.regions[table.after(end - 1).checked_sub(1)?];
            (region.allocation.end() > base && region.allocation.kind == AllocKind::Registered)
                .then_some(region.allocation)
        };
        while let Some(stale) = last(self) {
            self.remove_range(stale.base, stale.base.saturating_add(1));
            for (from, to) in [(stale.base, base), (end, stale.end())] {
                if from < to {
                    let allocation = Allocation { base: from, size: to - from, ..stale };
                    self.insert(Region { allocation, storage: None, written: None });
                }
            }
        }
    }

    pub(crate) fn nearest(&self, address: u64) -> Option<Allocation> {
        let after = self.after(address);
        let candidates = [after.checked_sub(1), Some(after)];
        let candidates = candidates.into_iter().flatten().filter_map(|i| self.regions.get(i));
        candidates.map(|r| r.allocation).min_by_key(|a| a.distance(address))
    }

    pub(crate) fn insert(&mut self, region: Region) {
        if let Some(owner) = region.allocation.owner {
            if self.owned.len() <= owner.index() {
                self.owned.resize(owner.index() + 1, 0);
            }
            self.owned[owner.index()] += region.allocation.size;
        }
        self.regions.insert(self.after(region.allocation.base), region);
    }

    /// Removes the regions that start in `base..end`.
    pub(crate) fn remove_range(&mut self, base: u64, end: u64) -> Vec<Region> {
        let from = self.regions.partition_point(|r| r.allocation.base < base);
        let to = self.regions.partition_point(|r| r.allocation.base < end);
        let removed: Vec<Region> = self.regions.drain(from..to).collect();
        for allocation in removed.iter().map(|r| r.allocation) {
            if let Some(owned) = allocation.owner.and_then(|owner| self.owned.get_mut(owner.index())) {
                *owned -= allocation.size;
            }
        }
        removed
    }

    /// Changes the rights of the region that starts at `base`.
    pub(crate) fn set_rights(&mut self, base: u64, rights: Rights) {
        if let Some(region) = self.after(base).checked_sub(1).and_then(|at| self.regions.get_mut(at)) {
            region.allocation.rights = rights;
        }
    }

    /// Stops tracking written bytes of the region that contains `address`.
    pub(crate) fn forget_written(&mut self, address: u64) {
        if let Some(region) = self.after(address).checked_sub(1).and_then(|at| self.regions.get_mut(at)) {
            region.written = None;
        }
    }

    pub(crate) fn owned_bytes(&self, agent: Agent) -> u64 {
        self.owned.get(agent.index()).copied().unwrap_or(0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Region> {
        self.regions.iter()
    }
}
