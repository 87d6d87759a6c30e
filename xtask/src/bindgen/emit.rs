//! Writes items as Rust: a module for each range of releases in which they are the same, a module of re-exports for each
//! level, functions by topic.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;

use super::doxygen;
use super::forms::{Classes, Form, Forms, Place, by_place, places};
use super::levels::Level;
use super::library::{Library, Status};
use super::lines::{HEADER, fill};
use super::merge::{self, Sources};
use super::surface::{Bits, Kind, Surface, doc_of};
use super::symbols::NotExported;

/// Generated files by their path below `src/generated`.
pub(crate) type Files = BTreeMap<PathBuf, String>;

/// What is written.
pub(crate) struct Written<'a> {
    pub(crate) library: &'a Library,
    pub(crate) sources: &'a Sources,
    pub(crate) levels: &'a BTreeMap<Level, Surface>,
    pub(crate) forms: &'a Forms,
    /// Forms of the items of other libraries.
    pub(crate) foreign: &'a Classes,
    /// CUDA's names by HIP's.
    pub(crate) cuda: &'a BTreeMap<String, Vec<String>>,
    pub(crate) not_exported: &'a NotExported,
}

/// All files of a library.
pub(crate) fn files(written: &Written<'_>) -> Result<Files> {
    let mut files = Files::new();
    let shared = shared(written)?;
    let mut items = by_place(written.forms);
    for place in shared.keys() {
        items.entry(*place).or_default();
    }
    let places: Vec<Place> = items.keys().copied().collect();
    for (place, items) in &items {
        module(written, *place, &places, items, shared.get(place), &mut files)
            .with_context(|| format!("module {place}"))?;
    }
    files.insert("coverage.rs".into(), coverage(written, &items));
    files.insert("mod.rs".into(), modules(written, &places, &files));
    Ok(files)
}

/// `mod.rs`: the modules of items, the crate's root, and the levels.
fn modules(written: &Written<'_>, places: &[Place], files: &Files) -> String {
    let mut text = String::from(HEADER);
    let zeroed = files.values().any(|text| text.contains("\nzeroed!(") || text.contains(" zeroed!("));
    if zeroed {
        text += ZEROED;
    }
    text += "pub mod coverage;\n";
    for place in places {
        let condition = condition(*place).unwrap_or_default();
        text += &format!("{condition}mod {place};\n");
        if !place.changed {
            text += &format!("{condition}pub use {place}::*;\n");
        }
    }
    text += &subjects(places, files);
    let scope = written.library.scope();
    for level in written.levels.keys() {
        let there = places.iter().filter(|place| place.has(*level));
        let (same, changed): (Vec<&Place>, Vec<&Place>) = there.partition(|place| !place.changed);
        let functions = |surface: &Surface| surface.values().filter(|kind| matches!(kind, Kind::Function(_))).count();
        let count = written.levels.get(level).map_or(0, functions);
        let s = if count == 1 { "" } else { "s" };
        text += &format!(
            "\n/// The interface of ROCm {level}, {count} function{s}: what the root has of that release, and what is listed here.\n"
        );
        text += &format!("#[cfg(feature = \"{}\")]\npub mod {} {{\n", level.feature(), level.module());
        for place in same {
            text += &format!("    #[doc(no_inline)]\n    pub use super::{place}::*;\n");
        }
        for place in changed {
            text += &format!("    #[doc(inline)]\n    pub use super::{place}::*;\n");
        }
        let (major, minor) = level.number();
        text += &format!("    rocm_loader::sys_level! {{ {scope}, ({major}, {minor}), \"{level}\" }}\n}}\n");
    }
    text
}

/// The module `functions`: a module a subject.
fn subjects(places: &[Place], files: &Files) -> String {
    let mut subjects: BTreeMap<String, String> = BTreeMap::new();
    for path in files.keys().filter_map(|path| path.strip_prefix("functions").ok()) {
        let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let [subject, file] = &parts[..] else { continue };
        let place = places.iter().find(|place| file.strip_suffix(".rs") == Some(place.to_string().as_str()));
        let condition = place.copied().and_then(condition).map(|line| format!("        {line}")).unwrap_or_default();
        let module = file.trim_end_matches(".rs");
        *subjects.entry(subject.clone()).or_default() += &format!(
            "{condition}        pub(crate) mod {module};\n{condition}        #[doc(inline)]\n        pub use {module}::*;\n"
        );
    }
    if subjects.is_empty() {
        return String::new();
    }
    let mut text = "\n/// The functions by subject. Each is in the crate's root too.\npub mod functions {\n".to_owned();
    for (subject, lines) in subjects {
        let about = subject.replace('_', " ");
        text += &format!("    /// Functions: {about}.\n    pub mod {subject} {{\n{lines}    }}\n");
    }
    text + "}\n"
}

/// The line that compiles a module at its levels only; none if nothing below the level of its feature mentions it.
fn condition(place: Place) -> Option<String> {
    (place.changed || place.from > Level::first()).then(|| format!("#[cfg(feature = \"{}\")]\n", place.from.feature()))
}

/// The file of a module, and those of its topics.
fn module(
    written: &Written<'_>,
    place: Place,
    places: &[Place],
    items: &[(&str, &Form)],
    shared: Option<&String>,
    files: &mut Files,
) -> Result<()> {
    let mut tokens = types(written, items)?;
    tokens.extend(constants(written, items));
    let (enums, integers) = enums(written, place, items)?;
    let topics = functions(written, place, items)?;
    let alone = place.changed || written.library.topics.is_empty();
    let mut mentioned = tokens.clone();
    mentioned.extend(integers);
    if alone {
        topics.iter().for_each(|topic| mentioned.extend(topic.tokens.clone()));
    }
    ensure!(topics.len() <= 1 || !alone, "functions of several subjects, and no subjects");
    let body = prettyplease::unparse(&syn::parse2(tokens).context("the generated code does not parse")?);
    let mut text = format!("{HEADER}{}", prettyplease::unparse(&syn::parse2(imports(&mentioned))?));
    let covering: Vec<String> = places.iter().filter(|other| other.covers(place)).map(|o| format!("{o}::*")).collect();
    if !covering.is_empty() {
        text += &format!("use super::{{{}}};\n", covering.join(", "));
    }
    if place.changed && !topics.is_empty() {
        text += &format!(
            "\n/// The releases whose ABI this is.\nconst RELEASES: rocm_loader::Releases = {};\n",
            releases(written, place)
        );
    }
    if let Some(shared) = shared {
        text += "\n";
        text += shared;
    }
    text += &aliases(written, items)?;
    text.push('\n');
    text += &body;
    text += &enums;
    text += &missing(written, items)?;
    if alone {
        topics.iter().for_each(|topic| text += &topic.text);
    } else {
        let others = covering.iter().map(|other| format!(", {other}")).collect::<String>();
        for topic in &topics {
            let name = &topic.name;
            // The page of its subject lists them.
            text += &format!("#[doc(hidden)]\npub use super::functions::{name}::{place}::*;\n");
            let imports = prettyplease::unparse(&syn::parse2(imports(&topic.tokens))?);
            let uses = format!("use super::super::super::{{{place}::*{others}}};\n");
            let path = format!("functions/{name}/{place}.rs");
            files.insert(path.into(), format!("{HEADER}{imports}{uses}{}", topic.text));
        }
    }
    files.insert(format!("{place}.rs").into(), text);
    Ok(())
}

/// The releases whose ABI a module has, as an expression.
fn releases(written: &Written<'_>, place: Place) -> String {
    let first = written.levels.keys().next().is_some_and(|first| *first == place.from);
    let from = if first { (0, 0) } else { place.from.abi_start() };
    let before = match place.to.next().map(Level::abi_start) {
        Some((major, minor)) => format!("Some(({major}, {minor}))"),
        None => "None".to_owned(),
    };
    format!("rocm_loader::Releases::new(({}, {}), {before})", from.0, from.1)
}

/// Lines of documentation: the header's text, which releases have the item, and CUDA's name for it.
fn docs(written: &Written<'_>, name: &str, form: &Form) -> Vec<String> {
    let mut text = form.kind.docs().and_then(|text| markdown(written.forms, &text)).unwrap_or_default();
    let (from, to) = (form.place.from, form.place.to);
    let mut releases = String::new();
    // The macro of the functions says by itself since when they are there.
    if from > Level::first() && !matches!(form.kind, Kind::Function(_)) {
        releases = format!("Since ROCm {from}");
    }
    if let Some(next) = to.next() {
        let until = if releases.is_empty() { "Before ROCm" } else { ", before" };
        releases = format!("{releases}{until} {next}");
    }
    // Another form has the same name.
    if written.forms.get(name).is_some_and(|forms| forms.len() > 1) && releases.is_empty() {
        releases = format!("The form of ROCm {from} and newer");
    }
    if !releases.is_empty() {
        let gap = if text.is_empty() { "" } else { "\n\n" };
        text = format!("{text}{gap}{releases}.");
    }
    text.lines().map(str::to_owned).collect()
}

/// CUDA's names, for the search in the documentation.
fn cuda_names(written: &Written<'_>, name: &str) -> Vec<String> {
    written.cuda.get(name).cloned().unwrap_or_default()
}

/// Lines of documentation as comments.
fn doc_lines(lines: &[String], indent: &str) -> String {
    let line = |line: &String| format!("{indent}/// {line}").trim_end().to_owned() + "\n";
    lines.iter().map(line).collect()
}

/// Lines of documentation as attributes.
fn doc_attributes(lines: &[String]) -> Vec<syn::Attribute> {
    let line = |line: &String| if line.is_empty() { String::new() } else { format!(" {line}") };
    lines.iter().map(line).map(|line| syn::parse_quote!(#[doc = #line])).collect()
}

/// A type as one would write it.
fn tidy(ty: &impl ToTokens) -> Result<String> {
    let text = prettyplease::unparse(&syn::parse2(quote!(type X = #ty;)).context("a type does not parse")?);
    let text = text.trim().strip_prefix("type X = ").and_then(|text| text.strip_suffix(';')).context("a type")?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(text.replace("( ", "(").replace(", )", ")"))
}

/// A comment as Markdown, with links to the items that every level has.
fn markdown(forms: &Forms, comment: &str) -> Option<String> {
    let everywhere = |code: &str| {
        let name = code.trim_end_matches("()");
        let Some([form]) = forms.get(name).map(Vec::as_slice) else { return false };
        // To rustdoc `name()` is a function.
        let as_called = code == name || matches!(form.kind, Kind::Function(_));
        !form.place.changed && form.place.from == Level::first() && as_called
    };
    Some(doxygen::link(&doxygen::to_markdown(comment)?, everywhere))
}

/// Converts the doc comments of fields in place.
struct FieldDocs<'a>(&'a Forms);

impl VisitMut for FieldDocs<'_> {
    fn visit_field_mut(&mut self, field: &mut syn::Field) {
        let text = doc_of(&field.attrs).and_then(|text| markdown(self.0, &text)).unwrap_or_default();
        field.attrs.retain(|attr| !attr.path().is_ident("doc"));
        for line in text.lines() {
            let line = if line.is_empty() { String::new() } else { format!(" {line}") };
            field.attrs.push(syn::parse_quote!(#[doc = #line]));
        }
    }
}

fn not_doc(attrs: &[syn::Attribute]) -> Vec<&syn::Attribute> {
    attrs.iter().filter(|attr| !attr.path().is_ident("doc")).collect()
}

/// The items that `pick` takes.
pub(crate) fn each<'a, T>(
    items: &[(&'a str, &'a Form)],
    pick: impl Fn(&'a Kind) -> Option<T>,
) -> Vec<(&'a str, &'a Form, T)> {
    items.iter().filter_map(|(name, form)| pick(&form.kind).map(|item| (*name, *form, item))).collect()
}

/// All forms that `pick` takes.
fn all<'a, T>(forms: &'a Forms, pick: impl Fn(&'a Kind) -> Option<T>) -> Vec<(&'a str, &'a Form, T)> {
    let one = |(name, forms): (&'a String, &'a Vec<Form>)| forms.iter().map(move |form| (name.as_str(), form));
    forms.iter().flat_map(one).filter_map(|(name, form)| pick(&form.kind).map(|item| (name, form, item))).collect()
}

/// `#[doc(alias(..))]` of a type.
fn alias_attribute(names: &[String]) -> TokenStream {
    if names.is_empty() { quote!() } else { quote!(#[doc(alias(#(#names),*))]) }
}

fn types(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<TokenStream> {
    let mut out = TokenStream::new();
    for (name, form) in items {
        let docs = doc_attributes(&docs(written, name, form));
        let alias = alias_attribute(&cuda_names(written, name));
        match &form.kind {
            Kind::Struct(item, bits) => {
                let mut item = item.clone();
                FieldDocs(written.forms).visit_item_struct_mut(&mut item);
                let (attrs, ident, fields) = (not_doc(&item.attrs), &item.ident, &item.fields);
                out.extend(quote!(#(#docs)* #alias #(#attrs)* pub struct #ident #fields));
                out.extend(bit_accessors(&item, bits));
                if !is_opaque(&item) {
                    out.extend(quote!(zeroed!(#ident);));
                }
            }
            Kind::Union(item) => {
                let mut item = item.clone();
                FieldDocs(written.forms).visit_item_union_mut(&mut item);
                let (attrs, ident, fields) = (not_doc(&item.attrs), &item.ident, &item.fields);
                out.extend(quote!(#(#docs)* #alias #(#attrs)* pub union #ident #fields));
                out.extend(quote!(zeroed!(#ident);));
            }
            Kind::Type(item) => {
                let (ident, ty) = (&item.ident, &item.ty);
                out.extend(quote!(#(#docs)* #alias pub type #ident = #ty;));
            }
            _ => {}
        }
    }
    Ok(out)
}

/// As text, for its comments.
const ZEROED: &str = "\
/// All bytes zero: what C's `= {0}` gives.
macro_rules! zeroed {
    ($name:ident) => {
        impl Default for $name {
            fn default() -> Self {
                // SAFETY: integers, floats, raw pointers, optional function pointers, and arrays and unions of them:
                // all zero is a value of each.
                unsafe { ::core::mem::zeroed() }
            }
        }
    };
}

";

/// A type that C only knows by pointer.
pub(crate) fn is_opaque(item: &syn::ItemStruct) -> bool {
    item.fields.iter().any(|field| field.ident.as_ref().is_some_and(|name| name == "_unused"))
}

/// `use` of the C integer names that `tokens` mention.
fn imports(tokens: &TokenStream) -> TokenStream {
    let text = tokens.to_string();
    let words: BTreeSet<&str> = super::facts::words_of(&text).collect();
    const INTEGERS: [&str; 14] = [
        "c_char",
        "c_double",
        "c_float",
        "c_int",
        "c_long",
        "c_longlong",
        "c_schar",
        "c_short",
        "c_uchar",
        "c_uint",
        "c_ulong",
        "c_ulonglong",
        "c_ushort",
        "c_void",
    ];
    let used: Vec<_> =
        words.iter().filter(|word| INTEGERS.contains(word)).map(|word| format_ident!("{word}")).collect();
    if used.is_empty() { quote!() } else { quote!(use ::core::ffi::{#(#used),*};) }
}

fn bit_accessors(item: &syn::ItemStruct, bits: &[Bits]) -> TokenStream {
    let unit = item.fields.iter().find(|field| field.ident.as_ref().is_some_and(|name| name == "bits"));
    let (ident, Some(integer)) = (&item.ident, unit.map(|field| &field.ty)) else { return quote!() };
    if bits.is_empty() {
        return quote!();
    }
    if let syn::Type::Array(bytes) = integer {
        return byte_accessors(ident, &bytes.len, bits);
    }
    let methods = bits.iter().map(|bit| {
        let (get, set) = (format_ident!("{}", bit.name), format_ident!("set_{}", bit.name));
        let offset = Literal::u32_unsuffixed(bit.offset);
        let mask = Literal::u64_unsuffixed(u64::MAX >> (64 - bit.width));
        let (reads, writes) =
            (format!(" Reads the bit field `{}`.", bit.name), format!(" Sets the bit field `{}`.", bit.name));
        quote! {
            #[doc = #reads]
            pub const fn #get(&self) -> #integer { (self.bits >> #offset) & #mask }
            #[doc = #writes]
            pub const fn #set(&mut self, value: #integer) {
                self.bits = (self.bits & !(#mask << #offset)) | ((value & #mask) << #offset);
            }
        }
    });
    quote!(impl #ident { #(#methods)* })
}

/// Accessors of bit fields in an array of bytes.
fn byte_accessors(ident: &syn::Ident, bytes: &syn::Expr, bits: &[Bits]) -> TokenStream {
    let methods = bits.iter().map(|bit| {
        let (get, set) = (format_ident!("{}", bit.name), format_ident!("set_{}", bit.name));
        let offset = Literal::u32_unsuffixed(bit.offset);
        let mask = Literal::u64_unsuffixed(u64::MAX >> (64 - bit.width));
        let (reads, writes) =
            (format!(" Reads the bit field `{}`.", bit.name), format!(" Sets the bit field `{}`.", bit.name));
        quote! {
            #[doc = #reads]
            pub fn #get(&self) -> u64 { (self.all_bits() >> #offset) & #mask }
            #[doc = #writes]
            pub fn #set(&mut self, value: u64) {
                let all = (self.all_bits() & !(#mask << #offset)) | ((value & #mask) << #offset);
                self.bits.copy_from_slice(&all.to_le_bytes()[..#bytes]);
            }
        }
    });
    quote! {
        impl #ident {
            fn all_bits(&self) -> u64 {
                let mut all = [0; 8];
                all[..#bytes].copy_from_slice(&self.bits);
                u64::from_le_bytes(all)
            }
            #(#methods)*
        }
    }
}

/// Enums as calls of `rocm_loader::c_enum!`, constants of enums of other modules, and the integers that they mention.
fn enums(written: &Written<'_>, place: Place, items: &[(&str, &Form)]) -> Result<(String, TokenStream)> {
    let mut text = String::new();
    let mut integers = TokenStream::new();
    for (name, form, (_, repr)) in each(items, |kind| match kind {
        Kind::Enum(item, repr) => Some((item, repr)),
        _ => None,
    }) {
        // Of all modules: the name of a value is printed whatever the features.
        let constants = all(written.forms, |kind| match kind {
            Kind::Const(item, Some(of), at) if *of == name => Some((item, *at)),
            _ => None,
        });
        let constants = constants.into_iter().filter(|(_, of, _)| of.place == place || place.covers(of.place));
        let mut constants: Vec<(i128, usize, &Form, &syn::ItemConst)> =
            constants.map(|(_, of, (item, at))| Ok((value_of(item)?, at, of, item))).collect::<Result<_>>()?;
        // Of two names for a value, the one that no release changed prints, of two such the older one, and of two as old
        // the one that the header has first.
        constants.sort_by_key(|(value, at, of, item)| (*value, of.place, *at, item.ident.to_string()));
        text += "\nrocm_loader::c_enum! {\n";
        text += &doc_lines(&docs(written, name, form), "    ");
        text += &alias_line(&cuda_names(written, name), "    ");
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

/// `#[doc(alias(..))]` as a line.
fn alias_line(names: &[String], indent: &str) -> String {
    if names.is_empty() {
        return String::new();
    }
    let start = format!("{indent}#[doc(alias(");
    fill(&start, names.iter().map(|name| format!("{name:?}")), "))]", &format!("{indent}    "))
}

/// Value of a constant of an enum: `hipError_t(3)`, or of a plain one.
pub(crate) fn value_of(item: &syn::ItemConst) -> Result<i128> {
    let expr = match &*item.expr {
        syn::Expr::Call(call) => call.args.first().context("no value")?,
        other => other,
    };
    let text = expr.to_token_stream().to_string().replace(' ', "");
    text.parse().with_context(|| format!("value of {}: {text}", item.ident))
}

fn constants(written: &Written<'_>, items: &[(&str, &Form)]) -> TokenStream {
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

/// Second names, each from the module that has what it stands for.
fn aliases(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<String> {
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
        // A field of a header's struct may be named by a macro.
        let again = matches!(of.map(|of| &of.kind), Some(Kind::Alias(_)));
        ensure!(!again || of.is_some_and(|of| of.place != form.place) || path == "self", "{name}");
        writeln!(text, "pub use {path}::{target} as {name};")?;
    }
    Ok(text)
}

/// The module of another crate that has an item at the levels of `place`: its root, if the item is the same from its
/// beginning to the newest level.
fn foreign_path(written: &Written<'_>, name: &str, place: Place) -> String {
    let path = &written.sources.foreign[name];
    let same = written.foreign.get(name).is_some_and(|of| places(of).iter().all(|place| !place.changed));
    if same { path.clone() } else { format!("{path}::{}", place.from.module()) }
}

/// Types of other libraries that are mentioned, under their names, with the constants of enums: lines of `pub use`, by
/// module.
fn shared(written: &Written<'_>) -> Result<BTreeMap<Place, String>> {
    let Written { sources, levels, foreign, .. } = written;
    // The levels at which each is mentioned.
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

/// What a call returns that finds no function: the status types' own answer, nothing for the rest.
fn missing(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<String> {
    let Written { library, forms, .. } = written;
    let mut text = String::new();
    for status in library.statuses {
        let Status { ty, library_missing, symbol_missing, other_release } = status;
        ensure!(forms.contains_key(*ty), "no status type {ty}");
        if !items.iter().any(|(name, _)| name == ty) {
            continue;
        }
        let mut arms: Vec<(&str, String)> = Vec::new();
        for (why, value) in [("Library", library_missing), ("Symbol", symbol_missing), ("Release", other_release)] {
            match arms.iter_mut().find(|(known, _)| known == value) {
                Some((_, patterns)) => *patterns += &format!(" | rocm_loader::Missing::{why}"),
                None => arms.push((value, format!("rocm_loader::Missing::{why}"))),
            }
        }
        let names: Vec<String> = arms.iter().map(|(value, _)| format!("`{value}`")).collect();
        let doc = match &names[..] {
            [one] => format!("/// {one}.\n"),
            [library, other] => format!("/// {library}, and {other} if only the function is missing.\n"),
            _ => format!(
                "/// {}, {} if only the function is missing, and {} if it is declared otherwise.\n",
                names[0], names[1], names[2]
            ),
        };
        let arm = |(value, patterns): &(&str, String)| format!("            {patterns} => {value},\n");
        let body = match &arms[..] {
            [(value, _)] => format!("    fn missing(_: rocm_loader::Missing) -> Self {{\n        {value}\n    }}\n"),
            _ => format!(
                "    fn missing(why: rocm_loader::Missing) -> Self {{\n        match why {{\n{}        }}\n    }}\n",
                arms.iter().map(arm).collect::<String>()
            ),
        };
        write!(text, "\n{doc}impl rocm_loader::MissingValue for {ty} {{\n{body}}}\n")?;
    }
    // The types of other results, second names resolved.
    let mut results: BTreeSet<String> = BTreeSet::new();
    let functions = all(forms, |kind| match kind {
        Kind::Function(item) => Some(&item.sig.output),
        _ => None,
    });
    for (_, _, output) in functions {
        let syn::ReturnType::Type(_, ty) = output else { continue };
        let mut name = tidy(ty)?;
        while let Some(next) = forms.get(&name).and_then(|forms| match &forms[0].kind {
            Kind::Type(item) => tidy(&item.ty).ok(),
            Kind::Alias(target) => Some(target.clone()),
            _ => None,
        }) {
            name = next;
        }
        results.insert(name);
    }
    let by_hand =
        |name: &str| library.statuses.iter().any(|status| status.ty == name) || library.results_by_hand.contains(&name);
    for (name, form) in items.iter().filter(|(name, _)| results.contains(*name) && !by_hand(name)) {
        if matches!(form.kind, Kind::Enum(..) | Kind::Struct(..) | Kind::Union(_)) {
            write!(
                text,
                "\n/// Zero.\nimpl rocm_loader::MissingValue for {name} {{\n    fn missing(_: rocm_loader::Missing) -> Self {{\n        \
                 Self::default()\n    }}\n}}\n"
            )?;
        }
    }
    Ok(text)
}

/// How many functions go into one call of `rocm_loader::bindings!`: it takes time quadratic in that.
const BLOCK: usize = 40;

/// Functions of a module, as calls of `rocm_loader::bindings!`.
struct Topic {
    name: String,
    text: String,
    /// For the types that they mention.
    tokens: TokenStream,
}

/// Functions by topic.
fn functions(written: &Written<'_>, place: Place, items: &[(&str, &Form)]) -> Result<Vec<Topic>> {
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
        text += &alias_line(&cuda_names(written, name), "    ");
        let start = format!("    \"{since}\" pub fn {name}(");
        text += &fill(&start, parameters.into_iter(), &format!("){result};"), "        ");
        // Few functions need no files.
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

/// `name: type`.
fn parameter(input: &syn::FnArg) -> Result<String> {
    let syn::FnArg::Typed(input) = input else { bail!("a function with self") };
    let name = match input.pat.to_token_stream().to_string() {
        // Rust knows these as patterns.
        name if ["Err", "None", "Ok", "Some"].contains(&name.as_str()) => name.to_lowercase(),
        name => name,
    };
    Ok(format!("{name}: {}", tidy(&input.ty)?))
}

/// The functions of every level, for programs and tests that want to count or to probe them.
fn coverage(written: &Written<'_>, items: &BTreeMap<Place, Vec<(&str, &Form)>>) -> String {
    let Written { library, sources, levels, forms, not_exported, .. } = written;
    // A row for each range without a hole.
    let mut rows: Vec<(String, Level, Level)> = Vec::new();
    for (name, form, _) in all(forms, |kind| matches!(kind, Kind::Function(_)).then_some(())) {
        match rows.last_mut() {
            Some(last) if last.0 == *name && last.2.next() == Some(form.place.from) => last.2 = form.place.to,
            _ => rows.push((name.to_owned(), form.place.from, form.place.to)),
        }
    }
    let mut text = String::from(HEADER);
    let count = |level: Level| rows.iter().filter(|row| row.1 <= level && level <= row.2).count();
    let counts: Vec<(Level, usize)> =
        levels.keys().map(|level| (*level, count(*level))).filter(|(_, count)| *count > 0).collect();
    text += "//! Which ROCm release has which function, and how that is known.\n//!\n";
    text += "//! | ROCm | functions | declared after |\n//! |---|---|---|\n";
    for (level, count) in &counts {
        text += &format!("//! | {level} | {count} | {} |\n", super::coverage::source(library, sources, *level));
    }
    text += "//!\n//! A release that is not in the table has no such library, or nothing that declares it could be had. Where AMD's\n\
             //! Python packages agree with a C header of another release, the declaration is the header's. COVERAGE.md in the\n\
             //! repository has this for all crates.\n";
    text += "\n/// Functions by release: major, minor, how many.\n";
    let start = format!("pub const COUNTS: [(u32, u32, usize); {}] = [", counts.len());
    let counts = counts.iter().map(|(level, count)| format!("({}, {}, {count})", level.major(), level.minor()));
    text += &fill(&start, counts, "];", "    ");
    text += "\n/// Every function, in alphabetical order: its name, the first release that has it, and the first that has it no more.\n";
    let names: BTreeSet<&String> = rows.iter().map(|row| &row.0).collect();
    if names.len() < rows.len() {
        text += "/// Some have two rows: between their releases it is not known how they are declared.\n";
    }
    let start = format!("pub static FUNCTIONS: [(&str, &str, Option<&str>); {}] = [", rows.len());
    let functions = rows.iter().map(|(name, from, to)| {
        let gone = to.next().map_or("None".to_owned(), |next| format!("Some(\"{next}\")"));
        format!("(\"{name}\", \"{from}\", {gone})")
    });
    text += &fill(&start, functions, "];", "    ");
    text += "\n/// The functions that are not the same at every level since they came, and so are in the modules of levels only: the\n\
             /// first module that has a form, its first and last level, the releases whose ABI it has, and the names.\n";
    let functions = |items: &Vec<(&str, &Form)>| -> Vec<String> {
        each(items, |kind| matches!(kind, Kind::Function(_)).then_some(()))
            .iter()
            .map(|item| item.0.to_owned())
            .collect()
    };
    let changed: Vec<(Place, Vec<String>)> = items
        .iter()
        .filter(|(place, _)| place.changed)
        .map(|(place, items)| (*place, functions(items)))
        .filter(|(_, names)| !names.is_empty())
        .collect();
    text += &format!("pub static FORMS: [rocm_loader::Form; {}] = [\n", changed.len());
    for (place, names) in changed {
        text += &format!(
            "    ({:?}, ({}, {}), ({}, {}), {}, &[\n",
            place.from.module(),
            place.from.major(),
            place.from.minor(),
            place.to.major(),
            place.to.minor(),
            releases(written, place)
        );
        text += &fill("        ", names.iter().map(|name| format!("{name:?}")), "]),", "        ");
    }
    text += "];\n";
    let mut lacking: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for level in Level::all() {
        for name in not_exported.of(library, level) {
            lacking.entry(name).or_default().push(format!("\"{level}\""));
        }
    }
    text += "\n/// Functions that the headers declare and the real library lacks, with the releases of which that is known.\n";
    let start = format!("pub static NOT_EXPORTED: [(&str, &[&str]); {}] = [", lacking.len());
    let lacking = lacking.into_iter().map(|(name, levels)| format!("(\"{name}\", &[{}])", levels.join(", ")));
    text + &fill(&start, lacking, "];", "    ")
}
