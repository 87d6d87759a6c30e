//! Trials in a child process, for calls of LLVM that can crash.

use std::io;

use super::guard;

/// How a trial ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trial {
    /// The call returned, or LLVM reported a fatal error.
    Ended,
    /// The call crashed, and ended the child.
    Crashed,
}

/// Runs `work` in a copy of this process, which has the calling thread alone and ends afterwards. Call it within
/// [`guard::run`].
///
/// # Errors
/// Those of the operating system, if it starts no process.
#[cfg(unix)]
pub(super) fn run(work: impl FnOnce()) -> io::Result<Trial> {
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    let (mut here, there) = UnixStream::pair()?;
    // SAFETY: the child calls LLVM on objects that no other thread uses, and ends without running other code of this process. The C
    // library's allocator works in the child of a process with threads.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(io::Error::last_os_error()),
        0 => {
            let end = move || -> ! {
                _ = (&there).write_all(&[1]);
                // SAFETY: it ends the child at once.
                unsafe { libc::_exit(0) }
            };
            // The handlers of this process would report a crash to its user.
            for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT, libc::SIGTRAP] {
                // SAFETY: the default action needs nothing.
                unsafe { libc::signal(signal, libc::SIG_DFL) };
            }
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the limit is read during the call.
            unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
            let end = std::rc::Rc::new(end);
            let fatal = end.clone();
            guard::report_to(move |_| fatal());
            work();
            end();
        }
        _ => {}
    }
    drop(there);
    let mut answer = Vec::new();
    let read = here.read_to_end(&mut answer);
    // SAFETY: the child is this process's own, and no status is written. Other code may have waited for all children already.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    read.map(|bytes| if bytes == 0 { Trial::Crashed } else { Trial::Ended })
}

/// Tries nothing: this system has no copies of processes.
#[cfg(not(unix))]
pub(super) fn run(_work: impl FnOnce()) -> io::Result<Trial> {
    Ok(Trial::Ended)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_crash_ends_the_child_alone() {
        let mut changed = false;
        assert_eq!(run(|| changed = true).unwrap(), Trial::Ended);
        assert!(!changed, "the child has a copy of the memory");
        assert_eq!(run(|| std::process::abort()).unwrap(), Trial::Crashed);
        let crash = || {
            // SAFETY: nothing is there: the child is to crash.
            unsafe { std::ptr::without_provenance_mut::<u8>(8).write_volatile(1) };
        };
        assert_eq!(run(crash).unwrap(), Trial::Crashed);
    }
}
