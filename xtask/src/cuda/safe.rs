//! The items of cudarc's safe API, and which of them `cuda-compat` has: `api/cudarc-api.tsv`,
//! `cuda-compat/src/generated/cudarc.tsv`.
//!
//! Both are read from source: that of the published crate `cudarc` (names only), and that of `cuda-compat`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::{ImplItem, Item, TraitItem, Type, Visibility};

use super::inputs::rows;
use super::names::HEAD;
use crate::paths;

/// Items: module, path in it, such as `CudaStream::memcpy_htod` or `result::stream::create`.
pub(super) type Items = BTreeSet<(String, String)>;

/// Prefix of a name that a macro makes, if the macro's table does not name the type.
const MADE: &str = "<made>::";

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

/// Returns `api/cudarc-api.tsv`, from a folder with cudarc's source.
pub(super) fn api(cudarc: &Path) -> Result<String> {
    let mut text = String::from("module\titem\n");
    for (module, item) in items(&cudarc.join("src"))? {
        writeln!(text, "{module}\t{item}")?;
    }
    Ok(text)
}

/// Returns `generated/cudarc.tsv`: every item of cudarc, and whether `cuda-compat` has it.
pub(super) fn table() -> Result<String> {
    let here = items(&paths::root().join("cuda-compat/src"))?;
    let mut text = String::from("module\titem\there\n");
    for row in rows("cudarc-api.tsv", 2)? {
        let [module, item] = <[String; 2]>::try_from(row).unwrap_or_default();
        let is_here = if is_here(&here, &module, &item) { "yes" } else { "no" };
        writeln!(text, "{module}\t{item}\t{is_here}")?;
    }
    Ok(text)
}

/// Returns whether this crate has an item. A macro's methods are known by name, and count if the crate has their type.
fn is_here(here: &Items, module: &str, item: &str) -> bool {
    let has = |item: &str| here.contains(&(module.to_owned(), item.to_owned()));
    has(item) || item.rsplit_once("::").is_some_and(|(of, name)| has(of) && has(&format!("{MADE}{name}")))
}

/// Returns `tests/check/cudarc.rs`: an import of each item that the table marks as present, if it can be imported.
pub(super) fn imports() -> Result<String> {
    let here = items(&paths::root().join("cuda-compat/src"))?;
    let mut text = format!("{HEAD}\n//! Items that the table lists as present can be imported.\n");
    let rows = rows("cudarc-api.tsv", 2)?;
    for module in MODULES {
        let items = rows.iter().filter(|row| row[0] == *module && is_here(&here, module, &row[1]));
        let can_be_imported = |item: &str| {
            item.rsplit_once("::")
                .is_none_or(|(of, _)| of.rsplit("::").next().is_some_and(|of| of.starts_with(char::is_lowercase)))
        };
        let items: Vec<&str> = items.map(|row| row[1].as_str()).filter(|item| can_be_imported(item)).collect();
        if items.is_empty() {
            continue;
        }
        writeln!(text, "\nmod {module} {{")?;
        for item in items {
            writeln!(text, "    use cuda_compat::{module}::{item} as _;")?;
        }
        text.push_str("}\n");
    }
    Ok(text)
}

/// Returns the public items of the modules under a folder.
fn items(source: &Path) -> Result<Items> {
    let mut items = Items::new();
    for module in MODULES {
        if let Some(file) = file_of(source, module) {
            Reader { module, items: &mut items }.file(&file, "")?;
        }
    }
    // Errors and enums of `sys` are in the `-sys` crates, and `result` re-exports them.
    for (module, library) in [
        ("driver", "hip"),
        ("nvrtc", "hiprtc"),
        ("cublas", "hipblas"),
        ("cublaslt", "hipblas"),
        ("curand", "hiprand"),
        ("cusparse", "hipsparse"),
        ("cufft", "hipfft"),
        ("cusolver", "hipsolver"),
        ("nccl", "rccl"),
    ] {
        let file = paths::root().join(format!("{library}-sys/src/generated/cuda.rs"));
        if source.starts_with(paths::root()) && file.is_file() {
            let mut raw = Items::new();
            Reader { module, items: &mut raw }.file(&file, "result::")?;
            let is_here = |item: &str| items.contains(&(module.to_owned(), item.to_owned()));
            let of_types =
                raw.into_iter().filter(|(_, item)| item.rsplit_once("::").is_some_and(|(of, _)| is_here(of)));
            let of_types: Vec<_> = of_types.collect();
            items.extend(of_types);
        }
    }
    Ok(items)
}

/// Returns the file of a module in a folder.
fn file_of(folder: &Path, module: &str) -> Option<PathBuf> {
    [format!("{module}.rs"), format!("{module}/mod.rs")]
        .iter()
        .map(|file| folder.join(file))
        .find(|file| file.is_file())
}

struct Reader<'a> {
    module: &'static str,
    items: &'a mut Items,
}

impl Reader<'_> {
    fn add(&mut self, item: String) {
        self.items.insert((self.module.to_owned(), item));
    }

    /// Reads a file and the modules that it declares: public ones in `result` are parts of paths, others are
    /// re-exported.
    fn file(&mut self, file: &Path, prefix: &str) -> Result<()> {
        let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("reading {}", file.display()))?;
        self.items(&parsed.items, prefix);
        let is_root = file.file_stem().is_some_and(|stem| stem == "mod");
        let folder = if is_root { file.parent().map(Path::to_owned) } else { Some(file.with_extension("")) };
        for item in &parsed.items {
            let Item::Mod(item) = item else { continue };
            let name = item.ident.to_string();
            if item.content.is_some() || ["sys", "sys_test", "tests", "generated"].contains(&name.as_str()) {
                continue;
            }
            if let Some(inner) = folder.as_ref().and_then(|folder| file_of(folder, &name)) {
                let is_named = matches!(item.vis, Visibility::Public(_)) && (!prefix.is_empty() || name == "result");
                self.file(&inner, &if is_named { format!("{prefix}{name}::") } else { prefix.to_owned() })?;
            }
        }
        Ok(())
    }

    /// Adds the names that an import declares.
    fn leaves(&mut self, tree: &syn::UseTree, prefix: &str) {
        match tree {
            syn::UseTree::Path(path) => self.leaves(&path.tree, prefix),
            syn::UseTree::Name(name) => self.add(format!("{prefix}{}", name.ident)),
            syn::UseTree::Rename(name) => self.add(format!("{prefix}{}", name.rename)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.leaves(tree, prefix)),
            syn::UseTree::Glob(_) => {}
        }
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
                    // C types.
                    let name = of.ident.to_string();
                    if name.starts_with("CU") || name.starts_with(char::is_lowercase) {
                        continue;
                    }
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
                Item::Use(item) if public(&item.vis) => self.leaves(&item.tree, prefix),
                Item::Macro(item) if item.ident.is_none() => self.tokens(&item.mac.tokens, prefix),
                // Methods that a macro adds to each of its types.
                Item::Macro(item) => {
                    Reader { module: self.module, items: &mut *self.items }.tokens(&item.mac.tokens, MADE)
                }
                _ => {}
            }
        }
    }

    /// Adds the items that a macro makes: functions, public structs and the like with a name of their own.
    fn tokens(&mut self, tokens: &TokenStream, prefix: &str) {
        let words: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let text = |at: usize| match words.get(at) {
            Some(TokenTree::Ident(ident)) => ident.to_string(),
            _ => String::new(),
        };
        for at in 0..words.len() {
            let name = text(at + 1);
            let is_item =
                ["struct", "enum", "trait", "type"].contains(&text(at).as_str()) && text(at.wrapping_sub(1)) == "pub";
            if (is_item || text(at) == "fn") && !name.is_empty() {
                self.add(format!("{prefix}{name}"));
            }
            // An entry of a table after its documentation: names up to its arguments, as in `sgemm, cublasSgemm_v2, f32;`.
            let is_behind = matches!(&words[at], TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
                && matches!(words.get(at.wrapping_sub(1)), Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
            if is_behind {
                let entry = words[at + 1..].iter().take_while(|word| match word {
                    TokenTree::Group(group) => group.delimiter() == Delimiter::Bracket,
                    TokenTree::Punct(punct) => !matches!(punct.as_char(), ';' | '='),
                    _ => true,
                });
                for word in entry {
                    if let TokenTree::Ident(name) = word {
                        self.add(format!("{prefix}{name}"));
                        self.add(format!("{MADE}{name}"));
                    }
                }
            }
        }
        for word in &words {
            if let TokenTree::Group(group) = word {
                self.tokens(&group.stream(), prefix);
            }
        }
    }
}
