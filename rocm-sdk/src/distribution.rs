//! The description that a distribution by AMD's TheRock contains (feature `distribution`).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::error::Error;
use crate::layout::Layout;
use rocm_loader::text_file;

/// The paths of the two files, below a root.
const INFO: &str = "share/therock/dist_info.json";
const MANIFEST: &str = "share/therock/therock_manifest.json";
const TARGETS: &str = "dist_amdgpu_targets";

/// A distribution: the targets that it has code for, and its sources.
///
/// ```
/// use rocm_sdk::{Distribution, Error};
///
/// let root = std::env::temp_dir().join("rocm-sdk-doctest-distribution");
/// std::fs::create_dir_all(root.join("share/therock"))?;
/// std::fs::write(root.join("share/therock/dist_info.json"), r#"{ "dist_amdgpu_targets": "gfx942;gfx950" }"#)?;
/// let distribution = Distribution::at(&root)?.expect("a distribution of TheRock");
/// assert_eq!(distribution.targets(), ["gfx942", "gfx950"]);
/// # std::fs::remove_dir_all(&root)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    path: PathBuf,
    info: Map<String, Value>,
    manifest: Option<Map<String, Value>>,
}

impl Distribution {
    /// Reads the distribution at this root. Returns `None` if it has no `share/therock/dist_info.json`: then it is not
    /// by TheRock.
    ///
    /// # Errors
    /// [`Error::Distribution`] if the file cannot be read or is invalid.
    pub fn at(root: &Path) -> Result<Option<Self>, Error> {
        let path = root.join(INFO);
        let Some(info) = read(&path)? else { return Ok(None) };
        let targets = info.get(TARGETS);
        if !matches!(targets, Some(Value::String(_) | Value::Array(_))) {
            let why = format!("{TARGETS} is {}", targets.map_or("missing", kind_of));
            return Err(Error::Distribution { path, why });
        }
        let manifest = read(&root.join(MANIFEST))?;
        Ok(Some(Self { path, info, manifest }))
    }

    /// Returns the path of `dist_info.json`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the targets as written there, such as `gfx942;gfx950`. AMD's `rocm-sdk targets` prints the same.
    pub fn targets_text(&self) -> String {
        match self.info.get(TARGETS) {
            Some(Value::String(text)) => text.clone(),
            _ => self.targets().join(";"),
        }
    }

    /// Returns the targets that it has code for, each once, in the written order.
    pub fn targets(&self) -> Vec<String> {
        let texts: Vec<&str> = match self.info.get(TARGETS) {
            Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => vec![text],
            _ => Vec::new(),
        };
        let mut targets: Vec<String> = Vec::new();
        for target in texts.iter().flat_map(|text| text.split([';', ',', ' '])).map(str::trim).filter(|t| !t.is_empty())
        {
            if !targets.iter().any(|known| known == target) {
                targets.push(target.to_owned());
            }
        }
        targets
    }

    /// Returns whether it has code for a target, such as `gfx90a` or `gfx90a:xnack+`. Code for a target without
    /// features also fits that target with any features.
    pub fn has_target(&self, target: &str) -> bool {
        let base = target.split(':').next().unwrap_or(target);
        self.targets().iter().any(|known| known == target || known == base)
    }

    /// Returns the commit of TheRock that it was built from.
    pub fn commit(&self) -> Option<&str> {
        self.manifest_text("the_rock_commit")
    }

    /// Returns ROCm's release, if stated.
    pub fn rocm_version(&self) -> Option<&str> {
        self.manifest_text("rocm_version")
    }

    /// Returns the version of the packages, if stated.
    pub fn package_version(&self) -> Option<&str> {
        self.manifest_text("rocm_package_version")
    }

    /// Returns the sources that it was built from: the path in TheRock, and the commit if stated.
    pub fn sources(&self) -> Vec<(&str, Option<&str>)> {
        let modules = self.manifest.as_ref().and_then(|m| m.get("submodules")).and_then(Value::as_array);
        modules.into_iter().flatten().filter_map(source).collect()
    }

    /// Returns any other entry of `dist_info.json`, otherwise of `therock_manifest.json`: a string as it is, other
    /// values as JSON.
    pub fn entry(&self, key: &str) -> Option<String> {
        let value = self.info.get(key).or_else(|| self.manifest.as_ref()?.get(key))?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    /// Returns the keys of `dist_info.json`, then those of `therock_manifest.json`.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.info.keys().chain(self.manifest.iter().flat_map(Map::keys)).map(String::as_str)
    }

    fn manifest_text(&self, key: &str) -> Option<&str> {
        self.manifest.as_ref()?.get(key)?.as_str()
    }
}

impl Layout {
    /// Returns the distribution, if it is by TheRock. For wheels, the core wheel describes it.
    ///
    /// # Errors
    /// The same as [`Distribution::at`].
    pub fn distribution(&self) -> Result<Option<Distribution>, Error> {
        for root in self.library_roots().iter().map(PathBuf::as_path).chain([self.root()]) {
            if let Some(distribution) = Distribution::at(root)? {
                return Ok(Some(distribution));
            }
        }
        Ok(None)
    }
}

fn source(module: &Value) -> Option<(&str, Option<&str>)> {
    Some((module.get("submodule_path")?.as_str()?, module.get("pin_sha").and_then(Value::as_str)))
}

/// Returns the object in a file; `None` if the file does not exist.
fn read(path: &Path) -> Result<Option<Map<String, Value>>, Error> {
    let failed = |why: String| Error::Distribution { path: path.to_owned(), why };
    let text = match text_file::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        text => text.map_err(|error| failed(format!("cannot be read: {error}")))?,
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(map)) => Ok(Some(map)),
        Ok(other) => Err(failed(format!("not an object but {}", kind_of(&other)))),
        Err(error) => Err(failed(format!("not JSON: {error}"))),
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
