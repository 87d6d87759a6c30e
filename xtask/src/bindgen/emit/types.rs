//! Structs, unions and typedefs.

use anyhow::{Context, Result};
use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::visit_mut::VisitMut;

use super::docs::{FieldDocs, alias_attribute, doc_attributes, docs, not_doc};
use super::written::Written;
use crate::bindgen::forms::Form;
use crate::bindgen::surface::{Bits, Kind, is_opaque};

pub(super) fn types(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<TokenStream> {
    let mut out = TokenStream::new();
    for (name, form) in items {
        let docs = doc_attributes(&docs(written, name, form));
        let alias = alias_attribute(written.cuda.of(name));
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

/// The macro `zeroed!`, as text because of its comments.
pub(super) const ZEROED: &str = "\
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

fn bit_accessors(item: &syn::ItemStruct, bits: &[Bits]) -> TokenStream {
    let unit = item.fields.iter().find(|field| field.ident.as_ref().is_some_and(|name| name == "bits"));
    let (ident, Some(unit)) = (&item.ident, unit.map(|field| &field.ty)) else { return quote!() };
    if bits.is_empty() {
        return quote!();
    }
    // An array of bytes if no integer has the size and alignment.
    let bytes = if let syn::Type::Array(bytes) = unit { Some(&bytes.len) } else { None };
    let (constant, integer, all) = match bytes {
        Some(_) => (quote!(), quote!(u64), quote!(self.all_bits())),
        None => (quote!(const), quote!(#unit), quote!(self.bits)),
    };
    let methods = bits.iter().map(|bit| {
        let (get, set) = (format_ident!("{}", bit.name), format_ident!("set_{}", bit.name));
        let offset = Literal::u32_unsuffixed(bit.offset);
        let mask = Literal::u64_unsuffixed(u64::MAX >> (64 - bit.width));
        let (reads, writes) =
            (format!(" Reads the bit field `{}`.", bit.name), format!(" Sets the bit field `{}`.", bit.name));
        let new = quote!((#all & !(#mask << #offset)) | ((value & #mask) << #offset));
        let write = match bytes {
            Some(bytes) => quote! {
                let all = #new;
                self.bits.copy_from_slice(&all.to_le_bytes()[..#bytes]);
            },
            None => quote!(self.bits = #new;),
        };
        quote! {
            #[doc = #reads]
            pub #constant fn #get(&self) -> #integer { (#all >> #offset) & #mask }
            #[doc = #writes]
            pub #constant fn #set(&mut self, value: #integer) { #write }
        }
    });
    let all_bits = bytes.map(|bytes| {
        quote! {
            fn all_bits(&self) -> u64 {
                let mut all = [0; 8];
                all[..#bytes].copy_from_slice(&self.bits);
                u64::from_le_bytes(all)
            }
        }
    });
    quote!(impl #ident { #all_bits #(#methods)* })
}

/// Returns a type in the usual notation.
pub(super) fn tidy(ty: &impl ToTokens) -> Result<String> {
    let text = prettyplease::unparse(&syn::parse2(quote!(type X = #ty;)).context("a type does not parse")?);
    let text = text.trim().strip_prefix("type X = ").and_then(|text| text.strip_suffix(';')).context("a type")?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(text.replace("( ", "(").replace(", )", ")"))
}
