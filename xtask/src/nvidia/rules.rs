//! The exceptions: counterparts that AMD's map does not have, and functions that are not supported.

/// Functions of HIP that the map names no function of the driver for, and the driver's.
pub(super) const COUNTERPARTS: &[(&str, &str)] = &[
    ("hipDestroySurfaceObject", "cuSurfObjectDestroy"),
    ("hipDestroyTextureObject", "cuTexObjectDestroy"),
    ("hipDeviceGetCacheConfig", "cuCtxGetCacheConfig"),
    ("hipDeviceGetSharedMemConfig", "cuCtxGetSharedMemConfig"),
    ("hipDeviceSetCacheConfig", "cuCtxSetCacheConfig"),
    ("hipFreeMipmappedArray", "cuMipmappedArrayDestroy"),
    ("hipFuncSetAttribute", "cuFuncSetAttribute"),
    ("hipGetMipmappedArrayLevel", "cuMipmappedArrayGetLevel"),
    ("hipGraphAddMemFreeNode", "cuGraphAddMemFreeNode"),
    ("hipStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo"),
];

/// Functions that `hip` does not call, for programs that call `hip-sys`.
pub(super) const MORE: &[&str] = &[
    "hipDeviceGet",
    "hipDeviceGetName",
    "hipDeviceTotalMem",
    "hipMemcpyDtoD",
    "hipMemcpyDtoDAsync",
    "hipMemcpyDtoH",
    "hipMemcpyDtoHAsync",
    "hipMemcpyHtoD",
    "hipMemcpyHtoDAsync",
    "hipMemsetD16",
    "hipMemsetD32",
    "hipMemsetD8",
];

const CONTEXTS: &str =
    "HIP's execution contexts are those of CUDA's runtime. The driver has green contexts instead: to do";
const MASKS: &str = "CUDA does not choose the multiprocessors of a stream by a mask";

/// Functions that are not supported, with the reason.
pub(super) const NOT_SUPPORTED: &[(&str, &str)] = &[
    ("hipDevResourceGenerateDesc", CONTEXTS),
    ("hipDevSmResourceSplit", CONTEXTS),
    ("hipDevSmResourceSplitByCount", CONTEXTS),
    ("hipDeviceGetDevResource", CONTEXTS),
    ("hipDeviceGetExecutionCtx", CONTEXTS),
    ("hipExecutionCtxDestroy", CONTEXTS),
    ("hipExecutionCtxGetDevResource", CONTEXTS),
    ("hipExecutionCtxGetId", CONTEXTS),
    ("hipExecutionCtxRecordEvent", CONTEXTS),
    ("hipExecutionCtxStreamCreate", CONTEXTS),
    ("hipExecutionCtxSynchronize", CONTEXTS),
    ("hipExecutionCtxWaitEvent", CONTEXTS),
    ("hipExtGetLinkTypeAndHopCount", "the CUDA driver does not report links between devices; NVML does"),
    ("hipExtStreamCreateWithCUMask", MASKS),
    ("hipExtStreamGetCUMask", MASKS),
    ("hipGreenCtxCreate", CONTEXTS),
    ("hipStreamGetDevResource", CONTEXTS),
];

/// Attributes of devices that AMD's map leaves out, or maps to several of the driver's: HIP's name, and the driver's
/// without `CU_DEVICE_ATTRIBUTE_`. Where HIP has one number for a size, it is the width.
pub(super) const ATTRIBUTES: &[(&str, &str)] = &[
    ("hipDeviceAttributeAccessPolicyMaxWindowSize", "MAX_ACCESS_POLICY_WINDOW_SIZE"),
    ("hipDeviceAttributeAsyncEngineCount", "ASYNC_ENGINE_COUNT"),
    ("hipDeviceAttributeCanUseStreamWaitValue", "CAN_USE_64_BIT_STREAM_MEM_OPS_V2"),
    ("hipDeviceAttributeClockInstructionRate", "CLOCK_RATE"),
    ("hipDeviceAttributeDeviceOverlap", "GPU_OVERLAP"),
    ("hipDeviceAttributeMaxBlocksPerMultiProcessor", "MAX_BLOCKS_PER_MULTIPROCESSOR"),
    ("hipDeviceAttributeMaxSharedMemoryPerMultiprocessor", "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
    ("hipDeviceAttributeMaxThreadsDim", "MAX_BLOCK_DIM_X"),
    ("hipDeviceAttributeMemoryPoolSupportedHandleTypes", "MEMPOOL_SUPPORTED_HANDLE_TYPES"),
    ("hipDeviceAttributeMultiGpuBoardGroupID", "MULTI_GPU_BOARD_GROUP_ID"),
    ("hipDeviceAttributePciChipId", "GPU_PCI_DEVICE_ID"),
    ("hipDeviceAttributePersistingL2CacheMaxSize", "MAX_PERSISTING_L2_CACHE_SIZE"),
    ("hipDeviceAttributePhysicalMultiProcessorCount", "MULTIPROCESSOR_COUNT"),
    ("hipDeviceAttributeReservedSharedMemPerBlock", "RESERVED_SHARED_MEMORY_PER_BLOCK"),
    ("hipDeviceAttributeSharedMemPerMultiprocessor", "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
];
