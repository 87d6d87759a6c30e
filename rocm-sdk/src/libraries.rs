//! The libraries of ROCm that this workspace opens: a library more is a row more.

use crate::spec::{LibrarySpec, Soname};

/// Names that have the minor release in them on Windows, newest first: `hiprtc0702.dll` is of HIP 7.2.
macro_rules! windows_names {
    ($stem:literal, $($more:literal),*) => {
        windows_names!(@releases $stem, [$($more),*],
            "0715" "0714" "0713" "0712" "0711" "0710" "0702" "0701" "0700" "0604" "0603" "0602" "0601" "0600" "0507")
    };
    (@releases $stem:literal, [$($more:literal),*], $($release:literal)*) => {
        &[$(concat!($stem, $release, ".dll"),)* $($more),*]
    };
}

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

/// HIPRTC, the run-time compiler. Debian's ROCm 5.7 has it inside the HIP runtime library.
pub static HIPRTC: LibrarySpec = LibrarySpec::new(
    "hiprtc",
    "libhiprtc.so",
    &[
        Soname::new("libhiprtc.so.7", 7, 10),
        Soname::new("libhiprtc.so.6", 6, 6),
        Soname::new("libhiprtc.so.5", 5, 5),
        Soname::new("libamdhip64.so.5", 5, 5),
    ],
    windows_names!("hiprtc", "hiprtc.dll"),
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
    windows_names!("hiprtc-builtins", "hiprtc-builtins.dll"),
)
.numbered_by_hip();

/// Comgr, the code object manager: the compiler behind HIPRTC. Numbered by itself.
pub static AMD_COMGR: LibrarySpec = LibrarySpec::new(
    "amd_comgr",
    "libamd_comgr.so",
    &[Soname::new("libamd_comgr.so.3", 6, 10), Soname::new("libamd_comgr.so.2", 5, 6)],
    windows_names!("amd_comgr", "amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"),
);

/// The HSA runtime under HIP on Linux. Numbered by itself, the same in every release.
pub static HSA_RUNTIME64: LibrarySpec =
    LibrarySpec::new("hsa-runtime64", "libhsa-runtime64.so", &[Soname::new("libhsa-runtime64.so.1", 5, 10)], &[]);

/// Every library of this table.
pub static ALL: &[&LibrarySpec] = &[&AMDHIP64, &HIPRTC, &HIPRTC_BUILTINS, &AMD_COMGR, &HSA_RUNTIME64];
