//! Return values of calls whose function is missing.

use std::collections::BTreeSet;
use std::fmt::Write;

use anyhow::{Result, ensure};

use super::types::tidy;
use super::written::Written;
use crate::bindgen::forms::{Form, all};
use crate::bindgen::library::Status;
use crate::bindgen::surface::Kind;

/// Returns implementations of `MissingValue` for the status types, and for other results.
pub(super) fn missing(written: &Written<'_>, items: &[(&str, &Form)]) -> Result<String> {
    let Written { library, forms, .. } = written;
    let mut text = String::new();
    for status in library.statuses {
        let Status { ty, library_missing, symbol_missing, other_release } = status;
        ensure!(forms.contains_key(*ty), "no status type {ty}");
        if !items.iter().any(|(name, _)| name == ty) {
            continue;
        }
        let mut arms: Vec<(&str, String)> = Vec::new();
        for (why, value) in [("Library", library_missing), ("Symbol", symbol_missing), ("Release", other_release)] {
            match arms.iter_mut().find(|(known, _)| known == value) {
                Some((_, patterns)) => *patterns += &format!(" | rocm_loader::Missing::{why}"),
                None => arms.push((value, format!("rocm_loader::Missing::{why}"))),
            }
        }
        let names: Vec<String> = arms.iter().map(|(value, _)| format!("`{value}`")).collect();
        let doc = match &names[..] {
            [one] => format!("/// {one}.\n"),
            [library, other] => format!("/// {library}, and {other} if only the function is missing.\n"),
            _ => format!(
                "/// {}, {} if only the function is missing, and {} if it is declared otherwise.\n",
                names[0], names[1], names[2]
            ),
        };
        let arm = |(value, patterns): &(&str, String)| format!("            {patterns} => {value},\n");
        let body = match &arms[..] {
            [(value, _)] => format!("    fn missing(_: rocm_loader::Missing) -> Self {{\n        {value}\n    }}\n"),
            _ => format!(
                "    fn missing(why: rocm_loader::Missing) -> Self {{\n        match why {{\n{}        }}\n    }}\n",
                arms.iter().map(arm).collect::<String>()
            ),
        };
        write!(text, "\n{doc}impl rocm_loader::MissingValue for {ty} {{\n{body}}}\n")?;
    }
    // The types of other results, with aliases resolved.
    let mut results: BTreeSet<String> = BTreeSet::new();
    let functions = all(forms, |kind| match kind {
        Kind::Function(item) => Some(&item.sig.output),
        _ => None,
    });
    for (_, _, output) in functions {
        let syn::ReturnType::Type(_, ty) = output else { continue };
        let mut name = tidy(ty)?;
        while let Some(next) = forms.get(&name).and_then(|forms| match &forms[0].kind {
            Kind::Type(item) => tidy(&item.ty).ok(),
            Kind::Alias(target) => Some(target.clone()),
            _ => None,
        }) {
            name = next;
        }
        results.insert(name);
    }
    let by_hand =
        |name: &str| library.statuses.iter().any(|status| status.ty == name) || library.results_by_hand.contains(&name);
    for (name, form) in items.iter().filter(|(name, _)| results.contains(*name) && !by_hand(name)) {
        if matches!(form.kind, Kind::Enum(..) | Kind::Struct(..) | Kind::Union(_)) {
            write!(
                text,
                "\n/// Zero.\nimpl rocm_loader::MissingValue for {name} {{\n    fn missing(_: rocm_loader::Missing) -> Self {{\n        \
                 Self::default()\n    }}\n}}\n"
            )?;
        }
    }
    Ok(text)
}
