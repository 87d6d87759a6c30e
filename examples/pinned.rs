//! Pinned host memory: copies that overlap with other work, and memory that the device uses in place.
//!
//! `cargo run --example pinned`

use hip::memory::PinnedOptions;
use hip::{DeviceBuffer, PinnedBuffer, Stream};
use rocm_examples::{Result, check, open_device};

fn main() -> Result {
    const LEN: usize = 100_000;
    let device = open_device()?;
    let stream = Stream::new(&device)?;

    // To the device and back, without a wait in between.
    let mut input = PinnedBuffer::<u32>::zeroed(&device, LEN)?;
    input.as_mut_slice()?.iter_mut().zip(0..).for_each(|(element, number)| *element = number);
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, LEN)?;
    let mut output = PinnedBuffer::<u32>::zeroed(&device, LEN)?;
    buffer.copy_from_pinned_async(&stream, &input)?;
    buffer.copy_to_pinned_async(&stream, &mut output)?;
    println!("pinned: both copies are queued, done: {}", stream.is_idle()?);
    // Waits for the copy. Writing to `input` now would wait for the other one.
    check(output.as_slice()? == input.as_slice()?, "what came back")?;

    // In place: the device writes to the host's memory.
    let mut shared = PinnedBuffer::<u32>::with_options(&device, LEN, PinnedOptions::new().mapped(true))?;
    shared.as_device_slice_mut()?.fill_async(&stream, 7)?;
    check(shared.as_slice()?.iter().all(|&element| element == 7), "what the device wrote in place")?;
    println!("pinned: {LEN} numbers there and back, and {LEN} written in place: all right");
    Ok(())
}
