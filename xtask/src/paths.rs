//! Where things lie in this checkout.

use std::path::{Path, PathBuf};

/// Root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// What `cargo xtask` fetches lies under `target/`, whatever `CARGO_TARGET_DIR` says, so that every build finds it.
pub(crate) fn fetched(kind: &str) -> PathBuf {
    root().join("target").join(kind)
}

/// What cargo builds without a profile of its own.
pub(crate) fn built() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from).join("debug")
}

/// Folder of the ROCm trees, one a release: `ROCM_RS_TREES`, else `target/rocm`.
pub(crate) fn rocm_trees() -> PathBuf {
    match std::env::var_os("ROCM_RS_TREES") {
        Some(folder) if Path::new(&folder).is_absolute() => PathBuf::from(folder),
        _ => fetched("rocm"),
    }
}
