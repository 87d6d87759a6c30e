use hip::device::{DeviceAttribute, Limit, WaitPolicy};
use hip::{Device, DeviceBuffer, Error, Stream, StreamOptions};

use crate::{device, in_child, is_child, supported};

#[test]
fn devices_are_counted_and_found_by_index() {
    let Some(device) = device() else { return };
    let count = Device::count().unwrap();
    assert!(count >= 1);
    assert_eq!(Device::all().unwrap().len(), count);
    assert_eq!(device.index(), 0);
    for index in [count, usize::MAX] {
        let error = Device::get(index).unwrap_err();
        assert!(matches!(error, Error::DeviceIndex { .. }), "{error}");
        assert!(error.to_string().contains(&index.to_string()));
    }
}

#[test]
fn properties_make_sense_and_agree_with_attributes() {
    let Some(device) = device() else { return };
    let p = device.properties().unwrap();
    assert!(!p.name.is_empty());
    assert_eq!(device.name().unwrap(), p.name);
    assert!(p.arch.name().starts_with("gfx") || p.arch.is_nvidia(), "{}", p.arch);
    assert!(p.total_memory > 0);
    let attribute = |a| u32::try_from(device.attribute(a).unwrap()).unwrap();
    assert_eq!(p.warp_size, attribute(DeviceAttribute::WARP_SIZE));
    assert_eq!(p.compute_units, attribute(DeviceAttribute::MULTIPROCESSOR_COUNT));
    assert_eq!(p.max_threads_per_block, attribute(DeviceAttribute::MAX_THREADS_PER_BLOCK));
    assert_eq!(p.max_block[2], attribute(DeviceAttribute::MAX_BLOCK_DIM_Z));
    assert_eq!(p.shared_memory_per_block, u64::from(attribute(DeviceAttribute::MAX_SHARED_MEMORY_PER_BLOCK)));
    if device.is_simulated() {
        let target = std::env::var("HIP_SIM_TARGET").unwrap_or_else(|_| "gfx90a".to_owned());
        assert_eq!(Some(p.arch.name()), target.split(':').next());
        assert_eq!((p.warp_size, p.shared_memory_per_block), (64, 65536));
    }
}

#[test]
fn an_attribute_that_no_runtime_knows_is_an_error() {
    let Some(device) = device() else { return };
    let unknown = DeviceAttribute::from(hip::sys::hipDeviceAttribute_t(123_456));
    let error = device.attribute(unknown).unwrap_err();
    assert!(error.status().is_some(), "{error}");
    assert!(error.to_string().contains("hipDeviceGetAttribute") && error.to_string().contains("123456"), "{error}");
}

#[test]
fn memory_info_follows_allocations() {
    if !is_child() {
        in_child("device::memory_info_follows_allocations", &[]);
        return;
    }
    let device = device().unwrap();
    let before = device.memory_info().unwrap();
    let buffer = DeviceBuffer::<u8>::zeroed(&device, 64 << 20).unwrap();
    let during = device.memory_info().unwrap();
    assert_eq!(before.total, during.total);
    assert!(before.free - during.free >= 64 << 20, "{before:?} {during:?}");
    drop(buffer);
    assert_eq!(device.memory_info().unwrap(), before);
}

#[test]
fn foreign_code_may_switch_devices() {
    if !is_child() {
        in_child("device::foreign_code_may_switch_devices", &[("HIP_SIM_DEVICES", "2")]);
        return;
    }
    let devices = Device::all().unwrap();
    assert_eq!(devices.len(), 2);
    let mut buffers: Vec<_> =
        devices.iter().map(|d| DeviceBuffer::from_slice(d, &[d.index() as u32; 100]).unwrap()).collect();
    for other in [1, 0, 1] {
        devices[other].make_current().unwrap();
        assert_eq!(Device::current().unwrap(), devices[other]);
        let stream = Stream::new(&devices[0]).unwrap();
        buffers[0].fill_async(&stream, 7).unwrap();
        assert_eq!(buffers[0].to_vec().unwrap(), [7; 100]);
    }

    // A copy from one device to the other, and rejected mixtures.
    let (first, second) = buffers.split_at_mut(1);
    second[0].copy_from_device(&first[0]).unwrap();
    assert_eq!(second[0].to_vec().unwrap(), [7; 100]);
    let wrong = Stream::new(&devices[0]).unwrap();
    let error = second[0].fill_async(&wrong, 1).unwrap_err();
    assert!(matches!(error, Error::WrongDevice { expected: 0, found: 1, .. }), "{error}");
    drop(buffers);
}

#[test]
fn streams_have_the_priorities_that_the_device_offers() {
    let Some(device) = device() else { return };
    let range = device.stream_priority_range().unwrap();
    assert!(range.contains(&0), "{range:?}");
    Stream::with_options(&device, StreamOptions::new().priority(*range.start())).unwrap();
    Stream::with_options(&device, StreamOptions::new().priority(*range.end()).blocking(true)).unwrap();
    for priority in [range.start().saturating_sub(1), range.end().saturating_add(1)] {
        let error = Stream::with_options(&device, StreamOptions::new().priority(priority)).unwrap_err();
        assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
    }
}

#[test]
fn everything_prints_without_the_driver() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let buffer = DeviceBuffer::<f32>::zeroed(&device, 3).unwrap();
    let text = format!("{device:?} {device} {stream:?} {buffer:?} {:?}", buffer.slice(1..).unwrap());
    assert!(text.contains("DeviceBuffer") && text.contains("f32") && text.contains("len: 3"), "{text}");
}

#[test]
fn the_software_gpu_comes_too_late_after_raw_calls() {
    if !is_child() {
        in_child("device::the_software_gpu_comes_too_late_after_raw_calls", &[]);
        return;
    }
    let mut count = 0;
    // SAFETY: `count` is valid for a write.
    let _ = unsafe { hip::sys::hipGetDeviceCount(&mut count) };
    for error in [hip::select_backend(hip::Backend::Sim).unwrap_err(), Device::get(0).unwrap_err()] {
        assert!(matches!(error, Error::BackendInUse { asked: hip::Backend::Sim, .. }), "{error}");
    }
}

#[test]
fn the_backend_is_chosen_once() {
    let Some(device) = device() else { return };
    let chosen = hip::backend().unwrap();
    assert_eq!(device.is_simulated(), chosen == hip::Backend::Sim);
    hip::select_backend(chosen).unwrap();
    assert_eq!(hip::sim_if_no_gpu().unwrap(), chosen);
    let other = if device.is_simulated() { hip::Backend::Rocm } else { hip::Backend::Sim };
    let error = hip::select_backend(other).unwrap_err();
    assert!(matches!(error, Error::BackendInUse { .. }), "{error}");
    let (major, minor, _) = hip::runtime_version().unwrap();
    assert!((major, minor) >= (5, 7));
}

#[test]
fn a_device_is_found_by_its_number_and_its_place() {
    let Some(device) = device() else { return };
    let uuid = device.uuid().unwrap();
    assert_eq!(Device::by_uuid(uuid).unwrap(), Some(device));
    assert!(uuid.to_string().starts_with("GPU-"), "{uuid}");
    assert!(uuid.to_bytes().iter().any(|byte| !matches!(byte, 0 | b'0')), "{uuid}");
    let all = Device::all().unwrap();
    let mut uuids: Vec<_> = all.iter().map(|device| device.uuid().unwrap().to_bytes()).collect();
    uuids.sort_unstable();
    uuids.dedup();
    assert_eq!(uuids.len(), all.len(), "each device has one of its own");
    let place = device.pci_bus_id().unwrap();
    assert_eq!(place, device.properties().unwrap().pci);
    assert_eq!(Device::by_pci(place).unwrap(), device);
    let nowhere = hip::device::PciAddress { domain: 77, bus: 77, device: 7 };
    assert!(Device::by_pci(nowhere).is_err());
}

#[test]
fn settings_of_a_device_are_kept() {
    let Some(device) = device() else { return };
    if let Some(stack) = supported(device.limit(Limit::StackSize)) {
        assert!(stack > 0);
        // The other tests' kernels use almost no stack.
        for value in [stack * 2, stack] {
            device.set_limit(Limit::StackSize, value).unwrap();
            assert_eq!(device.limit(Limit::StackSize).unwrap(), value);
        }
        assert!(device.set_limit(Limit::StackSize, usize::MAX).is_err(), "more than there is");
        match device.limit(Limit::MallocHeap) {
            Ok(heap) => assert!(heap > 0),
            // Kernels do not support `malloc` on the embedded software GPU.
            Err(error) => assert!(device.is_simulated() && error.status() == Some(hip::Status(215)), "{error}"),
        }
    }
    if let Some(preference) = supported(device.cache_preference()) {
        device.set_cache_preference(preference).unwrap();
    }
    if let Some(bytes) = supported(device.shared_bank_bytes()) {
        assert!(bytes == 4 || bytes == 8);
    }
    let before = device.wait_policy().unwrap();
    for policy in [WaitPolicy::Spin, WaitPolicy::Yield, WaitPolicy::Block, WaitPolicy::Auto, before] {
        device.set_wait_policy(policy).unwrap();
        assert_eq!(device.wait_policy().unwrap(), policy);
    }
    // Ensures that memory has been allocated.
    let _memory = DeviceBuffer::<u8>::zeroed(&device, 1).unwrap();
    if let Some(active) = supported(device.is_active()) {
        assert!(active);
    }
}

#[test]
fn every_attribute_is_a_number_or_an_error() {
    let Some(device) = device() else { return };
    let known = DeviceAttribute::ALL.iter().filter(|attribute| device.attribute(**attribute).is_ok()).count();
    assert!(known > 50, "{known} of {}", DeviceAttribute::ALL.len());
}

#[test]
fn the_runtime_is_asked_for_functions_errors_and_its_profiler() {
    let Some(device) = device() else { return };
    // The runtime rejects it, with any of these statuses.
    let refused = [
        Device::by_pci("fffe:ff:1f.0".parse().unwrap()).map(drop),
        DeviceBuffer::<u8>::uninit(&device, isize::MAX as usize).map(drop),
    ];
    assert!(refused.iter().all(|result| result.as_ref().is_err_and(|error| error.status().is_some())), "{refused:?}");
    assert_eq!(hip::runtime::take_last_error(), hip::Status::SUCCESS, "calls of this crate leave none behind");
    // SAFETY: takes a number.
    unsafe { hip::sys::hipSetDevice(1000) };
    assert_eq!(hip::runtime::peek_last_error(), hip::Status::INVALID_DEVICE);
    assert_eq!(hip::runtime::take_last_error(), hip::Status::INVALID_DEVICE);
    assert_eq!(hip::runtime::peek_last_error(), hip::Status::SUCCESS);
    assert!(hip::runtime::driver_version().unwrap().0 >= 5);
    supported(hip::runtime::profiler_start());
    supported(hip::runtime::profiler_stop());
    #[cfg(feature = "rocm-6-2")]
    if let Some(address) = supported(hip::runtime::proc_address(c"hipGetDeviceCount")) {
        // SAFETY: the type of this function in every release.
        let function = unsafe {
            std::mem::transmute::<
                std::ptr::NonNull<std::ffi::c_void>,
                unsafe extern "C" fn(*mut std::ffi::c_int) -> hip::sys::hipError_t,
            >(address)
        };
        let mut count = 0;
        // SAFETY: `count` is valid for a write.
        assert_eq!(unsafe { function(&mut count) }.0, 0);
        assert_eq!(usize::try_from(count).unwrap(), Device::count().unwrap());
        assert!(hip::runtime::proc_address(c"hipNoSuchFunction").is_err());
    }
}
