//! Interprocess events: a shared page of memory holds the number of the last recording and the number of the last
//! completed one.
//!
//! A recording of another process is represented by a command of this process that completes when the page says so.
//! Other work waits for it as for any other recording.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use amdgpu_sim::{Agents, AllocKind, Gpu, MemoryError, PAGE, Physical, Rights};
use hip_sys::rocm_7_2::hipErrorUnknown;

use crate::device::Device;
use crate::fault::{Failure, remember};
use crate::queue::{Order, Point, Priority, QueueKey, Scheduler, Work};
use crate::record::Record;

/// The sleep between checks whether another process has completed a recording.
const NAP: Duration = Duration::from_micros(100);
/// The number of checks after which the existence of that process is checked.
const LOOKS: u32 = 100;

/// The state of an event that other processes share.
pub(crate) struct SharedEvent {
    page: Arc<Page>,
    /// The number of the last recording that this process knows of.
    known: Mutex<u64>,
    scheduler: Arc<Scheduler>,
    /// The queue of the commands that represent recordings of other processes.
    queue: QueueKey,
}

/// The shared memory, mapped in this process.
struct Page {
    gpu: Arc<Gpu>,
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
        // Cannot fail: the memory was attached when the page was made.
        drop(self.gpu.memory().free(self.base));
    }
}

impl SharedEvent {
    /// The event in the given shared memory, or in new memory.
    pub(crate) fn new(
        scheduler: &Arc<Scheduler>,
        device: &Device,
        physical: Option<Arc<Physical>>,
    ) -> Result<Self, MemoryError> {
        let gpu = Arc::clone(&device.gpu);
        let physical = physical.map_or_else(|| gpu.memory().create_physical(PAGE, None), Ok)?;
        let base = gpu.memory().attach(&physical, AllocKind::Host, Rights::full(Agents::NONE))?;
        let queue = scheduler.open(device.ordinal, Order::Free, Priority::Normal);
        let page = Arc::new(Page { gpu, physical, base });
        Ok(Self { page, known: Mutex::default(), scheduler: Arc::clone(scheduler), queue })
    }

    /// The memory that other processes open.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has it"))]
    pub(crate) fn physical(&self) -> &Physical {
        &self.page.physical
    }

    /// Begins a recording of this process. The returned function marks it as completed.
    pub(crate) fn begin(&self) -> impl FnOnce() + Send + use<> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.page.word(Word::Process).store(u64::from(std::process::id()), Ordering::SeqCst);
        let number = self.page.word(Word::Recorded).fetch_add(1, Ordering::SeqCst) + 1;
        *known = number;
        let page = Arc::clone(&self.page);
        move || _ = page.word(Word::Done).fetch_max(number, Ordering::SeqCst)
    }

    /// Represents a newer recording of another process as a recording of this process; `None` if there is none.
    pub(crate) fn follow(&self) -> Option<Record> {
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
            self.scheduler.submit(self.queue, wait, &[])?
        };
        *known = number;
        Some(Record { point, time })
    }
}

impl Drop for SharedEvent {
    fn drop(&mut self) {
        let (scheduler, queue) = (Arc::clone(&self.scheduler), self.queue);
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
