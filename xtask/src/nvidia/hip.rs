//! HIP's functions, as `hip-sys` declares them, and those that `hip` calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use regex::Regex;

use super::abi;
use crate::paths;

/// A function of HIP.
pub(super) struct Declaration {
    pub(super) parameters: Vec<(String, String)>,
    /// Whether it is newer than the release whose ABI `hip-nvidia` has.
    pub(super) is_later: bool,
}

/// The interface of the release that `hip-nvidia` has, and the functions of later ones.
pub(super) struct Hip {
    pub(super) functions: BTreeMap<String, Declaration>,
    /// Aliases, enums and structures.
    pub(super) types: BTreeMap<String, String>,
}

/// The files of `hip-sys` with items that the release lacks, by the start of their names.
const OTHER_RELEASES: &[&str] =
    &["only_", "from_5_7_to_6", "from_6", "from_7_1_to_7_1", "changed_10_0", "coverage", "cuda", "mod"];

/// Returns the sources below a folder, with their paths in it, in alphabetical order.
pub(super) fn sources(folder: &Path) -> Result<Vec<(String, String)>> {
    let mut sources = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut entries = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            sources.extend(self::sources(&path)?.into_iter().map(|(file, text)| (format!("{name}/{file}"), text)));
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
            sources.push((name, text));
        }
    }
    Ok(sources)
}

impl Hip {
    pub(super) fn read() -> Result<Self> {
        let function = Regex::new(r#"(?s)"[0-9.]+" pub fn (hip\w+)\(([^;]*?)\) -> \w+;"#)?;
        let plain = Regex::new(r#"(?s)"[0-9.]+" pub fn (hip\w+)\(([^;]*?)\) -> \*const c_char;"#)?;
        let alias = Regex::new(r"(?s)pub type (\w+) =\s+([^;]+);")?;
        let number = Regex::new(r"pub enum (\w+): (\w+)")?;
        let structure = Regex::new(r"pub (?:struct|union) (\w+)")?;
        let mut new = Self { functions: BTreeMap::new(), types: BTreeMap::new() };
        for (name, text) in sources(&paths::root().join("hip-sys/src/generated"))? {
            let file = name.rsplit('/').next().unwrap_or(&name);
            if OTHER_RELEASES.iter().any(|other| file.starts_with(other)) {
                continue;
            }
            let is_later = file == "since_10_0.rs";
            for found in function.captures_iter(&text).chain(plain.captures_iter(&text)) {
                let declaration = Declaration { parameters: abi::parameters(&found[2]), is_later };
                let known = new.functions.entry(found[1].to_owned());
                known.or_insert(declaration).is_later &= is_later;
            }
            for found in alias.captures_iter(&text).chain(number.captures_iter(&text)) {
                new.types.insert(found[1].to_owned(), found[2].to_owned());
            }
            for found in structure.captures_iter(&text) {
                new.types.entry(found[1].to_owned()).or_insert_with(|| "struct".to_owned());
            }
        }
        Ok(new)
    }
}

/// Returns the names of HIP functions that `hip`'s sources call.
pub(super) fn called(functions: &BTreeMap<String, Declaration>) -> Result<BTreeSet<String>> {
    let beside = Regex::new(r#"(?m)//.*$|#\[doc\([^\]]*\)\]|"(?:[^"\\\n]|\\.)*""#)?;
    let name = Regex::new(r"\bhip[A-Z]\w*")?;
    let mut called = BTreeSet::new();
    for (_, text) in sources(&paths::root().join("hip/src"))? {
        let text = beside.replace_all(&text, "");
        called.extend(name.find_iter(&text).map(|name| name.as_str().to_owned()));
    }
    called.retain(|name| functions.contains_key(name));
    Ok(called)
}
