//! `cargo xtask functions`: lists each function of the HIP runtime with its counterpart in the crates `hip` and
//! `hip-gl`, or the reason why it is left out.
//!
//! The page is generated from the sources: a function counts as covered if code of these crates calls it, and is listed
//! with the public items whose documentation names it.

mod aliases;
mod compiler;
mod files;
mod graph;
#[cfg(test)]
mod hip_tests;
mod left_out;
mod libraries;
mod sparse;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use syn::{Attribute, Expr, ImplItem, Item, Lit, Meta, Type, Visibility};

use crate::paths;
use files::rust_files;

/// Write hip/HIP_FUNCTIONS.md again, and the pages of the math and compiler libraries: each function with its
/// counterpart in the safe crates, or the reason why it has none.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write nothing: fail if the page is not what would be written, or if a function that is called is not a search
    /// alias in `hip`
    #[arg(long)]
    check: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (path, page) = (paths::root().join("hip/HIP_FUNCTIONS.md"), page()?);
    if args.check {
        let is = fs::read_to_string(&path).unwrap_or_default();
        ensure!(is == page, "hip/HIP_FUNCTIONS.md is not up to date (cargo xtask functions)");
        let known =
            functions()?.into_iter().flat_map(|(_, functions)| functions).map(|function| function.name).collect();
        let [hip, gl] = safe_crates()?;
        aliases::check(hip.called.keys().chain(gl.called.keys()), &known)?;
        for library in libraries::LIBRARIES {
            let is = fs::read_to_string(library.path()).unwrap_or_default();
            ensure!(is == library.page()?, "{} is not up to date (cargo xtask functions)", library.path().display());
        }
        for page in compiler::PAGES {
            let is = fs::read_to_string(page.path()).unwrap_or_default();
            ensure!(is == page.text()?, "{} is not up to date (cargo xtask functions)", page.path().display());
        }
        return Ok(());
    }
    for page in compiler::PAGES {
        fs::write(page.path(), page.text()?).with_context(|| format!("writing {}", page.path().display()))?;
    }
    for library in libraries::LIBRARIES {
        fs::write(library.path(), library.page()?).with_context(|| format!("writing {}", library.path().display()))?;
    }
    fs::write(&path, page).with_context(|| format!("writing {}", path.display()))
}

/// A function of the runtime.
struct Function {
    name: String,
    /// The first release that has it.
    since: String,
}

/// The functions found in the sources of a safe crate.
#[derive(Default)]
struct Safe {
    /// The prefix of the names of items and modules.
    prefix: &'static str,
    /// Functions that are called, with the modules that call them.
    called: BTreeMap<String, BTreeSet<String>>,
    /// Functions that are named in the documentation of public items, with the items.
    named: BTreeMap<String, Vec<String>>,
}

/// Returns the functions of hip-sys by topic.
fn functions() -> Result<Vec<(String, Vec<Function>)>> {
    let declaration = Regex::new(r#""([0-9.]+)" pub fn (hip\w+)\("#)?;
    let by_name = crate::bindgen::topics_of_hip()?;
    let mut topics: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for file in rust_files(&paths::root().join("hip-sys/src/generated"))? {
        for found in declaration.captures_iter(&fs::read_to_string(&file)?) {
            let of_topic = topics.entry(by_name.of(&found[2])).or_default();
            of_topic.insert(found[2].to_owned(), found[1].to_owned());
        }
    }
    let functions = |names: BTreeMap<String, String>| names.into_iter().map(|(name, since)| Function { name, since });
    Ok(topics.into_iter().map(|(topic, names)| (topic.to_owned(), functions(names).collect())).collect())
}

impl Safe {
    /// Reads the sources of a crate that calls the runtime through a module with this name. The crate's items are shown
    /// with `prefix`.
    fn read(folder: &Path, calls: &str, prefix: &'static str) -> Result<Self> {
        let call = Regex::new(&format!(r"\b(?:{calls}(?:::rocm_\d+_\d+)?|forms)::(hip[A-Z]\w*)\s*\("))?;
        let mut safe = Self { prefix, ..Self::default() };
        for file in rust_files(folder)? {
            let text = fs::read_to_string(&file)?;
            let module = file.strip_prefix(folder)?.with_extension("").display().to_string();
            let module = module.trim_end_matches("/mod").replace('/', "::");
            for found in call.captures_iter(&text) {
                safe.called.entry(found[1].to_owned()).or_default().insert(module.clone());
            }
            let parsed = syn::parse_file(&text).with_context(|| format!("parsing {}", file.display()))?;
            parsed.items.iter().for_each(|item| safe.item(item));
        }
        Ok(safe)
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Fn(function) => self.note(&function.vis, &function.attrs, || function.sig.ident.to_string()),
            Item::Struct(item) => self.note(&item.vis, &item.attrs, || item.ident.to_string()),
            Item::Enum(item) => {
                self.note(&item.vis, &item.attrs, || item.ident.to_string());
                for variant in &item.variants {
                    self.note(&item.vis, &variant.attrs, || format!("{}::{}", item.ident, variant.ident));
                }
            }
            Item::Impl(block) if block.trait_.is_none() => {
                let Type::Path(owner) = &*block.self_ty else { return };
                let Some(owner) = owner.path.segments.last() else { return };
                for item in &block.items {
                    if let ImplItem::Fn(function) = item {
                        self.note(&function.vis, &function.attrs, || {
                            format!("{}::{}", owner.ident, function.sig.ident)
                        });
                    }
                }
            }
            _ => {}
        }
    }

    /// Records the functions that the documentation of a public item names.
    fn note(&mut self, visibility: &Visibility, attributes: &[Attribute], name: impl Fn() -> String) {
        if !matches!(visibility, Visibility::Public(_)) {
            return;
        }
        // An example may name functions that the item does not wrap.
        let text = documentation(attributes);
        let prose: String = text.split("```").step_by(2).collect();
        let mut seen = BTreeSet::new();
        for word in prose.split('`').skip(1).step_by(2) {
            if word.starts_with("hip") && seen.insert(word.to_owned()) {
                self.named.entry(word.to_owned()).or_default().push(name());
            }
        }
    }

    /// Returns the public items or modules of the safe crate through which a called function is used.
    fn place(&self, function: &str) -> Option<String> {
        const SHOWN: usize = 3;
        let modules = self.called.get(function)?;
        let list = |names: &mut dyn Iterator<Item = &String>| {
            names.take(SHOWN).map(|name| format!("`{}{name}`", self.prefix)).collect::<Vec<_>>().join(", ")
        };
        Some(match self.named.get(function) {
            Some(items) => list(&mut items.iter()),
            None => format!("within {}", list(&mut modules.iter())),
        })
    }
}

fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(literal) = &pair.value else { continue };
        let (true, Lit::Str(line)) = (pair.path.is_ident("doc"), &literal.lit) else { continue };
        text.push_str(&line.value());
        text.push('\n');
    }
    text
}

/// The reasons, in order, and whether each has matched.
struct Reasons(Vec<(Regex, &'static str, bool)>);

impl Reasons {
    fn new() -> Result<Self> {
        let compile = |(pattern, reason): &(&str, &'static str)| {
            Ok((
                Regex::new(&format!("^(?:{pattern})$")).with_context(|| format!("the pattern {pattern}"))?,
                *reason,
                false,
            ))
        };
        left_out::REASONS.iter().map(compile).collect::<Result<_>>().map(Self)
    }

    fn of(&mut self, function: &str) -> Option<&'static str> {
        let (_, reason, served) = self.0.iter_mut().find(|(pattern, ..)| pattern.is_match(function))?;
        *served = true;
        Some(*reason)
    }

    fn all_served(&self) -> Result<()> {
        match self.0.iter().find(|(.., served)| !served) {
            Some((pattern, ..)) => {
                anyhow::bail!("no function that is left out matches {pattern}: take it off the list of reasons")
            }
            None => Ok(()),
        }
    }
}

/// Returns `hip` and `hip-gl`.
fn safe_crates() -> Result<[Safe; 2]> {
    let hip = Safe::read(&paths::root().join("hip/src"), "hip_sys", "")?;
    let gl = Safe::read(&paths::root().join("hip-gl/src"), "sys", "hip_gl::")?;
    Ok([hip, gl])
}

fn page() -> Result<String> {
    let [hip, gl] = safe_crates()?;
    let mut reasons = Reasons::new()?;
    let (mut summary, mut tables) = (String::new(), String::new());
    let mut totals = [0usize; 4];
    for (group, functions) in functions()? {
        let mut counts = [functions.len(), 0, 0, 0];
        write!(tables, "\n## {group}\n\n| function | since | in `hip` |\n|---|---|---|\n")?;
        for Function { name, since } in functions {
            let text = match (hip.place(&name).or_else(|| gl.place(&name)), reasons.of(&name)) {
                (Some(place), _) => {
                    counts[1] += 1;
                    place
                }
                (None, Some(reason)) => {
                    counts[2] += 1;
                    format!("— {reason}")
                }
                (None, None) => {
                    counts[3] += 1;
                    "not yet".to_owned()
                }
            };
            writeln!(tables, "| `{name}` | {since} | {text} |")?;
        }
        let [all, safe, left_out, missing] = counts;
        writeln!(summary, "| [{group}](#{group}) | {all} | {safe} | {left_out} | {missing} |")?;
        totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count);
    }
    reasons.all_served()?;
    let [all, safe, left_out, missing] = totals;
    Ok(format!(
        "<!-- Written by `cargo xtask functions`; do not edit. -->\n\
         # HIP functions in the crate `hip`\n\n\
         Every function that the HIP runtime exports in any release from 5.7 to 10.0, with the item of `hip` that calls it, or\n\
         the reason why none does. `hip_gl::` is the crate [`hip-gl`](../hip-gl), which has the functions for OpenGL. Raw\n\
         bindings of all functions are in [`hip-sys`](../hip-sys), re-exported as `hip::sys`.\n\n\
         | | functions | in `hip` | left out | not yet |\n|---|---|---|---|---|\n{summary}\
         | all | {all} | {safe} | {left_out} | {missing} |\n{tables}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        run(&Args { check: true }).unwrap();
    }

    #[test]
    fn documentation_without_its_examples_names_functions() {
        let file = syn::parse_file(
            "impl Thing {
                /// Does it (`hipDoIt`), as `other` does.
                ///
                /// ```
                /// let x = `hipNotThis`;
                /// ```
                /// After (`hipAfter`).
                pub fn act(&self) { unsafe { hip_sys::hipDoIt() } }
                /// Private (`hipHidden`).
                fn hidden(&self) {}
            }",
        )
        .unwrap();
        let mut safe = Safe::default();
        file.items.iter().for_each(|item| safe.item(item));
        let names: Vec<&str> = safe.named.keys().map(String::as_str).collect();
        assert_eq!(names, ["hipAfter", "hipDoIt"]);
        assert_eq!(safe.named["hipDoIt"], ["Thing::act"]);
    }
}
