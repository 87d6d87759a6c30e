//! Device memory of another type, and an output that is passed as an input is: the message says what to pass.
use hip::{DeviceBuffer, DeviceSliceMut, IntoSliceMut, Result};

fn fill<'a>(memory: impl IntoSliceMut<'a, f32>) -> DeviceSliceMut<'a, f32> {
    memory.into()
}

fn copy(destination: &mut DeviceBuffer<f32>, source: &DeviceBuffer<f64>) -> Result<()> {
    destination.copy_from_device(source)
}

fn run(result: &DeviceBuffer<f32>) {
    fill(result);
}

fn main() {
    let _ = (copy, run);
}
