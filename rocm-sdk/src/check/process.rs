//! Processes that a check starts, and the descriptions of their results.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use super::report::Finding;
use super::task::{MARK, PRELOADED, ROOTS, SEPARATOR, TASK, Task, from_line, mark};
use crate::child;
use crate::layout::Layout;
use rocm_loader::folders::names_in;

/// Starts processes for one installation.
pub(super) struct Starter {
    myself: Arc<dyn Fn() -> Command + Send + Sync>,
    roots: OsString,
    foreign: Option<Foreign>,
    limit: Duration,
}

/// The installation's own C library: its loader, and the directory of both.
struct Foreign {
    loader: PathBuf,
    directory: PathBuf,
}

/// The output and the end of a process.
pub(super) struct Ended {
    pub(super) said: String,
    pub(super) how: How,
}

pub(super) enum How {
    Exited(ExitStatus),
    TimedOut(Duration),
}

impl Starter {
    pub(super) fn new(myself: Arc<dyn Fn() -> Command + Send + Sync>, layout: &Layout, limit: Duration) -> Self {
        let roots: Vec<_> = layout.library_roots().iter().map(|root| root.as_os_str()).collect();
        let roots = roots.join(OsStr::from_bytes(&[SEPARATOR]));
        Self { myself, roots, foreign: Foreign::of(layout.lib()), limit }
    }

    /// Returns the directory of the installation's own C library.
    pub(super) fn foreign(&self) -> Option<&Path> {
        self.foreign.as_ref().map(|foreign| foreign.directory.as_path())
    }

    /// Runs the task in a separate process.
    pub(super) fn run(&self, task: &Task, variables: &[(&str, &str)]) -> Finding {
        let mut command = (self.myself)();
        if let Some(foreign) = self.foreign.as_ref().filter(|_| !is_loader(command.get_program())) {
            command = foreign.by_way(&command);
        }
        let mark = mark();
        command.env(TASK, task.to_variable()).env(ROOTS, &self.roots).env(MARK, &mark);
        command.env_remove(PRELOADED);
        command.envs(variables.iter().copied());
        match run(command, self.limit) {
            Ok(ended) => ended.verdict(&mark),
            Err(why) => Finding::Fail(why),
        }
    }

    /// Runs a program of the installation, or returns why it cannot be run here.
    pub(super) fn run_program(&self, program: &Path, arguments: &[&str]) -> Result<Ended, Finding> {
        let mut command = Command::new(program);
        if let Some(foreign) = &self.foreign {
            let mut start = [0; 4];
            let read = File::open(program).and_then(|mut file| file.read_exact(&mut start));
            if read.is_err() || start != *b"\x7fELF" {
                let why = "a script of an installation with its own C library cannot be run from outside";
                return Err(Finding::Skipped(why.to_owned()));
            }
            command = foreign.by_way(&command);
        }
        command.args(arguments);
        run(command, self.limit).map_err(Finding::Fail)
    }
}

impl Foreign {
    fn of(directory: &Path) -> Option<Self> {
        if !directory.join("libc.so.6").is_file() {
            return None;
        }
        // The C library of this machine is the one that programs use anyway.
        let real = directory.canonicalize().ok()?;
        let of_system = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"].iter().map(PathBuf::from).flat_map(|dir| {
            let inner = names_in(&dir, |name| name.ends_with("-linux-gnu")).into_iter().map(|name| dir.join(name));
            inner.chain([dir.clone()]).collect::<Vec<_>>()
        });
        if of_system.into_iter().any(|dir| dir.canonicalize().is_ok_and(|dir| dir == real)) {
            return None;
        }
        let mut loaders = names_in(directory, |name| is_loader(OsStr::new(name)));
        loaders.sort();
        let loader = directory.join(loaders.first()?);
        Some(Self { loader, directory: directory.to_owned() })
    }

    /// Returns the same command, started through this loader, with its libraries.
    fn by_way(&self, command: &Command) -> Command {
        let mut through = Command::new(&self.loader);
        through.arg("--library-path").arg(&self.directory).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => through.env(name, value),
                None => through.env_remove(name),
            };
        }
        through
    }
}

fn is_loader(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ld-linux") || name.starts_with("ld64.so") || name.starts_with("ld.so")
}

/// Runs the command to its end or the limit. If the check is killed, so are its processes: a library may hang.
fn run(mut command: Command, limit: Duration) -> Result<Ended, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    child::end_with_this_thread(&mut command);
    let ended = child::run(command, limit).map_err(|why| format!("{program} {why}"))?;
    Ok(Ended { said: ended.stdout + &ended.stderr, how: ended.status.map_or(How::TimedOut(limit), How::Exited) })
}

impl Ended {
    /// Returns the answer of a child process, or describes its end.
    fn verdict(&self, mark: &str) -> Finding {
        let answer = self.said.lines().rev().find_map(|line| line.strip_prefix(mark));
        let failed = answer.and_then(|answer| answer.strip_prefix("failed: "));
        let end = match &self.how {
            How::TimedOut(limit) => {
                let after =
                    if answer == Some("ok") { "it loads, but the program then does not end" } else { "no answer" };
                Some(format!("{after} within {} s", limit.as_secs_f32()))
            }
            How::Exited(status) => match (answer, status.success()) {
                (Some("ok"), true) => return Finding::Ok,
                (Some("ok"), false) => Some(format!("it loads, but then the program {}", ending(*status))),
                (Some(_), _) => None,
                (None, _) => Some(format!("the process {}", ending(*status))),
            },
        };
        let why =
            end.unwrap_or_else(|| failed.map_or_else(|| "an answer that is not understood".to_owned(), from_line));
        match self.last_words() {
            Some(words) if failed.is_none() => Finding::Fail(format!("{why}; it said: {words}")),
            _ => Finding::Fail(why),
        }
    }

    /// Returns the end of its output.
    pub(super) fn last_words(&self) -> Option<String> {
        let lines: Vec<_> =
            self.said.lines().filter(|l| !l.starts_with("rocm-sdk-check-") && !l.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(5)..].join("\n");
        (!last.is_empty()).then_some(last)
    }
}

/// Describes an exit status: "exited with 1", "was ended by SIGSEGV".
pub(super) fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => {
            let name = SIGNALS.iter().find(|(number, _)| *number == signal).map(|(_, name)| *name);
            format!("was ended by {}", name.map_or_else(|| format!("signal {signal}"), str::to_owned))
        }
        (None, None) => "ended".to_owned(),
    }
}

const SIGNALS: &[(i32, &str)] = &[
    (libc::SIGSEGV, "SIGSEGV (a bad address)"),
    (libc::SIGABRT, "SIGABRT (it gave up)"),
    (libc::SIGILL, "SIGILL (an instruction that this processor lacks)"),
    (libc::SIGBUS, "SIGBUS (a file that is too short, or a bad address)"),
    (libc::SIGFPE, "SIGFPE (a division by zero)"),
    (libc::SIGKILL, "SIGKILL (too little memory, perhaps)"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGTERM, "SIGTERM"),
];
