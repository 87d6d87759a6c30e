//! The table of ROCm's libraries, one row per library.
//!
//! Short names are those of AMD's own Python package `rocm_sdk`. The sonames are those of AMD's packages and wheels and
//! of Debian's packages. AMD and Debian number some libraries differently, and a number may decrease:
//! `librocm_smi64.so.7` of ROCm 7 became `librocm_smi64.so.1` in ROCm 10.
//!
//! ```
//! use rocm_loader::{Group, libraries};
//!
//! let blas = libraries::by_short_name("hipblas").unwrap();
//! assert_eq!(blas.group(), Group::Libraries);
//! assert_eq!(blas.sonames()[0].file, "libhipblas.so.3");
//! assert!(libraries::by_short_name("cublas").is_none());
//! ```

use crate::spec::{LibrarySpec, Soname};

/// Windows names contain the minor release, newest first: `hiprtc0702.dll` belongs to HIP 7.2.
macro_rules! windows_names {
    ($stem:literal, $($more:literal),*) => {
        windows_names!(@releases $stem, [$($more),*],
            "0716" "0715" "0714" "0713" "0712" "0711" "0710" "0702" "0701" "0700"
            "0604" "0603" "0602" "0601" "0600" "0507")
    };
    (@releases $stem:literal, [$($more:literal),*], $($release:literal)*) => {
        &[$(concat!($stem, $release, ".dll"),)* $($more),*]
    };
}

/// A library with its short name, the name of its file without version, its soname majors
/// (`major, first release, last release`, newest first) and its Windows names.
macro_rules! library {
    ($name:literal, $file:literal, [$($major:literal: $first:literal - $last:literal),*], $windows:expr) => {
        LibrarySpec::new(
            $name,
            concat!("lib", $file, ".so"),
            &[$(Soname::new(concat!("lib", $file, ".so.", $major), $first, $last)),*],
            $windows,
        )
    };
}

/// Directories of ROCm's own LLVM: the second is used before ROCm 6, and is a link since.
#[cfg(windows)]
const LLVM_DIRS: &[&str] = &["lib/llvm/bin"];
#[cfg(not(windows))]
const LLVM_DIRS: &[&str] = &["lib/llvm/lib", "llvm/lib"];

/// The HIP runtime. ROCm 10.0 still ships it as `.so.7` (HIP 7.15).
pub static AMDHIP64: LibrarySpec = library!(
    "amdhip64",
    "amdhip64",
    [7: 7 - 10, 6: 6 - 6, 5: 5 - 5],
    &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
)
.numbered_by_hip();

/// hipFile, direct copies between files and GPU memory. Linux only.
pub static HIPFILE: LibrarySpec = library!("hipfile", "hipfile", [0: 7 - 10], &[]);

/// HIPRTC, the run-time compiler. In Debian's ROCm 5.7 it is part of the HIP runtime library.
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

/// rocTX, marks and ranges for profilers, by roctracer. Linux only.
pub static ROCTX64: LibrarySpec = library!("roctx64", "roctx64", [4: 5 - 10], &[]);

/// ROCprofiler-SDK, the profiling interface. Linux only.
pub static ROCPROFILER_SDK: LibrarySpec = library!("rocprofiler-sdk", "rocprofiler-sdk", [1: 7 - 10, 0: 6 - 6], &[]);

/// rocTX by ROCprofiler-SDK. Linux only.
pub static ROCPROFILER_SDK_ROCTX: LibrarySpec =
    library!("rocprofiler-sdk-roctx", "rocprofiler-sdk-roctx", [1: 7 - 10, 0: 6 - 6], &[]);

/// roctracer, the tracing interface before ROCprofiler-SDK. Linux only.
pub static ROCTRACER64: LibrarySpec = library!("roctracer64", "roctracer64", [4: 5 - 10], &[]);

/// The XZ decompressor of AMD's wheels. Linux only.
pub static ROCM_SYSDEPS_LIBLZMA: LibrarySpec =
    library!("rocm_sysdeps_liblzma", "rocm_sysdeps_liblzma", [5: 7 - 10], &[])
        .in_directories(&["lib/rocm_sysdeps/lib"]);

/// The host BLAS of AMD's wheels.
pub static ROCM_OPENBLAS: LibrarySpec = library!("rocm-openblas", "rocm-openblas", [0: 7 - 10], &["rocm-openblas.dll"])
    .in_directories(if cfg!(windows) { &[] } else { &["lib/host-math/lib"] });

/// Comgr, the code object manager: the compiler behind HIPRTC. It has its own numbers.
pub static AMD_COMGR: LibrarySpec = LibrarySpec::new(
    "amd_comgr",
    "libamd_comgr.so",
    &[
        // Its enums are renumbered.
        Soname::new("libamd_comgr.so.3", 6, 10).with_abi_of((6, 4), (10, u32::MAX)),
        Soname::new("libamd_comgr.so.2", 5, 6).with_abi_of((5, 7), (6, 3)),
    ],
    windows_names!("amd_comgr", "amd_comgr_3.dll", "amd_comgr_2.dll", "amd_comgr.dll"),
);

/// The reader of packed device code (`.kpack`), in ROCm 7.13 and newer.
pub static ROCM_KPACK: LibrarySpec = library!("rocm_kpack", "rocm_kpack", [0: 7 - 10], &["rocm_kpack.dll"]);

/// ROCm SMI, the older interface to temperatures, clocks and the like. Linux only.
pub static ROCM_SMI64: LibrarySpec =
    library!("rocm_smi64", "rocm_smi64", [1: 6 - 10, 7: 6 - 7, 6: 6 - 6, 5: 5 - 5], &[]);

/// rocDecode, video decoding. Linux only.
pub static ROCDECODE: LibrarySpec = library!("rocdecode", "rocdecode", [1: 7 - 10, 0: 6 - 6], &[]);

/// rocJPEG, JPEG decoding. Linux only.
pub static ROCJPEG: LibrarySpec = library!("rocjpeg", "rocjpeg", [1: 7 - 10, 0: 6 - 6], &[]);

/// AMD SMI: temperatures, clocks, processes and the like. Each major has structures of its own. Linux only.
pub static AMD_SMI: LibrarySpec = LibrarySpec::new(
    "amd_smi",
    "libamd_smi.so",
    &[
        Soname::new("libamd_smi.so.27", 10, 10),
        Soname::new("libamd_smi.so.26", 7, 7),
        Soname::new("libamd_smi.so.25", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libamd_smi.so.24", 6, 6).with_abi_of((6, 1), (6, 3)),
        Soname::new("libamd_smi.so.23", 6, 6).with_abi_of((6, 0), (6, 0)),
        // Debian's package, of 6.1.
        Soname::new("libamd_smi.so.0", 6, 6).with_abi_of((6, 1), (6, 1)),
        Soname::new("libamd_smi.so.1", 5, 5),
    ],
    &[],
);

/// Access from WSL to the GPU of Windows. Only some distributions have it, and it works in WSL only.
pub static ROCDXG: LibrarySpec = library!("rocdxg", "rocdxg", [1: 7 - 10], &[]).optional();

/// RPP, image and audio processing. Linux only.
pub static RPP: LibrarySpec = library!("rpp", "rpp", [3: 10 - 10, 2: 7 - 7, 1: 5 - 6], &[]).in_libraries();

/// hipBLAS.
pub static HIPBLAS: LibrarySpec =
    library!("hipblas", "hipblas", [3: 7 - 10, 2: 6 - 6, 1: 5 - 5, 0: 5 - 5], &["hipblas.dll", "libhipblas.dll"])
        .in_libraries();

/// hipBLASLt.
pub static HIPBLASLT: LibrarySpec =
    library!("hipblaslt", "hipblaslt", [1: 7 - 10, 0: 5 - 6], &["hipblaslt.dll", "libhipblaslt.dll"]).in_libraries();

/// hipFFT.
pub static HIPFFT: LibrarySpec = library!("hipfft", "hipfft", [0: 5 - 10], &["hipfft.dll"]).in_libraries();

/// hipRAND.
pub static HIPRAND: LibrarySpec = library!("hiprand", "hiprand", [1: 5 - 10], &["hiprand.dll"]).in_libraries();

/// hipSPARSE.
pub static HIPSPARSE: LibrarySpec =
    library!("hipsparse", "hipsparse", [4: 7 - 10, 1: 6 - 6, 0: 5 - 5], &["hipsparse.dll"]).in_libraries();

/// hipSPARSELt. Linux only.
pub static HIPSPARSELT: LibrarySpec = library!("hipsparselt", "hipsparselt", [0: 5 - 10], &[]).in_libraries();

/// hipSOLVER.
pub static HIPSOLVER: LibrarySpec =
    library!("hipsolver", "hipsolver", [1: 7 - 10, 0: 5 - 6], &["hipsolver.dll"]).in_libraries();

/// RCCL, collectives over several GPUs and hosts. Linux only.
pub static RCCL: LibrarySpec = library!("rccl", "rccl", [1: 5 - 10], &[]).in_libraries();

/// MIOpen, deep learning primitives.
pub static MIOPEN: LibrarySpec = library!("miopen", "MIOpen", [1: 5 - 10], &["MIOpen.dll"]).in_libraries();

/// Origami, the choice of kernels for matrix products.
pub static ORIGAMI: LibrarySpec =
    library!("origami", "origami", [1: 7 - 10, 0: 7 - 7], &["origami.dll"]).in_libraries();

/// hipDNN's backend, graphs of deep learning operations. Its file name has no number.
pub static HIPDNN: LibrarySpec = LibrarySpec::new(
    "hipdnn",
    "libhipdnn_backend.so",
    &[Soname::new("libhipdnn_backend.so", 7, 10)],
    &["hipdnn_backend.dll"],
)
.in_libraries();

/// HIPRTC's built-in headers, which HIPRTC opens when it compiles.
pub static HIPRTC_BUILTINS: LibrarySpec = library!(
    "hiprtc-builtins",
    "hiprtc-builtins",
    [7: 7 - 10, 6: 6 - 6, 5: 5 - 5],
    windows_names!("hiprtc-builtins", "hiprtc-builtins.dll")
)
.numbered_by_hip();

/// rocBLAS.
pub static ROCBLAS: LibrarySpec =
    library!("rocblas", "rocblas", [5: 7 - 10, 4: 6 - 6, 3: 5 - 5, 0: 5 - 5], &["rocblas.dll"]).in_libraries();

/// rocFFT.
pub static ROCFFT: LibrarySpec = library!("rocfft", "rocfft", [0: 5 - 10], &["rocfft.dll"]).in_libraries();

/// rocRAND.
pub static ROCRAND: LibrarySpec = library!("rocrand", "rocrand", [1: 5 - 10], &["rocrand.dll"]).in_libraries();

/// rocSOLVER.
pub static ROCSOLVER: LibrarySpec = library!("rocsolver", "rocsolver", [0: 5 - 10], &["rocsolver.dll"]).in_libraries();

/// rocSPARSE.
pub static ROCSPARSE: LibrarySpec =
    library!("rocsparse", "rocsparse", [1: 6 - 10, 0: 5 - 5], &["rocsparse.dll"]).in_libraries();

/// The HSA runtime under HIP on Linux. It has its own numbers, the same in every release.
pub static HSA_RUNTIME64: LibrarySpec = library!("hsa-runtime64", "hsa-runtime64", [1: 5 - 10], &[]);

/// hipTensor, tensor contractions.
pub static HIPTENSOR: LibrarySpec = library!("hiptensor", "hiptensor", [0: 5 - 10], &["hiptensor.dll"]).in_libraries();

/// hipGRAPH, graph analytics. It is not part of a ROCm release, and its soname has no number that could be relied on.
pub static HIPGRAPH: LibrarySpec =
    library!("hipgraph", "hipgraph", [1: 6 - 10, 0: 6 - 10], &[]).in_libraries().optional();

/// LLVM with its C interface: ROCm's own (`NN.0git`), or the distribution's (`NN.1`). If several are installed, the one
/// that Comgr was built with is used.
pub static LLVM: LibrarySpec = LibrarySpec::new(
    "LLVM",
    "libLLVM.so",
    &[
        Soname::new("libLLVM.so.23.0git", 10, 10).with_abi_of((10, 0), (10, u32::MAX)),
        Soname::new("libLLVM.so.23.1", 10, 10).with_abi_of((10, 0), (10, u32::MAX)),
        Soname::new("libLLVM.so.22.0git", 7, 7).with_abi_of((7, 2), (7, 2)),
        Soname::new("libLLVM.so.22.1", 7, 7).with_abi_of((7, 2), (7, 2)),
        Soname::new("libLLVM.so.21.0git", 7, 7).with_abi_of((7, 1), (7, 1)),
        Soname::new("libLLVM.so.20.0git", 7, 7).with_abi_of((7, 0), (7, 0)),
        Soname::new("libLLVM.so.21.1", 6, 7).with_abi_of((7, 1), (7, 1)),
        Soname::new("libLLVM.so.20.1", 6, 7).with_abi_of((7, 0), (7, 0)),
        Soname::new("libLLVM.so.19.0git", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libLLVM.so.19.1", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libLLVM.so.18.0git", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libLLVM.so.18.1", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libLLVM-18git.so", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libLLVM-17git.so", 5, 6).with_abi_of((5, 7), (5, 7)),
        Soname::new("libLLVM-17.so.1", 5, 6).with_abi_of((5, 7), (5, 7)),
    ],
    &["LLVM-C.dll"],
)
.in_directories(LLVM_DIRS)
.numbered_as_needed_by(&AMD_COMGR);

/// libclang, Clang's C interface: ROCm's own (`NN.0git`), Debian's (`libclang-NN.so.NN`) or Fedora's (`NN.1`). If
/// several are installed, the one of the LLVM that Comgr was built with is used.
pub static LIBCLANG: LibrarySpec = LibrarySpec::new(
    "clang",
    "libclang.so",
    &[
        Soname::new("libclang.so.23.0git", 10, 10).with_abi_of((10, 0), (10, u32::MAX)),
        Soname::new("libclang-23.so.23", 10, 10).with_abi_of((10, 0), (10, u32::MAX)),
        Soname::new("libclang.so.23.1", 10, 10).with_abi_of((10, 0), (10, u32::MAX)),
        Soname::new("libclang.so.22.0git", 7, 7).with_abi_of((7, 2), (7, 2)),
        Soname::new("libclang-22.so.22", 7, 7).with_abi_of((7, 2), (7, 2)),
        Soname::new("libclang.so.22.1", 7, 7).with_abi_of((7, 2), (7, 2)),
        Soname::new("libclang.so.21.0git", 7, 7).with_abi_of((7, 1), (7, 1)),
        Soname::new("libclang.so.20.0git", 7, 7).with_abi_of((7, 0), (7, 0)),
        Soname::new("libclang-21.so.21", 6, 7).with_abi_of((7, 1), (7, 1)),
        Soname::new("libclang.so.21.1", 6, 7).with_abi_of((7, 1), (7, 1)),
        Soname::new("libclang-20.so.20", 6, 7).with_abi_of((7, 0), (7, 0)),
        Soname::new("libclang.so.20.1", 6, 7).with_abi_of((7, 0), (7, 0)),
        Soname::new("libclang.so.19.0git", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libclang-19.so.19", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libclang.so.19.1", 6, 6).with_abi_of((6, 4), (6, 4)),
        Soname::new("libclang.so.18.0git", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libclang-18.so.18", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libclang.so.18.1", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libclang.so.18git", 6, 6).with_abi_of((6, 2), (6, 3)),
        Soname::new("libclang.so.17git", 5, 6).with_abi_of((5, 7), (5, 7)),
        Soname::new("libclang-17.so.17", 5, 6).with_abi_of((5, 7), (5, 7)),
        Soname::new("libclang.so.17", 5, 6).with_abi_of((5, 7), (5, 7)),
    ],
    &["libclang.dll"],
)
.in_directories(LLVM_DIRS)
.numbered_as_needed_by(&AMD_COMGR);

/// Every library of this table: those of AMD's `rocm_sdk` in their order, then the others.
pub static ALL: &[&LibrarySpec] = &[
    &AMDHIP64,
    &HIPFILE,
    &HIPRTC,
    &ROCTX64,
    &ROCPROFILER_SDK,
    &ROCPROFILER_SDK_ROCTX,
    &ROCTRACER64,
    &ROCM_SYSDEPS_LIBLZMA,
    &ROCM_OPENBLAS,
    &AMD_COMGR,
    &ROCM_KPACK,
    &ROCM_SMI64,
    &ROCDECODE,
    &ROCJPEG,
    &AMD_SMI,
    &ROCDXG,
    &RPP,
    &HIPBLAS,
    &HIPBLASLT,
    &HIPFFT,
    &HIPRAND,
    &HIPSPARSE,
    &HIPSPARSELT,
    &HIPSOLVER,
    &RCCL,
    &MIOPEN,
    &ORIGAMI,
    &HIPDNN,
    &HIPRTC_BUILTINS,
    &ROCBLAS,
    &ROCFFT,
    &ROCRAND,
    &ROCSOLVER,
    &ROCSPARSE,
    &HSA_RUNTIME64,
    &HIPTENSOR,
    &HIPGRAPH,
    &LLVM,
    &LIBCLANG,
];

/// Returns the library with this short name ([`LibrarySpec::name`]), such as `"hipblas"`.
pub fn by_short_name(name: &str) -> Option<&'static LibrarySpec> {
    ALL.iter().copied().find(|spec| spec.name() == name)
}
