//! One process, all devices: the first has numbers, and all receive them.
//!
//! ```sh
//! hip-sim run --devices 4 -- cargo run -p rccl --example broadcast   # or without hip-sim, on GPUs
//! ```

use hip::{Device, DeviceBuffer};
use rccl::{Communicator, Config, Group};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if hip::sim_if_no_gpu().is_err() || hip::backend()? == hip::Backend::Sim || !rccl::is_available() {
        println!("no GPU or no RCCL is available");
        return Ok(());
    }
    let devices = Device::all()?;
    let ranks = Communicator::init_all(&devices, &Config::new())?;
    let (major, minor, patch) = rccl::version()?;
    println!("RCCL {major}.{minor}.{patch} on {} devices", devices.len());

    // Each device has its own numbers; those of the first are broadcast.
    let mut buffers = Vec::new();
    for (rank, device) in devices.iter().enumerate() {
        buffers.push(DeviceBuffer::from_slice(device, &[rank as f32 + 0.5; 1_000])?);
    }
    let mut group = Group::new();
    for (rank, buffer) in ranks.iter().zip(&mut buffers) {
        group.broadcast(rank, buffer, 0)?;
    }
    group.end()?;

    for (rank, buffer) in buffers.iter().enumerate() {
        let numbers = buffer.to_vec()?; // waits for the broadcast
        assert_eq!(numbers, [0.5; 1_000]);
        println!("rank {rank}: {} ... {}", numbers[0], numbers[999]);
    }
    Ok(())
}
