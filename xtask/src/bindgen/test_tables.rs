//! The tables of the -sys crates' tests: every item of every level, by name and by address.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::Result;

use super::forms::{Forms, by_place, each};
use super::levels::Level;
use super::library::Library;
use super::lines::{HEADER, fill, words};
use super::surface::{Kind, Surface};

/// Returns `tests/generated/functions.rs`: the address of every function of each level, to prove that each exists.
pub(crate) fn addresses(library: &Library, levels: &BTreeMap<Level, Surface>, forms: &Forms) -> Result<String> {
    let mut text = format!(
        "{HEADER}#[allow(unused_imports)]\nuse sys_testing::{{Binary, Changed, Declared, addresses, changed}};\n\n"
    );
    text += "/// The functions of every level that the crate has by its features, with their addresses.\n";
    text += "pub(crate) fn functions() -> Vec<Declared> {\n    vec![\n";
    for (level, surface) in levels {
        let names = surface.iter().filter(|(_, kind)| matches!(kind, Kind::Function(_))).map(|(name, _)| name.clone());
        let (major, minor) = level.number();
        writeln!(text, "        #[cfg(feature = \"{}\")]\n        (({major}, {minor}), {{", level.feature())?;
        writeln!(text, "            use {}::{}::*;", library.path(), level.module())?;
        text += &words("            addresses![", names, "]\n", "                ");
        text += "        }),\n";
    }
    text += "    ]\n}\n";
    text += "\n/// Each form of the functions that differ between levels, with a call that must not reach a library of another release.\n";
    text += "pub(crate) fn changed() -> Vec<Changed> {\n    vec![\n";
    for (place, items) in by_place(forms).into_iter().filter(|(place, _)| place.changed) {
        let calls = each(&items, |kind| match kind {
            Kind::Function(item) => Some(item.sig.inputs.len()),
            _ => None,
        });
        if calls.is_empty() {
            continue;
        }
        let (major, minor) = place.from.number();
        writeln!(text, "        #[cfg(feature = \"{}\")]\n        (({major}, {minor}), {{", place.from.feature())?;
        writeln!(text, "            use {}::{}::*;", library.path(), place.from.module())?;
        let calls = calls.into_iter().map(|(name, _, count)| format!("{name}({})", vec!["z"; count].join(" ")));
        text += &words("            changed![", calls, "]\n", "                ");
        text += "        }),\n";
    }
    text += "    ]\n}\n";
    text += "\n/// Functions that AMD's Python packages have and the crate lacks or the other way round, and why.\n";
    text += "pub(crate) const EXCEPTIONS: &[(&str, &str)] = &[\n";
    let exceptions = (library.renames.iter().flat_map(|(theirs, ours, why)| [(*theirs, *why), (*ours, *why)]))
        .chain(library.beyond_facts.iter().copied())
        .chain(library.absent.iter().copied());
    for (name, why) in exceptions {
        writeln!(text, "    ({name:?}, {why:?}),")?;
    }
    text += "];\n\n/// The real libraries: level, fetched tree, file.\npub(crate) const BINARIES: &[Binary] = &[\n";
    for binary in library.binaries {
        let (major, minor) = binary.level;
        writeln!(text, "    (({major}, {minor}), {:?}, {:?}),", binary.tree, binary.file)?;
    }
    Ok(text + "];\n")
}

/// Returns `tests/generated/names.rs`: all items of each level by name, to prove that each exists.
pub(crate) fn names(library: &Library, levels: &BTreeMap<Level, Surface>) -> Result<String> {
    let mut text = String::from(HEADER);
    for (level, surface) in levels {
        if !surface.is_empty() {
            writeln!(text, "#[cfg(feature = \"{}\")]\n#[allow(unused_imports)]", level.feature())?;
            writeln!(text, "mod {} {{", level.module())?;
            let start = format!("    use {}::{}::{{", library.path(), level.module());
            text += &fill(&start, surface.keys().cloned(), "};", "        ");
            text += "}\n";
        }
    }
    Ok(text)
}
