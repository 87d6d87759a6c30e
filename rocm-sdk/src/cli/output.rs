//! What the command writes, and how it ends.

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// What a subcommand could not do, as it is shown behind `ERROR: `.
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
            // With stderr closed there is nobody left to tell.
            let _ = writeln!(io::stderr(), "ERROR: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Shows what is worth knowing but no failure, on stderr.
pub(crate) fn warn(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "WARNING: {message}");
}

/// A remark for people on stderr, which scripts that read stdout need not skip.
pub(crate) fn note(message: impl fmt::Display) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// A line on stdout.
pub(crate) fn line(text: impl fmt::Display) -> Result<(), Failure> {
    bytes(format!("{text}\n").as_bytes())
}

/// These bytes on stdout. Whoever reads may stop in the middle, as `head` does: that is no failure.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("writing to stdout: {error}").into()),
        _ => Ok(()),
    }
}
