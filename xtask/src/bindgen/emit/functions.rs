//! Functions.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyhow::{Result, bail};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};

use super::docs::{alias_line, doc_lines, docs};
use super::types::tidy;
use super::written::Written;
use crate::bindgen::forms::{Form, Place, each};
use crate::bindgen::lines::fill;
use crate::bindgen::surface::Kind;

/// Maximum number of functions in one call of `rocm_loader::bindings!`, which takes quadratic time.
const BLOCK: usize = 40;

/// A topic of a module: its functions, as calls of `rocm_loader::bindings!`.
pub(super) struct Topic {
    pub(super) name: String,
    pub(super) text: String,
    /// The functions' tokens, for the types that they mention.
    pub(super) tokens: TokenStream,
}

/// Returns functions by topic.
pub(super) fn functions(written: &Written<'_>, place: Place, items: &[(&str, &Form)]) -> Result<Vec<Topic>> {
    let library = written.library;
    let by_name = library.topics()?;
    let mut topics: BTreeMap<&str, (Vec<String>, TokenStream)> = BTreeMap::new();
    for (name, form, item) in each(items, |kind| match kind {
        Kind::Function(item) => Some(item),
        _ => None,
    }) {
        let signature = &item.sig;
        if signature.variadic.is_some() {
            bail!("{name} takes a variable number of arguments");
        }
        let since = written.forms[name].first().map_or(place.from, |first| first.place.from);
        let parameters: Vec<String> = signature.inputs.iter().map(parameter).collect::<Result<_>>()?;
        let result = match &signature.output {
            syn::ReturnType::Default => String::new(),
            syn::ReturnType::Type(_, ty) => format!(" -> {}", tidy(ty)?),
        };
        let mut text = doc_lines(&docs(written, name, form), "    ");
        text += &alias_line(written.cuda.of(name), "    ");
        let start = format!("    \"{since}\" pub fn {name}(");
        text += &fill(&start, parameters.into_iter(), &format!("){result};"), "        ");
        // A few functions do not need files of their own.
        let topic = if place.changed { "other" } else { by_name.of(name) };
        let (functions, tokens) = topics.entry(topic).or_default();
        functions.push(text);
        tokens.extend(quote!(#signature));
    }
    let topic = |(name, (functions, tokens)): (&str, (Vec<String>, TokenStream))| {
        let scope = library.scope();
        let releases = if place.changed { " releases = RELEASES;" } else { "" };
        let mut text = String::new();
        for block in functions.chunks(BLOCK) {
            write!(text, "\nrocm_loader::bindings! {{ binding = {scope}::BINDING;{releases}\n{}}}\n", block.concat())?;
        }
        Ok(Topic { name: name.to_owned(), text, tokens })
    };
    topics.into_iter().map(topic).collect()
}

/// Returns parameters as `name: type`.
fn parameter(input: &syn::FnArg) -> Result<String> {
    let syn::FnArg::Typed(input) = input else { bail!("a function with self") };
    let name = match input.pat.to_token_stream().to_string() {
        // Rust parses these as patterns.
        name if ["Err", "None", "Ok", "Some"].contains(&name.as_str()) => name.to_lowercase(),
        name => name,
    };
    Ok(format!("{name}: {}", tidy(&input.ty)?))
}
