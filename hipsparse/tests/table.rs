//! The table of C functions against the declarations of `hipsparse-sys`, at every level.

use hipsparse::table::{FUNCTIONS, ROUTINES};
use linalg_testing::ParameterKind::{F32, F64, Flag, I32, I64, Pointer, Size};
use linalg_testing::{ParameterKind, declared};

/// Returns the C type of a kind for one letter; `None` for a complex number, whose C type is a struct in the
/// declarations.
fn kind(name: &str, letter: usize) -> Option<ParameterKind> {
    Some(match (name, letter) {
        ("int", _) => I32,
        ("long", _) => I64,
        ("size", _) => Size,
        ("flag", _) => Flag,
        ("ptr", _) => Pointer,
        ("value", 0) => F32,
        ("value", 1) => F64,
        ("value", _) => return None,
        (other, _) => panic!("{other}"),
    })
}

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared("hipsparse");
    let mut compared = 0;
    for (set, routine, parameters) in ROUTINES {
        let letters = match *set {
            "RealValue" => 0..2,
            "ComplexValue" => 2..4,
            _ => 0..4,
        };
        for letter in letters {
            let name = &routine.names[letter];
            let expected: Vec<_> =
                std::iter::once(Some(Pointer)).chain(parameters.iter().map(|name| kind(name, letter))).collect();
            for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
                assert_eq!(kinds.len(), expected.len(), "{name}");
                for (found, expected) in kinds.iter().zip(&expected) {
                    assert!(expected.is_none_or(|expected| expected == *found), "{name}: {kinds:?}, not {expected:?}");
                }
                compared += 1;
            }
        }
    }
    assert!(compared >= 190, "{compared}");
}

/// Those without letters. The forms of one name before and after ROCm 6 have an entry each.
#[test]
fn the_other_functions_have_the_parameters_that_c_has() {
    let declared = declared("hipsparse");
    for (name, parameters) in FUNCTIONS {
        let expected: Vec<_> = parameters.iter().map(|parameter| kind(parameter, 0).unwrap()).collect();
        let found = declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared"));
        let entries = FUNCTIONS.iter().filter(|(other, _)| other == name).count();
        if entries == 1 {
            assert!(found.iter().all(|kinds| *kinds == expected), "{name}: {found:?}, not {expected:?}");
        } else {
            assert!(found.contains(&expected), "{name}: {found:?}, not {expected:?}");
        }
    }
    assert!(FUNCTIONS.len() >= 100, "{}", FUNCTIONS.len());
}
