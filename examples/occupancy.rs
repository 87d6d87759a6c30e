//! Finds the number of threads in a block that keeps the device busy.
//!
//! `cargo run --example occupancy`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    let device = open_device()?;
    let kernel = kernels!("streams").load(&device)?.kernel("fill_squares")?;
    let units = device.properties()?.compute_units;

    println!("occupancy: {kernel:?} on {units} compute units");
    for block in [64, 128, 256, 512, 1024] {
        let blocks = kernel.active_blocks_per_compute_unit(block, 0)?;
        let with_shared = kernel.active_blocks_per_compute_unit(block, 32 << 10)?;
        println!("  {block:>4} threads: {blocks:>2} blocks a unit, {with_shared:>2} with 32 KiB of shared memory each");
    }
    let best = kernel.max_potential_block_size(0)?;
    println!("  best: blocks of {} threads, at least {} of them", best.block, best.min_grid);

    const N: usize = 100_000;
    let mut squares = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let config = LaunchConfig::for_elements(N, best.block);
    // SAFETY: the kernel writes N elements and checks its index.
    unsafe { kernel.launch(&Stream::new(&device)?, config, (&mut squares, N as u32))? };
    check(squares.to_vec()?[300] == 90_000.0, "300 squared")?;
    println!("occupancy: launched {} blocks of {}: all right", config.grid.x, best.block);
    Ok(())
}
