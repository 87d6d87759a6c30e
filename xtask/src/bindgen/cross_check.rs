//! Compares the headers and the facts of a level: two independent descriptions of one interface.

use std::collections::BTreeMap;

use quote::ToTokens;

use super::facts::{Facts, words_of};
use super::levels::Level;
use super::library::Library;
use super::sources::Sources;
use super::surface::{Kind, Surface, value_of};

/// Returns the differences between the two, one per line. Some functions are known to be missing from the facts, or
/// wrong in them. `const` and names of integers are ignored, since the facts are not reliable there.
pub(crate) fn differences(sources: &Sources, library: &Library) -> Vec<String> {
    let mut found = Vec::new();
    for (level, header) in sources.headers.iter().filter(|(level, _)| !sources.reference.contains(level)) {
        if let (Some(facts), Some(written)) = (sources.facts.get(level), sources.written.get(level)) {
            compare(sources, *level, header, facts, written, &mut found);
        }
    }
    let beyond = |line: &String| {
        library.beyond_facts.iter().any(|(name, _)| line.ends_with(&format!(" {name}: not in the facts")))
    };
    let mistaken = |line: &String| library.mistaken.iter().any(|(name, _)| line.contains(&format!(" {name}: ")));
    found.retain(|line| !beyond(line) && !mistaken(line));
    found
}

fn compare(
    sources: &Sources,
    level: Level,
    header: &Surface,
    facts: &Facts,
    written: &Surface,
    found: &mut Vec<String>,
) {
    for name in facts.names() {
        if !header.contains_key(&name) {
            found.push(format!("{level} {name}: not in the headers"));
        } else if let Some((ours, theirs)) = difference(sources, &name, facts, written, header) {
            found.push(format!("{level} {name}: {ours} in the facts, {theirs} in the headers"));
        }
    }
    for (name, kind) in header.iter() {
        if matches!(kind, Kind::Function(_)) && !facts.functions.contains_key(name) {
            found.push(format!("{level} {name}: not in the facts"));
        }
    }
}

/// Returns how the facts and the headers declare `name`, if they differ.
pub(crate) fn difference(
    sources: &Sources,
    name: &str,
    facts: &Facts,
    written: &Surface,
    header: &Surface,
) -> Option<(String, String)> {
    let [header, written] = [header, written].map(|own| Names { own, foreign: &sources.foreign_types });
    let (ours, theirs) = match (header.own.get(name)?, written.own.get(name)) {
        (Kind::Function(header_item), Some(Kind::Function(item))) => {
            (written.signature(item), header.signature(header_item))
        }
        (Kind::Struct(header_item, bits), Some(Kind::Struct(item, _))) if bits.is_empty() => {
            (written.fields(&item.fields), header.fields(&header_item.fields))
        }
        (Kind::Const(item, ..), _) => {
            let (value, fact) = value_of(item).ok().zip(facts.value(name))?;
            // A package shows an unsigned value as a signed one.
            ((fact as u32).to_string(), (value as u32).to_string())
        }
        _ => return None,
    };
    (ours != theirs).then_some((ours, theirs))
}

/// The types that names refer to.
#[derive(Clone, Copy)]
struct Names<'a> {
    own: &'a Surface,
    foreign: &'a BTreeMap<String, Kind>,
}

impl Names<'_> {
    fn signature(self, item: &syn::ForeignItemFn) -> String {
        let types = item.sig.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Typed(typed) => Some(self.normal(&typed.ty)),
            syn::FnArg::Receiver(_) => None,
        });
        let returns = match &item.sig.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, ty) => self.normal(ty),
        };
        format!("({}) {returns}", types.collect::<Vec<_>>().join(", "))
    }

    /// Returns names and types of fields; nothing for anonymous ones, since the facts omit them.
    fn fields(self, fields: &syn::Fields) -> String {
        let named = fields.iter().filter_map(|field| {
            let name = field.ident.as_ref()?.to_string();
            let ty = self.normal(&field.ty);
            (!name.starts_with("anon_") && !name.starts_with('_')).then(|| format!("{name}: {ty}"))
        });
        named.collect::<Vec<_>>().join(", ")
    }

    fn normal(self, ty: &syn::Type) -> String {
        let mut words = Vec::new();
        self.push(&ty.to_token_stream().to_string(), &mut words, 0);
        words.join(" ")
    }

    fn push(self, text: &str, words: &mut Vec<String>, depth: usize) {
        for word in words_of(text) {
            match self.own.get(word).or_else(|| self.foreign.get(word)) {
                Some(Kind::Type(item)) if depth < 8 => {
                    self.push(&item.ty.to_token_stream().to_string(), words, depth + 1)
                }
                Some(Kind::Alias(target)) if depth < 8 => self.push(target, words, depth + 1),
                _ => match word {
                    "const" => words.push("mut".to_owned()),
                    "c_ulong" | "c_ulonglong" | "u64" => words.push("usize".to_owned()),
                    "c_long" | "c_longlong" | "i64" => words.push("isize".to_owned()),
                    "c_uint" => words.push("u32".to_owned()),
                    "c_int" => words.push("i32".to_owned()),
                    "c_ushort" => words.push("u16".to_owned()),
                    "c_short" => words.push("i16".to_owned()),
                    "c_uchar" => words.push("u8".to_owned()),
                    "c_schar" => words.push("i8".to_owned()),
                    // The word before it is the name of a function pointer's parameter.
                    ":" => drop(words.pop()),
                    _ => words.push(word.to_owned()),
                },
            }
        }
    }
}
