//! Wakes tasks that wait for a state that can only be polled.

use std::sync::{Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// Interval between polls.
const PERIOD: Duration = Duration::from_millis(1);

struct Waiting {
    wakers: Vec<Waker>,
    /// Whether the thread that wakes them runs.
    ticking: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { wakers: Vec::new(), ticking: false });

/// Wakes a task after a millisecond.
pub(crate) fn wake_soon(waker: &Waker) {
    let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
    waiting.wakers.push(waker.clone());
    if waiting.ticking {
        return;
    }
    waiting.ticking = std::thread::Builder::new().name("rccl ticker".to_owned()).spawn(tick).is_ok();
    if !waiting.ticking {
        // Without a thread, the task polls again immediately.
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn tick() {
    loop {
        std::thread::sleep(PERIOD);
        let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.wakers.is_empty() {
            waiting.ticking = false;
            return;
        }
        let wakers = std::mem::take(&mut waiting.wakers);
        drop(waiting);
        wakers.into_iter().for_each(Waker::wake);
    }
}
