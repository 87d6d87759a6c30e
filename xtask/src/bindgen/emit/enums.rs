//! Enums and constants.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Result;
use proc_macro2::TokenStream;
use quote::quote;

use super::docs::{alias_line, doc_attributes, doc_lines, docs};
use super::types::tidy;
use super::written::Written;
use crate::bindgen::forms::{Form, Place, all, each};
use crate::bindgen::lines::fill;
use crate::bindgen::surface::{Kind, value_of};

/// Returns enums as calls of `rocm_loader::c_enum!`, constants of other modules' enums, and the integers they mention.
pub(super) fn enums(written: &Written<'_>, place: Place, items: &[(&str, &Form)]) -> Result<(String, TokenStream)> {
    let mut text = String::new();
    let mut integers = TokenStream::new();
    for (name, form, (_, repr)) in each(items, |kind| match kind {
        Kind::Enum(item, repr) => Some((item, repr)),
        _ => None,
    }) {
        // From all modules: the printed name of a value does not depend on the features.
        let constants = all(written.forms, |kind| match kind {
            Kind::Const(item, Some(of), at) if *of == name => Some((item, *at)),
            _ => None,
        });
        let constants = constants.into_iter().filter(|(_, of, _)| of.place == place || place.covers(of.place));
        let mut constants: Vec<(i128, usize, &Form, &syn::ItemConst)> =
            constants.map(|(_, of, (item, at))| Ok((value_of(item)?, at, of, item))).collect::<Result<_>>()?;
        // Of two names for a value, the one that no release changed is printed, then the older one, then the one that
        // comes first in the header.
        constants.sort_by_key(|(value, at, of, item)| (*value, of.place, *at, item.ident.to_string()));
        text += "\nrocm_loader::c_enum! {\n";
        text += &doc_lines(&docs(written, name, form), "    ");
        text += &alias_line(written.cuda.of(name), "    ");
        writeln!(text, "    pub enum {name}: {} {{", tidy(repr)?)?;
        let (own, other): (Vec<_>, Vec<_>) = constants.into_iter().partition(|(_, _, of, _)| of.place == place);
        for (value, _, of, constant) in &own {
            text += &doc_lines(&docs(written, &constant.ident.to_string(), of), "        ");
            writeln!(text, "        {} = {value},", constant.ident)?;
        }
        text += "    }\n";
        let values: BTreeSet<i128> = own.iter().map(|(value, ..)| *value).collect();
        let mut named = BTreeSet::new();
        let other = other.iter().filter(|(value, ..)| !values.contains(value) && named.insert(*value));
        let other: Vec<String> =
            other.map(|(value, _, _, constant)| format!("{value} => {}", constant.ident)).collect();
        if !other.is_empty() {
            text += &fill("    also { ", other.into_iter(), ", }", "        ");
        }
        text += "}\n";
        integers.extend(quote!(#repr));
    }
    let mut of_others: BTreeMap<&str, Vec<(i128, usize, &Form, &syn::ItemConst)>> = BTreeMap::new();
    for (_, form, (item, of, at)) in each(items, |kind| match kind {
        Kind::Const(item, Some(of), at) => Some((item, of.as_str(), *at)),
        _ => None,
    }) {
        if !items.iter().any(|(name, form)| *name == of && matches!(form.kind, Kind::Enum(..))) {
            of_others.entry(of).or_default().push((value_of(item)?, at, form, item));
        }
    }
    for (of, mut constants) in of_others {
        constants.sort_by_key(|(value, at, _, item)| (*value, *at, item.ident.to_string()));
        writeln!(text, "\nrocm_loader::c_constants! {{\n    {of}:")?;
        for (value, _, form, item) in constants {
            text += &doc_lines(&docs(written, &item.ident.to_string(), form), "    ");
            writeln!(text, "    {} = {value},", item.ident)?;
        }
        text += "}\n";
    }
    Ok((text, integers))
}

pub(super) fn constants(written: &Written<'_>, items: &[(&str, &Form)]) -> TokenStream {
    let mut out = TokenStream::new();
    for (name, form, item) in each(items, |kind| match kind {
        Kind::Const(item, None, _) => Some(item),
        _ => None,
    }) {
        let docs = doc_attributes(&docs(written, name, form));
        let (ident, ty, expr) = (&item.ident, &item.ty, &item.expr);
        out.extend(quote!(#(#docs)* pub const #ident: #ty = #expr;));
    }
    out
}
