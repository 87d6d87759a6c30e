//! Copies with memory of the host.

use cuda_compat::driver::sys::CUresult;
use cuda_compat::driver::{DevicePtr, DriverError};

use crate::context;

#[test]
fn pageable_memory_is_free_and_full_when_a_copy_returns() {
    let context = context();
    let stream = context.new_stream().unwrap();
    let mut host = vec![7_u32; 100_000];
    let slice = stream.clone_htod(&host).unwrap();
    host.fill(9); // not copied to the device
    let mut back = vec![0_u32; 100_000];
    stream.memcpy_dtoh(&slice, &mut back).unwrap();
    assert!(back.iter().all(|word| *word == 7));
}

#[test]
fn pinned_memory_is_waited_for_without_other_streams() {
    let context = context();
    let stream = context.default_stream();
    let slice = stream.clone_htod(&[3_u32; 50_000]).unwrap();
    // SAFETY: all elements are written below.
    let mut pinned = unsafe { context.alloc_pinned::<u32>(50_000) }.unwrap();
    stream.memcpy_dtoh(&slice, &mut pinned).unwrap();
    assert!(pinned.as_slice().unwrap().iter().all(|word| *word == 3));
}

#[test]
fn a_longer_destination_keeps_its_end() {
    let stream = context().default_stream();
    let slice = stream.clone_htod(&[1_u8, 2]).unwrap();
    let mut host = [9_u8; 4];
    stream.memcpy_dtoh(&slice, &mut host).unwrap();
    assert_eq!(host, [1, 2, 9, 9]);
}

#[test]
#[should_panic(expected = "a copy of 4 elements to 2")]
fn a_shorter_destination_panics() {
    let stream = context().default_stream();
    let mut slice = stream.alloc_zeros::<u8>(2).unwrap();
    let _ = stream.memcpy_htod(&[0_u8; 4], &mut slice);
}

#[test]
fn slices_without_elements_have_no_memory() {
    let stream = context().default_stream();
    let empty = stream.alloc_zeros::<f32>(0).unwrap();
    assert_eq!(empty.device_ptr(&stream).0, 0);
    assert_eq!(stream.clone_dtoh(&empty).unwrap(), [0.0_f32; 0]);
    assert_eq!(stream.clone_dtod(&empty).unwrap().len(), 0);
    assert!(stream.null::<u8>().unwrap().is_empty());
    // SAFETY: it has no elements.
    let huge = unsafe { stream.alloc::<u64>(usize::MAX / 4) }.unwrap_err();
    assert_eq!(huge, DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
}
