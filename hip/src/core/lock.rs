//! Locks, as this crate uses them.
//!
//! Poisoning is ignored: the data behind these locks is consistent after every statement. A lock must not be taken in
//! the child of a `fork`, where the thread that holds it may not exist. Callers check for that first, and builds with
//! debug assertions verify it.

use std::sync::{Condvar, LockResult, PoisonError, TryLockError, TryLockResult};
pub(crate) use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use crate::core::context;

fn whole<G>(guard: LockResult<G>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
}

fn tried<G>(guard: TryLockResult<G>) -> Option<G> {
    match guard {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[inline]
#[track_caller]
fn expect_no_fork() {
    debug_assert!(!context::is_forked(), "a lock of the parent's is taken in a forked child");
}

#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(std::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    #[inline]
    #[track_caller]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        expect_no_fork();
        whole(self.0.lock())
    }

    #[inline]
    #[track_caller]
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        expect_no_fork();
        tried(self.0.try_lock())
    }
}

#[derive(Debug, Default)]
pub(crate) struct RwLock<T: ?Sized>(std::sync::RwLock<T>);

impl<T> RwLock<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::sync::RwLock::new(value))
    }
}

impl<T: ?Sized> RwLock<T> {
    #[inline]
    #[track_caller]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, T> {
        expect_no_fork();
        whole(self.0.read())
    }

    #[inline]
    #[track_caller]
    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, T> {
        expect_no_fork();
        whole(self.0.write())
    }

    #[inline]
    #[track_caller]
    pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        expect_no_fork();
        tried(self.0.try_write())
    }
}

/// Two groups of callers. Any number of callers of one group can be inside, but not of both groups.
#[derive(Debug)]
pub(crate) struct Rooms {
    state: Mutex<State>,
    changed: Condvar,
}

/// One of the two groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    First,
    Second,
}

#[derive(Debug)]
struct State {
    inside: Option<(Room, usize)>,
    /// Waiting callers of each group.
    waiting: [usize; 2],
}

impl Rooms {
    pub(crate) const fn new() -> Self {
        Self { state: Mutex::new(State { inside: None, waiting: [0; 2] }), changed: Condvar::new() }
    }

    /// Blocks while the other group is inside or waits for this one to leave. A thread must not enter twice.
    #[track_caller]
    pub(crate) fn enter(&self, room: Room) -> InRoom<'_> {
        let mut state = self.state.lock();
        state.waiting[room as usize] += 1;
        while !state.admits(room) {
            state = whole(self.changed.wait(state));
        }
        state.waiting[room as usize] -= 1;
        self.inside(state, room)
    }

    /// Enters unless it would block.
    #[track_caller]
    pub(crate) fn try_enter(&self, room: Room) -> Option<InRoom<'_>> {
        let state = self.state.lock();
        state.admits(room).then(|| self.inside(state, room))
    }

    fn inside(&self, mut state: MutexGuard<'_, State>, room: Room) -> InRoom<'_> {
        let count = state.inside.map_or(0, |(_, count)| count);
        state.inside = Some((room, count + 1));
        InRoom(self)
    }
}

impl State {
    fn admits(&self, room: Room) -> bool {
        self.inside.is_none_or(|(inside, _)| inside == room && self.waiting[room.other() as usize] == 0)
    }
}

impl Room {
    fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// Keeps its group inside until it is dropped.
#[must_use]
#[derive(Debug)]
pub(crate) struct InRoom<'a>(&'a Rooms);

impl Drop for InRoom<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.inside = state.inside.and_then(|(room, count)| (count > 1).then_some((room, count - 1)));
        drop(state);
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_group_is_inside_at_a_time_and_both_get_their_turn() {
        let rooms = Rooms::new();
        let inside = [AtomicUsize::new(0), AtomicUsize::new(0)];
        let together = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for room in [Room::First, Room::First, Room::Second, Room::Second] {
                let (rooms, inside, together) = (&rooms, &inside, &together);
                scope.spawn(move || {
                    for _ in 0..500 {
                        let _in = rooms.enter(room);
                        let own = inside[room as usize].fetch_add(1, Ordering::SeqCst) + 1;
                        together.fetch_max(own, Ordering::SeqCst);
                        assert_eq!(inside[room.other() as usize].load(Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside[room as usize].fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert!((1..=2).contains(&together.into_inner()));
    }

    #[test]
    fn who_comes_after_one_of_the_other_group_waits_for_it() {
        let rooms = Rooms::new();
        let first = rooms.enter(Room::First);
        assert!(rooms.try_enter(Room::First).is_some() && rooms.try_enter(Room::Second).is_none());
        std::thread::scope(|scope| {
            let second = scope.spawn(|| drop(rooms.enter(Room::Second)));
            while rooms.try_enter(Room::First).is_some() {
                std::thread::yield_now();
            }
            drop(first);
            second.join().unwrap();
        });
        assert!(rooms.try_enter(Room::Second).is_some());
    }
}
