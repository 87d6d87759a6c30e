//! A program that lists GPUs.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::child;

/// Returns the output of the program at `path`, run without arguments and input; otherwise the reason for the failure.
pub(super) fn output(path: &Path, limit: Duration) -> Result<String, String> {
    let ended = child::run(Command::new(path), limit)?;
    match ended.status {
        Some(status) if status.success() => Ok(ended.stdout),
        Some(status) => Err(format!("failed: {status}")),
        None => Err(format!("no answer within {} s", limit.as_secs_f32())),
    }
}
