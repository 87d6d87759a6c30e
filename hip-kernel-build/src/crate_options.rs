//! The options that the program's crate is compiled with, as far as Cargo passes them to its build script: the device's
//! code is compiled with the same.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The options of the crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CrateOptions {
    /// The arguments of `--cfg`: `feature="double"`, `fast`.
    pub(crate) cfgs: BTreeSet<String>,
    /// The edition, such as `2021`.
    pub(crate) edition: Option<String>,
    /// Whether `debug_assertions` and overflow checks are enabled.
    pub(crate) debug_assertions: bool,
}

impl CrateOptions {
    /// Reads the options from Cargo's variables for build scripts, and from the manifest in `folder`. Older releases do
    /// not pass `debug_assertions`: then the profile's default is used.
    pub(crate) fn of_build_script(
        variables: impl Iterator<Item = (OsString, OsString)>,
        folder: &Path,
        names_assertions: bool,
    ) -> Self {
        let mut options = Self { edition: edition(folder), ..Self::default() };
        let (mut features, mut profile) = (Vec::new(), String::new());
        for (name, value) in variables {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            match name {
                // `CARGO_FEATURE_NAME` would have the names in upper case, with `_` for `-`.
                "CARGO_CFG_FEATURE" => features.extend(value.split(',').filter(|f| !f.is_empty()).map(str::to_owned)),
                "CARGO_ENCODED_RUSTFLAGS" => options.flags(value),
                "CARGO_CFG_DEBUG_ASSERTIONS" => options.debug_assertions = true,
                "PROFILE" => value.clone_into(&mut profile),
                _ => {}
            }
        }
        options.debug_assertions |= !names_assertions && profile == "debug";
        options.cfgs.extend(features.iter().map(|feature| format!("feature=\"{feature}\"")));
        options
    }

    /// Reads `--cfg` and the setting of overflow checks from the compiler's flags.
    fn flags(&mut self, encoded: &str) {
        let mut flags = encoded.split('\u{1f}');
        while let Some(flag) = flags.next() {
            let cfg = match flag.strip_prefix("--cfg") {
                Some("") => flags.next(),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            self.cfgs.extend(cfg.map(|cfg| cfg.replacen(" = ", "=", 1)));
        }
    }
}

/// Returns the edition in the manifest: `edition = "2021"`, or that of the workspace.
fn edition(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    match setting(&text, "[package]", "edition") {
        Some(Setting::Is(edition)) => return Some(edition),
        Some(Setting::Inherited) => {}
        // Cargo's default.
        None => return Some("2015".to_owned()),
    }
    let above = folder.ancestors().filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok());
    above.filter_map(|text| setting(&text, "[workspace.package]", "edition")).find_map(|setting| match setting {
        Setting::Is(edition) => Some(edition),
        Setting::Inherited => None,
    })
}

enum Setting {
    Is(String),
    Inherited,
}

/// Returns a setting from a table.
fn setting(text: &str, table: &str, name: &str) -> Option<Setting> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| !line.starts_with(table)).skip(1);
    let lines = lines.by_ref().take_while(|line| !line.starts_with('['));
    lines.filter_map(|line| line.strip_prefix(name)).find_map(|rest| {
        let (key, value) = rest.split_once('=')?;
        let value = value.split('#').next().unwrap_or_default().trim();
        match key.trim() {
            "" if value.starts_with('{') => Some(Setting::Inherited),
            "" => Some(Setting::Is(value.trim_matches(['"', '\'']).to_owned())),
            ".workspace" => Some(Setting::Inherited),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)], folder: &Path) -> CrateOptions {
        let all = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        CrateOptions::of_build_script(all, folder, variables.iter().any(|(name, _)| *name == "NEW"))
    }

    #[test]
    fn features_and_cfgs_are_those_of_cargo() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Cargo.toml"), "[package]\nedition = \"2021\" # old\n").unwrap();
        let options = of(
            &[
                ("CARGO_CFG_FEATURE", "double,with-dash"),
                ("CARGO_ENCODED_RUSTFLAGS", "--cfg\u{1f}fast\u{1f}--cfg=mode=\"a b\"\u{1f}-Cdebuginfo=1"),
                ("PROFILE", "release"),
            ],
            folder.path(),
        );
        let cfgs: Vec<_> = options.cfgs.iter().map(String::as_str).collect();
        assert_eq!(cfgs, ["fast", "feature=\"double\"", "feature=\"with-dash\"", "mode=\"a b\""]);
        assert_eq!(options.edition.as_deref(), Some("2021"));
        assert!(!options.debug_assertions);
        assert!(of(&[("PROFILE", "debug")], folder.path()).debug_assertions);
        assert!(!of(&[("PROFILE", "debug"), ("NEW", "")], folder.path()).debug_assertions);
        assert!(of(&[("PROFILE", "release"), ("CARGO_CFG_DEBUG_ASSERTIONS", "")], folder.path()).debug_assertions);
    }

    #[test]
    fn editions_are_inherited() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("package");
        fs::create_dir(&package).unwrap();
        let manifest = package.join("Cargo.toml");
        fs::write(folder.path().join("Cargo.toml"), "[workspace]\n[workspace.package]\nedition = \"2018\"\n").unwrap();
        for (text, expected) in [
            ("[package]\nname = \"x\"\nedition.workspace = true\n", "2018"),
            ("[package]\nedition = { workspace = true }\n", "2018"),
            ("[package]\nedition=\"2024\"\n[lib]\nedition = \"2015\"\n", "2024"),
            ("[package]\nname = \"x\"\n[dependencies]\n", "2015"),
        ] {
            fs::write(&manifest, text).unwrap();
            assert_eq!(edition(&package).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(edition(&folder.path().join("nowhere")), None);
    }
}
