//! The threads that run workgroups.
//!
//! Workgroups start in order, lowest number first, so one that waits for an earlier one (a look-back scan) gets on. One that
//! waits for a later one (a barrier over the grid) does too: a worker whose workgroups only give way starts others beside them.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex, PoisonError};

use super::group::{Group, Progress};
use super::schedule::{SIDE_BY_SIDE, Shuffle};
use super::{Job, Stats, kind_of};
use crate::exec::mem::View;
use crate::fault::{Fault, FaultKind, LaunchError};

/// Rounds in which nothing ended before as many workgroups again are started beside those that run.
const PATIENCE: u32 = 8;
/// Workgroups that a worker runs side by side at most.
const MAX_RESIDENT: usize = 256;

/// What the workers of a dispatch share.
struct Shared {
    next: AtomicU64,
    stop: AtomicBool,
    spent: AtomicU64,
    /// The fault of the lowest workgroup that has had one.
    fault: Mutex<Option<(u64, Fault)>>,
    stats: Mutex<Stats>,
}

/// Runs all workgroups of `job`.
pub(super) fn run(job: &Job<'_>) -> Result<Stats, Fault> {
    let shared = Shared {
        next: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        spent: AtomicU64::new(0),
        fault: Mutex::new(None),
        stats: Mutex::default(),
    };
    let threads = job.gpu.threads();
    let workers = job.workers(threads);
    let pool = if workers > 1 { job.gpu.pool() } else { None };
    match pool {
        None => work(job, &shared),
        // The calling thread is one of the workers.
        Some(pool) => pool.in_place_scope(|scope| {
            for _ in 1..workers {
                scope.spawn(|_| work(job, &shared));
            }
            work(job, &shared);
        }),
    }
    let fault = shared.fault.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, fault)) = fault {
        return Err(fault);
    }
    let stats = shared.stats.into_inner().unwrap_or_else(PoisonError::into_inner);
    job.learn(&stats);
    Ok(stats)
}

/// Takes workgroups until none is left.
fn work(job: &Job<'_>, shared: &Shared) {
    let memory = job.gpu.memory();
    let budget = job.gpu.config().instruction_budget;
    let mut stats = Stats::default();
    let mut running: Vec<(u64, Group)> = Vec::new();
    let mut idle: Vec<Group> = Vec::new();
    let mut shuffle = Shuffle::of(job.gpu.config().schedule);
    // Short turns are not a sign of workgroups that wait for others.
    let (least, patience) = if shuffle.is_some() { (SIDE_BY_SIDE, PATIENCE << 10) } else { (1, PATIENCE) };
    let mut wanted = least;
    let mut rounds = 0;
    let mut view = View::new(job.gpu.memory_arc(), job.gpu.agent(), job.own.clone());
    let fail = |index: u64, fault: Fault| {
        let mut first = shared.fault.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref().is_none_or(|(other, _)| index < *other) {
            *first = Some((index, fault));
        }
        shared.stop.store(true, Relaxed);
    };
    let mut spend = |instructions: u64| match budget {
        None => !shared.stop.load(Relaxed) && !job.is_cancelled(),
        Some(limit) => {
            shared.spent.fetch_add(instructions, Relaxed).saturating_add(instructions) <= limit && !job.is_cancelled()
        }
    };
    while !shared.stop.load(Relaxed) {
        while running.len() < wanted {
            let index = shared.next.fetch_add(1, Relaxed);
            if index >= job.total {
                // Never let it wrap.
                shared.next.store(job.total, Relaxed);
                break;
            }
            let Some(mut group) = idle.pop().or_else(|| Group::new(job)) else {
                let error = LaunchError::ScratchTooLarge { private: job.scratch, limit: super::MAX_SCRATCH };
                fail(index, Fault::launch(job.kernel, error));
                return;
            };
            let index = shuffle.as_mut().map_or(index, |s| s.workgroup(index, job.total));
            group.begin(job, index);
            stats.workgroups += 1;
            stats.waves += group.waves();
            running.push((index, group));
        }
        if running.is_empty() {
            break;
        }
        let mut at = 0;
        let mut ended = false;
        while at < running.len() && !shared.stop.load(Relaxed) {
            let (index, group) = &mut running[at];
            let (progress, spent) = group.go_on(job, &mut view, &mut spend, shuffle.as_mut());
            stats.instructions += spent;
            match progress {
                Progress::Running => at += 1,
                Progress::Done => {
                    idle.push(running.swap_remove(at).1);
                    ended = true;
                }
                Progress::Failed(trap, place) => {
                    fail(*index, Fault::new(job.kernel, kind_of(&trap)).at(place, memory));
                }
                Progress::OverBudget(place) => {
                    // Without a budget it was another worker that stopped the dispatch.
                    if job.is_cancelled() {
                        fail(*index, Fault::new(job.kernel, FaultKind::Cancelled).at(place, memory));
                    } else if let Some(limit) = budget {
                        fail(*index, Fault::new(job.kernel, FaultKind::Budget(limit)).at(place, memory));
                    }
                }
            }
        }
        if ended {
            rounds = 0;
            wanted = running.len().max(least);
        } else {
            rounds += 1;
            if rounds >= patience && wanted < MAX_RESIDENT {
                (rounds, wanted) = (0, 2 * wanted);
            }
        }
    }
    let mut total = shared.stats.lock().unwrap_or_else(PoisonError::into_inner);
    total.instructions += stats.instructions;
    total.waves += stats.waves;
    total.workgroups += stats.workgroups;
}
