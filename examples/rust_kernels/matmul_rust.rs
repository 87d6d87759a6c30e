//! C = A B with tiles in shared memory, with a kernel in Rust, on shapes that no tile divides, against a CPU reference
//! in f64.
//!
//! `cargo run --release --example matmul_rust`

use hip::{DeviceBuffer, LaunchConfig, Stream};
use rocm_examples::{Result, check, max_relative_error, numbers, open_device};
use rust_kernels::kernels::matmul::{Matmul, TILE};

pub(crate) fn main() -> Result {
    let device = open_device()?;
    let matmul = Matmul::load(&rust_kernels::load(&device)?)?;
    let stream = Stream::new(&device)?;

    let (m, n, k) = (100_usize, 73, 150);
    let a: Vec<f32> = numbers(5).take(m * k).collect();
    let b: Vec<f32> = numbers(6).take(k * n).collect();
    let (a_dev, b_dev) = (DeviceBuffer::from_slice(&device, &a)?, DeviceBuffer::from_slice(&device, &b)?);
    let mut c_dev = DeviceBuffer::<f32>::zeroed(&device, m * n)?;
    let grid = (n.div_ceil(TILE) as u32, m.div_ceil(TILE) as u32);
    let config = LaunchConfig::new(grid, (TILE as u32, TILE as u32));
    matmul.launch(&stream, config, &a_dev, &b_dev, &mut c_dev, n, k as u32)?;

    let want = (0..m * n).map(|i| {
        let (row, column) = (i / n, i % n);
        (0..k).map(|t| f64::from(a[row * k + t]) * f64::from(b[t * n + column])).sum::<f64>()
    });
    let error = max_relative_error(&c_dev.to_vec()?, want);
    // k additions, each with half a unit in the last place of error at the most.
    check(error < k as f64 * f64::from(f32::EPSILON), format!("relative error {error:e}"))?;
    println!("matmul_rust: {m} x {k} by {k} x {n}; largest relative error {error:.1e}");
    Ok(())
}
