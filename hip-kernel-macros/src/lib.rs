#![cfg_attr(docsrs, feature(doc_cfg))]
//! The macros of the crate `hip-kernel`, which documents them. It has no dependencies, so that the build of a kernel
//! needs only the compiler.

mod data;
mod expand;
mod format;
mod identity;
mod normal;
mod parse;

use proc_macro::TokenStream;

/// Makes a function a kernel.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    parse::keeping(|| {
        parse::function(attribute, item)
            .and_then(|function| expand::kernel(&function))
            .unwrap_or_else(|error| error.tokens())
    })
}

/// Makes a type one that can be passed to kernels by value, and be the element of buffers.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(item: TokenStream) -> TokenStream {
    parse::keeping(|| data::derive(item).unwrap_or_else(|error| error.tokens()))
}

/// Writes formatted text to a `Printer`.
#[proc_macro]
pub fn printf(input: TokenStream) -> TokenStream {
    parse::keeping(|| format::printf(input).unwrap_or_else(|error| error.tokens()))
}
