//! Writes items as Rust: a module for each range of releases in which they are the same, a module of re-exports for
//! each level, functions by topic.

mod coverage;
mod docs;
mod elsewhere;
mod enums;
mod functions;
mod missing;
mod types;
mod written;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::facts::words_of;
use super::files::Files;
use super::forms::{Form, Place, by_place};
use super::levels::Level;
use super::lines::HEADER;
use super::surface::{Kind, Surface};
use coverage::coverage;
use elsewhere::{aliases, shared};
use enums::{constants, enums};
use functions::functions;
use missing::missing;
use types::{ZEROED, types};
pub(crate) use written::Written;

/// Returns all files of a library.
pub(crate) fn files(written: &Written<'_>) -> Result<Files> {
    let mut files = Files::new();
    let shared = shared(written)?;
    let mut items = by_place(written.forms);
    for place in shared.keys() {
        items.entry(*place).or_default();
    }
    let places: Vec<Place> = items.keys().copied().collect();
    for (place, items) in &items {
        module(written, *place, &places, items, shared.get(place), &mut files)
            .with_context(|| format!("module {place}"))?;
    }
    files.insert("coverage.rs".into(), coverage(written, &items));
    files.insert("mod.rs".into(), modules(written, &places, &files));
    Ok(files)
}

/// Returns `mod.rs`: the modules of items, the crate's root, and the levels.
fn modules(written: &Written<'_>, places: &[Place], files: &Files) -> String {
    let mut text = String::from(HEADER);
    let zeroed = files.values().any(|text| text.contains("\nzeroed!(") || text.contains(" zeroed!("));
    if zeroed {
        text += ZEROED;
    }
    text += "pub mod coverage;\n";
    if written.cuda.has_module(written.library.package) {
        text += "#[cfg(feature = \"cuda\")]\npub mod cuda;\n";
    }
    for place in places {
        let condition = condition(*place).unwrap_or_default();
        text += &format!("{condition}mod {place};\n");
        if !place.changed {
            text += &format!("{condition}pub use {place}::*;\n");
        }
    }
    text += &subjects(places, files);
    let scope = written.library.scope();
    for level in written.levels.keys() {
        let there = places.iter().filter(|place| place.has(*level));
        let (same, changed): (Vec<&Place>, Vec<&Place>) = there.partition(|place| !place.changed);
        let functions = |surface: &Surface| surface.values().filter(|kind| matches!(kind, Kind::Function(_))).count();
        let count = written.levels.get(level).map_or(0, functions);
        let s = if count == 1 { "" } else { "s" };
        text += &format!(
            "\n/// The interface of ROCm {level}, {count} function{s}: what the root has of that release, and what is listed here.\n"
        );
        text += &format!("#[cfg(feature = \"{}\")]\npub mod {} {{\n", level.feature(), level.module());
        for place in same {
            text += &format!("    #[doc(no_inline)]\n    pub use super::{place}::*;\n");
        }
        for place in changed {
            text += &format!("    #[doc(inline)]\n    pub use super::{place}::*;\n");
        }
        let (major, minor) = level.number();
        text += &format!("    rocm_loader::sys_level! {{ {scope}, ({major}, {minor}), \"{level}\" }}\n}}\n");
    }
    text
}

/// Returns the module `functions`, with a module for each subject.
fn subjects(places: &[Place], files: &Files) -> String {
    let mut subjects: BTreeMap<String, String> = BTreeMap::new();
    for path in files.keys().filter_map(|path| path.strip_prefix("functions").ok()) {
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let [subject, file] = &parts[..] else { continue };
        let place = places.iter().find(|place| file.strip_suffix(".rs") == Some(place.to_string().as_str()));
        let condition = place.copied().and_then(condition).map(|line| format!("        {line}")).unwrap_or_default();
        let module = file.trim_end_matches(".rs");
        *subjects.entry(subject.clone()).or_default() += &format!(
            "{condition}        pub(crate) mod {module};\n{condition}        #[doc(inline)]\n        pub use {module}::*;\n"
        );
    }
    if subjects.is_empty() {
        return String::new();
    }
    let mut text = "\n/// The functions by subject. Each is in the crate's root too.\npub mod functions {\n".to_owned();
    for (subject, lines) in subjects {
        let about = subject.replace('_', " ");
        text += &format!("    /// Functions: {about}.\n    pub mod {subject} {{\n{lines}    }}\n");
    }
    text + "}\n"
}

/// Returns the attribute that compiles a module at its levels only; `None` if it belongs to every level.
fn condition(place: Place) -> Option<String> {
    (place.changed || place.from > Level::first()).then(|| format!("#[cfg(feature = \"{}\")]\n", place.from.feature()))
}

/// Adds the file of a module, and those of its topics.
fn module(
    written: &Written<'_>,
    place: Place,
    places: &[Place],
    items: &[(&str, &Form)],
    shared: Option<&String>,
    files: &mut Files,
) -> Result<()> {
    let mut tokens = types(written, items)?;
    tokens.extend(constants(written, items));
    let (enums, integers) = enums(written, place, items)?;
    let topics = functions(written, place, items)?;
    let alone = place.changed || written.library.topics.is_empty();
    let mut mentioned = tokens.clone();
    mentioned.extend(integers);
    if alone {
        topics.iter().for_each(|topic| mentioned.extend(topic.tokens.clone()));
    }
    ensure!(topics.len() <= 1 || !alone, "functions of several subjects, and no subjects");
    let body = prettyplease::unparse(&syn::parse2(tokens).context("the generated code does not parse")?);
    let mut text = format!("{HEADER}{}", prettyplease::unparse(&syn::parse2(imports(&mentioned))?));
    let covering: Vec<String> = places.iter().filter(|other| other.covers(place)).map(|o| format!("{o}::*")).collect();
    if !covering.is_empty() {
        text += &format!("use super::{{{}}};\n", covering.join(", "));
    }
    if place.changed && !topics.is_empty() {
        text += &format!(
            "\n/// The releases whose ABI this is.\nconst RELEASES: rocm_loader::Releases = {};\n",
            written.releases(place)
        );
    }
    if let Some(shared) = shared {
        text += "\n";
        text += shared;
    }
    text += &aliases(written, items)?;
    text.push('\n');
    text += &body;
    text += &enums;
    text += &missing(written, items)?;
    if alone {
        topics.iter().for_each(|topic| text += &topic.text);
    } else {
        let others = covering.iter().map(|other| format!(", {other}")).collect::<String>();
        for topic in &topics {
            let name = &topic.name;
            // The module of its subject lists them.
            text += &format!("#[doc(hidden)]\npub use super::functions::{name}::{place}::*;\n");
            let imports = prettyplease::unparse(&syn::parse2(imports(&topic.tokens))?);
            let uses = format!("use super::super::super::{{{place}::*{others}}};\n");
            let path = format!("functions/{name}/{place}.rs");
            files.insert(path.into(), format!("{HEADER}{imports}{uses}{}", topic.text));
        }
    }
    files.insert(format!("{place}.rs").into(), text);
    Ok(())
}

/// Returns the `use` of the C integer names that `tokens` mention.
fn imports(tokens: &TokenStream) -> TokenStream {
    let text = tokens.to_string();
    let words: BTreeSet<&str> = words_of(&text).collect();
    const INTEGERS: [&str; 14] = [
        "c_char",
        "c_double",
        "c_float",
        "c_int",
        "c_long",
        "c_longlong",
        "c_schar",
        "c_short",
        "c_uchar",
        "c_uint",
        "c_ulong",
        "c_ulonglong",
        "c_ushort",
        "c_void",
    ];
    let used: Vec<_> =
        words.iter().filter(|word| INTEGERS.contains(word)).map(|word| format_ident!("{word}")).collect();
    if used.is_empty() { quote!() } else { quote!(use ::core::ffi::{#(#used),*};) }
}
