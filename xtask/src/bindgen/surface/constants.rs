//! Constants: of enums, and of macros.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use quote::{ToTokens, format_ident};

use super::item::{Kind, Surface};

/// Assigns enum constants to their enum, and makes those of an anonymous enum plain integers.
pub(super) fn sort_out_constants(surface: &mut Surface, anonymous_enums: &BTreeSet<String>) -> Result<()> {
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

/// Returns a macro that bindgen omits, as an item: an alias of an item, or a number cast to a type.
pub(super) fn from_macro(name: &str, body: &str, surface: &Surface) -> Result<Option<Kind>> {
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
