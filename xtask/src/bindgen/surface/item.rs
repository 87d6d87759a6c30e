//! The items of a C interface.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};

use anyhow::{Context, Result};
use quote::{ToTokens, format_ident};
use syn::visit_mut::VisitMut;

/// A bit field of a struct: name, first bit, width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) name: String,
    pub(crate) offset: u32,
    pub(crate) width: u32,
}

/// The kinds of items. Doc comments are still in the syntax trees, as in the header.
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
    /// A constant, with the enum that it belongs to, if any, and its position in the header.
    Const(syn::ItemConst, Option<String>, usize),
    /// An alias of an item, from a macro of the header.
    Alias(String),
}

/// The items of one level by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surface {
    pub(super) items: BTreeMap<String, Kind>,
    /// Names of the parts of structs that are anonymous in the header.
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
    /// Returns the doc comment, as in the header.
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

    /// Returns the item without its doc comments, to compare two levels.
    pub(crate) fn shape(&self) -> String {
        let mut copy = self.clone();
        match &mut copy {
            Kind::Function(item) => {
                NoDocs.visit_foreign_item_fn_mut(item);
                // A renamed parameter does not count as a change.
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

/// Returns the text of the `#[doc]` attributes.
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

/// Returns whether C only uses the type behind pointers.
pub(crate) fn is_opaque(item: &syn::ItemStruct) -> bool {
    item.fields.iter().any(|field| field.ident.as_ref().is_some_and(|name| name == "_unused"))
}

/// Returns the value of a constant of an enum, `hipError_t(3)`, or of a plain one.
pub(crate) fn value_of(item: &syn::ItemConst) -> Result<i128> {
    let expr = match &*item.expr {
        syn::Expr::Call(call) => call.args.first().context("no value")?,
        other => other,
    };
    let text = expr.to_token_stream().to_string().replace(' ', "");
    text.parse().with_context(|| format!("value of {}: {text}", item.ident))
}

/// Returns the integer of a newtype, as bindgen writes it for an enum.
pub(super) fn newtype_of(item: &syn::ItemStruct) -> Option<syn::Type> {
    match &item.fields {
        syn::Fields::Unnamed(fields) if fields.unnamed.len() == 1 => Some(fields.unnamed[0].ty.clone()),
        _ => None,
    }
}
