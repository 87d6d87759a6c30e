//! Determines which items are the same at every level since they were added, and the forms of the other items.
//!
//! Two levels have the same form of an item if its own declaration and those of all items that it mentions are the
//! same: a function changes with a struct that it takes. The constants of an enum are part of it: if a constant gets
//! another value, the enum has two forms. Added or removed constants do not make a new form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use anyhow::{Context as _, Result};
use quote::ToTokens;
use regex::Regex;

use super::facts::words_of;
use super::levels::Level;
use super::library::Library;
use super::merge::{NO_HEADER, uses};
use super::surface::{Kind, Surface, value_of};

/// The form that an item has at each level, as a number.
pub(crate) type Classes = BTreeMap<String, BTreeMap<Level, usize>>;

/// An item over a range of levels, both ends included.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// The generated module that a form is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Whether AMD changed or dropped the item: it is then not in the crate's root.
    pub(crate) changed: bool,
    pub(crate) from: Level,
    pub(crate) to: Level,
}

/// All forms of every item, oldest first.
pub(crate) type Forms = BTreeMap<String, Vec<Form>>;

impl Place {
    fn new(from: Level, to: Level, changed: bool) -> Place {
        Place { changed, from, to }
    }

    /// Returns whether the items exist at this level.
    pub(crate) fn has(self, level: Level) -> bool {
        self.from <= level && level <= self.to
    }

    /// Returns whether an item of `other` may mention an item of this place.
    pub(crate) fn covers(self, other: Place) -> bool {
        self != other && self.from <= other.from && other.to <= self.to
    }
}

/// Prints the module's name.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |level: Level| format!("{}_{}", level.major(), level.minor());
        match (self.changed, self.to == Level::last()) {
            (false, _) => write!(f, "since_{}", number(self.from)),
            (true, true) => write!(f, "changed_{}", number(self.from)),
            (true, false) if self.from == self.to => write!(f, "only_{}", number(self.from)),
            (true, false) => write!(f, "from_{}_to_{}", number(self.from), number(self.to)),
        }
    }
}

/// Returns whether a constant counts the others, and so grows with the enum.
fn is_count(name: &str) -> bool {
    let ends = Regex::new("(Last[A-Za-z]*|LAST|_MAX|Max|Count|Num[A-Z][A-Za-z]*|_END|Range|Tbd)$");
    ends.is_ok_and(|ends| ends.is_match(name))
}

/// The items of a library and of the libraries that it shares types with, by level.
pub(crate) struct Context<'a> {
    pub(crate) levels: &'a BTreeMap<Level, Surface>,
    /// The items of the other libraries.
    pub(crate) others: Vec<&'a BTreeMap<Level, Surface>>,
    /// The forms of the other libraries' items.
    pub(crate) foreign: &'a Classes,
}

impl Context<'_> {
    fn item(&self, level: Level, name: &str) -> Option<&Kind> {
        let own = self.levels.get(&level).and_then(|surface| surface.get(name));
        own.or_else(|| self.others.iter().find_map(|levels| levels.get(&level)?.get(name)))
    }

    /// Adds the words of a type, with aliases resolved. `const` and different names of integers of one size do not
    /// affect the ABI, and the packages are not reliable there.
    fn normal(&self, level: Level, text: &str, words: &mut Vec<String>, depth: usize) {
        for word in words_of(text) {
            match self.item(level, word) {
                Some(Kind::Type(item)) if depth < 8 => {
                    self.normal(level, &item.ty.to_token_stream().to_string(), words, depth + 1);
                }
                Some(Kind::Alias(target)) if depth < 8 => self.normal(level, target, words, depth + 1),
                _ => match word {
                    "const" => words.push("mut".to_owned()),
                    // The name of a function pointer's parameter precedes it.
                    ":" => drop(words.pop()),
                    _ => words.push(integer(word).to_owned()),
                },
            }
        }
    }

    /// Returns the words that two levels must agree on, some of which are names of items.
    fn declaration(&self, level: Level, kind: &Kind) -> Vec<String> {
        let mut words = Vec::new();
        let mut add = |text: String| self.normal(level, &text, &mut words, 0);
        let fields = |fields: &syn::Fields, attrs: &[syn::Attribute]| {
            let mut found = Vec::new();
            let repr = attrs.iter().filter(|attr| attr.path().is_ident("repr"));
            found.extend(repr.map(|attr| attr.to_token_stream().to_string()));
            for field in fields {
                let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                // No item has such a name.
                found.push(format!(".{name} , {}", field.ty.to_token_stream()));
            }
            found
        };
        match kind {
            Kind::Function(item) => {
                for input in &item.sig.inputs {
                    if let syn::FnArg::Typed(typed) = input {
                        add(format!("{} ,", typed.ty.to_token_stream()));
                    }
                }
                if let syn::ReturnType::Type(_, ty) = &item.sig.output {
                    add(format!("> {}", ty.to_token_stream()));
                }
            }
            Kind::Struct(item, bits) => {
                fields(&item.fields, &item.attrs).into_iter().for_each(add);
                words.push(format!("{bits:?}"));
            }
            Kind::Union(item) => {
                fields(&syn::Fields::Named(item.fields.clone()), &item.attrs).into_iter().for_each(add);
            }
            Kind::Type(item) => add(item.ty.to_token_stream().to_string()),
            Kind::Alias(target) if matches!(self.item(level, target), Some(Kind::Function(_) | Kind::Const(..))) => {
                words.push(target.clone());
            }
            Kind::Alias(target) => add(target.clone()),
            Kind::Enum(_, integer) => add(integer.to_token_stream().to_string()),
            Kind::Const(item, of, _) => {
                words.extend(of.clone());
                let value = value_of(item).map(|value| value.to_string());
                words.push(value.unwrap_or_else(|_| item.expr.to_token_stream().to_string()));
                if of.is_none() {
                    self.normal(level, &item.ty.to_token_stream().to_string(), &mut words, 0);
                }
            }
        }
        words
    }
}

fn integer(word: &str) -> &str {
    match word {
        "c_ulong" | "c_ulonglong" | "u64" => "usize",
        "c_long" | "c_longlong" | "i64" => "isize",
        "c_uint" => "u32",
        "c_int" => "i32",
        "c_ushort" => "u16",
        "c_short" => "i16",
        "c_uchar" => "u8",
        "c_schar" | "c_char" => "i8",
        other => other,
    }
}

/// Returns the form of each item at each level.
pub(crate) fn classes(library: &Library, context: &Context<'_>) -> Classes {
    let enums = enum_classes(library, context.levels);
    let mut declared: BTreeMap<(&String, Level), Vec<String>> = BTreeMap::new();
    for (level, surface) in context.levels {
        for (name, kind) in surface.iter() {
            let mut words = context.declaration(*level, kind);
            if let Some(numbering) = enums.get(name).and_then(|of| of.get(level)).filter(|numbering| **numbering > 0) {
                words.push(format!("#{numbering}"));
            }
            declared.insert((name, *level), words);
        }
    }
    let mut classes = Classes::new();
    loop {
        let mut keys: BTreeMap<&String, Vec<Vec<String>>> = BTreeMap::new();
        let mut refined = Classes::new();
        for ((name, level), words) in &declared {
            let class_of = |word: &String| {
                let of = classes.get(word).or_else(|| context.foreign.get(word));
                of.and_then(|of| of.get(level)).map_or(word.clone(), |class| format!("{word}@{class}"))
            };
            // A struct may mention itself.
            let key: Vec<String> = words.iter().map(class_of).collect();
            let known = keys.entry(name).or_default();
            let class = known.iter().position(|known| *known == key).unwrap_or_else(|| {
                known.push(key);
                known.len() - 1
            });
            refined.entry((*name).clone()).or_default().insert(*level, class);
        }
        let count = |classes: &Classes| -> usize {
            classes.values().map(|of| of.values().collect::<BTreeSet<_>>().len()).sum()
        };
        if count(&refined) == count(&classes) {
            return refined;
        }
        classes = refined;
    }
}

/// Returns the numberings of each enum.
fn enum_classes(library: &Library, levels: &BTreeMap<Level, Surface>) -> Classes {
    let mut values: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
    let mut classes = Classes::new();
    for (level, surface) in levels {
        let mut now: BTreeMap<&str, BTreeMap<&str, String>> = BTreeMap::new();
        for (name, kind) in surface.iter() {
            match kind {
                Kind::Const(_, Some(of), _) if !is_count(name) => {
                    now.entry(of).or_default().insert(name, kind.shape());
                }
                _ => {}
            }
        }
        for (name, now) in now {
            let known = values.entry(name).or_default();
            let renumbered = now.iter().any(|(name, value)| known.get(name).is_some_and(|old| old != value));
            let of = classes.entry(name.to_owned()).or_default();
            let last = of.values().next_back().copied().unwrap_or_default();
            let renumbered = renumbered && !library.keeps(name);
            of.insert(*level, if renumbered { last + 1 } else { last });
            if renumbered {
                known.clear();
            }
            known.extend(now);
        }
    }
    classes
}

/// Returns the contiguous ranges of levels in which an item has one form, oldest first.
pub(crate) fn places(of: &BTreeMap<Level, usize>) -> Vec<Place> {
    let mut runs: Vec<(Level, Level, usize)> = Vec::new();
    for (level, class) in of {
        match runs.last_mut() {
            Some(last) if last.2 == *class && last.1.next() == Some(*level) => last.1 = *level,
            _ => runs.push((*level, *level, *class)),
        }
    }
    let one = of.values().collect::<BTreeSet<_>>().len() == 1;
    let place = |(from, to, _): (Level, Level, usize)| Place::new(from, to, !(one && to == Level::last()));
    runs.into_iter().map(place).collect()
}

/// Merges all levels into one list.
pub(crate) fn forms(context: &Context<'_>, classes: &Classes) -> Result<Forms> {
    let mut forms = Forms::new();
    let places_of: BTreeMap<&String, Vec<Place>> = classes.iter().map(|(name, of)| (name, places(of))).collect();
    for (name, places) in &places_of {
        for place in places {
            // A declaration may use names of types that were added later; then an older declaration is taken.
            let available = |used: &String| match places_of.get(used) {
                Some(places) => places.iter().any(|other| other == place || other.covers(*place)),
                None => Level::all()
                    .filter(|level| place.has(*level))
                    .all(|level| context.foreign.get(used).is_some_and(|of| of.contains_key(&level))),
            };
            let kinds = context.levels.range(place.from..=place.to).rev();
            let kinds: Vec<&Kind> = kinds.filter_map(|(_, surface)| surface.get(*name)).collect();
            let fitting = || kinds.iter().filter(|kind| uses(kind).iter().all(available));
            let from_header = |kind: &&&Kind| !kind.docs().is_some_and(|text| text.contains(NO_HEADER));
            let said = |kind: &&&Kind| kind.docs().is_some() && from_header(kind);
            // The newest text is used, and a header's text rather than none.
            let kind = fitting().find(said).or_else(|| fitting().find(from_header)).or_else(|| fitting().next());
            let kind = kind.with_context(|| format!("{name} at {place}: it mentions what is not there"))?;
            forms.entry((*name).clone()).or_default().push(Form { place: *place, kind: (*kind).clone() });
        }
    }
    Ok(forms)
}

/// Returns the items by their module.
pub(crate) fn by_place(forms: &Forms) -> BTreeMap<Place, Vec<(&str, &Form)>> {
    let mut found: BTreeMap<Place, Vec<(&str, &Form)>> = BTreeMap::new();
    for (name, of) in forms {
        for form in of {
            found.entry(form.place).or_default().push((name, form));
        }
    }
    found
}

/// Returns the items that `pick` accepts.
pub(crate) fn each<'a, T>(
    items: &[(&'a str, &'a Form)],
    pick: impl Fn(&'a Kind) -> Option<T>,
) -> Vec<(&'a str, &'a Form, T)> {
    items.iter().filter_map(|(name, form)| pick(&form.kind).map(|item| (*name, *form, item))).collect()
}

/// Returns all forms that `pick` accepts.
pub(crate) fn all<'a, T>(forms: &'a Forms, pick: impl Fn(&'a Kind) -> Option<T>) -> Vec<(&'a str, &'a Form, T)> {
    let one = |(name, forms): (&'a String, &'a Vec<Form>)| forms.iter().map(move |form| (name.as_str(), form));
    forms.iter().flat_map(one).filter_map(|(name, form)| pick(&form.kind).map(|item| (name, form, item))).collect()
}
