//! Paths in this checkout.

use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Returns a folder for files that `cargo xtask` fetches: under `target/`, whatever `CARGO_TARGET_DIR` is, so that
/// every build finds them.
pub(crate) fn fetched(kind: &str) -> PathBuf {
    root().join("target").join(kind)
}

/// Returns the folder that cargo builds the dev profile in.
pub(crate) fn built() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("debug")
}

/// Returns the folder of the ROCm trees, one per release: `ROCM_RS_TREES`, otherwise `target/rocm`.
pub(crate) fn rocm_trees() -> PathBuf {
    match std::env::var_os("ROCM_RS_TREES") {
        Some(folder) if Path::new(&folder).is_absolute() => PathBuf::from(folder),
        _ => fetched("rocm"),
    }
}
