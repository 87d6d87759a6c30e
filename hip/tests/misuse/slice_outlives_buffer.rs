//! A slice borrows its buffer: it cannot outlive the memory.
use hip::{Device, DeviceBuffer, DeviceSlice};

fn dangling(device: &Device) -> DeviceSlice<'static, f32> {
    let buffer = DeviceBuffer::<f32>::zeroed(device, 16).unwrap();
    buffer.slice(..8).unwrap()
}

fn main() {
    dangling(&Device::get(0).unwrap());
}
