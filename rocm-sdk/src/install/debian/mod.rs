//! Unpacks Debian packages into a folder: nothing is installed, root is not needed, no script of a package runs. apt
//! itself resolves the dependencies and verifies signatures and checksums.
//!
//! apt gets private state (lists, cache, sources, pins) in a folder, so the machine's state is neither read nor
//! changed, with two exceptions: which mirror it uses for Debian, and how it reaches it (`Acquire::*`).
//!
//! [`Tree`] manages a folder of unpacked packages. A [`Selection`] of an [`Archive`]'s suites and a [`Wanted`] list
//! determine its packages; [`Apt`] runs apt. ROCm's releases use it ([`Installer`](super::Installer)), but nothing in
//! this module depends on ROCm.

mod apt;
mod lock;
mod plan;
mod sources;
mod tree;
mod uris;
mod variables;

pub use apt::{Apt, Selection, numbered};
pub use lock::Lock;
pub use plan::Plan;
pub use sources::Archive;
pub use tree::{Contents, Fetch, Recipe, Stamp, Tree, Wanted};
pub(crate) use tree::{remove_all, replace};
pub use uris::Package;
pub use variables::{KEYRING_VARIABLE, MIRROR_VARIABLE};

use super::command::find;
use super::error::{Error, Result};

/// Folder of Debian's libraries inside a tree.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// The dynamic loader of a tree's libc.
pub const LOADER: &str = "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2";

/// Checks that Debian packages can be downloaded and unpacked on this machine.
///
/// # Errors
/// [`Error::Unsupported`] with what is missing and what to do.
pub fn usable() -> Result<()> {
    tools()?;
    sources::keyring().map(drop)
}

/// Checks that the required programs are installed.
pub(crate) fn tools() -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Error::Unsupported {
            why: "Debian's packages of ROCm are for x86-64 Linux".to_owned(),
            help: "install ROCm as AMD describes for this system".to_owned(),
        });
    }
    for (tool, package) in
        [("apt-get", "apt"), ("apt-cache", "apt"), ("dpkg", "dpkg"), ("dpkg-deb", "dpkg"), ("sha256sum", "coreutils")]
    {
        if find(tool).is_none() {
            return Err(Error::Unsupported {
                why: format!("{tool} is not on this machine"),
                help: format!(
                    "install the package {package} (every Debian and Ubuntu has it, and so has a container of them), or \
                     ROCm from AMD or this distribution"
                ),
            });
        }
    }
    Ok(())
}
