//! Runs numbered cases: a fixed number of them in a test, or as many as fit in a given time (`cargo xtask fuzz`).
//!
//! A case depends only on its number, so the number is enough to reproduce it. The environment:
//! * `ROCM_RS_FUZZ_COUNT`: the number of cases;
//! * `ROCM_RS_FUZZ_SHARE`: divides the default number of cases;
//! * `ROCM_RS_FUZZ_SECONDS`: runs for this time;
//! * `ROCM_RS_FUZZ_START`: the first case (default 0);
//! * `ROCM_RS_FUZZ_CASE`: runs only this case;
//! * `ROCM_RS_FUZZ_TRACE`: a file in which each thread records its current case, for the case that the process crashes.

use std::io::Write as _;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The time after which a case is considered to hang: the slowest take some milliseconds. It is reported by number. If
/// the cases run for a given time, the process is also ended, so that `cargo xtask fuzz` continues; in tests the step's
/// watchdog does that.
const HANGS: Duration = Duration::from_secs(180);

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text:?} is no number")))
}

/// The file in which the threads record their current cases.
struct Trace(Option<std::fs::File>);

impl Trace {
    fn open() -> Self {
        let path = std::env::var_os("ROCM_RS_FUZZ_TRACE");
        Self(path.and_then(|path| std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(path).ok()))
    }

    fn note(&self, thread: usize, name: &str, case: u64) {
        #[cfg(unix)]
        if let Some(file) = &self.0 {
            use std::os::unix::fs::FileExt;
            let line = format!("{:<63}\n", format!("{name} {case}"));
            // An unwritable trace is missed only if the process crashes.
            let _ = file.write_all_at(line.as_bytes(), 64 * thread as u64);
        }
        let _ = (thread, name, case);
    }
}

/// Runs `work` on cases of the target `name`: `count` of them, unless the environment overrides that. Returns their
/// number.
pub(crate) fn cases(name: &str, count: u64, work: impl Fn(u64) + Sync) -> u64 {
    if let Some(case) = number("ROCM_RS_FUZZ_CASE") {
        work(case);
        return 1;
    }
    let count = number("ROCM_RS_FUZZ_COUNT").unwrap_or(count / share());
    let time = number("ROCM_RS_FUZZ_SECONDS").map(Duration::from_secs);
    let start = number("ROCM_RS_FUZZ_START").unwrap_or(0);
    let begun = Instant::now();
    let more = |done: u64| time.map_or(done < count, |time| begun.elapsed() < time);
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let (next, stop, trace) = (AtomicU64::new(0), AtomicBool::new(false), Trace::open());
    // The current case of each thread, and its start in milliseconds.
    let at: Vec<(AtomicU64, AtomicU64)> = (0..threads).map(|_| (AtomicU64::new(0), AtomicU64::new(u64::MAX))).collect();
    let watch = || {
        let mut named = None;
        while !stop.load(Relaxed) {
            std::thread::park_timeout(Duration::from_secs(1));
            let now = begun.elapsed().as_millis() as u64;
            for (case, since) in &at {
                let case = case.load(Relaxed);
                if now.saturating_sub(since.load(Relaxed)) > HANGS.as_millis() as u64 && named != Some(case) {
                    named = Some(case);
                    // Bypasses libtest's capture.
                    let _ = writeln!(std::io::stderr(), "fuzz {name}: case {case} hangs");
                    if time.is_some() {
                        std::process::abort();
                    }
                }
            }
        }
    };
    let run = |thread: usize| {
        while !stop.load(Relaxed) {
            let first = next.fetch_add(16, Relaxed);
            for n in first..first + 16 {
                if stop.load(Relaxed) || !more(n) {
                    at[thread].1.store(u64::MAX, Relaxed);
                    return;
                }
                let case = start.wrapping_add(n);
                at[thread].0.store(case, Relaxed);
                at[thread].1.store(begun.elapsed().as_millis() as u64, Relaxed);
                trace.note(thread, name, case);
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(case))) {
                    eprintln!("fuzz {name}: case {case} failed (cargo xtask fuzz {name} --case {case})");
                    stop.store(true, Relaxed);
                    resume_unwind(panic);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        let watcher = scope.spawn(watch);
        let workers: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        stop.store(true, Relaxed);
        watcher.thread().unpark();
        if let Some(panic) = results.into_iter().find_map(Result::err) {
            resume_unwind(panic);
        }
    });
    let done = if time.is_some() { next.into_inner() } else { count };
    println!("fuzz {name}: {done} cases from {start} on");
    done
}

/// The usual number of cases is divided by this.
fn share() -> u64 {
    number("ROCM_RS_FUZZ_SHARE").unwrap_or(1).max(1)
}

/// Returns whether the environment sets the number of cases otherwise than by a share.
fn is_other_number() -> bool {
    let names = ["ROCM_RS_FUZZ_COUNT", "ROCM_RS_FUZZ_SECONDS", "ROCM_RS_FUZZ_CASE"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// Whether it is the usual number of cases.
#[allow(dead_code, reason = "not every test program asks for it")]
pub(crate) fn is_usual() -> bool {
    share() == 1 && !is_other_number()
}

/// The expected number of an outcome that occurs `usual` times in the default number of cases: scaled by the share; any
/// number if the number of cases was set.
#[allow(dead_code, reason = "not every test program asks for it")]
pub(crate) fn expected(usual: RangeInclusive<u64>) -> RangeInclusive<u64> {
    if is_other_number() { 0..=u64::MAX } else { usual.start() / share()..=usual.end().div_ceil(share()) }
}
