//! A kernel's input is not its output at the same time.
use hip::{DeviceBuffer, Kernel, LaunchConfig, Result, Stream};

fn run(kernel: &Kernel, stream: &Stream, data: &mut DeviceBuffer<f32>) -> Result<()> {
    unsafe { kernel.launch(stream, LaunchConfig::new(1, 64), (&*data, &mut *data, 64u32)) }
}

fn main() {
    let _ = run;
}
