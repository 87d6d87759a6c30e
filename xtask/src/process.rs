//! Runs other programs.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

pub(crate) use rocm_sdk::install::command::{capture, find, shown};

/// Returns the cargo that started this program, otherwise the one on `PATH`, without inherited variables that name
/// parts of another toolchain.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // `cargo run` exports the manifest of xtask itself; build scripts and tests of the new cargo must not see it.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command.current_dir(crate::paths::root());
    command
}

/// Runs cargo and returns its messages (`--message-format json-render-diagnostics`), while it shows its progress.
///
/// # Errors
/// If it cannot be started or fails; it has then printed its own errors.
pub(crate) fn messages(command: &mut Command) -> Result<String> {
    let name = shown(command);
    command.args(["--message-format", "json-render-diagnostics"]).stdin(Stdio::null());
    let output = command.stderr(Stdio::inherit()).output().with_context(|| format!("could not start `{name}`"))?;
    if !output.status.success() {
        bail!("`{name}` failed: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a program that says nothing unless it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Returns the program that cargo's messages name for a target of that kind and name.
pub(crate) fn program(messages: &str, kind: &str, name: &str) -> Result<PathBuf> {
    let found = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == kind;
        is_it.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    });
    found.with_context(|| format!("cargo did not say where the {kind} {name} is"))
}

/// The end of a program that had a limit.
pub(crate) struct Ended {
    /// `None` if it was killed.
    pub(crate) status: Option<ExitStatus>,
    /// Its output, to stdout and to stderr.
    pub(crate) text: String,
}

/// Interval in which the end of a program is checked.
const LOOK: Duration = Duration::from_millis(10);

/// Runs a program to its end. Kills it, with all of its processes, after the limit or once `stop` returns `true`.
pub(crate) fn within(command: &mut Command, limit: Duration, stop: impl Fn() -> bool) -> Result<Ended> {
    // A file accepts all output, even if nothing reads it.
    let output = tempfile::NamedTempFile::new()?;
    let file = || File::options().append(true).open(output.path());
    let begun = Instant::now();
    let status = watched(command.stdout(file()?).stderr(file()?), || begun.elapsed() > limit || stop())?;
    Ok(Ended { status, text: String::from_utf8_lossy(&std::fs::read(output.path())?).into_owned() })
}

/// The end of a program that was killed if it fell silent.
pub(crate) struct Heard {
    /// `None` if it was killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a program to its end. Kills it, with all of its processes, if it writes nothing to stdout for `silence`.
pub(crate) fn until_silent(command: &mut Command, silence: Duration) -> Result<Heard> {
    let [stdout, stderr] = [tempfile::NamedTempFile::new()?, tempfile::NamedTempFile::new()?];
    let (mut length, mut heard) = (0, Instant::now());
    let is_silent = || {
        let now = stdout.path().metadata().map_or(0, |data| data.len());
        if now != length {
            (length, heard) = (now, Instant::now());
        }
        heard.elapsed() > silence
    };
    let file = |file: &tempfile::NamedTempFile| File::options().append(true).open(file.path());
    let status = watched(command.stdout(file(&stdout)?).stderr(file(&stderr)?), is_silent)?;
    let text = |file: &tempfile::NamedTempFile| std::fs::read(file.path());
    let text = |file| text(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Heard { status, stdout: text(&stdout)?, stderr: text(&stderr)? })
}

/// Runs a program to its end. Kills it, with all of its processes, once `stop` returns `true`.
fn watched(command: &mut Command, mut stop: impl FnMut() -> bool) -> Result<Option<ExitStatus>> {
    let mut child =
        command.stdin(Stdio::null()).spawn().with_context(|| format!("could not start `{}`", shown(command)))?;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if stop() {
            end(&mut child);
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// Kills a program and all of its processes. The program itself comes last, but in the same command, before it can
/// react to the end of its children.
pub(crate) fn end(child: &mut Child) {
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

    #[test]
    fn programs_are_found_in_what_cargo_says() {
        let line = |name, kind| {
            format!(r#"{{"target":{{"name":"{name}","kind":["{kind}"]}},"executable":"/t/{name}-{kind}"}}"#)
        };
        let messages = [line("gpu", "bench"), line("graph", "test"), line("gpu", "test"), "no message".to_owned()];
        let messages = messages.join("\n");
        assert_eq!(program(&messages, "test", "gpu").unwrap(), PathBuf::from("/t/gpu-test"));
        assert!(program(&messages, "test", "other").is_err() && program(&messages, "bench", "graph").is_err());
    }

    #[test]
    fn both_outputs_are_kept() {
        let mut command = Command::new("sh");
        let ended = within(command.args(["-c", "echo one; echo two >&2; exit 3"]), Duration::MAX, || false).unwrap();
        assert_eq!((ended.status.and_then(|status| status.code()), ended.text.as_str()), (Some(3), "one\ntwo\n"));
    }

    #[test]
    fn a_program_that_falls_silent_is_killed() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let heard = until_silent(&mut command, Duration::MAX).unwrap();
        assert_eq!(heard.status.and_then(|status| status.code()), Some(3));
        assert_eq!((heard.stdout.as_str(), heard.stderr.as_str()), ("one\n", "two\n"));
        let mut command = Command::new("sh");
        let heard = until_silent(command.args(["-c", "sleep 100000"]), Duration::from_millis(1)).unwrap();
        assert!(heard.status.is_none());
    }

    #[test]
    fn a_program_that_is_to_stop_is_killed_with_its_children() {
        let inner = tempfile::NamedTempFile::new().unwrap();
        let number = || std::fs::read_to_string(inner.path()).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", r#"sleep 100000 & echo $! >"$1"; wait"#, "sh"]).arg(inner.path());
        let ended = within(&mut command, Duration::MAX, || number().ends_with('\n')).unwrap();
        assert!(ended.status.is_none());
        let stat = format!("/proc/{}/stat", number().trim());
        // It may not have been reaped yet.
        while std::fs::read_to_string(&stat).is_ok_and(|text| !text.contains(") Z ")) {
            std::thread::yield_now();
        }
    }
}
