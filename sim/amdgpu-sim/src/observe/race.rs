//! The race check: unordered accesses to the same bytes, at least one of them a write.
//!
//! The model is documented at [`Checks`](super::Checks). Every wave counts *epochs*, and has a [`Clock`]: for every
//! other wave, the last epoch that happened before now. An access happened before another if its epoch is in the other
//! wave's clock. An epoch ends where later accesses are not covered by earlier publications: at barriers, at waits, and
//! at atomic operations on LDS.

use std::collections::HashMap;
use std::sync::Arc;

use super::access::Touch;
use super::clock::Clock;
use super::memory_model::{Kind, conflict};
use super::room::{Kept, Room};
use super::shadow::{Cell, Entry, NOBODY, SCALAR, Shadow};
use crate::config::Config;
use crate::fault::Space;
use crate::isa::Arch;

/// The values that an instruction's stores write.
pub(super) trait Values {
    /// Returns whether `lane`'s store at `address` would not change memory.
    fn unchanged(&self, lane: usize, address: u64) -> bool;
    /// Returns whether two lanes write the same values to their common bytes.
    fn alike(&self, lane: usize, other: usize) -> bool;
}

/// The instruction that accesses memory.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) position: u32,
    /// It polls a flag in LDS.
    pub(super) polls: bool,
}

/// A newly found race.
pub(super) struct Conflict {
    pub(super) lane: u8,
    pub(super) address: u64,
    pub(super) kind: Kind,
    /// The earlier access.
    pub(super) other: Entry,
}

impl Conflict {
    /// For a race of a plain read with an atomic operation: the wave that read. `wave` is the wave whose access
    /// revealed the race.
    pub(super) fn plain_reader(&self, wave: u32) -> Option<u32> {
        match (self.kind, self.other.kind) {
            (Kind::Read, Kind::Update) => Some(wave),
            (Kind::Update, Kind::Read) => Some(self.other.wave),
            _ => None,
        }
    }
}

/// The ordering state of a wave.
struct Order {
    number: u32,
    epoch: u32,
    /// All its accesses of epochs up to this one have been performed.
    performed: u32,
    /// It has accessed global memory in this epoch.
    busy: bool,
    /// Its last instruction was one of global wave sync.
    synced: bool,
    seen: Arc<Clock>,
}

/// The state of a workgroup.
#[derive(Default)]
pub(super) struct Group {
    waves: Vec<Order>,
    lds: Shadow,
    /// The clocks published at words of LDS.
    published: HashMap<u64, Arc<Clock>>,
}

impl Group {
    /// Resets the state for a workgroup whose first wave has this number.
    pub(super) fn begin(&mut self, first: u32, waves: usize) {
        self.lds.clear();
        self.published.clear();
        self.waves.clear();
        let wave = |i| Order {
            number: first.wrapping_add(i),
            epoch: 1,
            performed: 0,
            busy: false,
            synced: false,
            seen: Arc::default(),
        };
        self.waves.extend((0..waves as u32).map(wave));
    }

    /// `s_waitcnt vmcnt(0)`.
    pub(super) fn performed(&mut self, wave: usize) {
        let wave = &mut self.waves[wave];
        if wave.busy {
            wave.busy = false;
            wave.performed = wave.epoch;
            wave.epoch += 1;
        }
    }

    /// All waves have reached a barrier, or ended.
    pub(super) fn barrier(&mut self, dispatch: &mut Dispatch) {
        let mut all = Clock::default();
        for wave in &mut self.waves {
            all.join(&wave.seen);
        }
        for wave in &mut self.waves {
            all.learn(wave.number, wave.epoch);
            wave.epoch += 1;
        }
        let all = Arc::new(all);
        for wave in &mut self.waves {
            wave.seen = Arc::clone(&all);
            dispatch.note(wave);
        }
    }
}

/// The state of a dispatch.
pub(super) struct Dispatch {
    arch: Arch,
    memory: Shadow,
    /// The clocks published at words of global memory.
    published: HashMap<u64, Arc<Clock>>,
    /// The clock published through global wave sync.
    synced: Arc<Clock>,
    /// Each wave's earlier clocks, with their first epochs.
    history: HashMap<u32, Vec<(u32, Arc<Clock>)>>,
    /// The memory of the two maps, in addition to the clocks.
    kept: Kept,
    room: Room,
    /// Some loads poll flags in LDS, so a store to LDS may publish.
    polls: bool,
}

/// The overhead of a map entry in bytes.
const ENTRY: u64 = 64;

impl Dispatch {
    /// Creates the state for a program; `polls` tells whether some of its loads poll flags in LDS.
    pub(super) fn new(config: &Config, polls: bool) -> Self {
        Self {
            arch: config.arch,
            memory: Shadow::default(),
            published: HashMap::new(),
            synced: Arc::default(),
            history: HashMap::new(),
            kept: Kept::default(),
            room: Room::of(config),
            polls,
        }
    }

    /// Returns whether the check has stopped because its memory is exhausted.
    pub(super) fn is_incomplete(&self) -> bool {
        self.memory.incomplete
    }

    /// Stops the check: without the history, later accesses would be reported as races.
    fn give_up(&mut self) {
        self.memory.give_up();
        (self.published, self.history, self.synced, self.kept) = Default::default();
    }

    /// Wave `id` of `group` continues: after a global wave sync instruction, or (`syncs`) with one.
    pub(super) fn global_sync(&mut self, group: &mut Group, id: usize, syncs: bool) {
        let wave = &mut group.waves[id];
        if std::mem::take(&mut wave.synced) {
            Arc::make_mut(&mut wave.seen).join(&self.synced);
            self.note(wave);
        }
        if syncs {
            wave.synced = true;
            let all = Arc::make_mut(&mut self.synced);
            all.join(&wave.seen);
            all.learn(wave.number, wave.performed);
        }
    }

    fn note(&mut self, wave: &Order) {
        if self.is_incomplete() {
            return;
        }
        self.kept.grow(size_of::<(u32, Arc<Clock>)>() as u64);
        let history = self.history.entry(wave.number).or_default();
        history.push((wave.epoch, Arc::clone(&wave.seen)));
    }

    /// The clock that a store published. For LDS, where stores are in order, everything that its wave had done.
    fn published_by(&self, store: &Entry, local: bool) -> Clock {
        let mut clock = Clock::default();
        if let Some(history) = self.history.get(&store.wave) {
            let next = history.partition_point(|(epoch, _)| *epoch <= store.epoch);
            if let Some((_, seen)) = next.checked_sub(1).and_then(|at| history.get(at)) {
                clock = (**seen).clone();
            }
        }
        // A number too large to be stored stands for the whole history.
        let lag = if store.lag == u16::MAX { 0 } else { u32::from(store.lag) };
        clock.learn(store.wave, if local { store.epoch } else { store.epoch.saturating_sub(1 + lag) });
        clock
    }

    /// Checks the next access of wave `id` of `group`, by the instruction `at`, which would store `values`.
    pub(super) fn access(
        &mut self,
        group: &mut Group,
        touch: &Touch,
        id: usize,
        at: At,
        values: &impl Values,
        report: &mut dyn FnMut(Conflict),
    ) {
        let local = touch.space == Space::Lds;
        if touch.space == Space::Private || self.is_incomplete() {
            return;
        }
        if self.room.is_exceeded() {
            self.give_up();
            return;
        }
        let kind = Kind::of(touch, self.arch, at.polls);
        if kind == Kind::Update && touch.returns || kind == Kind::CoherentRead {
            self.acquire(group, touch, id);
        }
        let wave = &mut group.waves[id];
        if !local {
            wave.busy = true;
        }
        let entry = Entry {
            wave: wave.number,
            epoch: wave.epoch,
            position: at.position,
            lane: SCALAR,
            kind,
            lag: u16::try_from(wave.epoch - 1 - wave.performed.min(wave.epoch - 1)).unwrap_or(u16::MAX),
        };
        let mut eyes = Eyes { seen: Arc::clone(&wave.seen), last: (NOBODY, 0) };
        let (arch, space, room) = (self.arch, touch.space, &self.room);
        // If several lanes write to one address, one pair is reported.
        let mut looks_at_lanes = kind == Kind::Write && touch.mask.count_ones() > 1;
        let shadow = if local { &mut group.lds } else { &mut self.memory };
        for (lane, address) in touch.lanes() {
            let lane_number = if touch.scalar { SCALAR } else { lane as u8 };
            let entry = Entry { lane: lane_number, ..entry };
            let mut told = false;
            shadow.visit(room, address, touch.bytes, &mut |at, cell| {
                if let Some(other) = eyes.look(cell, &entry, arch, space) {
                    let same = kind == Kind::Write && other.kind == Kind::Write && values.unchanged(lane, address);
                    if !told && !same {
                        told = true;
                        report(Conflict { lane: lane_number, address: at, kind, other });
                    }
                } else if looks_at_lanes && is_of_this_instruction(&cell.write, &entry, touch, at) {
                    let other = cell.write;
                    if !values.alike(lane, usize::from(other.lane)) {
                        looks_at_lanes = false;
                        report(Conflict { lane: lane_number, address: at, kind, other });
                    }
                }
                eyes.remember(cell, entry);
            });
        }
        if kind == Kind::Update {
            self.release(group, touch, id);
        } else if local && self.polls && !kind.reads_only() {
            // Later accesses are not published.
            group.waves[id].epoch += 1;
        }
        if self.memory.incomplete || group.lds.incomplete {
            self.give_up();
        }
    }

    fn acquire(&mut self, group: &mut Group, touch: &Touch, id: usize) {
        let local = touch.space == Space::Lds;
        let wave = &mut group.waves[id];
        let mut seen = Arc::clone(&wave.seen);
        let mut learn = |clock: &Arc<Clock>| {
            if !seen.covers(clock) {
                if clock.covers(&seen) {
                    seen = Arc::clone(clock);
                } else {
                    Arc::make_mut(&mut seen).join(clock);
                }
            }
        };
        let mut stores: Vec<Entry> = Vec::new();
        for (_, address) in touch.lanes() {
            for word in words(address, touch.bytes) {
                let published = if local { &group.published } else { &self.published };
                if let Some(clock) = published.get(&word) {
                    learn(clock);
                }
            }
            let number = wave.number;
            let shadow = if local { &mut group.lds } else { &mut self.memory };
            shadow.visit(&self.room, address, touch.bytes, &mut |_, cell| {
                let store = cell.write;
                let stored = matches!(store.kind, Kind::Write | Kind::CoherentWrite);
                let known = |s: &Entry| (s.wave, s.epoch) == (store.wave, store.epoch);
                if stored && store.wave != NOBODY && store.wave != number && !stores.iter().any(known) {
                    stores.push(store);
                }
            });
        }
        for store in stores {
            learn(&Arc::new(self.published_by(&store, local)));
        }
        if !Arc::ptr_eq(&seen, &wave.seen) {
            wave.seen = seen;
            self.note(wave);
        }
    }

    fn release(&mut self, group: &mut Group, touch: &Touch, id: usize) {
        let local = touch.space == Space::Lds;
        let wave = &mut group.waves[id];
        let mut clock = (*wave.seen).clone();
        clock.learn(wave.number, if local { wave.epoch } else { wave.performed });
        let clock = Arc::new(clock);
        let published = if local { &mut group.published } else { &mut self.published };
        for (_, address) in touch.lanes() {
            for word in words(address, touch.bytes) {
                let there = published.entry(word).or_insert_with(|| {
                    self.kept.grow(ENTRY);
                    Arc::clone(&clock)
                });
                if !there.covers(&clock) {
                    if clock.covers(there) {
                        *there = Arc::clone(&clock);
                    } else {
                        Arc::make_mut(there).join(&clock);
                    }
                }
            }
        }
        if local {
            // Later accesses are not published.
            wave.epoch += 1;
        }
    }
}

/// Returns whether `last`, the last store to the byte at `at`, is by an earlier lane than `now`'s in the same execution
/// of the same instruction, `touch`.
fn is_of_this_instruction(last: &Entry, now: &Entry, touch: &Touch, at: u64) -> bool {
    let accesses = |entry: &Entry| (entry.wave, entry.epoch, entry.position);
    // Lanes are checked in order: if one of them writes here, this execution was the last writer, even in a loop.
    accesses(last) == accesses(now) && last.lane < now.lane && touch.mask >> last.lane & 1 == 1 && {
        let from = touch.at[usize::from(last.lane)];
        at.checked_sub(from).is_some_and(|offset| offset < u64::from(touch.bytes))
    }
}

/// The words that contain these bytes.
fn words(address: u64, bytes: u32) -> std::ops::RangeInclusive<u64> {
    address / 4..=address.saturating_add(u64::from(bytes.max(1)) - 1) / 4
}

/// The view of one wave on cells.
struct Eyes {
    seen: Arc<Clock>,
    /// The last wave that was looked up, and its epoch.
    last: (u32, u32),
}

impl Eyes {
    /// Returns whether `entry` happened before `now`.
    fn before(&mut self, entry: &Entry, now: &Entry) -> bool {
        if entry.wave == now.wave {
            return true;
        }
        if self.last.0 != entry.wave {
            self.last = (entry.wave, self.seen.get(entry.wave));
        }
        self.last.1 >= entry.epoch
    }

    /// The access that races with `now`, if any.
    fn look(&mut self, cell: &Cell, now: &Entry, arch: Arch, space: Space) -> Option<Entry> {
        let reads = if now.kind.reads_only() { &[][..] } else { &cell.reads[..] };
        std::iter::once(&cell.write).chain(reads).copied().find(|entry| {
            entry.wave != NOBODY && conflict(arch, space, entry.kind, now.kind) && !self.before(entry, now)
        })
    }

    fn remember(&mut self, cell: &mut Cell, now: Entry) {
        if !now.kind.reads_only() {
            cell.write = now;
            cell.reads.iter_mut().for_each(|read| read.wave = NOBODY);
            return;
        }
        let place = cell.reads.iter().position(|read| read.wave == now.wave);
        let place = place.or_else(|| cell.reads.iter().position(|read| read.wave == NOBODY));
        if let Some(at) = place {
            cell.reads[at] = now;
        } else if let Some(at) = (0..2).find(|at| self.before(&cell.reads[*at], &now)) {
            cell.reads[at] = now;
        }
    }
}
