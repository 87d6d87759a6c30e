//! The module `coverage`: which release has which function.

use std::collections::{BTreeMap, BTreeSet};

use super::written::Written;
use crate::bindgen::coverage::source;
use crate::bindgen::forms::{Form, Place, all, each};
use crate::bindgen::levels::Level;
use crate::bindgen::lines::{HEADER, fill};
use crate::bindgen::surface::Kind;

/// Returns the text of the module: the functions of every level, for programs and tests that count or probe them.
pub(super) fn coverage(written: &Written<'_>, items: &BTreeMap<Place, Vec<(&str, &Form)>>) -> String {
    let Written { library, sources, levels, forms, not_exported, .. } = written;
    // One row per range of levels without a gap.
    let mut rows: Vec<(String, Level, Level)> = Vec::new();
    for (name, form, _) in all(forms, |kind| matches!(kind, Kind::Function(_)).then_some(())) {
        match rows.last_mut() {
            Some(last) if last.0 == *name && last.2.next() == Some(form.place.from) => last.2 = form.place.to,
            _ => rows.push((name.to_owned(), form.place.from, form.place.to)),
        }
    }
    let mut text = String::from(HEADER);
    let count = |level: Level| rows.iter().filter(|row| row.1 <= level && level <= row.2).count();
    let counts: Vec<(Level, usize)> =
        levels.keys().map(|level| (*level, count(*level))).filter(|(_, count)| *count > 0).collect();
    text += "//! Which ROCm release has which function, and how that is known.\n//!\n";
    text += "//! | ROCm | functions | declared after |\n//! |---|---|---|\n";
    for (level, count) in &counts {
        text += &format!("//! | {level} | {count} | {} |\n", source(library, sources, *level));
    }
    text += "//!\n//! A release that is not in the table has no such library, or nothing that declares it could be had. Where AMD's\n\
             //! Python packages agree with a C header of another release, the declaration is the header's. COVERAGE.md in the\n\
             //! repository has this for all crates.\n";
    text += "\n/// Functions by release: major, minor, how many.\n";
    let start = format!("pub const COUNTS: [(u32, u32, usize); {}] = [", counts.len());
    let counts = counts.iter().map(|(level, count)| format!("({}, {}, {count})", level.major(), level.minor()));
    text += &fill(&start, counts, "];", "    ");
    text += "\n/// Every function, in alphabetical order: its name, the first release that has it, and the first that has it no more.\n";
    let names: BTreeSet<&String> = rows.iter().map(|row| &row.0).collect();
    if names.len() < rows.len() {
        text += "/// Some have two rows: between their releases it is not known how they are declared.\n";
    }
    let start = format!("pub static FUNCTIONS: [(&str, &str, Option<&str>); {}] = [", rows.len());
    let functions = rows.iter().map(|(name, from, to)| {
        let gone = to.next().map_or("None".to_owned(), |next| format!("Some(\"{next}\")"));
        format!("(\"{name}\", \"{from}\", {gone})")
    });
    text += &fill(&start, functions, "];", "    ");
    text += "\n/// The functions that are not the same at every level since they came, and so are in the modules of levels only: the\n\
             /// first module that has a form, its first and last level, the releases whose ABI it has, and the names.\n";
    let functions = |items: &Vec<(&str, &Form)>| -> Vec<String> {
        each(items, |kind| matches!(kind, Kind::Function(_)).then_some(()))
            .iter()
            .map(|item| item.0.to_owned())
            .collect()
    };
    let changed: Vec<(Place, Vec<String>)> = items
        .iter()
        .filter(|(place, _)| place.changed)
        .map(|(place, items)| (*place, functions(items)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    text += &format!("pub static FORMS: [rocm_loader::Form; {}] = [\n", changed.len());
    for (place, names) in changed {
        text += &format!(
            "    ({:?}, ({}, {}), ({}, {}), {}, &[\n",
            place.from.module(),
            place.from.major(),
            place.from.minor(),
            place.to.major(),
            place.to.minor(),
            written.releases(place)
        );
        text += &fill("        ", names.iter().map(|name| format!("{name:?}")), "]),", "        ");
    }
    text += "];\n";
    let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for level in Level::all() {
        for name in not_exported.of(library, level) {
            lacking.entry(name).or_default().push(format!("\"{level}\""));
        }
    }
    text += "\n/// Functions that the headers declare and the real library lacks, with the releases of which that is known.\n";
    let start = format!("pub static NOT_EXPORTED: [(&str, &[&str]); {}] = [", lacking.len());
    let lacking = lacking.into_iter().map(|(name, levels)| format!("(\"{name}\", &[{}])", levels.join(", ")));
    text + &fill(&start, lacking, "];", "    ")
}
