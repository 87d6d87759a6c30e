//! A kernel can do anything: a launch is unsafe.
use hip::{Device, Kernel, LaunchConfig, Result, Stream};

fn run(kernel: &Kernel) -> Result<()> {
    let stream = Stream::new(&Device::get(0)?)?;
    kernel.launch(&stream, LaunchConfig::new(1, 64), ())
}

fn main() {
    let _ = run;
}
