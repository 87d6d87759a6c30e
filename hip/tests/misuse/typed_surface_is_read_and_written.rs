//! What a typed kernel writes through a surface is not read through another argument.
use hip::{LaunchConfig, Stream};
use hip::texture::Surface;

hip::kernel! {
    struct Transpose: fn transpose_surface(from: &Surface, to: &mut Surface, width: i32, height: i32);
}

fn launch(transpose: Transpose, stream: Stream, config: LaunchConfig, mut surface: Surface<'_>) {
    unsafe { transpose.launch(&stream, config, &surface, &mut surface, 8, 8) }.unwrap();
}

fn main() {}
