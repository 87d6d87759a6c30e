//! The properties of a device, read from its attributes.

use std::ffi::{c_char, c_int};

use hip_sys::rocm_7_2::{hipDeviceProp_tR0600, hipErrorInvalidValue, hipUUID};

use super::device::attribute;
use crate::context;
use crate::driver::driver_functions;
use crate::status::{Outcome, ensure};
use crate::table::hip_functions;

driver_functions! {
    /// Writes the name of a device.
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    /// Writes the bytes of memory of a device.
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);
    /// Writes the identifier of a device.
    fn cuDeviceGetUuid_v2(uuid: *mut hipUUID, device: c_int);
}

/// Numbers of `CUdevice_attribute`.
mod number {
    pub(super) const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: u32 = 81;
    pub(super) const CLOCK_RATE: u32 = 13;
    pub(super) const COMPUTE_CAPABILITY_MAJOR: u32 = 75;
    pub(super) const COMPUTE_CAPABILITY_MINOR: u32 = 76;
}

/// Fills the fields of a structure: `field[index] = number of the attribute`.
macro_rules! fill {
    ($device:ident, $to:ident: $($field:ident $([$index:literal])? = $number:literal;)*) => {
        $($to.$field $([$index])? = attribute($number, $device)?.try_into().unwrap_or_default();)*
    };
}

/// Returns the properties of a device.
fn properties(device: c_int) -> Outcome<Box<hipDeviceProp_tR0600>> {
    context::exists(device)?;
    let mut to = Box::<hipDeviceProp_tR0600>::default();
    let length = c_int::try_from(to.name.len()).unwrap_or(c_int::MAX);
    // SAFETY: the name has `length` bytes, and the others are valid for one write.
    unsafe {
        cuDeviceGetName(to.name.as_mut_ptr(), length, device)?;
        cuDeviceTotalMem_v2(&raw mut to.totalGlobalMem, device)?;
        cuDeviceGetUuid_v2(&raw mut to.uuid, device)?;
    }
    fill! { device, to:
        sharedMemPerBlock = 8; regsPerBlock = 12; warpSize = 10; memPitch = 11; maxThreadsPerBlock = 1;
        maxThreadsDim[0] = 2; maxThreadsDim[1] = 3; maxThreadsDim[2] = 4;
        maxGridSize[0] = 5; maxGridSize[1] = 6; maxGridSize[2] = 7;
        clockRate = 13; totalConstMem = 9; major = 75; minor = 76;
        textureAlignment = 14; texturePitchAlignment = 51; deviceOverlap = 15; multiProcessorCount = 16;
        kernelExecTimeoutEnabled = 17; integrated = 18; canMapHostMemory = 19; computeMode = 20;
        maxTexture1D = 21; maxTexture1DMipmap = 77; maxTexture1DLinear = 69;
        maxTexture2D[0] = 22; maxTexture2D[1] = 23; maxTexture2DMipmap[0] = 73; maxTexture2DMipmap[1] = 74;
        maxTexture2DLinear[0] = 70; maxTexture2DLinear[1] = 71; maxTexture2DLinear[2] = 72;
        maxTexture2DGather[0] = 45; maxTexture2DGather[1] = 46;
        maxTexture3D[0] = 24; maxTexture3D[1] = 25; maxTexture3D[2] = 26;
        maxTexture3DAlt[0] = 47; maxTexture3DAlt[1] = 48; maxTexture3DAlt[2] = 49;
        maxTextureCubemap = 52; maxTexture1DLayered[0] = 42; maxTexture1DLayered[1] = 43;
        maxTexture2DLayered[0] = 27; maxTexture2DLayered[1] = 28; maxTexture2DLayered[2] = 29;
        maxTextureCubemapLayered[0] = 53; maxTextureCubemapLayered[1] = 54;
        maxSurface1D = 55; maxSurface2D[0] = 56; maxSurface2D[1] = 57;
        maxSurface3D[0] = 58; maxSurface3D[1] = 59; maxSurface3D[2] = 60;
        maxSurface1DLayered[0] = 61; maxSurface1DLayered[1] = 62;
        maxSurface2DLayered[0] = 63; maxSurface2DLayered[1] = 64; maxSurface2DLayered[2] = 65;
        maxSurfaceCubemap = 66; maxSurfaceCubemapLayered[0] = 67; maxSurfaceCubemapLayered[1] = 68;
        surfaceAlignment = 30; concurrentKernels = 31; ECCEnabled = 32;
        pciBusID = 33; pciDeviceID = 34; pciDomainID = 50; tccDriver = 35; asyncEngineCount = 40;
        unifiedAddressing = 41; memoryClockRate = 36; memoryBusWidth = 37; l2CacheSize = 38;
        persistingL2CacheMaxSize = 108; maxThreadsPerMultiProcessor = 39; streamPrioritiesSupported = 78;
        globalL1CacheSupported = 79; localL1CacheSupported = 80; sharedMemPerMultiprocessor = 81;
        regsPerMultiprocessor = 82; managedMemory = 83; isMultiGpuBoard = 84; multiGpuBoardGroupID = 85;
        hostNativeAtomicSupported = 86; singleToDoublePrecisionPerfRatio = 87; pageableMemoryAccess = 88;
        concurrentManagedAccess = 89; computePreemptionSupported = 90; canUseHostPointerForRegisteredMem = 91;
        cooperativeLaunch = 95; cooperativeMultiDeviceLaunch = 96; sharedMemPerBlockOptin = 97;
        pageableMemoryAccessUsesHostPageTables = 100; directManagedMemAccessFromHost = 101;
        maxBlocksPerMultiProcessor = 106; accessPolicyMaxWindowSize = 109; reservedSharedMemPerBlock = 111;
        hostRegisterSupported = 99; sparseHipArraySupported = 112; hostRegisterReadOnlySupported = 113;
        timelineSemaphoreInteropSupported = 114; memoryPoolsSupported = 115; gpuDirectRDMASupported = 116;
        gpuDirectRDMAFlushWritesOptions = 117; gpuDirectRDMAWritesOrdering = 118;
        memoryPoolSupportedHandleTypes = 119; deferredMappingHipArraySupported = 121; ipcEventSupported = 125;
        clusterLaunch = 120; unifiedFunctionPointers = 129;
    }
    // `clock64` counts cycles of the clock, in kHz.
    to.clockInstructionRate = attribute(number::CLOCK_RATE, device)?;
    let shared = attribute(number::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, device)?;
    to.maxSharedMemoryPerMultiProcessor = usize::try_from(shared).unwrap_or(0);
    let major = attribute(number::COMPUTE_CAPABILITY_MAJOR, device)?;
    let minor = attribute(number::COMPUTE_CAPABILITY_MINOR, device)?;
    let name = format!("sm_{major}{minor}");
    for (to, from) in to.gcnArchName.iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    Ok(to)
}

hip_functions! {
    translated fn hipGetDevicePropertiesR0600(to: *mut hipDeviceProp_tR0600, device: c_int) {
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        to.write(*properties(device)?);
        Ok(())
    }
}
