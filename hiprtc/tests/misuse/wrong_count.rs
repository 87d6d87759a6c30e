//! The source has three parameters.
use hip::{DeviceBuffer, LaunchConfig, Result, Stream};

mod blur {
    include!("generated/blur.rs");
}

fn run(kernels: &blur::Kernels, stream: &Stream, a: &DeviceBuffer<f32>, b: &mut DeviceBuffer<f32>) -> Result<()> {
    unsafe { kernels.blur.launch(stream, LaunchConfig::new(1, 64), a, b) }
}

fn main() {
    let _ = run;
}
