//! Running other programs.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Full path of a program on `PATH`.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The command as one would type it, for messages: the program's name without its folder.
pub(crate) fn shown(command: &Command) -> String {
    let program = command.get_program();
    let name = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(name).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs the command and returns what it wrote to stdout; when it fails the error holds what it wrote to stderr.
pub(crate) fn capture(command: &mut Command) -> Result<String> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("could not start `{}`", shown(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("`{}` failed with {}:\n{}", shown(command), output.status, said.trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs the command with `input` on its stdin; stdout and stderr go into the error when it fails.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<()> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start `{}`", shown(command)))?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).with_context(|| format!("writing to `{}`", shown(command)))?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        bail!("`{}` failed with {}:\n{}", shown(command), output.status, String::from_utf8_lossy(&said).trim());
    }
    Ok(())
}

/// The cargo that started us, else the one on `PATH`, with nothing inherited that names another toolchain's parts.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // `cargo run` exports the manifest of xtask itself; a build script or test below must not see it.
    for name in ["CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "CARGO_PKG_NAME", "CARGO_PKG_VERSION"] {
        command.env_remove(name);
    }
    command.current_dir(crate::paths::root());
    command
}

#[cfg(test)]
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
    }
}
