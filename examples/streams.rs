//! Two streams with an event between them: one produces, the other waits for it and consumes.
//!
//! `cargo run --example streams`

use hip::{DeviceBuffer, LaunchConfig, PinnedBuffer, Stream};
use rocm_examples::{Result, check, kernels, open_device};

fn main() -> Result {
    let device = open_device()?;
    let module = kernels!("streams").load(&device)?;
    let (fill_squares, scale) = (module.kernel("fill_squares")?, module.kernel("scale")?);
    let (producer, consumer) = (Stream::new(&device)?, Stream::new(&device)?);

    const N: usize = 100_000;
    const FACTOR: f32 = 0.5;
    let mut squares = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let mut scaled = DeviceBuffer::<f32>::zeroed(&device, N)?;
    let mut result = PinnedBuffer::<f32>::zeroed(&device, N)?;
    let config = LaunchConfig::for_elements(N, 256);

    // SAFETY: the kernel writes N elements and checks its index.
    unsafe { fill_squares.launch(&producer, config, (&mut squares, N as u32))? };
    let produced = producer.record()?;
    // `hip` would also insert this wait automatically, since it knows that `squares` was last written on the other stream.
    consumer.wait_event(&produced)?;
    // SAFETY: the kernel reads and writes N elements and checks its index.
    unsafe { scale.launch(&consumer, config, (&squares, &mut scaled, FACTOR, N as u32))? };
    scaled.copy_to_pinned_async(&consumer, &mut result)?;

    // Reading the pinned memory waits for the copy into it.
    let result = result.as_slice()?;
    let wrong = (0..N).filter(|&i| result[i] != (i as f32) * (i as f32) * FACTOR).count();
    check(wrong == 0, format!("{wrong} of {N} values are wrong"))?;
    println!("streams: {N} squares made on one stream, halved on another, copied back: all right");
    Ok(())
}
