//! The table of C functions against the declarations of `hipblas-sys`, at every level: each parameter in the place and of the kind that C has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hipblas::table::{EX_ROUTINES, ROUTINES};
use regex::Regex;

/// The declarations of each function: the kinds of their parameters.
fn declared() -> BTreeMap<String, Vec<Vec<&'static str>>> {
    let mut files = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../hipblas-sys/src/generated")];
    let declaration = Regex::new(r#"(?s)"[0-9.]+" pub fn (hipblas\w+)\(([^)]*)\) -> hipblasStatus_t;"#).unwrap();
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
                    "c_int" | "i32" => "i32",
                    "i64" | "c_longlong" | "hipblasStride" => "i64",
                    "usize" => "usize",
                    "hipblasHandle_t" | "hipStream_t" => "pointer",
                    _ if ty.starts_with('*') => "pointer",
                    _ if ty.starts_with("hipblas") || ty == "hipDataType" => "u32",
                    _ => panic!("a type that is not known: {ty}"),
                }
            });
            found.entry(function[1].to_owned()).or_default().push(kinds.collect());
        }
    }
    found
}

/// The kinds of the parameters of a form.
fn expected(parameters: &str, form: usize) -> Vec<&'static str> {
    let int = if form >= 3 { "i64" } else { "i32" };
    let strided = form % 3 == 2;
    let mut kinds = vec!["pointer"];
    for parameter in parameters.split_whitespace() {
        match parameter {
            "int" => kinds.push(int),
            "flag" => kinds.push("u32"),
            "ptr" => kinds.push("pointer"),
            "view" => kinds.extend(["pointer", int]),
            "typed" => kinds.extend(["pointer", "u32", int]),
            "packed" => kinds.push("pointer"),
            ";" if form % 3 != 0 => kinds.push(int),
            ";" => {}
            other => panic!("{other}"),
        }
        if strided && matches!(parameter, "view" | "typed" | "packed") {
            kinds.push("i64");
        }
    }
    kinds
}

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared();
    let (mut compared, mut missing) = (0, Vec::new());
    for (routine, of) in ROUTINES.iter().chain(EX_ROUTINES) {
        for names in (of.functions)() {
            for (form, name) in names.iter().enumerate() {
                let Some(declarations) = declared.get(*name) else {
                    missing.push(*name);
                    continue;
                };
                for kinds in declarations {
                    let mut expected = expected(of.parameters, form);
                    if *routine == "trmm" && kinds.len() < expected.len() {
                        // Before 6.2 it has no third matrix: `trmm_in_place`.
                        let third = if form % 3 == 2 { 3 } else { 2 };
                        let at = expected.len() - third - usize::from(form % 3 != 0);
                        expected.drain(at..at + third);
                    }
                    assert_eq!(kinds, &expected, "{name}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 1000, "{compared}");
    // No release has them.
    let lapack = ["trtri", "getr", "geqrf", "gels"];
    let known =
        |name: &&str| lapack.iter().any(|of| name.contains(of)) && name.ends_with("_64") || name.contains("getri");
    assert!(missing.iter().all(known), "{missing:?}");
}
