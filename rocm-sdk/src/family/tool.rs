//! A program that is given a while to answer.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// More than any list of GPUs.
const MOST_BYTES: u64 = 64 * 1024;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// What the program at `path` prints, started with no arguments and no input; else why there is nothing.
pub(super) fn output(path: &Path, limit: Duration) -> Result<String, String> {
    let end = Instant::now() + limit;
    let mut child = Command::new(path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        // Its own thread: a read cannot be given a limit. It ends with the last process that has the pipe.
        thread::spawn(move || {
            let mut text = Vec::new();
            let read = stdout.take(MOST_BYTES).read_to_end(&mut text);
            let _ = sender.send(read.map(|_| text));
        });
    }
    let text = receiver.recv_timeout(limit);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Ok(status),
            Ok(None) if text.is_ok() && Instant::now() < end => thread::sleep(BETWEEN_LOOKS),
            Ok(None) => break Err(format!("no answer within {} s", limit.as_secs_f32())),
            Err(error) => break Err(error.to_string()),
        }
    };
    if status.is_err() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let status = status?;
    if !status.success() {
        return Err(format!("failed: {status}"));
    }
    match text {
        Ok(Ok(text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", limit.as_secs_f32())),
    }
}
