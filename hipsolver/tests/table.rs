//! The table of C functions against the declarations of `hipsolver-sys`, at every level.

use hipsolver::table::{FUNCTIONS, ROUTINES};
use linalg_testing::ParameterKind::{F32, F64, Flag, I32, I64, Letter, Pointer, Size};
use linalg_testing::declared;

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared("hipsolver");
    let mut compared = 0;
    for (_, routine) in ROUTINES {
        for names in (routine.functions)() {
            // The last parameters are those of the function that does the work; the first, of the size query for its workspace, if there is
            // one.
            for (name, parameters) in names.iter().zip(routine.parameters).filter(|(_, of)| !of.is_empty()) {
                // The letter of the type: after `hipsolver` or `hipsolverDn`.
                let letter = name.trim_start_matches("hipsolver").trim_start_matches("Dn").as_bytes()[0];
                let real = if matches!(letter, b'S' | b'C') { F32 } else { F64 };
                let mut expected = vec![Pointer];
                for parameter in parameters.split_whitespace() {
                    match parameter {
                        "int" => expected.push(I32),
                        "long" => expected.push(I64),
                        "size" => expected.push(Size),
                        "flag" => expected.push(Flag),
                        "letter" => expected.push(Letter),
                        "real" => expected.push(real),
                        "ptr" => expected.push(Pointer),
                        "view" => expected.extend([Pointer, I32]),
                        "strided" => expected.extend([Pointer, I32, I64]),
                        "apart" => expected.extend([Pointer, I64]),
                        "typed" => expected.extend([Flag, Pointer, I64]),
                        "column" => expected.extend([Flag, Pointer]),
                        other => panic!("{other}"),
                    }
                }
                for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
                    assert_eq!(kinds, &expected, "{name}");
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 29 * 8, "{compared}");
}

/// Those of the handle and of descriptions, by their types in Rust.
#[test]
fn the_other_functions_have_the_parameters_that_c_has() {
    let declared = declared("hipsolver");
    for (name, parameters) in FUNCTIONS {
        let expected: Vec<_> = parameters
            .iter()
            .map(|&parameter| match parameter {
                "i32" => I32,
                "u32" => Flag,
                "f64" => F64,
                other if other.starts_with('*') || other == "Handle" || other.ends_with("hipStream_t") => Pointer,
                other => panic!("{other}"),
            })
            .collect();
        for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
            assert_eq!(kinds, &expected, "{name}");
        }
    }
    assert!(FUNCTIONS.len() >= 19, "{}", FUNCTIONS.len());
}
