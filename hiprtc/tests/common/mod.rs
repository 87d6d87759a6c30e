//! Shared code of the tests.

#![allow(dead_code, missing_docs, unreachable_pub)] // each test uses a part of it

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Reports that a test is skipped. It bypasses libtest's capture, which hides the output of passing tests; `cargo xtask
/// test` counts the reports.
pub fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// Returns whether a HIPRTC is available for the tests, and reports if not. If one is promised (`ROCM_RS_RELEASE`), its
/// absence is a failure.
pub fn compiler_or_skip(test: &str) -> bool {
    // The tests are about the compiler, not the cache.
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

/// Returns the command that started this process, up to the test program: a loader with its library path, or nothing.
pub fn runner() -> Vec<OsString> {
    let program = std::env::args_os().next().unwrap();
    let Ok(line) = std::fs::read("/proc/self/cmdline") else { return Vec::new() };
    let words = line.split(|byte| *byte == 0).map(|word| OsString::from(String::from_utf8_lossy(word).into_owned()));
    let words: Vec<_> = words.take_while(|word| *word != program).collect();
    // Without a runner the program comes first.
    if words.len() > 20 { Vec::new() } else { words }
}

/// Runs this test program again, for one of its ignored tests, without the files whose names start with one of `hide`
/// in HIPRTC's directory. A name that ends with `$` must match completely.
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
                // HIPRTC itself is copied, so that it is in the new directory even after links are resolved.
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

    /// Runs the ignored test and returns whether it passed, with its output.
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
