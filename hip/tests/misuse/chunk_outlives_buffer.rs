//! A chunk, whatever its type by now, borrows the buffer: it cannot outlive the memory.
use hip::{Device, DeviceBuffer, DeviceSliceMut};

fn dangling(device: &Device) -> Option<DeviceSliceMut<'static, u8>> {
    let mut buffer = DeviceBuffer::<f32>::zeroed(device, 16).unwrap();
    buffer.as_slice_mut().chunks_mut(4).unwrap().next()?.cast::<u8>().ok()
}

fn main() {
    dangling(&Device::get(0).unwrap());
}
