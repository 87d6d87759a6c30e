//! `cuda-compat/src/generated/names.tsv`: the information about each name that `cuda-compat check` uses.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use super::inputs::Sort;
use super::names::{Fate, Names};

/// Returns the table. Its columns: module, sort, name, fate, feature, text; `cuda-compat/src/check/names.rs` reads it. The
/// text of a constant that is here only under its type's name, a `variant`, is that type.
pub(super) fn table(names: &Names) -> Result<String> {
    let mut text = String::from("module\tsort\tname\tfate\tfeature\ttext\n");
    for of in &names.modules {
        let variants: BTreeMap<&str, &str> = of
            .entries
            .iter()
            .filter_map(|(name, entry)| {
                Some((name, if let Fate::Enum(variants) = &entry.fate { variants } else { return None }))
            })
            .flat_map(|(name, variants)| variants.iter().map(move |variant| (variant.name.as_str(), name.as_str())))
            .collect();
        for (name, entry) in &of.entries {
            let sort = match entry.sort {
                Sort::Function => "function",
                Sort::Type => "type",
                Sort::Constant => "constant",
            };
            let (fate, to, about) = match (&entry.fate, variants.get(name.as_str())) {
                (Fate::Absent(_), Some(of)) => ("variant", None, (*of).to_owned()),
                (fate, _) => row(fate),
            };
            let feature = to.and_then(|to| names.form(of.module, to).ok()?.feature()).unwrap_or_default();
            writeln!(text, "{}\t{sort}\t{name}\t{fate}\t{feature}\t{about}", of.module.name)?;
        }
    }
    Ok(text)
}

/// Returns the word for a fate, the item of ROCm whose level counts, and a remark.
fn row(fate: &Fate) -> (&'static str, Option<&str>, String) {
    match fate {
        Fate::Same(to) => ("same", Some(to), to.clone()),
        Fate::Wrapped(to) => ("wrapped", Some(to), to.clone()),
        Fate::Renamed(to, before) => ("wrapped", None, format!("{to} (before ROCm 7.0: {before})")),
        Fate::Struct(to) => ("wrapped", Some(to), to.clone()),
        Fate::Alias(to) => ("wrapped", None, (*to).to_owned()),
        Fate::ByHand(how) => ("by-hand", None, (*how).to_owned()),
        Fate::Enum(_) => ("same", None, "an enum of its own".to_owned()),
        Fate::Variant(_, Some(to)) => ("same", Some(to), to.clone()),
        Fate::Variant(_, None) => ("lacking", None, String::new()),
        Fate::Named(of) => ("same", None, of.clone()),
        Fate::Written(beneath) => ("wrapped", None, beneath.clone()),
        Fate::Invented(_, ty) => ("lacking", Some(ty), String::new()),
        Fate::Absent(why) => ("absent", None, why.clone()),
    }
}
