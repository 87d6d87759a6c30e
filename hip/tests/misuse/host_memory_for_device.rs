//! Memory of the host where a call takes device memory: the message says how it gets there.
use hip::{DeviceBuffer, DeviceSliceMut, IntoSliceMut, Result};

fn fill<'a>(memory: impl IntoSliceMut<'a, f32>) -> DeviceSliceMut<'a, f32> {
    memory.into()
}

fn copy(destination: &mut DeviceBuffer<f32>, source: &[f32]) -> Result<()> {
    destination.copy_from_device(source)
}

fn run(result: &mut Vec<f32>) {
    fill(result);
}

fn main() {
    let _ = (copy, run);
}
