//! A histogram of bytes with atomics in LDS, exact.
//!
//! `cargo run --release --example histogram`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, numbers, open_device};

fn main() -> Result {
    let device = open_device()?;
    let histogram = kernels!("histogram").load(&device)?.kernel("histogram")?;
    let stream = Stream::new(&device)?;

    const N: usize = 500_000;
    // The square of a uniform number: small values are common, so many lanes add to the same bin.
    let data: Vec<u8> = numbers(8).take(N).map(|x| (x * x * 256.0) as u8).collect();
    let data_dev = DeviceBuffer::from_slice(&device, &data)?;
    let mut bins_dev = DeviceBuffer::<u32>::zeroed(&device, 256)?;

    let config = LaunchConfig::new(32, 256);
    // SAFETY: the kernel reads N bytes and adds to 256 bins.
    unsafe { histogram.launch(&stream, config, (&data_dev, &mut bins_dev, N as u32))? };

    let got = bins_dev.to_vec()?;
    let mut want = vec![0u32; 256];
    for &byte in &data {
        want[usize::from(byte)] += 1;
    }
    check(got == want, "the bins differ from the CPU's")?;
    let fullest = (0..256).max_by_key(|&bin| got[bin]).unwrap_or_default();
    println!("histogram: {N} bytes in 256 bins, equal to the CPU's; fullest bin {fullest} with {}", got[fullest]);
    Ok(())
}
