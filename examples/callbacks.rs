//! Rust functions in a stream: they run on the host between pieces of work on the device.
//!
//! `cargo run --example callbacks`

use std::sync::mpsc;

use hip::{DeviceBuffer, Error, LaunchConfig, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    let device = open_device()?;
    let fill_squares = kernels!("streams").load(&device)?.kernel("fill_squares")?;
    let stream = Stream::new(&device)?;

    const N: usize = 10_000;
    let (sender, finished) = mpsc::channel();
    let mut batches = Vec::new();
    for batch in 0..4 {
        let mut squares = DeviceBuffer::<f32>::zeroed(&device, N)?;
        // SAFETY: the kernel writes N elements and checks its index.
        unsafe { fill_squares.launch(&stream, LaunchConfig::for_elements(N, 256), (&mut squares, N as u32))? };
        let sender = sender.clone();
        // It must not call HIP, so it notifies the thread that does.
        stream.launch_host_function(move || {
            let _ = sender.send(batch);
        })?;
        batches.push(squares);
    }
    drop(sender);
    for batch in finished {
        // This batch is complete, whatever the stream does now.
        let squares = batches[batch].to_vec()?;
        check(squares[100] == 10_000.0, format!("batch {batch}"))?;
        println!("callbacks: batch {batch} is done");
    }

    // A panic becomes an error of the next call that waits.
    stream.launch_host_function(|| panic!("on purpose"))?;
    let error = stream.synchronize().expect_err("the function panicked");
    check(matches!(error, Error::HostFunctionPanicked { .. }), &error)?;
    println!("callbacks: {error}");
    Ok(())
}
