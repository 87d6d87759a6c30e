//! A token goes around a ring of devices by sends and receives, and each rank adds its number to it: the sum of all
//! ranks, on every rank.
//!
//! ```sh
//! hip-sim run --devices 4 -- cargo run -p rccl --example ring
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
    let size = ranks.len();
    let mut sums: Vec<i32> = (0..size as i32).collect();
    let mut tokens = Vec::new();
    for (device, own) in devices.iter().zip(0_i32..) {
        tokens.push(DeviceBuffer::from_slice(device, &[own])?);
    }
    for step in 1..size {
        let mut received = Vec::new();
        for device in &devices {
            received.push(DeviceBuffer::<i32>::zeroed(device, 1)?);
        }
        // A rank that sends and receives does both in a group, so that neither waits for the other.
        let mut group = Group::new();
        for (rank, (token, received)) in tokens.iter().zip(&mut received).enumerate() {
            group.send(&ranks[rank], token, (rank + 1) % size)?;
            group.receive(&ranks[rank], received, (rank + size - 1) % size)?;
        }
        group.end()?;
        for (sum, token) in sums.iter_mut().zip(&received) {
            *sum += token.to_vec()?[0];
        }
        println!("after step {step}: {sums:?}");
        tokens = received;
    }
    assert!(sums.iter().all(|sum| *sum == (0..size as i32).sum::<i32>()));
    Ok(())
}
