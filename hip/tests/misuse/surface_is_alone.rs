//! A surface is written to: nobody else has its array, be it to read.
use hip::memory::array::Array;
use hip::texture::{Surface, Texture, TextureOptions};

fn both(array: &mut Array<f32>) {
    let surface = Surface::new(array).unwrap();
    let texture = Texture::from_array(array, TextureOptions::new()).unwrap();
    drop((surface, texture));
}

fn main() {}
