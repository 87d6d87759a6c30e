//! Compute units: which of them a dispatch may use, and the location of a workgroup.

use crate::isa::Arch;

/// The maximum number of compute units of a GPU.
const MOST: usize = 320;

/// The compute units that a dispatch may use. More of them do not make it faster. They determine where workgroups are
/// located, which kernels can query (`HW_ID`, `XCC_ID`).
///
/// ```
/// use amdgpu_sim::ComputeUnits;
///
/// assert!(ComputeUnits::default().contains(103), "all");
/// let some = ComputeUnits::from_words(&[0b1010]);
/// assert!(some.contains(3) && !some.contains(2) && !some.contains(32));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeUnits([u32; MOST / 32]);

impl Default for ComputeUnits {
    /// All.
    fn default() -> Self {
        Self::ALL
    }
}

impl ComputeUnits {
    /// All.
    pub const ALL: Self = Self([u32::MAX; MOST / 32]);

    /// The units whose bits are set, starting at the lowest bit of the first word. Missing words count as zero.
    #[must_use]
    pub fn from_words(words: &[u32]) -> Self {
        Self(std::array::from_fn(|n| words.get(n).copied().unwrap_or(0)))
    }

    /// Whether compute unit `unit` is in the set.
    #[must_use]
    pub fn contains(&self, unit: u32) -> bool {
        self.0.get(unit as usize / 32).is_some_and(|word| word >> (unit % 32) & 1 != 0)
    }
}

/// The inputs from which a workgroup's location is computed on demand.
#[derive(Clone, Copy)]
pub(crate) struct Seat<'a> {
    arch: Arch,
    /// The number of compute units of the GPU.
    total: u32,
    units: &'a ComputeUnits,
    /// Number of the workgroup in its grid.
    group: u64,
}

/// The location of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The die.
    pub(crate) die: u32,
    /// The shader engine of the die.
    pub(crate) engine: u32,
    /// The unit of the shader engine.
    pub(crate) unit: u32,
}

impl<'a> Seat<'a> {
    pub(crate) fn new(arch: Arch, total: u32, units: &'a ComputeUnits, group: u64) -> Self {
        Self { arch, total, units, group }
    }

    /// Consecutive workgroups are on consecutive units, and neighbouring units are on different dies and engines.
    pub(crate) fn place(&self) -> Place {
        let may = |unit: &u32| self.units.contains(*unit);
        let count = (0..self.total).filter(may).count().max(1);
        let nth = (self.group % count as u64) as usize;
        let unit = (0..self.total).filter(may).nth(nth).unwrap_or(0);
        let (dies, engines) = match self.arch {
            Arch::Gfx90a => (1, 8),
            Arch::Gfx942 => (8, 4),
        };
        Place { die: unit % dies, engine: unit / dies % engines, unit: unit / dies / engines }
    }
}

impl Seat<'static> {
    /// The first workgroup of a dispatch that may use all units.
    pub(crate) const FIRST: Self = Self { arch: Arch::Gfx90a, total: 104, units: &ComputeUnits::ALL, group: 0 };
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn places(arch: Arch, total: u32, units: &ComputeUnits, groups: u64) -> Vec<Place> {
        (0..groups).map(|group| Seat::new(arch, total, units, group).place()).collect()
    }

    #[test]
    fn every_unit_has_a_place_of_its_own() {
        for (arch, total) in [(Arch::Gfx90a, 104), (Arch::Gfx942, 304)] {
            let all = places(arch, total, &ComputeUnits::ALL, 1000);
            let different: HashSet<_> = all.iter().map(|at| (at.die, at.engine, at.unit)).collect();
            assert_eq!(different.len(), total as usize);
            assert_eq!(all[0], all[total as usize], "and then from the start");
            assert!(all.iter().all(|at| at.engine < 8 && at.unit < 16), "as many bits as there are for them");
        }
    }

    #[test]
    fn masks_keep_dispatches_apart() {
        let (few, others) = (ComputeUnits::from_words(&[0b110]), ComputeUnits::from_words(&[!0b110, !0, !0, !0]));
        let few: HashSet<_> = places(Arch::Gfx90a, 104, &few, 500).iter().map(|at| (at.engine, at.unit)).collect();
        let others: HashSet<_> =
            places(Arch::Gfx90a, 104, &others, 500).iter().map(|at| (at.engine, at.unit)).collect();
        assert_eq!((few.len(), others.len()), (2, 102));
        assert!(few.is_disjoint(&others));
        // An empty set: there is always a location.
        assert_eq!(places(Arch::Gfx90a, 104, &ComputeUnits::from_words(&[]), 2)[1].unit, 0);
    }
}
