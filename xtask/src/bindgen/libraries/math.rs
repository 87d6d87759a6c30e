//! Random numbers, Fourier transforms and solvers: hipRAND, hipFFT and hipSOLVER.

use super::super::library::{Binary, Headers, Library, Status};

pub(super) const HIPRAND: Library = Library {
    name: "hiprand",
    package: "hiprand-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    // Only defined for C++.
    prelude: "typedef unsigned short __half;\n",
    includes: &["hiprand/hiprand.h"],
    mistaken: &[
        ("hiprandGenerateLogNormalHalf", "the packages declare a half as an int; it has 16 bits"),
        ("hiprandGenerateNormalHalf", "the packages declare a half as an int; it has 16 bits"),
        ("hiprandGenerateUniformHalf", "the packages declare a half as an int; it has 16 bits"),
    ],
    folders: &["hiprand", "rocrand"],
    allow: "hiprand.*|HIPRAND.*",
    uses: &["hip"],
    statuses: &[Status::new("hiprandStatus", "HIPRAND_STATUS_INITIALIZATION_FAILED", "HIPRAND_STATUS_NOT_IMPLEMENTED")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libhiprand.so.1"),
        Binary::new((6, 4), "6.4", "libhiprand.so.1"),
        Binary::new((7, 2), "7.2", "libhiprand.so.1"),
    ],
    ..Library::NEW
};

pub(super) const HIPFFT: Library = Library {
    name: "hipfft",
    package: "hipfft-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "hipFFT of ROCm 6.1.2, which Debian ships with ROCm 5.7"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["hipfft/hipfft.h", "hipfft/hipfftXt.h"],
    beyond_facts: &[
        ("hipfftXtClearCallback", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExec", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptor", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorC2C", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorC2R", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorD2Z", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorR2C", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorZ2D", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtExecDescriptorZ2Z", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtFree", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtGetSizeMany", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtMakePlanMany", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtMalloc", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtMemcpy", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtSetCallback", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtSetCallbackSharedSize", "declared in hipfftXt.h, which the packages do not read"),
        ("hipfftXtSetGPUs", "declared in hipfftXt.h, which the packages do not read"),
    ],
    folders: &["hipfft"],
    allow: "hipfft.*|HIPFFT.*|hip[Ll]ib[Xx]t.*|hipXt.*",
    uses: &["hip"],
    statuses: &[Status::new("hipfftResult_t", "HIPFFT_INTERNAL_ERROR", "HIPFFT_NOT_IMPLEMENTED")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libhipfft.so.0"),
        Binary::new((6, 4), "6.4", "libhipfft.so.0"),
        Binary::new((7, 2), "7.2", "libhipfft.so.0"),
    ],
    ..Library::NEW
};

const OWN_ENUM: &str = "an enum of its own in 5.7, with the values of hipBLAS's";

pub(super) const HIPSOLVER: Library = Library {
    name: "hipsolver",
    package: "hipsolver-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "hipSOLVER of ROCm 5.5.1"),
        Headers::new((6, 4), "6.4", "hipSOLVER of ROCm 6.4.1"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["hipsolver/hipsolver.h"],
    folders: &["hipsolver"],
    allow: "hipsolver.*|HIPSOLVER.*",
    uses: &["hip", "hipblas", "hipsparse"],
    as_newest: &[
        ("hipsolverFillMode_t", (5, 7), OWN_ENUM),
        ("hipsolverOperation_t", (5, 7), OWN_ENUM),
        ("hipsolverSideMode_t", (5, 7), OWN_ENUM),
        ("HIPSOLVER_FILL_MODE_LOWER", (5, 7), OWN_ENUM),
        ("HIPSOLVER_FILL_MODE_UPPER", (5, 7), OWN_ENUM),
        ("HIPSOLVER_OP_C", (5, 7), OWN_ENUM),
        ("HIPSOLVER_OP_N", (5, 7), OWN_ENUM),
        ("HIPSOLVER_OP_T", (5, 7), OWN_ENUM),
        ("HIPSOLVER_SIDE_LEFT", (5, 7), OWN_ENUM),
        ("HIPSOLVER_SIDE_RIGHT", (5, 7), OWN_ENUM),
    ],
    statuses: &[Status::new("hipsolverStatus_t", "HIPSOLVER_STATUS_NOT_INITIALIZED", "HIPSOLVER_STATUS_NOT_SUPPORTED")],
    binaries: &[
        Binary::new((5, 7), "5.7", "libhipsolver.so.0"),
        Binary::new((6, 4), "6.4", "libhipsolver.so.0"),
        Binary::new((7, 2), "7.2", "libhipsolver.so.1"),
    ],
    // The chapters of hipSOLVER's manual.
    topics: &[
        ("hipsolver", "auxiliary"),
        ("hipsolver[SDCZX][a-z]", "regular"),
        ("hipsolverDn", "dense"),
        ("hipsolverSp", "sparse"),
        ("hipsolverRf", "refactorization"),
    ],
    ..Library::NEW
};
