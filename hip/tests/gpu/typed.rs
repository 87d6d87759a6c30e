//! Kernels with a signature in Rust, and other kinds of launches.

use hip::bytemuck::{Pod, Zeroable};
use hip::{DeviceBuffer, DevicePtr, Error, Event, Graph, LaunchConfig, Stream};

use crate::{is_nvidia, module, supported};

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Vec3 {
    x: f32,
    y: f32,
    z: f32,
}

hip::kernel! {
    /// `c = a + b`.
    pub(crate) struct VectorAdd: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u32);
    // A structure after an int, a double after a bool.
    struct MixedArgs: fn mixed_args(out: *mut f32, a: i32, v: Vec3, b: i32, negate: bool, scale: f64,);
    // An array is passed for a structure of three floats.
    struct IntFloat3Int: fn "int_float3_int"(a: i32, v: [f32; 3], b: i32, out: DevicePtr<f32>);
    struct Empty: fn empty();
    struct TooMany: fn empty(n: u32);
    struct NotAPointer: fn vector_add(a: u64, b: *const f32, c: *mut f32, n: u32);
    struct WrongSize: fn vector_add(a: *const f32, b: *const f32, c: *mut f32, n: u64);
    struct NotThere: fn no_such_kernel();
    pub(crate) struct AddInPlace: fn add_in_place(data: *mut i32, value: i32, n: u32);
}

#[test]
fn arguments_arrive_where_c_puts_them() {
    let Some(module) = module() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let config = LaunchConfig::new(1, 64);

    let add = VectorAdd::load(&module).unwrap();
    let a = DeviceBuffer::from_slice(&device, &[1.0f32; 100]).unwrap();
    let b: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let b = DeviceBuffer::from_slice(&device, &b).unwrap();
    let mut c = DeviceBuffer::<f32>::zeroed(&device, 100).unwrap();
    // SAFETY: 100 elements each, which the kernel checks its index against.
    unsafe { add.launch(&stream, LaunchConfig::for_elements(100, 64), &a, b.as_slice(), &mut c, 100) }.unwrap();
    assert_eq!(c.to_vec().unwrap()[99], 100.0);
    // SAFETY: 50 elements each from the middle on.
    unsafe {
        let (a, b) = (a.slice(50..).unwrap(), b.slice(50..).unwrap());
        add.launch(&stream, config, a, b, c.slice_mut(..50).unwrap(), 50).unwrap();
    }
    assert_eq!(c.to_vec().unwrap()[..2], [51.0, 52.0]);

    let mixed = MixedArgs::load(&module).unwrap();
    let mut out = DeviceBuffer::<f32>::zeroed(&device, 5).unwrap();
    let v = Vec3 { x: 0.5, y: 0.25, z: 0.125 };
    for negate in [false, true] {
        // SAFETY: the kernel writes 4 elements.
        unsafe { mixed.launch(&stream, config, &mut out, 3, v, 4, negate, 2.0) }.unwrap();
        let sum = if negate { -15.75 } else { 15.75 };
        assert_eq!(out.to_vec().unwrap()[..4], [sum, 0.5, 0.25, 0.125]);
    }

    let plain = IntFloat3Int::load(&module).unwrap();
    // SAFETY: the kernel writes 5 elements, which have no other use.
    unsafe { plain.launch(&stream, config, 7, [1.0, 2.0, 3.0], 9, out.as_device_ptr()) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(out.to_vec().unwrap(), [7.0, 1.0, 2.0, 3.0, 9.0]);

    let empty = Empty::load(&module).unwrap();
    // SAFETY: the kernel does nothing.
    unsafe { empty.launch(&stream, config) }.unwrap();
    stream.synchronize().unwrap();
    assert_eq!(empty.kernel().name(), "empty");
    let _: DevicePtr<f32> = out.as_device_ptr();
}

#[test]
fn a_signature_that_is_not_the_kernels_is_refused_when_it_is_loaded() {
    let Some(module) = module() else { return };
    assert!(matches!(TooMany::load(&module), Err(Error::ArgumentCount { expected: 0, given: 1, .. })));
    let not_a_pointer = NotAPointer::load(&module);
    if is_nvidia(&module.device()) {
        not_a_pointer.unwrap();
    } else {
        assert!(matches!(not_a_pointer, Err(Error::Argument { index: 0, .. })));
    }
    let error = WrongSize::load(&module).unwrap_err();
    assert!(matches!(&error, Error::Argument { index: 3, .. }) && error.to_string().contains("u64"), "{error}");
    assert!(matches!(NotThere::load(&module), Err(Error::KernelNotFound { .. })));
}

#[test]
fn a_typed_launch_checks_geometry_and_notes_its_buffers() {
    let Some(module) = module() else { return };
    let device = module.device();
    let add = AddInPlace::load(&module).unwrap();
    let slow = module.kernel("slow_store").unwrap();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    // SAFETY: refused.
    let error = unsafe { add.launch(&first, LaunchConfig::new(1, 4096), &mut data, 1, 64) }.unwrap_err();
    assert!(matches!(error, Error::Geometry { .. }), "{error}");
    for round in 0..10 {
        let config = LaunchConfig::new(1, 64);
        // SAFETY: 64 threads, 64 elements; u32 and int have the same bytes.
        unsafe {
            slow.launch(&first, config, (data.as_slice_mut(), 20_000u32, 10 * round as u32)).unwrap();
            add.launch(&second, config, &mut data, 1, 64).unwrap();
        }
        assert_eq!(data.to_vec().unwrap(), [10 * round + 1; 64]);
    }
}

#[test]
fn a_typed_kernel_goes_into_a_graph() {
    let Some(module) = module() else { return };
    let device = module.device();
    let Some(mut graph) = supported(Graph::new(&device)) else { return };
    let add = AddInPlace::load(&module).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let config = LaunchConfig::new(1, 64);
    // SAFETY: 64 threads, 64 elements, one node after the other.
    unsafe {
        let first = add.add_to(&mut graph, &[], config, &mut data, 1, 64).unwrap();
        add.add_to(&mut graph, &[first], config, &mut data, 10, 64).unwrap();
    }
    let exec = graph.instantiate().unwrap();
    exec.launch(&Stream::new(&device).unwrap()).unwrap();
    assert_eq!(data.to_vec().unwrap(), [11; 64]);
}

#[test]
fn a_cooperative_launch_holds_as_many_blocks_as_run_at_a_time() {
    let Some(module) = module() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 128).unwrap();
    let most = add.max_cooperative_blocks(64, 0).unwrap();
    assert!(most >= device.properties().unwrap().compute_units);
    // SAFETY: the kernel checks its index.
    let result = unsafe { add.launch_cooperative(&stream, LaunchConfig::new(2, 64), (&mut data, 5i32, 128u32)) };
    let Some(()) = supported(result) else { return };
    assert_eq!(data.to_vec().unwrap(), [5; 128]);
    // SAFETY: the kernel checks its index.
    unsafe { add.launch_cooperative(&stream, LaunchConfig::new(most, 64), (&mut data, 1i32, 128u32)) }.unwrap();
    assert_eq!(data.to_vec().unwrap(), [6; 128]);
    // SAFETY: refused.
    let error = unsafe { add.launch_cooperative(&stream, LaunchConfig::new(most + 1, 64), (&mut data, 5i32, 128u32)) };
    assert!(matches!(&error, Err(Error::Geometry { reason, .. }) if reason.contains("at a time")), "{error:?}");
}

#[test]
fn a_launch_is_timed_by_its_own_events() {
    let Some(module) = module() else { return };
    let device = module.device();
    let slow = module.kernel("slow_store").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    let (start, stop) = (Event::new(&device).unwrap(), Event::new(&device).unwrap());
    let config = LaunchConfig::new(1, 64);
    // SAFETY: 64 threads, 64 elements.
    let result = unsafe { slow.launch_timed(&stream, config, (&mut data, 20_000u32, 3u32), &start, &stop) };
    let Some(()) = supported(result) else { return };
    let mut took = stop.elapsed_since(&start).unwrap();
    assert_eq!(data.to_vec().unwrap(), [3; 64]);
    // A fast machine may be done before its clock advances: then the kernel gets more work.
    for rounds in [200_000u32, 2_000_000, 20_000_000] {
        if took.is_zero() {
            // SAFETY: 64 threads, 64 elements.
            unsafe { slow.launch_timed(&stream, config, (&mut data, rounds, 3u32), &start, &stop) }.unwrap();
            took = stop.elapsed_since(&start).unwrap();
        }
    }
    assert!(!took.is_zero());
    // The start of the kernel does not imply its end.
    for round in 10..14u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch_timed(&stream, config, (&mut data, 100_000u32, round), &start, &stop) }.unwrap();
        start.synchronize().unwrap();
        assert_eq!(data.to_vec().unwrap(), [round; 64]);
    }
    // SAFETY: refused.
    let error = unsafe { slow.launch_timed(&stream, config, (&mut data, 1u32, 3u32), &start, &start) };
    assert!(matches!(error, Err(Error::InvalidValue { .. })));
}

#[cfg(feature = "rocm-7-0")]
#[test]
fn a_launch_has_attributes() {
    use hip::module::LaunchAttributes;
    let Some(module) = module() else { return };
    let device = module.device();
    let add = module.kernel("add_in_place").unwrap();
    let stream = Stream::new(&device).unwrap();
    let mut data = DeviceBuffer::<i32>::zeroed(&device, 64).unwrap();
    let config = LaunchConfig::new(1, 64);
    for attributes in [LaunchAttributes::new(), LaunchAttributes::new().cooperative(true)] {
        // SAFETY: 64 threads, 64 elements.
        let result = unsafe { add.launch_with(&stream, config, attributes, (&mut data, 5i32, 64u32)) };
        let Some(()) = supported(result) else { return };
    }
    assert_eq!(data.to_vec().unwrap(), [10; 64]);
}

#[test]
fn attributes_of_a_kernel_can_be_set_where_the_runtime_lets_them() {
    let Some(module) = module() else { return };
    let kernel = module.kernel("reverse_in_dynamic_lds").unwrap();
    assert!(matches!(kernel.set_shared_carveout(101), Err(Error::InvalidValue { .. })));
    // Some releases accept only functions of the program itself here.
    for result in [kernel.set_max_dynamic_shared(32 << 10), kernel.set_shared_carveout(50)] {
        if let Err(error) = result {
            assert!(matches!(error, Error::Hip(_)), "{error}");
        }
    }
    let limited = kernel.max_potential_block_size_with_limit(0, 128).unwrap();
    assert!(limited.block <= 128 && limited.block > 0, "{limited:?}");
}
