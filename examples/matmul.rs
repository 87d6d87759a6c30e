//! C = A B with tiles in LDS, on shapes that no tile divides, against a CPU reference in f64.
//!
//! `cargo run --release --example matmul`

use hip::{DeviceBuffer, Event, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, max_relative_error, numbers, open_device};

/// Threads along a tile's edge, as in the kernel.
const TILE: u32 = 16;

fn main() -> Result {
    let device = open_device()?;
    let matmul = kernels!("matmul").load(&device)?.kernel("matmul")?;
    let stream = Stream::new(&device)?;

    let (m, n, k) = (200_usize, 173, 250);
    let a: Vec<f32> = numbers(5).take(m * k).collect();
    let b: Vec<f32> = numbers(6).take(k * n).collect();
    let a_dev = DeviceBuffer::from_slice(&device, &a)?;
    let b_dev = DeviceBuffer::from_slice(&device, &b)?;
    let mut c_dev = DeviceBuffer::<f32>::zeroed(&device, m * n)?;

    let (start, stop) = (Event::new(&device)?, Event::new(&device)?);
    start.record(&stream)?;
    // SAFETY: a is m x k, b is k x n, c is m x n, and the kernel checks its row and column against them.
    unsafe {
        matmul.launch(
            &stream,
            LaunchConfig::for_elements_2d((n, m), (TILE, TILE)),
            (&a_dev, &b_dev, &mut c_dev, m as u32, n as u32, k as u32),
        )?;
    }
    stop.record(&stream)?;
    stop.synchronize()?;

    let seconds = stop.elapsed_since(&start)?.as_secs_f64();
    let want = (0..m * n).map(|i| {
        let (row, col) = (i / n, i % n);
        (0..k).map(|t| f64::from(a[row * k + t]) * f64::from(b[t * n + col])).sum::<f64>()
    });
    let error = max_relative_error(&c_dev.to_vec()?, want);
    // k additions, each with half a unit in the last place of error at the most.
    check(error < k as f64 * f64::from(f32::EPSILON), format!("relative error {error:e}"))?;
    println!(
        "matmul: {m} x {k} by {k} x {n} in {:.3} ms, {:.3} GFLOP/s; largest relative error {error:.1e}",
        seconds * 1e3,
        2.0 * (m * n * k) as f64 / seconds / 1e9
    );
    Ok(())
}
