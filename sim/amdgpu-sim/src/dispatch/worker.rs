//! The threads that run workgroups.
//!
//! Workgroups start in order, lowest number first, so one that waits for an earlier one (a look-back scan) makes
//! progress. One that waits for a later one (a grid barrier) does too: a worker whose workgroups only wait starts
//! further ones, up to the number that the GPU holds at once. Waiting for another dispatch or for the host is cheap:
//! the worker yields to other threads, then sleeps for increasing times.

use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::failure::kind_of;
use super::group::{Group, Progress};
use super::job::{Job, Stats};
use super::limits::MAX_SCRATCH;
use super::schedule::{SIDE_BY_SIDE, Shuffle};
use crate::exec::mem::View;
use crate::fault::{Fault, FaultKind, FaultPlace, LaunchError};
use crate::observe::{Observations, Observer};
use crate::pool::Others;

/// Rounds without progress after which the number of workgroups that run side by side is increased.
const PATIENCE: u32 = 32;
/// How long a helper stays while another dispatch wants one.
const SLICE: Duration = Duration::from_millis(5);
/// Rounds of waiting in which a worker only yields, before it begins to sleep.
const YIELDS: u32 = 16;
/// The shortest and the longest sleep.
const NAPS: (Duration, Duration) = (Duration::from_micros(10), Duration::from_micros(100));
/// The waiting time for which one instruction is charged to the budget.
const WAIT_PER_INSTRUCTION: Duration = Duration::from_nanos(10);

/// The state that the workers of a dispatch share.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    spent: AtomicU64,
    /// The fault of the lowest-numbered failed workgroup.
    fault: Mutex<Option<(u64, Fault)>>,
    stats: Mutex<Stats>,
    /// The observations of finished workers.
    observed: Mutex<Option<Observations>>,
    /// The number of workgroups that have begun and not ended. Only counted if the GPU does not hold all at once.
    resident: AtomicUsize,
    floor: Mutex<Floor>,
    /// The length of `floor.parked`, as far as known without the lock.
    parked: AtomicUsize,
    /// The dispatch's own thread is idle and would take a helper's workgroups.
    hungry: AtomicBool,
    /// Wakes the dispatch's own thread: a helper has left or parked workgroups.
    changed: Condvar,
}

/// State under the lock.
#[derive(Default)]
struct Floor {
    /// Workgroups that have begun and belong to no worker.
    parked: VecDeque<(u64, Box<Group>)>,
    /// Helpers at work.
    helpers: usize,
}

impl Shared {
    fn floor(&self) -> MutexGuard<'_, Floor> {
        self.floor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves workgroups to other workers.
    fn park(&self, groups: impl Iterator<Item = (u64, Box<Group>)>) {
        let mut floor = self.floor();
        floor.parked.extend(groups);
        self.parked.store(floor.parked.len(), Relaxed);
        self.changed.notify_all();
    }

    /// Takes a parked workgroup.
    fn take_parked(&self) -> Option<(u64, Box<Group>)> {
        if self.parked.load(Relaxed) == 0 {
            return None;
        }
        let mut floor = self.floor();
        let group = floor.parked.pop_front();
        self.parked.store(floor.parked.len(), Relaxed);
        group
    }

    /// Stops the dispatch. The fault of the lowest-numbered workgroup is reported.
    fn fail(&self, index: u64, fault: Fault) {
        let mut first = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| index < *other) {
            *first = Some((index, fault));
        }
        self.stop.store(true, Relaxed);
    }
}

impl Shared {
    /// Stops the dispatch at a workgroup, because it was cancelled or the budget is exhausted.
    #[cold]
    fn cut_off(&self, job: &Job<'_>, index: u64, place: FaultPlace) {
        let kind = match job.gpu.config().instruction_budget {
            _ if job.gpu.is_lost() => FaultKind::Lost,
            _ if job.is_cancelled() => FaultKind::Cancelled,
            Some(limit) => FaultKind::Budget(limit),
            // Another worker stopped the dispatch.
            None => return,
        };
        self.fail(index, Fault::new(job.kernel, kind).at(place, job));
    }
}

/// A helper at work. Its drop handles a panic.
struct Present<'s> {
    job: &'s Job<'s>,
    shared: &'s Shared,
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // Its workgroups are lost.
            let what = "a helping thread panicked, which is a bug of the software GPU";
            self.shared.fail(u64::MAX, Fault::new(self.job.kernel, FaultKind::Unsupported(what.to_owned())));
        }
        self.shared.floor().helpers -= 1;
        self.shared.changed.notify_all();
    }
}

/// Runs all workgroups of `job`.
pub(super) fn run(job: &Job<'_>) -> Result<Stats, Fault> {
    let shared = Shared {
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        spent: AtomicU64::new(0),
        fault: Mutex::new(None),
        stats: Mutex::default(),
        observed: Mutex::new(None),
        resident: AtomicUsize::new(0),
        floor: Mutex::default(),
        parked: AtomicUsize::new(0),
        hungry: AtomicBool::new(false),
        changed: Condvar::new(),
    };
    let threads = job.gpu.threads();
    let workers = job.workers(threads);
    let pool = if workers > 1 { Some(job.gpu.pool()) } else { None };
    match pool {
        None => {
            work(job, &shared, None);
        }
        Some(pool) => {
            let help = |others: &Others<'_>| {
                shared.floor().helpers += 1;
                let _present = Present { job, shared: &shared };
                work(job, &shared, Some(others))
            };
            pool.share(workers - 1, &help, || work_to_the_end(job, &shared));
        }
    }
    let observed = shared.observed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let findings = observed.map_or_else(Vec::new, |all| all.finish(&job.subject()));
    let fault = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, fault)) = fault {
        return Err(fault);
    }
    let stats = shared.stats.into_inner().unwrap_or_else(PoisonError::into_inner);
    job.learn(&stats);
    if !findings.is_empty() {
        return Err(Fault::new(job.kernel, FaultKind::Checks(findings)));
    }
    Ok(stats)
}

/// The main loop of the dispatch's own thread, which leaves last.
fn work_to_the_end(job: &Job<'_>, shared: &Shared) {
    loop {
        work(job, shared, None);
        let mut floor = shared.floor();
        while floor.parked.is_empty() {
            if floor.helpers == 0 {
                return;
            }
            shared.hungry.store(true, Relaxed);
            floor = shared.changed.wait(floor).unwrap_or_else(PoisonError::into_inner);
        }
        shared.hungry.store(false, Relaxed);
        if shared.stop.load(Relaxed) {
            return;
        }
    }
}

/// Runs workgroups until none is left, or until a helper (which has `others`) is wanted elsewhere. Returns whether
/// there is more to do.
fn work(job: &Job<'_>, shared: &Shared, others: Option<&Others<'_>>) -> bool {
    let budget = job.gpu.config().instruction_budget;
    let bounded = job.total > job.resident;
    let mut stats = Stats::default();
    let mut running: SmallVec<[(u64, Box<Group>); 1]> = SmallVec::new();
    let mut idle: SmallVec<[Box<Group>; 1]> = SmallVec::new();
    let mut observer = Observer::of(job.subject());
    let mut shuffle = Shuffle::of(job.gpu.config().schedule);
    // Short turns do not indicate that workgroups wait for others.
    let (least, patience) = if shuffle.is_some() { (SIDE_BY_SIDE, PATIENCE << 8) } else { (1, PATIENCE) };
    let mut wanted = least;
    let mut rounds = 0;
    let mut waits = 0;
    let mut view = View::new(job.gpu.memory_arc(), job.gpu.agent(), job.own.clone());
    let mut spend = |instructions: u64| match budget {
        None => !shared.stop.load(Relaxed) && !job.is_cancelled(),
        Some(limit) => {
            shared.spent.fetch_add(instructions, Relaxed).saturating_add(instructions) <= limit && !job.is_cancelled()
        }
    };
    let mut more = false;
    let came = others.map(|_| Instant::now());
    'work: while !shared.stop.load(Relaxed) {
        while running.len() < wanted {
            if let Some(parked) = shared.take_parked() {
                running.push(parked);
                continue;
            }
            let full = bounded && !running.is_empty() && shared.resident.load(Relaxed) as u64 >= job.resident;
            if full || shared.next.load(Relaxed) >= job.total {
                break;
            }
            let index = shared.next.fetch_add(1, Relaxed);
            if index >= job.total {
                // Prevents a wrap-around.
                shared.next.store(job.total, Relaxed);
                break;
            }
            let Some(mut group) = idle.pop().or_else(|| Group::new(job)) else {
                let error = LaunchError::ScratchTooLarge { private: job.scratch, limit: MAX_SCRATCH };
                shared.fail(index, Fault::launch(job.kernel, error));
                break 'work;
            };
            let index = shuffle.as_mut().map_or(index, |s| s.workgroup(index, job.total));
            group.begin(job, index, observer.as_mut());
            // Instructions of waves that end are not checked; they count from the next workgroup on.
            if !spend(0) && !shared.stop.load(Relaxed) {
                shared.cut_off(job, index, group.entry(job));
                break 'work;
            }
            stats.workgroups += 1;
            stats.waves += group.waves();
            if bounded {
                shared.resident.fetch_add(1, Relaxed);
            }
            running.push((index, group));
        }
        if running.is_empty() {
            break;
        }
        let mut at = 0;
        let (mut ended, mut gets_on) = (false, false);
        while at < running.len() && !shared.stop.load(Relaxed) {
            let (index, group) = &mut running[at];
            let (progress, spent) = group.go_on(job, &mut view, &mut spend, shuffle.as_mut(), observer.as_mut());
            stats.instructions += spent;
            match progress {
                Progress::Running => {
                    gets_on = true;
                    at += 1;
                }
                Progress::Waiting => at += 1,
                Progress::Done => {
                    idle.push(running.swap_remove(at).1);
                    if bounded {
                        shared.resident.fetch_sub(1, Relaxed);
                    }
                    ended = true;
                }
                Progress::Failed(trap, place) => {
                    shared.fail(*index, Fault::new(job.kernel, kind_of(&trap)).at(place, job));
                }
                Progress::OverBudget(place) => shared.cut_off(job, *index, place),
            }
        }
        let elsewhere = others.is_some_and(Others::want_help);
        if ended {
            (rounds, waits) = (0, 0);
            wanted = running.len().max(least);
        } else if gets_on {
            (rounds, waits) = (rounds + 1, 0);
            if rounds >= patience && wanted as u64 <= job.resident {
                (rounds, wanted) = (0, 2 * wanted);
            }
        } else if wanted <= running.len() && wanted as u64 <= job.resident {
            // All are waiting, perhaps for one that has not begun.
            wanted += wanted.div_ceil(2);
        } else if elsewhere {
            more = true;
            break;
        } else {
            waits += 1;
            spend(pause(waits));
        }
        if elsewhere && came.is_some_and(|came| came.elapsed() >= SLICE) {
            more = true;
            break;
        }
        if running.len() > 1 && others.is_some() && shared.hungry.load(Relaxed) {
            shared.hungry.store(false, Relaxed);
            shared.park(running.drain(running.len() / 2..));
        }
    }
    if more {
        shared.park(running.drain(..));
    }
    idle.into_iter().for_each(|group| group.keep(job));
    if let Some(observer) = observer {
        let mut all = shared.observed.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *all {
            Some(all) => all.merge(observer.done()),
            None => *all = Some(observer.done()),
        }
    }
    let mut total = shared.stats.lock().unwrap_or_else(PoisonError::into_inner);
    total.instructions += stats.instructions;
    total.waves += stats.waves;
    total.workgroups += stats.workgroups;
    more
}

/// Yields or sleeps, in the `waits`-th consecutive round without progress. Returns the number of instructions to
/// charge.
fn pause(waits: u32) -> u64 {
    if waits < YIELDS {
        std::thread::yield_now();
        return 0;
    }
    let nap = NAPS.1.min(NAPS.0 * (1 << ((waits - YIELDS) / 4).min(8)));
    std::thread::sleep(nap);
    (nap.as_nanos() / WAIT_PER_INSTRUCTION.as_nanos()) as u64
}
