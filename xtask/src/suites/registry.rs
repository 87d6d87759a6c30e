//! Fetches crates of the registry, unchanged, as dependencies of a package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::cargo;

/// The version requirement for the newest version.
pub(super) const NEWEST: &str = "*";

/// A crate that cargo fetched.
pub(super) struct Crate {
    pub(super) version: String,
    pub(super) folder: PathBuf,
}

/// Writes a file unless it already has that text, so that cargo does not compile it again.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// Makes cargo fetch a version of a crate, such as `=0.9.2`, as the only dependency of an empty package in `folder`.
pub(super) fn fetch(folder: &Path, name: &str, version: &str, features: &[&str], offline: bool) -> Result<Crate> {
    let package = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n{name} = {{ version = \"{version}\", \
         features = {features:?} }}\n[workspace]\n"
    );
    fs::create_dir_all(folder.join("src")).with_context(|| format!("making {}", folder.display()))?;
    let manifest = folder.join("Cargo.toml");
    write(&manifest, &package)?;
    write(&folder.join("src/lib.rs"), "")?;
    if version == NEWEST && !offline {
        // The newest version, not that of the last call.
        let _ = fs::remove_file(folder.join("Cargo.lock"));
    }
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(&manifest);
    if offline {
        command.arg("--offline");
    }
    let output = command.stderr(Stdio::inherit()).output().context("could not start cargo")?;
    ensure!(output.status.success(), "cargo could not fetch {name}: {}", output.status);
    found(&serde_json::from_slice(&output.stdout)?, name).with_context(|| format!("cargo fetched no {name}"))
}

/// Returns the crate from the output of `cargo metadata`.
fn found(metadata: &Value, name: &str) -> Option<Crate> {
    let package = metadata["packages"].as_array()?.iter().find(|package| package["name"] == name)?;
    let manifest = Path::new(package["manifest_path"].as_str()?);
    Some(Crate { version: package["version"].as_str()?.to_owned(), folder: manifest.parent()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_is_found_in_cargos_metadata() {
        let text = r#"{"packages": [{"name": "a", "version": "1.0.0", "manifest_path": "/x/a/Cargo.toml"},
            {"name": "candle-kernels", "version": "0.11.1", "manifest_path": "/x/candle-kernels/Cargo.toml"}]}"#;
        let found = found(&serde_json::from_str(text).unwrap(), "candle-kernels").unwrap();
        assert_eq!((found.version.as_str(), found.folder.as_path()), ("0.11.1", Path::new("/x/candle-kernels")));
        assert!(super::found(&serde_json::json!({"packages": []}), "candle-kernels").is_none());
    }
}
