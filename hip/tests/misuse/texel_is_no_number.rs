//! What a texel cannot be: the message names the texels, and the feature that adds one.
use hip::memory::array::Texel;

fn format<T: Texel>() {}

fn main() {
    format::<u64>();
}
