//! Ranks in separate processes: started by this program as `rccl-run` does it, on the devices of this machine. Some are
//! killed and some are stopped, at random moments; the others must notice in time, continue without them, and leave
//! nothing running.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use hip::{Backend, DeviceBuffer};
use rccl::start::{Hub, Secret, World};
use rccl::{Communicator, Config, Error, Op};

/// Set in ranks.
const RANK: &str = "RCCL_TEST_RANK";
/// Prefix of lines that are for the test.
const MARK: &str = "@@ ";
/// How many seconds a rank waits for a collective.
const WAIT: &str = "RCCL_TEST_WAIT";
/// How long a rank waits for another one to come. No test waits for this to be over.
const TIMEOUT: Duration = Duration::from_secs(100_000);

fn devices() -> usize {
    let skipped = |why: &dyn std::fmt::Display| {
        let _ = writeln!(std::io::stdout(), "SKIPPED: {why}");
        0
    };
    if let Err(error) = hip::sim_if_no_gpu() {
        return skipped(&error);
    }
    if !matches!(hip::backend(), Ok(Backend::Rocm)) || !rccl::is_available() {
        return skipped(&"RCCL is not available (cargo xtask rocm fetch 7.2 --with rccl)");
    }
    match hip::Device::count() {
        Ok(count) if count >= 2 && rccl::version().unwrap() >= (2, 14, 0) => count,
        _ => skipped(&"two devices are needed, and an RCCL with deadlines"),
    }
}

// ---- in a rank ----

fn say(text: &str) {
    println!("{MARK}{text}");
}

/// How a rank's work ended before its rounds were over.
enum Lost {
    /// By an error that ends the communicator.
    Error(Error),
    /// A wrong sum, of a call that another rank has aborted: the library's kernels of an aborted rank continue without
    /// waiting, and their writes reach other ranks.
    Sum(String),
}

impl From<Error> for Lost {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<hip::Error> for Lost {
    fn from(error: hip::Error) -> Self {
        Self::Error(error.into())
    }
}

/// Sums the ranks' numbers, repeatedly.
fn work(communicator: &Communicator, rounds: usize, wait: Duration) -> Result<(), Lost> {
    let (rank, size) = (communicator.rank(), communicator.size());
    let device = communicator.device();
    for round in 0..rounds {
        let count = [1, 100, 3001][round % 3];
        let mut memory = DeviceBuffer::from_slice(&device, &vec![(rank + round) as i32; count])?;
        communicator.all_reduce_in_place(&mut memory, Op::Sum)?;
        communicator.synchronize_for(wait)?;
        let expected: usize = (0..size).map(|rank| rank + round).sum();
        let sums = memory.to_vec()?;
        if let Some(sum) = sums.iter().find(|sum| **sum != expected as i32) {
            return Err(Lost::Sum(format!("round {round} on rank {rank}: {sum}, not {expected}")));
        }
    }
    Ok(())
}

/// A rank: works until others are lost, then continues with the remaining ranks, as often as needed.
fn rank() -> Result<(), Error> {
    let mut world = World::from_environment_with(TIMEOUT)?;
    let first = world.rank();
    let config = Config::new().timeout(TIMEOUT);
    let rounds: usize = std::env::var("RCCL_TEST_ROUNDS").unwrap().parse().unwrap();
    let wait = Duration::from_secs(std::env::var(WAIT).unwrap().parse().unwrap());
    loop {
        let device = world.device()?;
        let communicator = match world.communicator(&device, &config) {
            Ok(communicator) => communicator,
            Err(error) => {
                // One died before it was there.
                say(&format!("lost {first} {error}"));
                world.regroup(Duration::from_secs(4))?;
                continue;
            }
        };
        say(&format!("work {first} as {} of {}", world.rank(), world.size()));
        match work(&communicator, rounds, wait) {
            Ok(()) => {
                // No memory goes away before all have opened it.
                if world.barrier().is_ok() {
                    say(&format!("done {first}"));
                    return Ok(());
                }
            }
            Err(Lost::Error(error)) => {
                assert!(error.ends_communicator(), "{error}");
                say(&format!("lost {first} {error}"));
            }
            Err(Lost::Sum(wrong)) => {
                // No other rank may have continued.
                let error = world.barrier().expect_err(&wrong);
                say(&format!("lost {first} {wrong}: {error}"));
            }
        }
        communicator.abort();
        world.regroup(Duration::from_secs(4))?;
    }
}

#[test]
fn a_rank_of_a_test() {
    if std::env::var_os(RANK).is_none() {
        return;
    }
    if let Err(error) = rank() {
        say(&format!("end {error}"));
        std::process::exit(3);
    }
}

// ---- the test ----

struct Ranks {
    children: Vec<Child>,
    said: mpsc::Receiver<(usize, String)>,
    files: Files,
    _hub: Hub,
}

impl Ranks {
    fn start(size: usize, rounds: usize, wait: Duration) -> Self {
        let secret = Secret::generate().unwrap();
        let hub = Hub::listen("127.0.0.1:0", size, &Secret::new(&secret).unwrap()).unwrap();
        let (say, said) = mpsc::channel();
        let children: Vec<Child> = (0..size)
            .map(|rank| {
                // Under `hip-sim run`, it starts on the simulated GPUs, too.
                let mut command = Command::new(std::env::current_exe().unwrap());
                command.args(["--exact", "a_rank_of_a_test", "--nocapture", "--test-threads=1"]);
                command.env(RANK, "1").env("RCCL_TEST_ROUNDS", rounds.to_string());
                command.env(WAIT, wait.as_secs().to_string());
                command.env("RANK", rank.to_string()).env("LOCAL_RANK", rank.to_string());
                command.env("WORLD_SIZE", size.to_string()).env("MASTER_ADDR", "127.0.0.1");
                command.env("MASTER_PORT", hub.address().port().to_string());
                command.env("RCCL_RS_SECRET", &secret).env("RCCL_RS_HUB", "launcher");
                let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
                let (out, say) = (BufReader::new(child.stdout.take().unwrap()), say.clone());
                std::thread::spawn(move || {
                    for line in out.lines().map_while(Result::ok) {
                        match line.split_once(MARK) {
                            Some((_, text)) => drop(say.send((rank, text.to_owned()))),
                            None => eprintln!("[{rank}] {line}"),
                        }
                    }
                });
                child
            })
            .collect();
        let files = Files::of(children.iter().map(Child::id).collect());
        Self { children, said, files, _hub: hub }
    }

    /// Waits until each of these ranks has written a line with this prefix and suffix. Lines of other ranks are
    /// skipped.
    #[track_caller]
    fn hear(&self, from: &BTreeSet<usize>, beginning: &str, end: &str) {
        let mut left = from.clone();
        while !left.is_empty() {
            let said = self.said.recv();
            let (rank, text) = said.unwrap_or_else(|_| panic!("{left:?} did not say {beginning} ... {end}"));
            eprintln!("rank {rank}: {text}");
            assert!(!text.starts_with("end"), "rank {rank}: {text}");
            if text.starts_with(beginning) && text.ends_with(end) {
                left.remove(&rank);
            }
        }
    }

    fn signal(&self, rank: usize, signal: libc::c_int) {
        // SAFETY: a child of this process that was not waited for.
        unsafe { libc::kill(self.children[rank].id().try_into().unwrap(), signal) };
    }

    /// Waits for a rank's end; `None` where a signal ended it.
    fn end(&mut self, rank: usize) -> Option<i32> {
        self.children[rank].wait().unwrap().code()
    }

    /// Files of shared memory that ranks have had and left, when all have ended.
    fn left_behind(&mut self) -> Vec<String> {
        let names = self.files.all();
        eprintln!("files of shared memory: {names:?}");
        names.into_iter().filter(|name| std::path::Path::new(name).exists()).collect()
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The files of shared memory that processes map. The folder itself belongs to the whole machine: whose its files are
/// is not to be seen by their names.
struct Files {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<BTreeSet<String>>>,
}

impl Files {
    /// Looks again and again, as most have their names for a short time only.
    fn of(processes: Vec<u32>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let look = move || {
            let mut names = BTreeSet::new();
            while !stop.load(Ordering::Relaxed) {
                for process in &processes {
                    // An ended process leaves nothing.
                    let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
                    let files = maps.lines().filter_map(|line| Some(&line[line.find("/dev/shm/")?..]));
                    names.extend(files.map(|file| file.trim_end_matches(" (deleted)").to_owned()));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            // ROCm SMI has one lock for each device of the machine, which it keeps.
            names.retain(|name| !name.starts_with("/dev/shm/rocm_smi_"));
            names
        };
        Self { over, thread: Some(std::thread::spawn(look)) }
    }

    fn all(&mut self) -> BTreeSet<String> {
        self.over.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

#[test]
fn processes_work_together() {
    let size = devices().min(4);
    if size < 2 {
        return;
    }
    let mut ranks = Ranks::start(size, 6, TIMEOUT);
    let all = (0..size).collect();
    ranks.hear(&all, "done", "");
    for rank in 0..size {
        assert_eq!(ranks.end(rank), Some(0), "rank {rank}");
    }
    assert_eq!(ranks.left_behind(), [""; 0]);
}

/// One time: a rank of `size` is killed or stopped after so long; the others go on.
fn lose(size: usize, victim: usize, signal: libc::c_int, after: Duration) {
    let mut ranks = Ranks::start(size, usize::MAX, Duration::from_secs(2));
    let all: BTreeSet<usize> = (0..size).collect();
    let mut left = all.clone();
    left.remove(&victim);
    ranks.hear(&all, "work", "");
    // The victim is stopped at an arbitrary point: the others must continue in any case.
    std::thread::sleep(after);
    ranks.signal(victim, signal);
    // On a busy machine, ranks may have lost each other before, and come together again.
    ranks.hear(&left, "work", &format!(" of {}", left.len()));
    std::thread::sleep(Duration::from_millis(300));
    // The others, too, now: none of them may hang.
    for rank in &left {
        assert_eq!(ranks.children[*rank].try_wait().unwrap(), None, "rank {rank} works");
        ranks.signal(*rank, libc::SIGTERM);
    }
    if signal == libc::SIGSTOP {
        // The victim finds that the world has continued.
        ranks.signal(victim, libc::SIGCONT);
        assert_eq!(ranks.end(victim), Some(3));
    } else {
        assert_eq!(ranks.end(victim), None);
    }
    for rank in left {
        assert_eq!(ranks.end(rank), None);
    }
    assert_eq!(ranks.left_behind(), [""; 0]);
}

#[test]
fn a_rank_that_is_killed_is_left_out() {
    if devices() >= 2 {
        lose(2, 1, libc::SIGKILL, Duration::from_millis(100));
    }
}

#[test]
fn a_rank_that_is_stopped_is_left_out() {
    if devices() >= 2 {
        lose(2, 0, libc::SIGSTOP, Duration::from_millis(150));
    }
}

#[test]
#[ignore = "an hour or two: run it where communicators, aborting or starting change. RCCL_TEST_TIMES says how often, 200 if it is not set"]
fn ranks_that_are_lost_at_random_moments_are_left_out() {
    let devices = devices();
    if devices < 2 {
        return;
    }
    let number =
        |name: &str, otherwise: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (times, mut state) = (number("RCCL_TEST_TIMES", 200), number("RCCL_TEST_SEED", 19) | 1);
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for time in 0..times {
        let size = 2 + next(devices.min(3) as u64 - 1) as usize;
        let victim = next(size as u64) as usize;
        let signal = if next(2) == 0 { libc::SIGKILL } else { libc::SIGSTOP };
        let after = Duration::from_millis(next(3000));
        println!("time {time}: rank {victim} of {size}, signal {signal}, after {after:?}");
        lose(size, victim, signal, after);
    }
}
