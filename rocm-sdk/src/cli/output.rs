//! The command's output and exit code.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// The failure of a subcommand, shown after `ERROR: `.
#[derive(Debug)]
pub(crate) struct Failure(String);

pub(crate) type Outcome = Result<ExitCode, Failure>;

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

#[cfg(unix)]
impl Failure {
    pub(crate) fn message(&self) -> &str {
        &self.0
    }
}

/// Shows the failure on stderr.
pub(crate) fn end(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(code) => code,
        Err(Failure(message)) => {
            // A closed stderr is ignored.
            let _ = writeln!(io::stderr(), "ERROR: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Shows a warning on stderr.
pub(crate) fn warn(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "WARNING: {message}");
}

/// Shows a remark for people on stderr, so that scripts that read stdout need not skip it.
pub(crate) fn note(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Writes a line to stdout.
pub(crate) fn line(text: impl fmt::Display) -> Result<(), Failure> {
    bytes(format!("{text}\n").as_bytes())
}

/// Writes bytes to stdout. A reader that closes the pipe early, like `head`, is not a failure.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("writing to stdout: {error}").into()),
        _ => Ok(()),
    }
}
