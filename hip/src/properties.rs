//! What a device is: name, architecture, memory, limits.

use std::ffi::c_char;
use std::fmt;

use crate::Arch;
use crate::call::check;
use crate::device::Device;
use crate::error::Result;

// HIP 6.0 gave the structure a new layout, and it and its function new names; hip-sys knows both by the old ones.
use hip_sys::{hipDeviceProp_t, hipGetDeviceProperties};

/// A device's properties (`hipDeviceProp_t`), in our own layout, the same at every API level.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// The name on the box: `AMD Instinct MI210`.
    pub name: String,
    /// The architecture: `gfx90a:sramecc+:xnack-`.
    pub arch: Arch,
    /// Device memory, in bytes.
    pub total_memory: u64,
    /// Constant memory, in bytes.
    pub constant_memory: u64,
    /// Shared memory (LDS) that a block may have, in bytes.
    pub shared_memory_per_block: u64,
    /// Shared memory (LDS) of a compute unit, in bytes.
    pub shared_memory_per_compute_unit: u64,
    /// 32-bit registers that a block may have.
    pub registers_per_block: u32,
    /// Level 2 cache, in bytes.
    pub l2_cache: u64,
    /// Lanes of a wave: 64, or 32.
    pub warp_size: u32,
    /// Compute units (multiprocessors).
    pub compute_units: u32,
    /// Threads that a block may have.
    pub max_threads_per_block: u32,
    /// Threads that a compute unit holds at a time.
    pub max_threads_per_compute_unit: u32,
    /// Threads that a block may have in x, y, z.
    pub max_block: [u32; 3],
    /// Blocks that a grid may have in x, y, z.
    pub max_grid: [u32; 3],
    /// Peak clock, in kHz.
    pub clock_khz: u32,
    /// Peak clock of the memory, in kHz.
    pub memory_clock_khz: u32,
    /// Width of the memory bus, in bits.
    pub memory_bus_bits: u32,
    /// Rate of the clock that `clock64()` reads on the device, in kHz.
    pub instruction_clock_khz: u32,
    /// What HIP gives for CUDA's compute capability: major and minor.
    pub compute_capability: (u32, u32),
    /// Where the device is on the PCI bus.
    pub pci: PciAddress,
    /// Whether the GPU shares its memory with the CPU (an APU).
    pub integrated: bool,
    /// Whether error correction is on.
    pub ecc: bool,
    /// Whether kernels of several streams can run at a time.
    pub concurrent_kernels: bool,
    /// Whether cooperative launches work.
    pub cooperative_launch: bool,
    /// Whether host memory can be mapped into the device.
    pub can_map_host_memory: bool,
    /// Whether managed memory can be allocated.
    pub managed_memory: bool,
    /// Revision of the chip.
    pub asic_revision: u32,
}

/// An address on the PCI bus, printed as `0000:03:00.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PciAddress {
    /// Domain (segment).
    pub domain: u32,
    /// Bus.
    pub bus: u32,
    /// Device.
    pub device: u32,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.0", self.domain, self.bus, self.device)
    }
}

impl DeviceProperties {
    pub(crate) fn read(device: &Device) -> Result<Self> {
        let mut raw = Box::<hipDeviceProp_t>::default();
        // SAFETY: the pointer is valid for a write of the structure that this version of the function fills.
        let status = unsafe { hipGetDeviceProperties(&mut *raw, device.raw()) };
        check(status, "hipGetDeviceProperties", || format!("properties of device {}", device.index()))?;
        Ok(Self {
            name: text(&raw.name),
            arch: text(&raw.gcnArchName).parse()?,
            total_memory: raw.totalGlobalMem as u64,
            constant_memory: raw.totalConstMem as u64,
            shared_memory_per_block: raw.sharedMemPerBlock as u64,
            shared_memory_per_compute_unit: raw.maxSharedMemoryPerMultiProcessor as u64,
            registers_per_block: count(raw.regsPerBlock),
            l2_cache: u64::from(count(raw.l2CacheSize)),
            warp_size: count(raw.warpSize),
            compute_units: count(raw.multiProcessorCount),
            max_threads_per_block: count(raw.maxThreadsPerBlock),
            max_threads_per_compute_unit: count(raw.maxThreadsPerMultiProcessor),
            max_block: raw.maxThreadsDim.map(count),
            max_grid: raw.maxGridSize.map(count),
            clock_khz: count(raw.clockRate),
            memory_clock_khz: count(raw.memoryClockRate),
            memory_bus_bits: count(raw.memoryBusWidth),
            instruction_clock_khz: count(raw.clockInstructionRate),
            compute_capability: (count(raw.major), count(raw.minor)),
            pci: PciAddress {
                domain: count(raw.pciDomainID),
                bus: count(raw.pciBusID),
                device: count(raw.pciDeviceID),
            },
            integrated: raw.integrated != 0,
            ecc: raw.ECCEnabled != 0,
            concurrent_kernels: raw.concurrentKernels != 0,
            cooperative_launch: raw.cooperativeLaunch != 0,
            can_map_host_memory: raw.canMapHostMemory != 0,
            managed_memory: raw.managedMemory != 0,
            asic_revision: count(raw.asicRevision),
        })
    }
}

/// C counts in `int`; a negative count is none.
fn count(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// The text in a C character array, whether or not it is terminated.
fn text(chars: &[c_char]) -> String {
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

    #[test]
    fn pci_addresses_print_as_lspci_does() {
        assert_eq!(PciAddress { domain: 0, bus: 0xc3, device: 0 }.to_string(), "0000:c3:00.0");
    }
}
