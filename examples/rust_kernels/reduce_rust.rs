//! A sum with a kernel in Rust: operations between the lanes of a wave, shared memory, one atomic addition per block.
//!
//! `cargo run --example reduce_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, numbers, open_device};
use rust_kernels::kernels::reduce::Reduce;

pub(crate) fn main() -> Result {
    const N: usize = 200_000;
    let device = open_device()?;
    let reduce = Reduce::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    let x: Vec<f32> = numbers(3).take(N).collect();
    let x_dev = DeviceBuffer::from_slice(&device, &x)?;
    let mut total = DeviceBuffer::<f32>::zeroed(&device, 1)?;
    reduce.launch(&stream, LaunchConfig::new(16, 256), &x_dev, &mut total)?;

    let (got, want) = (f64::from(total.to_vec()?[0]), x.iter().map(|x| f64::from(*x)).sum::<f64>());
    let error = (got - want).abs() / want;
    check(error < 1e-5, format!("{got}, not {want}"))?;
    println!("reduce_rust: the sum of {N} numbers is {got}; relative error {error:.1e}");
    Ok(())
}
