//! HIP: the runtime and the run-time compiler.

use super::super::library::{Binary, Headers, Library, Status};

pub(super) const HIP: Library = Library {
    name: "hip",
    package: "hip-sys",
    headers: &[
        Headers::new((5, 7), "5.7", "ROCm 5.7.1"),
        Headers::new((6, 4), "6.4", "ROCm 6.4.3"),
        Headers::new((7, 2), "7.2", "ROCm 7.2.4"),
    ],
    includes: &["hip/hip_runtime_api.h", "hip/hip_gl_interop.h", "hip/library_types.h", "hip/hip_complex.h"],
    folders: &["hip"],
    allow: "_?i?hip.*|HIP.*|GLuint|GLenum|dim3|textureReference|surfaceReference|u?(char|short|int|long|longlong)[1-4]|(float|double)[1-4]",
    statuses: &[Status::new("hipError_t", "hipErrorSharedObjectInitFailed", "hipErrorSharedObjectSymbolNotFound")
        .other_release("hipErrorNotSupported")],
    one_enum: &[(
        "hipDeviceAttribute_t",
        "one constant, `hipDeviceAttributePciChipId`, got another value after ROCm 7.0, in which it was new",
    )],
    as_newest: &[
        ("hipArray", (5, 7), "the headers of 5.7 show the runtime's own fields behind the handle"),
        ("hipMemPoolProps", (5, 7), "`maxSize` was reserved in 5.7"),
        ("hipMemAllocationProp", (5, 7), "`requestedHandleType` had one name before 7.0"),
        ("hipLaunchAttributeValue", (7, 0), "the union had fewer members, and the same size"),
    ],
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
        // The patch release does not affect the interface.
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
            "declared in hip_gl_interop.h, which the packages do not read; hip_runtime_api.h of 5.7 includes it",
        ),
        ("hipGraphicsGLRegisterBuffer", "declared in hip_gl_interop.h, which the packages do not read"),
        ("hipGraphicsGLRegisterImage", "declared in hip_gl_interop.h, which the packages do not read"),
    ],
    anonymous: &[
        // Like CUDA's struct of the same use: after the padding, before the pointer.
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
};

pub(super) const HIPRTC: Library = Library {
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
        // HIPRTC is part of the HIP library in this release.
        Binary::new((5, 7), "5.7", "libamdhip64.so.5"),
        Binary::new((6, 4), "6.4", "libhiprtc.so.6"),
        Binary::new((7, 2), "7.2", "libhiprtc.so.7"),
    ],
    ..Library::NEW
};
