//! The fetched trees of ROCm, and tests that are skipped without them.

use std::path::{Path, PathBuf};

/// Where `cargo xtask rocm fetch` unpacks: `ROCM_RS_TREES`, else `target/rocm` of the workspace.
pub fn trees() -> PathBuf {
    let folder = std::env::var_os("ROCM_RS_TREES").map(PathBuf::from);
    folder.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rocm"))
}

/// Says so past the test harness, which keeps the output of tests that pass to itself.
pub fn skipped(why: impl std::fmt::Display) {
    use std::io::Write as _;
    let _ = std::io::stdout().write_all(format!("SKIPPED: {why}\n").as_bytes());
}
