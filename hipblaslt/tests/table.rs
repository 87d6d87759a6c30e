//! The table of C functions against the declarations of `hipblaslt-sys`, at every level.

use hipblaslt::table::FUNCTIONS;
use linalg_testing::ParameterKind::{Flag, I32, I64, Pointer, Size, U64};
use linalg_testing::declared;

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared("hipblaslt");
    for (name, parameters) in FUNCTIONS {
        let expected: Vec<_> = parameters
            .iter()
            .map(|&parameter| match parameter {
                "c_int" | "i32" => I32,
                "i64" => I64,
                "u64" => U64,
                "u32" => Flag,
                "usize" => Size,
                other if other.starts_with('*') || other == "Opaque" || other == "hipStream_t" => Pointer,
                other => panic!("{other}"),
            })
            .collect();
        for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
            assert_eq!(kinds, &expected, "{name}");
        }
    }
    let missing: Vec<_> = declared.keys().filter(|name| !FUNCTIONS.iter().any(|(have, _)| have == name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
