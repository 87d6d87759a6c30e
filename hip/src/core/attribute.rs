//! Attributes of devices and kernels: single numbers, each read with its own call.

use std::fmt;

use hip_sys::{hipDeviceAttribute_t, hipFunction_attribute};

/// An attribute for [`Device::attribute`](crate::Device::attribute) (`hipDeviceAttribute_t`). [`DeviceAttribute::from`]
/// takes any number, also of attributes that this crate does not name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceAttribute(hipDeviceAttribute_t);

/// An attribute for [`Kernel::attribute`](crate::Kernel::attribute) (`hipFunction_attribute`).
/// [`FunctionAttribute::from`] takes any number, also of attributes that this crate does not name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FunctionAttribute(hipFunction_attribute);

mod raw {
    pub(super) use hip_sys::*;
    // HIP 7.0 numbered it differently.
    #[cfg(feature = "rocm-7-1")]
    pub(super) use hip_sys::rocm_7_1::hipDeviceAttributePciChipId;
}

macro_rules! attributes {
    ($type:ident: $($(#[$meta:meta])* $name:ident = $raw:ident;)*) => {
        impl $type {
            $($(#[$meta])* #[doc = concat!("\n\n`", stringify!($raw), "`")] pub const $name: Self = Self(raw::$raw);)*

            #[allow(unused_doc_comments, reason = "conditions come with the documentation")]
            /// All attributes that this API level names, in no particular order.
            pub const ALL: &[Self] = &[$($(#[$meta])* Self::$name),*];
        }
    };
}

attributes! { DeviceAttribute:
    /// Whether ECC support is enabled.
    ECC_ENABLED = hipDeviceAttributeEccEnabled;
    /// Asynchronous engines number.
    ASYNC_ENGINE_COUNT = hipDeviceAttributeAsyncEngineCount;
    /// Whether host memory can be mapped into device address space.
    CAN_MAP_HOST_MEMORY = hipDeviceAttributeCanMapHostMemory;
    /// Device can access host registered memory at the same virtual address as the CPU.
    CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM = hipDeviceAttributeCanUseHostPointerForRegisteredMem;
    /// Peak clock frequency in kilohertz.
    CLOCK_RATE = hipDeviceAttributeClockRate;
    /// Compute mode that device is currently in.
    COMPUTE_MODE = hipDeviceAttributeComputeMode;
    /// Device supports Compute Preemption.
    COMPUTE_PREEMPTION_SUPPORTED = hipDeviceAttributeComputePreemptionSupported;
    /// Device can possibly execute multiple kernels concurrently.
    CONCURRENT_KERNELS = hipDeviceAttributeConcurrentKernels;
    /// Device can coherently access managed memory concurrently with the CPU.
    CONCURRENT_MANAGED_ACCESS = hipDeviceAttributeConcurrentManagedAccess;
    /// Support cooperative launch.
    COOPERATIVE_LAUNCH = hipDeviceAttributeCooperativeLaunch;
    /// Support cooperative launch on multiple devices.
    COOPERATIVE_MULTI_DEVICE_LAUNCH = hipDeviceAttributeCooperativeMultiDeviceLaunch;
    /// Host can directly access managed memory on the device without migration.
    DIRECT_MANAGED_MEM_ACCESS_FROM_HOST = hipDeviceAttributeDirectManagedMemAccessFromHost;
    /// Device supports caching globals in L1.
    GLOBAL_L1_CACHE_SUPPORTED = hipDeviceAttributeGlobalL1CacheSupported;
    /// Link between the device and the host supports native atomic operations.
    HOST_NATIVE_ATOMIC_SUPPORTED = hipDeviceAttributeHostNativeAtomicSupported;
    /// Device is integrated GPU.
    INTEGRATED = hipDeviceAttributeIntegrated;
    /// Multiple GPU devices.
    IS_MULTI_GPU_BOARD = hipDeviceAttributeIsMultiGpuBoard;
    /// Run time limit for kernels executed on the device.
    KERNEL_EXEC_TIMEOUT = hipDeviceAttributeKernelExecTimeout;
    /// Size of L2 cache in bytes. 0 if the device doesn't have L2 cache.
    L2_CACHE_SIZE = hipDeviceAttributeL2CacheSize;
    /// Caching locals in L1 is supported.
    LOCAL_L1_CACHE_SUPPORTED = hipDeviceAttributeLocalL1CacheSupported;
    /// Major compute capability version number.
    COMPUTE_CAPABILITY_MAJOR = hipDeviceAttributeComputeCapabilityMajor;
    /// Device supports allocating managed memory on this system.
    MANAGED_MEMORY = hipDeviceAttributeManagedMemory;
    /// Max block size per multiprocessor.
    MAX_BLOCKS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxBlocksPerMultiProcessor;
    /// Max block size in width.
    MAX_BLOCK_DIM_X = hipDeviceAttributeMaxBlockDimX;
    /// Max block size in height.
    MAX_BLOCK_DIM_Y = hipDeviceAttributeMaxBlockDimY;
    /// Max block size in depth.
    MAX_BLOCK_DIM_Z = hipDeviceAttributeMaxBlockDimZ;
    /// Max grid size in width.
    MAX_GRID_DIM_X = hipDeviceAttributeMaxGridDimX;
    /// Max grid size in height.
    MAX_GRID_DIM_Y = hipDeviceAttributeMaxGridDimY;
    /// Max grid size in depth.
    MAX_GRID_DIM_Z = hipDeviceAttributeMaxGridDimZ;
    /// Maximum size of 1D surface.
    MAX_SURFACE_1D = hipDeviceAttributeMaxSurface1D;
    /// Maximum dimension (width, height) of 2D surface.
    MAX_SURFACE_2D = hipDeviceAttributeMaxSurface2D;
    /// Maximum dimension (width, height, depth) of 3D surface.
    MAX_SURFACE_3D = hipDeviceAttributeMaxSurface3D;
    /// Maximum size of 1D texture.
    MAX_TEXTURE_1D_WIDTH = hipDeviceAttributeMaxTexture1DWidth;
    /// Maximum dimensions of 1D layered texture.
    MAX_TEXTURE_1D_LAYERED = hipDeviceAttributeMaxTexture1DLayered;
    /// Maximum number of elements allocatable in a 1D linear texture.
    MAX_TEXTURE_1D_LINEAR = hipDeviceAttributeMaxTexture1DLinear;
    /// Maximum size of 1D mipmapped texture.
    MAX_TEXTURE_1D_MIPMAP = hipDeviceAttributeMaxTexture1DMipmap;
    /// Maximum dimension width of 2D texture.
    MAX_TEXTURE_2D_WIDTH = hipDeviceAttributeMaxTexture2DWidth;
    /// Maximum dimension height of 2D texture.
    MAX_TEXTURE_2D_HEIGHT = hipDeviceAttributeMaxTexture2DHeight;
    /// Maximum dimensions of 2D texture if gather operations performed.
    MAX_TEXTURE_2D_GATHER = hipDeviceAttributeMaxTexture2DGather;
    /// Maximum dimensions of 2D layered texture.
    MAX_TEXTURE_2D_LAYERED = hipDeviceAttributeMaxTexture2DLayered;
    /// Maximum dimensions (width, height, pitch) of 2D textures bound to pitched memory.
    MAX_TEXTURE_2D_LINEAR = hipDeviceAttributeMaxTexture2DLinear;
    /// Maximum dimensions of 2D mipmapped texture.
    MAX_TEXTURE_2D_MIPMAP = hipDeviceAttributeMaxTexture2DMipmap;
    /// Maximum dimension width of 3D texture.
    MAX_TEXTURE_3D_WIDTH = hipDeviceAttributeMaxTexture3DWidth;
    /// Maximum dimension height of 3D texture.
    MAX_TEXTURE_3D_HEIGHT = hipDeviceAttributeMaxTexture3DHeight;
    /// Maximum dimension depth of 3D texture.
    MAX_TEXTURE_3D_DEPTH = hipDeviceAttributeMaxTexture3DDepth;
    /// Maximum dimensions of alternate 3D texture.
    MAX_TEXTURE_3D_ALT = hipDeviceAttributeMaxTexture3DAlt;
    /// Maximum dimensions of Cubemap texture.
    MAX_TEXTURE_CUBEMAP = hipDeviceAttributeMaxTextureCubemap;
    /// Maximum dimensions of Cubemap layered texture.
    MAX_TEXTURE_CUBEMAP_LAYERED = hipDeviceAttributeMaxTextureCubemapLayered;
    /// Maximum dimension of a block.
    MAX_THREADS_DIM = hipDeviceAttributeMaxThreadsDim;
    /// Maximum number of threads per block.
    MAX_THREADS_PER_BLOCK = hipDeviceAttributeMaxThreadsPerBlock;
    /// Maximum resident threads per multiprocessor.
    MAX_THREADS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxThreadsPerMultiProcessor;
    /// Maximum pitch in bytes allowed by memory copies.
    MAX_PITCH = hipDeviceAttributeMaxPitch;
    /// Global memory bus width in bits.
    MEMORY_BUS_WIDTH = hipDeviceAttributeMemoryBusWidth;
    /// Peak memory clock frequency in kilohertz.
    MEMORY_CLOCK_RATE = hipDeviceAttributeMemoryClockRate;
    /// Minor compute capability version number.
    COMPUTE_CAPABILITY_MINOR = hipDeviceAttributeComputeCapabilityMinor;
    /// Unique ID of device group on the same multi-GPU board.
    MULTI_GPU_BOARD_GROUP_ID = hipDeviceAttributeMultiGpuBoardGroupID;
    /// Number of multiprocessors on the device.
    MULTIPROCESSOR_COUNT = hipDeviceAttributeMultiprocessorCount;
    /// Device supports coherently accessing pageable memory without calling hipHostRegister on it.
    PAGEABLE_MEMORY_ACCESS = hipDeviceAttributePageableMemoryAccess;
    /// Device accesses pageable memory via the host's page tables.
    PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES = hipDeviceAttributePageableMemoryAccessUsesHostPageTables;
    /// PCI Bus ID.
    PCI_BUS_ID = hipDeviceAttributePciBusId;
    /// PCI Device ID.
    PCI_DEVICE_ID = hipDeviceAttributePciDeviceId;
    /// PCI Domain ID.
    PCI_DOMAIN_ID = hipDeviceAttributePciDomainID;
    /// Maximum l2 persisting lines capacity in bytes.
    PERSISTING_L2_CACHE_MAX_SIZE = hipDeviceAttributePersistingL2CacheMaxSize;
    /// 32-bit registers available to a thread block. This number is shared by all thread blocks simultaneously resident
    /// on a multiprocessor.
    MAX_REGISTERS_PER_BLOCK = hipDeviceAttributeMaxRegistersPerBlock;
    /// 32-bit registers available per block.
    MAX_REGISTERS_PER_MULTIPROCESSOR = hipDeviceAttributeMaxRegistersPerMultiprocessor;
    /// Shared memory reserved by CUDA driver per block.
    RESERVED_SHARED_MEM_PER_BLOCK = hipDeviceAttributeReservedSharedMemPerBlock;
    /// Maximum shared memory available per block in bytes.
    MAX_SHARED_MEMORY_PER_BLOCK = hipDeviceAttributeMaxSharedMemoryPerBlock;
    /// Maximum shared memory per block usable by special opt in.
    SHARED_MEM_PER_BLOCK_OPTIN = hipDeviceAttributeSharedMemPerBlockOptin;
    /// Shared memory available per multiprocessor.
    SHARED_MEM_PER_MULTIPROCESSOR = hipDeviceAttributeSharedMemPerMultiprocessor;
    /// Whether to support stream priorities.
    STREAM_PRIORITIES_SUPPORTED = hipDeviceAttributeStreamPrioritiesSupported;
    /// Alignment requirement for surfaces.
    SURFACE_ALIGNMENT = hipDeviceAttributeSurfaceAlignment;
    /// Alignment requirement for textures.
    TEXTURE_ALIGNMENT = hipDeviceAttributeTextureAlignment;
    /// Pitch alignment requirement for 2D texture references bound to pitched memory.
    TEXTURE_PITCH_ALIGNMENT = hipDeviceAttributeTexturePitchAlignment;
    /// Constant memory size in bytes.
    TOTAL_CONSTANT_MEMORY = hipDeviceAttributeTotalConstantMemory;
    /// Global memory available on device.
    TOTAL_GLOBAL_MEM = hipDeviceAttributeTotalGlobalMem;
    /// Warp size in threads.
    WARP_SIZE = hipDeviceAttributeWarpSize;
    /// Device supports HIP Stream Ordered Memory Allocator.
    MEMORY_POOLS_SUPPORTED = hipDeviceAttributeMemoryPoolsSupported;
    /// Device supports HIP virtual memory management.
    VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = hipDeviceAttributeVirtualMemoryManagementSupported;
    #[cfg(feature = "rocm-6-2")]
    /// Can device support host memory registration via hipHostRegister.
    HOST_REGISTER_SUPPORTED = hipDeviceAttributeHostRegisterSupported;
    #[cfg(feature = "rocm-6-2")]
    /// Supported handle mask for HIP Stream Ordered Memory Allocator.
    MEMORY_POOL_SUPPORTED_HANDLE_TYPES = hipDeviceAttributeMemoryPoolSupportedHandleTypes;
    /// Frequency in kHz of the timer that the device-side `clock*` functions read.
    CLOCK_INSTRUCTION_RATE = hipDeviceAttributeClockInstructionRate;
    /// Maximum shared memory of a multiprocessor in bytes.
    MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = hipDeviceAttributeMaxSharedMemoryPerMultiprocessor;
    /// Supports cooperative launch on multiple devices with unmatched functions.
    COOPERATIVE_MULTI_DEVICE_UNMATCHED_FUNC = hipDeviceAttributeCooperativeMultiDeviceUnmatchedFunc;
    /// Supports cooperative launch on multiple devices with unmatched grid dimensions.
    COOPERATIVE_MULTI_DEVICE_UNMATCHED_GRID_DIM = hipDeviceAttributeCooperativeMultiDeviceUnmatchedGridDim;
    /// Supports cooperative launch on multiple devices with unmatched block dimensions.
    COOPERATIVE_MULTI_DEVICE_UNMATCHED_BLOCK_DIM = hipDeviceAttributeCooperativeMultiDeviceUnmatchedBlockDim;
    /// Supports cooperative launch on multiple devices with unmatched shared memories.
    COOPERATIVE_MULTI_DEVICE_UNMATCHED_SHARED_MEM = hipDeviceAttributeCooperativeMultiDeviceUnmatchedSharedMem;
    /// Whether it is LargeBar.
    IS_LARGE_BAR = hipDeviceAttributeIsLargeBar;
    /// Revision of the GPU in this device.
    ASIC_REVISION = hipDeviceAttributeAsicRevision;
    /// 1 if Device supports `hipStreamWaitValue32` and `hipStreamWaitValue64`, 0 otherwise.
    CAN_USE_STREAM_WAIT_VALUE = hipDeviceAttributeCanUseStreamWaitValue;
    /// 1 if Device supports image, 0 otherwise.
    IMAGE_SUPPORT = hipDeviceAttributeImageSupport;
    /// All available physical compute units for the device.
    PHYSICAL_MULTIPROCESSOR_COUNT = hipDeviceAttributePhysicalMultiProcessorCount;
    /// 1 if Device supports fine grain, 0 otherwise.
    FINE_GRAIN_SUPPORT = hipDeviceAttributeFineGrainSupport;
    /// Constant frequency of wall clock in kilohertz.
    WALL_CLOCK_RATE = hipDeviceAttributeWallClockRate;
    /// Compute dies (XCC) of the device in its current partition.
    #[cfg(feature = "rocm-7-0")]
    NUMBER_OF_XCCS = hipDeviceAttributeNumberOfXccs;
    /// Vector registers available to a thread, in 32-bit words.
    #[cfg(feature = "rocm-7-1")]
    MAX_AVAILABLE_VGPRS_PER_THREAD = hipDeviceAttributeMaxAvailableVgprsPerThread;
    /// The manufacturer's chip number.
    #[cfg(feature = "rocm-7-1")]
    PCI_CHIP_ID = hipDeviceAttributePciChipId;
    /// NUMA node of the host that is nearest to the device.
    #[cfg(feature = "rocm-7-2")]
    HOST_NUMA_ID = hipDeviceAttributeHostNumaId;
    /// Whether memory can be exported as a DMA buffer.
    #[cfg(feature = "rocm-10-0")]
    DMA_BUF_SUPPORTED = hipDeviceAttributeDmaBufSupported;
    /// Whether memory of the virtual memory functions can be read and written by other PCI devices.
    #[cfg(feature = "rocm-10-0")]
    GPU_DIRECT_RDMA_WITH_VMM_SUPPORTED = hipDeviceAttributeGPUDirectRDMAWithHipVMMSupported;
    /// Whether memory can be exported as a fabric handle.
    #[cfg(feature = "rocm-10-0")]
    HANDLE_TYPE_FABRIC_SUPPORTED = hipDeviceAttributeHandleTypeFabricSupported;
    /// Whether kernels can schedule their own instructions.
    #[cfg(feature = "rocm-10-0")]
    EXPERT_SCHEDULING_MODE = hipDeviceAttributeExpertSchedMode;
    /// Regions of a launch whose data is fetched ahead.
    #[cfg(feature = "rocm-10-0")]
    MAX_DYN_DATA_PREFETCH_REGIONS = hipDeviceAttributeMaxDynDataPrefetchRegions;
    /// Whether the device can copy memory while it runs a kernel; see also
    /// [`ASYNC_ENGINE_COUNT`](Self::ASYNC_ENGINE_COUNT).
    DEVICE_OVERLAP = hipDeviceAttributeDeviceOverlap;
    /// Whether host and device share one address space.
    UNIFIED_ADDRESSING = hipDeviceAttributeUnifiedAddressing;
    /// Ratio of single to double precision performance. Not supported by ROCm's runtime.
    SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO = hipDeviceAttributeSingleToDoublePrecisionPerfRatio;
    /// Largest window of an access policy, in bytes. Not supported by ROCm's runtime.
    ACCESS_POLICY_MAX_WINDOW_SIZE = hipDeviceAttributeAccessPolicyMaxWindowSize;
    /// Largest 1D layered surface. Not supported by ROCm's runtime.
    MAX_SURFACE_1D_LAYERED = hipDeviceAttributeMaxSurface1DLayered;
    /// Largest 2D layered surface. Not supported by ROCm's runtime.
    MAX_SURFACE_2D_LAYERED = hipDeviceAttributeMaxSurface2DLayered;
    /// Largest cube map surface. Not supported by ROCm's runtime.
    MAX_SURFACE_CUBEMAP = hipDeviceAttributeMaxSurfaceCubemap;
    /// Largest layered cube map surface. Not supported by ROCm's runtime.
    MAX_SURFACE_CUBEMAP_LAYERED = hipDeviceAttributeMaxSurfaceCubemapLayered;
    /// Whether the device uses a compute-only driver of Windows (TCC). Always 0 on AMD's devices.
    TCC_DRIVER = hipDeviceAttributeTccDriver;
}

attributes! { FunctionAttribute:
    /// Maximum threads per block of the kernel on its device.
    MAX_THREADS_PER_BLOCK = HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    /// Static shared memory of a block, in bytes.
    SHARED_BYTES = HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    /// Constant memory, in bytes.
    CONSTANT_BYTES = HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES;
    /// Local memory of a thread, in bytes.
    LOCAL_BYTES = HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES;
    /// Registers of a thread.
    REGISTERS = HIP_FUNC_ATTRIBUTE_NUM_REGS;
    /// Version of the virtual architecture.
    PTX_VERSION = HIP_FUNC_ATTRIBUTE_PTX_VERSION;
    /// Version of the machine code.
    BINARY_VERSION = HIP_FUNC_ATTRIBUTE_BINARY_VERSION;
    /// Cache mode.
    CACHE_MODE = HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA;
    /// Maximum dynamic shared memory per block, in bytes.
    MAX_DYNAMIC_SHARED_BYTES = HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    /// Shared memory preferred over cache, in percent.
    PREFERRED_SHARED_MEMORY_CARVEOUT = HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
}

impl FunctionAttribute {
    /// Returns the C value.
    #[must_use]
    pub fn raw(self) -> hipFunction_attribute {
        self.0
    }
}

impl From<hipFunction_attribute> for FunctionAttribute {
    fn from(raw: hipFunction_attribute) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for FunctionAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl DeviceAttribute {
    /// Returns the C value.
    #[must_use]
    pub fn raw(self) -> hipDeviceAttribute_t {
        self.0
    }
}

impl From<hipDeviceAttribute_t> for DeviceAttribute {
    fn from(raw: hipDeviceAttribute_t) -> Self {
        Self(raw)
    }
}

impl fmt::Debug for DeviceAttribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
