//! The parameters of a library's C functions, read from its `-sys` crate, for tests of the function tables in safe
//! crates.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use regex::Regex;

/// The type of a parameter in the C ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// `int`, `int32_t`
    I32,
    /// `int64_t`, `long long`
    I64,
    /// `uint64_t`
    U64,
    /// `unsigned short`, as the bits of a `half`.
    U16,
    /// `size_t`
    Size,
    /// An enum.
    Flag,
    /// `char`, `signed char`
    Letter,
    /// `float`
    F32,
    /// `double`
    F64,
    /// A pointer, or a handle.
    Pointer,
}

/// The declarations of each function, one per variant: the kinds of their parameters.
pub type Declared = BTreeMap<String, Vec<Vec<ParameterKind>>>;

/// The functions of a library that return a status, in all releases. `library` is the prefix of their names; its crate
/// is `LIBRARY-sys`.
///
/// # Panics
/// Panics if the crate does not exist, or has a parameter of an unknown kind.
#[must_use]
pub fn declared(library: &str) -> Declared {
    use ParameterKind::{F32, F64, Flag, I32, I64, Letter, Pointer, Size, U16, U64};
    let generated = format!("../../{library}-sys/src/generated");
    let mut files = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(generated)];
    // hipBLASLt's functions start with `hipblasLt`, and its statuses are hipBLAS's.
    let declaration = r#"(?s)"[0-9.]+" pub fn (\w+)\(([^)]*)\) -> hip(?:\w+Status_t|fftResult);"#;
    let declaration = Regex::new(declaration).expect("a pattern");
    let mut found = Declared::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("a folder");
            files.extend(entries.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for function in declaration.captures_iter(&text) {
            assert!(function[1].to_lowercase().starts_with(library), "{}", &function[1]);
            let kinds = function[2].split(',').map(|parameter| {
                let ty = parameter.split_once(": ").expect("a name and a type").1.trim();
                match ty {
                    "c_int" | "i32" => I32,
                    "i64" | "c_longlong" | "hipblasStride" => I64,
                    "u64" | "c_ulonglong" => U64,
                    "half" => U16,
                    "c_uint" => Flag,
                    "hiprandGenerator_t" | "hiprandDiscreteDistribution_t" | "hipfftHandle" => Pointer,
                    "usize" => Size,
                    "c_schar" | "c_char" => Letter,
                    "f32" => F32,
                    "f64" => F64,
                    "hipStream_t" | "hipsolverDnParams_t" | "hipsparseHybMat_t" => Pointer,
                    _ if ty.starts_with("hipsparse") && ty.ends_with("Descr_t") => Pointer,
                    _ if ty.starts_with('*') || ty.ends_with("Handle_t") || ty.ends_with("Info_t") => Pointer,
                    "hipblasLtMatmulDesc_t" | "hipblasLtMatmulPreference_t" => Pointer,
                    "hipblasLtMatrixLayout_t" | "hipblasLtMatrixTransformDesc_t" => Pointer,
                    _ if ty.starts_with("hip") => Flag,
                    _ => panic!("a type that is not known: {ty}"),
                }
            });
            found.entry(function[1].to_owned()).or_default().push(kinds.collect());
        }
    }
    assert!(!found.is_empty(), "no functions of {library}");
    found
}
