//! Rules in addition to the tables of names: modules, corrected names, functions with other signatures, reasons for
//! absent names.

/// A module of `cuda-compat`, and the library of its names.
pub(crate) struct Module {
    pub(crate) name: &'static str,
    /// The names in prose: CUDA's, and ROCm's counterpart.
    pub(crate) title: (&'static str, &'static str),
    /// The `-sys` crate, without `-sys`.
    pub(crate) library: &'static str,
    /// Prefixes of names: CUDA's, ROCm's.
    pub(crate) prefixes: &'static [(&'static str, &'static str)],
    /// Whether AMD's Python layer maps the module's names.
    pub(crate) is_interop: bool,
    /// Whether its functions use the runtime's data types.
    pub(crate) has_data_types: bool,
    /// Whether the module is written by hand: then its names are read from its source.
    pub(crate) is_written: bool,
}

const fn library(
    name: &'static str,
    title: (&'static str, &'static str),
    library: &'static str,
    prefixes: &'static [(&'static str, &'static str)],
) -> Module {
    Module { name, title, library, prefixes, is_interop: false, has_data_types: true, is_written: false }
}

/// The modules, in the order of the page.
pub(crate) const MODULES: &[Module] = &[
    Module {
        is_interop: true,
        has_data_types: false,
        ..library("driver", ("the driver API", "HIP"), "hip", &[("cu", "hip"), ("CU_", "HIP_")])
    },
    Module {
        is_interop: true,
        has_data_types: false,
        ..library("runtime", ("the runtime API", "HIP"), "hip", &[("cuda", "hip"), ("CUDA_", "HIP_")])
    },
    Module {
        is_interop: true,
        has_data_types: false,
        ..library("nvrtc", ("NVRTC", "HIPRTC"), "hiprtc", &[("nvrtc", "hiprtc"), ("NVRTC_", "HIPRTC_")])
    },
    library("cublas", ("cuBLAS", "hipBLAS"), "hipblas", &[("cublas", "hipblas"), ("CUBLAS_", "HIPBLAS_")]),
    library(
        "cublaslt",
        ("cuBLASLt", "hipBLASLt"),
        "hipblaslt",
        &[("cublasLt", "hipblasLt"), ("CUBLASLT_", "HIPBLASLT_")],
    ),
    library("curand", ("cuRAND", "hipRAND"), "hiprand", &[("curand", "hiprand"), ("CURAND_", "HIPRAND_")]),
    library(
        "cusparse",
        ("cuSPARSE", "hipSPARSE"),
        "hipsparse",
        &[("cusparse", "hipsparse"), ("CUSPARSE_", "HIPSPARSE_")],
    ),
    library("cufft", ("cuFFT", "hipFFT"), "hipfft", &[("cufft", "hipfft"), ("CUFFT_", "HIPFFT_")]),
    library(
        "cusolver",
        ("cuSOLVER", "hipSOLVER"),
        "hipsolver",
        &[("cusolver", "hipsolver"), ("CUSOLVER", "HIPSOLVER")],
    ),
    Module { has_data_types: false, ..library("nccl", ("NCCL", "RCCL"), "rccl", &[]) },
    Module {
        has_data_types: false,
        ..library(
            "cufile",
            ("cuFile", "hipFile"),
            "hipfile",
            &[("cuFile", "hipFile"), ("CU_FILE_", "hipFile"), ("CUfile", "hipFile")],
        )
    },
    Module { has_data_types: false, ..library("nvtx", ("NVTX", "rocTX"), "roctx", &[("nvtx", "roctx")]) },
    Module { has_data_types: false, is_written: true, ..library("nvml", ("NVML", "AMD SMI"), "amdsmi", &[]) },
];

const OF_THE_LINKER: &str =
    "hiprtcLink functions return a hiprtcResult; those of HIP (ROCm 6.4) return a status of the driver, as CUDA's do";
const TAKES_A_LOCATION: &str = "it takes a location; so does HIP's _v2 function (ROCm 7.1)";

/// Names whose item in the tables is wrong: module, CUDA, ROCm, why.
pub(crate) const CORRECTED: &[(&str, &str, &str, &str)] = &[
    (
        "runtime",
        "cudaMallocHost",
        "hipMallocHost",
        "cudaMallocHost takes two arguments; hipHostMalloc takes flags as a third",
    ),
    (
        "runtime",
        "cudaGraphInstantiate",
        "hipGraphInstantiateWithFlags",
        "since CUDA 12 it takes a graph and flags; hipGraphInstantiate has the five arguments of CUDA 11",
    ),
    (
        "driver",
        "cuGraphInstantiate",
        "hipGraphInstantiateWithFlags",
        "since CUDA 12 it is cuGraphInstantiateWithFlags; hipGraphInstantiate has the five arguments of cuGraphInstantiate_v2",
    ),
    (
        "runtime",
        "cudaStreamGetCaptureInfo",
        "hipStreamGetCaptureInfo_v2",
        "since CUDA 12 it is cudaStreamGetCaptureInfo_v2, with six arguments",
    ),
    (
        "driver",
        "cuStreamGetCaptureInfo",
        "hipStreamGetCaptureInfo_v2",
        "since CUDA 12 it is cuStreamGetCaptureInfo_v2, with six arguments",
    ),
    (
        "driver",
        "cuCtxSynchronize",
        "hipDeviceSynchronize",
        "AMD's hipCtxSynchronize returns hipErrorNotSupported; a device has one context",
    ),
    ("driver", "CUlinkState", "hipLinkState_t", OF_THE_LINKER),
    ("driver", "CUlinkState_st", "ihipLinkState_t", OF_THE_LINKER),
    ("driver", "cuLinkAddData", "hipLinkAddData", OF_THE_LINKER),
    ("driver", "cuLinkAddData_v2", "hipLinkAddData", OF_THE_LINKER),
    ("driver", "cuLinkAddFile", "hipLinkAddFile", OF_THE_LINKER),
    ("driver", "cuLinkAddFile_v2", "hipLinkAddFile", OF_THE_LINKER),
    ("driver", "cuLinkComplete", "hipLinkComplete", OF_THE_LINKER),
    ("driver", "cuLinkCreate", "hipLinkCreate", OF_THE_LINKER),
    ("driver", "cuLinkCreate_v2", "hipLinkCreate", OF_THE_LINKER),
    ("driver", "cuLinkDestroy", "hipLinkDestroy", OF_THE_LINKER),
    ("driver", "cuMemPrefetchAsync_v2", "hipMemPrefetchAsync_v2", TAKES_A_LOCATION),
    ("driver", "cuMemAdvise_v2", "hipMemAdvise_v2", TAKES_A_LOCATION),
    ("runtime", "cudaMemPrefetchAsync_v2", "hipMemPrefetchAsync_v2", TAKES_A_LOCATION),
    ("runtime", "cudaMemAdvise_v2", "hipMemAdvise_v2", TAKES_A_LOCATION),
    ("runtime", "cudaStreamGetCaptureInfo_v2", "hipStreamGetCaptureInfo_v2", "it has six arguments"),
    (
        "nvrtc",
        "nvrtcGetCUBIN",
        "hiprtcGetCode",
        "a cubin is machine code, as hiprtcGetCode returns it; hiprtcGetBitcode returns LLVM bitcode, and needs -fgpu-rdc",
    ),
    ("nvrtc", "nvrtcGetCUBINSize", "hiprtcGetCodeSize", "the size of what nvrtcGetCUBIN returns"),
];

/// Names that the tables lack: module, CUDA, ROCm.
pub(crate) const ADDED: &[(&str, &str, &str)] = &[
    ("nvrtc", "nvrtcGetLTOIR", "hiprtcGetBitcode"),
    ("nvrtc", "nvrtcGetLTOIRSize", "hiprtcGetBitcodeSize"),
    ("cublas", "cublasGetStatusString", "hipblasStatusToString"),
    ("nvtx", "nvtxRangeEnd", "roctxRangeStop"),
    ("nvtx", "nvtxRangeId_t", "roctx_range_id_t"),
    ("driver", "cuGetProcAddress_v2", "hipGetProcAddress"),
    ("driver", "cudaError_enum", "hipError_t"),
    ("driver", "CUdevice", "hipDevice_t"),
    ("driver", "CUdevice_v1", "hipDevice_t"),
    ("runtime", "cudaError_t", "hipError_t"),
    ("runtime", "cudaError", "hipError_t"),
    ("runtime", "cudaDataType_t", "hipDataType"),
    ("driver", "CU_STREAM_PER_THREAD", "hipStreamPerThread"),
    ("driver", "CU_STREAM_LEGACY", "hipStreamLegacy"),
    ("runtime", "cudaStreamPerThread", "hipStreamPerThread"),
    ("runtime", "cudaStreamLegacy", "hipStreamLegacy"),
    ("runtime", "dim3", "dim3"),
    ("cublas", "cublasHgemm", "hipblasHgemm"),
    ("cublas", "cublasHgemmBatched", "hipblasHgemmBatched"),
    ("cublas", "cublasHgemmStridedBatched", "hipblasHgemmStridedBatched"),
    // Since CUDA 11 the same as CUBLAS_GEMM_DEFAULT.
    ("cublas", "CUBLAS_GEMM_DEFAULT_TENSOR_OP", "HIPBLAS_GEMM_DEFAULT"),
    ("cublas", "CUBLAS_GEMM_DFALT_TENSOR_OP", "HIPBLAS_GEMM_DEFAULT"),
    ("cublas", "cuComplex", "hipComplex"),
    ("cublas", "cuDoubleComplex", "hipDoubleComplex"),
    ("cublas", "cublasDataType_t", "hipDataType"),
    ("runtime", "float2", "float2"),
    ("runtime", "double2", "double2"),
    ("cublaslt", "cublasStatus_t", "hipblasStatus_t"),
    ("cublaslt", "cublasComputeType_t", "hipblasComputeType_t"),
    ("cufft", "libraryPropertyType", "hipfftLibraryPropertyType_t"),
    ("cufft", "libraryPropertyType_t", "hipfftLibraryPropertyType_t"),
    ("cufft", "MAJOR_VERSION", "HIPFFT_MAJOR_VERSION"),
    ("cufft", "MINOR_VERSION", "HIPFFT_MINOR_VERSION"),
    ("cufft", "PATCH_LEVEL", "HIPFFT_PATCH_LEVEL"),
    ("cufft", "cuComplex", "hipComplex"),
    ("cufft", "cuDoubleComplex", "hipDoubleComplex"),
    ("cufft", "cufftComplex", "hipfftComplex"),
    ("cufft", "cufftDoubleComplex", "hipfftDoubleComplex"),
    ("cufft", "cufftReal", "hipfftReal"),
    ("cufft", "cufftDoubleReal", "hipfftDoubleReal"),
    ("cusolver", "cuComplex", "hipFloatComplex"),
    ("cusolver", "cuDoubleComplex", "hipDoubleComplex"),
    ("cusparse", "cuComplex", "hipComplex"),
    ("cusparse", "cuDoubleComplex", "hipDoubleComplex"),
    ("cusolver", "cublasOperation_t", "hipblasOperation_t"),
    ("cusolver", "cublasFillMode_t", "hipblasFillMode_t"),
    ("cusolver", "cublasSideMode_t", "hipblasSideMode_t"),
    ("cusolver", "CUBLAS_OP_N", "HIPBLAS_OP_N"),
    ("cusolver", "CUBLAS_OP_T", "HIPBLAS_OP_T"),
    ("cusolver", "CUBLAS_OP_C", "HIPBLAS_OP_C"),
    ("cusolver", "CUBLAS_FILL_MODE_LOWER", "HIPBLAS_FILL_MODE_LOWER"),
    ("cusolver", "CUBLAS_FILL_MODE_UPPER", "HIPBLAS_FILL_MODE_UPPER"),
    ("cusolver", "CUBLAS_SIDE_LEFT", "HIPBLAS_SIDE_LEFT"),
    ("cusolver", "CUBLAS_SIDE_RIGHT", "HIPBLAS_SIDE_RIGHT"),
];

/// Names that AMD's table or their own spelling would map, but that must not be mapped: pattern, why. The first match
/// counts.
pub(crate) const WRONG: &[(&str, &str)] = &[
    (r"^hip|^HIP", "not a name of CUDA: it is HIP's own"),
    (
        r"^getLocalRuntimeVersion$",
        "not a name of CUDA's C interface: it is one of NVIDIA's Python package; call cudaRuntimeGetVersion",
    ),
    (
        r"^CUDA_(ARRAY_DESCRIPTOR|ARRAY3D_DESCRIPTOR|MEMCPY2D|MEMCPY3D)_v1(_st)?$|^CUdeviceptr_v1$",
        "the form of CUDA 3.1, with addresses and sizes of 32 bits: HIP's struct has another layout; use the name without _v1",
    ),
    (
        r"^cuOccupancyAvailableDynamicSMemPerBlock$",
        "it takes a CUfunction; hipOccupancyAvailableDynamicSMemPerBlock takes the address of a host function",
    ),
    (
        r"^cublasLtGetVersion$",
        "it takes no argument; hipblasLtGetVersion takes a handle and the address of the result: call that",
    ),
    (
        r"^cusparseSp(SV|SM)_solve$",
        "it has no buffer: cuSPARSE keeps the one of the analysis; hipsparseSpSV_solve and hipsparseSpSM_solve take it: call them",
    ),
    (
        r"^cu(da)?(Graph(AddDependencies|AddNode|GetEdges|NodeGetDependencies|NodeGetDependentNodes|RemoveDependencies)|StreamUpdateCaptureDependencies)_v2$",
        "it takes data of edges, which HIP's graphs lack: call the name without _v2",
    ),
    (r"^cu(da)?StreamGetCaptureInfo_v3$", "it takes data of edges, which HIP's graphs lack: call the name with _v2"),
    (r"^cuCtxCreate_v[34]$", "it takes parameters of execution affinity, which HIP lacks: call cuCtxCreate"),
    (
        r"^cuCtx(GetDevice|Synchronize)_v2$",
        "it takes a context; HIP has these for the current one: call the name without _v2",
    ),
    (r"^cu(da)?LaunchHostFunc_v2$", "it takes a mode of waiting, which HIP lacks: call the name without _v2"),
    (r"^cuMemcpy(3D)?BatchAsync_v2$", "it has no failIdx; HIP's function does: call the name without _v2"),
    (
        r"^cuda(CreateTextureObject|GetTextureObjectTextureDesc|TextureDesc)_v2$",
        "its struct has seamlessCubemap, which HIP's lacks: use the name without _v2",
    ),
    (r"^CU(DA)?_VERSION$", "the version of CUDA: nothing here has it"),
];

const NO_TENSOR_MAPS: &str =
    "it is `CUDA_ERROR_NOT_SUPPORTED`: descriptors of NVIDIA's tensor memory accelerator; load tiles by ordinary loads";
const AN_ENUM: &str = "a Rust enum: programs match it without a default";

/// Functions and types that are written by hand in the module: module, name, how it differs.
pub(crate) const BY_HAND: &[(&str, &str, &str)] = &[
    ("driver", "CUctxCreateParams", "without fields: HIP has no such contexts, and `create_v4` takes null"),
    ("driver", "CUctxCreateParams_st", "without fields: HIP has no such contexts, and `create_v4` takes null"),
    ("driver", "CUdeviceptr", "an integer of 64 bits, as in CUDA; HIP's is a pointer"),
    ("driver", "CUdeviceptr_v2", "an integer of 64 bits, as in CUDA; HIP's is a pointer"),
    ("driver", "CUfunc_cache", AN_ENUM),
    ("driver", "CUfunc_cache_enum", AN_ENUM),
    ("driver", "CU_FUNC_CACHE_PREFER_EQUAL", AN_ENUM),
    ("driver", "CU_FUNC_CACHE_PREFER_L1", AN_ENUM),
    ("driver", "CU_FUNC_CACHE_PREFER_NONE", AN_ENUM),
    ("driver", "CU_FUNC_CACHE_PREFER_SHARED", AN_ENUM),
    ("driver", "cuCtxGetCacheConfig", "the preference is a Rust enum"),
    ("driver", "cuCtxSetCacheConfig", "the preference is a Rust enum"),
    (
        "driver",
        "cuDeviceComputeCapability",
        "the compute capability of `cuda_compat::device`, 8.0; HIP's says the architecture",
    ),
    (
        "driver",
        "cuDeviceGetAttribute",
        "the compute capability and the size of warps are those of `cuda_compat::device`",
    ),
    ("driver", "cuGetErrorName", "also knows the statuses that HIP lacks"),
    ("driver", "cuGetErrorString", "also knows the statuses that HIP lacks"),
    ("driver", "cuGetProcAddress", "without the fifth argument of HIP's"),
    ("driver", "cuGraphExecUpdate", "one struct for the results, as since CUDA 12"),
    ("driver", "cuGraphExecUpdate_v2", "one struct for the results, as since CUDA 12"),
    ("driver", "CUgraphExecUpdateResultInfo", "the struct of cuGraphExecUpdate"),
    ("driver", "cuLibraryLoadData", "PTX and other code of NVIDIA's is refused, and the log says what to do"),
    ("driver", "cuLibraryLoadFromFile", "PTX and other code of NVIDIA's is refused, and the log says what to do"),
    ("driver", "cuMemcpy", "`hipMemcpy`, which finds the direction by the addresses"),
    ("driver", "cuMemcpyAsync", "`hipMemcpyAsync`, which finds the direction by the addresses"),
    ("driver", "cuMemcpyPeer", "`hipMemcpy`, which finds the devices by the addresses: contexts are not used"),
    (
        "driver",
        "cuMemcpyPeerAsync",
        "`hipMemcpyAsync`, which finds the devices by the addresses: contexts are not used",
    ),
    ("driver", "cuModuleLoad", "PTX and other code of NVIDIA's is refused"),
    ("driver", "cuModuleLoadData", "PTX and other code of NVIDIA's is refused"),
    ("driver", "cuModuleLoadDataEx", "PTX and other code of NVIDIA's is refused, and the log says what to do"),
    ("driver", "cuModuleLoadFatBinary", "PTX and other code of NVIDIA's is refused"),
    ("driver", "cuOccupancyMaxPotentialBlockSize", "a function for the size of shared memory is refused"),
    ("driver", "cuOccupancyMaxPotentialBlockSizeWithFlags", "a function for the size of shared memory is refused"),
    ("driver", "CUoccupancyB2DSize", "the function pointer of cuOccupancyMaxPotentialBlockSize"),
    ("driver", "cuStreamWaitValue32", "all bits are compared: HIP takes a mask"),
    ("driver", "cuStreamWaitValue32_v2", "all bits are compared: HIP takes a mask"),
    ("driver", "cuStreamWaitValue64", "all bits are compared: HIP takes a mask"),
    ("driver", "cuStreamWaitValue64_v2", "all bits are compared: HIP takes a mask"),
    ("driver", "CUtensorMap", "the struct of cuTensorMapEncodeTiled, which no function fills"),
    ("driver", "CUtensorMap_st", "the struct of cuTensorMapEncodeTiled, which no function fills"),
    ("driver", "cuTensorMapEncodeIm2col", NO_TENSOR_MAPS),
    ("driver", "cuTensorMapEncodeIm2colWide", NO_TENSOR_MAPS),
    ("driver", "cuTensorMapEncodeTiled", NO_TENSOR_MAPS),
    ("driver", "cuTensorMapReplaceAddress", NO_TENSOR_MAPS),
    ("nvrtc", "nvrtcCompileProgram", "options of NVRTC are translated to those of clang"),
    ("nvrtc", "nvrtcCreateProgram", "a prelude with what CUDA C++ has and HIPRTC lacks comes first; PTX is refused"),
    ("nvrtc", "nvrtcDestroyProgram", "as nvrtcCreateProgram"),
    ("nvrtc", "nvrtcGetProgramLog", "also names options without a meaning and code for 32 lanes; ends with a zero"),
    ("nvrtc", "nvrtcGetProgramLogSize", "the size of nvrtcGetProgramLog's, with the zero"),
    ("runtime", "cudaDeviceGetAttribute", "as cuDeviceGetAttribute"),
    (
        "runtime",
        "cudaGetDeviceProperties",
        "the compute capability and the size of warps are those of `cuda_compat::device`",
    ),
    ("runtime", "cudaGetDeviceProperties_v2", "as cudaGetDeviceProperties"),
    ("runtime", "cudaGetErrorName", "also knows the statuses that HIP lacks"),
    ("runtime", "cudaGetErrorString", "also knows the statuses that HIP lacks"),
    ("runtime", "cudaGraphExecUpdate", "one struct for the results, as since CUDA 12"),
    ("runtime", "cudaGraphExecUpdateResultInfo", "the struct of cudaGraphExecUpdate"),
    ("runtime", "cudaLibraryLoadData", "as cuLibraryLoadData"),
    ("runtime", "cudaLibraryLoadFromFile", "as cuLibraryLoadFromFile"),
    ("cufile", "cuFileGetVersion", "one number for the version: 1000 for the major one, 10 for the minor one"),
];

/// Parameters of driver functions that are a `CUdeviceptr` in CUDA and a `void *` in HIP, by position. (A
/// `hipDeviceptr_t` is recognised by its type.) The name is without `_v2`.
pub(crate) const DEVICE_POINTERS: &[(&str, &[usize])] = &[
    ("cuExternalMemoryGetMappedBuffer", &[0]),
    ("cuGraphAddMemFreeNode", &[4]),
    ("cuGraphMemFreeNodeGetParams", &[1]),
    ("cuGraphicsResourceGetMappedPointer", &[0]),
    ("cuIpcCloseMemHandle", &[0]),
    ("cuIpcGetMemHandle", &[1]),
    ("cuIpcOpenMemHandle", &[0]),
    ("cuMemAddressFree", &[0]),
    ("cuMemAddressReserve", &[0, 3]),
    ("cuMemAdvise", &[0]),
    ("cuMemAlloc", &[0]),
    ("cuMemAllocAsync", &[0]),
    ("cuMemAllocFromPoolAsync", &[0]),
    ("cuMemAllocManaged", &[0]),
    ("cuMemAllocPitch", &[0]),
    ("cuMemFree", &[0]),
    ("cuMemFreeAsync", &[0]),
    ("cuMemGetAccess", &[2]),
    ("cuMemHostGetDevicePointer", &[0]),
    ("cuMemMap", &[0]),
    ("cuMemPoolExportPointer", &[1]),
    ("cuMemPoolImportPointer", &[0]),
    ("cuMemPrefetchAsync", &[0]),
    ("cuMemRangeGetAttribute", &[3]),
    ("cuMemRangeGetAttributes", &[4]),
    ("cuMemSetAccess", &[0]),
    ("cuMemUnmap", &[0]),
    ("cuMemcpyBatchAsync", &[0, 1]),
    ("cuStreamAttachMemAsync", &[1]),
    ("cuStreamWriteValue32", &[1]),
    ("cuStreamWriteValue64", &[1]),
];

/// Parameters with another integer type in CUDA: name without `_v2`, position, CUDA's type.
pub(crate) const INTEGERS: &[(&str, usize, &str)] = &[
    ("cuGraphicsMapResources", 0, "::core::ffi::c_uint"),
    ("cuGraphicsUnmapResources", 0, "::core::ffi::c_uint"),
    ("cuMemsetD32", 1, "::core::ffi::c_uint"),
    ("cuMemsetD32Async", 1, "::core::ffi::c_uint"),
    ("cuMemPoolExportToShareableHandle", 3, "::core::ffi::c_ulonglong"),
    ("cuMemPoolImportFromShareableHandle", 3, "::core::ffi::c_ulonglong"),
    ("cudaLaunchCooperativeKernel", 4, "usize"),
    ("cudaLaunchCooperativeKernelMultiDevice", 1, "::core::ffi::c_uint"),
];

/// Structs of the driver with a `CUdeviceptr` where HIP's have a pointer: CUDA, HIP, and fields that HIP declares as
/// `void *`.
pub(crate) const STRUCTS: &[(&str, &str, &[&str])] = &[
    ("CUDA_MEMCPY2D", "hip_Memcpy2D", &[]),
    ("CUDA_MEMCPY3D", "HIP_MEMCPY3D", &[]),
    ("CUDA_MEMSET_NODE_PARAMS", "hipMemsetParams", &["dst"]),
    ("CUDA_MEM_ALLOC_NODE_PARAMS", "hipMemAllocNodeParams", &["dptr"]),
];

/// Why functions are absent, and what to do: pattern, text. The first match counts; the last matches all.
pub(crate) const ABSENT: &[(&str, &str)] = &[
    (
        r"^(cu|cuda)(EGL|VDPAU|D3D|GraphicsEGL|GraphicsVDPAU|GraphicsD3D|EventCreateFromEGL)",
        "HIP shares memory with OpenGL alone: the crate `hip-gl`",
    ),
    (r"^(cu|cuda)(GL|WGL)", "of OpenGL, HIP has buffers and images: the crate `hip-gl`"),
    (r"^cuMulticast", "NVLink multicast: use RCCL's collectives"),
    (r"^cu(da)?(Coredump|Logs?[A-Z])", "of NVIDIA's driver: set AMD_LOG_LEVEL for HIP's log, and use rocgdb"),
    (r"^cuCheckpoint", "checkpoints of processes are the driver's of NVIDIA"),
    (
        r"^cu(da)?(GreenCtx|DevResource|DevSm|DeviceGetDevResource|ExecutionCtx|StreamGetGreenCtx|CtxFromGreenCtx|CtxGetDevResource)",
        "green contexts: limit a stream's compute units by hipExtStreamCreateWithCUMask",
    ),
    (
        r"^cu(da)?Ctx(Create|SetFlags|Record|Wait|GetId|GetExecAffinity|ResetPersisting|Attach|Detach)|^cuCtx",
        "HIP has the primary context of each device alone: cudaSetDevice, cuDevicePrimaryCtxRetain",
    ),
    (
        r"^cu(da)?User|^cu(da)?Graph.*Conditional|^cu(da)?Graph.*NodeSetEnabled$",
        "HIP's graphs lack it: build two graphs, and choose on the host",
    ),
    (
        r"^cu(da)?Graph",
        "HIP's graphs lack it: see the functions that are mapped, and the module `graph` of the crate `hip`",
    ),
    (r"^cu(Kernel|Library)|^cudaLibrary|^cudaKernel", "load by cuModuleLoadData and cuModuleGetFunction"),
    (r"^cu(da)?Mem.*(Decompress|Discard)", "HIP lacks it: prefetch by cuMemPrefetchAsync"),
    (r"^cu(da)?Func|^cuModule", "HIP lacks it: attributes of a kernel are in cuFuncGetAttribute"),
    (
        r"^cu(da)?Array|^cu(da)?Mipmapped|^cu(da)?Surf|^cu(da)?Tex",
        "HIP lacks it: create textures by cuTexObjectCreate, and surfaces by cudaCreateSurfaceObject",
    ),
    (r"^cu(da)?(Launch|Occupancy).*(Cluster|Ex)", "clusters of blocks are NVIDIA's: launch by cuLaunchKernel"),
    (r"^cu(da)?.*_pt(sz|ds)$", "pass CU_STREAM_PER_THREAD as the stream"),
    (
        r"^(cu|cuda)Device.*(RegisterAsync|UnregisterAsync|TexturePitch|NvSci|ExecAffinity|FlushGPUDirect)",
        "of NVIDIA's driver",
    ),
    (
        r"^nvrtc.*(PCH|NVVM|OptiX|Flow|Supported|NumSupported)",
        "of NVIDIA's compiler: the crate `hiprtc` caches compiled code, and knows the architectures",
    ),
    (
        r"^cublas.*(3m|Herk3m|Cherk3m|Csyrk3m)",
        "products of complex numbers in three multiplications: call the function without 3m",
    ),
    (r"^cublas.*(matinv|tpttr|trttp)", "use getrfBatched and getriBatched, or hipSOLVER"),
    (r"^cublas(S|C)(gemmEx|syrkEx|herkEx)", "call cublasGemmEx with the types of the matrices"),
    (r"^cublas.*(GroupedBatched)", "the crate `hipblaslt` has grouped products"),
    (
        r"^cublas.*(Logger|LogCallback|GetCudart|Emulation|SmCount)",
        "of NVIDIA's library: set HIPBLASLT_LOG_LEVEL or ROCBLAS_LAYER",
    ),
    (r"^cublas(Set|Get)(Vector|Matrix)", "call the form without _64"),
    (r"^cublasLt.*(Logger|Heuristics|Disable)", "of NVIDIA's library: set HIPBLASLT_LOG_LEVEL"),
    (r"^cublasLt", "hipBLASLt lacks it: take the algorithms of cublasLtMatmulAlgoGetHeuristic"),
    (r"^curand", "hipRAND lacks it"),
    (r"^cusparseLogger|^cusparseGetProperty", "of NVIDIA's library: set ROCSPARSE_LAYER"),
    (r"^cusolver(Sp|Rf)", "hipSOLVER has a part of the sparse solvers alone: see hipsolverSp and hipsolverRf"),
    (r"^cusolverMg", "for several GPUs: distribute by RCCL, and solve by hipSOLVER on each"),
    (
        r"^cusolverDn.*(IRS|[SDCZ][SDCZHBXEKY]ge(sv|ls)|Xgesv)",
        "iterative refinement: hipSOLVER has part of it under hipsolverDn..gesv",
    ),
    (r"^cusolverDn", "hipSOLVER lacks it: rocSOLVER, which it stands on, has more"),
    (r"^cufft", "hipFFT lacks it"),
    (r"^cuFile", "hipFile lacks it"),
    (r"^nvtxDomain|^nvtx.*Ex$", "rocTX has no domains and no attributes: nvtxRangePushA, nvtxMarkA"),
    (r"^nvtx.*W$", "rocTX takes bytes: the function that ends with A"),
    (r"^nvtx", "rocTX lacks it"),
    (r"^nvmlSystemGetCudaDriverVersion", "call cudaDriverGetVersion: HIP's version"),
    (
        r"^nvml.*(Vgpu|VGPU|GridLicens|Virtualization|HostVgpu)",
        "virtual GPUs of NVIDIA: on a host, AMD's GPU-IOV module has its own tools",
    ),
    (
        r"^nvml.*(Mig|GpuInstance|ComputeInstance)",
        "partitions: an MI300 in CPX mode shows each as a GPU; amdsmi_get_gpu_compute_partition has the mode",
    ),
    (
        r"^nvml.*(NvLink|Nvlink|NVLink|C2c|GpuFabric)",
        "links between GPUs: amdsmi_topo_get_link_type, amdsmi_topo_get_link_weight",
    ),
    (
        r"^nvml.*Topology|^nvml.*P2P|^nvml.*(Cpu|Memory)Affinity",
        "amdsmi_topo_get_link_type, amdsmi_topo_get_numa_node_number",
    ),
    (
        r"^nvml.*(RunningProcesses|ProcessUtilization|Accounting|ProcessName)",
        "amdsmi_get_gpu_process_list of the crate `amdsmi-sys`",
    ),
    (
        r"^nvml.*(Ecc|Retired|Remapped|Repair|Violation|Throttle|EventReasons)",
        "amdsmi_get_gpu_total_ecc_count, amdsmi_get_gpu_bad_page_info",
    ),
    (
        r"^nvml.*(EventSet|RegisterEvents|SupportedEventTypes)",
        "amdsmi_init_gpu_event_notification, amdsmi_get_gpu_event_notification",
    ),
    (
        r"^nvml.*(Pcie|GpuMaxPcie|PcieSpeed)",
        "amdsmi_get_pcie_info of the crate `amdsmi-sys`, in the module of the installed release",
    ),
    (
        r"^nvmlDeviceSet|^nvmlDeviceReset|^nvmlDeviceClear",
        "settings: the functions amdsmi_set_... of the crate `amdsmi-sys`, as root",
    ),
    (
        r"^nvmlDeviceGet(Cuda|Multi|Architecture|Attributes|NumGpuCores|MemoryBusWidth)",
        "properties: cuDeviceGetAttribute, cudaGetDeviceProperties",
    ),
    (r"^nvml.*(Encoder|Decoder|Fbc|Jpg|Ofa)", "video engines: mm_activity of amdsmi_get_gpu_activity"),
    (
        r"^nvml(Unit|Gpm|ConfComputing|SystemGetConfCompute|DeviceGetConfCompute)",
        "NVIDIA's own: AMD SMI has no counterpart",
    ),
    (r"^nvml", "not wrapped: see the functions of the crate `amdsmi-sys`"),
    (r"", "HIP has no such function"),
];

/// A status, and cudarc's error type for it.
pub(crate) struct Status {
    pub(crate) library: &'static str,
    pub(crate) ty: &'static str,
    pub(crate) success: &'static str,
    pub(crate) error: &'static str,
}

const fn status(library: &'static str, ty: &'static str, success: &'static str, error: &'static str) -> Status {
    Status { library, ty, success, error }
}

/// The statuses with a method `result`.
pub(crate) const STATUSES: &[Status] = &[
    status("hip", "hipError_t", "hipSuccess", "DriverError"),
    status("hiprtc", "hiprtcResult", "HIPRTC_SUCCESS", "NvrtcError"),
    status("hipblas", "hipblasStatus_t", "HIPBLAS_STATUS_SUCCESS", "CublasError"),
    status("hiprand", "hiprandStatus_t", "HIPRAND_STATUS_SUCCESS", "CurandError"),
    status("hipsparse", "hipsparseStatus_t", "HIPSPARSE_STATUS_SUCCESS", "CusparseError"),
    status("hipfft", "hipfftResult", "HIPFFT_SUCCESS", "CufftError"),
    status("hipsolver", "hipsolverStatus_t", "HIPSOLVER_STATUS_SUCCESS", "CusolverError"),
    status("rccl", "ncclResult_t", "ncclSuccess", "NcclError"),
];
