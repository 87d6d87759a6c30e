//! Properties of a device: name, architecture, memory, limits.

mod hip5;
pub(crate) mod read;

use std::fmt;

use crate::core::arch::Arch;
use crate::core::error::Result;

/// A device's properties (`hipDeviceProp_t`), in a layout of this crate, the same at every API level.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceProperties {
    /// The product name: `AMD Instinct MI210`.
    pub name: String,
    /// The architecture: `gfx90a:sramecc+:xnack-`, `sm_90`.
    pub arch: Arch,
    /// Device memory, in bytes.
    pub total_memory: u64,
    /// Constant memory, in bytes.
    pub constant_memory: u64,
    /// Maximum shared memory (LDS) per block, in bytes. On NVIDIA's devices, that of kernels which do not ask for more.
    pub shared_memory_per_block: u64,
    /// Maximum shared memory (LDS) per block for kernels that ask for it, in bytes: launches of this crate do, if they
    /// need it. More than [`shared_memory_per_block`](Self::shared_memory_per_block) on NVIDIA's devices only.
    pub shared_memory_per_block_opt_in: u64,
    /// Shared memory (LDS) per compute unit, in bytes.
    pub shared_memory_per_compute_unit: u64,
    /// Maximum 32-bit registers per block.
    pub registers_per_block: u32,
    /// Level 2 cache, in bytes.
    pub l2_cache: u64,
    /// Lanes of a wave: 64 or 32.
    pub warp_size: u32,
    /// Compute units (multiprocessors).
    pub compute_units: u32,
    /// Maximum threads per block.
    pub max_threads_per_block: u32,
    /// Maximum resident threads per compute unit.
    pub max_threads_per_compute_unit: u32,
    /// Maximum threads per block in x, y, z.
    pub max_block: [u32; 3],
    /// Maximum blocks per grid in x, y, z.
    pub max_grid: [u32; 3],
    /// Peak clock, in kHz.
    pub clock_khz: u32,
    /// Peak clock of the memory, in kHz.
    pub memory_clock_khz: u32,
    /// Width of the memory bus, in bits.
    pub memory_bus_bits: u32,
    /// Rate of the clock that `clock64()` reads on the device, in kHz.
    pub instruction_clock_khz: u32,
    /// HIP's counterpart of CUDA's compute capability: major and minor.
    pub compute_capability: (u32, u32),
    /// Address on the PCI bus.
    pub pci: PciAddress,
    /// Whether the GPU shares its memory with the CPU (an APU).
    pub integrated: bool,
    /// Whether error correction is on.
    pub ecc: bool,
    /// Whether kernels of several streams can run concurrently.
    pub concurrent_kernels: bool,
    /// Whether cooperative launches are supported.
    pub cooperative_launch: bool,
    /// Whether host memory can be mapped into the device.
    pub can_map_host_memory: bool,
    /// Whether managed memory can be allocated.
    pub managed_memory: bool,
    /// Revision of the chip.
    pub asic_revision: u32,
    /// Whether cooperative launches on several devices are supported.
    pub cooperative_multi_device_launch: bool,
    /// Maximum row of a pitched copy, in bytes.
    pub max_pitch: u64,
    /// Alignment of the addresses of textures, in bytes.
    pub texture_alignment: u64,
    /// Alignment of the rows of textures in pitched memory, in bytes.
    pub texture_pitch_alignment: u64,
    /// Maximum size of a 1D texture, in elements.
    pub max_texture_1d: u32,
    /// Maximum size of a 2D texture, in elements.
    pub max_texture_2d: [u32; 2],
    /// Maximum size of a 3D texture, in elements.
    pub max_texture_3d: [u32; 3],
    /// Whether kernels have a run time limit.
    pub kernel_timeout: bool,
    /// Whether all device memory is mapped into the host's address space (large BAR).
    pub large_bar: bool,
    /// Whether the board has several GPUs.
    pub multi_gpu_board: bool,
    /// Whether host and device can access managed memory concurrently.
    pub concurrent_managed_access: bool,
    /// Whether the host can access managed memory on the device without migrating it.
    pub direct_managed_access_from_host: bool,
    /// Whether kernels can access pageable host memory.
    pub pageable_memory_access: bool,
    /// Whether that access uses the host's page tables.
    pub pageable_memory_access_by_host_tables: bool,
    /// The compute mode (`hipComputeMode`): 0 allows every process to use the device.
    pub compute_mode: u32,
    /// Maximum threads of a launch in each of x, y and z. AMD's dispatch packet counts them with 32 bits.
    pub(crate) max_threads_per_axis: u64,
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

impl std::str::FromStr for PciAddress {
    type Err = crate::core::error::Error;

    /// Parses the printed form: `0000:03:00.0`. The domain and the function are optional.
    fn from_str(text: &str) -> Result<Self> {
        let bad = || crate::core::error::Error::InvalidValue {
            what: "an address on the PCI bus",
            value: format!("{text:?}"),
            allowed: "like 0000:03:00.0, in hexadecimal".to_owned(),
        };
        let number = |part: &str| match part.len() {
            1..=8 if part.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                u32::from_str_radix(part, 16).map_err(|_| bad())
            }
            _ => Err(bad()),
        };
        let (address, function) = text.rsplit_once('.').unwrap_or((text, "0"));
        if number(function)? != 0 {
            return Err(bad());
        }
        match *address.split(':').collect::<Vec<_>>() {
            [domain, bus, device] => Ok(Self { domain: number(domain)?, bus: number(bus)?, device: number(device)? }),
            [bus, device] => Ok(Self { domain: 0, bus: number(bus)?, device: number(device)? }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.0", self.domain, self.bus, self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pci_addresses_print_as_lspci_does() {
        let address = PciAddress { domain: 0, bus: 0xc3, device: 0 };
        assert_eq!(address.to_string(), "0000:c3:00.0");
        assert_eq!("0000:c3:00.0".parse::<PciAddress>().unwrap(), address);
        assert_eq!("C3:0".parse::<PciAddress>().unwrap(), address);
        for bad in ["", "c3", "0000:c3:00.1", "0:0:0:0", "x:00", "+1:00", "-1:0", "123456789:0"] {
            assert!(bad.parse::<PciAddress>().is_err(), "{bad}");
        }
    }
}
