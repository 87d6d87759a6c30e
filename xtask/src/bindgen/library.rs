//! The libraries that bindings are made for, and what is particular to each.

use super::write_c::Anonymous;

/// One library and its `-sys` crate.
pub(crate) struct Library {
    /// Name under `api/`.
    pub(crate) name: &'static str,
    /// Folder of the crate.
    pub(crate) package: &'static str,
    /// Headers, as C includes them.
    pub(crate) includes: &'static [&'static str],
    /// Regular expression: items that belong to it.
    pub(crate) allow: &'static str,
    /// Names that the headers replace by a macro, in every release that the packages cover.
    pub(crate) renames: &'static [(&'static str, &'static str)],
    /// Items of the headers that are not carried over.
    pub(crate) leave_out: &'static [&'static str],
    /// Functions that the packages leave out.
    pub(crate) beyond_facts: &'static [&'static str],
    /// Places of anonymous members in structs that no header at hand has.
    pub(crate) anonymous: Anonymous<'static>,
    /// File name by beginning of a function's name; the longest that fits counts.
    topics: &'static [(&'static str, &'static str)],
}

impl Library {
    /// The file that a function goes to.
    pub(crate) fn topic(&self, function: &str) -> &'static str {
        let fitting = self.topics.iter().filter(|(prefix, _)| function.starts_with(prefix));
        fitting.max_by_key(|(prefix, _)| prefix.len()).map_or("functions", |(_, topic)| topic)
    }
}

/// All of them.
pub(crate) const LIBRARIES: [Library; 2] = [
    Library {
        name: "hip",
        package: "hip-sys",
        includes: &["hip/hip_runtime_api.h", "hip/hip_gl_interop.h", "hip/library_types.h"],
        allow: "_?i?hip.*|HIP.*|GLuint|GLenum|dim3|textureReference|surfaceReference|u?(char|short|int|long|longlong)[1-4]|(float|double)[1-4]",
        renames: &[
            ("hipDeviceProp_t", "hipDeviceProp_tR0600"),
            ("hipGetDeviceProperties", "hipGetDevicePropertiesR0600"),
            ("hipChooseDevice", "hipChooseDeviceR0600"),
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
        beyond_facts: &["hipGLGetDevices", "hipGraphicsGLRegisterBuffer", "hipGraphicsGLRegisterImage"],
        anonymous: &[
            // As in CUDA's struct of the same use: after the padding, before the pointer.
            ("hipDevResource_st", 2, "hipDevResource_st_union_0"),
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
    },
    Library {
        name: "hiprtc",
        package: "hiprtc-sys",
        includes: &["hip/hiprtc.h"],
        allow: "_?i?hiprtc.*|HIPRTC.*|hipJit.*",
        renames: &[],
        leave_out: &[],
        beyond_facts: &[],
        anonymous: &[],
        topics: &[("hiprtc", "functions")],
    },
];
