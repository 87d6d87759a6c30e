//! A device's properties as HIP 5 lays them out. HIP 6.0 gave the structure a new layout and its function a new name,
//! `hipGetDevicePropertiesR0600`, which a runtime before it does not have.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

use hip_sys::{hipError_t, hipErrorSharedObjectSymbolNotFound};

use crate::core::call::check;
use crate::core::device::Device;
use crate::core::error::Result;

/// `hipDeviceProp_t` of HIP 5. Whatever the API level of `hip-sys`, a runtime before 6.0 fills this one.
#[repr(C)]
#[allow(non_snake_case, reason = "names are C's")]
pub(super) struct Raw {
    pub(super) name: [c_char; 256],
    pub(super) totalGlobalMem: usize,
    pub(super) sharedMemPerBlock: usize,
    pub(super) regsPerBlock: c_int,
    pub(super) warpSize: c_int,
    pub(super) maxThreadsPerBlock: c_int,
    pub(super) maxThreadsDim: [c_int; 3],
    pub(super) maxGridSize: [c_int; 3],
    pub(super) clockRate: c_int,
    pub(super) memoryClockRate: c_int,
    pub(super) memoryBusWidth: c_int,
    pub(super) totalConstMem: usize,
    pub(super) major: c_int,
    pub(super) minor: c_int,
    pub(super) multiProcessorCount: c_int,
    pub(super) l2CacheSize: c_int,
    pub(super) maxThreadsPerMultiProcessor: c_int,
    pub(super) computeMode: c_int,
    pub(super) clockInstructionRate: c_int,
    _arch: c_uint,
    pub(super) concurrentKernels: c_int,
    pub(super) pciDomainID: c_int,
    pub(super) pciBusID: c_int,
    pub(super) pciDeviceID: c_int,
    pub(super) maxSharedMemoryPerMultiProcessor: usize,
    pub(super) isMultiGpuBoard: c_int,
    pub(super) canMapHostMemory: c_int,
    _gcn_arch: c_int,
    pub(super) gcnArchName: [c_char; 256],
    pub(super) integrated: c_int,
    pub(super) cooperativeLaunch: c_int,
    pub(super) cooperativeMultiDeviceLaunch: c_int,
    _max_texture_1d_linear: c_int,
    pub(super) maxTexture1D: c_int,
    pub(super) maxTexture2D: [c_int; 2],
    pub(super) maxTexture3D: [c_int; 3],
    _hdp_mem_flush: *mut c_uint,
    _hdp_reg_flush: *mut c_uint,
    pub(super) memPitch: usize,
    pub(super) textureAlignment: usize,
    pub(super) texturePitchAlignment: usize,
    pub(super) kernelExecTimeoutEnabled: c_int,
    pub(super) ECCEnabled: c_int,
    _tcc_driver: c_int,
    _unmatched: [c_int; 4],
    pub(super) isLargeBar: c_int,
    pub(super) asicRevision: c_int,
    pub(super) managedMemory: c_int,
    pub(super) directManagedMemAccessFromHost: c_int,
    pub(super) concurrentManagedAccess: c_int,
    pub(super) pageableMemoryAccess: c_int,
    pub(super) pageableMemoryAccessUsesHostPageTables: c_int,
}

type GetDeviceProperties = unsafe extern "C" fn(*mut Raw, c_int) -> hipError_t;

/// The properties of a device (`hipGetDeviceProperties` of HIP 5), for a runtime before 6.0.
///
/// # Errors
/// [`Error::NoSymbol`](crate::Error::NoSymbol) if the runtime lacks the function, and the runtime's status.
pub(super) fn read(device: &Device) -> Result<Box<Raw>> {
    // SAFETY: integers, arrays of them and nullable pointers: all zeros is a value.
    let mut raw: Box<Raw> = unsafe { Box::new(std::mem::zeroed()) };
    let status = match hip_sys::BINDING.symbol(c"hipGetDeviceProperties") {
        Some(symbol) => {
            // SAFETY: in a runtime before 6.0, which the caller has, the function of this name has this type.
            let function = unsafe { std::mem::transmute::<NonNull<c_void>, GetDeviceProperties>(symbol) };
            // SAFETY: the pointer is valid for a write of the structure that a runtime before 6.0 fills.
            unsafe { function(&mut *raw, device.raw()) }
        }
        None => hipErrorSharedObjectSymbolNotFound,
    };
    check(status, "hipGetDeviceProperties", || format!("properties of device {}", device.index()))?;
    Ok(raw)
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// As a C compiler lays out `hipDeviceProp_t` of ROCm 5.7's header.
    #[test]
    fn the_layout_is_that_of_hip_5() {
        assert_eq!(size_of::<Raw>(), 792);
        assert_eq!(offset_of!(Raw, totalConstMem), 320);
        assert_eq!(offset_of!(Raw, maxSharedMemoryPerMultiProcessor), 376);
        assert_eq!(offset_of!(Raw, gcnArchName), 396);
        assert_eq!(offset_of!(Raw, memPitch), 712);
        assert_eq!(offset_of!(Raw, pageableMemoryAccessUsesHostPageTables), 788);
    }

    /// At the level of ROCm 5.7 `hip-sys` declares the same structure, which its own tests compare with the header.
    #[cfg(not(feature = "rocm-6-2"))]
    #[test]
    fn the_layout_is_that_of_hip_sys() {
        // `hip-sys` may be at a higher level than this crate, for another crate's sake.
        if hip_sys::API_LEVEL >= (6, 0) {
            return;
        }
        use hip_sys::hipDeviceProp_t as C;
        assert_eq!(size_of::<Raw>(), size_of::<C>());
        macro_rules! same {
            ($($field:ident)*) => { $(assert_eq!(offset_of!(Raw, $field), offset_of!(C, $field), stringify!($field));)* };
        }
        same!(name totalGlobalMem sharedMemPerBlock regsPerBlock warpSize maxThreadsPerBlock maxThreadsDim maxGridSize
            clockRate memoryClockRate memoryBusWidth totalConstMem major minor multiProcessorCount l2CacheSize
            maxThreadsPerMultiProcessor computeMode clockInstructionRate concurrentKernels pciDomainID pciBusID pciDeviceID
            maxSharedMemoryPerMultiProcessor isMultiGpuBoard canMapHostMemory gcnArchName integrated cooperativeLaunch
            cooperativeMultiDeviceLaunch maxTexture1D maxTexture2D maxTexture3D memPitch textureAlignment
            texturePitchAlignment kernelExecTimeoutEnabled ECCEnabled isLargeBar asicRevision managedMemory
            directManagedMemAccessFromHost concurrentManagedAccess pageableMemoryAccess
            pageableMemoryAccessUsesHostPageTables);
    }
}
