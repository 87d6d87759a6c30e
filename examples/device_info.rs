//! Prints the properties and capabilities of this machine's GPUs.
//!
//! `cargo run --example device_info`

use hip::Device;
use hip::device::DeviceAttribute;
use rocm_examples::{Result, check, open_device};

fn main() -> Result {
    open_device()?;
    let (major, minor, patch) = hip::runtime_version()?;
    println!("HIP runtime {major}.{minor}.{patch}, {} device(s)", Device::count()?);
    for device in Device::all()? {
        let p = device.properties()?;
        let memory = device.memory_info()?;
        println!("\n{device}");
        println!("  simulated            {}", if device.is_simulated() { "yes" } else { "no" });
        println!("  architecture         {}", p.arch);
        println!("  PCI address          {}", p.pci);
        println!("  compute units        {} at {} MHz", p.compute_units, p.clock_khz / 1000);
        println!("  wave                 {} lanes", p.warp_size);
        println!("  threads per block    {} at the most, {:?} along x, y, z", p.max_threads_per_block, p.max_block);
        println!("  blocks per grid      {:?} along x, y, z", p.max_grid);
        println!("  LDS per block        {} KiB", p.shared_memory_per_block / 1024);
        println!("  registers per block  {}", p.registers_per_block);
        println!("  memory free          {:.1} of {:.1} GiB", gib(memory.free), gib(memory.total));
        let attribute = device.attribute(DeviceAttribute::WARP_SIZE)?;
        check(attribute as u32 == p.warp_size, "the attribute and the property disagree on the wave's size")?;
    }
    Ok(())
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}
