//! The table of C functions against the declarations of `hipsolver-sys`, at every level.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hipsolver::table::ROUTINES;
use regex::Regex;

/// The declarations of each function: the kinds of their parameters.
fn declared() -> BTreeMap<String, Vec<Vec<&'static str>>> {
    let mut files = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../hipsolver-sys/src/generated")];
    let declaration = Regex::new(r#"(?s)"[0-9.]+" pub fn (hipsolver\w+)\(([^)]*)\) -> hipsolverStatus_t;"#).unwrap();
    let mut found: BTreeMap<String, Vec<Vec<&str>>> = BTreeMap::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        for function in declaration.captures_iter(&fs::read_to_string(&path).unwrap()) {
            let kinds = function[2].split(',').map(|parameter| {
                let ty = parameter.split_once(": ").expect("a name and a type").1.trim();
                match ty {
                    "c_int" | "i32" => "int",
                    "i64" | "c_longlong" => "i64",
                    "usize" => "size",
                    "c_schar" | "c_char" => "letter",
                    "f32" | "f64" => "float",
                    _ if ty.starts_with('*') || ty.ends_with("Handle_t") || ty.ends_with("Info_t") => "ptr",
                    "hipStream_t" | "hipsolverDnParams_t" | "hipsparseMatDescr_t" => "ptr",
                    _ => "flag",
                }
            });
            found.entry(function[1].to_owned()).or_default().push(kinds.collect());
        }
    }
    found
}

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared();
    let mut compared = 0;
    for (_, routine) in ROUTINES {
        for names in (routine.functions)() {
            for (name, parameters) in names.iter().zip(routine.parameters) {
                let mut expected = vec!["ptr"];
                for parameter in parameters.split_whitespace() {
                    match parameter {
                        "view" => expected.extend(["ptr", "int"]),
                        other => expected.push(other),
                    }
                }
                for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
                    assert_eq!(kinds, &expected, "{name}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 18 * 8, "{compared}");
}
