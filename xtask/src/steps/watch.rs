//! Reads the output of a command line by line, and kills the command if it writes nothing for too long.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anyhow::{Result, bail};

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

/// Kills a program and all of its processes. The program itself comes last, but in the same command, before it can
/// react to the end of its children.
fn end(child: &mut Child) {
    let mut family = vec![child.id()];
    let parents = parents();
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        family.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
        next += 1;
    }
    family.reverse();
    let numbers: Vec<String> = family.iter().map(u32::to_string).collect();
    let _ =
        Command::new("sh").args(["-c", &format!("kill -KILL {}", numbers.join(" "))]).stderr(Stdio::null()).status();
    let _ = child.wait();
}

/// Returns all processes, each with its parent.
fn parents() -> Vec<(u32, u32)> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let parent = |process: u32| {
        // `number (name) state parent ...`; the name may contain parentheses.
        let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let (_, rest) = text.rsplit_once(')')?;
        Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
    };
    processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter_map(parent).collect()
}

#[cfg(test)]
mod tests {
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
