//! Runs programs with a time limit. This crate and its command start all programs this way.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum size of the output that is kept: the last part.
const KEPT: usize = 1 << 20;
/// How long to wait for the rest of the output after the process has ended: a process that it started may hold the
/// pipe.
const AFTERWARDS: Duration = Duration::from_secs(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// The output of a process, and its end.
#[derive(Debug)]
pub struct Ended {
    /// The last mebibyte of stdout.
    pub stdout: String,
    /// The last mebibyte of stderr.
    pub stderr: String,
    /// The exit status; `None` if it was killed at the limit.
    pub status: Option<ExitStatus>,
}

/// Runs the command to its end or the limit, without input. On Unix, the processes that it started are ended with it,
/// unless they left its process group.
///
/// # Errors
/// A message, if the process cannot be started or waited for.
pub fn run(mut command: Command, limit: Duration) -> Result<Ended, String> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|error| format!("cannot be started: {error}"))?;
    let until = Instant::now().checked_add(limit);
    let (stdout, stderr) = (Kept::of(child.stdout.take()), Kept::of(child.stderr.take()));
    let in_time = has_ended(&mut child, until);
    // The child is reaped afterwards: until then its number, which is also that of the group, is not reused.
    end(&mut child);
    let status = child.wait().map_err(|error| format!("waiting for it failed: {error}"))?;
    let until = Instant::now() + AFTERWARDS;
    Ok(Ended { stdout: stdout.text(until), stderr: stderr.text(until), status: in_time.then_some(status) })
}

/// On Linux, makes the command's process end with the thread that starts it: for threads that wait for the process.
#[cfg(unix)]
pub fn end_with_this_thread(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        // SAFETY: between fork and exec it only makes one system call.
        unsafe {
            command.pre_exec(|| {
                crate::c::prctl(crate::c::PR_SET_PDEATHSIG, crate::c::SIGKILL);
                Ok(())
            });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Waits until the process has ended, and on Linux leaves it as a zombie; `false` if it has not ended by then.
fn has_ended(child: &mut Child, until: Option<Instant>) -> bool {
    let mut pause = Duration::from_millis(1);
    loop {
        if ended(child) {
            return true;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(target_os = "linux")]
fn ended(child: &mut Child) -> bool {
    use crate::c;
    let mut info = c::SigInfo::default();
    let options = c::WEXITED | c::WNOHANG | c::WNOWAIT;
    // SAFETY: `info` has the size of the structure that is written, and the child belongs to this process.
    let failed = unsafe { c::waitid(c::P_PID, child.id(), &raw mut info, options) } != 0;
    // Nothing is written while the process still runs.
    failed || info.signal() != 0
}

#[cfg(not(target_os = "linux"))]
fn ended(child: &mut Child) -> bool {
    !matches!(child.try_wait(), Ok(None))
}

/// Kills the process, and on Linux the rest of its group.
fn end(child: &mut Child) {
    #[cfg(target_os = "linux")]
    if let Ok(group) = i32::try_from(child.id()) {
        // SAFETY: it sends a signal to the process group that the child leads.
        unsafe { crate::c::killpg(group, crate::c::SIGKILL) };
    }
    // It has no effect on a process that has already ended.
    let _ = child.kill();
}

/// The last part of a pipe's output.
struct Kept {
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Disconnected at the end of the pipe.
    end: Receiver<()>,
}

impl Kept {
    /// Reads in a separate thread, since a read has no time limit. The thread ends when the last process closes the
    /// pipe.
    fn of(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (sender, end) = mpsc::channel();
        let kept = Arc::clone(&bytes);
        let read = move || {
            let _sender = sender;
            let Some(mut pipe) = pipe else { return };
            let mut buffer = [0; 8 << 10];
            while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&buffer[..length]);
                if kept.len() > 2 * KEPT {
                    let surplus = kept.len() - KEPT;
                    kept.drain(..surplus);
                }
            }
        };
        // If the thread cannot be started, the pipe is closed and the output is empty.
        let _ = thread::Builder::new().name("rocm-sdk child".to_owned()).spawn(read);
        Self { bytes, end }
    }

    /// Returns the output up to this time, or to the end of the pipe.
    fn text(self, until: Instant) -> String {
        let left = until.saturating_duration_since(Instant::now());
        let (Ok(()) | Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) = self.end.recv_timeout(left);
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(KEPT)..]).into_owned()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit).unwrap()
    }

    #[test]
    fn what_is_said_and_how_it_ends() {
        let ended = shell("echo out; echo err >&2; exit 3", Duration::MAX);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(ended.status.and_then(|status| status.code()), Some(3));
        assert!(run(Command::new("/no/such/program"), Duration::MAX).unwrap_err().starts_with("cannot be started"));
    }

    #[test]
    fn of_much_the_end_is_kept() {
        let ended = shell("head -c 5000000 /dev/zero | tr '\\0' x; echo end", Duration::MAX);
        assert_eq!(ended.stdout.len(), KEPT);
        assert!(ended.stdout.ends_with("xend\n"));
    }

    #[test]
    fn the_limit_holds_and_what_was_said_is_told() {
        // A busy machine may need longer to start a shell, so the time is increased.
        for seconds in [1, 4, 16, 64, 256] {
            let ended = shell("echo before; sleep 100000", Duration::from_secs(seconds));
            assert_eq!(ended.status, None);
            if !ended.stdout.is_empty() {
                return assert_eq!(ended.stdout, "before\n");
            }
        }
        panic!("the shell says nothing");
    }

    /// A process is left behind and holds the pipe.
    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_left_behind_holds_nobody_up() {
        let stat = |pid: &str| std::fs::read_to_string(std::path::Path::new("/proc").join(pid).join("stat"));
        // A process that was not reaped is a zombie.
        let lives = |pid: &str| stat(pid).is_ok_and(|stat| !stat.contains(") Z "));
        let ended = shell("sleep 100000 & echo $!", Duration::MAX);
        assert!(ended.status.is_some_and(|status| status.success()));
        // It is killed with the group.
        while lives(ended.stdout.trim()) {
            thread::sleep(Duration::from_millis(1));
        }
        // A process in another session is neither killed nor waited for. The sixth field of `stat` is the session.
        let own = "setsid sleep 100000 & until test \"$(cut -d' ' -f6 /proc/$!/stat)\" = $!; do :; done; echo $!";
        let ended = shell(own, Duration::MAX);
        let pid = ended.stdout.trim();
        assert!(ended.status.is_some_and(|status| status.success()) && lives(pid), "{ended:?}");
        // SAFETY: it sends a signal to the session's group, which exists.
        assert_eq!(unsafe { crate::c::killpg(pid.parse().unwrap(), crate::c::SIGKILL) }, 0);
    }
}
