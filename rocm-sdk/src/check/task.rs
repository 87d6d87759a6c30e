//! The tasks of the processes that a check starts, and their answers, as variables and lines of text.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::LoadError;

/// The variable with the task; see [`Task`].
pub(super) const TASK: &str = "ROCM_SDK_CHECK_TASK";
/// The variable with the roots of the installation, separated by [`SEPARATOR`].
pub(super) const ROOTS: &str = "ROCM_SDK_CHECK_ROOTS";
/// The ASCII unit separator. A colon may occur in a path.
pub(super) const SEPARATOR: u8 = 0x1f;
/// The variable with the mark before the answer; see [`mark`].
pub(super) const MARK: &str = "ROCM_SDK_CHECK_MARK";

/// The variable that names libraries to preload.
pub(super) const PRELOADED: &str = "ROCM_SDK_PRELOAD_LIBRARIES";

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

    pub(super) fn parse(value: &OsString) -> Option<Self> {
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

/// Returns the text without line ends; [`from_line`] reverses it.
pub(super) fn to_line(text: &str) -> String {
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

/// Returns the message without the steps of a search that found the library.
pub(super) fn in_short(error: &LoadError) -> String {
    match error {
        LoadError::Unusable { target, reason, .. } => format!("{target}: {reason}"),
        other => other.to_string(),
    }
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
