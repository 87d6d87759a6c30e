//! The table of C functions against the declarations of `hiprand-sys`, at every level.

use hiprand::table::FUNCTIONS;
use linalg_testing::ParameterKind::{F32, F64, Flag, I32, I64, Pointer, Size, U16, U64};
use linalg_testing::declared;

#[test]
fn each_function_has_the_parameters_that_c_has() {
    let declared = declared("hiprand");
    for (name, parameters) in FUNCTIONS {
        let expected: Vec<_> = parameters
            .iter()
            .map(|&parameter| match parameter {
                "c_int" => I32,
                "c_longlong" => I64,
                "u16" => U16,
                "u32" => Flag,
                "u64" => U64,
                "usize" => Size,
                "f32" => F32,
                "f64" => F64,
                "Opaque" | "hipStream_t" | "Ints" | "Longs" | "Bytes" => Pointer,
                other if other.starts_with('*') => Pointer,
                other => panic!("{other}"),
            })
            .collect();
        for kinds in declared.get(*name).unwrap_or_else(|| panic!("{name} is not declared")) {
            assert_eq!(kinds, &expected, "{name}");
        }
    }
    assert_eq!(FUNCTIONS.len(), COUNT);
}

/// All of hipRAND.
const COUNT: usize = 30;
