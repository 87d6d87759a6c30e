//! The table of C functions against the declarations of `hipblas-sys`, at every level: each parameter in the place and
//! of the kind that C has.

use hipblas::table::{EX_ROUTINES, ROUTINES};
use linalg_testing::ParameterKind::{self, Flag, I32, I64, Pointer};
use linalg_testing::declared;

/// The kinds of the parameters of a form.
fn expected(parameters: &str, form: usize) -> Vec<ParameterKind> {
    let int = if form >= 3 { I64 } else { I32 };
    let strided = form % 3 == 2;
    let mut kinds = vec![Pointer];
    for parameter in parameters.split_whitespace() {
        match parameter {
            "int" => kinds.push(int),
            "flag" => kinds.push(Flag),
            "ptr" => kinds.push(Pointer),
            "view" => kinds.extend([Pointer, int]),
            "typed" => kinds.extend([Pointer, Flag, int]),
            "packed" => kinds.push(Pointer),
            ";" if form % 3 != 0 => kinds.push(int),
            ";" => {}
            other => panic!("{other}"),
        }
        if strided && matches!(parameter, "view" | "typed" | "packed") {
            kinds.push(I64);
        }
    }
    kinds
}

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared("hipblas");
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
