//! The subjects of hipSPARSE's functions, and why some are left out.

use std::collections::BTreeMap;

use anyhow::Result;
use regex::Regex;

/// The subjects of functions that are in the crate's table without a routine: patterns, in order.
const TOPICS: [(&str, &str); 15] = [
    (r"hipsparseGetError\w*", "`status_text`"),
    (r"hipsparse(Create|Destroy)HybMat", "`csr_to_hyb`"),
    (r"hipsparseXcsrge\w*", "`csrgemm`, `csrgemm_add`, `geam`, `csrgeam`"),
    (r"hipsparseSpMV\w*", "`spmv`, `spmv_plan`"),
    (r"hipsparseSpMM\w*", "`spmm`, `spmm_plan`"),
    (r"hipsparseSpGEMM\w*", "`spgemm`, `spgemm_plan`"),
    (r"hipsparseSDDMM\w*", "`sddmm`"),
    (r"hipsparseSpS[VM]_?\w*", "`spsv`, `spsm`"),
    (r"hipsparse(Axpby|Gather|Scatter|Rot|SpVV\w*)", "sparse vectors: `axpby`, `gather`, `scatter`, `rot`, `spvv`"),
    (r"hipsparse(SparseToDense|DenseToSparse)\w*", "`sparse_to_dense`, `dense_to_sparse`"),
    (
        r"hipsparse(X(csr|coo|geb|bsr)\w*(2|Nnz|sort)\w*|Xcscsort\w*|Csr2csc\w*|CreateIdentity\w*)",
        "conversions and sorts",
    ),
    (
        r"hipsparse(Create|Destroy|Set|Get|X)\w*(Info|Color|zeroPivot)\w*",
        "analyses of the older functions, and zero pivots",
    ),
    (
        r"hipsparse(Create|Destroy|Set|Get|Copy)Mat\w*",
        "descriptions of matrices of the older functions: `descr::MatDescr`",
    ),
    (
        r"hipsparse(Create|Destroy)?\w*(Sp|Dn)(Mat|Vec)\w*|hipsparse\w*(Csr|Csc|Coo|Ell|Bsr)\w*",
        "descriptions of sparse and dense operands: the module `descr`",
    ),
    (r"hipsparse\w*", "the handle"),
];

/// Patterns of functions that are left out, and why.
pub(super) const REASONS: &[(&str, &str)] = &[
    (
        r"hipsparse(BlockedEllSetPointers|Create(Const)?(Bsr|SlicedEll)|SpSM_solve_ex)",
        "new in 10.0: no library of that release to test with",
    ),
    (
        r"hipsparse[SDCZ](csrsv2|bsrsv2|csrilu02|csric02)_bufferSize",
        "sizes as `int`: the crate calls `..._bufferSizeExt`, which has `size_t`",
    ),
    (
        r"hipsparse\w*CooAoS\w*",
        "deprecated: `Coo` has an array of rows and one of columns, which the generic functions take, too",
    ),
    (r"hipsparseGet(Stream|PointerMode)", "the `Sparse` knows what it has set"),
];

/// Adds the functions of the crate's table: those with the letters of `Value` and `RealValue`, and the others.
pub(super) fn called(text: &str, called: &mut BTreeMap<String, String>) -> Result<()> {
    for found in Regex::new(r"(?m)^    (Value|RealValue|ComplexValue) (\w+)\(")?.captures_iter(text) {
        let letters = match &found[1] {
            "Value" => "SDCZ",
            "RealValue" => "SD",
            _ => "CZ",
        };
        for letter in letters.chars() {
            called.insert(format!("hipsparse{letter}{}", &found[2]), format!("`{}`", &found[2]));
            // The functions for sizes of prunings have two names each: a test compares their results.
            if let Some(other) = found[2].strip_suffix("Ext").filter(|_| found[2].starts_with("prune")) {
                called.insert(format!("hipsparse{letter}{other}"), format!("`{}`, under its other name", &found[2]));
            }
        }
    }
    let topics: Vec<(Regex, &str)> = TOPICS
        .iter()
        .map(|(pattern, topic)| Ok((Regex::new(&format!("^(?:{pattern})$"))?, *topic)))
        .collect::<Result<_>>()?;
    for found in Regex::new(r"(?m)^    fn (hipsparse\w+)\(")?.captures_iter(text) {
        if let Some((_, topic)) = topics.iter().find(|(pattern, _)| pattern.is_match(&found[1])) {
            called.insert(found[1].to_owned(), (*topic).to_owned());
        }
    }
    Ok(())
}
