//! While the host looks at pinned memory, no copy to it can be queued.
use hip::{DeviceBuffer, PinnedBuffer, Result, Stream};

fn race(stream: &Stream, buffer: &DeviceBuffer<u32>, pinned: &mut PinnedBuffer<u32>) -> Result<u32> {
    let elements = pinned.as_slice()?;
    buffer.copy_to_pinned_async(stream, &mut *pinned)?;
    Ok(elements[0])
}

fn main() {
    let _ = race;
}
