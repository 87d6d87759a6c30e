//! Boxes of elements to write to may overlap, so there is one at a time.
use hip::Device;
use hip::memory::PitchedBuffer;

fn main() {
    let device = Device::get(0).unwrap();
    let mut image = PitchedBuffer::<f32>::zeroed(&device, (16, 16)).unwrap();
    let mut low = image.region_mut(..9, .., ..).unwrap();
    let mut high = image.region_mut(7.., .., ..).unwrap();
    low.fill(1.0).unwrap();
    high.fill(2.0).unwrap();
}
