//! Shared virtual memory: memory of the program whose pages have attributes, which control the agents' access.
//!
//! Host and GPUs use the same bytes at the same addresses, so memory never moves. Preferred locations and prefetches
//! are only stored and returned. Only access has an effect: agents have none until it is granted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use amdgpu_sim::{AllocKind, Allocation, Memory, Rights};

use super::{GRANULE, host_memory, pointer};
use crate::abi::{
    HSA_STATUS_ERROR, HSA_STATUS_ERROR_INVALID_ALLOCATION, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES,
};
use crate::agent::{AgentId, AgentSet};
use crate::result::Result;

/// The migration granularity in pages, as a power of two: the driver's default, and the maximum (1 GiB).
const GRANULARITY: (u8, u8) = (9, 18);

/// An agent's access to pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Full access. The pages may move to the agent.
    Accessible,
    /// Access without moving the pages.
    InPlace,
    /// Nothing.
    None,
}

/// The attributes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    /// Coarse-grained: only one agent at a time writes the page.
    pub(crate) coarse: bool,
    pub(crate) read_only: bool,
    pub(crate) hive_local: bool,
    pub(crate) read_mostly: bool,
    pub(crate) executable: bool,
    granularity: u8,
    pub(crate) preferred: Option<AgentId>,
    pub(crate) prefetched: Option<AgentId>,
    accessible: AgentSet,
    in_place: AgentSet,
    /// Whether the first page was made resident. It no longer is if other memory has taken its place.
    marked: bool,
}

impl Default for Attributes {
    /// The attributes of memory without settings: fine-grained, preferred by the host.
    fn default() -> Self {
        Self {
            coarse: false,
            read_only: false,
            hive_local: false,
            read_mostly: false,
            executable: false,
            granularity: GRANULARITY.0,
            preferred: None,
            prefetched: None,
            accessible: AgentSet::of(AgentId::CPU),
            in_place: AgentSet::default(),
            marked: false,
        }
    }
}

impl Attributes {
    pub(crate) fn access(&self, agent: AgentId) -> Access {
        match (self.accessible.contains(agent), self.in_place.contains(agent)) {
            (_, true) => Access::InPlace,
            (true, false) => Access::Accessible,
            (false, false) => Access::None,
        }
    }

    pub(crate) fn set_access(&mut self, agent: AgentId, access: Access) {
        self.accessible = self.accessible.without(agent);
        self.in_place = self.in_place.without(agent);
        match access {
            Access::Accessible => self.accessible = self.accessible.with(agent),
            Access::InPlace => self.in_place = self.in_place.with(agent),
            Access::None => {}
        }
    }

    /// The migration granularity in pages, as a power of two.
    pub(crate) fn granularity(&self) -> u64 {
        self.granularity.into()
    }

    pub(crate) fn set_granularity(&mut self, power: u64) {
        self.granularity = power.min(GRANULARITY.1.into()) as u8;
    }

    /// The GPUs' access rights.
    fn rights(&self) -> Rights {
        let rights = self.accessible.union(self.in_place).rights();
        if self.read_only { Rights { write: AgentSet::default().rights().write, ..rights } } else { rights }
    }
}

/// Whole pages: the first byte, and the end.
pub(crate) type Pages = (u64, u64);

/// The pages that a range overlaps.
pub(crate) fn pages(address: u64, size: u64) -> Result<Pages> {
    let end = address.checked_add(size).and_then(|end| end.checked_next_multiple_of(GRANULE));
    match end {
        Some(end) if address != 0 && size > 0 => Ok((address - address % GRANULE, end)),
        _ => Err(HSA_STATUS_ERROR_INVALID_ARGUMENT),
    }
}

/// A map from pages to values: disjoint ranges by their start, with their end.
#[derive(Clone, Debug)]
struct Ranges<T>(BTreeMap<u64, (u64, T)>);

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Copy + PartialEq> Ranges<T> {
    /// Splits `within` into parts: start, end, and the value there.
    fn parts(&self, within: Pages) -> Vec<(u64, u64, Option<T>)> {
        let mut parts = Vec::new();
        let mut at = within.0;
        let before = self.0.range(..within.0).next_back();
        for (&start, &(end, value)) in before.into_iter().chain(self.0.range(within.0..within.1)) {
            let (from, to) = (start.max(within.0), end.min(within.1));
            if from < to {
                if at < from {
                    parts.push((at, from, None));
                }
                parts.push((from, to, Some(value)));
                at = to;
            }
        }
        if at < within.1 {
            parts.push((at, within.1, None));
        }
        parts
    }

    /// Removes `within`.
    fn remove(&mut self, within: Pages) {
        let before = self.0.range(..within.0).next_back().map(|(start, _)| *start);
        let touched: Vec<_> =
            before.into_iter().chain(self.0.range(within.0..within.1).map(|(start, _)| *start)).collect();
        for start in touched {
            let Some((end, value)) = self.0.remove(&start) else { continue };
            if start < within.0 {
                self.0.insert(start, (end.min(within.0), value));
            }
            if end > within.1 {
                self.0.insert(start.max(within.1), (end, value));
            }
        }
    }

    /// Sets a value for pages that have none. Merges equal neighbours.
    fn insert(&mut self, (mut from, mut to): Pages, value: T) {
        if let Some((&start, &(end, other))) = self.0.range(..from).next_back() {
            if end == from && other == value {
                from = start;
            }
        }
        if let Some(&(end, other)) = self.0.get(&to) {
            if other == value {
                self.0.remove(&to);
                to = end;
            }
        }
        self.0.insert(from, (to, value));
    }

    /// The full ranges that overlap `within`.
    fn touching(&self, within: Pages) -> Vec<(Pages, T)> {
        let before = self.0.range(..within.0).next_back();
        let all = before.into_iter().chain(self.0.range(within.0..within.1));
        let all = all.map(|(&start, &(end, value))| ((start, end), value));
        all.filter(|((_, end), _)| *end > within.0).collect()
    }
}

/// The state of shared virtual memory.
#[derive(Default)]
pub(crate) struct Svm {
    state: Mutex<State>,
    /// Whether GPUs have access to memory that the program may unmap without notice.
    watches: AtomicBool,
}

#[derive(Clone, Default)]
struct State {
    attributes: Ranges<Attributes>,
    /// The pages registered with the GPUs, and their access rights.
    given: Ranges<Rights>,
    /// Memory that was reserved here: base and end.
    reserved: BTreeMap<u64, u64>,
}

/// Maps host memory, at the wanted address if it is free.
fn map(len: usize, wanted: u64) -> Option<u64> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping, which replaces none: the address is no more than a hint.
    let place = unsafe { libc::mmap(pointer(wanted), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    (place != libc::MAP_FAILED).then_some(place as u64)
}

fn unmap((from, to): Pages) {
    if from < to {
        // SAFETY: mapped here, and nothing may use it any more.
        unsafe { libc::munmap(pointer(from), (to - from) as usize) };
    }
}

/// Returns whether all these pages are mapped in this process, with any protection.
fn is_mapped((from, to): Pages) -> bool {
    // SAFETY: changes nothing, and is valid for unmapped pages.
    unsafe { libc::msync(pointer(from), (to - from) as usize, libc::MS_ASYNC) == 0 }
}

/// Makes a page resident. False if that fails.
fn make_resident(page: u64) -> bool {
    let populate = |advice| {
        // SAFETY: the page's contents do not change, if it exists.
        unsafe { libc::madvise(pointer(page), GRANULE as usize, advice) == 0 }
    };
    populate(libc::MADV_POPULATE_WRITE) || populate(libc::MADV_POPULATE_READ)
}

/// Whether a page is resident.
fn is_resident(page: u64) -> bool {
    let mut resident = 0_u8;
    // SAFETY: `resident` has room for the one result.
    unsafe { libc::mincore(pointer(page), GRANULE as usize, &mut resident) == 0 && resident & 1 != 0 }
}

/// Whether none of the pages in a range is resident.
pub(super) fn is_untouched((from, to): Pages) -> bool {
    (from..to).step_by(GRANULE as usize).all(|page| !is_resident(page))
}

/// This process's mappings in order: start, end, and whether they are readable and writable.
fn mappings() -> Vec<(u64, u64, bool)> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapping = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
        Some((from, to, fields.next()?.starts_with("rw")))
    };
    maps.lines().filter_map(mapping).collect()
}

/// The parts of these pages that are not readable and writable. The list of mappings is read in pieces, so a mapping
/// that grows meanwhile may occur twice.
fn unusable(mappings: &[(u64, u64, bool)], (from, to): Pages) -> Vec<Pages> {
    let mut gaps = Vec::new();
    let mut at = from;
    for &(start, end, _) in mappings.iter().filter(|(start, end, usable)| *usable && *start < to && from < *end) {
        if at < start {
            gaps.push((at, start));
        }
        at = at.max(end);
    }
    if at < to {
        gaps.push((at, to));
    }
    gaps
}

impl State {
    fn is_reserved(&self, (from, to): Pages) -> bool {
        self.reserved.range(..=from).next_back().is_some_and(|(_, end)| to <= *end)
    }

    /// Forgets memory that the program has unmapped.
    fn forget_unmapped(&mut self, space: &Memory) {
        let is_gone = |pages: &Pages| !self.is_reserved(*pages) && !is_mapped(*pages);
        let all = self.attributes.0.iter().map(|(from, (to, _))| (*from, *to));
        let all = all.chain(self.given.0.iter().map(|(from, (to, _))| (*from, *to)));
        let gone: Vec<Pages> = all.filter(is_gone).collect();
        if gone.is_empty() {
            return;
        }
        let mappings = mappings();
        for pages in gone {
            let mut at = pages.0;
            for &(from, to, _) in mappings.iter().filter(|(from, to, _)| *from < pages.1 && pages.0 < *to) {
                self.forget(space, (at, from));
                at = to;
            }
            self.forget(space, (at, pages.1));
        }
    }

    /// Forgets pages that no longer exist.
    fn forget(&mut self, space: &Memory, pages: Pages) {
        if pages.0 >= pages.1 {
            return;
        }
        self.attributes.remove(pages);
        let touched = self.given.touching(pages);
        self.given.remove(pages);
        for ((from, to), _) in touched {
            // Unregisters the old range, unless other memory has been allocated there since.
            let _ = space.unregister_host(from);
            for ((from, to), rights) in self.given.touching((from, to)) {
                // SAFETY: as in `give`.
                let _ = unsafe { register(space, (from, to), rights) };
            }
        }
    }

    /// Forgets attributes of memory that other memory has replaced: the program has unmapped it without notice and
    /// mapped it again. Access stays: a program that maps memory for agents grants access at once.
    fn forget_remapped(&mut self, space: &Memory, pages: Pages) {
        for ((from, to), old) in self.attributes.touching(pages) {
            if old.marked && !self.is_reserved((from, to)) && !is_resident(from) {
                let Attributes { accessible, in_place, .. } = old;
                let attributes = Attributes { accessible, in_place, ..Attributes::default() };
                self.attributes.0.insert(from, (to, attributes));
                // If that fails, the agents keep their rights.
                let _ = self.give(space, (from, to));
            }
        }
    }

    /// Forgets locks of memory that was unmapped without notice and replaced: HIP does that with the events of other
    /// processes.
    fn forget_stale_locks(&self, space: &Memory, pages: Pages) {
        for allocation in self.others(space, pages).filter(|allocation| allocation.kind == AllocKind::Registered) {
            if !is_resident(allocation.base - allocation.base % GRANULE) {
                space.forget_registrations(allocation.base, allocation.size);
            }
        }
    }

    /// Allocations in these pages that the GPUs know for other reasons than attributes.
    fn others(&self, space: &Memory, (from, to): Pages) -> impl Iterator<Item = Allocation> {
        let in_it = move |allocation: &Allocation| allocation.base < to && from < allocation.end();
        let is_other = |allocation: &Allocation| {
            allocation.kind != AllocKind::Registered || !self.given.0.contains_key(&allocation.base)
        };
        space.allocations().into_iter().filter(in_it).filter(is_other)
    }

    /// Marks ranges that overlap or follow these pages, so that [`forget_remapped`](Self::forget_remapped) can detect
    /// their replacement.
    fn mark(&mut self, pages: Pages) {
        for ((from, to), attributes) in self.attributes.touching((pages.0, pages.1.saturating_add(1))) {
            let marked = !self.is_reserved((from, to)) && make_resident(from);
            self.attributes.0.insert(from, (to, Attributes { marked, ..attributes }));
        }
    }

    /// The rights that the GPUs should have for `within`.
    fn wanted(&self, within: Pages) -> Ranges<Rights> {
        let nothing = AgentSet::default().rights();
        let mut wanted = Ranges::default();
        for (from, to, attributes) in self.attributes.parts(within) {
            let rights = attributes.map_or(nothing, |attributes| attributes.rights());
            if rights != nothing {
                wanted.insert((from, to), rights);
            }
        }
        wanted
    }

    /// Forgets neighbouring pages that are no longer readable and writable: the program has unmapped them without
    /// notice and may have mapped something else there. False if these pages themselves contain such pages.
    fn forget_unusable(&mut self, space: &Memory, pages: Pages, new: &[(Pages, Rights)]) -> bool {
        let foreign = new.iter().filter(|(pages, _)| !self.is_reserved(*pages));
        let mappings = mappings();
        let gaps: Vec<Pages> = foreign.flat_map(|(new, _)| unusable(&mappings, *new)).collect();
        let beside = |(from, to): &Pages| *to <= pages.0 || pages.1 <= *from;
        gaps.iter().filter(|gap| beside(gap)).for_each(|gap| self.forget(space, *gap));
        gaps.iter().all(beside)
    }

    /// Updates the GPUs' access rights to pages where they have changed.
    fn give(&mut self, space: &Memory, pages: Pages) -> Result<()> {
        let state = |this: &Self| {
            let old = this.given.touching(pages);
            let around = old.iter().fold(pages, |(from, to), ((start, end), _)| (from.min(*start), to.max(*end)));
            let new: Vec<(Pages, Rights)> = this.wanted(around).touching(around);
            (old, around, new)
        };
        let (old, _, new) = state(self);
        if new == old {
            return Ok(());
        }
        if !self.forget_unusable(space, pages, &new) {
            return Err(HSA_STATUS_ERROR);
        }
        let (old, around, new) = state(self);
        for ((from, _), _) in &old {
            // Cannot fail: it is registered, and only this code unregisters it.
            let _ = space.unregister_host(*from);
        }
        self.given.remove(around);
        for (n, (pages, rights)) in new.iter().enumerate() {
            // SAFETY: existing memory, which is unregistered before it is unmapped, or before the next kernel starts. The program must
            // order its own accesses with those of running kernels, as HSA requires.
            let registered = unsafe { register(space, *pages, *rights) };
            if registered.is_err() {
                for ((from, _), _) in &new[..n] {
                    let _ = space.unregister_host(*from);
                }
                for (pages, rights) in old {
                    // SAFETY: as above.
                    if unsafe { register(space, pages, rights) }.is_ok() {
                        self.given.0.insert(pages.0, (pages.1, rights));
                    }
                }
                return Err(HSA_STATUS_ERROR);
            }
        }
        self.given.0.extend(new.into_iter().map(|((from, to), rights)| (from, (to, rights))));
        Ok(())
    }
}

/// Registers pages with the GPUs.
///
/// # Safety
/// As of [`Memory::register_host`].
unsafe fn register(space: &Memory, (from, to): Pages, rights: Rights) -> Result<()> {
    // SAFETY: as the caller vouches.
    unsafe { space.register_host(pointer(from).cast(), to - from) }.map_err(|error| super::status_of(&error))?;
    space.set_rights(from, rights).map_err(|error| super::status_of(&error))
}

impl Svm {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves host memory for SVM, at the wanted address if it is free.
    pub(crate) fn reserve(&self, size: u64, wanted: u64, align: u64) -> Result<u64> {
        let (invalid, none) = (HSA_STATUS_ERROR_INVALID_ARGUMENT, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        let align = align.max(GRANULE);
        if size == 0 || !align.is_power_of_two() || wanted % GRANULE != 0 {
            return Err(invalid);
        }
        // The host would grant more address space, but has memory only for this much.
        let size = size.checked_next_multiple_of(GRANULE).filter(|size| *size <= host_memory()).ok_or(none)?;
        let whole = size.checked_add(align - GRANULE).ok_or(none)?;
        let start = map(usize::try_from(whole).map_err(|_| none)?, wanted).ok_or(none)?;
        let base = start.next_multiple_of(align);
        unmap((start, base));
        unmap((base + size, start + whole));
        let mut state = self.state();
        state.reserved.insert(base, base + size);
        Ok(base)
    }

    /// The base and size of the reservation that contains an address.
    pub(crate) fn reservation(&self, address: u64) -> Option<(u64, u64)> {
        let state = self.state();
        let (base, end) = state.reserved.range(..=address).next_back()?;
        (address < *end).then_some((*base, end - base))
    }

    /// Frees a reservation; `None` if it was not made here.
    pub(crate) fn unreserve(&self, space: &Memory, base: u64, size: u64) -> Option<Result<()>> {
        let mut state = self.state();
        let end = *state.reserved.get(&base)?;
        if size.checked_next_multiple_of(GRANULE) != Some(end - base) {
            return Some(Err(HSA_STATUS_ERROR_INVALID_ALLOCATION));
        }
        state.attributes.remove((base, end));
        // Cannot fail: without attributes, access is only revoked.
        let _ = state.give(space, (base, end));
        state.reserved.remove(&base);
        unmap((base, end));
        Some(Ok(()))
    }

    /// Checks that pages can have attributes: they are mapped, and not known to the GPUs for another reason.
    pub(crate) fn check(&self, space: &Memory, pages: Pages) -> Result<()> {
        let mut state = self.state();
        state.forget_unmapped(space);
        state.forget_remapped(space, pages);
        state.forget_stale_locks(space, pages);
        let fits = is_mapped(pages) && state.others(space, pages).next().is_none();
        if fits { Ok(()) } else { Err(HSA_STATUS_ERROR) }
    }

    /// Returns whether these pages are mapped.
    pub(crate) fn is_there(&self, pages: Pages) -> bool {
        is_mapped(pages)
    }

    /// Changes the attributes of pages, all or none. Fails for more pages than the host has memory: without XNACK the
    /// driver reserves memory for all of them.
    pub(crate) fn change(&self, space: &Memory, pages: Pages, change: impl Fn(&mut Attributes)) -> Result<()> {
        if pages.1 - pages.0 > host_memory() {
            return Err(HSA_STATUS_ERROR_OUT_OF_RESOURCES);
        }
        self.check(space, pages)?;
        let mut state = self.state();
        let before = state.attributes.clone();
        let parts = before.parts(pages);
        state.attributes.remove(pages);
        for (from, to, attributes) in parts {
            let mut attributes = attributes.unwrap_or_default();
            change(&mut attributes);
            // Not merged with its neighbours, which may be unmapped separately.
            state.attributes.0.insert(from, (to, attributes));
        }
        let given = state.give(space, pages);
        match given {
            Ok(()) => state.mark(pages),
            Err(_) => state.attributes = before,
        }
        let watches = state.given.0.iter().any(|(from, (to, _))| !state.is_reserved((*from, *to)));
        self.watches.store(watches, Ordering::Release);
        given
    }

    /// The attributes of pages, without duplicates.
    pub(crate) fn attributes(&self, space: &Memory, pages: Pages) -> Result<Vec<Attributes>> {
        self.check(space, pages)?;
        let mut all: Vec<Attributes> = Vec::new();
        for (_, _, attributes) in self.state().attributes.parts(pages) {
            let attributes = attributes.unwrap_or_default();
            if !all.contains(&attributes) {
                all.push(attributes);
            }
        }
        Ok(all)
    }

    /// Forgets memory that the program has unmapped. Must be called before a kernel starts, which could access it, and
    /// before its addresses are reused.
    pub(crate) fn forget_unmapped(&self, space: &Memory) {
        if self.watches.load(Ordering::Acquire) {
            self.state().forget_unmapped(space);
        }
    }

    /// Forgets attributes of memory that the program is about to lock: it may have replaced other memory, which was
    /// unmapped without notice. Marks its first page as resident, so that a later replacement can be detected.
    pub(crate) fn give_way(&self, space: &Memory, pages: Pages) {
        make_resident(pages.0);
        if self.watches.load(Ordering::Acquire) {
            let mut state = self.state();
            let touched = state.given.touching(pages).into_iter().map(|(given, _)| given);
            let foreign: Vec<Pages> = touched.filter(|given| !state.is_reserved(*given)).collect();
            for (from, to) in foreign {
                state.forget(space, (from.max(pages.0), to.min(pages.1)));
            }
        }
    }

    /// Frees everything.
    pub(crate) fn clear(&self, space: &Memory) {
        let State { given, reserved, .. } = std::mem::take(&mut *self.state());
        // Cannot fail: it is registered, and only this code unregisters it.
        given.0.keys().for_each(|from| drop(space.unregister_host(*from)));
        reserved.into_iter().for_each(unmap);
        self.watches.store(false, Ordering::Release);
    }
}
