//! The tasks of the processes that a check starts.

use std::ffi::{OsStr, OsString};
use std::io::Write as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::initialize;
use crate::LoadError;
use rocm_loader::library::Scope;
use rocm_loader::library_name::LibraryName;
use rocm_loader::search::Search;
use rocm_loader::{process, sys};

/// The variable with the task; see [`Task`].
pub(super) const TASK: &str = "ROCM_SDK_CHECK_TASK";
/// The variable with the roots of the installation, separated by [`SEPARATOR`].
pub(super) const ROOTS: &str = "ROCM_SDK_CHECK_ROOTS";
/// The ASCII unit separator. A colon may occur in a path.
pub(super) const SEPARATOR: u8 = 0x1f;
/// The variable with the mark before the answer; see [`mark`].
pub(super) const MARK: &str = "ROCM_SDK_CHECK_MARK";

/// Returns a mark that nothing else writes: libraries may write anything to stdout.
pub(super) fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    format!("rocm-sdk-check-{}-{}-{time}: ", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The task of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    /// Nothing: the answer is that the process runs.
    Nothing,
    /// Opens a library file.
    Open(PathBuf),
    /// Preloads the library of this short name.
    Preload(String),
    /// Checks this behaviour of `initialize_process`.
    Initialize(String),
}

impl Task {
    pub(super) fn to_variable(&self) -> OsString {
        let (word, rest): (&str, OsString) = match self {
            Self::Nothing => ("nothing", OsString::new()),
            Self::Open(path) => ("open", path.clone().into_os_string()),
            Self::Preload(name) => ("preload", name.into()),
            Self::Initialize(name) => ("initialize", name.into()),
        };
        let mut value = OsString::from(format!("{word}:"));
        value.push(rest);
        value
    }

    fn parse(value: &OsString) -> Option<Self> {
        let bytes = value.as_bytes();
        let colon = bytes.iter().position(|&b| b == b':')?;
        let rest = OsString::from_vec(bytes[colon + 1..].to_vec());
        Some(match &bytes[..colon] {
            b"nothing" => Self::Nothing,
            b"open" => Self::Open(rest.into()),
            b"preload" => Self::Preload(rest.into_string().ok()?),
            b"initialize" => Self::Initialize(rest.into_string().ok()?),
            _ => return None,
        })
    }
}

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

/// Returns the text without line ends; [`from_line`] reverses it.
fn to_line(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

pub(super) fn from_line(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            other => text.extend(other),
        }
    }
    text
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

/// Returns the message without the steps of a search that found the library.
pub(super) fn in_short(error: &LoadError) -> String {
    match error {
        LoadError::Unusable { target, reason, .. } => format!("{target}: {reason}"),
        other => other.to_string(),
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
    let heeded = |name: &str| std::env::var_os(name).filter(|_| name == initialize::VARIABLE);
    process::set_search(search.environment(heeded)).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_in_a_line() {
        for text in ["", "plain", "two\nlines\r\n", "C:\\new\\n\\", "ä\u{1}"] {
            assert!(!to_line(text).contains('\n'));
            assert_eq!(from_line(&to_line(text)), text);
        }
    }

    #[test]
    fn tasks_are_read_as_written() {
        let odd = PathBuf::from(OsString::from_vec(b"/a:b/\xff.so".to_vec()));
        for task in [
            Task::Nothing,
            Task::Open(odd),
            Task::Preload("amdhip64".to_owned()),
            Task::Initialize("version".to_owned()),
        ] {
            assert_eq!(Task::parse(&task.to_variable()), Some(task));
        }
        assert_eq!(Task::parse(&"other:x".into()), None);
        assert_eq!(Task::parse(&"".into()), None);
    }
}
