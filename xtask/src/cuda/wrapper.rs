//! Functions with another signature than ROCm's, and structs with other fields.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use quote::{ToTokens, quote};
use syn::visit_mut::{self, VisitMut};
use syn::{FnArg, ForeignItemFn, ItemStruct, Path, ReturnType, Type, parse_quote};

use super::found::Form;
use super::names::unversioned;
use super::rules::{DEVICE_POINTERS, INTEGERS, Module, STRUCTS};

/// HIP's device address, which is an integer in CUDA.
const POINTER: &str = "hipDeviceptr_t";

/// A parameter: its name, HIP's type, CUDA's type.
struct Parameter {
    name: String,
    hip: Type,
    cuda: Type,
    how: Conversion,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Conversion {
    None,
    /// From an integer to a pointer.
    Address,
    /// Between pointers.
    Pointer,
    /// Between integers; a value that does not fit becomes the maximum, which is rejected.
    Integer,
    /// Between integers of one size, bit for bit.
    Bits,
}

/// Adds the attribute of a form's level.
pub(crate) fn feature(text: &mut String, form: &Form) {
    if let Some(feature) = form.feature() {
        let _ = writeln!(text, "#[cfg(feature = \"{feature}\")]");
    }
}

/// Returns whether two functions have the same parameters and results.
pub(crate) fn same_signature(a: &Form, b: &Form) -> Result<bool> {
    let of = |form: &Form| -> Result<String> {
        let function: ForeignItemFn = parse(form)?;
        let types = function.sig.inputs.iter().map(|argument| match argument {
            FnArg::Typed(typed) => typed.ty.to_token_stream().to_string(),
            FnArg::Receiver(_) => String::new(),
        });
        Ok(format!("{:?} {}", types.collect::<Vec<_>>(), function.sig.output.to_token_stream()))
    };
    Ok(of(a)? == of(b)?)
}

fn parse(form: &Form) -> Result<ForeignItemFn> {
    syn::parse_str(&form.text).with_context(|| format!("reading {}", form.text))
}

/// Returns whether a CUDA name has another signature than the function that it is mapped to.
pub(crate) fn differs(module: &Module, name: &str, form: &Form) -> Result<bool> {
    if !matches!(module.name, "driver" | "runtime") || form.text.is_empty() {
        return Ok(false);
    }
    Ok(parameters(module, name, form)?.iter().any(|parameter| parameter.how != Conversion::None))
}

/// Returns the parameters with both types.
fn parameters(module: &Module, name: &str, form: &Form) -> Result<Vec<Parameter>> {
    let name = unversioned(name);
    let addresses = DEVICE_POINTERS.iter().find(|(of, _)| *of == name).map_or(&[][..], |(_, positions)| positions);
    let function = parse(form)?;
    let mut parameters = Vec::new();
    for (position, argument) in function.sig.inputs.iter().enumerate() {
        let FnArg::Typed(typed) = argument else { continue };
        let text = typed.ty.to_token_stream().to_string();
        let integer = INTEGERS.iter().find(|(of, at, _)| (*of, *at) == (name.as_str(), position));
        let mut hip = (*typed.ty).clone();
        Qualify(&form.module).visit_type_mut(&mut hip);
        let structure = STRUCTS.iter().find(|(_, theirs, _)| text.split(' ').any(|word| word == *theirs));
        let is_driver = module.name == "driver";
        let (cuda, how): (Type, _) = if let Some((_, _, ty)) = integer {
            // The pattern of a fill is signed in HIP.
            (syn::parse_str(ty)?, if name.starts_with("cuMemset") { Conversion::Bits } else { Conversion::Integer })
        } else if is_driver && (addresses.contains(&position) || text.split(' ').any(|word| word == POINTER)) {
            // `void **` and `hipDeviceptr_t *` receive an address.
            let levels = text.matches('*').count() + usize::from(text.contains(POINTER));
            let is_opaque_result = name == "cuGraphMemFreeNodeGetParams";
            match levels {
                1 if !is_opaque_result => (parse_quote!(CUdeviceptr), Conversion::Address),
                _ => (parse_quote!(*mut CUdeviceptr), Conversion::Pointer),
            }
        } else if let Some((ours, ..)) = structure.filter(|_| is_driver) {
            let ours: Type = syn::parse_str(ours)?;
            match text.contains("const") {
                true => (parse_quote!(*const #ours), Conversion::Pointer),
                false => (parse_quote!(*mut #ours), Conversion::Pointer),
            }
        } else {
            (hip.clone(), Conversion::None)
        };
        parameters.push(Parameter { name: typed.pat.to_token_stream().to_string(), hip, cuda, how });
    }
    Ok(parameters)
}

/// Makes paths of types absolute.
struct Qualify<'a>(&'a str);

impl VisitMut for Qualify<'_> {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        let Some(ident) = path.get_ident() else { return };
        let name = ident.to_string();
        let plain = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "usize", "isize", "f32", "f64", "bool"];
        if plain.contains(&name.as_str()) {
            return;
        }
        let absolute = match name.starts_with("c_") {
            true => format!("::core::ffi::{name}"),
            false => format!("{}::{name}", self.0),
        };
        if let Ok(absolute) = syn::parse_str(&absolute) {
            *path = absolute;
        }
    }
}

fn result(function: &ForeignItemFn, module: &str) -> ReturnType {
    let mut output = function.sig.output.clone();
    Qualify(module).visit_return_type_mut(&mut output);
    output
}

/// Returns a function that converts its arguments.
pub(crate) fn wrapper(module: &Module, name: &str, form: &Form) -> Result<String> {
    let function = parse(form)?;
    let output = result(&function, &form.module);
    let (mut declared, mut passed) = (Vec::new(), Vec::new());
    for parameter in parameters(module, name, form)? {
        let (cuda, hip) = (&parameter.cuda, &parameter.hip);
        let name: syn::Ident = syn::parse_str(&parameter.name)?;
        declared.push(quote!(#name: #cuda));
        passed.push(match parameter.how {
            Conversion::None => quote!(#name),
            Conversion::Address => quote!(#name as usize as #hip),
            Conversion::Pointer => quote!(#name.cast()),
            Conversion::Integer => quote!(<#hip>::try_from(#name).unwrap_or(<#hip>::MAX)),
            Conversion::Bits => quote!(#name as #hip),
        });
    }
    let target: Path = syn::parse_str(&format!("{}::{}", form.module, function.sig.ident))?;
    let ident: syn::Ident = syn::parse_str(name)?;
    let mut text = String::new();
    feature(&mut text, form);
    writeln!(text, "/// CUDA's signature of [`{}`]({}::{0}).", function.sig.ident, form.module)?;
    writeln!(text, "///\n/// # Safety\n/// The same as of HIP's function.\n#[inline]")?;
    let item = quote! {
        pub unsafe extern "C" fn #ident(#(#declared),*) #output {
            SAFETY!();
            unsafe { #target(#(#passed),*) }
        }
    };
    writeln!(text, "{item}")?;
    Ok(text)
}

/// Returns a function that calls the newer name if the library has it, otherwise the older one. Every level that has
/// the function (`hipblas-sys` is then at 7.0) declares both: the library decides.
pub(crate) fn renamed(name: &str, now: &Form, before: &Form) -> Result<String> {
    let (function, old) = (parse(now)?, parse(before)?);
    let output = result(&function, &before.module);
    let (mut declared, mut passed) = (Vec::new(), Vec::new());
    for argument in &function.sig.inputs {
        let FnArg::Typed(typed) = argument else { continue };
        let (name, mut ty) = (&typed.pat, (*typed.ty).clone());
        Qualify(&before.module).visit_type_mut(&mut ty);
        declared.push(quote!(#name: #ty));
        passed.push(quote!(#name));
    }
    let ident: syn::Ident = syn::parse_str(name)?;
    let (new, old) = (function.sig.ident, old.sig.ident);
    let newer: Path = syn::parse_str(&format!("{}::{new}", now.module))?;
    let older: Path = syn::parse_str(&format!("{}::{old}", before.module))?;
    let has: Path = syn::parse_str(&format!("{}::has", before.module))?;
    let literal = syn::LitCStr::new(&std::ffi::CString::new(old.to_string())?, proc_macro2::Span::call_site());
    let mut text = String::new();
    feature(&mut text, before);
    writeln!(text, "/// `{old}` of the libraries before ROCm 7.0, and `{new}` of newer ones.")?;
    writeln!(text, "///\n/// # Safety\n/// The same as of the library's function.\n#[inline]")?;
    let item = quote! {
        pub unsafe extern "C" fn #ident(#(#declared),*) #output {
            static OLD: ::std::sync::OnceLock<bool> = ::std::sync::OnceLock::new();
            if !*OLD.get_or_init(|| #has(#literal)) {
                SAFETY!();
                return unsafe { #newer(#(#passed),*) };
            }
            SAFETY!();
            unsafe { #older(#(#passed),*) }
        }
    };
    writeln!(text, "{item}")?;
    Ok(text)
}

/// Returns a struct with HIP's layout and with addresses as integers.
pub(crate) fn structure(name: &str, hip: &str, form: &Form) -> Result<String> {
    let item: ItemStruct = syn::parse_str(&form.text).with_context(|| format!("reading {}", form.text))?;
    let pointers = STRUCTS.iter().find(|(ours, ..)| *ours == name).map_or(&[][..], |(_, _, fields)| fields);
    let mut fields = Vec::new();
    for field in &item.fields {
        let (ident, mut ty) = (field.ident.as_ref().context("a name")?, field.ty.clone());
        let is_address = ty.to_token_stream().to_string() == POINTER || pointers.contains(&ident.to_string().as_str());
        Qualify(&form.module).visit_type_mut(&mut ty);
        let comment = format!(" HIP's `{ident}`.");
        fields.push(match is_address {
            true => quote!(#[doc = #comment] pub #ident: CUdeviceptr),
            false => quote!(#[doc = #comment] pub #ident: #ty),
        });
    }
    let ident: syn::Ident = syn::parse_str(name)?;
    let theirs: Path = syn::parse_str(&format!("{}::{hip}", form.module))?;
    let names: Vec<_> = item.fields.iter().filter_map(|field| field.ident.as_ref()).collect();
    let mut text = String::new();
    feature(&mut text, form);
    writeln!(
        text,
        "/// [`{hip}`]({}::{hip}) with addresses on a device as integers. `Default` is all zeros.",
        form.module
    )?;
    let declaration = quote! {
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct #ident { #(#fields),* }
    };
    writeln!(text, "{declaration}")?;
    feature(&mut text, form);
    let rest = quote! {
        impl Default for #ident {
            fn default() -> Self {
                ZEROED!();
                unsafe { ::core::mem::zeroed() }
            }
        }
    };
    writeln!(text, "{rest}")?;
    feature(&mut text, form);
    let proof = quote! {
        const _: () = {
            assert!(size_of::<#ident>() == size_of::<#theirs>());
            #(assert!(::core::mem::offset_of!(#ident, #names) == ::core::mem::offset_of!(#theirs, #names));)*
        };
    };
    writeln!(text, "{proof}")?;
    Ok(text)
}

/// Formats generated items.
pub(crate) fn formatted(items: &str) -> Result<String> {
    let file = syn::parse_file(items).context("what was generated is not Rust")?;
    let text = prettyplease::unparse(&file);
    let text = text.replace("SAFETY!();", "// SAFETY: the caller's contract is that of the function called.");
    Ok(text.replace("ZEROED!();", "// SAFETY: integers and raw pointers: all zero is a value of each."))
}
