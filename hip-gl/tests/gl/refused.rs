//! Unsupported operations, and their errors.

use hip::{LaunchConfig, Stream};
use hip_gl::{Access, Buffer, DeviceList, Error};

use super::{OpenGl, context};
use crate::{device, kernel, skipped};

/// Registers a buffer.
fn register(device: &hip::Device, name: u32) -> hip_gl::Result<Buffer> {
    // SAFETY: the buffer keeps its data store, and OpenGL leaves it alone while it is mapped.
    unsafe { Buffer::register(device, name, Access::ReadWrite) }
}

#[test]
fn without_a_context_there_is_nothing_to_share_with() {
    let Some(device) = device() else { return };
    let refused = hip_gl::devices(DeviceList::All).unwrap_err();
    match hip::backend().unwrap() {
        hip::Backend::Sim => {
            assert!(matches!(refused, Error::Hip(hip::Error::Unsupported { .. })), "{refused}");
            assert!(refused.to_string().contains("the embedded software GPU has none"), "{refused}");
        }
        // With or without a library.
        _ => assert!(
            matches!(refused, Error::OpenGl { .. })
                && (refused.to_string().contains("make one current first")
                    || refused.to_string().contains("install it")),
            "{refused}"
        ),
    }
    let again = register(&device, 1).unwrap_err();
    assert_eq!(std::mem::discriminant(&again), std::mem::discriminant(&refused), "{again}");
}

#[test]
fn names_that_are_no_buffers_are_refused() {
    let Some((context, device)) = context() else { return };
    let zero = register(&device, 0).unwrap_err();
    assert!(matches!(zero, Error::Invalid { .. }), "{zero}");
    let unknown = register(&device, 12_345).unwrap_err().to_string();
    assert!(unknown.contains("the OpenGL buffer 12345 for ReadWrite on device"), "{unknown}");
    let empty = register(&device, context.name_of_buffer()).unwrap_err();
    assert!(empty.to_string().contains("hipGraphicsGLRegisterBuffer failed"), "{empty}");
}

#[test]
fn another_context_than_at_registration_is_refused() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[1_u32; 4]);
    let mut buffer = register(&device, name).unwrap();
    context.make_current(false);
    let none = buffer.map::<u32>(&stream).unwrap_err();
    assert!(matches!(none, Error::OpenGl { .. }) && none.to_string().contains("no context"), "{none}");
    let other = OpenGl::new(None).unwrap();
    let refused = buffer.map::<u32>(&stream).unwrap_err();
    assert!(refused.to_string().contains("another context is current"), "{refused}");
    drop(other);
    context.make_current(true);
    assert_eq!(buffer.map::<u32>(&stream).unwrap().as_slice().to_vec().unwrap(), [1; 4]);
}

#[test]
fn a_stream_that_is_captured_is_refused() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[1_u32; 4]);
    let mut buffer = register(&device, name).unwrap();
    let mut refused = None;
    let _ = stream.capture(|stream| {
        refused = buffer.map::<u32>(stream).err();
        Ok::<(), hip::Error>(())
    });
    assert!(matches!(refused, Some(Error::Hip(hip::Error::Capture { .. }))), "{refused:?}");
    assert_eq!(buffer.map::<u32>(&stream).unwrap().len(), 4);
}

#[test]
fn unmapping_while_a_stream_is_captured_waits_or_is_refused() {
    let Some((context, device)) = context() else { return };
    let Some(slow) = kernel("slow_store") else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let name = context.buffer(&[1_u32; 4]);
    let mut buffer = register(&device, name).unwrap();
    for captured in [&stream, &other] {
        let mut mapped = buffer.map::<u32>(&stream).unwrap();
        // SAFETY: four threads write an element each, after some rounds.
        unsafe { slow.launch(captured, LaunchConfig::new(1, 4), (&mut mapped.as_slice_mut(), 2_000_000_u32, 2_u32)) }
            .unwrap();
        let mut unmapped = None;
        let _ = captured.capture(|_| {
            unmapped = Some(mapped.unmap());
            Ok(())
        });
        match unmapped {
            Some(Err(Error::Hip(hip::Error::Capture { .. }))) => {}
            // Of another stream than it is mapped on, it may be known when its work was over.
            Some(Ok(())) if captured.as_raw() == other.as_raw() => assert_eq!(context.read::<u32>(name, 4), [2; 4]),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(buffer.map::<u32>(&stream).unwrap().as_slice().to_vec().unwrap(), [2; 4]);
    drop(buffer);
    assert_eq!(context.read::<u32>(name, 4), [2; 4]);
}

#[test]
fn graphs_do_not_keep_what_ends_with_a_borrow() {
    let Some((context, device)) = context() else { return };
    let stream = Stream::new(&device).unwrap();
    let name = context.buffer(&[1_u32; 4]);
    let mut buffer = register(&device, name).unwrap();
    let mut mapped = buffer.map::<u32>(&stream).unwrap();
    let refused = stream.capture(|stream| mapped.as_slice_mut().fill_async(stream, 1));
    assert!(refused.is_err(), "{refused:?}");
    mapped.unmap().unwrap();
    assert_eq!(context.read::<u32>(name, 4), [1; 4]);
}

#[test]
fn a_stream_of_another_device_is_refused() {
    let Some((context, device)) = context() else { return };
    let other = hip::Device::all().unwrap().into_iter().find(|other| *other != device);
    let Some(other) = other else { return skipped(&"there is one device") };
    let name = context.buffer(&[1_u32; 4]);
    let mut buffer = register(&device, name).unwrap();
    let refused = buffer.map::<u32>(&Stream::new(&other).unwrap()).unwrap_err();
    assert!(matches!(refused, Error::Hip(hip::Error::WrongDevice { .. })), "{refused}");
    let refused = register(&other, name).unwrap_err();
    assert!(matches!(refused, Error::Hip(hip::Error::WrongDevice { .. })), "{refused}");
    if context.vendor() == "gl-sim" {
        let elsewhere = OpenGl::new(Some(":1")).unwrap();
        let refused = hip_gl::devices(DeviceList::All).unwrap_err().to_string();
        assert!(refused.contains("which is device 0 by now; this context is on device 1"), "{refused}");
        drop(elsewhere);
    }
}

#[test]
fn a_context_on_a_gpu_that_is_none_of_hips_is_refused_and_does_no_harm() {
    let Some(device) = device() else { return };
    if hip::backend().unwrap() == hip::Backend::Sim {
        return skipped(&"the embedded software GPU has no OpenGL");
    }
    match OpenGl::new(Some("elsewhere:0")) {
        Ok(context) => {
            let refused = hip_gl::devices(DeviceList::All).unwrap_err();
            assert!(matches!(refused, Error::OpenGl { .. }), "{refused}");
            let text = refused.to_string();
            assert!(text.contains("the GPU at 0000:00:00.0 (PCI id 8086:0001)"), "{text}");
            let name = context.buffer(&[1_u32; 4]);
            let again = register(&device, name).unwrap_err();
            assert!(matches!(again, Error::OpenGl { .. }), "{again}");
        }
        Err(why) => return skipped(&format_args!("no software OpenGL here: {why}")),
    }
    // The runtime was not notified of it.
    let (context, device) = context().unwrap();
    let name = context.buffer(&[1_u32; 4]);
    drop(register(&device, name).unwrap());
}
