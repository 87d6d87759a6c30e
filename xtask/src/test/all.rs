//! The tests of all crates at once.

use std::process::Command;

use super::rust_kernels;
use crate::cargo::{NEWEST, checked_cargo};

/// The crate that is independent of GPUs.
pub(super) const COMPILER: &str = "rocm-llvm";

/// Returns a command for every crate except those that are built separately, with the features for tests: the software
/// GPU is on, since the examples use it.
pub(crate) fn all_crates(offline: bool) -> Command {
    let mut command = checked_cargo("test", offline);
    command.args(["--no-fail-fast", "--workspace", "--features", &format!("hip/{NEWEST}")]);
    rust_kernels::PACKAGES.iter().chain([&COMPILER]).for_each(|name| {
        command.args(["--exclude", name]);
    });
    command
}
