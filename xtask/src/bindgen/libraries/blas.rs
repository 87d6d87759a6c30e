//! Dense linear algebra: hipBLAS and hipBLASLt.

use super::super::library::{BackTo, Binary, Headers, Library, Status};

pub(super) const HIPBLAS: Library = Library {
    name: "hipblas",
    package: "hipblas-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "hipBLAS of ROCm 5.5.1"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.4"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["hipblas/hipblas.h"],
    folders: &["hipblas", "hipblas-common"],
    allow: "hipblas.*|HIPBLAS.*",
    uses: &["hip"],
    same: &[("hipblasComplex", "hipComplex"), ("hipblasDoubleComplex", "hipDoubleComplex")],
    statuses: &[Status::new("hipblasStatus_t", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_NOT_SUPPORTED")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libhipblas.so.0"),
        Binary::new((6, 4), "6.4", "libhipblas.so.2"),
        Binary::new((7, 2), "7.2", "libhipblas.so.3"),
    ],
    // The chapters of hipBLAS's manual; a letter or two of a routine's name determine the type.
    topics: &[
        ("hipblas", "auxiliary"),
        (
            "hipblas(I?[SDCZ][a-z]?|H|Bf|)(amax|amin|asum|axpy|Axpy|copy|dot|Dot|nrm2|Nrm2|rot|Rot|scal|Scal|swap)",
            "level_1",
        ),
        ("hipblas[SDCZ](gb|ge|hb|he|hp|sb|sp|sy|tb|tp|tr)(mv|r[uc]?2?|sv)", "level_2"),
        (
            "hipblas[SDCZH]?(gemm|Gemm|symm|hemm|syrk|herk|syr2k|her2k|syrkx|herkx|trmm|trsm|Trsm|trtri|dgmm|geam)",
            "level_3",
        ),
        ("hipblas[SDCZ](getr|geqrf|gels)", "lapack"),
    ],
    ..Library::NEW
};

pub(super) const HIPBLASLT: Library = Library {
    name: "hipblaslt",
    package: "hipblaslt-sys",
    headers: &[Headers::new((7, 1), "6.4", "ROCm 7.1.1"), Headers::new((7, 2), "7.2", "ROCm 7.2.4")],
    includes: &["hipblaslt/hipblaslt.h"],
    cplusplus: true,
    back_to: Some(BackTo {
        level: (6, 2),
        why: "the same as at 7.1, by the public headers of 6.2 and 6.3 and AMD's change log",
        later: &[
            ("HIPBLASLT_EPILOGUE_CLAMP_AUX_BIAS_EXT", (7, 1)),
            ("HIPBLASLT_EPILOGUE_CLAMP_AUX_EXT", (7, 1)),
            ("HIPBLASLT_EPILOGUE_CLAMP_BIAS_EXT", (7, 1)),
            ("HIPBLASLT_EPILOGUE_CLAMP_EXT", (7, 1)),
            ("HIPBLASLT_EPILOGUE_RELU_AUX", (7, 1)),
            ("HIPBLASLT_EPILOGUE_RELU_AUX_BIAS", (7, 1)),
            ("HIPBLASLT_MATMUL_DESC_EPILOGUE_ACT_ARG0_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_DESC_EPILOGUE_ACT_ARG1_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_BLK32_UE8M0_32_8_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_END", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE5M3_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE8M0_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE4M3_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE5M3_EXT", (7, 1)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0", (7, 1)),
            ("HIPBLASLT_ORDER_COL16_4R2", (7, 1)),
            ("HIPBLASLT_ORDER_COL16_4R4", (7, 1)),
            ("HIPBLASLT_EPILOGUE_SWISH_BIAS_EXT", (7, 0)),
            ("HIPBLASLT_EPILOGUE_SWISH_EXT", (7, 0)),
            ("HIPBLASLT_MATMUL_DESC_A_SCALE_MODE", (7, 0)),
            ("HIPBLASLT_MATMUL_DESC_B_SCALE_MODE", (7, 0)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F", (7, 0)),
            ("HIPBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F", (7, 0)),
            ("HIPBLASLT_ORDER_COL16_4R16", (7, 0)),
            ("HIPBLASLT_ORDER_COL16_4R8", (7, 0)),
            ("HIPBLASLT_MATMUL_DESC_MAX", (6, 3)),
            ("hipblasLtMatmulMatrixScale_t", (7, 0)),
            ("HIPBLASLT_VERSION_MAJOR", (7, 1)),
            ("HIPBLASLT_VERSION_MINOR", (7, 1)),
            ("HIPBLASLT_VERSION_PATCH", (7, 1)),
        ],
    }),
    // A C++ class.
    leave_out: &["hipblasLtBfloat16"],
    folders: &["hipblaslt"],
    allow: "hipblas[Ll]t.*|HIPBLASLT.*",
    uses: &["hip", "hipblas"],
    binaries: &[Binary::new((7, 1), "6.4", "libhipblaslt.so.1"), Binary::new((7, 2), "7.2", "libhipblaslt.so.1")],
    ..Library::NEW
};
