//! Documentation of items.

use proc_macro2::TokenStream;
use quote::quote;
use syn::visit_mut::VisitMut;

use super::written::Written;
use crate::bindgen::doxygen;
use crate::bindgen::forms::{Form, Forms};
use crate::bindgen::levels::Level;
use crate::bindgen::lines::fill;
use crate::bindgen::surface::{Kind, doc_of};

/// Returns lines of documentation: the header's text, the releases that have the item, and CUDA's name for it.
pub(super) fn docs(written: &Written<'_>, name: &str, form: &Form) -> Vec<String> {
    let mut text = form.kind.docs().and_then(|text| markdown(written.forms, &text)).unwrap_or_default();
    let (from, to) = (form.place.from, form.place.to);
    let mut releases = String::new();
    // The macro that declares functions adds their first release itself.
    if from > Level::first() && !matches!(form.kind, Kind::Function(_)) {
        releases = format!("Since ROCm {from}");
    }
    if let Some(next) = to.next() {
        let until = if releases.is_empty() { "Before ROCm" } else { ", before" };
        releases = format!("{releases}{until} {next}");
    }
    // Another form of the item has the same name.
    if written.forms.get(name).is_some_and(|forms| forms.len() > 1) && releases.is_empty() {
        releases = format!("The form of ROCm {from} and newer");
    }
    if !releases.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{text}{gap}{releases}.");
    }
    text.lines().map(str::to_owned).collect()
}

/// Returns lines of documentation as comments.
pub(super) fn doc_lines(lines: &[String], indent: &str) -> String {
    let line = |line: &String| format!("{indent}/// {line}").trim_end().to_owned() + "\n";
    lines.iter().map(line).collect()
}

/// Returns lines of documentation as attributes.
pub(super) fn doc_attributes(lines: &[String]) -> Vec<syn::Attribute> {
    let line = |line: &String| if line.is_empty() { String::new() } else { format!(" {line}") };
    lines.iter().map(line).map(|line| syn::parse_quote!(#[doc = #line])).collect()
}

/// Returns a comment as Markdown, with links to the items that every level has.
fn markdown(forms: &Forms, comment: &str) -> Option<String> {
    let everywhere = |code: &str| {
        let name = code.trim_end_matches("()");
        let Some([form]) = forms.get(name).map(Vec::as_slice) else { return false };
        // rustdoc takes `name()` for a function.
        let as_called = code == name || matches!(form.kind, Kind::Function(_));
        !form.place.changed && form.place.from == Level::first() && as_called
    };
    Some(doxygen::link(&doxygen::to_markdown(comment)?, everywhere))
}

/// Converts the doc comments of fields in place.
pub(super) struct FieldDocs<'a>(pub(super) &'a Forms);

impl VisitMut for FieldDocs<'_> {
    fn visit_field_mut(&mut self, field: &mut syn::Field) {
        let text = doc_of(&field.attrs).and_then(|text| markdown(self.0, &text)).unwrap_or_default();
        field.attrs.retain(|attr| !attr.path().is_ident("doc"));
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        field.attrs.extend(doc_attributes(&lines));
    }
}

pub(super) fn not_doc(attrs: &[syn::Attribute]) -> Vec<&syn::Attribute> {
    attrs.iter().filter(|attr| !attr.path().is_ident("doc")).collect()
}

/// Returns `#[doc(alias(..))]` for a type.
pub(super) fn alias_attribute(names: &[String]) -> TokenStream {
    if names.is_empty() { quote!() } else { quote!(#[doc(alias(#(#names),*))]) }
}

/// Returns `#[doc(alias(..))]` as a line.
pub(super) fn alias_line(names: &[String], indent: &str) -> String {
    if names.is_empty() {
        return String::new();
    }
    let start = format!("{indent}#[doc(alias(");
    fill(&start, names.iter().map(|name| format!("{name:?}")), "))]", &format!("{indent}    "))
}
