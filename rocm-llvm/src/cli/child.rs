//! Work in a child process: LLVM may end the process at code that no compiler wrote.

use std::io;
use std::process::ExitCode;

use super::output::Result;

/// Runs the work in a child of this process, with the same standard output, and returns the exit code of the child. The
/// caller must not have started threads.
///
/// # Errors
/// If there is no child, or a signal ended it. `what` says what it did, as in "disassembled kernels.co".
#[cfg(unix)]
pub(super) fn run(what: &str, work: impl FnOnce() -> ExitCode) -> Result<ExitCode> {
    // SAFETY: this process has no other thread that could hold a lock which the child needs.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(format!("cannot start a process: {}", io::Error::last_os_error())),
        0 => {
            // Code that ends LLVM is not worth the core of a process.
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the limit is read during the call.
            unsafe { libc::setrlimit(libc::RLIMIT_CORE, &no_core) };
            let failed = work() != ExitCode::SUCCESS;
            std::process::exit(i32::from(failed));
        }
        _ => {}
    }
    let mut status = 0;
    // SAFETY: the child is this process's own, and the status is written during the call.
    while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(format!("cannot wait for a process: {error}"));
        }
    }
    if libc::WIFSIGNALED(status) {
        let signal = libc::WTERMSIG(status);
        return Err(format!("LLVM died of signal {signal} when it {what}: the code is damaged, or no compiler's"));
    }
    Ok(if libc::WEXITSTATUS(status) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the work in this process.
#[cfg(not(unix))]
pub(super) fn run(_what: &str, work: impl FnOnce() -> ExitCode) -> Result<ExitCode> {
    Ok(work())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_dies_is_an_error_and_one_that_fails_has_said_so() {
        let error = run("read x.co", || std::process::abort()).unwrap_err();
        assert!(error.contains(&format!("signal {}", libc::SIGABRT)) && error.contains("read x.co"), "{error}");
        assert_eq!(run("", || ExitCode::FAILURE).unwrap(), ExitCode::FAILURE);
        assert_eq!(run("", || ExitCode::SUCCESS).unwrap(), ExitCode::SUCCESS);
    }
}
