//! Combines the headers of some levels and the facts of others to every item at every level.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use syn::visit_mut::{self, VisitMut};

use super::cross_check;
use super::facts::Facts;
use super::levels::Level;
use super::library::{BackTo, Names};
use super::sources::Sources;
use super::surface::{Kind, Surface};
use super::write_c::unplaced;

/// A part of the text of a declaration that only the packages have.
pub(crate) const NO_HEADER: &str = "no C header of that release was at hand";

/// Returns the items of every known level.
pub(crate) fn levels(sources: &Sources) -> Result<BTreeMap<Level, Surface>> {
    let mut found = BTreeMap::new();
    for level in Level::all() {
        let surface = match sources.headers.get(&level) {
            Some(surface) if !sources.reference.contains(&level) => surface.clone(),
            _ if sources.names == Names::All && sources.facts.contains_key(&level) => {
                by_names(sources, level).with_context(|| format!("level {level}"))?
            }
            _ if sources.names == Names::None && sources.facts.contains_key(&level) => {
                without_headers(sources, level).with_context(|| format!("level {level}"))?
            }
            _ => continue,
        };
        let missing = missing(&surface, &sources.foreign);
        ensure!(missing.is_empty(), "level {level}: items are missing: {missing:?}");
        found.insert(level, surface);
    }
    let oldest = found.keys().next().copied();
    for level in Level::all() {
        // A level that is only known by `back_to` is not a source of its own.
        let witnesses = found.iter().filter(|(known, _)| oldest.is_some_and(|oldest| oldest <= **known));
        let below = witnesses.rev().find(|(known, _)| **known < level).map(|(_, surface)| surface);
        let above = found.range(level..).next().map(|(_, surface)| surface);
        let surface = match (below, above, sources.back_to) {
            _ if found.contains_key(&level) => continue,
            (Some(below), Some(above), _) => {
                let mut surface = in_both(below, above);
                let named = sources.facts.get(&level).into_iter().flat_map(|facts| facts.functions.keys());
                for name in named.filter(|name| above.contains_key(*name)) {
                    take_all(name, above, &mut surface);
                }
                surface
            }
            (None, Some(oldest), Some(back)) if back.level <= level.number() => before(oldest, level, back),
            _ => continue,
        };
        found.insert(level, closed(surface, &sources.foreign));
    }
    Ok(found)
}

/// Returns the functions that the facts name, each as in the nearest header, and the other items of the nearest header.
fn by_names(sources: &Sources, level: Level) -> Result<Surface> {
    let headers = sources.nearest_headers(level);
    let (_, nearest) = headers.first().context("no header")?;
    let mut surface = (*nearest).clone();
    surface.retain(|_, kind| !matches!(kind, Kind::Function(_)));
    let (mut unknown, facts) = (Vec::new(), &sources.facts[&level]);
    let named = facts.functions.keys().map(String::as_str).filter(|name| !sources.absent.contains(name));
    for name in named.chain(sources.beyond.iter().copied()) {
        let is_function = |header: &Surface| matches!(header.get(name), Some(Kind::Function(_)));
        match headers.iter().find(|(_, header)| is_function(header)) {
            Some((_, header)) => take_all(name, header, &mut surface),
            None => unknown.push(name),
        }
    }
    ensure!(unknown.is_empty(), "functions in no header: {unknown:?}");
    Ok(surface)
}

/// Copies an item and all missing items that it mentions.
pub(crate) fn take_all(name: &str, from: &Surface, into: &mut Surface) {
    let Some(kind) = from.get(name) else { return };
    into.insert(name.to_owned(), kind.clone());
    for used in uses(kind) {
        if !into.contains_key(&used) {
            take_all(&used, from, into);
        }
    }
}

/// Returns the items that are the same in both.
fn in_both(below: &Surface, above: &Surface) -> Surface {
    let mut surface = above.clone();
    surface.retain(|name, kind| below.get(name).is_some_and(|other| other.shape() == kind.shape()));
    surface
}

/// Returns the items of the oldest level that already existed at an older one.
fn before(oldest: &Surface, level: Level, back: &BackTo) -> Surface {
    let mut surface = oldest.clone();
    surface.retain(|name, _| back.later.iter().all(|(later, since)| later != name || *since <= level.number()));
    surface
}

/// Removes the items that mention a missing one.
fn closed(mut surface: Surface, foreign: &BTreeMap<String, String>) -> Surface {
    loop {
        let missing = missing(&surface, foreign);
        if missing.is_empty() {
            return surface;
        }
        surface.retain(|name, _| !missing.contains_key(name));
    }
}

/// Returns the items of a level that is only described by facts: the nearest header's item if the facts of both levels
/// agree, otherwise the item of the facts.
fn without_headers(sources: &Sources, level: Level) -> Result<Surface> {
    let facts = sources.facts.get(&level).context("no facts")?;
    let written = sources.written.get(&level).context("no written header")?;
    let mut surface = Surface::default();
    for name in facts.names() {
        let fact = facts.fact(&name).with_context(|| format!("no fact on {name}"))?;
        let agreeing = sources.nearest_headers(level).into_iter().find_map(|(other, header)| {
            let second_name = match header.get(&name)? {
                Kind::Alias(target) => facts.typedefs.get(&name) == Some(target),
                _ => false,
            };
            let same = match sources.facts.get(&other) {
                _ if second_name => true,
                Some(theirs) if other != level => theirs.fact(&name)? == fact,
                // There are no facts of the headers' own release: the declarations themselves are compared.
                _ => cross_check::difference(sources, &name, facts, written, header).is_none(),
            };
            // An alias needs its target.
            let complete = match header.get(&name)? {
                Kind::Alias(target) => facts.fact(target).is_some() || sources.foreign.contains_key(target),
                Kind::Const(_, Some(of), _) => facts.fact(of).is_some(),
                _ => true,
            };
            (same && complete).then_some(header)
        });
        let from = match agreeing {
            Some(header) => header,
            None if written.contains_key(&name) => {
                let lost = unplaced(facts, sources.anonymous, &name);
                ensure!(lost.is_empty(), "the facts do not say where in {name} its members {lost:?} stand");
                written
            }
            None => continue,
        };
        take(&name, from, facts, &mut surface)?;
        // If no release has headers, the crate states that once.
        if sources.headers.is_empty() {
            continue;
        }
        if let (None, Some(kind)) = (agreeing, surface.get_mut(&name)) {
            let inferred = match sources.anonymous.iter().any(|(owner, ..)| *owner == name) {
                true => " The place of its anonymous union is inferred: the packages do not tell.",
                false => "",
            };
            kind.say(&format!("Declared as in AMD's Python packages of ROCm {level}: {NO_HEADER}.{inferred}"));
        }
    }
    // C's own types, which no package lists.
    for used in surface.values().flat_map(uses).collect::<BTreeSet<_>>() {
        if !surface.contains_key(&used) && !sources.foreign.contains_key(&used) {
            let headers = sources.nearest_headers(level).into_iter().map(|(_, header)| header);
            if let Some(from) = headers.chain([written]).find(|from| from.contains_key(&used)) {
                take_all(&used, from, &mut surface);
            }
        }
    }
    // In rounds, since aliases may refer to each other.
    let mut left = unwitnessed(sources, level);
    loop {
        let before = surface.len();
        for name in std::mem::take(&mut left) {
            let headers = sources.nearest_headers(level);
            let Some((_, header)) = headers.into_iter().find(|(_, header)| header.contains_key(&name)) else {
                continue;
            };
            if uses(&header[&name]).iter().all(|used| !header.contains_key(used) || surface.contains_key(used)) {
                take(&name, header, facts, &mut surface)?;
            } else {
                left.insert(name);
            }
        }
        if surface.len() == before {
            return Ok(surface);
        }
    }
}

/// Copies an item and the parts of structs that it consists of.
fn take(name: &str, from: &Surface, facts: &Facts, into: &mut Surface) -> Result<()> {
    let Some(kind) = from.get(name) else { return Ok(()) };
    into.insert(name.to_owned(), kind.clone());
    for used in uses(kind) {
        let part = from.parts.contains(&used) || (facts.owner(&used).is_some() && from.contains_key(&used));
        if part && !into.contains_key(&used) {
            take(&used, from, facts, into)?;
        }
    }
    Ok(())
}

/// Returns the items that no package lists (macros, the OpenGL header): they exist if the headers of the levels before
/// and after have them.
fn unwitnessed(sources: &Sources, level: Level) -> BTreeSet<String> {
    let below = sources.headers.range(..level).next_back().map(|(_, surface)| surface);
    let above = sources.headers.range(level..).next().map(|(_, surface)| surface);
    let has_headers = |level: &Level| sources.headers.contains_key(level);
    let known = sources.facts.range(..level).rfind(|(level, _)| has_headers(level));
    let known = known.into_iter().chain(sources.facts.range(level..).find(|(level, _)| has_headers(level)));
    let alone = known.clone().next().is_none();
    let known = known.chain(sources.facts.get_key_value(&level));
    let witnessed: BTreeSet<String> = known.flat_map(|(_, facts)| facts.names()).collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    match (below, above) {
        (Some(below), Some(above)) => {
            let both = below.keys().filter(|name| above.contains_key(*name));
            names.extend(both.cloned());
            // An alias exists as soon as its target does.
            let aliases = above.iter().filter(|(_, kind)| matches!(kind, Kind::Alias(_)));
            names.extend(aliases.map(|(name, _)| name.clone()));
        }
        (Some(only), None) | (None, Some(only)) => names.extend(only.keys().cloned()),
        (None, None) => {}
    }
    let part = |name: &String| {
        sources.headers.values().any(|header| header.parts.contains(name))
            || sources.facts.values().any(|facts| facts.owner(name).is_some())
    };
    names.retain(|name| !witnessed.contains(name) && !part(name));
    if alone || !sources.reference.is_empty() {
        // No release has both: items that the packages list but lack here are gone; only macros are never listed.
        let newest = sources.headers.values().next_back();
        names.retain(|name| {
            let kind = newest.and_then(|header| header.get(name));
            matches!(kind, Some(Kind::Const(_, None, _) | Kind::Alias(_)))
        });
    }
    names
}

/// Returns the types and aliases that an item mentions.
pub(crate) fn uses(kind: &Kind) -> BTreeSet<String> {
    let mut types = Types(BTreeSet::new());
    match kind.clone() {
        Kind::Function(mut item) => types.visit_signature_mut(&mut item.sig),
        Kind::Struct(mut item, _) => types.visit_fields_mut(&mut item.fields),
        Kind::Union(mut item) => types.visit_fields_named_mut(&mut item.fields),
        Kind::Type(mut item) => types.visit_type_mut(&mut item.ty),
        Kind::Const(mut item, ..) => types.visit_type_mut(&mut item.ty),
        Kind::Alias(target) => drop(types.0.insert(target)),
        Kind::Enum(..) => {}
    }
    types.0
}

struct Types(BTreeSet<String>);

impl VisitMut for Types {
    fn visit_type_path_mut(&mut self, ty: &mut syn::TypePath) {
        visit_mut::visit_type_path_mut(self, ty);
        const PRIMITIVE: [&str; 15] = [
            "bool", "f32", "f64", "i128", "i16", "i32", "i64", "i8", "isize", "u128", "u16", "u32", "u64", "u8",
            "usize",
        ];
        if let Some(last) = ty.path.segments.last() {
            let name = last.ident.to_string();
            if !PRIMITIVE.contains(&name.as_str()) && !name.starts_with("c_") && name != "Option" {
                self.0.insert(name);
            }
        }
    }
}

/// Returns the items that mention a missing type, with that type.
fn missing(surface: &Surface, foreign: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let there = |used: &String| surface.contains_key(used) || foreign.contains_key(used);
    let lacking = surface.iter().filter_map(|(name, kind)| {
        let used = uses(kind).into_iter().find(|used| !there(used))?;
        Some((name.clone(), used))
    });
    lacking.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(major: u32, minor: u32) -> Level {
        Level::of((major, minor)).unwrap()
    }

    /// Parses items from Rust text.
    fn items(text: &str) -> Surface {
        let file = syn::parse_file(text).unwrap();
        super::super::surface::surface(super::super::headers::Parsed { file, macros: BTreeMap::new() }).unwrap()
    }

    fn sources(headers: &[(Level, &str)]) -> Sources {
        Sources {
            anonymous: &[],
            back_to: None,
            names: Names::None,
            absent: Vec::new(),
            beyond: Vec::new(),
            foreign: BTreeMap::new(),
            foreign_constants: BTreeMap::new(),
            foreign_types: BTreeMap::new(),
            headers: headers.iter().map(|(level, text)| (*level, items(text))).collect(),
            reference: BTreeSet::new(),
            facts: BTreeMap::new(),
            written: BTreeMap::new(),
        }
    }

    /// Returns facts that name these functions.
    fn named(names: &[&str]) -> Facts {
        let function = super::super::facts::Function { parameters: String::new(), returns: "int".to_owned() };
        let functions = names.iter().map(|name| ((*name).to_owned(), function.clone())).collect();
        Facts { functions, ..Facts::default() }
    }

    fn names_of(surface: &Surface) -> Vec<&str> {
        surface.keys().map(String::as_str).collect()
    }

    const OLD: &str = "extern \"C\" { pub fn same(a: S); pub fn gone(); pub fn changed(a: u8); pub fn uses(a: T); }
                       pub struct S { pub x: u8 } pub struct T { pub x: u8 }";
    const NEW: &str = "extern \"C\" { pub fn same(b: S); pub fn new(); pub fn changed(a: u16); pub fn uses(a: T); }
                       pub struct S { pub x: u8 } pub struct T { pub x: u16 }";

    #[test]
    fn between_two_levels_is_what_they_have_in_common() {
        let found = levels(&sources(&[(level(6, 4), OLD), (level(7, 1), NEW)])).unwrap();
        // `uses` is removed with the type that changed.
        assert_eq!(names_of(&found[&level(7, 0)]), ["S", "same"]);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [level(6, 4), level(7, 0), level(7, 1)]);
    }

    #[test]
    fn between_two_levels_a_function_that_is_named_is_there() {
        let mut sources = sources(&[(level(6, 4), OLD), (level(7, 1), NEW)]);
        sources.names = Names::Some;
        sources.facts.insert(level(7, 0), named(&["new", "unknown"]));
        assert_eq!(names_of(&levels(&sources).unwrap()[&level(7, 0)]), ["S", "new", "same"]);
    }

    #[test]
    fn the_oldest_declarations_hold_before() {
        const BACK: BackTo = BackTo { level: (6, 3), why: "", later: &[("new", (6, 4)), ("same", (7, 0))] };
        let mut sources = sources(&[(level(7, 0), NEW)]);
        sources.back_to = Some(&BACK);
        let found = levels(&sources).unwrap();
        assert_eq!(names_of(&found[&level(6, 3)]), ["S", "T", "changed", "uses"]);
        assert_eq!(names_of(&found[&level(6, 4)]), ["S", "T", "changed", "new", "uses"]);
        assert!(!found.contains_key(&level(6, 2)));
    }

    #[test]
    fn a_table_of_names_says_which_functions_there_are() {
        let mut sources = sources(&[(level(5, 7), OLD), (level(7, 2), NEW)]);
        sources.names = Names::All;
        sources.absent = vec!["static_one"];
        sources.reference.insert(level(7, 2));
        sources.facts.insert(level(7, 2), named(&["gone", "changed", "static_one"]));
        let found = levels(&sources).unwrap();
        let there = &found[&level(7, 2)];
        assert_eq!(names_of(there), ["S", "T", "changed", "gone"]);
        assert!(there["changed"].shape().contains("u16"));
        sources.facts.insert(level(7, 2), named(&["nowhere"]));
        assert!(format!("{:#}", levels(&sources).unwrap_err()).contains("functions in no header: [\"nowhere\"]"));
    }

    #[test]
    fn types_of_other_libraries_are_not_missing() {
        let text = "extern \"C\" { pub fn f(stream: hipStream_t); }";
        let mut sources = sources(&[(level(7, 2), text)]);
        assert!(format!("{:#}", levels(&sources).unwrap_err()).contains("hipStream_t"));
        sources.foreign.insert("hipStream_t".to_owned(), "hip_sys".to_owned());
        assert_eq!(names_of(&levels(&sources).unwrap()[&level(7, 2)]), ["f"]);
    }
}
