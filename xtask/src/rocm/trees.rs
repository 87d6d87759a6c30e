//! The current trees of the releases.

use anyhow::{Result, ensure};
use rocm_sdk::install::Bytes;
use rocm_sdk::install::debian::{Contents, Tree};

use super::releases::{BASE, Release};
use crate::paths;

/// Returns the tree of a release, which need not exist.
pub(crate) fn tree(release: &Release) -> Tree {
    Tree::new(paths::rocm_trees().join(release.name))
}

/// Returns whether HIP and its headers are completely fetched.
pub(crate) fn is_present(release: &Release) -> bool {
    let tree = tree(release);
    let library = tree.libraries().join(format!("libamdhip64.so.{}", release.debian.major));
    let needed = [library, tree.loader(), tree.folder().join("usr/include/hip/hip_runtime_api.h")];
    tree.contents().is_ok_and(|contents| contents.sets.iter().any(|set| set == BASE))
        && needed.iter().all(|path| path.exists())
}

/// Returns the condition that a release is fetched.
pub(crate) fn fetched(release: &'static Release) -> impl Fn() -> Result<(), String> + 'static {
    move || match is_present(release) {
        true => Ok(()),
        false => Err(format!("ROCm {name} is not there (cargo xtask rocm fetch {name})", name = release.name)),
    }
}

pub(super) fn present(release: &Release) -> Result<Tree> {
    ensure!(
        is_present(release),
        "ROCm {name} is not there; fetch it with `cargo xtask rocm fetch {name}`",
        name = release.name
    );
    Ok(tree(release))
}

pub(super) fn described(contents: &Contents) -> String {
    format!("{} packages, {} ({})", contents.packages.len(), Bytes(contents.size()), contents.sets.join(", "))
}
