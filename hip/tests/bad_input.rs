//! The crate returns an error for bad input before the runtime gets it, and nothing panics.
#![cfg(feature = "sim")]

use hip::{Backend, Device, DeviceBuffer, LaunchConfig, Module, PinnedBuffer, Stream};

/// The kernels for the software GPU's architecture.
fn code(device: &Device) -> &'static [u8] {
    match device.properties().unwrap().arch.name() {
        "gfx942" => include_bytes!("kernels/kernels.gfx942.co"),
        _ => include_bytes!("kernels/kernels.gfx90a.co"),
    }
}

fn device() -> Device {
    hip::select_backend(Backend::Sim).unwrap();
    Device::get(0).unwrap()
}

/// Zero-sized elements have no memory on a device: every kind of allocation returns an error.
#[test]
fn elements_of_no_size() {
    let device = device();
    assert!(DeviceBuffer::<[f32; 0]>::from_slice(&device, &[[]; 3]).is_err());
    assert!(
        DeviceBuffer::<()>::uninit(&device, usize::MAX).is_err() && DeviceBuffer::<()>::zeroed(&device, 1).is_err()
    );
    assert!(PinnedBuffer::<()>::zeroed(&device, usize::MAX).is_err());
}

#[test]
fn names_and_numbers_out_of_range() {
    let device = device();
    assert!(Device::get(usize::MAX).is_err());
    let module = Module::load(&device, code(&device)).unwrap();
    for name in ["", "vector_add\0", "\0", "no such kernel", "vector_add.kd"] {
        assert!(module.kernel(name).is_err(), "{name:?}");
    }
    let kernel = module.kernel("vector_add").unwrap();
    assert!(kernel.active_blocks_per_compute_unit(0, 0).is_err());
    assert!(kernel.active_blocks_per_compute_unit(u32::MAX, 0).is_err());
    assert!(kernel.active_blocks_per_compute_unit(64, u32::MAX).is_err());
    let _ = kernel.max_potential_block_size(u32::MAX);
    let stream = Stream::new(&device).unwrap();
    for config in [
        LaunchConfig::for_elements(0, 0),
        LaunchConfig::for_elements(usize::MAX, 0),
        LaunchConfig::for_elements(usize::MAX, u32::MAX),
        LaunchConfig::new((u32::MAX, u32::MAX, u32::MAX), (u32::MAX, u32::MAX, u32::MAX)),
        LaunchConfig::new(1, 64).with_shared_bytes(u32::MAX),
    ] {
        let mut out = DeviceBuffer::<f32>::zeroed(&device, 1).unwrap();
        let input = DeviceBuffer::<f32>::zeroed(&device, 1).unwrap();
        // SAFETY: nothing is launched.
        assert!(unsafe { kernel.launch(&stream, config, (&input, &input, &mut out, 0u32)) }.is_err(), "{config:?}");
    }
    let mut buffer = DeviceBuffer::<u8>::zeroed(&device, 4).unwrap();
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 3..2;
    assert!(buffer.slice(reversed).is_err() && buffer.slice(..=usize::MAX).is_err());
    assert!(buffer.as_slice().split_at(5).is_err() && buffer.as_slice_mut().split_at_mut(usize::MAX).is_err());
    assert!(Module::load(&device, &[]).is_err());
    assert!(Module::load_file(&device, "").is_err() && Module::load_file(&device, "/").is_err());
}
