use bytemuck::{Pod, Zeroable};
use hip::module::KernelArg;
use hip::{Device, DeviceBuffer, DevicePtr, Error, LaunchConfig, Status, Stream};

use crate::{eventually, in_child, is_child, is_nvidia, kernel, module};

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Vec3 {
    x: f32,
    y: f32,
    z: f32,
}

#[test]
fn vectors_are_added() {
    let Some(kernel) = kernel("vector_add") else { return };
    let device = kernel.device();
    let stream = Stream::new(&device).unwrap();
    for n in [1usize, 63, 64, 65, 1000, 100_003] {
        let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|i| (i as f32, 0.5 * i as f32)).unzip();
        let expected: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let (a, b) = (DeviceBuffer::from_slice(&device, &a).unwrap(), DeviceBuffer::from_slice(&device, &b).unwrap());
        let mut c = DeviceBuffer::<f32>::zeroed(&device, n).unwrap();
        // SAFETY: three buffers of n floats, and the kernel checks against n.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n, 256), (&a, &b, &mut c, n as u32)) }.unwrap();
        assert_eq!(c.to_vec().unwrap(), expected, "{n}");
    }
}

#[test]
fn code_objects_of_all_versions_run() {
    let Some(device) = crate::device() else { return };
    let objects: [&[u8]; 3] = match device.properties().unwrap().arch.name() {
        "gfx942" => [
            include_bytes!("../kernels/vector_add.v4.gfx942.co"),
            include_bytes!("../kernels/vector_add.v5.gfx942.co"),
            include_bytes!("../kernels/vector_add.v6.gfx942.co"),
        ],
        _ => [
            include_bytes!("../kernels/vector_add.v4.gfx90a.co"),
            include_bytes!("../kernels/vector_add.v5.gfx90a.co"),
            include_bytes!("../kernels/vector_add.v6.gfx90a.co"),
        ],
    };
    for (bytes, version) in objects.into_iter().zip(4..) {
        let module = match hip::Module::load(&device, bytes) {
            Err(error @ Error::Architecture { .. }) if !device.is_simulated() => {
                crate::skipped(&error);
                continue;
            }
            // ROCm 5.7 does not support version 6 yet.
            Err(_) if version == 6 && hip::runtime_version().unwrap() < (6, 0, 0) => continue,
            module => module.unwrap(),
        };
        let stream = Stream::new(&device).unwrap();
        let a = DeviceBuffer::from_slice(&device, &[1.5f32; 100]).unwrap();
        let mut c = DeviceBuffer::<f32>::zeroed(&device, 100).unwrap();
        let kernel = module.kernel("vector_add").unwrap();
        // SAFETY: buffers of 100 floats, and the kernel checks against it.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(100, 64), (&a, &a, &mut c, 100u32)) }.unwrap();
        assert_eq!(c.to_vec().unwrap(), [3.0; 100], "version {version}");
    }
}

#[test]
fn arguments_of_mixed_sizes_arrive() {
    let Some(module) = module() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let v = Vec3 { x: 1.25, y: 2.5, z: 3.75 };
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 5).unwrap();
    let one = LaunchConfig::new(1, 64);

    let mixed = module.kernel("mixed_args").unwrap();
    for (negate, sum) in [(false, 35.0f32), (true, -35.0)] {
        // SAFETY: the kernel writes four floats.
        unsafe { mixed.launch(&stream, one, (&mut out, 7i32, v, 3i32, negate, 2.0f64)) }.unwrap();
        assert_eq!(out.to_vec().unwrap()[..4], [sum, 1.25, 2.5, 3.75]);
    }

    let plain = module.kernel("int_float3_int").unwrap();
    // SAFETY: the kernel writes five floats.
    unsafe { plain.launch(&stream, one, (11i32, v, -4i32, &mut out)) }.unwrap();
    assert_eq!(out.to_vec().unwrap(), [11.0, 1.25, 2.5, 3.75, -4.0]);

    // The same with arguments only known at run time, and with a pointer that the launch does not track.
    let pointer: DevicePtr<f32> = out.as_device_ptr();
    let arguments: Vec<&dyn KernelArg> = vec![&12i32, &v, &5i32, &pointer];
    // SAFETY: as above, and `out` lives until it is read, which waits for the stream here.
    unsafe { plain.launch(&stream, one, arguments.as_slice()) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.to_vec().unwrap(), [12.0, 1.25, 2.5, 3.75, 5.0]);
}

#[test]
fn slices_are_passed_by_their_first_element() {
    let Some(kernel) = kernel("add_in_place") else { return };
    let device = kernel.device();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::from_slice(&device, &[0i32; 10]).unwrap();
    let mut middle = data.slice_mut(3..7).unwrap();
    // SAFETY: the slice has 4 elements.
    unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (&mut middle, 5i32, 4u32)) }.unwrap();
    // SAFETY: as above.
    unsafe { kernel.launch(&stream, LaunchConfig::new(1, 64), (middle, 1i32, 4u32)) }.unwrap();
    assert_eq!(data.to_vec().unwrap(), [0, 0, 0, 6, 6, 6, 6, 0, 0, 0]);
}

#[test]
fn wrong_arguments_are_refused_before_the_launch() {
    let Some(kernel) = kernel("vector_add") else { return };
    let device = kernel.device();
    let stream = Stream::new(&device).unwrap();
    let config = LaunchConfig::new(1, 64);
    let a = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 64).unwrap();

    // SAFETY: rejected, so nothing runs; so below.
    let few = unsafe { kernel.launch(&stream, config, (&a, &a, &mut c)) }.unwrap_err();
    assert!(matches!(few, Error::ArgumentCount { expected: 4, given: 3, .. }), "{few}");
    // SAFETY: as above.
    let many = unsafe { kernel.launch(&stream, config, (&a, &a, &mut c, 64u32, 1u32)) }.unwrap_err();
    assert!(matches!(many, Error::ArgumentCount { expected: 4, given: 5, .. }), "{many}");
    // SAFETY: as above.
    let none = unsafe { kernel.launch(&stream, config, ()) }.unwrap_err();
    assert!(matches!(none, Error::ArgumentCount { expected: 4, given: 0, .. }), "{none}");
    // SAFETY: as above.
    let wide = unsafe { kernel.launch(&stream, config, (&a, &a, &mut c, 64usize)) }.unwrap_err();
    assert!(matches!(wide, Error::Argument { index: 3, .. }), "{wide}");
    assert!(wide.to_string().contains("a value of 4 bytes") && wide.to_string().contains("usize"), "{wide}");
    if !is_nvidia(&kernel.device()) {
        // SAFETY: as above.
        let number = unsafe { kernel.launch(&stream, config, (&a, 0u64, &mut c, 64u32)) }.unwrap_err();
        assert!(matches!(number, Error::Argument { index: 1, .. }), "{number}");
    }
    // SAFETY: as above.
    let buffer = unsafe { kernel.launch(&stream, config, (&a, &a, &mut c, &a)) }.unwrap_err();
    assert!(matches!(buffer, Error::Argument { index: 3, .. }), "{buffer}");

    stream.synchronize().unwrap();
    assert_eq!(c.to_vec().unwrap(), [0.0; 64], "nothing ran");
}

#[test]
fn launches_out_of_bounds_of_device_or_kernel_are_refused() {
    let Some(module) = module() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let p = device.properties().unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let store = module.kernel("bounded").unwrap();
    let empty = module.kernel("empty").unwrap();
    let max = p.max_threads_per_block;

    let refused = |config: LaunchConfig, words: &str| {
        // SAFETY: refused, so nothing runs; else the kernel does nothing.
        let error = unsafe { empty.launch(&stream, config, ()) }.unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Error::Geometry { .. }) && text.contains("empty") && text.contains(words), "{text}");
    };
    refused(LaunchConfig::new(0, 64), "no threads");
    refused(LaunchConfig::new(1, 0), "no threads");
    refused(LaunchConfig::new((1, 1, 0), 64), "no threads");
    refused(LaunchConfig::for_elements(0, 64), "no threads");
    refused(LaunchConfig::new(1, max + 1), "block");
    refused(LaunchConfig::new(1, (max, 2)), "block");
    refused(LaunchConfig::new(1, (1, 1, p.max_block[2] + 1)), "z may be");
    refused(LaunchConfig::new(1, u32::MAX), "block");
    refused(LaunchConfig::new(u32::MAX, 64), "");
    refused(LaunchConfig::new((1, 1, u32::MAX), 64), "");
    let shared = p.shared_memory_per_block_opt_in as u32;
    refused(LaunchConfig::new(1, 64).with_shared_bytes(shared + 1), "shared memory");
    refused(LaunchConfig::new(1, 64).with_shared_bytes(u32::MAX), "shared memory");
    // Numbers that do not fit in 32 bits.
    refused(LaunchConfig::new(1, 64).with_shared_bytes(usize::MAX), "shared memory");
    refused(LaunchConfig::new(1_usize << 32, 64), "a grid of");
    refused(LaunchConfig::new((1, -1), 64), "a grid of");
    refused(LaunchConfig::new(1, 1_usize << 32), "a block of");

    // __launch_bounds__(64)
    // SAFETY: refused, so nothing runs.
    let error = unsafe { store.launch(&stream, LaunchConfig::new(1, 65), (&mut data,)) }.unwrap_err();
    assert!(error.to_string().contains("compiled for 64"), "{error}");
    // SAFETY: 64 threads store to 64 elements.
    unsafe { store.launch(&stream, LaunchConfig::new(1, 64), (&mut data,)) }.unwrap();
    assert_eq!(data.to_vec().unwrap(), (0..64).collect::<Vec<i32>>());

    // Static shared memory counts: the kernel has 1024 bytes of it.
    let reverse = module.kernel("reverse_in_lds").unwrap();
    // SAFETY: refused, so nothing runs.
    let error =
        unsafe { reverse.launch(&stream, LaunchConfig::new(1, 64).with_shared_bytes(shared - 1023), (&mut data,)) }
            .unwrap_err();
    assert!(error.to_string().contains("1024 of static"), "{error}");
}

#[test]
fn the_grid_is_in_blocks() {
    let Some(kernel) = kernel("geometry") else { return };
    let stream = Stream::new(&kernel.device()).unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&kernel.device(), 6 * 24).unwrap();
    // SAFETY: 24 blocks, 6 numbers each.
    unsafe { kernel.launch(&stream, LaunchConfig::new((4, 3, 2), (8, 4, 2)), (&mut out,)) }.unwrap();
    for block in out.to_vec().unwrap().chunks(6) {
        assert_eq!(block, [4, 3, 2, 8, 4, 2]);
    }
}

#[test]
fn shared_memory_static_and_dynamic() {
    let Some(module) = module() else { return };
    let stream = Stream::new(&module.device()).unwrap();
    let forward: Vec<i32> = (0..256).collect();
    let backward: Vec<i32> = (0..256).rev().collect();
    for (name, shared) in [("reverse_in_lds", 0), ("reverse_in_dynamic_lds", 1024)] {
        let kernel = module.kernel(name).unwrap();
        let mut data = DeviceBuffer::from_slice(&module.device(), &forward).unwrap();
        // SAFETY: one block of 256 threads, 256 elements, room for 256 ints.
        unsafe { kernel.launch(&stream, LaunchConfig::new(1, 256).with_shared_bytes(shared), (&mut data,)) }.unwrap();
        assert_eq!(data.to_vec().unwrap(), backward, "{name}");
    }
}

#[test]
fn shared_memory_that_was_not_asked_for_is_a_fault_that_says_how_to_ask() {
    if !is_child() {
        in_child("launch::shared_memory_that_was_not_asked_for_is_a_fault_that_says_how_to_ask", &[]);
        return;
    }
    let device = Device::get(0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let reverse = kernel("reverse_in_dynamic_lds").unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 256).unwrap();
    // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point.
    unsafe { reverse.launch(&stream, LaunchConfig::new(1, 256).with_shared_bytes(512), (&mut data,)) }.unwrap();
    let text = stream.synchronize().unwrap_err().to_string();
    assert!(text.contains("the workgroup has 512 bytes of LDS: 0 static, 512 dynamic"), "{text}");
    assert!(text.contains("LaunchConfig::with_shared_bytes asks for"), "{text}");
}

#[test]
fn a_store_out_of_bounds_comes_back_with_the_name_of_the_launch() {
    if !is_child() {
        in_child("launch::a_store_out_of_bounds_comes_back_with_the_name_of_the_launch", &[]);
        return;
    }
    let device = Device::get(0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let store = kernel("store_index").unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    // Known to be done without an error, and so not named.
    let add = kernel("add_in_place").unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { add.launch(&stream, LaunchConfig::new(1, 64), (&mut data, 1i32, 64u32)) }.unwrap();
    stream.synchronize().unwrap();
    // Far out: 1 MiB of stores after 256 bytes.
    // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point.
    unsafe { store.launch(&stream, LaunchConfig::new(1024, 256), (&mut data,)) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.status(), Some(Status::ILLEGAL_ADDRESS | Status::LAUNCH_FAILURE)), "{text}");
    assert!(text.contains("store_index<<<(1024, 1, 1), (256, 1, 1)>>>"), "{text}");
    assert!(!text.contains("add_in_place"), "{text}");
    let Error::Hip(error) = error else { unreachable!() };
    let fault = error.fault.expect("the software GPU tells");
    assert!(fault.contains("store_index") && fault.contains("lane"), "{fault}");
    eprintln!("{text}");
}

#[test]
fn what_belongs_to_another_device_is_refused() {
    if !is_child() {
        in_child("launch::what_belongs_to_another_device_is_refused", &[("HIP_SIM_DEVICES", "2")]);
        return;
    }
    let devices = Device::all().unwrap();
    let kernel = kernel("add_in_place").unwrap();
    let (here, there) = (Stream::new(&devices[0]).unwrap(), Stream::new(&devices[1]).unwrap());
    let mut near = DeviceBuffer::<i32>::zeroed(&devices[0], 64).unwrap();
    let mut far = DeviceBuffer::<i32>::zeroed(&devices[1], 64).unwrap();
    let config = LaunchConfig::new(1, 64);
    // SAFETY: refused, so nothing runs.
    let error = unsafe { kernel.launch(&there, config, (&mut near, 1i32, 64u32)) }.unwrap_err();
    assert!(matches!(error, Error::WrongDevice { ref what, .. } if what == "the stream"), "{error}");
    // SAFETY: refused, so nothing runs.
    let error = unsafe { kernel.launch(&here, config, (&mut far, 1i32, 64u32)) }.unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument 1 of add_in_place(pointer, 4 bytes, 4 bytes) is on device 1, but must be on device 0"
    );
    let event = hip::Event::new(&devices[0]).unwrap();
    assert!(matches!(event.record(&there), Err(Error::WrongDevice { .. })));
}

#[test]
fn a_fault_is_not_lost_when_a_destructor_meets_it_first() {
    if !is_child() {
        in_child("launch::a_fault_is_not_lost_when_a_destructor_meets_it_first", &[]);
        return;
    }
    let device = Device::get(0).unwrap();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let store = kernel("store_index").unwrap();
    // Many times: the threads meet in every order.
    for _ in 0..100 {
        let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
        let before = device.memory_info().unwrap();
        // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point.
        unsafe { store.launch(&stream, LaunchConfig::new(1024, 256), (&mut data,)) }.unwrap();
        drop(data); // freed after the launch, by a thread that meets the fault
        other.synchronize().expect("the fault is not of this stream");
        let error = stream.synchronize().unwrap_err();
        assert!(error.to_string().contains("store_index<<<"), "{error}");
        stream.synchronize().expect("told once");
        eventually("the buffer is freed all the same", || device.memory_info().unwrap().free > before.free);
    }

    // The device stays usable.
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { store.launch(&stream, LaunchConfig::new(1, 64), (&mut data,)) }.unwrap();
    assert_eq!(data.to_vec().unwrap()[63], 63);
}

#[test]
fn a_fault_comes_back_from_whatever_waits_for_it() {
    if !is_child() {
        in_child("launch::a_fault_comes_back_from_whatever_waits_for_it", &[]);
        return;
    }
    let device = Device::get(0).unwrap();
    let store = kernel("store_index").unwrap();
    type Wait = fn(&Stream, &hip::Event, &DeviceBuffer<i32>, &mut hip::PinnedBuffer<i32>) -> hip::Result<()>;
    let waits: [(&str, Wait); 4] = [
        ("event", |_, event, _, _| event.synchronize()),
        ("copy", |_, _, data, _| data.to_vec().map(drop)),
        ("pinned", |_, _, _, pinned| pinned.as_slice().map(drop)),
        ("poll", |stream, _, _, _| {
            while !stream.is_idle()? {
                std::thread::yield_now();
            }
            Ok(())
        }),
    ];
    for (name, wait) in waits {
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
        let mut pinned = hip::PinnedBuffer::<i32>::zeroed(&device, 64).unwrap();
        // SAFETY: not safe at all on a GPU; the software GPU checks every access, which is the point.
        unsafe { store.launch(&stream, LaunchConfig::new(1024, 256), (&mut data,)) }.unwrap();
        data.copy_to_pinned_async(&stream, &mut pinned).unwrap();
        let event = stream.record().unwrap();
        let error = wait(&stream, &event, &data, &mut pinned).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("store_index<<<") && text.contains("lane"), "{name}: {text}");
    }
}

#[test]
fn a_kernel_without_end_is_cut_off() {
    if !is_child() {
        in_child("launch::a_kernel_without_end_is_cut_off", &[("HIP_SIM_BUDGET", "100000")]);
        return;
    }
    let device = Device::get(0).unwrap();
    let stream = Stream::new(&device).unwrap();
    let slow = kernel("slow_store").unwrap();
    let mut out = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut out, u32::MAX, 1u32)) }.unwrap();
    let error = stream.synchronize().unwrap_err();
    assert_eq!(error.status(), Some(Status::LAUNCH_TIMEOUT), "{error}");
    assert!(error.to_string().contains("slow_store<<<"), "{error}");
    assert_eq!(out.to_vec().unwrap(), [0; 64]);
}
