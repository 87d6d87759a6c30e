//! Extracts the tests of a source file of cudarc into a file of their own.

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::{Item, UseTree};

/// A part of the file that can be omitted if it does not compile.
pub(super) struct Piece {
    /// The name of the test; `None` for an import.
    pub(super) test: Option<String>,
    text: String,
}

/// The tests of a file.
pub(super) struct Tests {
    /// Imports around the module of tests.
    pub(super) imports: Vec<Piece>,
    /// The items of the module that are not tests.
    rest: String,
    pub(super) tests: Vec<Piece>,
    modules: Vec<String>,
    /// Whether the last module is public.
    is_public: bool,
}

impl Tests {
    /// Reads a file.
    pub(super) fn read(text: &str, modules: &[&str], is_public: bool) -> Result<Self> {
        let file = syn::parse_file(text).context("not Rust")?;
        // `core` is also the name of a crate.
        let modules = modules.iter().map(|name| if *name == "core" { "core_".to_owned() } else { (*name).to_owned() });
        let modules = modules.collect();
        let mut found = Self { imports: Vec::new(), rest: String::new(), tests: Vec::new(), modules, is_public };
        for item in file.items {
            match item {
                Item::Use(item) => {
                    let mut leaves = Vec::new();
                    flatten(&item.tree, &TokenStream::new(), &mut leaves);
                    let texts = leaves.into_iter().map(|leaf| format!("use {};", of_cudarc(found.beside(leaf))));
                    let texts: Vec<Piece> = texts.map(|text| Piece { test: None, text }).collect();
                    found.imports.extend(texts);
                }
                Item::Mod(item) if item.ident == "tests" => {
                    for item in item.content.map(|(_, items)| items).unwrap_or_default() {
                        let name = test_name(&item);
                        let text = text_of(&item)?;
                        match name {
                            Some(name) => found.tests.push(Piece { test: Some(name), text }),
                            None => found.rest.push_str(&text),
                        }
                    }
                }
                // A file that only consists of tests.
                Item::Fn(_) => {
                    let Some(name) = test_name(&item) else { continue };
                    let text = text_of(&item)?;
                    found.rest = "use super::*;\n".to_owned();
                    found.tests.push(Piece { test: Some(name), text });
                }
                _ => {}
            }
        }
        Ok(found)
    }

    /// Replaces `super::` at the start of a path by the full path.
    fn beside(&self, path: TokenStream) -> TokenStream {
        let mut tokens = path.into_iter().peekable();
        // The siblings of a private file are imported into the module around it.
        if !self.is_public || !matches!(tokens.peek(), Some(TokenTree::Ident(first)) if *first == "super") {
            return tokens.collect();
        }
        let around =
            self.modules[..self.modules.len() - 1].iter().map(|name| Ident::new(name, proc_macro2::Span::call_site()));
        let rest: TokenStream = tokens.skip(1).collect();
        quote!(cudarc #(::#around)* #rest)
    }

    /// Returns the text of the file, and the lines of each import and test.
    pub(super) fn file(&self) -> (String, Vec<(usize, usize, &Piece)>) {
        let mut text =
            "// Of cudarc, with other paths; written by `cargo xtask cudarc`.\n#![allow(warnings)]\n".to_owned();
        let mut path = "cudarc".to_owned();
        for (index, module) in self.modules.iter().enumerate() {
            path = format!("{path}::{module}");
            let is_last = index + 1 == self.modules.len();
            let items = if is_last && !self.is_public { "super" } else { &path };
            text.push_str(&format!("mod {module} {{\npub use {items}::*;\n"));
            if index > 0 && !is_last {
                text.push_str("use super::*;\n");
            }
        }
        let mut lines = Vec::new();
        let add = |text: &mut String, piece: &str| {
            let first = text.lines().count() + 1;
            text.push_str(piece);
            text.push('\n');
            (first, text.lines().count())
        };
        for piece in &self.imports {
            let (first, last) = add(&mut text, &piece.text);
            lines.push((first, last, piece));
        }
        text.push_str("mod tests {\n");
        text.push_str(&self.rest);
        for piece in &self.tests {
            let (first, last) = add(&mut text, &piece.text);
            lines.push((first, last, piece));
        }
        text.push_str(&"}\n".repeat(self.modules.len() + 1));
        (text, lines)
    }

    /// Returns the name of a test in libtest.
    pub(super) fn path(&self, test: &str) -> String {
        format!("{}::tests::{test}", self.modules.join("::"))
    }
}

/// Returns the text of an item, as seen from outside of the crate `cudarc`.
fn text_of(item: &Item) -> Result<String> {
    let item = syn::parse2(of_cudarc(item.to_token_stream()))?;
    Ok(prettyplease::unparse(&syn::File { shebang: None, attrs: Vec::new(), items: vec![item] }))
}

/// Returns the name of a test if the features of the run compile it.
fn test_name(item: &Item) -> Option<String> {
    let Item::Fn(function) = item else { return None };
    let is_test = function.attrs.iter().any(|attribute| attribute.path().is_ident("test"));
    is_test.then(|| function.sig.ident.to_string())
}

/// Adds the paths of a tree of imports.
fn flatten(tree: &UseTree, before: &TokenStream, leaves: &mut Vec<TokenStream>) {
    match tree {
        UseTree::Path(path) => {
            let name = &path.ident;
            flatten(&path.tree, &quote!(#before #name ::), leaves);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, leaves)),
        UseTree::Name(name) if name.ident == "self" => {
            // `a::b::{self}` is `a::b`.
            let mut tokens: Vec<TokenTree> = before.clone().into_iter().collect();
            tokens.truncate(tokens.len().saturating_sub(2));
            leaves.push(tokens.into_iter().collect());
        }
        leaf => leaves.push(quote!(#before #leaf)),
    }
}

/// Replaces `crate::` by `cudarc::`.
fn of_cudarc(tokens: TokenStream) -> TokenStream {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut changed = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let is_path = matches!(tokens.get(index + 1), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
        changed.push(match token {
            TokenTree::Ident(name) if *name == "crate" && is_path => {
                TokenTree::Ident(Ident::new("cudarc", name.span()))
            }
            TokenTree::Group(group) if group.delimiter() != Delimiter::None => {
                TokenTree::Group(Group::new(group.delimiter(), of_cudarc(group.stream())))
            }
            other => other.clone(),
        });
    }
    changed.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_keep_their_text_but_for_paths_of_the_crate() {
        let text = "use crate::driver::{result::{self, A}, sys};\nuse super::B;\nfn f() {}\n#[cfg(test)]\nmod tests {\n use super::*;\n \
                    #[test]\n #[ignore]\n fn one() { assert_eq!(crate::driver::sys::X, 1); }\n}";
        let tests = Tests::read(text, &["driver", "core"], false).unwrap();
        let (file, lines) = tests.file();
        assert!(file.contains("use cudarc :: driver :: result;") || file.contains("cudarc::driver::result;"), "{file}");
        assert!(file.contains("use super :: B;"), "{file}");
        assert!(file.contains("assert_eq!(cudarc::driver::sys::X, 1);"), "{file}");
        assert_eq!(tests.path("one"), "driver::core_::tests::one");
        let (first, last, piece) = lines.last().unwrap();
        assert_eq!(piece.test.as_deref(), Some("one"));
        let body: Vec<&str> = file.lines().skip(first - 1).take(last - first + 1).collect();
        assert!(body.iter().any(|line| line.contains("fn one()")), "{body:?}");
    }
}
