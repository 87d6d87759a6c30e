//! Does what a check has started this process for.

use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::initialize;
use super::task::{MARK, PRELOADED, ROOTS, SEPARATOR, TASK, Task, in_short, to_line};
use rocm_loader::Scope;
use rocm_loader::Search;
use rocm_loader::library_name::LibraryName;
use rocm_loader::{process, sys};

/// Performs the task of a process that a check started, and ends the process; returns immediately in any other process.
/// A program that runs a [`Check`](super::Check) calls it first, before it starts threads or writes output.
///
/// The task is in the variable `ROCM_SDK_CHECK_TASK`, which a set-uid program ignores.
pub fn serve() {
    let Some(value) = std::env::var_os(TASK) else { return };
    if Search::standard().is_set_uid() {
        return;
    }
    // A library that crashes is recognised by its signal. The core is not needed, and std's handlers, which detect stack overflows, would
    // hide some signals.
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is valid for the read; the default action needs no handler.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        libc::signal(libc::SIGBUS, libc::SIG_DFL);
    }
    let answer = match Task::parse(&value) {
        Some(task) => run(&task),
        None => Err(format!("{TASK} is not understood")),
    };
    let text = match &answer {
        Ok(()) => "ok".to_owned(),
        Err(why) => format!("failed: {}", to_line(why)),
    };
    let mut stdout = std::io::stdout();
    let mark = std::env::var(MARK).unwrap_or_default();
    let _ = write!(stdout, "\n{mark}{text}\n").and_then(|()| stdout.flush());
    // Not `_exit`: the code that libraries run at exit is part of the check.
    std::process::exit(i32::from(answer.is_err()));
}

fn run(task: &Task) -> Result<(), String> {
    match task {
        Task::Nothing => Ok(()),
        Task::Open(path) => open(path),
        Task::Preload(name) => {
            set_search()?;
            let spec = LibraryName::library(name).map_err(|e| e.to_string())?;
            process::preload(spec, Scope::Global).map(|_| ()).map_err(|e| in_short(&e))
        }
        Task::Initialize(name) => {
            set_search()?;
            initialize::run(name)
        }
    }
}

fn open(path: &Path) -> Result<(), String> {
    let library = sys::open_path(path, Scope::Local)?;
    // It stays open until the process ends, as everywhere in this crate.
    std::mem::forget(library);
    Ok(())
}

/// Sets the search to the checked installation alone, with the variables that `initialize_process` reads.
fn set_search() -> Result<(), String> {
    let roots = std::env::var_os(ROOTS).unwrap_or_default();
    let roots = roots.as_bytes().split(|&b| b == SEPARATOR).map(OsStr::from_bytes);
    let search = roots.fold(Search::nowhere(), |search, root| search.root(root));
    let heeded = |name: &str| std::env::var_os(name).filter(|_| name == PRELOADED);
    process::set_search(search.environment(heeded)).map_err(|e| e.to_string())
}
