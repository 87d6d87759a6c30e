//! Builds a program with a deterministic result from wishes.
//!
//! A model tracks the live objects, and for each stream and the program itself which earlier work has happened before
//! (vector clocks; the legacy default stream and blocking streams wait for each other). A call that would race with
//! earlier work is ordered after it with an event or a wait. Calls are left out if HIP does not check them and would
//! crash or behave unpredictably: memory accesses through an unmapped address, a kernel out of bounds, a handle whose
//! address may have been reused.

use super::generate::Wish;
use super::op::*;

/// The index of a thread of work: the program itself, the default streams, then each stream in the order of creation.
const HOST: usize = 0;
const NULL: usize = 1;
const PER_THREAD: usize = 2;

/// For each thread of work, how much of it has happened.
#[derive(Clone, Debug, Default)]
struct Clock(Vec<u64>);

impl Clock {
    fn at(&self, thread: usize) -> u64 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    fn set(&mut self, thread: usize, value: u64) {
        self.0.resize(self.0.len().max(thread + 1), 0);
        self.0[thread] = value;
    }
}

#[derive(Clone, Debug)]
struct Thread {
    clock: Clock,
    blocking: bool,
    live: bool,
    queue: Queue,
}

/// The users of a piece of memory.
#[derive(Clone, Debug, Default)]
struct Used {
    /// Thread and time of the last write, and of the reads since.
    write: Option<(usize, u64)>,
    reads: Vec<(usize, u64)>,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    live: bool,
    size: usize,
    host: bool,
    /// From `hipMallocAsync`.
    pooled: bool,
    /// Freed, and its address cannot have been reused yet.
    stale: bool,
    used: Used,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stream {
    /// A null handle: the default stream.
    #[default]
    None,
    /// The thread of a live stream.
    Live(usize),
    /// The real runtime would access freed memory.
    Gone,
}

#[derive(Clone, Debug, Default)]
struct Event {
    live: bool,
    made: bool,
    recorded: Option<Clock>,
}

/// The target of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Null,
    /// HIP's or registered memory, with this many bytes up to its end.
    Known(usize),
    /// Memory of the program, with this many bytes up to its end.
    Own(usize),
    /// Unmapped, and not known to HIP.
    Nothing,
    /// Unknown.
    Unclear,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Piece(usize),
    Own(usize),
}

struct Model {
    threads: Vec<Thread>,
    pieces: Vec<Piece>,
    own: Vec<Used>,
    registered: [bool; HOST_BUFFERS],
    streams: [Stream; STREAMS],
    events: Vec<Event>,
    out: Vec<Op>,
}

/// Builds the program for these wishes.
pub(crate) fn program(wishes: &[Wish]) -> Vec<Op> {
    let thread = |blocking, queue| Thread { clock: Clock::default(), blocking, live: true, queue };
    let mut events = vec![Event::default(); EVENTS + 1];
    (events[ORDER].live, events[ORDER].made) = (true, true);
    let mut model = Model {
        threads: vec![thread(false, Queue::Default), thread(false, Queue::Default), thread(true, Queue::PerThread)],
        pieces: vec![Piece::default(); PIECES],
        own: vec![Used::default(); HOST_BUFFERS],
        registered: [false; HOST_BUFFERS],
        streams: [Stream::None; STREAMS],
        events,
        out: Vec::new(),
    };
    for wish in wishes {
        model.add(wish.op, wish.salt);
    }
    model.out
}

impl Model {
    /// The thread of a live stream.
    fn thread(&self, queue: Queue) -> Option<usize> {
        match queue {
            Queue::Default => Some(NULL),
            Queue::PerThread => Some(PER_THREAD),
            Queue::Slot(n) => match self.streams[n] {
                Stream::Live(thread) => Some(thread),
                Stream::None => Some(NULL),
                Stream::Gone => None,
            },
        }
    }

    /// Returns whether a stream can be used in a call.
    fn can_name(&self, queue: Queue) -> bool {
        self.thread(queue).is_some()
    }

    /// Returns whether an event can be used: it is live, or a null handle.
    fn can_name_event(&self, slot: usize) -> bool {
        self.events[slot].live || !self.events[slot].made
    }

    fn call_queue(call: Call) -> Queue {
        match call {
            Call::Async(queue) | Call::With(queue) | Call::TypedAsync(queue) => queue,
            Call::Plain | Call::Typed => Queue::Default,
        }
    }

    /// The clock of the next work of a thread.
    fn next(&self, thread: usize) -> Clock {
        let mut clock = self.threads[thread].clock.clone();
        if thread != HOST {
            clock.join(&self.threads[HOST].clock);
        }
        if thread == NULL {
            self.threads.iter().filter(|other| other.blocking && other.live).for_each(|other| clock.join(&other.clock));
        } else if self.threads[thread].blocking {
            clock.join(&self.threads[NULL].clock);
        }
        clock
    }

    /// Orders the next work of a thread after all uses of this memory.
    fn order(&mut self, thread: usize, memory: Memory, write: bool, salt: u64) {
        while let Some(other) = self.conflict(thread, memory, write) {
            self.put_behind(thread, other, salt);
        }
    }

    /// Adds work to a thread, after all earlier uses of its memory.
    fn work(&mut self, op: Op, thread: usize, uses: &[(Memory, bool)], salt: u64) {
        for (memory, write) in uses {
            self.order(thread, *memory, *write, salt);
        }
        let time = self.tick(thread);
        for (memory, write) in uses {
            let used = self.used(*memory);
            if *write {
                *used = Used { write: Some((thread, time)), reads: Vec::new() };
            } else {
                used.reads.push((thread, time));
            }
        }
        self.out.push(op);
    }

    fn tick(&mut self, thread: usize) -> u64 {
        let mut clock = self.next(thread);
        let time = clock.at(thread) + 1;
        clock.set(thread, time);
        self.threads[thread].clock = clock;
        time
    }

    fn used(&mut self, memory: Memory) -> &mut Used {
        match memory {
            Memory::Piece(n) => &mut self.pieces[n].used,
            Memory::Own(n) => &mut self.own[n],
        }
    }

    /// A thread that may still use the memory.
    fn conflict(&mut self, thread: usize, memory: Memory, write: bool) -> Option<usize> {
        let clock = self.next(thread);
        let used = self.used(memory);
        let before = used.write.iter().chain(if write { used.reads.as_slice() } else { &[] });
        before.copied().find(|(other, time)| *other != thread && clock.at(*other) < *time).map(|(other, _)| other)
    }

    fn put_behind(&mut self, thread: usize, other: usize, salt: u64) {
        let (mine, theirs) = (self.threads[thread].queue, self.threads[other].queue);
        match if thread == HOST { salt % 2 } else { salt % 4 } {
            0 => self.sync_device(),
            1 => self.sync(theirs),
            _ => {
                self.record(ORDER, other);
                self.wait_event(ORDER, thread, mine);
            }
        }
    }

    fn sync_device(&mut self) {
        self.out.push(Op::SyncDevice);
        for thread in 1..self.threads.len() {
            let clock = self.threads[thread].clock.clone();
            self.threads[HOST].clock.join(&clock);
        }
    }

    fn sync(&mut self, queue: Queue) {
        self.out.push(Op::SyncStream { queue });
        if let Some(thread) = self.thread(queue) {
            // The default stream includes the streams that it waits for.
            let clock = if thread == NULL { self.next(thread) } else { self.threads[thread].clock.clone() };
            self.threads[HOST].clock.join(&clock);
        }
    }

    fn record(&mut self, slot: usize, thread: usize) {
        let queue = self.threads[thread].queue;
        self.work(Op::Record { slot, queue }, thread, &[], 0);
        self.events[slot].recorded = Some(self.threads[thread].clock.clone());
    }

    fn wait_event(&mut self, slot: usize, thread: usize, queue: Queue) {
        self.work(Op::WaitEvent { queue, slot, flags: 0 }, thread, &[], 0);
        if let Some(clock) = self.events[slot].recorded.clone() {
            self.threads[thread].clock.join(&clock);
        }
    }

    /// Returns whether all recorded work is known to have completed.
    fn is_past(&self, clock: &Clock) -> bool {
        let host = &self.threads[HOST].clock;
        clock.0.iter().enumerate().all(|(thread, time)| thread == HOST || host.at(thread) >= *time)
    }

    fn is_event_done(&self, slot: usize) -> bool {
        self.events[slot].recorded.as_ref().is_none_or(|clock| self.is_past(clock))
    }

    fn target(&self, place: Place) -> Target {
        match place.base {
            Base::Null if place.offset == 0 => Target::Null,
            Base::Null | Base::Wild => Target::Nothing,
            Base::Own(n) => {
                let left = HOST_BYTES.saturating_sub(place.offset);
                if self.registered[n] { Target::Known(left) } else { Target::Own(left) }
            }
            Base::Piece(n) => match &self.pieces[n] {
                piece if piece.live && piece.size == 0 => match place.offset {
                    0 => Target::Null,
                    _ => Target::Nothing,
                },
                piece if piece.live && place.offset < piece.size => Target::Known(piece.size - place.offset),
                // The next piece may be at that address, or nothing.
                piece if piece.live => Target::Unclear,
                piece if piece.stale && place.offset == 0 => Target::Nothing,
                _ if self.pieces[n].size == 0 && !self.pieces[n].pooled => match place.offset {
                    0 => Target::Null,
                    _ => Target::Nothing,
                },
                _ => Target::Unclear,
            },
        }
    }

    fn memory(place: Place) -> Option<Memory> {
        match place.base {
            Base::Piece(n) => Some(Memory::Piece(n)),
            Base::Own(n) => Some(Memory::Own(n)),
            Base::Null | Base::Wild => None,
        }
    }

    /// Adds a call that fails or does nothing.
    fn plain(&mut self, op: Op) {
        self.out.push(op);
    }

    #[allow(clippy::too_many_lines)]
    fn add(&mut self, op: Op, salt: u64) {
        match op {
            Op::Allocate { piece, size, source } => self.allocate(op, piece, size, source, salt),
            Op::Free { place, how } => self.free(op, place, how, salt),
            Op::Copy { to, from, bytes, kind, call } => {
                self.copy(op, (to, bytes, true), (from, bytes, true), kind, call, salt);
            }
            Op::Copy2D { to, to_pitch, from, from_pitch, width, height, kind, call } => {
                let span = |pitch: usize| pitch * height.saturating_sub(1) + width;
                let empty = width == 0 || height == 0;
                let (to_span, from_span) = if empty { (0, 0) } else { (span(to_pitch), span(from_pitch)) };
                let fits = width <= to_pitch && width <= from_pitch;
                self.copy(op, (to, to_span, fits), (from, from_span, fits), kind, call, salt);
            }
            Op::Fill { to, count, width, call, .. } => {
                let bytes = count.saturating_mul(width.max(1));
                // The real runtime ends the process for misaligned words.
                if to.offset % width.max(1) != 0 {
                    return;
                }
                self.fill(op, to, bytes, call, salt);
            }
            Op::Fill2D { to, pitch, width, height, call, .. } => {
                let bytes = if height == 0 || width == 0 { 0 } else { pitch * (height - 1) + width };
                // Not all releases check for the end of the memory. The older releases do not fill rows of host memory correctly.
                let host = matches!(to.base, Base::Piece(n) if self.pieces[n].host) || matches!(to.base, Base::Own(_));
                if !host && width <= pitch && !matches!(self.target(to), Target::Known(left) if left < bytes) {
                    self.fill(op, to, bytes, call, salt);
                }
            }
            Op::Launch { kernel, data, n, grid, block, lds, queue } => {
                self.launch(op, kernel, data, n, grid, block, lds, queue, salt);
            }
            Op::Write { to, bytes, .. } => {
                let inside = match (self.target(to), to.base) {
                    (Target::Own(left), _) | (Target::Known(left), Base::Own(_)) => bytes <= left,
                    (Target::Known(left), Base::Piece(n)) => self.pieces[n].host && bytes <= left,
                    _ => false,
                };
                if let (true, Some(memory)) = (inside, Self::memory(to)) {
                    self.work(op, HOST, &[(memory, true)], salt);
                }
            }
            Op::CreateStream { slot, flags, .. } => {
                if matches!(self.streams[slot], Stream::Live(_)) {
                    self.destroy(Queue::Slot(slot));
                }
                self.plain(op);
                if flags <= 1 {
                    let queue = Queue::Slot(slot);
                    let clock = Clock::default();
                    self.threads.push(Thread { clock, blocking: flags == 0, live: true, queue });
                    self.streams[slot] = Stream::Live(self.threads.len() - 1);
                }
            }
            Op::DestroyStream { queue } => self.destroy(queue),
            Op::SyncStream { queue } if self.can_name(queue) => self.sync(queue),
            Op::QueryStream { queue, .. } if self.can_name(queue) => {
                let done = self.thread(queue).is_none_or(|thread| self.is_past(&self.next(thread)));
                self.plain(Op::QueryStream { queue, done });
            }
            Op::AskStream { queue } if self.can_name(queue) => self.plain(op),
            Op::CreateEvent { slot, flags } => {
                if self.events[slot].live {
                    self.add(Op::DestroyEvent { slot }, salt);
                }
                self.plain(op);
                let releases = (flags >> 29).count_ones() > 1;
                if flags & !0xe000_0003 == 0 && !releases {
                    self.events[slot] = Event { live: true, made: true, ..Event::default() };
                }
            }
            Op::DestroyEvent { slot } if self.can_name_event(slot) => {
                self.plain(op);
                let event = &mut self.events[slot];
                event.live = false;
                event.recorded = None;
            }
            Op::Record { slot, queue } if self.can_name_event(slot) && self.can_name(queue) => {
                match self.thread(queue) {
                    Some(thread) if self.events[slot].live => {
                        self.work(op, thread, &[], salt);
                        self.events[slot].recorded = Some(self.threads[thread].clock.clone());
                    }
                    _ => self.plain(op),
                }
            }
            Op::SyncEvent { slot } if self.can_name_event(slot) => {
                self.plain(op);
                if let Some(clock) = self.events[slot].recorded.clone() {
                    self.threads[HOST].clock.join(&clock);
                }
            }
            Op::QueryEvent { slot, .. } if self.can_name_event(slot) => {
                self.plain(Op::QueryEvent { slot, done: self.is_event_done(slot) });
            }
            Op::Elapsed { from, to, .. } if self.can_name_event(from) && self.can_name_event(to) => {
                let done = self.is_event_done(from) && self.is_event_done(to);
                self.plain(Op::Elapsed { from, to, done });
            }
            Op::WaitEvent { queue, slot, flags } if self.can_name(queue) && self.can_name_event(slot) => {
                match self.thread(queue) {
                    Some(thread) if flags == 0 && self.events[slot].live => self.wait_event(slot, thread, queue),
                    _ => self.plain(op),
                }
            }
            // The real runtime accesses a destroyed stream.
            Op::HostFunction { queue, buffer, .. } => {
                if let Some(thread) = self.thread(queue) {
                    self.work(op, thread, &[(Memory::Own(buffer), true)], salt);
                }
            }
            Op::Gate { queue, slot } => {
                let Some(thread) = self.thread(queue).filter(|thread| *thread > PER_THREAD) else { return };
                if self.events[slot].live {
                    // No other work may wait behind the gate.
                    self.sync_device();
                    self.work(op, thread, &[], salt);
                    let clock = self.threads[thread].clock.clone();
                    self.threads[HOST].clock.join(&clock);
                    self.events[slot].recorded = Some(clock);
                }
            }
            Op::SyncDevice => self.sync_device(),
            // For memory that is not HIP's, each release reports something else.
            Op::Attributes { place } if !matches!(self.target(place), Target::Known(_)) => {}
            // The real runtime returns a base of its own.
            Op::Range { place: Place { base: Base::Own(n), .. } } if self.registered[n] => {}
            Op::Range { place: Place { base: Base::Piece(n), .. } } if self.pieces[n].pooled => {}
            Op::Attributes { place }
            | Op::Range { place }
            | Op::DevicePointer { place, .. }
            | Op::HostFlags { place } => {
                if self.target(place) != Target::Unclear {
                    self.plain(op);
                }
            }
            // hip-sim does not register memory twice; the newest release does.
            Op::Register { buffer, .. } if self.registered[buffer] => {}
            Op::Register { buffer, bytes, flags } => {
                self.sync_device();
                self.plain(op);
                self.registered[buffer] |= bytes > 0 && flags <= 15;
            }
            // The real runtime ends the process.
            Op::Unregister { buffer, offset } if self.registered[buffer] && offset != 0 => {}
            Op::Unregister { buffer, .. } => {
                self.sync_device();
                self.plain(op);
                self.registered[buffer] = false;
            }
            Op::SetDevice { .. } | Op::LastError | Op::Function { .. } | Op::MemoryLeft | Op::NoPlace { .. } => {
                self.plain(op);
            }
            Op::SyncStream { .. }
            | Op::QueryStream { .. }
            | Op::AskStream { .. }
            | Op::DestroyEvent { .. }
            | Op::Record { .. }
            | Op::SyncEvent { .. }
            | Op::QueryEvent { .. }
            | Op::Elapsed { .. }
            | Op::WaitEvent { .. } => {}
        }
    }

    fn destroy(&mut self, queue: Queue) {
        if !self.can_name(queue) {
            return;
        }
        if let (Queue::Slot(n), Some(thread)) = (queue, self.thread(queue)) {
            if thread > PER_THREAD {
                let clock = self.threads[thread].clock.clone();
                if !self.is_past(&clock) {
                    self.sync(queue);
                }
                self.threads[thread].live = false;
                self.streams[n] = Stream::Gone;
            }
        }
        self.plain(Op::DestroyStream { queue });
    }

    fn allocate(&mut self, op: Op, piece: usize, size: usize, source: Source, salt: u64) {
        let Source::Async(queue) = source else { return self.allocate_on(op, piece, size, source, NULL, salt) };
        if !self.can_name(queue) {
            return;
        }
        match self.thread(queue) {
            Some(thread) => self.allocate_on(op, piece, size, source, thread, salt),
            None => self.plain(op),
        }
    }

    fn allocate_on(&mut self, op: Op, piece: usize, size: usize, source: Source, thread: usize, salt: u64) {
        if self.pieces[piece].live {
            let place = Place { base: Base::Piece(piece), offset: 0 };
            self.add(Op::Free { place, how: Release::Free }, salt);
        }
        let (good, host, bytes) = match source {
            Source::Malloc | Source::Async(_) => (true, false, size),
            Source::Pinned(flags) => (flags >> 30 != 3, true, size),
            Source::Managed(flags) => (flags == 1 || flags == 2, true, size),
            Source::Pitch(rows) => (true, false, size.next_multiple_of(256).saturating_mul(rows)),
        };
        // Sizes of 0, or for which there is no memory.
        let good = good && bytes < 1 << 30 && (bytes > 0 || !matches!(source, Source::Managed(_)));
        match source {
            Source::Async(_) if good && bytes > 0 => self.work(op, thread, &[(Memory::Piece(piece), true)], salt),
            _ => self.plain(op),
        }
        if !good {
            return;
        }
        self.pieces.iter_mut().for_each(|piece| piece.stale = false);
        let used = if matches!(source, Source::Async(_)) { self.pieces[piece].used.clone() } else { Used::default() };
        let pooled = matches!(source, Source::Async(_));
        self.pieces[piece] = Piece { live: true, size: bytes, host, pooled, stale: false, used };
        if bytes > 0 {
            let (to, value) = (Place { base: Base::Piece(piece), offset: 0 }, salt as u32);
            let fill = Op::Fill { to, value, count: bytes, width: 0, call: Call::Plain };
            match host {
                true => {
                    self.work(Op::Write { to, value: value as u8, bytes }, HOST, &[(Memory::Piece(piece), true)], salt)
                }
                false => self.fill(fill, to, bytes, Call::Plain, salt),
            }
        }
    }

    fn free(&mut self, op: Op, place: Place, how: Release, salt: u64) {
        if let Release::Async(queue) = how {
            if !self.can_name(queue) {
                return;
            }
        }
        let target = self.target(place);
        match (target, place.base) {
            (Target::Unclear, _) | (Target::Known(_), Base::Own(_)) => {}
            // 5.7 accepts it, and ends the process later.
            (Target::Own(_) | Target::Nothing, _) if matches!(how, Release::Async(_)) => {}
            (Target::Known(_), Base::Piece(n)) if place.offset == 0 => {
                let Release::Async(queue) = how else {
                    self.plain(op);
                    let piece = &mut self.pieces[n];
                    // A pool keeps the addresses of its memory.
                    (piece.live, piece.stale) = (false, !piece.pooled);
                    return;
                };
                if self.pieces[n].host {
                    return;
                }
                match self.thread(queue) {
                    Some(thread) => {
                        self.work(op, thread, &[(Memory::Piece(n), true)], salt);
                        (self.pieces[n].live, self.pieces[n].stale) = (false, false);
                    }
                    None => self.plain(op),
                }
            }
            (_, Base::Piece(n)) if self.pieces[n].live && place.offset == 0 => {
                // Zero bytes.
                self.plain(op);
                if how == Release::Free || how == Release::HostFree {
                    self.pieces[n].live = false;
                }
            }
            // The real runtime frees all of an allocation if it is given an address inside it.
            (Target::Known(_), _) => {}
            _ => self.plain(op),
        }
    }

    /// A copy. Each end is an address with the range of bytes, and whether they are in order.
    fn copy(
        &mut self,
        op: Op,
        (to, to_bytes, fits): (Place, usize, bool),
        (from, from_bytes, _): (Place, usize, bool),
        kind: u32,
        call: Call,
        salt: u64,
    ) {
        let queue = Self::call_queue(call);
        if !self.can_name(queue) {
            return;
        }
        let typed = matches!(call, Call::Typed | Call::TypedAsync(_));
        let kind = if typed && !(1..=2).contains(&kind) { 3 } else { kind };
        let (target, source) = (self.target(to), self.target(from));
        if target == Target::Unclear || source == Target::Unclear {
            return;
        }
        let inside = |target: Target, bytes: usize| match target {
            Target::Known(left) | Target::Own(left) => bytes <= left,
            _ => false,
        };
        let is_nothing = to_bytes == 0 || from_bytes == 0;
        // The typed functions do not store the error.
        let Some(thread) = self.thread(queue) else {
            if !matches!(call, Call::TypedAsync(_)) {
                self.plain(op);
            }
            return;
        };
        if is_nothing || !fits || target == Target::Null || source == Target::Null || kind > 4 {
            // Refused, or nothing to do. For an invalid kind, 5.7 copies.
            if kind <= 4 || is_nothing || inside(target, to_bytes) && inside(source, from_bytes) {
                self.plain(op);
            }
            return;
        }
        let known = |target: Target| matches!(target, Target::Known(_));
        if !inside(target, to_bytes) || !inside(source, from_bytes) {
            // Refused if HIP knows the memory; for row copies, not in every release.
            let refused = known(target) && !inside(target, to_bytes) || known(source) && !inside(source, from_bytes);
            // Nothing is checked about host memory that is claimed to be GPU memory.
            let both_unknown = !known(target) && !known(source) && (1..=3).contains(&kind);
            // Memory from a pool may be larger than requested.
            let pooled = [to, from].iter().any(|place| matches!(place.base, Base::Piece(n) if self.pieces[n].pooled));
            if matches!(op, Op::Copy { .. }) && !pooled && (refused || both_unknown) {
                self.plain(op);
            }
            return;
        }
        // hip-sim requires GPU memory if the kind says so.
        if (kind == 1 || kind == 3) && !known(target) || (kind == 2 || kind == 3) && !known(source) {
            return;
        }
        // The result of overlapping ranges is unspecified.
        if Self::memory(to) == Self::memory(from) {
            let apart = to.offset + to_bytes <= from.offset || from.offset + from_bytes <= to.offset;
            if !apart {
                return;
            }
        }
        let uses: Vec<(Memory, bool)> = [(from, false), (to, true)]
            .into_iter()
            .filter_map(|(place, write)| Some((Self::memory(place)?, write)))
            .collect();
        // Memory of the program may be read or written as soon as the call is made.
        for (end, write) in [(source, false), (target, true)] {
            let place = if write { to } else { from };
            if let (Target::Own(_), Some(memory)) = (end, Self::memory(place)) {
                self.order(HOST, memory, write, salt);
            }
        }
        self.work(op, thread, &uses, salt);
        let waits = matches!(call, Call::Plain | Call::With(_) | Call::Typed);
        if waits && known(target) != known(source) {
            let clock = self.threads[thread].clock.clone();
            self.threads[HOST].clock.join(&clock);
        }
    }

    fn fill(&mut self, op: Op, to: Place, bytes: usize, call: Call, salt: u64) {
        let queue = Self::call_queue(call);
        if !self.can_name(queue) {
            return;
        }
        let Some(thread) = self.thread(queue) else { return self.plain(op) };
        match (self.target(to), Self::memory(to)) {
            (Target::Unclear, _) => {}
            (Target::Known(left), Some(memory)) if bytes <= left && bytes > 0 => {
                self.work(op, thread, &[(memory, true)], salt);
            }
            (Target::Known(_), Some(Memory::Piece(n))) if bytes > 0 && self.pieces[n].pooled => {}
            _ => self.plain(op),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn launch(
        &mut self,
        op: Op,
        kernel: Kernel,
        data: [Place; 3],
        n: u32,
        grid: [u32; 3],
        block: [u32; 3],
        lds: u32,
        queue: Queue,
        salt: u64,
    ) {
        if !self.can_name(queue) {
            return;
        }
        let threads = block.iter().fold(1, |product: u64, dimension| product.saturating_mul(u64::from(*dimension)));
        let blocks = grid.iter().fold(1, |product: u64, dimension| product.saturating_mul(u64::from(*dimension)));
        // If accepted, so many threads would take too long.
        let odd = block.contains(&0) || grid.contains(&0) || threads > 1024;
        if kernel == Kernel::None && (odd || lds > 4096 || self.thread(queue).is_none()) {
            // If there are two errors, it is not specified which one is reported.
            return;
        }
        let across = u64::from(grid[0]) * u64::from(block[0]);
        if blocks > 1000 && across <= u64::from(u32::MAX) && threads <= 1024 {
            return;
        }
        let words = match kernel {
            Kernel::Add | Kernel::Sum => n as usize,
            Kernel::Slow => block[0].min(1024) as usize,
            Kernel::Bounded => 64,
            Kernel::Empty | Kernel::None => 0,
        };
        let writes: &[bool] = match kernel {
            Kernel::Add | Kernel::Slow | Kernel::Bounded => &[true],
            Kernel::Sum => &[false, false, true],
            Kernel::Empty | Kernel::None => &[],
        };
        let mut uses = Vec::new();
        for (place, write) in data.iter().zip(writes) {
            let fits = matches!(self.target(*place), Target::Known(left) if left >= 4 * words.max(1));
            let Some(memory) = Self::memory(*place).filter(|_| fits && place.offset % 4 == 0) else { return };
            uses.push((memory, *write));
        }
        // If one buffer is passed for two arguments, threads of the same kernel would race.
        if kernel == Kernel::Sum && (uses[0].0 == uses[2].0 || uses[1].0 == uses[2].0) {
            return;
        }
        // If several blocks store to the same words, any may be the last; they store the same values, except for these.
        match self.thread(queue) {
            Some(thread) => self.work(op, thread, &uses, salt),
            None => self.plain(op),
        }
    }
}
