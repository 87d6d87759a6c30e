//! What the tests share.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test uses its part

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Says that a test is skipped, past libtest's capture, which shows nothing of tests that pass; `cargo xtask test` counts it.
pub fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// Whether there is a HIPRTC to test with; says so if not. Where one is promised (`ROCM_RS_RELEASE`), its absence is a failure.
pub fn compiler_or_skip(test: &str) -> bool {
    // The tests are about the compiler.
    hiprtc::cache::disable();
    match hiprtc::available() {
        Ok(()) => true,
        Err(error) => {
            assert!(std::env::var_os("ROCM_RS_RELEASE").is_none(), "{test}: {error}");
            skipped(&error);
            false
        }
    }
}

/// How this process was started, up to the test program: a loader with its library path, or nothing.
pub fn runner() -> Vec<OsString> {
    let program = std::env::args_os().next().unwrap();
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return Vec::new() };
    let words = line.split(|byte| *byte == 0).map(|word| OsString::from(String::from_utf8_lossy(word).into_owned()));
    let words: Vec<_> = words.take_while(|word| *word != program).collect();
    // With no runner the program comes first.
    if words.len() > 20 { Vec::new() } else { words }
}

/// This test program again, to run one of its ignored tests, with the files whose names start with one of `hide` left out of
/// the directory of libraries that HIPRTC is in. A name that ends with `$` is a whole one.
pub struct Without {
    _directory: tempfile::TempDir,
    command: Command,
}

impl Without {
    /// `library` is the HIPRTC in use.
    pub fn new(library: &Path, hide: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let from = library.parent().unwrap();
        let to = directory.path().join("lib");
        std::fs::create_dir(&to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name();
            let hidden = hide.iter().any(|stem| match stem.strip_suffix('$') {
                Some(whole) => name == *whole,
                None => name.to_string_lossy().starts_with(stem),
            });
            if name.to_string_lossy().contains(".so") && !hidden {
                // HIPRTC itself is copied, so that it is in the new directory by every account.
                if name.to_string_lossy().starts_with("libhiprtc.so") {
                    std::fs::copy(entry.path(), to.join(name)).unwrap();
                } else {
                    #[cfg(unix)]
                    std::os::unix::fs::symlink(entry.path(), to.join(name)).unwrap();
                }
            }
        }
        let program = std::env::args_os().next().unwrap();
        let replace = |word: OsString| -> OsString {
            let text = word.to_string_lossy().into_owned();
            let paths = text
                .split(':')
                .map(|part| if Path::new(part) == from { to.display().to_string() } else { part.to_owned() });
            paths.collect::<Vec<_>>().join(":").into()
        };
        let mut words = runner();
        // The loader itself stays; the directories after it change.
        words.iter_mut().skip(1).for_each(|word| *word = replace(word.clone()));
        words.push(program);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env("ROCM_PATH", directory.path()).env_remove("HIP_PATH");
        if let Some(path) = std::env::var_os("LD_LIBRARY_PATH") {
            command.env("LD_LIBRARY_PATH", replace(path));
        }
        Self { _directory: directory, command }
    }

    /// Runs the ignored test and returns whether it passed, with all it printed.
    pub fn run(mut self, test: &str) -> (bool, String) {
        self.command.args(["--exact", test, "--ignored", "--nocapture"]);
        let output = self.command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), format!("{}\n{text}", output.status))
    }
}

/// The HIPRTC in use.
pub fn library() -> Option<PathBuf> {
    hiprtc::sys::BINDING.opened()?.path().map(Path::to_owned)
}
