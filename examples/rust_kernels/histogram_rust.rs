//! A histogram with a kernel in Rust that uses atomic operations in shared memory.
//!
//! `cargo run --example histogram_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, numbers, open_device};
use rust_kernels::kernels::histogram::{BINS, Histogram};

pub(crate) fn main() -> Result {
    const N: usize = 100_000;
    let device = open_device()?;
    let histogram = Histogram::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    // Small numbers are more frequent.
    let bytes: Vec<u8> = numbers(4).take(N).map(|x| (x * x * 256.0) as u8).collect();
    let x = DeviceBuffer::from_slice(&device, &bytes)?;
    let mut counts = DeviceBuffer::<u32>::zeroed(&device, BINS)?;
    histogram.launch(&stream, LaunchConfig::new(16, 256), &x, &mut counts)?;

    let mut want = vec![0u32; BINS];
    bytes.iter().for_each(|byte| want[usize::from(*byte)] += 1);
    let counts = counts.to_vec()?;
    check(counts == want, "a count differs from the CPU's")?;
    println!("histogram_rust: {N} bytes, all counts equal to the CPU's; {} are 0, {} are 255", counts[0], counts[255]);
    Ok(())
}
