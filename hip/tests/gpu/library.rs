//! Kernels and variables of a library on devices: the library functions of ROCm 10.0. The others are tested in
//! `module.rs`.

use hip::module::{FunctionAttribute, Library};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, Module, Stream};

use super::{in_child, is_child, kernels, module, supported};

/// A library with variables, on the device that the tests' kernels are for.
fn library(of: fn(&str) -> &'static [u8]) -> Option<(Device, Library)> {
    let device = module()?.device();
    let code = of(device.properties().unwrap().arch.name());
    let library = supported(Library::load(&device, code))?;
    // The real runtimes up to 7.2 have libraries, but not these functions.
    supported(library.kernel(library.kernels().unwrap()[0].name()).unwrap().on(&device))?;
    Some((device, library))
}

fn plain(arch: &str) -> &'static [u8] {
    match arch {
        "gfx942" => include_bytes!("../kernels/kernels.gfx942.co"),
        sm if sm.starts_with("sm_") => include_bytes!("../kernels/kernels.nvidia.hipfb"),
        _ => include_bytes!("../kernels/kernels.gfx90a.co"),
    }
}

fn globals(arch: &str) -> &'static [u8] {
    match arch {
        "gfx942" => include_bytes!("../kernels/globals.gfx942.co"),
        sm if sm.starts_with("sm_") => include_bytes!("../kernels/globals.nvidia.hipfb"),
        _ => include_bytes!("../kernels/globals.gfx90a.co"),
    }
}

fn managed(arch: &str) -> &'static [u8] {
    match arch {
        "gfx942" => include_bytes!("../kernels/managed.gfx942.co"),
        sm if sm.starts_with("sm_") => include_bytes!("../kernels/managed.nvidia.hipfb"),
        _ => include_bytes!("../kernels/managed.gfx90a.co"),
    }
}

#[test]
fn a_kernel_of_a_library_runs_and_keeps_it_loaded() {
    let Some((device, library)) = library(plain) else { return };
    let add = library.kernel("add_in_place").unwrap().on(&device).unwrap();
    let again = library.kernel("add_in_place").unwrap().on(&device).unwrap();
    assert_eq!(add.as_raw(), again.as_raw(), "one function a device");
    drop((library, again));
    assert_eq!((add.name(), add.device()), ("add_in_place", device));
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::from_slice(&device, &[5i32; 300]).unwrap();
    // SAFETY: adds to 300 elements.
    unsafe { add.launch(&stream, LaunchConfig::for_elements(300, 64), (&mut data, 7, 300u32)).unwrap() };
    let config = LaunchConfig::for_elements(300, 64);
    // SAFETY: refused before anything is queued.
    let wrong = unsafe { add.launch(&stream, config, (&mut data, 7)) }.unwrap_err();
    assert!(matches!(wrong, Error::ArgumentCount { expected: 3, given: 2, .. }), "{wrong}");
    drop(add);
    assert_eq!(data.to_vec().unwrap(), [12; 300]);
}

#[test]
fn what_is_asked_of_a_kernel_agrees_with_its_code_object() {
    let Some((device, library)) = library(plain) else { return };
    let whole = Module::load(&device, kernels(&device)).unwrap();
    for kernel in library.kernels().unwrap() {
        let info = kernel.info();
        for (index, parameter) in info.parameters.iter().enumerate() {
            let bytes = parameter.offset..parameter.offset + parameter.size;
            assert_eq!(kernel.parameter(index).unwrap(), bytes, "parameter {index} of {info}");
        }
        let beyond = kernel.parameter(info.parameters.len()).unwrap_err();
        assert!(matches!(beyond, Error::InvalidValue { .. }), "{beyond}");
        let same = whole.kernel(kernel.name()).unwrap();
        for attribute in
            [FunctionAttribute::MAX_THREADS_PER_BLOCK, FunctionAttribute::SHARED_BYTES, FunctionAttribute::REGISTERS]
        {
            assert_eq!(kernel.attribute(&device, attribute).unwrap(), same.attribute(attribute).unwrap(), "{info}");
        }
    }
}

#[test]
fn attributes_are_set_within_what_the_device_has() {
    let Some((device, library)) = library(plain) else { return };
    let kernel = library.kernel("reverse_in_lds").unwrap();
    let most = device.properties().unwrap().shared_memory_per_block as u32 - kernel.info().static_shared_bytes;
    for bytes in [0, 1024, most] {
        kernel.set_max_dynamic_shared(&device, bytes).unwrap();
        let told = kernel.attribute(&device, FunctionAttribute::MAX_DYNAMIC_SHARED_BYTES).unwrap();
        assert_eq!(told, bytes as i32);
    }
    for bytes in [most + 1, u32::MAX] {
        let error = kernel.set_max_dynamic_shared(&device, bytes).unwrap_err();
        assert!(matches!(error, Error::Geometry { .. }), "{error}");
    }
    kernel.set_shared_carveout(&device, 50).unwrap();
    assert_eq!(kernel.attribute(&device, FunctionAttribute::PREFERRED_SHARED_MEMORY_CARVEOUT).unwrap(), 50);
    assert!(matches!(kernel.set_shared_carveout(&device, 101), Err(Error::InvalidValue { .. })));
    assert!(kernel.attribute(&device, FunctionAttribute::from(hip::sys::hipFunction_attribute(9999))).is_err());
}

#[test]
fn a_variable_of_a_library_is_a_buffer_in_order_with_its_launches() {
    let Some((device, library)) = library(globals) else { return };
    let stream = Stream::new(&device).unwrap();
    let count = library.kernel("slow_count").unwrap().on(&device).unwrap();
    let mut counters = library.global::<u32>(&device, "counters").unwrap();
    assert_eq!(counters.slice(..5).unwrap().to_vec().unwrap(), [1, 2, 3, 4, 0]);
    let taken = library.global::<u32>(&device, "counters").unwrap_err();
    assert!(taken.to_string().contains("a buffer has already"), "{taken}");
    for name in ["no_such_variable", "", "nul\0inside"] {
        assert!(matches!(library.global::<u32>(&device, name), Err(Error::InvalidValue { .. })), "{name:?}");
    }
    assert!(matches!(library.global::<u64>(&device, "odd"), Err(Error::InvalidValue { .. })), "7 bytes");
    assert!(matches!(library.managed::<u32>(&device, "counters"), Err(Error::InvalidValue { .. })), "not managed");
    drop(library);
    for round in 0..4 {
        counters.fill(round).unwrap();
        // SAFETY: 64 threads, of which each has its counter.
        unsafe { count.launch(&stream, LaunchConfig::new(1, 64), (20_000u32, 3u32)).unwrap() };
        assert_eq!(counters.to_vec().unwrap(), [round + 3; 64], "the host did not wait");
    }
}

#[test]
fn a_managed_variable_is_one_for_host_and_kernels() {
    let Some((device, library)) = library(managed) else { return };
    let stream = Stream::new(&device).unwrap();
    let mut counters = library.managed::<u32>(&device, "shared_counters").unwrap();
    let mut scale = library.managed::<f32>(&device, "scale").unwrap();
    assert_eq!(counters.slice(..5).unwrap().to_vec().unwrap(), [1, 2, 3, 4, 0], "as it is declared");
    assert_eq!(scale.to_vec().unwrap(), [0.25]);
    let count = library.kernel("count_shared").unwrap().on(&device).unwrap();
    let scaled = library.kernel("scale_shared").unwrap().on(&device).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    counters.fill(10).unwrap();
    scale.copy_from_slice(&[0.5]).unwrap();
    // SAFETY: 64 threads, of which each has its counter and its element.
    unsafe {
        count.launch(&stream, LaunchConfig::new(1, 64), (6u32,)).unwrap();
        scaled.launch(&stream, LaunchConfig::new(1, 64), (&mut out,)).unwrap();
    }
    assert_eq!(counters.to_vec().unwrap(), [16; 64]);
    assert_eq!(out.slice(..5).unwrap().to_vec().unwrap(), [17.0, 16.0, 15.0, 14.0, 17.0]);
    assert!(matches!(library.managed::<u32>(&device, "plain"), Err(Error::InvalidValue { .. })), "not managed");
}

#[test]
fn a_library_is_one_for_all_devices() {
    if !is_child() {
        in_child("library::a_library_is_one_for_all_devices", &[("HIP_SIM_DEVICES", "2")]);
        return;
    }
    let Some((first, library)) = library(managed) else { return };
    let second = Device::get(1).unwrap();
    let streams = [Stream::new(&first).unwrap(), Stream::new(&second).unwrap()];
    let kernel = library.kernel("count_shared").unwrap();
    let mut counters = library.managed::<u32>(&second, "shared_counters").unwrap();
    let taken = library.managed::<u32>(&first, "shared_counters").unwrap_err();
    assert!(matches!(taken, Error::InvalidValue { .. }), "one for all: {taken}");
    counters.fill(0).unwrap();
    for (device, stream) in [first, second].iter().zip(&streams) {
        let count = kernel.on(device).unwrap();
        assert_eq!(count.device(), *device);
        // SAFETY: 64 threads, of which each has its counter; the launch before is over.
        unsafe { count.launch(stream, LaunchConfig::new(1, 64), (1u32,)).unwrap() };
        assert!(matches!(
            // SAFETY: refused before anything is queued.
            unsafe { count.launch(&streams[1 - device.index()], LaunchConfig::new(1, 64), (1u32,)) },
            Err(Error::WrongDevice { .. })
        ));
        stream.synchronize().unwrap();
    }
    assert_eq!(counters.to_vec().unwrap(), [2; 64]);
    // Each device has its own variables.
    let (mut here, there) =
        (library.global::<u32>(&first, "plain").unwrap(), library.global::<u32>(&second, "plain").unwrap());
    here.fill(1).unwrap();
    assert_eq!((here.to_vec().unwrap(), there.to_vec().unwrap()), (vec![1; 4], vec![9, 8, 7, 6]));
    kernel.set_max_dynamic_shared(&second, 512).unwrap();
    let told = |device| kernel.attribute(device, FunctionAttribute::MAX_DYNAMIC_SHARED_BYTES).unwrap();
    assert!(told(&second) == 512 && told(&first) != 512);
}

#[test]
fn a_graph_keeps_the_library_of_its_kernels() {
    let Some((device, library)) = library(plain) else { return };
    let stream = Stream::new(&device).unwrap();
    let Some(mut graph) = supported(hip::Graph::new(&device)) else { return };
    let add = library.kernel("add_in_place").unwrap().on(&device).unwrap();
    let mut data = DeviceBuffer::from_slice(&device, &[0i32; 64]).unwrap();
    // SAFETY: adds to 64 elements.
    unsafe { graph.add_kernel(&[], &add, LaunchConfig::new(1, 64), (&mut data, 2, 64u32)) }.unwrap();
    drop((add, library));
    let ready = graph.instantiate().unwrap();
    ready.launch(&stream).unwrap();
    ready.launch(&stream).unwrap();
    assert_eq!(data.to_vec().unwrap(), [4; 64]);
}

#[test]
fn handles_that_are_gone_are_errors_of_the_software_gpu() {
    use hip::sys::*;
    let Some((device, library)) = library(plain) else { return };
    if !device.is_simulated() {
        return;
    }
    let kernel = library.kernel("empty").unwrap();
    let (library_handle, handle) = (library.as_raw(), kernel.as_raw());
    let function = kernel.on(&device).unwrap().as_raw();
    drop((library, kernel));
    let (mut value, mut offset, mut to, mut count) = (0, 0, std::ptr::null_mut(), 0);
    // SAFETY: all are valid for a write; hip-sim looks handles up, and follows none.
    unsafe {
        assert_eq!(hipKernelGetFunction(&mut to, handle), hipErrorInvalidHandle);
        assert_eq!(hipKernelGetFunction(&mut to, std::ptr::null_mut()), hipErrorInvalidValue);
        let which = HIP_FUNC_ATTRIBUTE_NUM_REGS;
        assert_eq!(hipKernelGetAttribute(&mut value, which, handle, 0), hipErrorInvalidHandle);
        assert_eq!(hipKernelSetAttribute(which, 0, handle, 0), hipErrorInvalidHandle);
        assert_eq!(hipKernelGetParamInfo(handle, 0, &mut offset, std::ptr::null_mut()), hipErrorInvalidHandle);
        assert_eq!(hipLibraryGetKernelCount(&mut count, library_handle), hipErrorInvalidHandle);
        assert_eq!(hipLibraryUnload(library_handle), hipErrorInvalidHandle);
        assert_eq!(hipFuncGetAttribute(&mut value, which, function), hipErrorInvalidHandle);
    }
    hip::runtime::take_last_error();
}
