//! Holds the headers and the facts of a level against each other: two independent accounts of one interface.

use quote::ToTokens;

use super::facts::{Facts, words_of};
use super::levels::Level;
use super::merge::Sources;
use super::surface::{Kind, Surface};

/// Where the two disagree, a difference a line; some functions are known to be beyond the facts. Neither `const` nor
/// the name of an integer counts, since the facts are not reliable there.
pub(crate) fn differences(sources: &Sources, beyond: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (level, header) in sources.headers.iter().filter(|(level, _)| !sources.reference.contains(level)) {
        if let (Some(facts), Some(written)) = (sources.facts.get(level), sources.written.get(level)) {
            compare(*level, header, facts, written, &mut found);
        }
    }
    found.retain(|line| !beyond.iter().any(|(name, _)| line.ends_with(&format!(" {name}: not in the facts"))));
    found
}

fn compare(level: Level, header: &Surface, facts: &Facts, written: &Surface, found: &mut Vec<String>) {
    for name in facts.names() {
        if !header.contains_key(&name) {
            found.push(format!("{level} {name}: not in the headers"));
        } else if let Some((ours, theirs)) = difference(&name, facts, written, header) {
            found.push(format!("{level} {name}: {ours} in the facts, {theirs} in the headers"));
        }
    }
    for (name, kind) in header.iter() {
        if matches!(kind, Kind::Function(_)) && !facts.functions.contains_key(name) {
            found.push(format!("{level} {name}: not in the facts"));
        }
    }
}

/// How the facts and the headers declare `name`, if they differ.
pub(crate) fn difference(name: &str, facts: &Facts, written: &Surface, header: &Surface) -> Option<(String, String)> {
    let (ours, theirs) = match (header.get(name)?, written.get(name)) {
        (Kind::Function(header_item), Some(Kind::Function(item))) => {
            (signature(written, item), signature(header, header_item))
        }
        (Kind::Struct(header_item, bits), Some(Kind::Struct(item, _))) if bits.is_empty() => {
            (fields(written, &item.fields), fields(header, &header_item.fields))
        }
        (Kind::Const(item, ..), _) => {
            let (value, fact) = super::emit::value_of(item).ok().zip(facts.value(name))?;
            // A package shows an unsigned value as a signed one.
            ((fact as u32).to_string(), (value as u32).to_string())
        }
        _ => return None,
    };
    (ours != theirs).then_some((ours, theirs))
}

fn signature(surface: &Surface, item: &syn::ForeignItemFn) -> String {
    let types = item.sig.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => Some(normal(surface, &typed.ty)),
        syn::FnArg::Receiver(_) => None,
    });
    let returns = match &item.sig.output {
        syn::ReturnType::Default => String::new(),
        syn::ReturnType::Type(_, ty) => normal(surface, ty),
    };
    format!("({}) {returns}", types.collect::<Vec<_>>().join(", "))
}

/// Names and types of fields; of anonymous ones nothing, since the facts leave them out.
fn fields(surface: &Surface, fields: &syn::Fields) -> String {
    let named = fields.iter().filter_map(|field| {
        let name = field.ident.as_ref()?.to_string();
        let ty = normal(surface, &field.ty);
        (!name.starts_with("anon_") && !name.starts_with('_')).then(|| format!("{name}: {ty}"))
    });
    named.collect::<Vec<_>>().join(", ")
}

fn normal(surface: &Surface, ty: &syn::Type) -> String {
    let mut words = Vec::new();
    push(surface, &ty.to_token_stream().to_string(), &mut words, 0);
    words.join(" ")
}

fn push(surface: &Surface, text: &str, words: &mut Vec<String>, depth: usize) {
    for word in words_of(text) {
        match surface.get(word) {
            Some(Kind::Type(item)) if depth < 8 => {
                push(surface, &item.ty.to_token_stream().to_string(), words, depth + 1)
            }
            Some(Kind::Alias(target)) if depth < 8 => push(surface, target, words, depth + 1),
            _ => match word {
                "const" => words.push("mut".to_owned()),
                "c_ulong" | "c_ulonglong" | "u64" => words.push("usize".to_owned()),
                "c_uint" => words.push("u32".to_owned()),
                // What stands before it is the name of a function pointer's parameter.
                ":" => drop(words.pop()),
                _ => words.push(word.to_owned()),
            },
        }
    }
}
