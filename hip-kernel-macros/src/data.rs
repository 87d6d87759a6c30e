//! `#[derive(DeviceCopy)]`.

use proc_macro::{Delimiter, TokenStream, TokenTree};

use crate::parse::{self, Error, Result, Tokens, escaped, is_punct, split, text, written};

/// Implements `Value`, and on the host the traits for buffers and launches.
pub(crate) fn derive(item: TokenStream) -> Result<TokenStream> {
    let mut representation = String::new();
    let mut tokens: Tokens = item.into_iter().peekable();
    while is_punct(tokens.peek(), '#') {
        tokens.next();
        if let Some(TokenTree::Group(group)) = tokens.next() {
            let mut inside = group.stream().into_iter();
            if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(list))) = (inside.next(), inside.next()) {
                if name.to_string() == "repr" {
                    representation += &list.stream().to_string();
                }
            }
        }
    }
    parse::visibility(&mut tokens);
    let (Some(kind), Some(TokenTree::Ident(name))) = (tokens.next(), tokens.next()) else {
        return Err(Error::new(proc_macro::Span::call_site(), "`DeviceCopy` is for a structure or an enumeration"));
    };
    if is_punct(tokens.peek(), '<') {
        return Err(Error::new(
            name.span(),
            "`DeviceCopy` is not for a generic type: implement it for each type by hand",
        ));
    }
    let body = tokens.find_map(|token| match token {
        TokenTree::Group(group) => Some(group),
        _ => None,
    });
    let own = escaped(&name.to_string());
    let value = format!(
        "// SAFETY: the words have room for the type, and are made from a valid value of it.\n\
         unsafe impl ::hip_kernel::Value for {own} {{\n\
         type Abi = <::hip_kernel::value::Size<{{ ::hip_kernel::value::words(::core::mem::size_of::<Self>()) }}> as ::hip_kernel::value::HasWords>::Words;\n\
         // SAFETY: the caller ensures that they are.\n\
         #[inline(always)] unsafe fn from_abi(abi: Self::Abi) -> Self {{ unsafe {{ ::hip_kernel::value::from_words(abi) }} }}\n\
         #[inline(always)] fn to_abi(self) -> Self::Abi {{ unsafe {{ ::hip_kernel::value::to_words(self) }} }}\n"
    );
    let output = match kind.to_string().as_str() {
        "struct" => {
            if !["C", "transparent"].iter().any(|layout| representation.contains(layout)) {
                let message = "the host and the device need the same layout: add `#[repr(C)]`";
                return Err(Error::new(name.span(), message));
            }
            let fields = body.map(|body| fields(&body)).unwrap_or_default();
            let checks: String = fields.iter().map(|(_, ty)| format!("let _ = pod::<{ty}>;\n")).collect();
            let sizes: Vec<_> = fields.iter().map(|(_, ty)| format!("::core::mem::size_of::<{ty}>()")).collect();
            let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
            let (names, mut layout) = (names.join(" "), String::new());
            for (field, ty) in &fields {
                layout += &format!(
                    "\n.field(::core::mem::offset_of!({own}, {field}), <{ty} as ::hip_kernel::Plain>::LAYOUT)"
                );
            }
            let sum = if sizes.is_empty() { "0".to_owned() } else { sizes.join(" + ") };
            format!(
                "{value}const LAYOUT: ::hip_kernel::Layout = <Self as ::hip_kernel::Plain>::LAYOUT;\n}}\n\
                 // SAFETY: every field is of such a type, and there are no other bytes.\n\
                 unsafe impl ::hip_kernel::Plain for {own} {{\n\
                 const LAYOUT: ::hip_kernel::Layout = {{\n\
                 ::core::assert!(::core::mem::size_of::<{own}>() == {sum}, \"the type has padding, whose bytes have no value: add fields for it\");\n\
                 ::hip_kernel::Layout::of::<Self>(\"struct {own} {names}\"){layout}\n}};\n}}\n\
                 const _: ::hip_kernel::Layout = <{own} as ::hip_kernel::Plain>::LAYOUT;\n\
                 #[cfg(not(target_arch = \"amdgpu\"))]\nconst _: () = {{\n\
                 #[allow(dead_code)] fn fields() {{ fn pod<T: ::hip_kernel::hip::bytemuck::Pod>() {{}}\n{checks} }}\n\
                 // SAFETY: every field is of such a type, and there are no other bytes.\n\
                 unsafe impl ::hip_kernel::hip::bytemuck::Zeroable for {own} {{}}\n\
                 // SAFETY: as above.\n\
                 unsafe impl ::hip_kernel::hip::bytemuck::Pod for {own} {{}}\n}};\n"
            )
        }
        "enum" => {
            let body = body.ok_or_else(|| Error::new(name.span(), "an enumeration without variants"))?;
            let has_fields = split(body.stream()).iter().any(|variant| {
                variant.iter().any(|token| {
                    matches!(token, TokenTree::Group(group) if matches!(group.delimiter(), Delimiter::Parenthesis | Delimiter::Brace))
                })
            });
            if has_fields {
                return Err(Error::new(
                    name.span(),
                    "variants with fields have bytes without a value: pass a structure",
                ));
            }
            if !["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"].iter().any(|int| representation.contains(int)) {
                let message = "the host and the device need the same layout: add `#[repr(u32)]`";
                return Err(Error::new(name.span(), message));
            }
            let mut layout = String::new();
            for variant in split(body.stream()) {
                let mut tokens: Tokens = variant.into_iter().collect::<TokenStream>().into_iter().peekable();
                parse::attributes(&mut tokens);
                if let Some(TokenTree::Ident(variant)) = tokens.next() {
                    let variant = escaped(&variant.to_string());
                    layout += &format!(
                        "\n.field({own}::{variant} as ::core::primitive::usize, ::hip_kernel::Layout::of::<Self>(\"{variant}\"))"
                    );
                }
            }
            format!(
                "{value}const LAYOUT: ::hip_kernel::Layout = ::hip_kernel::Layout::of::<Self>(\"enum {own}\"){layout};\n}}\n"
            )
        }
        _ => return Err(Error::new(name.span(), "`DeviceCopy` is for a structure or an enumeration")),
    };
    written(&output).ok_or_else(|| Error::new(name.span(), "`DeviceCopy` does not understand this type"))
}

/// Returns the names and types of the fields.
fn fields(body: &proc_macro::Group) -> Vec<(String, String)> {
    let named = body.delimiter() == Delimiter::Brace;
    let one = |(index, field): (usize, Vec<TokenTree>)| {
        let mut tokens: Tokens = field.into_iter().collect::<TokenStream>().into_iter().peekable();
        parse::attributes(&mut tokens);
        parse::visibility(&mut tokens);
        let name = match tokens.peek() {
            Some(name) if named => escaped(&name.to_string()),
            _ => index.to_string(),
        };
        let rest: Vec<_> = tokens.skip(if named { 2 } else { 0 }).collect();
        (name, text(&rest))
    };
    split(body.stream()).into_iter().enumerate().map(one).collect()
}
