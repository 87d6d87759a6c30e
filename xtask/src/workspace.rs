//! The workspace's packages, according to cargo.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{capture, cargo};

/// A package of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) folder: PathBuf,
    /// The files that its library and its programs begin with.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether it is published to the registry.
    pub(crate) published: bool,
    /// In alphabetical order, without `default`.
    pub(crate) features: Vec<String>,
    /// In alphabetical order.
    pub(crate) examples: Vec<String>,
    /// Test programs of the folder `tests`, in alphabetical order.
    pub(crate) tests: Vec<String>,
}

impl Package {
    /// Returns whether it contains raw bindings to a library.
    pub(crate) fn is_sys(&self) -> bool {
        self.name.ends_with("-sys")
    }
}

/// Returns every package, in the order of the root's `members`.
pub(crate) fn packages() -> Result<Vec<Package>> {
    parse(&capture(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]))?)
}

/// Returns the packages that are published.
pub(crate) fn published() -> Result<Vec<Package>> {
    let mut packages = packages()?;
    packages.retain(|package| package.published);
    ensure!(!packages.is_empty(), "no crate of the workspace is published");
    Ok(packages)
}

/// Returns the names of the `-sys` crates.
pub(crate) fn sys_crates() -> Result<Vec<String>> {
    let names: Vec<String> = published()?.into_iter().filter(Package::is_sys).map(|package| package.name).collect();
    ensure!(!names.is_empty(), "the workspace has no -sys crate");
    Ok(names)
}

/// Returns the names of a package's test programs, in alphabetical order.
pub(crate) fn test_programs(name: &str) -> Result<Vec<String>> {
    let package = packages()?.into_iter().find(|package| package.name == name);
    let tests = package.map(|package| package.tests).unwrap_or_default();
    ensure!(!tests.is_empty(), "no package {name} with test programs");
    Ok(tests)
}

fn parse(metadata: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata cannot be read")?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    packages.iter().map(|package| one(package).context("cargo metadata has a package without a name")).collect()
}

fn one(package: &Value) -> Option<Package> {
    let text = |name: &str| package[name].as_str().map(str::to_owned);
    let mut features: Vec<String> =
        package["features"].as_object().into_iter().flat_map(|map| map.keys().cloned()).collect();
    features.retain(|feature| feature != "default");
    features.sort();
    let targets = |kind: &str| {
        let targets = package["targets"].as_array().into_iter().flatten();
        let targets = targets.filter(|target| target["kind"][0] == kind);
        let mut names: Vec<String> = targets.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect();
        names.sort();
        names
    };
    let (examples, tests) = (targets("example"), targets("test"));
    let beside = ["test", "bench", "example", "custom-build"];
    let own = package["targets"].as_array().into_iter().flatten();
    let own = own.filter(|target| !beside.iter().any(|kind| target["kind"][0] == *kind));
    let roots = own.filter_map(|target| Some(PathBuf::from(target["src_path"].as_str()?))).collect();
    Some(Package {
        name: text("name")?,
        version: text("version")?,
        folder: PathBuf::from(text("manifest_path")?).parent()?.to_owned(),
        roots,
        // `publish = false` is an empty list of registries.
        published: package["publish"].is_null(),
        features,
        examples,
        tests,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_cargos_account() {
        let metadata = r#"{"packages":[
            {"name":"x-sys","version":"1.0.0","manifest_path":"/w/x-sys/Cargo.toml","publish":null,
             "features":{"default":["b"],"b":[],"a":[]},
             "targets":[{"kind":["lib"],"name":"x","src_path":"/w/x-sys/src/lib.rs"},{"kind":["example"],"name":"vector_add"},{"kind":["test"],"name":"gpu"}]},
            {"name":"xtask","version":"1.0.0","manifest_path":"/w/xtask/Cargo.toml","publish":[],"features":{}}]}"#;
        let packages = parse(metadata).unwrap();
        let expected = Package {
            name: "x-sys".into(),
            version: "1.0.0".into(),
            folder: "/w/x-sys".into(),
            roots: vec!["/w/x-sys/src/lib.rs".into()],
            published: true,
            features: vec!["a".into(), "b".into()],
            examples: vec!["vector_add".into()],
            tests: vec!["gpu".into()],
        };
        assert_eq!(packages[0], expected);
        assert!(packages[0].is_sys() && !packages[1].is_sys() && !packages[1].published);
        assert!(parse("{}").is_err());
    }

    #[test]
    fn the_workspace_has_published_and_raw_crates() {
        assert!(published().unwrap().iter().any(|package| package.name == "rocm-sdk"));
        let raw = sys_crates().unwrap();
        assert!(raw.contains(&"hip-sys".to_owned()) && raw.contains(&"rocm-llvm-sys".to_owned()), "{raw:?}");
    }

    /// `main` prints a returned error with `Debug`: a derived one would show the structure instead of the text. The
    /// `-sys` crates have cudarc's errors, whose `Display` is their `Debug`.
    #[test]
    fn errors_print_their_text_as_debug() {
        let mut seen = 0;
        for package in packages().unwrap().iter().filter(|package| !package.is_sys() && package.name != "xtask") {
            for file in sources(&package.folder.join("src")) {
                let text = std::fs::read_to_string(&file).unwrap();
                let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
                for (at, line) in lines.iter().enumerate() {
                    let Some(name) = line.strip_prefix("pub enum ").or_else(|| line.strip_prefix("pub struct ")) else {
                        continue;
                    };
                    let name = name.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                    let attributes: Vec<&&str> =
                        lines[..at].iter().rev().take_while(|line| line.starts_with("#[")).collect();
                    let derives =
                        |what: &str| attributes.iter().any(|line| line.starts_with("#[derive(") && line.contains(what));
                    let implemented = || lines.iter().any(|line| line.contains(&format!("error::Error for {name} {{")));
                    if derives("thiserror::Error") || implemented() {
                        seen += 1;
                        assert!(!derives("Debug"), "{}: {name} derives `Debug`: print its `Display`", file.display());
                    }
                }
            }
        }
        assert!(seen > 30, "{seen} error types were found");
    }

    fn sources(folder: &std::path::Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let below = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
        below.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
    }
}
