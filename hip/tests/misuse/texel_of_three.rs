//! There are no texels of three components, nor of doubles.
use hip::Device;
use hip::memory::array::{Array, ArrayShape};

fn main() {
    let device = Device::get(0).unwrap();
    let _ = Array::<[f32; 3]>::new(&device, ArrayShape::D1(4));
    let _ = Array::<f64>::new(&device, ArrayShape::D1(4));
}
