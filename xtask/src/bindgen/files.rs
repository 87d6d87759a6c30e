//! Writes generated files, and removes obsolete ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Texts of generated files, by path in their folder.
pub(crate) type Files = BTreeMap<PathBuf, String>;

/// A generated file of another command, `cargo xtask cuda`.
const NOT_OURS: &str = "cuda.rs";

/// Writes the files that changed, removes obsolete ones, and returns both.
pub(crate) fn write(folder: &Path, files: &Files, check: bool) -> Result<Vec<PathBuf>> {
    let mut changed = Vec::new();
    for (name, text) in files {
        changed.extend(write_file(&folder.join(name), text, check)?);
    }
    for path in files_below(folder)? {
        let name = path.strip_prefix(folder).context("a file outside of its folder")?;
        if !files.contains_key(name) && name != Path::new(NOT_OURS) {
            if !check {
                std::fs::remove_file(&path).with_context(|| format!("removing {}", path.display()))?;
            }
            changed.push(path);
        }
    }
    Ok(changed)
}

/// Writes one file if it changed, and then returns its path.
pub(crate) fn write_file(path: &Path, text: &str, check: bool) -> Result<Option<PathBuf>> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(None);
    }
    if !check {
        let parent = path.parent().context("a file without a folder")?;
        std::fs::create_dir_all(parent).with_context(|| format!("creating {}", parent.display()))?;
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(Some(path.to_owned()))
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.is_dir() {
        for entry in std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
            let path = entry?.path();
            if path.is_dir() {
                found.extend(files_below(&path)?);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
