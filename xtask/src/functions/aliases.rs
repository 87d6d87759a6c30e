//! Search aliases of the items of `hip` and `hip-gl`: `#[doc(alias(...))]` with the HIP functions that an item wraps
//! and their CUDA counterparts. Other names that a search must find have the form `#[doc(alias = "...")]`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::files::rust_files;
use crate::paths;

/// Functions that the crates only call internally: no item wraps them.
const INTERNAL: &[&str] = &[
    "hipArray3DGetDescriptor",
    "hipCtxGetCurrent",
    "hipGraphChildGraphNodeGetGraph",
    "hipGraphDestroyNode",
    "hipInit",
    "hipStreamGetCaptureInfo_v2",
    "hipStreamGetDevice",
];

/// Checks the aliases: each function in `called` is one, and each occurs with its CUDA counterparts. `known` are HIP's
/// functions.
pub(super) fn check<'a>(called: impl Iterator<Item = &'a String>, known: &BTreeSet<String>) -> Result<()> {
    let cuda = cuda_names()?;
    let mut aliases = BTreeSet::new();
    let mut wrong = Vec::new();
    let [hip, gl] = ["hip/src", "hip-gl/src"].map(|folder| rust_files(&paths::root().join(folder)));
    for file in hip?.into_iter().chain(gl?) {
        let text = fs::read_to_string(&file)?;
        for row in rows(&text)? {
            let (functions, others): (Vec<&String>, Vec<&String>) =
                row.iter().partition(|alias| known.contains(*alias));
            let expected: BTreeSet<&String> =
                functions.iter().filter_map(|function| cuda.get(*function)).flatten().collect();
            if functions.len() != 1 || others.iter().any(|other| !expected.contains(other)) {
                wrong.push(format!("{}: {row:?} is not a HIP function with its CUDA counterparts", file.display()));
            }
            aliases.extend(row);
        }
    }
    for function in called.filter(|function| known.contains(*function) && !INTERNAL.contains(&function.as_str())) {
        let names = std::iter::once(function).chain(cuda.get(function).into_iter().flatten());
        let missing: Vec<&String> = names.filter(|name| !aliases.contains(*name)).collect();
        if !missing.is_empty() {
            wrong.push(format!(
                "{missing:?}: no item of hip or hip-gl has this alias; put #[doc(alias(...))] on the item for {function}"
            ));
        }
    }
    ensure!(wrong.is_empty(), "aliases of the items of hip and hip-gl:\n  {}", wrong.join("\n  "));
    Ok(())
}

/// Returns the aliases of each attribute.
fn rows(text: &str) -> Result<Vec<Vec<String>>> {
    let attribute = Regex::new(r"#\[doc\(alias\(([^\]]*)\)\)\]")?;
    let name = Regex::new("\"(\\w+)\"")?;
    let names = |list: &str| name.captures_iter(list).map(|found| found[1].to_owned()).collect();
    Ok(attribute.captures_iter(text).map(|found| names(&found[1])).collect())
}

/// Returns the CUDA functions by their HIP counterpart.
fn cuda_names() -> Result<BTreeMap<String, Vec<String>>> {
    let path = paths::root().join("api/cuda-names.tsv");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(hip), Some(cuda)) = (fields.next(), fields.next()) else { continue };
        names.entry(hip.to_owned()).or_default().push(cuda.to_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read() {
        let text =
            "#[doc(alias(\"hipA\", \"cudaA\"))]\n#[doc(alias(\n    \"hipB\",\n    \"cuB\"\n))]\n/// alias(\"hipC\")";
        assert_eq!(rows(text).unwrap(), [["hipA", "cudaA"], ["hipB", "cuB"]]);
    }

    #[test]
    fn a_missing_alias_is_found() {
        let known = BTreeSet::from(["hipNobodysFunction".to_owned()]);
        let error = check(known.iter(), &known).unwrap_err().to_string();
        assert!(error.contains("hipNobodysFunction"), "{error}");
    }

    #[test]
    fn malloc_has_its_cuda_names() {
        let names = cuda_names().unwrap();
        assert_eq!(names["hipMalloc"], ["cuMemAlloc", "cudaMalloc"]);
    }
}
