//! The items of the `-sys` crates, each with the path and the feature under which every level since its introduction
//! has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use regex::Regex;

use crate::paths;

/// An API level.
pub(crate) type Level = (u32, u32);

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Function,
    Enum,
    /// A struct, union or alias.
    Type,
    Constant,
}

/// One form of an item: its module, and its first level.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) kind: Kind,
    /// The path of the module that contains it, such as `hip_sys` or `hip_sys::rocm_6_2`.
    pub(crate) module: String,
    /// The first level that has it; `None`: all levels.
    pub(crate) level: Option<Level>,
    /// The last level that has it; `None`: the newest still does.
    until: Option<Level>,
    /// The declaration, of functions and structs; the enum type, of constants.
    pub(crate) text: String,
}

impl Form {
    /// Returns whether the newest level has it.
    pub(crate) fn is_current(&self) -> bool {
        self.until.is_none()
    }

    /// Returns `#[cfg(...)]` with a line break, or nothing.
    pub(crate) fn feature(&self) -> Option<String> {
        self.level.map(|(major, minor)| format!("rocm-{major}-{minor}"))
    }
}

/// The items of one crate, by name.
pub(crate) struct Found {
    items: BTreeMap<String, Form>,
}

impl Found {
    /// Reads the generated code of `NAME-sys`.
    pub(crate) fn read(name: &str) -> Result<Self> {
        let folder = paths::root().join(format!("{name}-sys/src/generated"));
        let mut files = Vec::new();
        collect(&folder, &mut files)?;
        files.sort();
        let mut items: BTreeMap<String, Form> = BTreeMap::new();
        let crate_name = format!("{name}_sys");
        let patterns = Patterns::new()?;
        for file in files {
            let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            let Some((level, until)) = levels(&stem) else { continue };
            let module = match stem.starts_with("since_") {
                true => crate_name.clone(),
                false => format!("{crate_name}::rocm_{}_{}", level.0, level.1),
            };
            let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            for (name, kind, text) in patterns.items(&text) {
                let all = stem.starts_with("since_") && level == (5, 7);
                let form =
                    Form { kind, module: module.clone(), level: (!all).then_some(level), until, text: text.to_owned() };
                match items.get(&name) {
                    Some(old) if rank(old) >= rank(&form) => {}
                    _ => drop(items.insert(name, form)),
                }
            }
        }
        Ok(Self { items })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Form> {
        self.items.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.items.keys()
    }
}

/// Returns the rank of a form: one that the newest level has is preferred, otherwise the newest.
fn rank(form: &Form) -> (bool, Option<Level>, Option<Level>) {
    (form.is_current(), form.until, form.level)
}

/// Returns the first and the last level of a generated file's items.
fn levels(stem: &str) -> Option<(Level, Option<Level>)> {
    let numbers: Vec<u32> = stem.split('_').filter_map(|part| part.parse().ok()).collect();
    match (stem.split('_').next()?, &numbers[..]) {
        ("since" | "changed", &[major, minor]) => Some(((major, minor), None)),
        ("only", &[major, minor]) => Some(((major, minor), Some((major, minor)))),
        ("from", &[major, minor, to, to_minor]) => Some(((major, minor), Some((to, to_minor)))),
        _ => None,
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The patterns of items in generated code.
struct Patterns {
    comment: Regex,
    item: Regex,
    constant: Regex,
    /// `c_constants!`: constants of an enum that is declared elsewhere.
    constants: Regex,
    renamed: Regex,
    braces: Regex,
}

impl Patterns {
    fn new() -> Result<Self> {
        Ok(Self {
            comment: Regex::new(r"(?m)^\s*///.*\n")?,
            item: Regex::new(
                r"(?m)^\s*(?:static )?(?:.[0-9.]+. )?pub (?:unsafe )?(fn|struct|union|type|const|enum) (\w+)",
            )?,
            constant: Regex::new(r"(?m)^\s+([A-Za-z_]\w*) = -?\w+,")?,
            constants: Regex::new(r"c_constants! \{\s+(\w+):")?,
            renamed: Regex::new(r"(?m)^pub use [\w:]+::(\w+)(?: as (\w+))?;")?,
            braces: Regex::new(r"(?s)\npub use [\w:]+::\{([^}]*)\};")?,
        })
    }

    fn items(&self, text: &str) -> Vec<(String, Kind, String)> {
        let text = self.comment.replace_all(text, "").into_owned();
        let mut items = Vec::new();
        let mut uses = BTreeSet::new();
        for found in self.item.captures_iter(&text) {
            let (word, name) = (&found[1], found[2].to_owned());
            let Some(start) = found.get(1).map(|word| word.start()) else { continue };
            let rest = &text[start..];
            let (kind, declaration) = match word {
                "fn" => (Kind::Function, format!("pub {}", rest.split_inclusive(';').next().unwrap_or_default())),
                "struct" => (Kind::Type, format!("pub {}", rest.split_inclusive('}').next().unwrap_or_default())),
                "enum" => (Kind::Enum, String::new()),
                "const" => (Kind::Constant, String::new()),
                _ => (Kind::Type, String::new()),
            };
            items.push((name, kind, declaration));
        }
        let mut enums: Vec<(usize, String)> = self
            .item
            .captures_iter(&text)
            .filter(|found| &found[1] == "enum")
            .filter_map(|found| Some((found.get(2)?.start(), found[2].to_owned())))
            .collect();
        let more = self.constants.captures_iter(&text);
        enums.extend(more.filter_map(|found| Some((found.get(1)?.start(), found[1].to_owned()))));
        enums.sort();
        for found in self.constant.captures_iter(&text) {
            let at = found.get(1).map_or(0, |name| name.start());
            let of = enums.iter().rev().find(|(start, _)| *start < at).map(|(_, name)| name.clone());
            items.push((found[1].to_owned(), Kind::Constant, of.unwrap_or_default()));
        }
        for found in self.renamed.captures_iter(&text) {
            let name = found.get(2).map_or(&found[1], |name| name.as_str());
            match items.iter().find(|(known, ..)| *known == found[1]).map(|(_, kind, _)| *kind) {
                Some(kind) => items.push((name.to_owned(), kind, String::new())),
                None => drop(uses.insert(name.to_owned())),
            }
        }
        for found in self.braces.captures_iter(&text) {
            uses.extend(found[1].split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()));
        }
        for name in uses {
            let kind = match name.chars().any(|c| c.is_lowercase()) {
                true if name.starts_with("hipGet") || name.starts_with("hipChoose") => Kind::Function,
                true => Kind::Type,
                false => Kind::Constant,
            };
            items.push((name, kind, String::new()));
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_the_newest_level_is_taken() {
        let hip = Found::read("hip").unwrap();
        let of = |name: &str| {
            let form = hip.get(name).unwrap();
            (form.kind, form.module.as_str(), form.feature())
        };
        assert_eq!(of("hipMalloc"), (Kind::Function, "hip_sys", None));
        assert_eq!(of("hipDeviceProp_t"), (Kind::Type, "hip_sys::rocm_6_2", Some("rocm-6-2".to_owned())));
        assert_eq!(of("hipError_t"), (Kind::Enum, "hip_sys", None));
        assert_eq!(of("hipSuccess"), (Kind::Constant, "hip_sys", None));
        let removed = Found::read("hipblas").unwrap();
        assert!(!removed.get("hipblasAxpyEx_v2").unwrap().is_current());
        assert_eq!(hip.get("hipMemcpyDefault").unwrap().text, "hipMemcpyKind");
        assert_eq!(hip.get("hipSyncPolicyAuto").unwrap().text, "hipSynchronizationPolicy"); // of c_constants!
        assert!(hip.get("hipMalloc").unwrap().text.contains("ptr: *mut *mut c_void"));
    }
}
