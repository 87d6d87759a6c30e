//! The source says `float *out`: what is written is borrowed mutably.
use hip::{DeviceBuffer, LaunchConfig, Result, Stream};

mod blur {
    include!("generated/blur.rs");
}

fn run(kernels: &blur::Kernels, stream: &Stream, a: &DeviceBuffer<f32>, b: &DeviceBuffer<f32>) -> Result<()> {
    unsafe { kernels.blur.launch(stream, LaunchConfig::new(1, 64), a, b, 64) }
}

fn main() {
    let _ = run;
}
