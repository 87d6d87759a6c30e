//! Variables of modules.

use hip::{DeviceBuffer, Error, LaunchConfig, Module, PinnedBuffer, Stream};

use crate::module;

/// A module with variables, on the device that the tests' kernels are for.
fn globals() -> Option<Module> {
    let device = module()?.device();
    let code: &[u8] = match device.properties().unwrap().arch.name() {
        "gfx942" => include_bytes!("../kernels/globals.gfx942.co"),
        sm if sm.starts_with("sm_") => include_bytes!("../kernels/globals.nvidia.hipfb"),
        _ => include_bytes!("../kernels/globals.gfx90a.co"),
    };
    Some(Module::load(&device, code).unwrap())
}

#[test]
fn a_variable_is_read_written_and_used_by_kernels() {
    let Some(module) = globals() else { return };
    let stream = Stream::new(&module.device()).unwrap();
    let mut counters = module.global::<u32>("counters").unwrap();
    let mut factor = module.global::<f32>("factor").unwrap();
    assert_eq!((counters.len(), factor.len(), module.global::<u8>("odd").unwrap().len()), (64, 1, 7));
    assert_eq!(counters.slice(..5).unwrap().to_vec().unwrap(), [1, 2, 3, 4, 0]);
    assert_eq!(factor.to_vec().unwrap(), [0.5]);
    counters.fill(100).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&module.device(), 64).unwrap();
    // SAFETY: 64 threads, of which each has its counter and its element.
    unsafe { module.kernel("scaled").unwrap().launch(&stream, LaunchConfig::new(1, 64), (&mut out,)) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), [50.0; 64]);
    // It is constant only for kernels. AMD's runtime writes it with an internal kernel.
    factor.copy_from_slice(&[2.0]).unwrap();
    // SAFETY: as before.
    unsafe { module.kernel("scaled").unwrap().launch(&stream, LaunchConfig::new(1, 64), (&mut out,)) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), [200.0; 64]);
}

#[test]
fn a_managed_variable_is_what_its_pointer_points_to() {
    let Some(device) = module().map(|module| module.device()) else { return };
    let code: &[u8] = match device.properties().unwrap().arch.name() {
        "gfx942" => include_bytes!("../kernels/managed.gfx942.co"),
        sm if sm.starts_with("sm_") => include_bytes!("../kernels/managed.nvidia.hipfb"),
        _ => include_bytes!("../kernels/managed.gfx90a.co"),
    };
    let module = Module::load(&device, code).unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut counters = module.global::<u32>("shared_counters").unwrap();
    assert_eq!(counters.len(), 64);
    assert_eq!(counters.slice(..5).unwrap().to_vec().unwrap(), [1, 2, 3, 4, 0]);
    counters.fill(20).unwrap();
    // SAFETY: 64 threads, of which each has its counter.
    unsafe { module.kernel("count_shared").unwrap().launch(&stream, LaunchConfig::new(1, 64), (3u32,)) }.unwrap();
    assert_eq!(counters.to_vec().unwrap(), [23; 64]);
}

/// Every way to use a variable waits for the launches before it, and is waited for by those after it.
#[test]
fn copies_and_launches_are_in_order() {
    let Some(module) = globals() else { return };
    let device = module.device();
    let count = module.kernel("slow_count").unwrap();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut counters = module.global::<u32>("counters").unwrap();
    let mut host = PinnedBuffer::<u32>::zeroed(&device, 64).unwrap();
    let add = |stream: &Stream, value: u32| {
        // SAFETY: 64 threads, of which each has its counter; the test's other launches are in order with this one.
        unsafe { count.launch(stream, LaunchConfig::new(1, 64), (20_000u32, value)) }.unwrap();
    };
    for round in 0..5 {
        counters.fill_async(&second, round).unwrap();
        add(&first, 1);
        counters.copy_to_pinned_async(&second, &mut host).unwrap();
        add(&first, 1);
        assert_eq!(host.as_slice().unwrap(), [round + 1; 64]);
        assert_eq!(counters.to_vec().unwrap(), [round + 2; 64], "the host did not wait");
        add(&first, 1);
        counters.copy_from_slice(&[round; 64]).unwrap();
        add(&second, 3);
        let mut copy = DeviceBuffer::<u32>::uninit(&device, 64).unwrap();
        copy.copy_from_device_async(&first, &counters).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [round + 3; 64]);
    }
}

/// The buffer of a variable is the last handle of its module when it is read; then the code is unloaded after the work.
#[test]
fn a_variable_keeps_its_module() {
    let Some(module) = globals() else { return };
    let stream = Stream::new(&module.device()).unwrap();
    let mut counters = module.global::<u32>("counters").unwrap();
    // SAFETY: 64 threads, of which each has its counter.
    unsafe {
        module.kernel("slow_count").unwrap().launch(&stream, LaunchConfig::new(1, 64), (20_000u32, 5u32)).unwrap();
    }
    drop(module);
    assert_eq!(counters.slice(..2).unwrap().to_vec().unwrap(), [6, 7]);
    for value in 0..50 {
        counters.fill_async(&stream, value).unwrap();
    }
    let mut copy = DeviceBuffer::<u32>::uninit(&counters.device(), 64).unwrap();
    copy.copy_from_device_async(&stream, &counters).unwrap();
    drop(counters);
    assert_eq!(copy.to_vec().unwrap(), [49; 64]);
}

#[test]
fn one_buffer_has_a_variable_at_a_time() {
    let Some(module) = globals() else { return };
    let counters = module.global::<u32>("counters").unwrap();
    let again = module.clone().global::<u8>("counters").unwrap_err();
    assert!(again.to_string().contains("a buffer has already"), "{again}");
    drop(counters);
    let counters = module.global::<u64>("counters").unwrap();
    assert_eq!(counters.len(), 32);
    // If its buffer is forgotten, the variable has no owner anymore, and the module stays loaded.
    std::mem::forget(counters);
    assert!(module.global::<u32>("counters").is_err());
}

#[test]
fn what_is_no_such_variable_is_refused() {
    let Some(module) = globals() else { return };
    for name in ["nothing", "", "counters\0", "Counters"] {
        let error = module.global::<u32>(name).unwrap_err();
        assert!(matches!(error, Error::InvalidValue { .. }), "{name:?}: {error}");
    }
    let error = module.global::<u32>("odd").unwrap_err();
    assert!(error.to_string().contains("7 bytes long") && error.to_string().contains("multiple of 4"), "{error}");
    let error = module.global::<[f32; 3]>("counters").unwrap_err();
    assert!(error.to_string().contains("multiple of 12"), "{error}");
    assert!(matches!(module.global::<()>("counters"), Err(Error::ZeroSizedType { .. })));
}
