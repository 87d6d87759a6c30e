//! Checks that the tests of `hip` and `hip-gl` named in `hip/HIP_TESTS.md` exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use syn::Item;

use crate::paths;

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Adds the tests of a module, by their paths.
fn collect(path: &str, items: &[Item], tests: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Fn(function) if function.attrs.iter().any(|attribute| attribute.path().is_ident("test")) => {
                tests.insert(format!("{path}::{}", function.sig.ident));
            }
            Item::Mod(module) => {
                if let Some((_, items)) = &module.content {
                    collect(&format!("{path}::{}", module.ident), items, tests);
                }
            }
            _ => {}
        }
    }
}

/// Returns the text between backticks in the columns after the first, for the rows of a page's tables.
fn names(page: &str) -> Vec<Vec<String>> {
    let quoted = Regex::new("`([^`]+)`").unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix('|')?.split_once('|'));
    rows.map(|(_, rest)| quoted.captures_iter(rest).map(|found| found[1].to_owned()).collect()).collect()
}

/// Returns the names of a row that look like tests but do not exist. A name without a path is in the module of the name
/// before it; a star matches any end.
fn unknown(row: &[String], tests: &BTreeSet<String>, functions: &BTreeSet<String>) -> Vec<String> {
    let looks = Regex::new(r"^[a-z][a-z0-9_]*(::[a-z0-9_]+)*(::)?\*?$").unwrap();
    let (mut folder, mut unknown) = (String::new(), Vec::new());
    for name in row.iter().filter(|name| looks.is_match(name) && (name.contains("::") || name.contains('_'))) {
        let there = |path: &str| match path.strip_suffix('*') {
            Some(start) => tests.iter().any(|test| test.starts_with(start)),
            None => tests.iter().any(|test| test == path || test.starts_with(&format!("{path}::"))),
        };
        match [name.clone(), format!("{folder}::{name}")].into_iter().find(|path| there(path)) {
            Some(path) => folder = path.rsplit_once("::").map_or(folder, |(folder, _)| folder.to_owned()),
            // A method or the like.
            None if functions.contains(name) => {}
            None => unknown.push(name.clone()),
        }
    }
    unknown
}

#[test]
fn each_test_that_is_named_is_there() {
    let hip = paths::root().join("hip");
    let function = Regex::new(r"\bfn (\w+)").unwrap();
    let (mut tests, mut functions) = (BTreeSet::new(), BTreeSet::new());
    for root in [hip.join("tests"), hip.join("src"), paths::root().join("hip-gl/tests")] {
        for file in rust_files(&root) {
            let text = fs::read_to_string(&file).unwrap();
            let path = file.strip_prefix(&root).unwrap().with_extension("");
            let path: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
            let path = match path.split_last() {
                Some((last, folder)) if matches!(&**last, "main" | "mod" | "lib") => folder.join("::"),
                _ => path.join("::"),
            };
            // Programs that are meant not to compile are skipped.
            if let Ok(file) = syn::parse_file(&text) {
                collect(&path, &file.items, &mut tests);
            }
            functions.extend(function.captures_iter(&text).map(|found| found[1].to_owned()));
        }
    }
    let page = fs::read_to_string(hip.join("HIP_TESTS.md")).unwrap();
    let rows = names(&page);
    assert!(rows.len() > 100 && tests.len() > 200, "{} rows, {} tests", rows.len(), tests.len());
    let unknown: Vec<_> = rows.iter().flat_map(|row| unknown(row, &tests, &functions)).collect();
    assert_eq!(unknown, [""; 0], "hip/HIP_TESTS.md names tests that are not there");
}

#[test]
fn a_name_that_is_none_is_found() {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let (tests, functions) =
        (set(&["gpu::stream::it_runs", "gpu::stream::it_waits_long", "held::it_holds"]), set(&["best_of"]));
    let page = "| of `not_this` | `gpu::stream::it_runs`, `it_waits_*`, `gpu::stream`, `best_of`, `hipMalloc`, `word`; `held::*` |";
    let row = &names(page)[0];
    assert_eq!((row.len(), unknown(row, &tests, &functions)), (7, vec![]));
    let row = &names("| unit | `gpu::stream::it_run`, `gpu::stream::it_runs`, `it_holds`, `it_wait_*`, `fork::*` |")[0];
    assert_eq!(unknown(row, &tests, &functions), ["gpu::stream::it_run", "it_holds", "it_wait_*", "fork::*"]);
}
