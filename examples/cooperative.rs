//! A cooperative launch: all of its blocks run at the same time, or it is rejected.
//!
//! `cargo run --example cooperative`

use hip::{DeviceBuffer, Error, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    let device = open_device()?;
    let fill_squares = kernels!("streams").load(&device)?.kernel("fill_squares")?;
    let stream = Stream::new(&device)?;
    if !device.properties()?.cooperative_launch {
        println!("cooperative: not on this device");
        return Ok(());
    }
    const BLOCK: u32 = 256;
    let most = fill_squares.max_cooperative_blocks(BLOCK, 0)?;
    println!("cooperative: up to {most} blocks of {BLOCK} threads can wait for each other");

    let n = most as usize * BLOCK as usize;
    let mut squares = DeviceBuffer::<f32>::zeroed(&device, n)?;
    // SAFETY: the kernel writes n elements and checks its index.
    unsafe {
        fill_squares.launch_cooperative(&stream, LaunchConfig::new(most, BLOCK), (&mut squares, n as u32))?;
    }
    check(squares.to_vec()?[300] == 90_000.0, "300 squared")?;

    // One more block would wait forever for a free place.
    let more = LaunchConfig::new(most + 1, BLOCK);
    // SAFETY: as above; the launch is rejected.
    let error = unsafe { fill_squares.launch_cooperative(&stream, more, (&mut squares, n as u32)) };
    let error = error.expect_err("one block too many");
    check(matches!(error, Error::Geometry { .. }), &error)?;
    println!("cooperative: {error}");
    Ok(())
}
