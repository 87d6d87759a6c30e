//! The command line that starts this program again.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

/// This program, and the words before its name on the command line.
#[derive(Debug, Clone)]
pub(crate) struct Myself {
    words: Vec<OsString>,
}

impl Myself {
    pub(crate) fn find() -> Option<Self> {
        let program = std::env::current_exe().ok()?;
        let name = program.file_name()?.to_string_lossy().into_owned();
        if !(name.starts_with("ld-") || name.starts_with("ld.so") || name.starts_with("ld64.so")) {
            return Some(Self { words: vec![program.into_os_string()] });
        }
        // Started through a system loader, which is then the running executable: `ld.so --library-path DIRS rocm-sdk libs`.
        let line = fs::read("/proc/self/cmdline").ok()?;
        let mut words: Vec<OsString> = line.split(|&b| b == 0).map(os_string).collect();
        // The line ends with a NUL.
        words.pop();
        let arguments = std::env::args_os().len().saturating_sub(1);
        words.truncate(words.len().saturating_sub(arguments));
        words[..1].clone_from_slice(&[program.into_os_string()]);
        Some(Self { words })
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]);
        command
    }

    /// Returns the directories that were passed to the loader instead of those of `LD_LIBRARY_PATH`.
    #[cfg(unix)]
    pub(crate) fn library_path(&self) -> Option<&std::ffi::OsStr> {
        let at = self.words.iter().position(|word| word == "--library-path")?;
        self.words.get(at + 1).map(OsString::as_os_str)
    }
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStrExt as _;
    std::ffi::OsStr::from_bytes(bytes).to_owned()
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
