use hip::{DeviceBuffer, DevicePtr, Error, PinnedBuffer, Status, Stream};

use crate::{device, in_child, is_child};

#[test]
fn elements_come_back_as_they_went() {
    let Some(device) = device() else { return };
    let numbers: Vec<u64> = (0..100_000).map(|i| u64::wrapping_mul(i, 0x9e37_79b9_7f4a_7c15)).collect();
    let mut buffer = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    assert_eq!(buffer.len(), numbers.len());
    assert_eq!(buffer.byte_len(), numbers.len() * 8);
    assert_eq!(buffer.to_vec().unwrap(), numbers);
    buffer.copy_from_slice(&vec![1; numbers.len()]).unwrap();
    let mut back = vec![0; numbers.len()];
    buffer.copy_to_slice(&mut back).unwrap();
    assert!(back.iter().all(|&n| n == 1));
    assert_eq!(DeviceBuffer::<f64>::zeroed(&device, 777).unwrap().to_vec().unwrap(), vec![0.0; 777]);
}

#[test]
fn an_uninit_buffer_can_be_written_and_read() {
    let Some(device) = device() else { return };
    let mut buffer = DeviceBuffer::<u8>::uninit(&device, 1000).unwrap();
    assert_eq!(buffer.to_vec().unwrap().len(), 1000, "whatever is in it");
    buffer.fill(9).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [9; 1000]);
}

#[test]
fn no_elements_are_no_error() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut empty = DeviceBuffer::<f32>::zeroed(&device, 0).unwrap();
    assert!(empty.is_empty());
    assert_eq!(empty.as_device_ptr(), DevicePtr::null());
    empty.copy_from_slice(&[]).unwrap();
    empty.fill(1.0).unwrap();
    empty.fill_async(&stream, 1.0).unwrap();
    empty.fill_bytes_async(&stream, 1).unwrap();
    assert!(empty.to_vec().unwrap().is_empty());
    let mut pinned = PinnedBuffer::<f32>::zeroed(&device, 0).unwrap();
    empty.copy_to_pinned_async(&stream, &mut pinned).unwrap();
    empty.copy_from_pinned_async(&stream, &pinned).unwrap();
    assert!(pinned.as_slice().unwrap().is_empty());
    assert!(pinned.as_mut_slice().unwrap().is_empty());
    let other = DeviceBuffer::<f32>::uninit(&device, 0).unwrap();
    empty.copy_from_device(&other).unwrap();
    assert!(DeviceBuffer::<u8>::zeroed(&device, 4).unwrap().slice(4..).unwrap().to_vec().unwrap().is_empty());
}

#[test]
fn sizes_that_do_not_fit_fail_before_the_runtime() {
    let Some(device) = device() else { return };
    let error = DeviceBuffer::<u64>::uninit(&device, usize::MAX).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let error = PinnedBuffer::<u64>::zeroed(&device, usize::MAX / 8).unwrap_err();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    let error = DeviceBuffer::<[f32; 0]>::zeroed(&device, 5).unwrap_err();
    assert!(matches!(error, Error::ZeroSizedType { .. }), "{error}");
}

#[test]
fn more_than_the_device_has_is_out_of_memory() {
    let Some(device) = device() else { return };
    let error = DeviceBuffer::<u8>::uninit(&device, isize::MAX as usize).unwrap_err();
    assert_eq!(error.status(), Some(Status::OUT_OF_MEMORY), "{error}");
    let text = error.to_string();
    assert!(text.contains("hipMalloc") && text.contains("9223372036854775807 bytes on device 0"), "{text}");
}

#[test]
fn memory_that_runs_out_can_be_had_again() {
    if !is_child() {
        in_child("memory::memory_that_runs_out_can_be_had_again", &[("HIP_SIM_MEMORY", "16M")]);
        return;
    }
    let device = device().unwrap();
    for _ in 0..3 {
        let mut held = Vec::new();
        let error = loop {
            match DeviceBuffer::<u8>::zeroed(&device, 1 << 20) {
                Ok(buffer) => held.push(buffer),
                Err(error) => break error,
            }
        };
        assert_eq!(error.status(), Some(Status::OUT_OF_MEMORY), "{error}");
        assert!((10..=16).contains(&held.len()), "{} MiB of 16", held.len());
    }
}

#[test]
fn copies_of_unequal_length_are_refused() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut buffer = DeviceBuffer::<i32>::zeroed(&device, 4).unwrap();
    let other = DeviceBuffer::<i32>::zeroed(&device, 5).unwrap();
    let mut pinned = PinnedBuffer::<i32>::zeroed(&device, 3).unwrap();
    let errors = [
        buffer.copy_from_slice(&[1; 5]).unwrap_err(),
        buffer.copy_to_slice(&mut [0; 3]).unwrap_err(),
        buffer.copy_from_device(&other).unwrap_err(),
        buffer.copy_from_pinned_async(&stream, &pinned).unwrap_err(),
        buffer.copy_to_pinned_async(&stream, &mut pinned).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Length { .. }), "{error}");
    }
    assert_eq!(buffer.to_vec().unwrap(), [0; 4]);
}

#[test]
fn slices_are_the_elements_of_their_range() {
    let Some(device) = device() else { return };
    let mut buffer = DeviceBuffer::from_slice(&device, &[0u16, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_eq!(buffer.slice(2..5).unwrap().to_vec().unwrap(), [2, 3, 4]);
    assert_eq!(buffer.slice(2..).unwrap().slice(1..=2).unwrap().to_vec().unwrap(), [3, 4]);
    buffer.slice_mut(6..).unwrap().copy_from_slice(&[60, 70]).unwrap();
    {
        let mut all = buffer.as_slice_mut();
        let (mut low, mut high) = all.split_at_mut(3).unwrap();
        low.fill(9).unwrap();
        high.slice_mut(..1).unwrap().copy_from_device(low.slice(..1).unwrap()).unwrap();
        assert_eq!((low.len(), high.len()), (3, 5));
    }
    assert_eq!(buffer.to_vec().unwrap(), [9, 9, 9, 9, 4, 5, 60, 70]);
    let (a, b) = buffer.as_slice().split_at(8).unwrap();
    assert_eq!((a.len(), b.len()), (8, 0));

    for error in [
        buffer.slice(..9).unwrap_err(),
        buffer.slice(9..).unwrap_err(),
        buffer.slice_mut(0..=8).unwrap_err(),
        buffer.slice(2..4).unwrap().slice(1..3).unwrap_err(),
        buffer.as_slice_mut().split_at_mut(9).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Range { .. }), "{error}");
    }
}

#[test]
fn fills_of_every_kind_of_value() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();

    fn fill<T: hip::Pod + PartialEq + std::fmt::Debug>(device: &hip::Device, stream: &Stream, value: T, around: T) {
        for len in [1usize, 2, 3, 7, 64, 1001] {
            // The elements before and after must not change.
            let mut buffer = DeviceBuffer::from_slice(device, &vec![around; len + 2]).unwrap();
            buffer.slice_mut(1..=len).unwrap().fill_async(stream, value).unwrap();
            let mut expected = vec![value; len + 2];
            expected[0] = around;
            expected[len + 1] = around;
            assert_eq!(buffer.to_vec().unwrap(), expected, "{len} of {value:?}");
        }
    }
    fill(&device, &stream, 0xabu8, 0);
    fill(&device, &stream, 0xabcdu16, 0);
    fill(&device, &stream, -1.5f32, 0.0);
    fill(&device, &stream, 0u64, u64::MAX);
    fill(&device, &stream, std::f64::consts::PI, 0.0);
    fill(&device, &stream, [1u8, 2, 3], [0; 3]);
    fill(&device, &stream, [1.0f32, 2.0, 3.0], [0.0; 3]);
    fill(&device, &stream, [1u16, 2, 3], [0; 3]);
    fill(&device, &stream, i128::MIN + 5, 0);

    let mut bytes = DeviceBuffer::<u32>::zeroed(&device, 10).unwrap();
    bytes.fill_bytes_async(&stream, 0x7f).unwrap();
    assert_eq!(bytes.to_vec().unwrap(), [0x7f7f_7f7f; 10]);
}

#[test]
fn pinned_memory_waits_for_the_copies_that_use_it() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let n = 1 << 18;
    let mut source = PinnedBuffer::<u32>::from_slice(&device, &vec![1; n]).unwrap();
    let mut destination = PinnedBuffer::<u32>::zeroed(&device, n).unwrap();
    let mut buffer = DeviceBuffer::<u32>::uninit(&device, n).unwrap();
    for round in 2..6 {
        buffer.copy_from_pinned_async(&stream, &source).unwrap();
        buffer.copy_to_pinned_async(&stream, &mut destination).unwrap();
        // This write must not overtake the copy from it ...
        source.as_mut_slice().unwrap().fill(round);
        // ... nor this read the copy to it.
        assert!(destination.as_slice().unwrap().iter().all(|&x| x == round - 1), "round {round}");
    }
}

#[test]
fn parts_of_pinned_memory_are_copied() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let source = PinnedBuffer::from_slice(&device, &[1u8, 2, 3, 4, 5, 6]).unwrap();
    let mut destination = PinnedBuffer::<u8>::zeroed(&device, 4).unwrap();
    let mut buffer = DeviceBuffer::<u8>::zeroed(&device, 8).unwrap();
    buffer.slice_mut(1..4).unwrap().copy_from_pinned_async(&stream, source.slice(3..).unwrap()).unwrap();
    let part = destination.slice_mut(2..).unwrap();
    assert_eq!(part.len(), 2);
    buffer.slice(2..4).unwrap().copy_to_pinned_async(&stream, part).unwrap();
    assert_eq!(destination.as_slice().unwrap(), [0, 0, 5, 6]);
    assert_eq!(buffer.to_vec().unwrap(), [0, 4, 5, 6, 0, 0, 0, 0]);
    let error = buffer.copy_from_pinned_async(&stream, source.slice(..2).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Length { .. }), "{error}");
    assert!(matches!(source.slice(7..), Err(Error::Range { .. })));
    assert!(matches!(destination.slice_mut(..=4), Err(Error::Range { .. })));
}

#[test]
fn nothing_needs_to_be_kept_for_a_copy_to_be_sound() {
    let Some(device) = device() else { return };
    let n = 1 << 18;
    let mut buffer = DeviceBuffer::<u32>::zeroed(&device, n).unwrap();
    for round in 1..4u32 {
        let stream = Stream::new(&device).unwrap();
        let source = PinnedBuffer::from_slice(&device, &vec![round; n]).unwrap();
        buffer.copy_from_pinned_async(&stream, &source).unwrap();
        // Drop the stream first, then the source, while the copy may still run.
        drop(stream);
        drop(source);
        assert_eq!(buffer.to_vec().unwrap(), vec![round; n]);
    }
    // Forgetting leaks the memory, and nothing else.
    let stream = Stream::new(&device).unwrap();
    let source = PinnedBuffer::from_slice(&device, &vec![77u32; n]).unwrap();
    let mut other = DeviceBuffer::<u32>::uninit(&device, n).unwrap();
    other.copy_from_pinned_async(&stream, &source).unwrap();
    std::mem::forget(source);
    std::mem::forget(stream.clone());
    drop(stream);
    assert_eq!(other.to_vec().unwrap(), vec![77; n]);
}
