//! Runs the command like a user, without the variables of this process.
#![allow(dead_code, unreachable_pub)] // Each test program uses a part of it.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Output};

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rocm-sdk");

/// Copies the command to `path` by another process: if this process had the file open for writing, a child forked by
/// another thread would hold it open, and the file could not be executed (`ETXTBSY`).
pub fn copy_program(path: &Path) {
    let status = Command::new("cp").arg(PROGRAM).arg(path).status().unwrap();
    assert!(status.success(), "cp {PROGRAM} {}", path.display());
}

/// A command to run.
pub struct Run(Command);

/// Its result.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Returns the command with these arguments, words separated by white space.
pub fn rocm_sdk(arguments: &str) -> Run {
    Run(Command::new(PROGRAM)).clean().args(arguments.split_whitespace())
}

/// The same on a system whose root directory is `system`: nothing of this machine is found.
pub fn on(system: &Path, arguments: &str) -> Run {
    Run(Command::new(PROGRAM)).clean().arg("--system-root").arg(system).args(arguments.split_whitespace())
}

impl Run {
    pub fn new(command: Command) -> Self {
        Self(command).clean()
    }

    fn clean(mut self) -> Self {
        self.0.env_clear();
        // The path of the system's programs, for the shells.
        self.0.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        // What llvm-cov needs.
        self.0.envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)));
        self
    }

    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.0.arg(argument);
        self
    }

    pub fn args<S: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = S>) -> Self {
        self.0.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.0.env(name, value.into());
        self
    }

    pub fn command(self) -> Command {
        self.0
    }

    pub fn output(mut self) -> Output {
        self.0.output().unwrap_or_else(|error| panic!("{:?}: {error}", self.0))
    }

    pub fn end(self) -> Ended {
        let output = self.output();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns its stdout; it must succeed with an empty stderr.
    #[track_caller]
    pub fn says(self) -> String {
        let ended = self.end();
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
        ended.stdout
    }

    /// Returns its stderr; it must fail as documented: `ERROR: `, exit code 1, an empty stdout.
    #[track_caller]
    pub fn fails(self) -> String {
        let ended = self.end();
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{}", ended.stderr);
        assert!(ended.stderr.starts_with("ERROR: ") && ended.stderr.matches("ERROR").count() == 1, "{}", ended.stderr);
        ended.stderr
    }
}

/// Parses JSON from stdout.
#[track_caller]
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the paths of all keys in a document, such as `places[].path`, in the written order; for an array those of
/// the first element. Scripts may rely on them.
pub fn keys(text: &str) -> Vec<String> {
    // serde_json sorts an object's keys, and users see the written order.
    let mut found: Vec<String> = Vec::new();
    let mut above: Vec<(String, usize)> = Vec::new();
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let line = line.trim_start();
        above.retain(|(_, outer)| *outer < depth);
        let named = line.strip_prefix('"').and_then(|rest| rest.split_once("\": "));
        let name = named.map_or("", |(name, _)| name);
        let opens = if line.ends_with('[') { "[]" } else { "" };
        if named.is_some() {
            let outer: String = above.iter().map(|(name, _)| name.as_str()).collect();
            let key = format!("{outer}{name}");
            if !found.contains(&key) {
                found.push(key);
            }
        }
        if line.ends_with('{') || line.ends_with('[') {
            let separator = if named.is_some() && line.ends_with('{') { "." } else { "" };
            let element = if named.is_some() && line.ends_with('[') { "." } else { "" };
            above.push((format!("{name}{opens}{separator}{element}"), depth));
        }
    }
    found
}
