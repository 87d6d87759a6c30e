//! What subcommands return and print.

use std::io::{self, Write as _};

/// The result of the command's functions: an error is a text for the user.
pub(super) type Result<T, E = String> = std::result::Result<T, E>;

/// Writes to stdout. If the reader closes the pipe early, as `head` does, the program ends without an error.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(0),
        Err(error) => Err(format!("cannot write the output: {error}")),
        Ok(()) => Ok(()),
    }
}
