//! Events that processes share: a page of memory of both says which recording was the last, and which are done.
//!
//! A recording of another process becomes one of this process, which is done when the page says so: everything else waits for it
//! as for any other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use amdgpu_sim::{Agents, AllocKind, MemoryError, PAGE, Physical, Rights};
use hip_sys::rocm_7_2::hipErrorUnknown;

use crate::fault::{Failure, remember};
use crate::queue::{Order, Point, Priority, QueueKey, Work};
use crate::runtime::{Event, Record, Runtime, runtime};

/// How long a thread sleeps before it looks again whether another process has come to a recording.
const NAP: Duration = Duration::from_micros(100);
/// Looks between two questions whether that process is still there.
const LOOKS: u32 = 100;

/// What of an event other processes have too.
pub(crate) struct SharedEvent {
    page: Arc<Page>,
    /// The last recording that this process knows of, by number.
    known: Mutex<u64>,
    /// Where recordings of other processes stand.
    queue: QueueKey,
}

/// The memory of it, mapped here.
struct Page {
    physical: Arc<Physical>,
    base: u64,
}

/// The words of the page.
#[derive(Clone, Copy)]
enum Word {
    /// How often the event was recorded.
    Recorded,
    /// The largest number of a recording that is done.
    Done,
    /// The process that has made the last one.
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

    /// Returns when a recording is done, or when the process that has made the last one is gone.
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
            // Attached when it was made.
            drop(runtime.memory().free(self.base));
        }
    }
}

impl SharedEvent {
    /// What is in memory that is there, or new.
    pub(crate) fn new(runtime: &Runtime, device: usize, physical: Option<Arc<Physical>>) -> Result<Self, MemoryError> {
        let physical = physical.map_or_else(|| runtime.memory().create_physical(PAGE, None), Ok)?;
        let base = runtime.memory().attach(&physical, AllocKind::Host, Rights::full(Agents::NONE))?;
        let queue = runtime.scheduler.open(device, Order::Free, Priority::Normal);
        Ok(Self { page: Arc::new(Page { physical, base }), known: Mutex::default(), queue })
    }

    /// The memory that others open.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it"))]
    pub(crate) fn physical(&self) -> &Physical {
        &self.page.physical
    }

    /// Begins a recording of this process; its number.
    fn begin(&self) -> u64 {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.page.word(Word::Process).store(u64::from(std::process::id()), Ordering::SeqCst);
        *known = self.page.word(Word::Recorded).fetch_add(1, Ordering::SeqCst) + 1;
        *known
    }

    /// A recording that another process has made since, as one of this process; `None` if there is no such.
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
            // The host's work, which alone may take its time without keeping the device's from running.
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
            // What waits for the other process goes on waiting, but not the caller.
            std::thread::spawn(move || scheduler.close(queue));
        }
    }
}

/// Whether there is a process of this number.
#[cfg(unix)]
fn is_alive(process: u64) -> bool {
    let Ok(process) = libc::pid_t::try_from(process) else { return false };
    // SAFETY: signal 0 is none; it only asks.
    process > 0
        && (unsafe { libc::kill(process, 0) } == 0
            || std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM))
}

#[cfg(not(unix))]
fn is_alive(_: u64) -> bool {
    false
}

impl Event {
    /// Its last recording, of this process or another.
    pub(crate) fn latest(&self, runtime: &Runtime) -> Option<Record> {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(followed) = self.shared.as_ref().and_then(|shared| shared.follow(runtime)) {
            *record = Some(followed);
        }
        record.clone()
    }

    /// What is done when a recording's turn has come: the time is noted, and other processes are told.
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
