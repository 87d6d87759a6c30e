//! The libraries that bindings are made for, and what is particular to each.

use super::library::{Binary, Headers, Library, Status};

/// All of them; a library comes after those that it shares types with.
pub(crate) const LIBRARIES: &[Library] = &[
    Library {
        name: "hip",
        package: "hip-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
            Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &[
            "hip/hip_runtime_api.h",
            "hip/hip_gl_interop.h",
            "hip/library_types.h",
            "hip/hip_complex.h",
        ],
        folders: &["hip"],
        allow: "_?i?hip.*|HIP.*|GLuint|GLenum|dim3|textureReference|surfaceReference|u?(char|short|int|long|longlong)[1-4]|(float|double)[1-4]",
        statuses: &[Status::new(
            "hipError_t",
            "hipErrorSharedObjectInitFailed",
            "hipErrorSharedObjectSymbolNotFound",
        )],
        renames: &[
            ("hipDeviceProp_t", "hipDeviceProp_tR0600", "a macro of the headers since 6.0"),
            (
                "hipGetDeviceProperties",
                "hipGetDevicePropertiesR0600",
                "a macro of the headers since 6.0; the library exports both, for two structs",
            ),
            (
                "hipChooseDevice",
                "hipChooseDeviceR0600",
                "a macro of the headers since 6.0; the library exports both, for two structs",
            ),
        ],
        leave_out: &[
            // The patch release says nothing about the interface.
            "HIP_VERSION",
            "HIP_VERSION_PATCH",
            "HIP_VERSION_BUILD_ID",
            "HIP_VERSION_BUILD_NAME",
            "HIP_VERSION_GITHASH",
            "HIP_DEPRECATED_MSG",
        ],
        beyond_facts: &[
            (
                "hipGLGetDevices",
                "of hip_gl_interop.h, which the packages do not read; hip_runtime_api.h of 5.7 includes it",
            ),
            ("hipGraphicsGLRegisterBuffer", "likewise of hip_gl_interop.h"),
            ("hipGraphicsGLRegisterImage", "likewise of hip_gl_interop.h"),
        ],
        anonymous: &[
            // As in CUDA's struct of the same use: after the padding, before the pointer.
            ("hipDevResource_st", 2, "hipDevResource_st_union_0"),
        ],
        binaries: &[
            Binary::new((5, 7), "5.7", "libamdhip64.so.5"),
            Binary::new((6, 4), "6.4", "libamdhip64.so.6"),
            Binary::new((7, 2), "7.2", "libamdhip64.so.7"),
        ],
        topics: &[
            ("hip", "runtime"),
            ("hipArray", "memory"),
            ("hipBindTex", "texture"),
            ("hipCreateSurface", "texture"),
            ("hipCreateTexture", "texture"),
            ("hipCtx", "context"),
            ("hipDestroyExternal", "external"),
            ("hipDestroySurface", "texture"),
            ("hipDestroyTexture", "texture"),
            ("hipDevice", "device"),
            ("hipDevicePrimaryCtx", "context"),
            ("hipDrvGraph", "graph"),
            ("hipDrvLaunch", "launch"),
            ("hipDrvMemcpy", "memcpy"),
            ("hipEvent", "event"),
            ("hipExtLaunch", "launch"),
            ("hipExtMalloc", "memory"),
            ("hipExtStream", "stream"),
            ("hipExternal", "external"),
            ("hipFree", "memory"),
            ("hipFunc", "module"),
            ("hipGL", "external"),
            ("hipGetChannelDesc", "texture"),
            ("hipGetDevice", "device"),
            ("hipGetStream", "stream"),
            ("hipGetSymbol", "memory"),
            ("hipGetTexture", "texture"),
            ("hipGraph", "graph"),
            ("hipGraphics", "external"),
            ("hipGreenCtx", "context"),
            ("hipHost", "memory"),
            ("hipImportExternal", "external"),
            ("hipIpc", "external"),
            ("hipKernel", "module"),
            ("hipLaunch", "launch"),
            ("hipLibrary", "module"),
            ("hipLink", "module"),
            ("hipMalloc", "memory"),
            ("hipMem", "memory"),
            ("hipMemcpy", "memcpy"),
            ("hipMemset", "memcpy"),
            ("hipMipmapped", "memory"),
            ("hipModule", "module"),
            ("hipModuleLaunch", "launch"),
            ("hipModuleOccupancy", "launch"),
            ("hipOccupancy", "launch"),
            ("hipPointer", "memory"),
            ("hipSetDevice", "device"),
            ("hipSignalExternal", "external"),
            ("hipStream", "stream"),
            ("hipTex", "texture"),
            ("hipThreadExchange", "stream"),
            ("hipUnbindTex", "texture"),
            ("hipUserObject", "graph"),
            ("hipWaitExternal", "external"),
        ],
        ..Library::NEW
    },
    Library {
        name: "hiprtc",
        package: "hiprtc-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
            Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["hip/hiprtc.h"],
        folders: &["hip"],
        allow: "_?i?hiprtc.*|HIPRTC.*|hipJit.*",
        statuses: &[Status::new("hiprtcResult", "HIPRTC_ERROR_INTERNAL_ERROR", "HIPRTC_ERROR_INTERNAL_ERROR")],
        binaries: &[
            // HIPRTC is inside of the HIP library there.
            Binary::new((5, 7), "5.7", "libamdhip64.so.5"),
            Binary::new((6, 4), "6.4", "libhiprtc.so.6"),
            Binary::new((7, 2), "7.2", "libhiprtc.so.7"),
        ],
        ..Library::NEW
    },
    Library {
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
        statuses: &[Status::new("hipblasStatus_t", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_NOT_SUPPORTED")],
        binaries: &[Binary::new((5, 7), "5.7", "libhipblas.so.0"), Binary::new((6, 4), "6.4", "libhipblas.so.2"), Binary::new((7, 2), "7.2", "libhipblas.so.3")],
        ..Library::NEW
    },
    Library {
        name: "hipblaslt",
        package: "hipblaslt-sys",
        headers: &[
            Headers::new((7, 1), "6.4", "ROCm 7.1.1"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["hipblaslt/hipblaslt.h"],
        folders: &["hipblaslt"],
        allow: "hipblas[Ll]t.*|HIPBLASLT.*",
        uses: &["hip", "hipblas"],
        binaries: &[Binary::new((7, 1), "6.4", "libhipblaslt.so.1"), Binary::new((7, 2), "7.2", "libhipblaslt.so.1")],
        ..Library::NEW
    },
    Library {
        name: "hiprand",
        package: "hiprand-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
            Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        // Only C++ has it.
        prelude: "typedef unsigned short __half;\n",
        includes: &["hiprand/hiprand.h"],
        folders: &["hiprand"],
        allow: "hiprand.*|HIPRAND.*",
        uses: &["hip"],
        statuses: &[Status::new("hiprandStatus", "HIPRAND_STATUS_INITIALIZATION_FAILED", "HIPRAND_STATUS_NOT_IMPLEMENTED")],
        binaries: &[Binary::new((5, 7), "5.7", "libhiprand.so.1"), Binary::new((6, 4), "6.4", "libhiprand.so.1"), Binary::new((7, 2), "7.2", "libhiprand.so.1")],
        ..Library::NEW
    },
    Library {
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
        statuses: &[Status::new("hipsparseStatus_t", "HIPSPARSE_STATUS_NOT_INITIALIZED", "HIPSPARSE_STATUS_NOT_SUPPORTED")],
        binaries: &[Binary::new((5, 7), "5.7", "libhipsparse.so.0"), Binary::new((6, 4), "6.4", "libhipsparse.so.1"), Binary::new((7, 2), "7.2", "libhipsparse.so.4")],
        ..Library::NEW
    },
    Library {
        name: "hipsparselt",
        package: "hipsparselt-sys",
        headers: &[
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["hipsparselt/hipsparselt.h"],
        folders: &["hipsparselt"],
        allow: "hipsparseLt.*|hipsparselt.*|HIPSPARSELT.*",
        uses: &["hip", "hipsparse"],
        binaries: &[Binary::new((7, 2), "7.2", "libhipsparselt.so.0")],
        ..Library::NEW
    },
    Library {
        name: "hipfft",
        package: "hipfft-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "hipFFT of ROCm 6.1.2, which Debian ships with ROCm 5.7"),
            Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["hipfft/hipfft.h", "hipfft/hipfftXt.h"],
        folders: &["hipfft"],
        allow: "hipfft.*|HIPFFT.*|hip[Ll]ib[Xx]t.*|hipXt.*",
        uses: &["hip"],
        statuses: &[Status::new("hipfftResult_t", "HIPFFT_INTERNAL_ERROR", "HIPFFT_NOT_IMPLEMENTED")],
        binaries: &[Binary::new((5, 7), "5.7", "libhipfft.so.0"), Binary::new((6, 4), "6.4", "libhipfft.so.0"), Binary::new((7, 2), "7.2", "libhipfft.so.0")],
        ..Library::NEW
    },
    Library {
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
        uses: &["hip", "hipblas"],
        statuses: &[Status::new("hipsolverStatus_t", "HIPSOLVER_STATUS_NOT_INITIALIZED", "HIPSOLVER_STATUS_NOT_SUPPORTED")],
        binaries: &[Binary::new((5, 7), "5.7", "libhipsolver.so.0"), Binary::new((6, 4), "6.4", "libhipsolver.so.0"), Binary::new((7, 2), "7.2", "libhipsolver.so.1")],
        ..Library::NEW
    },
    Library {
        name: "rccl",
        package: "rccl-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "RCCL of ROCm 5.4.3"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["rccl/rccl.h"],
        folders: &["rccl"],
        allow: "p?nccl.*|P?NCCL.*|rccl.*|RCCL.*",
        uses: &["hip"],
        statuses: &[Status::new("ncclResult_t", "ncclSystemError", "ncclInvalidUsage")],
        binaries: &[Binary::new((5, 7), "5.7", "librccl.so.1"), Binary::new((7, 2), "7.2", "librccl.so.1")],
        ..Library::NEW
    },
    Library {
        name: "roctx",
        package: "roctx-sys",
        headers: &[
            Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
            Headers::new((6, 4), "6.4", "ROCm 6.4.1"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["roctracer/roctx.h"],
        folders: &["roctracer"],
        allow: "roctx.*|ROCTX.*",
        binaries: &[Binary::new((5, 7), "5.7", "libroctx64.so.4"), Binary::new((6, 4), "6.4", "libroctx64.so.4"), Binary::new((7, 2), "7.2", "libroctx64.so.4")],
        ..Library::NEW
    },
    Library {
        name: "amdsmi",
        package: "amdsmi-sys",
        headers: &[
            Headers::new((6, 2), "5.7", "AMD SMI of ROCm 6.1.2").reference(),
            Headers::new((10, 0), "7.2", "AMD SMI of ROCm 10.1").reference(),
        ],
        includes: &["amd_smi/amdsmi.h"],
        folders: &["amd_smi"],
        allow: "amdsmi.*|AMDSMI.*|AMD_SMI.*",
        statuses: &[Status::new("amdsmi_status_t", "AMDSMI_STATUS_FAIL_LOAD_MODULE", "AMDSMI_STATUS_FAIL_LOAD_SYMBOL")],
        binaries: &[Binary::new((10, 0), "7.2", "libamd_smi.so.27")],
        ..Library::NEW
    },
    Library {
        name: "hipfile",
        package: "hipfile-sys",
        allow: "hipFile.*|HIPFILE.*",
        uses: &["hip"],
        ..Library::NEW
    },
    Library {
        name: "hiptensor",
        package: "hiptensor-sys",
        allow: "hiptensor.*|HIPTENSOR.*",
        uses: &["hip"],
        ..Library::NEW
    },
    Library {
        name: "hipdnn_backend",
        package: "hipdnn-sys",
        allow: "hipdnn.*|Hipdnn.*|HIPDNN.*",
        uses: &["hip"],
        ..Library::NEW
    },
    Library {
        name: "amd_comgr",
        package: "rocm-llvm-sys",
        module: Some("comgr"),
        headers: &[
            Headers::new((5, 7), "5.7", "Comgr of ROCm 6.0, which Debian ships with ROCm 5.7"),
            Headers::new((7, 0), "6.4", "ROCm 7.0.2"),
            Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
        ],
        includes: &["amd_comgr/amd_comgr.h"],
        folders: &["amd_comgr"],
        allow: "amd_comgr.*|AMD_COMGR.*|code_object_info_s",
        statuses: &[Status::new("amd_comgr_status_s", "AMD_COMGR_STATUS_ERROR", "AMD_COMGR_STATUS_ERROR")],
        binaries: &[Binary::new((5, 7), "5.7", "libamd_comgr.so.2"), Binary::new((7, 0), "6.4", "libamd_comgr.so.3"), Binary::new((7, 2), "7.2", "libamd_comgr.so.3")],
        ..Library::NEW
    },
];

/// Their names.
pub(crate) fn names() -> Vec<&'static str> {
    LIBRARIES.iter().map(|library| library.name).collect()
}
