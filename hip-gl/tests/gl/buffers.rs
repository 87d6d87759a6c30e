use hip::{Device, DeviceBuffer, LaunchConfig, Stream};
use hip_gl::{Access, Buffer, DeviceList};

use super::context;
use crate::kernel;

#[test]
fn the_devices_are_those_that_opengl_runs_on() {
    let Some((_context, device)) = context() else { return };
    assert_eq!(hip_gl::devices(DeviceList::CurrentFrame).unwrap(), [device]);
    let next = hip_gl::devices(DeviceList::NextFrame).unwrap_err();
    assert_eq!(next.status(), Some(hip::Status::NOT_SUPPORTED), "{next}");
    assert!(next.to_string().contains("NextFrame"), "{next}");
}

#[test]
fn a_kernel_writes_what_opengl_reads_and_the_reverse() {
    let Some((context, device)) = context() else { return };
    let Some(add) = kernel("add_in_place") else { return };
    let stream = Stream::new(&device).unwrap();
    let mut expected: Vec<i32> = (0..1000).collect();
    let name = context.buffer(&expected);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(&device, name, Access::ReadWrite) }.unwrap();
    assert_eq!(buffer.device(), device);
    for round in 0..3 {
        let mut mapped = buffer.map::<i32>(&stream).unwrap();
        assert_eq!((mapped.len(), mapped.device()), (1000, device));
        assert_eq!(mapped.as_slice().to_vec().unwrap(), expected, "what OpenGL wrote, round {round}");
        let (all, n) = (mapped.as_slice_mut(), 1000_u32);
        // SAFETY: the kernel adds to `n` elements.
        unsafe { add.launch(&stream, LaunchConfig::for_elements(1000, 64), (&mut { all }, 5, n)) }.unwrap();
        // By its drop or by a call, both of which wait for the kernel.
        if round == 0 {
            drop(mapped)
        } else {
            mapped.unmap().unwrap()
        }
        expected.iter_mut().for_each(|value| *value += 5);
        assert_eq!(context.read::<i32>(name, 1000), expected, "what the kernel wrote, round {round}");
        expected.iter_mut().for_each(|value| *value *= 3);
        context.write(name, &expected);
    }
    drop(buffer);
    assert_eq!(context.read::<i32>(name, 1000), expected, "the buffer is OpenGL's as before");
    context.delete(name);
}

#[test]
fn unmapping_waits_for_what_other_streams_do() {
    let Some((context, device)) = context() else { return };
    let Some(slow) = kernel("slow_store") else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let name = context.buffer(&[0_u32; 4]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(&device, name, Access::WriteDiscard) }.unwrap();
    let mut mapped = buffer.map::<u32>(&stream).unwrap();
    // SAFETY: the kernel writes one element after some rounds.
    unsafe { slow.launch(&other, LaunchConfig::new(1, 1), (&mut mapped.as_slice_mut(), 20_000_u32, 77_u32)) }.unwrap();
    mapped.unmap().unwrap();
    assert_eq!(context.read::<u32>(name, 1), [77]);
}

#[test]
fn elements_may_be_of_any_type_that_fits() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(&device, name, Access::ReadOnly) }.unwrap();
    let four = buffer.map::<[f32; 4]>(&stream).unwrap();
    let mut copy = DeviceBuffer::<[f32; 4]>::zeroed(&device, 2).unwrap();
    copy.copy_from_device_async(&stream, four.as_slice()).unwrap();
    four.unmap().unwrap();
    assert_eq!(copy.to_vec().unwrap(), [[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]);
    let refused = buffer.map::<[f32; 3]>(&stream).unwrap_err();
    assert!(refused.to_string().contains("32 bytes long") && refused.to_string().contains("12 bytes"), "{refused}");
    assert_eq!(buffer.map::<u8>(&stream).unwrap().len(), 32, "it is not left mapped");
}

#[test]
fn a_mapping_that_is_forgotten_ends_with_the_next_or_the_registration() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[1_u8; 16]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(&device, name, Access::ReadWrite) }.unwrap();
    for _ in 0..2 {
        let mut mapped = buffer.map::<u8>(&stream).unwrap();
        mapped.as_slice_mut().fill_async(&stream, 9).unwrap();
        std::mem::forget(mapped);
    }
    drop(buffer);
    assert_eq!(context.read::<u8>(name, 16), [9; 16]);
}

/// How often memory of the software OpenGL's is mapped in this process.
fn mappings_of_gl_sim() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap().matches("memfd:gl-sim").count()
}

/// Registers, maps, writes and lets go of a buffer.
fn one_round(context: &super::OpenGl, device: &Device, stream: &Stream, bytes: usize, value: u8) {
    let name = context.buffer(&vec![0_u8; bytes]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(device, name, Access::ReadWrite) }.unwrap();
    let mut mapped = buffer.map::<u8>(stream).unwrap();
    mapped.as_slice_mut().fill_async(stream, value).unwrap();
    mapped.unmap().unwrap();
    assert_eq!(context.read::<u8>(name, bytes), vec![value; bytes]);
    drop(buffer);
    context.delete(name);
}

#[test]
fn what_was_unregistered_is_forgotten_so_that_others_can_have_its_address() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    // Smaller ones first: the record of a smaller buffer does not fit a larger one.
    for bytes in [16, 4096, 8192, 1 << 20] {
        for value in 1..10 {
            one_round(&context, &device, &stream, bytes, value);
            // Memory that is likely to be where the buffer was.
            let mut own = DeviceBuffer::<u8>::uninit(&device, bytes).unwrap();
            own.fill_async(&stream, value ^ 0xff).unwrap();
            assert_eq!(own.to_vec().unwrap(), vec![value ^ 0xff; bytes]);
        }
    }
}

#[test]
fn what_was_never_mapped_is_given_up_and_what_was_keeps_its_address() {
    // By itself: other tests have mappings too.
    let test = "buffers::what_was_never_mapped_is_given_up_and_what_was_keeps_its_address";
    let Some(()) = super::in_process_of_its_own(test) else { return };
    let (context, device) = context().unwrap();
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[0_u8; 16]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let register = || unsafe { Buffer::register(&device, name, Access::ReadWrite) }.unwrap();
    let (never_mapped, mut mapped_twice) = (register(), register());
    assert_eq!(mappings_of_gl_sim(), 2);
    let mut addresses = Vec::new();
    for _ in 0..2 {
        addresses.push(mapped_twice.map::<u8>(&stream).unwrap().as_slice().as_device_ptr().address());
    }
    assert_eq!(addresses[0], addresses[1]);
    drop(never_mapped);
    assert_eq!(mappings_of_gl_sim(), 1);
    drop(mapped_twice);
    // A runtime that has mended its ways would make this 0.
    assert_eq!(mappings_of_gl_sim(), 1);
}

#[test]
fn threads_share_each_with_a_context_of_its_own() {
    if context().is_none() {
        return;
    }
    std::thread::scope(|scope| {
        for thread in 0..3_u8 {
            scope.spawn(move || {
                let (context, device) = context().unwrap();
                let stream = Stream::new(&device).unwrap();
                for round in 0..10 {
                    one_round(&context, &device, &stream, 1000 + usize::from(thread), thread * 16 + round);
                }
            });
        }
    });
}

#[test]
fn slices_of_a_mapping_may_go_to_other_threads() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[0_u32; 64]);
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    let mut buffer = unsafe { Buffer::register(&device, name, Access::ReadWrite) }.unwrap();
    let mut mapped = buffer.map::<u32>(&stream).unwrap();
    let mut all = mapped.as_slice_mut();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let own = Stream::new(&device).unwrap();
            all.fill_async(&own, 3).unwrap();
        });
    });
    mapped.unmap().unwrap();
    assert_eq!(context.read::<u32>(name, 64), [3; 64]);
}
