//! Runs other programs.

use std::process::{Command, Stdio};

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
