//! One level's C interface as items: bindgen's output, in the published form.
//!
//! Anonymous structs and unions are named after the field that holds them, C integer names lose their path, bit
//! fields become one integer with accessors, and anonymous enums become plain constants.

mod anonymous;
mod bits;
mod constants;
mod item;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};

use super::headers::Parsed;
use anonymous::name_anonymous_types;
use bits::{bit_fields, clean_struct};
use constants::{from_macro, sort_out_constants};
use item::newtype_of;
pub(crate) use item::{Bits, Kind, Surface, doc_of, is_opaque, value_of};

/// Converts bindgen's output into items.
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
                        // The symbol of a C++ function differs from its name.
                        syn::ForeignItem::Fn(function)
                            if function.attrs.iter().any(|attr| attr.path().is_ident("link_name")) => {}
                        // A variable that each C file defines for itself.
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

/// Returns `self::Target as Name` as (Name, Target).
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

/// Shortens `core::ffi::c_int` to `c_int`, `::core::option::Option` to `Option`.
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
