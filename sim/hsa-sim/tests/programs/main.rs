//! A thousand random programs on both HIP runtimes: hip-sim's embedded one, and AMD's over hsa-sim. Both must return
//! the same status for every call and leave the same bytes in memory, for valid and invalid programs.
//!
//! A program is a list of calls generated from a seed ([`generate`], [`order`]). Both runtimes get the same list, each
//! in a separate process with many programs, and the results are compared. A program with a difference is minimised and
//! printed.
//!
//! `HSA_SIM_PROGRAMS=7,5000..6000` selects other seeds; the ignored tests run the older releases.
#![cfg(target_os = "linux")]

#[path = "../support/mod.rs"]
mod support;

mod generate;
mod interpret;
mod op;
mod order;
mod releases;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use generate::{Wish, wishes};
use interpret::Machine;
use order::program;
use releases::{Release, Verdict};

/// The programs for a process: `seed` or `seed:wish,wish,...`, one per line.
const JOB: &str = "HSA_SIM_PROGRAMS_JOB";
/// The file for its results.
const RESULT: &str = "HSA_SIM_PROGRAMS_RESULT";
/// Set if the embedded runtime is used.
const EMBEDDED: &str = "HSA_SIM_PROGRAMS_EMBEDDED";
/// Otherwise the release.
const RELEASE: &str = "HSA_SIM_PROGRAMS_RELEASE";
/// The seeds of one run.
const PROGRAMS: std::ops::Range<u64> = 0..1000;
/// The maximum run time of a process in seconds, for a search, which then continues. By default the step's watchdog
/// ends a process that hangs.
const PATIENCE: &str = "HSA_SIM_PROGRAMS_PATIENCE";
/// The number of differences that are printed.
const SHOWN: usize = 8;
/// The number of programs that may crash their process before the run is stopped.
const RESTARTS: usize = 12;

/// A program: its seed, and which of its wishes are included.
#[derive(Clone, Debug)]
struct Job {
    seed: u64,
    keep: Option<Vec<usize>>,
}

impl Job {
    fn wishes(&self) -> Vec<Wish> {
        let all = wishes(self.seed);
        match &self.keep {
            None => all,
            Some(keep) => keep.iter().filter_map(|n| all.get(*n).copied()).collect(),
        }
    }

    fn line(&self) -> String {
        match &self.keep {
            None => self.seed.to_string(),
            Some(keep) => {
                let list: Vec<_> = keep.iter().map(usize::to_string).collect();
                format!("{}:{}", self.seed, list.join(","))
            }
        }
    }

    fn parse(line: &str) -> Self {
        let (seed, keep) = match line.split_once(':') {
            None => (line, None),
            Some((seed, list)) => {
                let keep = list.split(',').filter(|n| !n.is_empty()).map(|n| n.parse().expect("a number"));
                (seed, Some(keep.collect()))
            }
        };
        Self { seed: seed.parse().expect("a seed"), keep }
    }
}

/// In a separate process: runs the job's programs on its HIP runtime.
#[test]
fn child() {
    let (Ok(job), Ok(result)) = (std::env::var(JOB), std::env::var(RESULT)) else { return };
    if std::env::var_os(EMBEDDED).is_some() {
        hip_sys::set_provider(hip_sim::provider()).expect("nothing has been called before");
    }
    let mut file = std::fs::File::create(result).expect("a file for the result");
    let release = std::env::var(RELEASE).unwrap_or_default();
    let mut machine = Machine::new(release == "5.7");
    for line in std::fs::read_to_string(job).expect("a job").lines() {
        let job = Job::parse(line);
        let mut say =
            |text: &str| std::io::Write::write_all(&mut file, text.as_bytes()).expect("the result is written");
        say(&format!("program {}\n", job.line()));
        say(&machine.run(&program(&job.wishes())));
        say("done\n");
    }
}

/// The runtime that runs programs.
#[derive(Clone, Copy)]
enum Backend {
    Embedded,
    Real(&'static Release),
}

/// The result of a process: the transcripts so far, and how it ended if it failed.
struct Part {
    transcripts: Vec<String>,
    trouble: Option<String>,
}

/// The results of several programs.
struct Outcome {
    /// One per program; `None` if the process ended in it.
    transcripts: Vec<Option<String>>,
    trouble: Option<String>,
}

fn start(backend: Backend, folder: &Path, jobs: &[Job]) -> Option<(Child, std::path::PathBuf)> {
    let name = match backend {
        Backend::Embedded => "embedded".to_owned(),
        Backend::Real(release) => release.name.to_owned(),
    };
    let (job, result) = (folder.join(format!("{name}.job")), folder.join(format!("{name}.result")));
    let lines = jobs.iter().fold(String::new(), |lines, job| lines + &job.line() + "\n");
    std::fs::write(&job, lines).expect("a job file");
    let mut command = match backend {
        Backend::Embedded => {
            let mut command = Command::new(std::env::current_exe().expect("this program"));
            command.env(EMBEDDED, "1");
            command
        }
        Backend::Real(release) => {
            let theirs = support::libraries(release.name, &[release.file])?;
            let ours = folder.join("hsa");
            let _ = std::fs::create_dir(&ours);
            let _ = std::os::unix::fs::symlink(support::library(), ours.join("libhsa-runtime64.so.1"));
            let mut command = Command::new(theirs.join("ld-linux-x86-64.so.2"));
            command.arg("--library-path").arg(format!("{}:{}", ours.display(), theirs.display()));
            command.arg(std::env::current_exe().expect("this program"));
            command.env(RELEASE, release.name).env("ROCM_PATH", support::trees().join(release.name).join("usr"));
            command
        }
    };
    for variable in ["HIP_PATH", "VIRTUAL_ENV", "CONDA_PREFIX"] {
        command.env_remove(variable);
    }
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(JOB, &job).env(RESULT, &result);
    command.env("RUST_BACKTRACE", "0");
    let log = std::fs::File::create(folder.join(format!("{name}.log"))).expect("a log");
    command.stdout(log.try_clone().expect("a log")).stderr(log).stdin(Stdio::null());
    Some((command.spawn().expect("the program starts"), result))
}

fn finish(mut child: Child, result: &Path) -> Part {
    let patience = std::env::var(PATIENCE).ok().map(|seconds| Duration::from_secs(seconds.parse().expect(PATIENCE)));
    let end = patience.map(|patience| Instant::now() + patience);
    let trouble = loop {
        match child.try_wait().expect("a process of ours") {
            Some(status) if status.success() => break None,
            Some(status) => break Some(format!("it ended with {status}")),
            None if end.is_some_and(|end| Instant::now() > end) => {
                let _ = child.kill();
                let _ = child.wait();
                break Some(format!("it had not ended after {patience:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = std::fs::read_to_string(result).unwrap_or_default();
    let mut transcripts = Vec::new();
    for part in text.split("program ").skip(1) {
        if let Some(whole) = part.strip_suffix("done\n") {
            transcripts.push(whole.split_once('\n').map_or("", |(_, rest)| rest).to_owned());
        }
    }
    let trouble = trouble.map(|trouble| {
        let log = std::fs::read_to_string(result.with_extension("log")).unwrap_or_default();
        let tail: Vec<_> = log.lines().rev().take(12).collect();
        let tail: Vec<_> = tail.into_iter().rev().collect();
        format!("{trouble}:\n{}", tail.join("\n"))
    });
    Part { transcripts, trouble }
}

/// Runs programs on both runtimes; `None` if the release is not available. After a crash, the remaining programs run in
/// a new process.
fn run(release: &'static Release, jobs: &[Job]) -> Option<[Outcome; 2]> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backends = [Backend::Embedded, Backend::Real(release)];
    let mut outcomes = [(); 2].map(|()| Outcome { transcripts: Vec::new(), trouble: None });
    for attempt in 0.. {
        // Both at the same time.
        let mut running = Vec::new();
        for (backend, outcome) in backends.into_iter().zip(&mut outcomes) {
            let left = &jobs[outcome.transcripts.len()..];
            if !left.is_empty() && (attempt == 0 || outcome.trouble.is_some() && attempt < RESTARTS) {
                running.push((start(backend, folder.path(), left)?, outcome, left.len()));
            }
        }
        if running.is_empty() {
            break;
        }
        for ((child, result), outcome, left) in running {
            let part = finish(child, &result);
            let lost = part.transcripts.len() < left;
            outcome.transcripts.extend(part.transcripts.into_iter().map(Some));
            if lost {
                outcome.transcripts.push(None);
            }
            outcome.trouble = part.trouble.or(outcome.trouble.take());
        }
    }
    Some(outcomes)
}

/// The difference of two runs of a program: both lines, or the failure.
fn difference(release: &Release, embedded: Option<&str>, real: Option<&str>) -> Option<String> {
    let (Some(embedded), Some(real)) = (embedded, real) else {
        let who = if embedded.is_none() { "hip-sim" } else { release.file };
        return Some(format!("{who} did not come to its end"));
    };
    let (mut ours, mut theirs) = (embedded.lines(), real.lines());
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return None,
            (ours, theirs) => {
                if let (Some(ours), Some(theirs)) = (ours, theirs) {
                    match releases::compare(release, ours, theirs) {
                        Verdict::Same => continue,
                        Verdict::Over => return None,
                        Verdict::Different => {}
                    }
                }
                return Some(format!(
                    "hip-sim: {}\n{}: {}",
                    ours.unwrap_or("(nothing more)"),
                    release.file,
                    theirs.unwrap_or("(nothing more)")
                ));
            }
        }
    }
}

/// Runs one program, or a part of it. Returns the difference.
fn differs(release: &'static Release, job: &Job) -> Option<String> {
    let [embedded, real] = run(release, std::slice::from_ref(job))?;
    let text = difference(
        release,
        embedded.transcripts.first().and_then(Option::as_deref),
        real.transcripts.first().and_then(Option::as_deref),
    )?;
    let trouble: Vec<_> = [embedded.trouble, real.trouble].into_iter().flatten().collect();
    Some([&[text][..], &trouble].concat().join("\n"))
}

/// The smallest part of a program's wishes that still shows the difference (delta debugging): its text, and the
/// difference.
fn smallest(release: &'static Release, seed: u64) -> Option<String> {
    let mut best = Job { seed, keep: Some((0..wishes(seed).len()).collect()) };
    let mut found = differs(release, &best)?;
    // The same difference, not just any.
    let kind = |text: &str| releases::kind(text.lines().take(2).collect::<Vec<_>>().join("\n").as_str());
    let wanted = kind(&found);
    let mut chunk = best.keep.as_ref().map_or(1, Vec::len).div_ceil(2);
    loop {
        let keep = best.keep.clone().unwrap_or_default();
        let mut smaller = None;
        for from in (0..keep.len()).step_by(chunk) {
            let rest = [&keep[..from], &keep[keep.len().min(from + chunk)..]].concat();
            let job = Job { seed, keep: Some(rest) };
            if let Some(difference) = differs(release, &job).filter(|difference| kind(difference) == wanted) {
                smaller = Some((job, difference));
                break;
            }
        }
        match smaller {
            Some((job, difference)) => (best, found) = (job, difference),
            None if chunk > 1 => chunk = chunk.div_ceil(2).min(chunk - 1),
            None => break,
        }
    }
    let mut text = format!("seed {seed}, as small as it gets (HSA_SIM_PROGRAMS={}):\n", best.line());
    for op in program(&best.wishes()) {
        let _ = writeln!(text, "    {op:?}");
    }
    Some(format!("{text}{found}"))
}

/// The programs selected by the environment.
fn asked() -> Option<Vec<Job>> {
    let text = std::env::var("HSA_SIM_PROGRAMS").ok()?;
    if text.contains(':') {
        return Some(vec![Job::parse(&text)]);
    }
    let job = |seed| Job { seed, keep: None };
    let jobs = text.split(',').flat_map(|part| match part.split_once("..") {
        Some((from, to)) => (from.parse().expect("a seed")..to.parse().expect("a seed")).map(job).collect::<Vec<_>>(),
        None => vec![Job::parse(part)],
    });
    Some(jobs.collect())
}

fn compare(release: &'static Release) {
    let jobs = asked().unwrap_or_else(|| PROGRAMS.map(|seed| Job { seed, keep: None }).collect());
    let Some([embedded, real]) = run(release, &jobs) else { return };
    let mut kinds: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut calls = 0;
    for (n, job) in jobs.iter().enumerate() {
        let [ours, theirs] = [&embedded, &real].map(|outcome| outcome.transcripts.get(n).and_then(Option::as_deref));
        calls += ours.map_or(0, |ours| ours.lines().count());
        if let Some(difference) = difference(release, ours, theirs) {
            kinds.entry(releases::kind(&difference)).or_insert((0, job.seed)).0 += 1;
        }
    }
    println!("{} programs, {calls} answers on {}", jobs.len(), release.file);
    if let (Some([job]), true) = (jobs.get(..1), jobs.len() == 1) {
        println!("{:?}\n{}", job, embedded.transcripts[0].as_deref().unwrap_or(""));
    }
    let mut text = String::new();
    for (kind, (count, seed)) in &kinds {
        let _ = writeln!(text, "{count} times, first with seed {seed}: {kind}");
    }
    for (_, seed) in kinds.values().take(SHOWN) {
        let small = match jobs.iter().find(|job| job.seed == *seed) {
            Some(Job { keep: Some(_), .. }) => None,
            _ => smallest(release, *seed),
        };
        let _ =
            writeln!(text, "\n{}", small.unwrap_or_else(|| format!("seed {seed}: only after the programs before it")));
    }
    for trouble in [embedded.trouble, real.trouble].into_iter().flatten() {
        let _ = writeln!(text, "\n{trouble}");
    }
    assert!(text.is_empty(), "hip-sim and {} differ:\n{text}", release.file);
}

/// The newest release.
#[test]
fn programs_do_the_same_on_both_runtimes() {
    compare(&releases::ROCM_7_2);
}

/// By hand: `cargo test -p hsa-sim --test programs -- --ignored`.
#[test]
#[ignore = "an older release, by hand"]
fn programs_do_the_same_on_6_4() {
    compare(&releases::ROCM_6_4);
}

/// By hand.
#[test]
#[ignore = "an older release, by hand"]
fn programs_do_the_same_on_5_7() {
    compare(&releases::ROCM_5_7);
}
