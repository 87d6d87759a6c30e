//! Runs other programs.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::error::{Error, Result, While as _};

/// How often a running command is polled.
const INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of lines of a failed command's output in an error.
const LINES: usize = 30;

/// Returns the full path of a program on `PATH`.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns the command as a user would type it, for messages: the program's name without its folder.
pub fn shown(command: &Command) -> String {
    let program = command.get_program();
    let name = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs the command and returns its stdout.
///
/// # Errors
/// [`Error::Command`] with its stderr if it fails; [`Error::Io`] if it cannot be started.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().while_(|| format!("starting `{}`", shown(command)))?;
    if !output.status.success() {
        return Err(failed(command, output.status, &output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the command with `input` on its stdin.
///
/// # Errors
/// [`Error::Command`] with its output if it fails; [`Error::Io`] if it cannot be started.
pub fn feed(command: &mut Command, input: &str) -> Result<()> {
    let doing = |command: &Command| format!("running `{}`", shown(command));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .while_(|| doing(command))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that stops reading has failed, and reports the reason itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().while_(|| doing(command))?;
    if !output.status.success() {
        return Err(failed(command, output.status, &[output.stdout, output.stderr].concat()));
    }
    Ok(())
}

/// Runs the command to its end with its input, and calls `tick` ten times a second. Its output goes to the file `log`
/// and is returned as text; if it fails, the end of the output is in the error.
pub(crate) fn watch(command: &mut Command, log: &Path, mut tick: impl FnMut()) -> Result<String> {
    let doing = |command: &Command| format!("running `{}`", shown(command));
    let mut said = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(log)
        .while_(|| format!("writing {}", log.display()))?;
    let output = || said.try_clone().while_(|| format!("writing {}", log.display()));
    let mut child = command.stdout(output()?).stderr(output()?).spawn().while_(|| doing(command))?;
    let status = loop {
        if let Some(status) = child.try_wait().while_(|| doing(command))? {
            break status;
        }
        tick();
        std::thread::sleep(INTERVAL);
    };
    let mut text = Vec::new();
    said.rewind().and_then(|()| said.read_to_end(&mut text)).while_(|| format!("reading {}", log.display()))?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&text).into_owned()),
        false => Err(failed(command, status, &text)),
    }
}

fn failed(command: &Command, status: ExitStatus, said: &[u8]) -> Error {
    let said = String::from_utf8_lossy(said);
    let lines: Vec<&str> = said.trim().lines().collect();
    let said = lines[lines.len().saturating_sub(LINES)..].join("\n");
    Error::Command { command: shown(command), status: status.to_string(), said }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_run_and_what_it_said() {
        let error = capture(Command::new("sh").args(["-c", "echo no such luck >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("exit 3") && error.contains("no such luck"), "{error}");
        let error = capture(&mut Command::new("no-such-program-here")).unwrap_err().to_string();
        assert!(error.contains("no-such-program-here"), "{error}");
    }

    #[test]
    fn input_is_fed() {
        feed(Command::new("grep").args(["-q", "needle"]), "hay\nneedle\n").unwrap();
        assert!(feed(Command::new("grep").args(["-q", "needle"]), "hay\n").is_err());
        let much = "x".repeat(1 << 20);
        let error = feed(Command::new("sh").args(["-c", "echo full >&2; exit 1"]), &much).unwrap_err().to_string();
        assert!(error.contains("full"), "{error}");
    }

    #[test]
    fn a_watched_command_hands_over_what_it_said_and_ticks() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut ticks = 0;
        let said = watch(Command::new("sh").args(["-c", "echo hello; sleep 0.3"]), &log, || ticks += 1).unwrap();
        assert!(said == "hello\n" && ticks > 0, "{said:?} {ticks}");
        let error = watch(Command::new("sh").args(["-c", "seq 1 99; exit 1"]), &log, || ()).unwrap_err().to_string();
        assert!(error.contains("\n99") && !error.contains("\n50\n"), "{error}");
    }
}
