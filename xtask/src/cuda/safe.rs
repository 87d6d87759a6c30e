//! The items of cudarc's safe API, and which of them `cuda-compat` has: `api/cudarc-api.tsv`, `cuda-compat/src/generated/cudarc.tsv`.
//!
//! Both are read from source: of the published crate `cudarc` (names only), and of `cuda-compat`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::{ImplItem, Item, TraitItem, Type, Visibility};

use super::rows;
use crate::paths;

/// Items: module, path in it, such as `CudaStream::memcpy_htod` or `result::stream::create`.
pub(super) type Items = BTreeSet<(String, String)>;

/// The modules of cudarc whose items are listed.
const MODULES: &[&str] = &[
    "cublas",
    "cublaslt",
    "cudnn",
    "cufft",
    "cufile",
    "cupti",
    "curand",
    "cusolver",
    "cusolvermg",
    "cusparse",
    "cutensor",
    "driver",
    "nccl",
    "nvrtc",
    "nvtx",
    "runtime",
    "types",
];

/// `api/cudarc-api.tsv`, from a folder with cudarc's source.
pub(super) fn api(cudarc: &Path) -> Result<String> {
    let mut text = String::from("module\titem\n");
    for (module, item) in items(&cudarc.join("src"))? {
        writeln!(text, "{module}\t{item}")?;
    }
    Ok(text)
}

/// `generated/cudarc.tsv`: every item of cudarc, and whether it is here.
pub(super) fn table() -> Result<String> {
    let here = items(&paths::root().join("cuda-compat/src"))?;
    let mut text = String::from("module\titem\there\n");
    for row in rows("cudarc-api.tsv", 2)? {
        let [module, item] = <[String; 2]>::try_from(row).unwrap_or_default();
        let is_here = if here.contains(&(module.clone(), item.clone())) { "yes" } else { "no" };
        writeln!(text, "{module}\t{item}\t{is_here}")?;
    }
    Ok(text)
}

/// The public items of the modules under a folder.
fn items(source: &Path) -> Result<Items> {
    let mut items = Items::new();
    for module in MODULES {
        let mut files = Vec::new();
        let (file, folder) = (source.join(format!("{module}.rs")), source.join(module));
        if file.is_file() {
            files.push((file, String::new()));
        }
        if folder.is_dir() {
            collect(&folder, "", &mut files)?;
        }
        for (file, prefix) in files {
            let text = fs::read_to_string(&file).with_context(|| format!("reading {}", file.display()))?;
            let parsed = syn::parse_file(&text).with_context(|| format!("reading {}", file.display()))?;
            let mut reader = Reader { module, items: &mut items };
            reader.items(&parsed.items, &prefix);
        }
    }
    Ok(items)
}

/// Files, with the prefix of their items: `result::` is a module that programs name, and so are those in it.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(PathBuf, String)>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let inner = match (prefix, stem.as_str()) {
            (_, "sys" | "sys_test" | "generated") => continue,
            ("", "result") => "result::".to_owned(),
            ("", _) | (_, "mod") => prefix.to_owned(),
            _ => format!("{prefix}{stem}::"),
        };
        if path.is_dir() {
            collect(&path, &inner, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push((path, inner));
        }
    }
    files.sort();
    Ok(())
}

struct Reader<'a> {
    module: &'static str,
    items: &'a mut Items,
}

impl Reader<'_> {
    fn add(&mut self, item: String) {
        self.items.insert((self.module.to_owned(), item));
    }

    fn items(&mut self, items: &[Item], prefix: &str) {
        let public = |visibility: &Visibility| matches!(visibility, Visibility::Public(_));
        for item in items {
            match item {
                Item::Struct(item) if public(&item.vis) => {
                    self.add(format!("{prefix}{}", item.ident));
                    for field in item.fields.iter().filter(|field| public(&field.vis)) {
                        if let Some(name) = &field.ident {
                            self.add(format!("{prefix}{}::{name}", item.ident));
                        }
                    }
                }
                Item::Enum(item) if public(&item.vis) => {
                    self.add(format!("{prefix}{}", item.ident));
                    for variant in &item.variants {
                        self.add(format!("{prefix}{}::{}", item.ident, variant.ident));
                    }
                }
                Item::Type(item) if public(&item.vis) => self.add(format!("{prefix}{}", item.ident)),
                Item::Fn(item) if public(&item.vis) => self.add(format!("{prefix}{}", item.sig.ident)),
                Item::Trait(item) if public(&item.vis) => {
                    self.add(format!("{prefix}{}", item.ident));
                    for of in &item.items {
                        if let TraitItem::Fn(function) = of {
                            self.add(format!("{prefix}{}::{}", item.ident, function.sig.ident));
                        }
                    }
                }
                Item::Impl(item) if item.trait_.is_none() => {
                    let Type::Path(path) = &*item.self_ty else { continue };
                    let Some(of) = path.path.segments.last() else { continue };
                    for function in &item.items {
                        if let ImplItem::Fn(function) = function {
                            if public(&function.vis) {
                                self.add(format!("{prefix}{}::{}", of.ident, function.sig.ident));
                            }
                        }
                    }
                }
                Item::Mod(item) if item.ident != "tests" && item.ident != "sys" => {
                    if let Some((_, inner)) = &item.content {
                        let is_named = public(&item.vis) && (!prefix.is_empty() || item.ident == "result");
                        let inner_prefix =
                            if is_named { format!("{prefix}{}::", item.ident) } else { prefix.to_owned() };
                        self.items(inner, &inner_prefix);
                    }
                }
                Item::Macro(item) => self.tokens(&item.mac.tokens, prefix),
                _ => {}
            }
        }
    }

    /// What a macro makes: each `pub fn`, `pub struct` and the like with a name of its own.
    fn tokens(&mut self, tokens: &TokenStream, prefix: &str) {
        let words: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for three in words.windows(3) {
            let word = |index: usize| match &three[index] {
                TokenTree::Ident(ident) => ident.to_string(),
                _ => String::new(),
            };
            if word(0) == "pub"
                && ["fn", "struct", "enum", "trait", "type"].contains(&word(1).as_str())
                && !word(2).is_empty()
            {
                self.add(format!("{prefix}{}", word(2)));
            }
        }
        for word in &words {
            if let TokenTree::Group(group) = word {
                self.tokens(&group.stream(), prefix);
            }
        }
    }
}
