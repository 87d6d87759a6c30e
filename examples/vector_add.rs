//! The first program: c = a + b on the GPU, checked against the CPU.
//!
//! `cargo run --example vector_add`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, numbers, open_device};

fn main() -> Result {
    let device = open_device()?;
    let vector_add = kernels!("vector_add").load(&device)?.kernel("vector_add")?;
    let stream = Stream::new(&device)?;

    const N: usize = 1_000_000;
    let a: Vec<f32> = numbers(1).take(N).collect();
    let b: Vec<f32> = numbers(2).take(N).collect();

    let a_dev = DeviceBuffer::from_slice(&device, &a)?;
    let b_dev = DeviceBuffer::from_slice(&device, &b)?;
    let mut c_dev = DeviceBuffer::<f32>::zeroed(&device, N)?;

    let config = LaunchConfig::for_elements(N, 256);
    // SAFETY: the kernel reads N elements of a and b, writes N elements of c, and checks its index against N.
    unsafe { vector_add.launch(&stream, config, (&a_dev, &b_dev, &mut c_dev, N as u32))? };
    let c = c_dev.to_vec()?;

    let wrong = (0..N).filter(|&i| c[i] != a[i] + b[i]).count();
    check(wrong == 0, format!("{wrong} of {N} sums differ from the CPU's"))?;
    println!("vector_add: {N} sums, all equal to the CPU's; c[0] = {} + {} = {}", a[0], b[0], c[0]);
    Ok(())
}
