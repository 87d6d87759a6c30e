//! The arguments are those of the source.
use hip::{DeviceBuffer, LaunchConfig, Result, Stream};

mod blur {
    include!("generated/blur.rs");
}

fn run(kernels: &blur::Kernels, stream: &Stream, a: &DeviceBuffer<f32>, b: &mut DeviceBuffer<f32>) -> Result<()> {
    unsafe { kernels.blur.launch(stream, LaunchConfig::new(1, 64), a, &mut *b, 64)? };
    unsafe { kernels.fill.launch(stream, LaunchConfig::new(1, 1), b, 0.5, 3) }
}

fn main() {
    let _ = run;
}
