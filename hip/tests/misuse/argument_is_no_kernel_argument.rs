//! What a kernel cannot take: the message says how a structure is passed.
use hip::{Device, Kernel, LaunchConfig, Result, Stream};

#[derive(Clone, Copy)]
struct Settings {
    scale: f32,
    count: u32,
}

fn run(kernel: &Kernel, settings: Settings) -> Result<()> {
    let stream = Stream::new(&Device::get(0)?)?;
    unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (settings, 1u32)) }
}

fn main() {
    let _ = run;
}
