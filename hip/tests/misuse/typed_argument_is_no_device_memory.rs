//! What a launch by a declaration of `kernel!` cannot take for memory: the message says what to pass.
use hip::{DeviceBuffer, LaunchConfig, Result, Stream};

hip::kernel! {
    struct Scale: fn scale(from: *const f32, to: *mut f32);
}

fn run(scale: &Scale, stream: &Stream, from: &[f32], to: &DeviceBuffer<f32>) -> Result<()> {
    unsafe { scale.launch(stream, LaunchConfig::new(1, 64), from, to) }
}

fn main() {
    let _ = run;
}
