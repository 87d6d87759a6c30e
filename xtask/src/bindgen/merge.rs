//! From the headers of three levels and the facts of seven to every item at every level, then to one list in which an
//! item has a variant for each range of levels over which it is the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use quote::ToTokens;

use super::facts::{Facts, words_of};
use super::levels::Level;
use super::surface::{Kind, Surface};
use super::write_c::{Anonymous, unplaced};

/// What is known of one library.
pub(crate) struct Sources {
    /// Places of members that the facts leave out.
    pub(crate) anonymous: Anonymous<'static>,
    /// From the real headers.
    pub(crate) headers: BTreeMap<Level, Surface>,
    /// From AMD's Python packages.
    pub(crate) facts: BTreeMap<Level, Facts>,
    /// From headers written after the facts, for the levels without real ones.
    pub(crate) written: BTreeMap<Level, Surface>,
}

/// An item over a range of levels, both ends included.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) from: Level,
    pub(crate) to: Level,
    pub(crate) kind: Kind,
}

/// All variants of every item, oldest first.
pub(crate) type Merged = BTreeMap<String, Vec<Variant>>;

/// The items of every level.
pub(crate) fn levels(sources: &Sources) -> Result<BTreeMap<Level, Surface>> {
    Level::all()
        .map(|level| {
            let surface = match sources.headers.get(&level) {
                Some(surface) => surface.clone(),
                None => without_headers(sources, level).with_context(|| format!("level {level}"))?,
            };
            closed(&surface).with_context(|| format!("level {level}"))?;
            Ok((level, surface))
        })
        .collect()
}

/// The items of a level that only the facts witness: the nearest header's item where the facts of the two agree,
/// else the item as the facts have it.
fn without_headers(sources: &Sources, level: Level) -> Result<Surface> {
    let facts = sources.facts.get(&level).context("no facts")?;
    let written = sources.written.get(&level).context("no written header")?;
    let mut surface = Surface::default();
    for name in facts.names() {
        let fact = facts.fact(&name).with_context(|| format!("no fact on {name}"))?;
        let agreeing = level.headers_by_distance().into_iter().find_map(|other| {
            let same = sources.facts.get(&other)?.fact(&name)? == fact;
            let header = sources.headers.get(&other)?;
            // A second name needs what it stands for.
            let complete = match header.get(&name)? {
                Kind::Alias(target) => facts.fact(target).is_some(),
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
        if let (None, Some(kind)) = (agreeing, surface.get_mut(&name)) {
            let inferred = match sources.anonymous.iter().any(|(owner, ..)| *owner == name) {
                true => " The place of its anonymous union is inferred: the packages do not tell.",
                false => "",
            };
            kind.say(&format!(
                "Declared as in AMD's Python packages of ROCm {level}: no C header of that release was at hand.{inferred}"
            ));
        }
    }
    // In rounds: one may stand for another.
    let mut left = unwitnessed(sources, level);
    loop {
        let before = surface.len();
        for name in std::mem::take(&mut left) {
            let mut headers = level.headers_by_distance().into_iter().filter_map(|other| sources.headers.get(&other));
            let Some(header) = headers.find(|header| header.contains_key(&name)) else { continue };
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

/// Copies an item and the parts of structs that it is made of.
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

/// Items that no package tells of (macros, the OpenGL header): there when the headers on both sides have them.
fn unwitnessed(sources: &Sources, level: Level) -> BTreeSet<String> {
    let below = sources.headers.range(..level).next_back().map(|(_, surface)| surface);
    let above = sources.headers.range(level..).next().map(|(_, surface)| surface);
    let known = sources.facts.range(..level).rfind(|(level, _)| level.has_headers());
    let known = known.into_iter().chain(sources.facts.range(level..).find(|(level, _)| level.has_headers()));
    let known = known.chain(sources.facts.get_key_value(&level));
    let witnessed: BTreeSet<String> = known.flat_map(|(_, facts)| facts.names()).collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    match (below, above) {
        (Some(below), Some(above)) => {
            let both = below.keys().filter(|name| above.contains_key(*name));
            names.extend(both.cloned());
            // A second name is there as soon as what it stands for is.
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
    names
}

/// Names that an item mentions.
pub(crate) fn uses(kind: &Kind) -> BTreeSet<String> {
    let mut own = String::new();
    let text = match kind {
        Kind::Function(item) => {
            own = item.sig.ident.to_string();
            item.sig.to_token_stream().to_string()
        }
        Kind::Struct(item, _) => item.fields.iter().map(|f| f.ty.to_token_stream().to_string() + " ").collect(),
        Kind::Union(item) => item.fields.named.iter().map(|f| f.ty.to_token_stream().to_string() + " ").collect(),
        Kind::Type(item) => item.ty.to_token_stream().to_string(),
        Kind::Const(item, ..) => item.ty.to_token_stream().to_string(),
        Kind::Alias(target) => target.clone(),
        Kind::Enum(..) => String::new(),
    };
    words_of(&text).filter(|word| *word != own).map(str::to_owned).collect()
}

/// Every type that is mentioned is there.
fn closed(surface: &Surface) -> Result<()> {
    let mut missing = BTreeSet::new();
    for (name, kind) in surface.iter() {
        for used in uses(kind) {
            let ours = used.to_lowercase().starts_with("hip") || used.starts_with("ihip") || used.starts_with("_hip");
            let type_like = !matches!(kind, Kind::Function(item) if item.sig.inputs.iter().any(|arg| {
                matches!(arg, syn::FnArg::Typed(typed) if typed.pat.to_token_stream().to_string() == used)
            }));
            if ours && used != *name && type_like && !surface.contains_key(&used) {
                missing.insert(format!("{name} needs {used}"));
            }
        }
    }
    ensure!(missing.is_empty(), "items are missing: {missing:?}");
    Ok(())
}

/// One list of all levels.
pub(crate) fn merge(levels: &BTreeMap<Level, Surface>) -> Merged {
    let mut merged = Merged::new();
    let names: BTreeSet<&String> = levels.values().flat_map(|surface| surface.keys()).collect();
    for name in names {
        let mut variants: Vec<Variant> = Vec::new();
        for (&level, surface) in levels {
            let Some(kind) = surface.get(name) else { continue };
            match variants.last_mut() {
                Some(last) if last.to.next() == Some(level) && last.kind.shape() == kind.shape() => {
                    last.to = level;
                    // The newest text rules.
                    if kind.docs().is_some() || last.kind.docs().is_none() {
                        last.kind = kind.clone();
                    }
                }
                _ => variants.push(Variant { from: level, to: level, kind: kind.clone() }),
            }
        }
        merged.insert(name.clone(), variants);
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(value: u32, doc: &str) -> Kind {
        let value = proc_macro2::Literal::u32_unsuffixed(value);
        Kind::Const(syn::parse_quote!(#[doc = #doc] pub const A: c_uint = #value;), None, 0)
    }

    #[test]
    fn a_changed_item_has_a_variant_for_each_range() {
        let mut levels = BTreeMap::new();
        for level in Level::all().skip(1) {
            let value = if level.major() < 7 { 1 } else { 2 };
            let mut surface = Surface::default();
            surface.insert("A".to_owned(), constant(value, &level.to_string()));
            levels.insert(level, surface);
        }
        let merged = merge(&levels);
        let ranges: Vec<String> =
            merged["A"].iter().map(|v| format!("{}-{} {:?}", v.from, v.to, v.kind.docs())).collect();
        assert_eq!(ranges, ["6.2-6.4 Some(\"6.4\")", "7.0-10.0 Some(\"10.0\")"]);
    }
}
