//! Running other programs.

use std::process::Command;

pub(crate) use rocm_sdk::install::command::{capture, find, shown};

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
