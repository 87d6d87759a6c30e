//! Reads the output of a command line by line, and kills the command if it writes nothing for too long.

use std::io::{BufRead as _, BufReader, Read};
use std::process::Child;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process::end;

/// Maximum time without output, at first, while cargo builds, and later. libtest reports a test that takes a minute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    pub(super) before: Duration,
    pub(super) between: Duration,
}

impl Patience {
    pub(super) const USUAL: Self = Self { before: Duration::from_secs(25 * 60), between: Duration::from_secs(5 * 60) };
}

/// Passes on each line of a program's output. If the program is silent for too long, it is killed with all of its
/// processes.
///
/// # Errors
/// If it was killed, or its output cannot be read.
pub(super) fn lines(
    child: &mut Child,
    output: impl Read + Send + 'static,
    patience: Patience,
    mut line: impl FnMut(&str),
) -> Result<()> {
    let (sender, receiver) = mpsc::channel();
    // Not joined: a process that the program started may keep the output open after its end.
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n') {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut wait = patience.before;
    loop {
        match receiver.recv_timeout(wait) {
            Ok(read) => line(&String::from_utf8_lossy(&read?)),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                end(child);
                bail!("it wrote nothing for {wait:?}, and was ended");
            }
        }
        wait = patience.between;
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn run(script: &str, patience: Patience) -> (Vec<String>, Result<()>, Child) {
        let mut child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let mut read = Vec::new();
        let result = lines(&mut child, output, patience, |line| read.push(line.to_owned()));
        (read, result, child)
    }

    #[test]
    fn lines_are_passed_on_until_the_end() {
        let (read, result, mut child) = run("echo one; echo two; exit 3", Patience::USUAL);
        result.unwrap();
        assert_eq!(read, ["one", "two"]);
        assert_eq!(child.wait().unwrap().code(), Some(3));
    }

    #[test]
    fn what_is_silent_for_too_long_is_ended_with_what_it_started() {
        let patience = Patience { before: Duration::from_secs(100_000), between: Duration::from_millis(200) };
        let (read, result, _) = run("sleep 1000 & echo $!; wait", patience);
        let error = result.unwrap_err().to_string();
        assert!(error.contains("it wrote nothing for 200ms"), "{error}");
        let inner = format!("/proc/{}/stat", read[0]);
        // It may not have been reaped yet.
        let gone = || std::fs::read_to_string(&inner).map_or(true, |text| text.contains(") Z "));
        while !gone() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_first_line_may_take_longer() {
        let patience = Patience { before: Duration::from_secs(100_000), between: Duration::from_millis(1) };
        let (read, ..) = run("sleep 0.2; echo one", patience);
        assert_eq!(read, ["one"]);
    }
}
