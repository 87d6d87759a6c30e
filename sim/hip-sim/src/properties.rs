//! The properties of the software GPU, in both layouts of `hipDeviceProp_t`.
//!
//! The two structures belong to versioned symbols (`hipGetDevicePropertiesR0600`, and `hipGetDeviceProperties` alias
//! `R0000` of HIP 5). So their layout never changes, and is defined here once for every API level.

use std::ffi::{c_char, c_int, c_uint};

use amdgpu_sim::Arch;
use amdgpu_sim::image::{MOST_DEPTH, MOST_LAYERS, MOST_SIDE};

use crate::device::Device;

/// `hipDeviceProp_t` since HIP 6.0.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_snake_case)]
pub(crate) struct R0600 {
    pub(crate) name: [c_char; 256],
    pub(crate) uuid: [u8; 16],
    pub(crate) luid: [u8; 8],
    pub(crate) luidDeviceNodeMask: c_uint,
    pub(crate) totalGlobalMem: usize,
    pub(crate) sharedMemPerBlock: usize,
    pub(crate) regsPerBlock: c_int,
    pub(crate) warpSize: c_int,
    pub(crate) memPitch: usize,
    pub(crate) maxThreadsPerBlock: c_int,
    pub(crate) maxThreadsDim: [c_int; 3],
    pub(crate) maxGridSize: [c_int; 3],
    pub(crate) clockRate: c_int,
    pub(crate) totalConstMem: usize,
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) textureAlignment: usize,
    pub(crate) texturePitchAlignment: usize,
    pub(crate) deviceOverlap: c_int,
    pub(crate) multiProcessorCount: c_int,
    pub(crate) kernelExecTimeoutEnabled: c_int,
    pub(crate) integrated: c_int,
    pub(crate) canMapHostMemory: c_int,
    pub(crate) computeMode: c_int,
    /// maxTexture1D to maxSurfaceCubemapLayered.
    pub(crate) textures: [c_int; 40],
    pub(crate) surfaceAlignment: usize,
    pub(crate) concurrentKernels: c_int,
    pub(crate) ECCEnabled: c_int,
    pub(crate) pciBusID: c_int,
    pub(crate) pciDeviceID: c_int,
    pub(crate) pciDomainID: c_int,
    pub(crate) tccDriver: c_int,
    pub(crate) asyncEngineCount: c_int,
    pub(crate) unifiedAddressing: c_int,
    pub(crate) memoryClockRate: c_int,
    pub(crate) memoryBusWidth: c_int,
    pub(crate) l2CacheSize: c_int,
    pub(crate) persistingL2CacheMaxSize: c_int,
    pub(crate) maxThreadsPerMultiProcessor: c_int,
    pub(crate) streamPrioritiesSupported: c_int,
    pub(crate) globalL1CacheSupported: c_int,
    pub(crate) localL1CacheSupported: c_int,
    pub(crate) sharedMemPerMultiprocessor: usize,
    pub(crate) regsPerMultiprocessor: c_int,
    pub(crate) managedMemory: c_int,
    pub(crate) isMultiGpuBoard: c_int,
    pub(crate) multiGpuBoardGroupID: c_int,
    pub(crate) hostNativeAtomicSupported: c_int,
    pub(crate) singleToDoublePrecisionPerfRatio: c_int,
    pub(crate) pageableMemoryAccess: c_int,
    pub(crate) concurrentManagedAccess: c_int,
    pub(crate) computePreemptionSupported: c_int,
    pub(crate) canUseHostPointerForRegisteredMem: c_int,
    pub(crate) cooperativeLaunch: c_int,
    pub(crate) cooperativeMultiDeviceLaunch: c_int,
    pub(crate) sharedMemPerBlockOptin: usize,
    pub(crate) pageableMemoryAccessUsesHostPageTables: c_int,
    pub(crate) directManagedMemAccessFromHost: c_int,
    pub(crate) maxBlocksPerMultiProcessor: c_int,
    pub(crate) accessPolicyMaxWindowSize: c_int,
    pub(crate) reservedSharedMemPerBlock: usize,
    pub(crate) hostRegisterSupported: c_int,
    pub(crate) sparseHipArraySupported: c_int,
    pub(crate) hostRegisterReadOnlySupported: c_int,
    pub(crate) timelineSemaphoreInteropSupported: c_int,
    pub(crate) memoryPoolsSupported: c_int,
    pub(crate) gpuDirectRDMASupported: c_int,
    pub(crate) gpuDirectRDMAFlushWritesOptions: c_uint,
    pub(crate) gpuDirectRDMAWritesOrdering: c_int,
    pub(crate) memoryPoolSupportedHandleTypes: c_uint,
    pub(crate) deferredMappingHipArraySupported: c_int,
    pub(crate) ipcEventSupported: c_int,
    pub(crate) clusterLaunch: c_int,
    pub(crate) unifiedFunctionPointers: c_int,
    pub(crate) reserved: [c_int; 63],
    pub(crate) hipReserved: [c_int; 32],
    pub(crate) gcnArchName: [c_char; 256],
    pub(crate) maxSharedMemoryPerMultiProcessor: usize,
    pub(crate) clockInstructionRate: c_int,
    pub(crate) arch: c_uint,
    pub(crate) hdpMemFlushCntl: *mut c_uint,
    pub(crate) hdpRegFlushCntl: *mut c_uint,
    pub(crate) cooperativeMultiDeviceUnmatchedFunc: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedGridDim: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedBlockDim: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedSharedMem: c_int,
    pub(crate) isLargeBar: c_int,
    pub(crate) asicRevision: c_int,
}

/// `hipDeviceProp_t` of HIP 5.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_snake_case)]
pub(crate) struct R0000 {
    pub(crate) name: [c_char; 256],
    pub(crate) totalGlobalMem: usize,
    pub(crate) sharedMemPerBlock: usize,
    pub(crate) regsPerBlock: c_int,
    pub(crate) warpSize: c_int,
    pub(crate) maxThreadsPerBlock: c_int,
    pub(crate) maxThreadsDim: [c_int; 3],
    pub(crate) maxGridSize: [c_int; 3],
    pub(crate) clockRate: c_int,
    pub(crate) memoryClockRate: c_int,
    pub(crate) memoryBusWidth: c_int,
    pub(crate) totalConstMem: usize,
    pub(crate) major: c_int,
    pub(crate) minor: c_int,
    pub(crate) multiProcessorCount: c_int,
    pub(crate) l2CacheSize: c_int,
    pub(crate) maxThreadsPerMultiProcessor: c_int,
    pub(crate) computeMode: c_int,
    pub(crate) clockInstructionRate: c_int,
    pub(crate) arch: c_uint,
    pub(crate) concurrentKernels: c_int,
    pub(crate) pciDomainID: c_int,
    pub(crate) pciBusID: c_int,
    pub(crate) pciDeviceID: c_int,
    pub(crate) maxSharedMemoryPerMultiProcessor: usize,
    pub(crate) isMultiGpuBoard: c_int,
    pub(crate) canMapHostMemory: c_int,
    pub(crate) gcnArch: c_int,
    pub(crate) gcnArchName: [c_char; 256],
    pub(crate) integrated: c_int,
    pub(crate) cooperativeLaunch: c_int,
    pub(crate) cooperativeMultiDeviceLaunch: c_int,
    /// maxTexture1DLinear to maxTexture3D.
    pub(crate) textures: [c_int; 7],
    pub(crate) hdpMemFlushCntl: *mut c_uint,
    pub(crate) hdpRegFlushCntl: *mut c_uint,
    pub(crate) memPitch: usize,
    pub(crate) textureAlignment: usize,
    pub(crate) texturePitchAlignment: usize,
    pub(crate) kernelExecTimeoutEnabled: c_int,
    pub(crate) ECCEnabled: c_int,
    pub(crate) tccDriver: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedFunc: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedGridDim: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedBlockDim: c_int,
    pub(crate) cooperativeMultiDeviceUnmatchedSharedMem: c_int,
    pub(crate) isLargeBar: c_int,
    pub(crate) asicRevision: c_int,
    pub(crate) managedMemory: c_int,
    pub(crate) directManagedMemAccessFromHost: c_int,
    pub(crate) concurrentManagedAccess: c_int,
    pub(crate) pageableMemoryAccess: c_int,
    pub(crate) pageableMemoryAccessUsesHostPageTables: c_int,
}

/// LDS in bytes, of a workgroup and of a compute unit.
pub(crate) const LDS_BYTES: u32 = 64 << 10;
/// Work-items that a workgroup can have.
pub(crate) const MAX_THREADS: u32 = 1024;
/// Lanes of a wave.
pub(crate) const WAVE: u32 = 64;
/// The work-items that a compute unit holds: 4 SIMDs with 8 waves each.
pub(crate) const THREADS_PER_CU: u32 = 4 * 8 * WAVE;
/// The maximum number of workgroups in x, y and z.
pub(crate) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65536, 65536];
/// 32-bit vector registers per lane on a SIMD.
pub(crate) const VGPRS: u32 = 512;
/// The row alignment of pitched memory, in bytes.
pub(crate) const PITCH_ALIGN: usize = 256;
/// The PCI domain. Device 0 is on bus 0 and each further device on the next one. The software GPU is on no real bus, so
/// no machine uses this domain.
pub(crate) const PCI_DOMAIN: c_int = 0xf00d;

/// The bit field `hipDeviceArch_t`: every feature except funnel shift, `__syncthreads_count` and similar functions,
/// surfaces and dynamic parallelism.
const ARCH: c_uint = 0b0_1001_0111_1111_1111;

/// Positions of limits in [`R0600::textures`].
pub(crate) const TEXTURE_1D: usize = 0;
pub(crate) const TEXTURE_1D_MIPMAP: usize = 1;
pub(crate) const TEXTURE_1D_LINEAR: usize = 2;
pub(crate) const TEXTURE_2D: usize = 3;
pub(crate) const TEXTURE_3D: usize = 12;
pub(crate) const TEXTURE_CUBE: usize = 18;
pub(crate) const SURFACE_1D: usize = 26;

/// The limits of textures and surfaces, if the device supports them. Texture gather is not supported.
fn textures(device: &Device) -> [c_int; 40] {
    let mut limits = [0; 40];
    if device.has_images() {
        let (side, depth, layers) = (MOST_SIDE as c_int, MOST_DEPTH as c_int, MOST_LAYERS as c_int);
        limits[TEXTURE_1D] = side;
        limits[TEXTURE_1D_MIPMAP] = side;
        limits[TEXTURE_1D_LINEAR] = c_int::MAX;
        limits[TEXTURE_2D..7].fill(side);
        // Width, height and pitch: in bytes, of the widest texels.
        limits[7..10].copy_from_slice(&[side, side, 16 * side]);
        limits[TEXTURE_3D..15].copy_from_slice(&[side, side, depth]);
        limits[TEXTURE_CUBE..SURFACE_1D].copy_from_slice(&[side, side, layers, side, side, layers, side, layers]);
        limits[SURFACE_1D..32].copy_from_slice(&[side, side, side, side, side, depth]);
        limits[32..40].copy_from_slice(&[side, layers, side, side, layers, side, side, layers]);
    }
    limits
}

/// The software GPU's name.
pub(crate) fn device_name(device: &Device) -> String {
    format!("AMD {} (software GPU)", device.gpu.target().processor)
}

/// The number of compute units: the threads that run workgroups.
pub(crate) fn compute_units(device: &Device) -> u32 {
    let threads = device.gpu.config().threads;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    u32::try_from(threads).unwrap_or(u32::MAX)
}

fn text<const N: usize>(text: &str) -> [c_char; N] {
    let mut chars = [0; N];
    for (to, byte) in chars[..N - 1].iter_mut().zip(text.bytes()) {
        *to = byte as c_char;
    }
    chars
}

impl R0600 {
    /// The properties of `device`.
    pub(crate) fn of(device: &Device) -> Self {
        // SAFETY: integers, arrays of them and nullable pointers: all zero is a valid value.
        let zero: Self = unsafe { std::mem::zeroed() };
        let mut uuid = *b"softwareGPU-0000";
        for (to, from) in uuid[12..].iter_mut().zip(format!("{:04}", device.ordinal).bytes()) {
            *to = from;
        }
        Self {
            name: text(&device_name(device)),
            uuid,
            totalGlobalMem: device.total_bytes() as usize,
            sharedMemPerBlock: LDS_BYTES as usize,
            regsPerBlock: (4 * VGPRS * WAVE) as c_int,
            warpSize: WAVE as c_int,
            memPitch: i32::MAX as usize,
            maxThreadsPerBlock: MAX_THREADS as c_int,
            maxThreadsDim: [MAX_THREADS as c_int; 3],
            maxGridSize: MAX_GRID.map(|size| size as c_int),
            // Nominal: nothing runs at this rate, but programs divide by it.
            clockRate: 1_000_000,
            memoryClockRate: 1_000_000,
            memoryBusWidth: 64,
            totalConstMem: i32::MAX as usize,
            major: 9,
            // Of gfx942, the 4.
            minor: if device.gpu.config().arch == Arch::Gfx942 { 4 } else { 0 },
            textures: textures(device),
            textureAlignment: PITCH_ALIGN,
            texturePitchAlignment: PITCH_ALIGN,
            surfaceAlignment: PITCH_ALIGN,
            deviceOverlap: 1,
            multiProcessorCount: compute_units(device) as c_int,
            canMapHostMemory: 1,
            concurrentKernels: 1,
            pciDomainID: PCI_DOMAIN,
            pciBusID: device.ordinal as c_int + 1,
            asyncEngineCount: 1,
            unifiedAddressing: 1,
            maxThreadsPerMultiProcessor: THREADS_PER_CU as c_int,
            streamPrioritiesSupported: 1,
            sharedMemPerMultiprocessor: LDS_BYTES as usize,
            regsPerMultiprocessor: (4 * VGPRS * WAVE) as c_int,
            managedMemory: 1,
            hostNativeAtomicSupported: 1,
            concurrentManagedAccess: 1,
            canUseHostPointerForRegisteredMem: 1,
            sharedMemPerBlockOptin: LDS_BYTES as usize,
            directManagedMemAccessFromHost: 1,
            maxBlocksPerMultiProcessor: (THREADS_PER_CU / MAX_THREADS) as c_int,
            hostRegisterSupported: 1,
            memoryPoolsSupported: 1,
            cooperativeLaunch: 1,
            gcnArchName: text(&device.gpu.target().to_string()),
            maxSharedMemoryPerMultiProcessor: LDS_BYTES as usize,
            clockInstructionRate: 100_000,
            arch: ARCH,
            isLargeBar: 1,
            ..zero
        }
    }
}

impl From<&R0600> for R0000 {
    fn from(new: &R0600) -> Self {
        // SAFETY: integers, arrays of them and nullable pointers: all zero is a valid value.
        let zero: Self = unsafe { std::mem::zeroed() };
        Self {
            name: new.name,
            totalGlobalMem: new.totalGlobalMem,
            sharedMemPerBlock: new.sharedMemPerBlock,
            regsPerBlock: new.regsPerBlock,
            warpSize: new.warpSize,
            maxThreadsPerBlock: new.maxThreadsPerBlock,
            maxThreadsDim: new.maxThreadsDim,
            maxGridSize: new.maxGridSize,
            clockRate: new.clockRate,
            memoryClockRate: new.memoryClockRate,
            memoryBusWidth: new.memoryBusWidth,
            totalConstMem: new.totalConstMem,
            major: new.major,
            minor: new.minor,
            multiProcessorCount: new.multiProcessorCount,
            maxThreadsPerMultiProcessor: new.maxThreadsPerMultiProcessor,
            clockInstructionRate: new.clockInstructionRate,
            arch: new.arch,
            concurrentKernels: new.concurrentKernels,
            pciDomainID: new.pciDomainID,
            pciBusID: new.pciBusID,
            pciDeviceID: new.pciDeviceID,
            maxSharedMemoryPerMultiProcessor: new.maxSharedMemoryPerMultiProcessor,
            canMapHostMemory: new.canMapHostMemory,
            gcnArch: 910,
            gcnArchName: new.gcnArchName,
            memPitch: new.memPitch,
            textureAlignment: new.textureAlignment,
            texturePitchAlignment: new.texturePitchAlignment,
            textures: [
                new.textures[TEXTURE_1D_LINEAR],
                new.textures[TEXTURE_1D],
                new.textures[TEXTURE_2D],
                new.textures[TEXTURE_2D + 1],
                new.textures[TEXTURE_3D],
                new.textures[TEXTURE_3D + 1],
                new.textures[TEXTURE_3D + 2],
            ],
            isLargeBar: new.isLargeBar,
            managedMemory: new.managedMemory,
            directManagedMemAccessFromHost: new.directManagedMemAccessFromHost,
            concurrentManagedAccess: new.concurrentManagedAccess,
            ..zero
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn both_layouts_are_cs() {
        // As a C compiler lays out the headers of HIP 6.4 and 7.2, and of 5.7.
        assert_eq!(size_of::<R0600>(), 1472);
        assert_eq!(offset_of!(R0600, pciBusID), 584);
        assert_eq!(offset_of!(R0600, gcnArchName), 1160);
        assert_eq!(offset_of!(R0600, arch), 1428);
        assert_eq!(offset_of!(R0600, asicRevision), 1468);
        assert_eq!(size_of::<R0000>(), 792);
        assert_eq!(offset_of!(R0000, arch), 356);
        assert_eq!(offset_of!(R0000, pciBusID), 368);
        assert_eq!(offset_of!(R0000, gcnArchName), 396);
        assert_eq!(offset_of!(R0000, asicRevision), 768);
    }
}
