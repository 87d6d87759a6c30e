//! Starts ranks, shows their output, and ends them together.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use rccl::start::{Hub, Secret};

/// Starts a program as several ranks on this host.
///
/// Each rank reads its number from RANK and LOCAL_RANK, and the address of the others from MASTER_ADDR, MASTER_PORT and
/// a secret in RCCL_RS_SECRET: `rccl::start::World::from_environment` does all of it. Each line of output is prefixed
/// with its rank. When a rank fails, the others are ended, and the command exits with its status.
#[derive(Debug, Parser)]
#[command(
    name = "rccl-run",
    version,
    after_long_help = "Examples:
  rccl-run -n 4 -- ./train --epochs 3           four ranks, on devices 0 to 3
  rccl-run --sim 4 -- ./train                   four ranks on four simulated GPUs
  rccl-run --sim 2 -n 2 --rocm 7.2 -- ./train   on ROCm from `rocm-sdk install 7.2`
  rccl-run -n 4 --keep-going -- ./train         the others go on when a rank fails"
)]
struct Cli {
    /// Number of ranks [default: the number of simulated GPUs]
    #[arg(short = 'n', long = "ranks", value_name = "N", required_unless_present = "sim", value_parser = clap::value_parser!(u16).range(1..=1024))]
    ranks: Option<u16>,
    /// Run on this many simulated GPUs, with `hip-sim run`: found next to this command, on PATH, or in HIP_SIM_COMMAND
    #[arg(long, value_name = "DEVICES", value_parser = clap::value_parser!(u8).range(1..=64))]
    sim: Option<u8>,
    /// With --sim: a release that `rocm-sdk install` has installed, or a folder
    #[arg(long, value_name = "REL|DIR", requires = "sim")]
    rocm: Option<String>,
    /// Let the other ranks continue when one fails. The status is then that of the first that failed
    #[arg(long)]
    keep_going: bool,
    /// Do not prefix lines with the rank
    #[arg(long)]
    no_prefix: bool,
    /// Seconds that ranks have to end after SIGTERM before they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    grace: u64,
    /// Program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

pub(crate) fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("rccl-run: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The signal that ends this command: its ranks are ended first.
static STOPPED: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

extern "C" fn stop(signal: libc::c_int) {
    STOPPED.store(signal, std::sync::atomic::Ordering::Release);
}

type Failure = Box<dyn std::error::Error>;

/// A rank's process, which leads its own process group: everything it starts is ended with it.
struct Rank {
    number: usize,
    child: Child,
    status: Option<ExitStatus>,
    /// Threads that show its output.
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Rank {
    /// Sends a signal to the process and everything that it started.
    fn signal(&self, signal: libc::c_int) {
        let Ok(group) = libc::pid_t::try_from(self.child.id()) else { return };
        // SAFETY: the id of a process group that this command made; its leader has not been waited for yet, or the group may outlive it.
        unsafe { libc::kill(-group, signal) };
    }
}

impl Cli {
    fn run(&self) -> Result<ExitCode, Failure> {
        let size = self.ranks.map_or(self.sim.map_or(1, usize::from), usize::from);
        let secret = Secret::generate()?;
        let hub = Hub::listen("127.0.0.1:0", size, &Secret::new(&secret)?)?;
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            let handler: extern "C" fn(libc::c_int) = stop;
            // SAFETY: the handler only stores a number.
            unsafe { libc::signal(signal, handler as libc::sighandler_t) };
        }
        let mut ranks = Vec::new();
        for number in 0..size {
            match self.start(number, size, &hub, &secret) {
                Ok(rank) => ranks.push(rank),
                Err(error) => {
                    end(&mut ranks, Duration::ZERO);
                    return Err(format!("rank {number} could not be started: {error}").into());
                }
            }
        }
        let first = self.wait(&mut ranks);
        end(&mut ranks, Duration::from_secs(self.grace));
        let stopped = STOPPED.load(std::sync::atomic::Ordering::Acquire);
        if stopped != 0 {
            return Ok(ExitCode::from(128 + stopped as u8));
        }
        Ok(first.map_or(ExitCode::SUCCESS, |(rank, status)| {
            eprintln!("rccl-run: rank {rank} ended with {status}");
            ExitCode::from(code(status))
        }))
    }

    /// Waits for all ranks, or for the first that fails. Returns the one that failed first.
    fn wait(&self, ranks: &mut [Rank]) -> Option<(usize, ExitStatus)> {
        let mut first = None;
        while ranks.iter().any(|rank| rank.status.is_none()) && STOPPED.load(std::sync::atomic::Ordering::Acquire) == 0
        {
            for rank in ranks.iter_mut().filter(|rank| rank.status.is_none()) {
                rank.status = rank.child.try_wait().ok().flatten();
                if let Some(status) = rank.status.filter(|status| !status.success()) {
                    first.get_or_insert((rank.number, status));
                }
            }
            if first.is_some() && !self.keep_going {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        first
    }

    fn start(&self, number: usize, size: usize, hub: &Hub, secret: &str) -> Result<Rank, Failure> {
        let [program, arguments @ ..] = &self.command[..] else { return Err("no program given".into()) };
        let mut command = match self.sim {
            Some(devices) => {
                let mut command = Command::new(simulator()?);
                command.arg("run").arg("--devices").arg(devices.to_string());
                if let Some(rocm) = &self.rocm {
                    command.arg("--rocm").arg(rocm);
                }
                command.arg("--").arg(program);
                // The GPUs are simulated, and no network is used: RCCL need not search for interfaces.
                if std::env::var_os("NCCL_SOCKET_IFNAME").is_none() {
                    command.env("NCCL_SOCKET_IFNAME", "lo");
                }
                command
            }
            None => Command::new(program),
        };
        command.args(arguments);
        command.env("RANK", number.to_string()).env("LOCAL_RANK", number.to_string());
        command.env("WORLD_SIZE", size.to_string()).env("LOCAL_WORLD_SIZE", size.to_string());
        command.env("MASTER_ADDR", hub.address().ip().to_string());
        command.env("MASTER_PORT", hub.address().port().to_string());
        command.env("RCCL_RS_HUB", "launcher").env("RCCL_RS_SECRET", secret).env_remove("RCCL_RS_SECRET_FILE");
        command.stdin(if number == 0 { Stdio::inherit() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        #[cfg(target_os = "linux")]
        {
            let parent = std::process::id();
            // SAFETY: two system calls, which are allowed between fork and exec.
            unsafe {
                command.pre_exec(move || {
                    // No rank outlives this command.
                    if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                    // The command may have ended before.
                    if libc::getppid().unsigned_abs() != parent {
                        return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
                    }
                    Ok(())
                });
            }
        }
        let mut child = command.spawn()?;
        let prefix = if self.no_prefix { String::new() } else { format!("[{number}] ") };
        let mut readers = Vec::new();
        if let Some(out) = child.stdout.take() {
            let prefix = prefix.clone();
            readers.push(std::thread::spawn(move || show(out, &prefix, std::io::stdout)));
        }
        if let Some(err) = child.stderr.take() {
            readers.push(std::thread::spawn(move || show(err, &prefix, std::io::stderr)));
        }
        Ok(Rank { number, child, status: None, readers })
    }
}

/// Prints lines with a prefix, whole.
fn show<W: std::io::Write>(from: impl Read, prefix: &str, to: impl Fn() -> W) {
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|read| read != 0) {
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // In one write, so that lines of different ranks do not mix.
        let whole = [prefix.as_bytes(), &line].concat();
        let _ = to().write_all(&whole);
        line.clear();
    }
}

/// Ends the remaining ranks and everything that they started: with SIGTERM, then with SIGKILL.
fn end(ranks: &mut [Rank], grace: Duration) {
    let begin = Instant::now();
    let left = |ranks: &mut [Rank]| {
        for rank in ranks.iter_mut().filter(|rank| rank.status.is_none()) {
            rank.status = rank.child.try_wait().ok().flatten();
        }
        ranks.iter().any(|rank| rank.status.is_none())
    };
    if left(ranks) {
        for rank in ranks.iter().filter(|rank| rank.status.is_none()) {
            rank.signal(libc::SIGTERM);
            // A stopped process receives the signal, too.
            rank.signal(libc::SIGCONT);
        }
        while left(ranks) && begin.elapsed() < grace {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    for rank in ranks {
        // Also kills processes that an ended rank has left behind.
        rank.signal(libc::SIGKILL);
        if rank.status.is_none() {
            rank.status = rank.child.wait().ok();
        }
        for reader in rank.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// Converts a status to an exit code as a shell does.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Finds the command `hip-sim`.
fn simulator() -> Result<PathBuf, Failure> {
    if let Some(named) = std::env::var_os("HIP_SIM_COMMAND") {
        return Ok(named.into());
    }
    let beside = std::env::current_exe()?.with_file_name("hip-sim");
    if beside.is_file() {
        return Ok(beside);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("hip-sim")).find(|file| file.is_file());
    found.ok_or_else(|| {
        "there is no hip-sim beside this command or on PATH: `cargo install --locked --path sim/hsa-sim --features cli` \
         installs it; HIP_SIM_COMMAND can name another"
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
        assert!(Cli::try_parse_from(["rccl-run", "--", "a"]).is_err());
        assert_eq!(Cli::try_parse_from(["rccl-run", "--sim", "4", "--", "a"]).unwrap().sim, Some(4));
    }

    #[test]
    fn lines_get_a_prefix_each() {
        use std::sync::{Arc, Mutex};
        struct To(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for To {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().unwrap().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let written = Arc::new(Mutex::new(Vec::new()));
        show(&b"one\ntwo"[..], "[3] ", || To(Arc::clone(&written)));
        assert_eq!(*written.lock().unwrap(), b"[3] one\n[3] two\n");
    }
}
