//! One level's C interface as items: what bindgen wrote, in the shape that we publish.
//!
//! Anonymous structs and unions are named after the field that holds them, C integer names lose their path, bit
//! fields become one integer with accessors, and anonymous enums become plain constants.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use anyhow::{Context, Result, bail, ensure};
use quote::{ToTokens, format_ident};
use syn::visit_mut::{self, VisitMut};

use super::facts::words_of;
use super::headers::Parsed;

/// A bit field of a struct: name, first bit, width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

/// What an item is. Doc comments are still in the syntax trees, as the header wrote them.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A function of the library.
    Function(syn::ForeignItemFn),
    /// A struct and its bit fields.
    Struct(syn::ItemStruct, Vec<Bits>),
    /// A union.
    Union(syn::ItemUnion),
    /// A typedef of another type.
    Type(syn::ItemType),
    /// An enum: a newtype over this integer.
    Enum(syn::ItemStruct, syn::Type),
    /// A constant; with the enum that it belongs to, if any, and its place in the header.
    Const(syn::ItemConst, Option<String>, usize),
    /// Another name of an item, as a macro of the header gives it.
    Alias(String),
}

/// The items of one level by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surface {
    items: BTreeMap<String, Kind>,
    /// Names of those that are a part of a struct and that the header gives no name.
    pub(crate) parts: BTreeSet<String>,
}

impl Deref for Surface {
    type Target = BTreeMap<String, Kind>;

    fn deref(&self) -> &Self::Target {
        &self.items
    }
}

impl DerefMut for Surface {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.items
    }
}

impl Kind {
    /// The doc comment as the header has it.
    pub(crate) fn docs(&self) -> Option<String> {
        match self {
            Kind::Function(item) => doc_of(&item.attrs),
            Kind::Struct(item, _) | Kind::Enum(item, _) => doc_of(&item.attrs),
            Kind::Union(item) => doc_of(&item.attrs),
            Kind::Type(item) => doc_of(&item.attrs),
            Kind::Const(item, ..) => doc_of(&item.attrs),
            Kind::Alias(_) => None,
        }
    }

    /// Adds a doc comment to a function, struct or union.
    pub(crate) fn say(&mut self, text: &str) {
        let attrs = match self {
            Kind::Function(item) => &mut item.attrs,
            Kind::Struct(item, _) => &mut item.attrs,
            Kind::Union(item) => &mut item.attrs,
            _ => return,
        };
        attrs.push(syn::parse_quote!(#[doc = #text]));
    }

    /// Removes the doc comment of a function.
    pub(crate) fn unsay(&mut self) {
        if let Kind::Function(item) = self {
            item.attrs.retain(|attr| !attr.path().is_ident("doc"));
        }
    }

    /// The item without its doc comments, to tell whether two levels agree.
    pub(crate) fn shape(&self) -> String {
        let mut copy = self.clone();
        match &mut copy {
            Kind::Function(item) => {
                NoDocs.visit_foreign_item_fn_mut(item);
                // A parameter that was merely renamed is no change.
                for (index, input) in item.sig.inputs.iter_mut().enumerate() {
                    if let syn::FnArg::Typed(typed) = input {
                        let name = format_ident!("a{index}");
                        typed.pat = syn::parse_quote!(#name);
                    }
                }
                item.to_token_stream().to_string()
            }
            Kind::Struct(item, bits) => {
                NoDocs.visit_item_struct_mut(item);
                format!("{} {bits:?}", item.to_token_stream())
            }
            Kind::Union(item) => {
                NoDocs.visit_item_union_mut(item);
                item.to_token_stream().to_string()
            }
            Kind::Type(item) => {
                NoDocs.visit_item_type_mut(item);
                item.to_token_stream().to_string()
            }
            Kind::Enum(item, repr) => format!("enum {} {}", item.ident, repr.to_token_stream()),
            Kind::Const(item, of, _) => {
                NoDocs.visit_item_const_mut(item);
                format!("{of:?} {}", item.to_token_stream())
            }
            Kind::Alias(target) => format!("alias {target}"),
        }
    }
}

/// Text of the `#[doc]` attributes.
pub(crate) fn doc_of(attrs: &[syn::Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attr in attrs {
        if let syn::Meta::NameValue(meta) = &attr.meta {
            if let (true, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. })) =
                (meta.path.is_ident("doc"), &meta.value)
            {
                lines.push(text.value());
            }
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

struct NoDocs;

impl VisitMut for NoDocs {
    fn visit_attributes_mut(&mut self, attrs: &mut Vec<syn::Attribute>) {
        attrs.retain(|attr| !attr.path().is_ident("doc"));
    }
}

/// Turns bindgen's output into items.
pub(crate) fn surface(parsed: Parsed) -> Result<Surface> {
    let mut file = parsed.file;
    ShortPaths.visit_file_mut(&mut file);
    let mut surface = Surface { items: BTreeMap::new(), parts: name_anonymous_types(&mut file)? };
    let mut anonymous_enums = BTreeSet::new();
    let mut bits = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Impl(block) = item {
            if let Some((name, found)) = bit_fields(block)? {
                bits.insert(name, found);
            }
        }
    }
    for (place, item) in file.items.into_iter().enumerate() {
        match item {
            syn::Item::ForeignMod(block) => {
                for item in block.items {
                    match item {
                        // A function of C++ has another symbol than its name.
                        syn::ForeignItem::Fn(function)
                            if function.attrs.iter().any(|attr| attr.path().is_ident("link_name")) => {}
                        // A variable that each C file gets for itself.
                        syn::ForeignItem::Static(_) => {}
                        syn::ForeignItem::Fn(function) => {
                            insert(&mut surface, function.sig.ident.to_string(), Kind::Function(function))?;
                        }
                        other => bail!("not a function: {}", other.to_token_stream()),
                    }
                }
            }
            syn::Item::Struct(item) => {
                let name = item.ident.to_string();
                if name == "__BindgenBitfieldUnit" {
                    continue;
                }
                match newtype_of(&item) {
                    Some(_) if name.starts_with("_bindgen_ty_") => {
                        anonymous_enums.insert(name);
                    }
                    Some(repr) => insert(&mut surface, name, Kind::Enum(item, repr))?,
                    None => {
                        let bits = bits.remove(&name).unwrap_or_default();
                        insert(&mut surface, name, Kind::Struct(clean_struct(item, &bits)?, bits))?;
                    }
                }
            }
            syn::Item::Union(item) => insert(&mut surface, item.ident.to_string(), Kind::Union(item))?,
            syn::Item::Type(item) => insert(&mut surface, item.ident.to_string(), Kind::Type(item))?,
            syn::Item::Const(item) => insert(&mut surface, item.ident.to_string(), Kind::Const(item, None, place))?,
            syn::Item::Use(item) => {
                // A typedef of an enum: `pub use self::Target as Name;`.
                let (name, target) = renamed(&item.tree).context("unexpected `use` of bindgen")?;
                insert(&mut surface, name, Kind::Alias(target))?;
            }
            syn::Item::Impl(_) => {}
            other => bail!("unexpected item of bindgen: {}", other.to_token_stream()),
        }
    }
    sort_out_constants(&mut surface, &anonymous_enums)?;
    for (name, body) in parsed.macros {
        if let Some(kind) = from_macro(&name, &body, &surface)? {
            surface.insert(name, kind);
        }
    }
    Ok(surface)
}

/// `self::Target as Name` as (Name, Target).
fn renamed(tree: &syn::UseTree) -> Option<(String, String)> {
    match tree {
        syn::UseTree::Path(path) => renamed(&path.tree),
        syn::UseTree::Rename(rename) => Some((rename.rename.to_string(), rename.ident.to_string())),
        _ => None,
    }
}

fn insert(surface: &mut Surface, name: String, kind: Kind) -> Result<()> {
    ensure!(!name.contains("bindgen_ty"), "an anonymous type has no field to be named after: {name}");
    if let Kind::Type(item) = &kind {
        if let syn::Type::Path(path) = &*item.ty {
            if path.path.is_ident(&name) {
                return Ok(()); // typedef of a tag of the same name
            }
        }
    }
    if let Some(old) = surface.insert(name.clone(), kind) {
        bail!("two items are called {name}; the first: {old:?}");
    }
    Ok(())
}

/// The integer of a newtype, such as bindgen writes for an enum.
fn newtype_of(item: &syn::ItemStruct) -> Option<syn::Type> {
    match &item.fields {
        syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => None,
    }
}

/// Gives enum constants their enum, and makes those of an anonymous enum plain integers.
fn sort_out_constants(surface: &mut Surface, anonymous_enums: &BTreeSet<String>) -> Result<()> {
    let enums: BTreeSet<String> =
        surface.iter().filter(|(_, kind)| matches!(kind, Kind::Enum(..))).map(|(name, _)| name.clone()).collect();
    for kind in surface.values_mut() {
        let Kind::Const(item, of, _) = kind else { continue };
        let ty = item.ty.to_token_stream().to_string();
        if enums.contains(&ty) {
            *of = Some(ty);
        } else if anonymous_enums.contains(&ty) {
            let syn::Expr::Call(call) = &*item.expr else { bail!("unexpected constant {}", item.ident) };
            let value = call.args.first().context("an enum constant without a value")?.clone();
            let negative = matches!(&value, syn::Expr::Unary(_));
            *item.expr = value;
            item.ty = if negative { syn::parse_quote!(c_int) } else { syn::parse_quote!(c_uint) };
        }
    }
    Ok(())
}

/// A macro that bindgen leaves out: another name for an item, or a number cast to a type.
fn from_macro(name: &str, body: &str, surface: &Surface) -> Result<Option<Kind>> {
    if surface.contains_key(name) {
        return Ok(None);
    }
    if surface.contains_key(body) {
        return Ok(Some(Kind::Alias(body.to_owned())));
    }
    let cast = body.strip_prefix("((").and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once(')'));
    let Some((ty, value)) = cast else { return Ok(None) };
    let (ty, value) = (ty.trim(), value.trim());
    let ident = format_ident!("{name}");
    let item: syn::ItemConst = if ty == "int" {
        let value: syn::Expr = syn::parse_str(value).with_context(|| format!("macro {name}: {body}"))?;
        syn::parse_quote!(pub const #ident: c_int = #value;)
    } else if ty == "void*" || ty == "void *" {
        let value: syn::Expr = syn::parse_str(value).with_context(|| format!("macro {name}: {body}"))?;
        syn::parse_quote!(pub const #ident: *mut c_void = ::core::ptr::without_provenance_mut(#value);)
    } else if surface.contains_key(ty) {
        let value: syn::Expr = syn::parse_str(value).with_context(|| format!("macro {name}: {body}"))?;
        let ty = format_ident!("{ty}");
        syn::parse_quote!(pub const #ident: #ty = ::core::ptr::without_provenance_mut(#value);)
    } else {
        return Ok(None);
    };
    Ok(Some(Kind::Const(item, None, 0)))
}

/// `core::ffi::c_int` to `c_int`, `::core::option::Option` to `Option`.
struct ShortPaths;

impl VisitMut for ShortPaths {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let keep = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["core", "ffi", _] | ["core", "option", "Option"] => 1,
            _ => return,
        };
        let kept: Vec<_> = path.segments.iter().skip(names.len() - keep).cloned().collect();
        path.leading_colon = None;
        path.segments = kept.into_iter().collect();
    }
}

/// Renames `Outer__bindgen_ty_1` to `Outer_field`, and `__bindgen_anon_1` to `anon_1`. Hands back the new names.
fn name_anonymous_types(file: &mut syn::File) -> Result<BTreeSet<String>> {
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
    // Outer types come before what they hold when sorted by length of bindgen's chain of suffixes.
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

/// Bit fields from the accessors that bindgen wrote: `self._bitfield_1.get(0usize, 1u8)`.
fn bit_fields(block: &syn::ItemImpl) -> Result<Option<(String, Vec<Bits>)>> {
    let name = block.self_ty.to_token_stream().to_string();
    let mut found = Vec::new();
    for item in &block.items {
        let syn::ImplItem::Fn(function) = item else { continue };
        let body = function.block.to_token_stream().to_string();
        let Some((_, rest)) = body.split_once("self . _bitfield_1 . get (") else { continue };
        let mut numbers = rest.split(')').next().unwrap_or("").split(',');
        let mut number = |suffix: &str| -> Result<u32> {
            let text = numbers.next().context("an accessor of a bit field without its place")?.trim();
            text.trim_end_matches(suffix).parse().with_context(|| format!("bit field of {name}: {text}"))
        };
        let (offset, width) = (number("usize")?, number("u8")?);
        found.push(Bits { name: function.sig.ident.to_string(), offset, width });
    }
    Ok((!found.is_empty()).then_some((name, found)))
}

/// A struct as we publish it: bit fields are one integer, or bytes where no integer has their size and alignment.
fn clean_struct(mut item: syn::ItemStruct, bits: &[Bits]) -> Result<syn::ItemStruct> {
    if bits.is_empty() {
        return Ok(item);
    }
    let ident = item.ident.clone();
    let declared_align = item.attrs.iter().find_map(declared_align).unwrap_or(1);
    let syn::Fields::Named(fields) = &mut item.fields else { bail!("bit fields in {ident}") };
    let total: u32 = bits.iter().map(|bit| bit.width).sum();
    let second = fields.named.iter().any(|field| name_of(field) == "_bitfield_2");
    ensure!(total <= 64 && !second, "too many bit fields in {ident}");
    // The marker of the unit's alignment is an array of that integer.
    let marker = fields.named.iter().find(|field| name_of(field) == "_bitfield_align_1").map(|field| field.ty.clone());
    let unit = fields.named.iter().find(|field| name_of(field) == "_bitfield_1").and_then(|field| unit_size(&field.ty));
    let unit = unit.with_context(|| format!("the unit of bit fields in {ident}"))?;
    let align = marker.as_ref().and_then(array_align).unwrap_or(1).max(declared_align);
    let is_own = |field: &syn::Field| {
        !name_of(field).starts_with("_bitfield_") && !name_of(field).starts_with("__bindgen_padding")
    };
    let alone = !fields.named.iter().any(is_own);
    let others = fields.named.iter().filter(|field| is_own(field)).filter_map(|field| align_of(&field.ty)).max();
    let align = align.max(others.unwrap_or(1));
    let integer: Option<syn::Type> = match unit {
        // Up to the end of the struct, whatever the bits need.
        1..=4 if alone && align == 4 => Some(syn::parse_quote!(c_uint)),
        1..=4 | 8 if alone && align == 8 => Some(syn::parse_quote!(u64)),
        _ if align < unit => None,
        1 => Some(syn::parse_quote!(u8)),
        2 => Some(syn::parse_quote!(u16)),
        4 => Some(syn::parse_quote!(c_uint)),
        8 => Some(syn::parse_quote!(u64)),
        _ => None,
    };
    // They keep their place among the other fields.
    let mut named = syn::punctuated::Punctuated::new();
    for field in std::mem::take(&mut fields.named) {
        match (name_of(&field).as_str(), &integer, &marker) {
            ("_bitfield_1", Some(integer), _) => named.push(bits_field(integer)),
            ("_bitfield_1", None, Some(marker)) => {
                let bytes = proc_macro2::Literal::usize_unsuffixed(unit);
                named.push(syn::parse_quote!(
                    /// The alignment that C gives the struct.
                    pub _align: #marker
                ));
                named.push(syn::parse_quote!(
                    /// All bit fields, the first in the lowest bit of the first byte.
                    pub bits: [u8; #bytes]
                ));
            }
            ("_bitfield_1", None, None) => bail!("bit fields of an odd size in {ident}: {unit}"),
            _ if is_own(&field) => named.push(field),
            _ => {}
        }
    }
    fields.named = named;
    Ok(item)
}

fn name_of(field: &syn::Field) -> String {
    field.ident.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// The alignment of a pointer or number; of no other type.
fn align_of(ty: &syn::Type) -> Option<usize> {
    let syn::Type::Path(path) = ty else { return matches!(ty, syn::Type::Ptr(_)).then_some(8) };
    match path.path.segments.last()?.ident.to_string().as_str() {
        "u16" | "i16" | "c_short" | "c_ushort" => Some(2),
        "u32" | "i32" | "f32" | "c_int" | "c_uint" | "c_float" => Some(4),
        "u64" | "i64" | "f64" | "usize" | "c_long" | "c_ulong" | "c_longlong" | "c_ulonglong" | "c_double"
        | "Option" => Some(8),
        _ => None,
    }
}

/// The number in `#[repr(align(4))]`.
fn declared_align(attr: &syn::Attribute) -> Option<usize> {
    let text = attr.meta.to_token_stream().to_string().replace(' ', "");
    text.split_once("align(")?.1.split(')').next()?.parse().ok()
}

/// Bytes of the integer in `[u16; 0]`.
fn array_align(ty: &syn::Type) -> Option<usize> {
    let syn::Type::Array(array) = ty else { return None };
    array.elem.to_token_stream().to_string().strip_prefix('u')?.parse::<usize>().ok().map(|bits| bits / 8)
}

/// Bytes of `__BindgenBitfieldUnit<[u8; 5usize]>`.
fn unit_size(ty: &syn::Type) -> Option<usize> {
    let text = ty.to_token_stream().to_string().replace(' ', "");
    text.strip_prefix("__BindgenBitfieldUnit<[u8;")?.strip_suffix("usize]>")?.parse().ok()
}

fn bits_field(integer: &syn::Type) -> syn::Field {
    syn::parse_quote!(
        /// All bit fields, the first in the lowest bit.
        pub bits: #integer
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, macros: &[(&str, &str)]) -> Result<Surface> {
        let macros = macros.iter().map(|(name, body)| ((*name).to_owned(), (*body).to_owned())).collect();
        surface(Parsed { file: syn::parse_file(text).unwrap(), macros })
    }

    fn shape(surface: &Surface, name: &str) -> String {
        surface[name].shape()
    }

    #[test]
    fn anonymous_parts_are_named_after_their_field() {
        let found = read(
            "pub struct S_st { pub res: S_st__bindgen_ty_1, pub __bindgen_anon_1: S_st__bindgen_ty_2 }
             pub union S_st__bindgen_ty_1 { pub array: S_st__bindgen_ty_1__bindgen_ty_1 }
             pub struct S_st__bindgen_ty_1__bindgen_ty_1 { pub x: ::core::ffi::c_int }
             pub struct S_st__bindgen_ty_2 { pub y: ::core::ffi::c_int }",
            &[],
        )
        .unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["S_anon_1", "S_res", "S_res_array", "S_st"]);
        assert_eq!(found.parts.len(), 3);
        assert!(shape(&found, "S_st").contains("pub anon_1 : S_anon_1"));
        assert!(shape(&found, "S_res_array").contains("x : c_int"));
    }

    #[test]
    fn constants_go_to_their_enum() {
        let found = read(
            "pub const A: E = E(0); pub const B: _bindgen_ty_1 = _bindgen_ty_1(2); pub const C: u32 = 3;
             pub struct E(pub ::core::ffi::c_uint); pub struct _bindgen_ty_1(pub ::core::ffi::c_uint);
             pub use self::E as F;",
            &[],
        )
        .unwrap();
        assert!(matches!(&found["A"], Kind::Const(_, Some(of), 0) if of == "E"));
        assert!(matches!(&found["B"], Kind::Const(_, None, _)));
        assert_eq!(shape(&found, "B"), "None pub const B : c_uint = 2 ;");
        assert!(matches!(&found["F"], Kind::Alias(target) if target == "E"));
        assert!(!found.contains_key("_bindgen_ty_1"));
    }

    #[test]
    fn macros_become_constants_and_second_names() {
        let found = read(
            "pub struct X { _unused: [u8; 0] } pub type stream = *mut X; pub const A: u32 = 1;",
            &[("LAST", "((stream)2)"), ("CPU", "((int)-1)"), ("B", "A"), ("NOTHING", "defined(x)")],
        )
        .unwrap();
        assert!(shape(&found, "LAST").ends_with("LAST : stream = :: core :: ptr :: without_provenance_mut (2) ;"));
        assert!(shape(&found, "CPU").ends_with("CPU : c_int = - 1 ;"));
        assert_eq!(shape(&found, "B"), "alias A");
        assert!(!found.contains_key("NOTHING"));
    }

    #[test]
    fn bit_fields_become_one_integer() {
        let found = read(
            "pub struct F { pub _bitfield_align_1: [u32; 0], pub _bitfield_1: __BindgenBitfieldUnit<[u8; 3usize]> }
             impl F {
                 pub fn a(&self) -> u32 { unsafe { ::core::mem::transmute(self._bitfield_1.get(0usize, 1u8) as u32) } }
                 pub fn b(&self) -> u32 { unsafe { ::core::mem::transmute(self._bitfield_1.get(1usize, 2u8) as u32) } }
             }",
            &[],
        )
        .unwrap();
        let Kind::Struct(_, bits) = &found["F"] else { panic!("F is no struct") };
        let bits: Vec<_> = bits.iter().map(|bit| (bit.name.as_str(), bit.offset, bit.width)).collect();
        assert_eq!(bits, [("a", 0, 1), ("b", 1, 2)]);
        assert!(shape(&found, "F").contains("bits : c_uint"));
    }

    /// The fields that a struct with bit fields in such a unit gets.
    fn fields(align: &str, unit: usize, others: &str) -> String {
        let (align, attr) = align.split_once(' ').unwrap_or((align, ""));
        let text = format!(
            "{attr} pub struct F {{ pub _bitfield_align_1: [{align}; 0], pub _bitfield_1: __BindgenBitfieldUnit<[u8; {unit}usize]>, \
             {others} pub __bindgen_padding_0: u8 }}
             impl F {{ pub fn a(&self) -> u32 {{ self._bitfield_1.get(0usize, 1u8) }} }}"
        );
        let found = read(&text, &[]).unwrap();
        let Kind::Struct(item, _) = &found["F"] else { panic!("F is no struct") };
        let fields = item.fields.iter().map(|field| format!("{}: {}", name_of(field), field.ty.to_token_stream()));
        fields.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn bit_fields_have_size_and_alignment_of_c() {
        assert_eq!(fields("u32", 3, ""), "bits: c_uint");
        assert_eq!(fields("u8 #[repr(align(4))]", 3, ""), "bits: c_uint");
        assert_eq!(fields("u64", 4, ""), "bits: u64");
        assert_eq!(fields("u64", 8, ""), "bits: u64");
        assert_eq!(fields("u8", 1, "pub x: u32,"), "bits: u8, x: u32");
        assert_eq!(fields("u32", 4, "pub x: u8,"), "bits: c_uint, x: u8");
        assert_eq!(fields("u8", 2, "pub x: *const c_char,"), "bits: u16, x: * const c_char");
        // uint16_t a : 15, b : 9; uint8_t x;
        assert_eq!(fields("u16", 4, "pub x: u8,"), "_align: [u16 ; 0], bits: [u8 ; 4], x: u8");
        assert_eq!(fields("u8", 5, ""), "_align: [u8 ; 0], bits: [u8 ; 5]");
        assert_eq!(fields("u64", 5, "pub x: u8,"), "_align: [u64 ; 0], bits: [u8 ; 5], x: u8");
    }

    #[test]
    fn functions_of_cpp_and_variables_are_left_out() {
        let found = read(
            "extern \"C\" { pub fn f(); #[link_name = \"\\u{1}_Z1gv\"] pub fn g(); pub static names: [u8; 2]; }",
            &[],
        );
        assert_eq!(found.unwrap().keys().collect::<Vec<_>>(), ["f"]);
    }

    #[test]
    fn names_and_comments_of_parameters_are_no_change() {
        let one = read("extern \"C\" { #[doc = \"x\"] pub fn f(a: u8, b: u8); }", &[]).unwrap();
        let two = read("extern \"C\" { pub fn f(x: u8, y: u8); }", &[]).unwrap();
        let three = read("extern \"C\" { pub fn f(x: u8, y: u16); }", &[]).unwrap();
        assert_eq!(shape(&one, "f"), shape(&two, "f"));
        assert_ne!(shape(&one, "f"), shape(&three, "f"));
    }
}
