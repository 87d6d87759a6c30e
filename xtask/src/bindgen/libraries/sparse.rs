//! Sparse linear algebra: hipSPARSE and hipSPARSELt.

use super::super::library::{BackTo, Binary, Headers, Library, Status};

pub(super) const HIPSPARSE: Library = Library {
    name: "hipsparse",
    package: "hipsparse-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["hipsparse/hipsparse.h"],
    folders: &["hipsparse"],
    allow: "hipsparse.*|HIPSPARSE.*",
    uses: &["hip"],
    as_newest: &[
        ("hipsparseSpMatDescr_t", (5, 7), "a pointer to nothing in particular before 7.0"),
        ("hipsparseConstSpMatDescr_t", (5, 7), "a pointer to nothing in particular before 7.0"),
    ],
    statuses: &[Status::new("hipsparseStatus_t", "HIPSPARSE_STATUS_NOT_INITIALIZED", "HIPSPARSE_STATUS_NOT_SUPPORTED")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libhipsparse.so.0"),
        Binary::new((6, 4), "6.4", "libhipsparse.so.1"),
        Binary::new((7, 2), "7.2", "libhipsparse.so.4"),
    ],
    // The chapters of hipSPARSE's manual. A letter of a routine's name determines the type.
    topics: &[
        ("hipsparse", "auxiliary"),
        ("hipsparse(Create(Const)?|Destroy|Const|)(Sp|Dn|Csr[SGP]?|Csc[SGP]|Coo[SGAP]|Bsr|Blocked|Sliced)", "generic"),
        ("hipsparse(SpMV|SpMM|SpGE|SpSV|SpSM|SDDMM|SpVV|Axpby|Gather|Scatter|Rot|DenseTo|SparseTo)", "generic"),
        ("hipsparse[SDCZ](axpyi|dotc?i|gthr|roti|sctr)", "level_1"),
        ("hipsparse[SDCZX](csrmv|csrsv|bsrmv|bsrsv|bsrxmv|hybmv|gemvi)", "level_2"),
        ("hipsparse[SDCZX](csrmm|csrsm|bsrmm|bsrsm|gemmi)", "level_3"),
        ("hipsparse[SDCZX](csrgeam|csrgemm)", "extra"),
        ("hipsparse[SDCZX](csrilu|csric|bsrilu|bsric|gtsv|gpsv)", "preconditioner"),
        (
            "hipsparse([SDCZX](csru?2|coo2|csc2|bsr2|hyb2|gebs|nnz|dense2|prune|(csr|csc|coo)sort)|CreateIdentity)",
            "conversion",
        ),
        ("hipsparse[SDCZX]csrcolor", "reordering"),
    ],
    ..Library::NEW
};

pub(super) const HIPSPARSELT: Library = Library {
    name: "hipsparselt",
    package: "hipsparselt-sys",
    headers: &[Headers::new((7, 2), "7.2", "ROCm 7.2.4")],
    back_to: Some(BackTo {
        level: (6, 3),
        why: "the same as at 7.2, by the public headers of 6.3 and AMD's change log",
        later: &[
            ("HIPSPARSELT_MATMUL_SPARSE_MAT_POINTER", (7, 2)),
            ("hipsparseltVersionMajor", (7, 2)),
            ("hipsparseltVersionMinor", (7, 2)),
            ("hipsparseltVersionPatch", (7, 2)),
        ],
    }),
    includes: &["hipsparselt/hipsparselt.h"],
    shims: &["hip/hip_bfloat16.h", "hip/hip_fp16.h", "hip/hip_fp8.h"],
    folders: &["hipsparselt"],
    allow: "hipsparseLt.*|hipsparselt.*|HIPSPARSELT.*",
    uses: &["hip", "hipsparse"],
    binaries: &[Binary::new((7, 2), "7.2", "libhipsparselt.so.0")],
    ..Library::NEW
};
