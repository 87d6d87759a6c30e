//! Locks, as this crate uses them.
//!
//! A panic while one is held spoils nothing: what they guard is whole after every statement. And none may be taken in the child of a
//! `fork`, where the thread that has it need not be: that is looked at first, which builds with debug assertions check.

use std::sync::{LockResult, PoisonError, TryLockError};
pub(crate) use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

use crate::core::context;

fn whole<G>(guard: LockResult<G>) -> G {
    guard.unwrap_or_else(PoisonError::into_inner)
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
        match self.0.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
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

    #[track_caller]
    pub(crate) fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        expect_no_fork();
        match self.0.try_write() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}
