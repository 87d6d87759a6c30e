//! Interprocess events: a shared page of memory holds the number of the last recording and the number of the last
//! completed one.
//!
//! A recording of another process is represented by a command of this process that completes when the page says so.
//! Other work waits for it as for any other recording.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use amdgpu_sim::{Agents, AllocKind, MemoryError, PAGE, Physical, Rights};
use hip_sys::rocm_7_2::hipErrorUnknown;

use crate::fault::{Failure, remember};
use crate::queue::{Order, Point, Priority, QueueKey, Work};
use crate::runtime::{Event, Record, Runtime, runtime};

/// The sleep between checks whether another process has completed a recording.
const NAP: Duration = Duration::from_micros(100);
/// The number of checks after which the existence of that process is checked.
const LOOKS: u32 = 100;

/// The state of an event that other processes share.
pub(crate) struct SharedEvent {
    page: Arc<Page>,
    /// The number of the last recording that this process knows of.
    known: Mutex<u64>,
    /// The queue of the commands that represent recordings of other processes.
    queue: QueueKey,
}

/// The shared memory, mapped in this process.
struct Page {
    physical: Arc<Physical>,
    base: u64,
}

/// The words of the page.
#[derive(Clone, Copy)]
enum Word {
    /// How often the event was recorded.
    Recorded,
    /// The number of the last completed recording.
    Done,
    /// The ID of the process that made the last recording.
    Process,
}

impl Page {
    fn word(&self, word: Word) -> &AtomicU64 {
        let place = std::ptr::with_exposed_provenance_mut((self.base + 8 * word as u64) as usize);
        // SAFETY: a word of the page, which is mapped as long as `self`, and which every process uses as an atomic.
        unsafe { AtomicU64::from_ptr(place) }
    }

    fn is_done(&self, number: u64) -> bool {
        self.word(Word::Done).load(Ordering::SeqCst) >= number
    }

    /// Waits until a recording is completed, or until the process that made the last recording has exited.
    fn wait(&self, number: u64) {
        let mut looks = 0;
        while !self.is_done(number) {
            looks += 1;
            let process = self.word(Word::Process).load(Ordering::SeqCst);
            if looks % LOOKS == 0 && !is_alive(process) {
                let text =
                    format!("process {process}, which has recorded an event, is gone, with the work in front of it");
                remember(&Failure::new(hipErrorUnknown, text));
                return;
            }
            std::thread::sleep(NAP);
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Ok(runtime) = runtime() {
            // Cannot fail: the memory was attached when the page was made.
            drop(runtime.memory().free(self.base));
        }
    }
}

impl SharedEvent {
    /// The event in the given shared memory, or in new memory.
    pub(crate) fn new(runtime: &Runtime, device: usize, physical: Option<Arc<Physical>>) -> Result<Self, MemoryError> {
        let physical = physical.map_or_else(|| runtime.memory().create_physical(PAGE, None), Ok)?;
        let base = runtime.memory().attach(&physical, AllocKind::Host, Rights::full(Agents::NONE))?;
        let queue = runtime.scheduler.open(device, Order::Free, Priority::Normal);
        Ok(Self { page: Arc::new(Page { physical, base }), known: Mutex::default(), queue })
    }

    /// The memory that other processes open.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it"))]
    pub(crate) fn physical(&self) -> &Physical {
        &self.page.physical
    }

    /// Begins a recording of this process and returns its number.
    fn begin(&self) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.page.word(Word::Process).store(u64::from(std::process::id()), Ordering::SeqCst);
        *known = self.page.word(Word::Recorded).fetch_add(1, Ordering::SeqCst) + 1;
        *known
    }

    /// Represents a newer recording of another process as a recording of this process; `None` if there is none.
    fn follow(&self, runtime: &Runtime) -> Option<Record> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let number = self.page.word(Word::Recorded).load(Ordering::SeqCst);
        if number == *known {
            return None;
        }
        let time = Arc::new(OnceLock::new());
        let point = if self.page.is_done(number) {
            time.get_or_init(Instant::now);
            Point { queue: self.queue, ticket: 0 }
        } else {
            let (page, clock) = (Arc::clone(&self.page), Arc::clone(&time));
            // Host work: only that may block for long without keeping device work from running.
            let wait = Work::Host(Box::new(move |_| {
                page.wait(number);
                clock.get_or_init(Instant::now);
            }));
            runtime.scheduler.submit(self.queue, wait, &[])?
        };
        *known = number;
        Some(Record { point, time })
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        let Ok(runtime) = runtime() else { return };
        let (scheduler, queue) = (Arc::clone(&runtime.scheduler), self.queue);
        if scheduler.last(queue).is_none_or(|point| scheduler.reached(point)) {
            scheduler.close(queue);
        } else {
            // Work that waits for the other process keeps waiting, but the caller does not.
            std::thread::spawn(move || scheduler.close(queue));
        }
    }
}

/// Returns whether a process with this ID exists.
#[cfg(unix)]
fn is_alive(process: u64) -> bool {
    let Ok(process) = libc::pid_t::try_from(process) else { return false };
    // SAFETY: signal 0 is not delivered; it only checks that the process exists.
    process > 0
        && (unsafe { libc::kill(process, 0) } == 0
            || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

#[cfg(not(unix))]
fn is_alive(_: u64) -> bool {
    false
}

impl Event {
    /// The event's last recording, of this process or another one.
    pub(crate) fn latest(&self, runtime: &Runtime) -> Option<Record> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followed) = self.shared.as_ref().and_then(|shared| shared.follow(runtime)) {
            *record = Some(followed);
        }
        record.clone()
    }

    /// The command of a recording: stores the time and marks the recording as completed for other processes.
    pub(crate) fn stamp(&self) -> (Arc<OnceLock<Instant>>, Work) {
        let time = Arc::new(OnceLock::new());
        let clock = Arc::clone(&time);
        let told = self.shared.as_ref().map(|shared| (Arc::clone(&shared.page), shared.begin()));
        let work = Work::Always(Box::new(move || {
            clock.get_or_init(Instant::now);
            if let Some((page, number)) = told {
                page.word(Word::Done).fetch_max(number, Ordering::SeqCst);
            }
        }));
        (time, work)
    }
}
