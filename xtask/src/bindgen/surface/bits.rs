//! Bit fields, as one integer or as bytes.

use anyhow::{Context, Result, bail, ensure};
use quote::ToTokens;

use super::item::Bits;

/// Reads bit fields from bindgen's accessors: `self._bitfield_1.get(0usize, 1u8)`.
pub(super) fn bit_fields(block: &syn::ItemImpl) -> Result<Option<(String, Vec<Bits>)>> {
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

/// Returns the published form of a struct: bit fields are one integer, or bytes if no integer has their size and
/// alignment.
pub(super) fn clean_struct(mut item: syn::ItemStruct, bits: &[Bits]) -> Result<syn::ItemStruct> {
    if bits.is_empty() {
        return Ok(item);
    }
    let ident = item.ident.clone();
    let declared_align = item.attrs.iter().find_map(declared_align).unwrap_or(1);
    let syn::Fields::Named(fields) = &mut item.fields else { bail!("bit fields in {ident}") };
    let total: u32 = bits.iter().map(|bit| bit.width).sum();
    let second = fields.named.iter().any(|field| name_of(field) == "_bitfield_2");
    ensure!(total <= 64 && !second, "too many bit fields in {ident}");
    // bindgen marks the alignment of the unit by an array of that integer.
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
        // Up to the end of the struct, even if the bits need less.
        1..=4 if alone && align == 4 => Some(syn::parse_quote!(c_uint)),
        1..=4 | 8 if alone && align == 8 => Some(syn::parse_quote!(u64)),
        _ if align < unit => None,
        1 => Some(syn::parse_quote!(u8)),
        2 => Some(syn::parse_quote!(u16)),
        4 => Some(syn::parse_quote!(c_uint)),
        8 => Some(syn::parse_quote!(u64)),
        _ => None,
    };
    // They keep their position among the other fields.
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

/// Returns the alignment of a pointer or number; `None` for other types.
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

/// Returns the number in `#[repr(align(4))]`.
fn declared_align(attr: &syn::Attribute) -> Option<usize> {
    let text = attr.meta.to_token_stream().to_string().replace(' ', "");
    text.split_once("align(")?.1.split(')').next()?.parse().ok()
}

/// Returns the size of the integer in `[u16; 0]`, in bytes.
fn array_align(ty: &syn::Type) -> Option<usize> {
    let syn::Type::Array(array) = ty else { return None };
    array.elem.to_token_stream().to_string().strip_prefix('u')?.parse::<usize>().ok().map(|bits| bits / 8)
}

/// Returns the size of `__BindgenBitfieldUnit<[u8; 5usize]>`, in bytes.
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

    /// Returns the published form of a struct with bit fields.
    fn read(text: &str) -> syn::ItemStruct {
        let file = syn::parse_file(text).unwrap();
        let [syn::Item::Struct(item), syn::Item::Impl(block)] = &file.items[..] else { panic!("{text}") };
        let (name, bits) = bit_fields(block).unwrap().unwrap();
        assert_eq!(item.ident, name);
        clean_struct(item.clone(), &bits).unwrap()
    }

    /// Returns the fields of a struct with bit fields in such a unit.
    fn fields(align: &str, unit: usize, others: &str) -> String {
        let (align, attr) = align.split_once(' ').unwrap_or((align, ""));
        let item = read(&format!(
            "{attr} pub struct F {{ pub _bitfield_align_1: [{align}; 0], pub _bitfield_1: __BindgenBitfieldUnit<[u8; {unit}usize]>, \
             {others} pub __bindgen_padding_0: u8 }}
             impl F {{ pub fn a(&self) -> u32 {{ self._bitfield_1.get(0usize, 1u8) }} }}"
        ));
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
}
