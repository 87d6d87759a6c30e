//! The libraries of ROCm that this workspace opens: a library more is a row more.

use crate::spec::{LibrarySpec, Soname};

/// The HIP runtime. ROCm 10.0 still ships it as `.so.7` (HIP 7.15).
pub static AMDHIP64: LibrarySpec = LibrarySpec::new(
    "amdhip64",
    "libamdhip64.so",
    &[
        Soname::new("libamdhip64.so.7", 7, 10),
        Soname::new("libamdhip64.so.6", 6, 6),
        Soname::new("libamdhip64.so.5", 5, 5),
    ],
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"],
)
.numbered_by_hip();

/// HIPRTC, the run-time compiler. In ROCm 5 it is part of the HIP runtime library.
pub static HIPRTC: LibrarySpec = LibrarySpec::new(
    "hiprtc",
    "libhiprtc.so",
    &[
        Soname::new("libhiprtc.so.7", 7, 10),
        Soname::new("libhiprtc.so.6", 6, 6),
        Soname::new("libamdhip64.so.5", 5, 5),
    ],
    // Windows puts the minor release into the name.
    &[
        "hiprtc0715.dll",
        "hiprtc0714.dll",
        "hiprtc0713.dll",
        "hiprtc0712.dll",
        "hiprtc0711.dll",
        "hiprtc0710.dll",
        "hiprtc0702.dll",
        "hiprtc0701.dll",
        "hiprtc0700.dll",
        "hiprtc0604.dll",
        "hiprtc0603.dll",
        "hiprtc0602.dll",
        "hiprtc0601.dll",
        "hiprtc0507.dll",
    ],
)
.numbered_by_hip();

/// HIPRTC's built-in headers, which HIPRTC opens by itself when it compiles.
pub static HIPRTC_BUILTINS: LibrarySpec = LibrarySpec::new(
    "hiprtc-builtins",
    "libhiprtc-builtins.so",
    &[
        Soname::new("libhiprtc-builtins.so.7", 7, 10),
        Soname::new("libhiprtc-builtins.so.6", 6, 6),
        Soname::new("libhiprtc-builtins.so.5", 5, 5),
    ],
    &["hiprtc-builtins0702.dll", "hiprtc-builtins0604.dll", "hiprtc-builtins0507.dll"],
)
.numbered_by_hip();

/// Comgr, the code object manager: the compiler behind HIPRTC. Numbered by itself.
pub static AMD_COMGR: LibrarySpec = LibrarySpec::new(
    "amd_comgr",
    "libamd_comgr.so",
    &[Soname::new("libamd_comgr.so.3", 6, 10), Soname::new("libamd_comgr.so.2", 5, 6)],
    &["amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"],
);

/// The HSA runtime under HIP on Linux. Numbered by itself, the same in every release.
pub static HSA_RUNTIME64: LibrarySpec =
    LibrarySpec::new("hsa-runtime64", "libhsa-runtime64.so", &[Soname::new("libhsa-runtime64.so.1", 5, 10)], &[]);

/// Every library of this table.
pub static ALL: &[&LibrarySpec] = &[&AMDHIP64, &HIPRTC, &HIPRTC_BUILTINS, &AMD_COMGR, &HSA_RUNTIME64];
