//! Slices to write to may overlap, so there is one at a time (or the halves of `split_at_mut`).
use hip::{Device, DeviceBuffer};

fn main() {
    let device = Device::get(0).unwrap();
    let mut buffer = DeviceBuffer::<f32>::zeroed(&device, 16).unwrap();
    let mut low = buffer.slice_mut(..9).unwrap();
    let mut high = buffer.slice_mut(7..).unwrap();
    low.fill(1.0).unwrap();
    high.fill(2.0).unwrap();
}
