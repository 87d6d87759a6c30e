//! One program on every runtime: built for any API level, it runs on each release from 5.7 on.

use hip::device::{DeviceAttribute, MemoryInfo};

use crate::device;

/// The structure and the function that fills it are those of the loaded runtime: fields at its start, in its middle and
/// at its end match the results of other functions.
#[test]
fn properties_are_read_as_the_runtime_lays_them_out() {
    let Some(device) = device() else { return };
    let properties = device.properties().unwrap();
    let attribute = |which| u32::try_from(device.attribute(which).unwrap()).unwrap();
    let MemoryInfo { total, .. } = device.memory_info().unwrap();
    assert_eq!(properties.total_memory, total);
    assert!(!properties.name.is_empty() && properties.name.is_ascii(), "{}", properties.name);
    assert!(properties.arch.name().starts_with("gfx") || properties.arch.is_nvidia(), "{}", properties.arch);
    assert_eq!(properties.warp_size, attribute(DeviceAttribute::WARP_SIZE));
    assert_eq!(properties.clock_khz, attribute(DeviceAttribute::CLOCK_RATE));
    assert_eq!(properties.compute_units, attribute(DeviceAttribute::MULTIPROCESSOR_COUNT));
    assert_eq!(properties.max_block[1], attribute(DeviceAttribute::MAX_BLOCK_DIM_Y));
    assert_eq!(properties.pci.bus, attribute(DeviceAttribute::PCI_BUS_ID));
    assert_eq!(properties.managed_memory, attribute(DeviceAttribute::MANAGED_MEMORY) != 0);
    assert_eq!(properties.pageable_memory_access, attribute(DeviceAttribute::PAGEABLE_MEMORY_ACCESS) != 0);
    assert_eq!(properties.max_pitch, u64::from(attribute(DeviceAttribute::MAX_PITCH)));
}

/// A function of a later release causes an error in the call that needs it, and has no other effect.
#[cfg(feature = "rocm-7-0")]
#[test]
fn a_function_that_the_runtime_lacks_is_named() {
    use hip::module::LaunchAttributes;
    use hip::{DeviceBuffer, Error, LaunchConfig, Stream};

    use crate::kernel;

    let Some(add) = kernel("add_in_place") else { return };
    let device = add.device();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let config = LaunchConfig::new(1, 64);
    // SAFETY: 64 threads, 64 elements.
    let newer = unsafe { add.launch_with(&stream, config, LaunchAttributes::new(), (&mut data, 1i32, 64u32)) };
    let old = !device.is_simulated() && hip::runtime_version().unwrap().0 < 7;
    match newer {
        Err(error @ Error::NoSymbol { .. }) if old => {
            let text = error.to_string();
            assert!(text.contains("hipDrvLaunchKernelEx") && text.contains("7.0"), "{text}");
        }
        result => assert!(result.is_ok() && !old, "{result:?}"),
    }
    // SAFETY: as above.
    unsafe { add.launch(&stream, config, (&mut data, 2i32, 64u32)) }.unwrap();
    assert_eq!(data.to_vec().unwrap(), [if old { 2 } else { 3 }; 64]);
}
