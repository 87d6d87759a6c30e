//! Reasons why functions of the HIP runtime are left out of the safe crate.

const COMPILED_IN: &str =
    "for kernels and variables that a C++ compiler links into the program; here they are in a `Module`";
const ANOTHER_FORM: &str = "another form of a function that the crate calls";
const READ_BACK: &str = "reads back values that the program has set";
const IN_THE_GRAPH: &str =
    "changes a graph before it is instantiated: build it again instead; `GraphExec` changes an instantiated one";
const DEPRECATED_CONTEXT: &str =
    "contexts, deprecated by AMD: a device has one context, and the crate makes it current";
const STREAM_OF_ITS_OWN: &str = "HIP refuses it, or ends a capture, while any stream is captured; blocking copies here are `hipMemcpyWithStream` or \
     the asynchronous form over a stream of their own";
const PROPERTIES: &str = "use `Device::properties` and `Device::attribute`";

/// Patterns of whole names with the reason; the first match counts.
pub(super) const REASONS: &[(&str, &str)] = &[
    (r".*_spt", "for C code compiled with per-thread default streams; use `Stream::per_thread`"),
    (
        r"hipTexRef.*|hipBindTexture.*|hipUnbindTexture|hipGetTexture(Reference|AlignmentOffset)|hipModuleGetTexRef",
        "texture references, deprecated by AMD; texture objects replace them",
    ),
    (r"hipCtx.*|hipDevicePrimaryCtx(Retain|Release|Reset|SetFlags)", DEPRECATED_CONTEXT),
    (r"hipConfigureCall|hipSetupArgument|hipLaunchByPtr|hip(Ext)?LaunchKernel(ExC)?", COMPILED_IN),
    (r"hipLaunchCooperativeKernel(MultiDevice)?|hipExtLaunchMultiKernelMultiDevice", COMPILED_IN),
    (r"hipFunc(GetAttributes|SetCacheConfig|SetSharedMemConfig)|hipGetFuncBySymbol", COMPILED_IN),
    (r"hipGetSymbol(Address|Size)|.*(From|To)Symbol(Async)?|hipOccupancy.*", COMPILED_IN),
    (r"hipApiName|hipKernelNameRef(ByPtr)?|hipGetStreamDeviceId", "for profilers"),
    (r"hipExt((En|Dis)ableLogging|SetLoggingParams)", "the runtime's log, which `AMD_LOG_LEVEL` controls"),
    (
        r"hipExternalMemoryGetMappedMipmappedArray",
        "declared, but missing from ROCm's library for Linux (up to 7.2.4) and from its `hipGetProcAddress`; that library does not support mip levels either",
    ),
    (
        r"hipMemMapArrayAsync",
        "sparse arrays, which AMD's runtime does not support: it returns `hipErrorNotSupported` (6.4, 7.2.4)",
    ),
    (r"hipUserObject.*|hipGraph(Retain|Release)UserObject", "a `Graph` keeps alive what it uses"),
    (r"hipDeviceGetName", "use `Device::name`"),
    (r"hipDevice(Get|TotalMem|ComputeCapability)|hipGetDeviceProperties.*|hipChooseDevice.*", PROPERTIES),
    (r"hipDeviceGetTexture1DLinearMaxWidth", PROPERTIES),
    (r"hipDeviceReset", "would invalidate every object on the device"),
    (r"hipDeviceSetSharedMemConfig", "AMD's hardware has no such setting"),
    (r"hipSetValidDevices|hipGetDriverEntryPoint", ANOTHER_FORM),
    (r"hipMalloc(Host|Array|3DArray|MipmappedArray)|hipMemAlloc(Host|Pitch)|hipHostAlloc|hipFreeHost", ANOTHER_FORM),
    (
        r"hip(Array(3D)?(Create|Destroy)|MipmappedArray(Create|Destroy|GetLevel)|TexObject(Create|Destroy))",
        ANOTHER_FORM,
    ),
    (r"hipMemcpy(2D|3D)?", STREAM_OF_ITS_OWN),
    (
        r"hipThreadExchangeStreamCaptureMode",
        "sets which calls HIP refuses on other threads while a stream is captured; captures here are always `hipStreamCaptureModeRelaxed`, \
         because this crate keeps the order that the other modes protect",
    ),
    (r"hipMemcpy((Dto[DH]|HtoD)(Async)?|Param2D(Async)?|Peer|WithStream)|hipDrvMemcpy.*", ANOTHER_FORM),
    (r"hipMemcpy((2D|3D)?(From|To)Array(Async)?|2DArrayToArray|[ADH]to[ADH](Async)?|3DPeer(Async)?)", ANOTHER_FORM),
    (r"hipMemset(Async|2D|3D|D(8|16|32))?|hipMemsetD2D(8|16|32)(Async)?", ANOTHER_FORM),
    (r"hipDrvMemDiscard(AndPrefetch)?BatchAsync", ANOTHER_FORM),
    (r"hipMem(Advise|PrefetchAsync)_v2|hipMemPoolDestroy|hipMemGet(Default)?MemPool|hipMemSetMemPool", ANOTHER_FORM),
    (r"hipEvent(Create|RecordWithFlags)|hipStream(Create|AddCallback)|hipGraphInstantiate(WithParams)?", ANOTHER_FORM),
    (r"hipModuleLoad(FatBinary)?|hipLibraryLoadFromFile|hipLinkAddFile|hipDrvGetError(Name|String)", ANOTHER_FORM),
    (r"hip(Drv)?PointerGetAttributes?|hipExtGetLastError|hipStream(WaitValue|WriteValue)32", ANOTHER_FORM),
    (
        r"hipMemRangeGetAttributes|hipModuleOccupancy.*WithFlags|hipStreamGetCaptureInfo(_v2)?|hipGraphAddNode|hipCreateChannelDesc",
        ANOTHER_FORM,
    ),
    (r"hipDrvGraph.*|hipGraphExecNodeSetParams", ANOTHER_FORM),
    (r"hipGraph.*Node(Get(Params|Event|Graph|Attribute))|hipGraphExecGetFlags|hipHostGetFlags", READ_BACK),
    (r"hip(Get|Tex)(Object|Texture)?Object(Get)?(Resource|ResourceView|Texture)Desc|hipGetChannelDesc", READ_BACK),
    (r"hipArray(3D)?Get(Descriptor|Info)|hipStreamGet(Device|Id)|hipExecutionCtxGetDevice", READ_BACK),
    (r"hipMemGet(Access|AllocationPropertiesFromHandle)|hipMemRetainAllocationHandle|hipMemPtrGetInfo", READ_BACK),
    (r"hipKernelGet(Name|Library)", READ_BACK),
    (r"hipGraph(DestroyNode|NodeSetParams|.*NodeSet(Params(1D)?|Event))", IN_THE_GRAPH),
    (r"hipStreamBeginCaptureToGraph", IN_THE_GRAPH),
    (r"hipGraph(GetRootNodes|NodeGetDepend(encies|entNodes))", "use `Graph::edges`"),
    (
        r"hipGraphKernelNode(Set|Copy)Attributes?",
        "the runtime rejects every priority (ROCm 7.2.4); the other attributes belong to the launch",
    ),
    (r"hipPointerSetAttribute", "its only attribute makes copies synchronous; this crate waits where it is needed"),
    (r"hipModuleGetFunctionCount", "use `Module::kernels`"),
];
