//! What hipSPARSE's functions are about, and why some are left out.

use std::collections::BTreeMap;

use anyhow::Result;
use regex::Regex;

/// Patterns of functions that the crate's table has without a routine, in their order, and what they are about.
const TOPICS: [(&str, &str); 12] = [
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
    (r"hipsparse(Create|Destroy|Set|Get|Copy)Mat\w*", "descriptions of matrices of the older functions"),
    (
        r"hipsparse(Create|Destroy)?\w*(Sp|Dn)(Mat|Vec)\w*|hipsparse\w*(Csr|Csc|Coo|Ell|Bsr)\w*",
        "descriptions of sparse and dense operands",
    ),
    (r"hipsparse\w*", "the handle"),
];

/// Patterns of what is left out, and why.
pub(super) const REASONS: &[(&str, &str)] = &[
    (
        r"hipsparse(BlockedEllSetPointers|Create(Const)?(Bsr|SlicedEll)|SpSM_solve_ex)",
        "new in 10.0: no library of that release to test with",
    ),
    (r"hipsparse[SDCZ]\w+_bufferSize", "sizes as `int`, or other names: the crate calls `..._bufferSizeExt`"),
    (
        r"hipsparse[SDCZ](axpyi|doti|dotci|gthrz?|roti|sctr)",
        "deprecated: `axpby`, `spvv`, `gather`, `rot` and `scatter` call the generic functions",
    ),
    (r"hipsparse[SDCZ]csrm[vm]2?", "deprecated: `spmv` and `spmm` call the generic functions"),
    (
        r"hipsparse([SDCZ]csrgemm2?\w*|Xcsrgemm2?Nnz|\w+Csrgemm2Info)",
        "deprecated: `spgemm` calls the generic functions",
    ),
    (r"hipsparse([SDCZ]csrsm2_\w+|Xcsrsm2_zeroPivot|\w+Csrsm2Info)", "deprecated: `spsm` calls the generic functions"),
    (r"hipsparse([SDCZ]csrgeam|XcsrgeamNnz)", "deprecated: `geam` calls `csrgeam2`"),
    (r"hipsparse[SDCZ]csr2csc", "deprecated: `csr_to_csc` calls `hipsparseCsr2cscEx2`"),
    (
        r"hipsparse[SDCZ](csr2dense|csc2dense|dense2csr|dense2csc)",
        "deprecated: `sparse_to_dense` and `dense_to_sparse` call the generic functions",
    ),
    (
        r"hipsparse([SDCZ](csr2hyb|hyb2csr|hybmv)|\w+HybMat)",
        "deprecated: a format of which neither size nor entries are told",
    ),
    (r"hipsparse([SDCZ](csru2csr\w*|csr2csru)|\w+Csru2csrInfo)", "sorts that can be undone: `sort` sorts"),
    (
        r"hipsparse([SDCZ]bsrsm2_\w+|Xbsrsm2_zeroPivot|\w+Bsrsm2Info)",
        "triangular solves with blocks for several right-hand sides: `triangular` has one",
    ),
    (r"hipsparse[SDCZ]bsrxmv", "products with some rows of blocks only"),
    (r"hipsparse\w+CooAoS\w*|hipsparseCooAoS\w+", "deprecated: `Coo` has an array of rows and one of columns"),
    (
        r"hipsparseCreateConst\w+|hipsparseConst\w+",
        "the functions that all releases have describe operands that are read, too",
    ),
    (r"hipsparseGetError\w+", "errors carry the status's name"),
    (r"hipsparseGet(Stream|PointerMode)", "the `Sparse` knows what it has set"),
    (
        r"hipsparse(GetMat|SetMatType|CopyMat)\w*",
        "matrices know what was set; types other than general have no function",
    ),
    (r"hipsparse(Sp|Dn|Csr|Csc|Coo|BlockedEll)\w*(Get|Set)\w*", "matrices and vectors know what they consist of"),
];

/// Functions of the crate's table: those with letters of `Value` and `RealValue`, and the others.
pub(super) fn called(text: &str, called: &mut BTreeMap<String, String>) -> Result<()> {
    for found in Regex::new(r"(?m)^    (Value|RealValue|ComplexValue) (\w+)\(")?.captures_iter(text) {
        let letters = match &found[1] {
            "Value" => "SDCZ",
            "RealValue" => "SD",
            _ => "CZ",
        };
        for letter in letters.chars() {
            called.insert(format!("hipsparse{letter}{}", &found[2]), format!("`{}`", &found[2]));
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
