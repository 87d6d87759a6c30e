//! A kernel in Rust, launched by a safe call.
//!
//! `cargo run --example vector_add_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, numbers, open_device};
use rust_kernels::kernels::vector_add::VectorAdd;

pub(crate) fn main() -> Result {
    const N: usize = 100_000;
    let device = open_device()?;
    let add = VectorAdd::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    let (a, b): (Vec<f32>, Vec<f32>) = (numbers(1).take(N).collect(), numbers(2).take(N).collect());
    let (a_dev, b_dev) = (DeviceBuffer::from_slice(&device, &a)?, DeviceBuffer::from_slice(&device, &b)?);
    let mut c_dev = DeviceBuffer::<f32>::zeroed(&device, N)?;
    add.launch(&stream, LaunchConfig::for_elements(N, 256), &a_dev, &b_dev, &mut c_dev)?;

    let c = c_dev.to_vec()?;
    let wrong = (0..N).filter(|&i| c[i] != a[i] + b[i]).count();
    check(wrong == 0, format!("{wrong} of {N} sums"))?;
    println!("vector_add_rust: {N} sums, all equal to the CPU's; c[0] = {} + {} = {}", a[0], b[0], c[0]);
    Ok(())
}
