//! Names for the anonymous structs and unions of C.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use quote::{ToTokens, format_ident};
use syn::visit_mut::VisitMut;

use super::item::newtype_of;
use crate::bindgen::facts::words_of;

/// Renames `Outer__bindgen_ty_1` to `Outer_field`, and `__bindgen_anon_1` to `anon_1`. Returns the new names.
pub(super) fn name_anonymous_types(file: &mut syn::File) -> Result<BTreeSet<String>> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut wanted: Vec<(String, String, String)> = Vec::new(); // outer, field, old name
    let mut nested: Vec<(String, String)> = Vec::new(); // outer, type of a field
    let mut all = BTreeSet::new();
    for item in &file.items {
        let (ident, fields) = match item {
            syn::Item::Struct(item) if newtype_of(item).is_none() => {
                (&item.ident, item.fields.iter().collect::<Vec<_>>())
            }
            syn::Item::Union(item) => (&item.ident, item.fields.named.iter().collect()),
            _ => continue,
        };
        all.insert(ident.to_string());
        for field in fields {
            let Some(name) = &field.ident else { continue };
            let text = field.ty.to_token_stream().to_string();
            for word in words_of(&text) {
                if word.contains("__bindgen_ty_") {
                    wanted.push((ident.to_string(), field_name(&name.to_string()), word.to_owned()));
                } else {
                    nested.push((ident.to_string(), word.to_owned()));
                }
            }
        }
    }
    // C has no scopes for the tags of nested structs: bindgen's `Outer_Tag` is `Tag`.
    for (outer, word) in nested {
        if let Some(tag) = word.strip_prefix(&format!("{outer}_")) {
            if all.contains(&word) && all.insert(tag.to_owned()) {
                names.insert(word.clone(), tag.to_owned());
            }
        }
    }
    // Outer types come before their parts when sorted by the length of bindgen's chain of suffixes.
    wanted.sort_by_key(|(_, _, old)| old.matches("__bindgen_ty_").count());
    for (outer, field, old) in wanted {
        let outer = names.get(&outer).cloned().unwrap_or(outer);
        let new = format!("{}_{}", outer.trim_end_matches("_st"), field);
        ensure!(all.insert(new.clone()), "{new} is taken: cannot name {old} after its field");
        ensure!(names.insert(old.clone(), new).is_none(), "{old} has two fields");
    }
    let parts = names.values().cloned().collect();
    Rename(names).visit_file_mut(file);
    Ok(parts)
}

fn field_name(name: &str) -> String {
    name.strip_prefix("__bindgen_").unwrap_or(name).to_owned()
}

struct Rename(BTreeMap<String, String>);

impl VisitMut for Rename {
    fn visit_ident_mut(&mut self, ident: &mut proc_macro2::Ident) {
        let name = ident.to_string();
        if let Some(new) = self.0.get(&name) {
            *ident = format_ident!("{new}");
        } else if name.starts_with("__bindgen_anon_") {
            *ident = format_ident!("{}", field_name(&name));
        }
    }
}
