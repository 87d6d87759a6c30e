//! Names of items that are defined in another module or another crate.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::{Result, bail, ensure};

use super::written::Written;
use crate::bindgen::forms::{Form, Place, each, places};
use crate::bindgen::levels::Level;
use crate::bindgen::lines::fill;
use crate::bindgen::merge;
use crate::bindgen::surface::Kind;

/// Returns aliases, each from the module that has its target.
pub(super) fn aliases(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<String> {
    let mut text = String::new();
    for (name, form, target) in each(items, |kind| match kind {
        Kind::Alias(target) => Some(target),
        _ => None,
    }) {
        let there = |other: &&Form| other.place == form.place || other.place.covers(form.place);
        let of = written.forms.get(target).into_iter().flatten().find(there);
        let path = match (of, written.sources.foreign.get(target)) {
            (Some(of), _) if of.place == form.place => "self".to_owned(),
            (Some(of), _) => format!("super::{}", of.place),
            (None, Some(_)) => foreign_path(written, target, form.place),
            (None, None) => bail!("{name} stands for {target}, which is not there"),
        };
        // A macro may name a field of a header's struct.
        let again = matches!(of.map(|of| &of.kind), Some(Kind::Alias(_)));
        ensure!(!again || of.is_some_and(|of| of.place != form.place) || path == "self", "{name}");
        writeln!(text, "pub use {path}::{target} as {name};")?;
    }
    Ok(text)
}

/// Returns the module of another crate that has an item at the levels of `place`: the crate's root if the item is the
/// same from its first level to the newest.
fn foreign_path(written: &Written<'_>, name: &str, place: Place) -> String {
    let path = &written.sources.foreign[name];
    let same = written.foreign.get(name).is_some_and(|of| places(of).iter().all(|place| !place.changed));
    if same { path.clone() } else { format!("{path}::{}", place.from.module()) }
}

/// Returns lines of `pub use` by module, for the types of other libraries that it mentions, with the constants of
/// enums.
pub(super) fn shared(written: &Written<'_>) -> Result<BTreeMap<Place, String>> {
    let Written { sources, levels, foreign, .. } = written;
    // The levels that mention each type.
    let mut mentioned: BTreeMap<String, BTreeSet<Level>> = BTreeMap::new();
    for (level, surface) in *levels {
        let used: BTreeSet<String> = surface.values().flat_map(merge::uses).collect();
        for name in used.into_iter().filter(|name| sources.foreign.contains_key(name) && !surface.contains_key(name)) {
            let there = foreign.get(&name).is_some_and(|of| of.contains_key(level));
            ensure!(there, "{name} is used at {level}, and is not in its own crate there");
            let of = match sources.foreign_types.get(&name) {
                Some(Kind::Alias(target)) => target.clone(),
                _ => name.clone(),
            };
            for constant in sources.foreign_constants.get(&of).into_iter().flatten() {
                let there = foreign.get(constant).is_some_and(|of| of.contains_key(level));
                if there && !surface.contains_key(constant) {
                    mentioned.entry(constant.clone()).or_default().insert(*level);
                }
            }
            mentioned.entry(name).or_default().insert(*level);
        }
    }
    let mut lines: BTreeMap<(Place, String), Vec<String>> = BTreeMap::new();
    for (name, at) in mentioned {
        let of: BTreeMap<Level, usize> =
            at.iter().filter_map(|level| Some((*level, *foreign[&name].get(level)?))).collect();
        for place in places(&of) {
            let path = foreign_path(written, &name, place);
            lines.entry((place, path)).or_default().push(name.clone());
        }
    }
    let mut texts: BTreeMap<Place, String> = BTreeMap::new();
    for ((place, path), names) in lines {
        *texts.entry(place).or_default() += &fill(&format!("pub use {path}::{{"), names.into_iter(), "};", "    ");
    }
    Ok(texts)
}
