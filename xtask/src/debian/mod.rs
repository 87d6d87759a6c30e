//! Debian packages unpacked into a folder: nothing is installed, root is not needed, and apt itself resolves the
//! dependencies and verifies signatures and checksums.
//!
//! apt gets a state of its own (lists, cache, sources, pins) under `target/debian`, so the machine's is neither
//! read nor changed, apart from two things: which mirror it uses for Debian, and how it reaches it (`Acquire::*`).
//!
//! - [`sources`] finds the mirror, [`apt`] drives apt-get, [`uris`] reads what it answers,
//! - [`tree`] keeps a folder of unpacked packages, [`progress`] shows how far a download is.

pub(crate) mod apt;
pub(crate) mod progress;
pub(crate) mod sources;
pub(crate) mod tree;
pub(crate) mod uris;

use anyhow::{Result, ensure};

use crate::process;

/// Folder of Debian's libraries inside a tree.
pub(crate) const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// The loader that goes with a tree's libc.
pub(crate) const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// Whether Debian packages can be fetched on this machine; the error says what is missing.
pub(crate) fn usable() -> Result<()> {
    ensure!(
        cfg!(all(target_os = "linux", target_arch = "x86_64")),
        "Debian's ROCm packages are fetched for x86-64 Linux only"
    );
    for tool in ["apt-get", "apt-cache", "dpkg"] {
        ensure!(process::find(tool).is_some(), "{tool} is not on this machine (packages apt and dpkg)");
    }
    apt::keyring().map(drop)
}
