//! A sum: shuffles within a wave, LDS between waves, one atomic operation per block.
//!
//! `cargo run --release --example reduce`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, numbers, open_device};

fn main() -> Result {
    let device = open_device()?;
    let reduce_sum = kernels!("reduce").load(&device)?.kernel("reduce_sum")?;
    let stream = Stream::new(&device)?;

    const N: usize = 1_000_003;
    let x: Vec<f32> = numbers(7).take(N).collect();
    let x_dev = DeviceBuffer::from_slice(&device, &x)?;
    let mut sum_dev = DeviceBuffer::<f32>::zeroed(&device, 1)?;

    let config = LaunchConfig::new(64, 256);
    // SAFETY: the kernel reads N elements of x and adds to one float.
    unsafe { reduce_sum.launch(&stream, config, (&x_dev, &mut sum_dev, N as u32))? };

    let got = f64::from(sum_dev.to_vec()?[0]);
    let want: f64 = x.iter().map(|&x| f64::from(x)).sum();
    let error = (got - want).abs() / want;
    check(error < 1e-5, format!("sum {got}, the CPU says {want}"))?;
    println!("reduce: the sum of {N} numbers is {got:.1}, on the CPU in f64 {want:.1}; relative error {error:.1e}");
    Ok(())
}
