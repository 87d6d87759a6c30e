//! A progress bar on a terminal, plain lines elsewhere.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::process::shown;

/// How often a running command is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Runs `command` under a spinner that says `what`.
pub(crate) fn spin(what: &str, command: &mut Command) -> Result<()> {
    let bar = ProgressBar::new_spinner().with_message(what.to_owned());
    say(&bar, what);
    run(command, || bar.tick())?;
    bar.finish_and_clear();
    Ok(())
}

/// Runs `command`, which writes `files` (name and final size) into `folders`, under a bar of bytes.
pub(crate) fn bytes(what: &str, command: &mut Command, folders: &[PathBuf], files: &[(String, u64)]) -> Result<()> {
    let total: u64 = files.iter().map(|(_, size)| size).sum();
    let bar = ProgressBar::new(total).with_message(what.to_owned());
    bar.set_style(ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}")?);
    say(&bar, &format!("{what}: {}", HumanBytes(total)));
    run(command, || bar.set_position(present(folders, files)))?;
    bar.finish_and_clear();
    Ok(())
}

/// Counts through `items` under a bar.
pub(crate) fn each<T>(what: &str, items: &[T], mut work: impl FnMut(&T) -> Result<()>) -> Result<()> {
    let bar = ProgressBar::new(items.len() as u64).with_message(what.to_owned());
    bar.set_style(ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}")?);
    say(&bar, &format!("{what}: {} packages", items.len()));
    for item in items {
        work(item)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Where there is no terminal nothing is drawn, so it is said once.
fn say(bar: &ProgressBar, text: &str) {
    if bar.is_hidden() {
        eprintln!("{text}");
    }
}

/// How many bytes of `files` have arrived in `folders`.
fn present(folders: &[PathBuf], files: &[(String, u64)]) -> u64 {
    let size = |folder: &Path, name: &str| folder.join(name).metadata().map_or(0, |data| data.len());
    files.iter().map(|(name, full)| folders.iter().map(|folder| size(folder, name)).max().unwrap_or(0).min(*full)).sum()
}

/// Runs the command to its end, calling `tick` meanwhile; a failure holds what it said.
fn run(command: &mut Command, mut tick: impl FnMut()) -> Result<()> {
    let said = tempfile::tempfile().context("no temporary file could be made")?;
    let mut child: Child = command
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        .spawn()
        .with_context(|| format!("could not start `{}`", shown(command)))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        tick();
        std::thread::sleep(INTERVAL);
    };
    if !status.success() {
        bail!("`{}` failed with {status}:\n{}", shown(command), tail(said)?);
    }
    Ok(())
}

/// The end of what a failed command wrote.
fn tail(mut file: std::fs::File) -> Result<String> {
    use std::io::{Read as _, Seek as _};
    let mut text = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    Ok(lines[lines.len().saturating_sub(30)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_present_are_capped_at_the_final_size_and_taken_once() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(one.path().join("a"), [0; 10]).unwrap();
        std::fs::write(two.path().join("a"), [0; 4]).unwrap();
        std::fs::write(two.path().join("b"), [0; 9]).unwrap();
        let folders = [one.path().to_owned(), two.path().to_owned()];
        assert_eq!(present(&folders, &[("a".into(), 12), ("b".into(), 5), ("c".into(), 7)]), 15);
    }

    #[test]
    fn a_failing_command_hands_over_what_it_said() {
        let error = spin("trying", Command::new("sh").args(["-c", "echo the reason; exit 1"])).unwrap_err().to_string();
        assert!(error.contains("the reason"), "{error}");
    }
}
