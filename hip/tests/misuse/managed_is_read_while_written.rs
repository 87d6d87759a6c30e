//! While the host looks at managed memory, nothing that writes to it can be queued.
use hip::{ManagedBuffer, Result, Stream};

fn race(stream: &Stream, shared: &mut ManagedBuffer<u32>) -> Result<u32> {
    let elements = shared.as_slice()?;
    shared.as_device_slice_mut()?.fill_async(stream, 1)?;
    Ok(elements[0])
}

fn main() {
    let _ = race;
}
