//! Properties as the runtime of each release reports them.

use std::ffi::c_char;

// HIP 6.0 changed the structure's layout, and renamed it and its function.
use hip_sys::{hipDeviceProp_tR0600, hipGetDevicePropertiesR0600};

use super::{DeviceProperties, PciAddress, hip5};
use crate::core::backend::runtime;
use crate::core::call::check;
use crate::core::device_table::Device;
use crate::core::error::Result;

/// Converts a C structure: the layouts differ by release, the names of the fields do not.
macro_rules! properties {
    ($raw:ident) => {
        DeviceProperties {
            name: text(&$raw.name),
            arch: text(&$raw.gcnArchName).parse()?,
            total_memory: $raw.totalGlobalMem as u64,
            constant_memory: $raw.totalConstMem as u64,
            shared_memory_per_block: $raw.sharedMemPerBlock as u64,
            shared_memory_per_block_opt_in: $raw.sharedMemPerBlock as u64,
            shared_memory_per_compute_unit: $raw.maxSharedMemoryPerMultiProcessor as u64,
            registers_per_block: count($raw.regsPerBlock),
            l2_cache: u64::from(count($raw.l2CacheSize)),
            warp_size: count($raw.warpSize),
            compute_units: count($raw.multiProcessorCount),
            max_threads_per_block: count($raw.maxThreadsPerBlock),
            max_threads_per_compute_unit: count($raw.maxThreadsPerMultiProcessor),
            max_block: $raw.maxThreadsDim.map(count),
            max_grid: $raw.maxGridSize.map(count),
            clock_khz: count($raw.clockRate),
            memory_clock_khz: count($raw.memoryClockRate),
            memory_bus_bits: count($raw.memoryBusWidth),
            instruction_clock_khz: count($raw.clockInstructionRate),
            compute_capability: (count($raw.major), count($raw.minor)),
            pci: PciAddress {
                domain: count($raw.pciDomainID),
                bus: count($raw.pciBusID),
                device: count($raw.pciDeviceID),
            },
            integrated: $raw.integrated != 0,
            ecc: $raw.ECCEnabled != 0,
            concurrent_kernels: $raw.concurrentKernels != 0,
            cooperative_launch: $raw.cooperativeLaunch != 0,
            can_map_host_memory: $raw.canMapHostMemory != 0,
            managed_memory: $raw.managedMemory != 0,
            asic_revision: count($raw.asicRevision),
            cooperative_multi_device_launch: $raw.cooperativeMultiDeviceLaunch != 0,
            max_pitch: $raw.memPitch as u64,
            texture_alignment: $raw.textureAlignment as u64,
            texture_pitch_alignment: $raw.texturePitchAlignment as u64,
            max_texture_1d: count($raw.maxTexture1D),
            max_texture_2d: $raw.maxTexture2D.map(count),
            max_texture_3d: $raw.maxTexture3D.map(count),
            kernel_timeout: $raw.kernelExecTimeoutEnabled != 0,
            large_bar: $raw.isLargeBar != 0,
            multi_gpu_board: $raw.isMultiGpuBoard != 0,
            concurrent_managed_access: $raw.concurrentManagedAccess != 0,
            direct_managed_access_from_host: $raw.directManagedMemAccessFromHost != 0,
            pageable_memory_access: $raw.pageableMemoryAccess != 0,
            pageable_memory_access_by_host_tables: $raw.pageableMemoryAccessUsesHostPageTables != 0,
            compute_mode: count($raw.computeMode),
            max_threads_per_axis: u64::from(u32::MAX),
        }
    };
}

/// Reads the properties of a device (`hipGetDeviceProperties`).
pub(crate) fn read(device: &Device) -> Result<DeviceProperties> {
    if runtime()?.version.0 < 6 {
        let raw = hip5::read(device)?;
        return Ok(properties!(raw));
    }
    let mut raw = Box::<hipDeviceProp_tR0600>::default();
    // SAFETY: the pointer is valid for a write of the structure that this version of the function fills.
    let status = unsafe { hipGetDevicePropertiesR0600(&mut *raw, device.raw()) };
    check(status, "hipGetDeviceProperties", || format!("properties of device {}", device.index()))?;
    let mut properties = properties!(raw);
    if properties.arch.is_nvidia() {
        properties.max_threads_per_axis = u64::MAX;
        properties.shared_memory_per_block_opt_in = raw.sharedMemPerBlockOptin as u64;
    }
    Ok(properties)
}

/// Converts a C count, an `int`; a negative count becomes 0.
fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// Returns the text in a C character array, whether or not it is terminated.
pub(crate) fn text(chars: &[c_char]) -> String {
    let bytes: Vec<u8> = chars.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_array_without_end_is_read_to_its_end() {
        assert_eq!(text(&[b'g' as c_char, b'f' as c_char]), "gf");
        assert_eq!(text(&[b'g' as c_char, 0, b'f' as c_char]), "g");
        assert_eq!(text(&[]), "");
    }
}
