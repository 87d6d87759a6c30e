//! A texture borrows its array: it cannot outlive it.
use hip::Device;
use hip::memory::array::{Array, ArrayShape};
use hip::texture::{Texture, TextureOptions};

fn dangling(device: &Device) -> Texture<'static> {
    let array = Array::<f32>::zeroed(device, ArrayShape::D2(4, 4)).unwrap();
    Texture::from_array(&array, TextureOptions::new()).unwrap()
}

fn freed(device: &Device) {
    let array = Array::<f32>::zeroed(device, ArrayShape::D2(4, 4)).unwrap();
    let texture = Texture::from_array(&array, TextureOptions::new()).unwrap();
    drop(array);
    drop(texture);
}

fn main() {
    let device = Device::get(0).unwrap();
    dangling(&device);
    freed(&device);
}
