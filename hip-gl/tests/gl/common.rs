//! The requirements of the tests: the device, and kernels of `hip`'s tests.

use hip::{Device, Kernel, Module};

const KERNELS_GFX90A: &[u8] = include_bytes!("../../../hip/tests/kernels/kernels.gfx90a.co");
const KERNELS_GFX942: &[u8] = include_bytes!("../../../hip/tests/kernels/kernels.gfx942.co");
const IMAGES_GFX90A: &[u8] = include_bytes!("../../../hip/tests/kernels/images.gfx90a.co");

/// Says that a test is skipped, past libtest's capture, which shows nothing of tests that pass; `cargo xtask test`
/// counts it.
pub(crate) fn skipped(why: &dyn std::fmt::Display) {
    use std::io::Write as _;
    let why = why.to_string();
    let _ = writeln!(std::io::stdout(), "SKIPPED: {}", why.lines().next().unwrap_or_default());
}

/// The device to test on.
pub(crate) fn device() -> Option<Device> {
    match hip::sim_if_no_gpu() {
        Ok(_) => Some(Device::get(0).unwrap()),
        Err(error) => {
            assert!(error.is_no_gpu() || matches!(error, hip::Error::Version { .. }), "{error}");
            skipped(&error);
            None
        }
    }
}

fn load(device: &Device, code: &[u8], name: &str) -> Option<Kernel> {
    match Module::load(device, code) {
        Ok(module) => Some(module.kernel(name).unwrap()),
        Err(error @ hip::Error::Architecture { .. }) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Returns a kernel of `kernels.hip`, if it has code for this device.
pub(crate) fn kernel(name: &str) -> Option<Kernel> {
    let device = device()?;
    let is_gfx942 = device.properties().unwrap().arch.name() == "gfx942";
    load(&device, if is_gfx942 { KERNELS_GFX942 } else { KERNELS_GFX90A }, name)
}

/// Returns a kernel of `images.hip`, if it has code for this device.
pub(crate) fn image_kernel(device: &Device, name: &str) -> Option<Kernel> {
    load(device, IMAGES_GFX90A, name)
}
