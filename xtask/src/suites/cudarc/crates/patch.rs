//! Copies of crates, with the patch in their Cargo.toml.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::super::case::VERSION;
use super::super::scratch;
use super::list::Published;
use crate::paths;
use crate::suites::registry::write;

/// Returns the folder for the copies, and for what is compiled of them.
pub(super) fn folder() -> PathBuf {
    paths::fetched("cudarc").join("crates")
}

/// Copies the crate, with the patch in its Cargo.toml and the versions of its Cargo.lock. Returns the folder, and the version of cudarc that it asks for, if it
/// does so itself.
pub(super) fn patch(of: &Published) -> Result<(PathBuf, Option<String>)> {
    let source = scratch::fetch(of.name, of.version, of.features)?;
    let target = folder().join(format!("{}-{}", of.name, of.version));
    copy(&source, &target)?;
    let manifest = fs::read_to_string(target.join("Cargo.toml.published"))?;
    let asked = asked(&manifest);
    let own = paths::root().join("cuda-compat/cudarc");
    let minor = |version: &str| version.split('.').nth(1).map(str::to_owned);
    let cudarc = match asked.filter(|asked| minor(asked) != minor(VERSION)) {
        Some(asked) => older(&own, asked)?,
        None => own,
    };
    let end = format!("\n[workspace]\n\n[patch.crates-io]\ncudarc = {{ path = {cudarc:?} }}\n");
    write(&target.join("Cargo.toml"), &format!("{manifest}{end}"))?;
    let lock = target.join("Cargo.lock");
    if !lock.exists() {
        let versions = fs::read_to_string(source.join("Cargo.lock")).unwrap_or_default();
        write(&lock, &without_cudarc(&versions))?;
    }
    Ok((target, asked.map(str::to_owned)))
}

/// Returns the version of cudarc in a manifest from the registry, which has one section per dependency.
fn asked(manifest: &str) -> Option<&str> {
    let (_, section) = manifest.split_once("dependencies.cudarc]\n")?;
    let line = section.lines().take_while(|line| !line.starts_with('[')).find(|line| line.starts_with("version = "))?;
    line.split('"').nth(1)
}

/// Returns a Cargo.lock without its version of cudarc: the patch may have another one, and would not be used.
fn without_cudarc(lock: &str) -> String {
    let parts = lock.split("[[package]]\n");
    parts.filter(|part| !part.starts_with("name = \"cudarc\"\n")).collect::<Vec<_>>().join("[[package]]\n")
}

/// Copies the crate for patches, with an older version.
fn older(own: &Path, version: &str) -> Result<PathBuf> {
    let target = folder().join(format!("cudarc-{version}"));
    copy(own, &target)?;
    let manifest = fs::read_to_string(target.join("Cargo.toml.published"))?;
    let changed = manifest.replacen(&format!("version = \"{VERSION}\""), &format!("version = \"{version}\""), 1);
    ensure!(changed != manifest, "{} does not have the version {VERSION}", own.display());
    write(&target.join("Cargo.toml"), &changed)?;
    Ok(target)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else if entry.file_name() == "Cargo.lock" {
            // Cargo changes the copy.
        } else if entry.file_name() != "Cargo.toml" {
            let bytes = fs::read(entry.path())?;
            if !fs::read(&target).is_ok_and(|old| old == bytes) {
                fs::write(&target, bytes).with_context(|| format!("writing {}", target.display()))?;
            }
        } else {
            fs::copy(entry.path(), to.join("Cargo.toml.published"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_cudarc_is_that_of_its_section() {
        let text = "[package]\nversion = \"1\"\n[dependencies.cudarc]\nfeatures = [\n    \"f16\",\n]\nversion = \"0.17.3\"\n[dependencies.x]\nversion = \"2\"\n";
        assert_eq!(asked(text), Some("0.17.3"));
        assert_eq!(asked("[dependencies.x]\nversion = \"2\"\n"), None);
    }

    #[test]
    fn other_versions_of_a_lock_stay() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\n\n[[package]]\nname = \"cudarc\"\nversion = \"0.19.4\"\n\n[[package]]\nname = \"z\"\n";
        let left = "version = 4\n\n[[package]]\nname = \"a\"\n\n[[package]]\nname = \"z\"\n";
        assert_eq!(without_cudarc(lock), left);
    }
}
