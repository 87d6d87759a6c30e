//! y = alpha x + y, timed with events: the number of bytes per second that the kernel reads and writes.
//!
//! `cargo run --release --example saxpy`

use hip::{DeviceBuffer, Event, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, max_relative_error, numbers, open_device};

fn main() -> Result {
    let device = open_device()?;
    let saxpy = kernels!("saxpy").load(&device)?.kernel("saxpy")?;
    let stream = Stream::new(&device)?;

    const N: usize = 1 << 20;
    const ALPHA: f32 = 2.5;
    let x: Vec<f32> = numbers(3).take(N).collect();
    let y: Vec<f32> = numbers(4).take(N).collect();
    let x_dev = DeviceBuffer::from_slice(&device, &x)?;
    let mut y_dev = DeviceBuffer::from_slice(&device, &y)?;

    let (start, stop) = (Event::new(&device)?, Event::new(&device)?);
    start.record(&stream)?;
    // A quarter as many threads as elements: each thread takes four strides.
    let config = LaunchConfig::for_elements(N / 4, 256);
    // SAFETY: the kernel reads N elements of x, updates N elements of y, and checks its index against N.
    unsafe { saxpy.launch(&stream, config, (ALPHA, &x_dev, &mut y_dev, N as u32))? };
    stop.record(&stream)?;
    stop.synchronize()?;

    let seconds = stop.elapsed_since(&start)?.as_secs_f64();
    let bytes = 3 * N * size_of::<f32>(); // x and y read, y written
    let got = y_dev.to_vec()?;
    let want = x.iter().zip(&y).map(|(&x, &y)| f64::from(ALPHA) * f64::from(x) + f64::from(y));
    let error = max_relative_error(&got, want);
    check(error < 1e-6, format!("relative error {error:e}"))?;
    println!(
        "saxpy: {N} elements in {:.3} ms, {:.2} GB/s; largest relative error {error:.1e}",
        seconds * 1e3,
        bytes as f64 / seconds / 1e9
    );
    Ok(())
}
