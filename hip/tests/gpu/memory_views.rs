//! Chunks of slices, and casts to other types.

use hip::memory::F8E4M3;
use hip::{DeviceBuffer, Error, LaunchConfig, Stream};

use crate::{device, kernel};

#[test]
fn chunks_are_pieces_of_a_slice() {
    let Some(device) = device() else { return };
    let numbers: Vec<u32> = (0..10).collect();
    let mut buffer = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    for size in 1..=11 {
        let on_host: Vec<Vec<u32>> = numbers.chunks(size).map(<[u32]>::to_vec).collect();
        let chunks = buffer.as_slice().chunks(size).unwrap();
        assert_eq!(chunks.len(), on_host.len());
        let forward: Vec<Vec<u32>> = chunks.map(|chunk| chunk.to_vec().unwrap()).collect();
        assert_eq!(forward, on_host);
        let mut backward: Vec<Vec<u32>> =
            buffer.as_slice().chunks(size).unwrap().rev().map(|chunk| chunk.to_vec().unwrap()).collect();
        backward.reverse();
        assert_eq!(backward, on_host);
        assert_eq!(buffer.as_slice().chunks_exact(size).is_ok(), numbers.len() % size == 0);
    }
    let mut all: Vec<_> = buffer.as_slice_mut().chunks_exact_mut(5).unwrap().collect();
    all[1].fill(1).unwrap();
    all[0].fill(2).unwrap();
    assert_eq!(all[1].slice(..2).unwrap().to_vec().unwrap(), [1, 1]);
    let mut ends = buffer.as_slice_mut().chunks_mut(4).unwrap();
    ends.next_back().unwrap().fill(9).unwrap();
    ends.next().unwrap().fill(8).unwrap();
    assert_eq!(ends.len(), 1);
    assert_eq!(buffer.to_vec().unwrap(), [8, 8, 8, 8, 2, 1, 1, 1, 9, 9]);
    assert!(matches!(buffer.as_slice().chunks(0), Err(Error::InvalidValue { .. })));
    assert!(matches!(buffer.as_slice_mut().chunks_mut(0), Err(Error::InvalidValue { .. })));
    assert!(matches!(buffer.as_slice_mut().chunks_exact_mut(3), Err(Error::InvalidValue { .. })));
    assert_eq!(buffer.slice(3..3).unwrap().chunks(2).unwrap().len(), 0);
}

#[test]
fn a_slice_is_seen_as_other_types() {
    let Some(device) = device() else { return };
    let mut buffer = DeviceBuffer::from_slice(&device, &[0x0403_0201u32, 0x0807_0605]).unwrap();
    let bytes = buffer.slice(1..).unwrap().cast::<u8>().unwrap();
    assert_eq!((bytes.len(), bytes.to_vec().unwrap()), (4, vec![5, 6, 7, 8]));
    // Casts bytes back to elements, at aligned and unaligned offsets.
    let all = buffer.as_slice().cast::<u8>().unwrap();
    assert_eq!(all.slice(4..).unwrap().cast::<u16>().unwrap().to_vec().unwrap(), [0x0605, 0x0807]);
    assert!(matches!(all.slice(1..5).unwrap().cast::<u32>(), Err(Error::InvalidValue { .. })));
    assert!(matches!(all.slice(..5).unwrap().cast::<u32>(), Err(Error::InvalidValue { .. })));
    assert!(matches!(all.cast::<()>(), Err(Error::ZeroSizedType { .. })));
    let mut pair = buffer.as_slice_mut().cast::<u64>().unwrap();
    assert_eq!(pair.len(), 1);
    pair.fill(u64::MAX).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [u32::MAX; 2]);
}

#[test]
fn slices_that_overlap_are_told() {
    let Some(device) = device() else { return };
    let buffer = DeviceBuffer::<u32>::zeroed(&device, 10).unwrap();
    let other = DeviceBuffer::<u32>::zeroed(&device, 10).unwrap();
    let low = buffer.slice(..5).unwrap();
    assert!(low.overlaps(&buffer) && low.overlaps(buffer.slice(4..).unwrap()));
    assert!(!low.overlaps(buffer.slice(5..).unwrap()) && !low.overlaps(&other));
    assert!(!low.overlaps(buffer.slice(2..2).unwrap()), "nothing overlaps nothing");
    assert!(low.overlaps(buffer.as_slice().cast::<u8>().unwrap().slice(19..20).unwrap()));
}

#[test]
fn small_floats_are_elements_and_arguments() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let numbers: Vec<F8E4M3> = [1.0, -2.0, 448.0, 0.5].map(F8E4M3::from_f32).to_vec();
    let mut buffer = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), numbers);
    buffer.slice_mut(1..).unwrap().fill_async(&stream, F8E4M3::MAX).unwrap();
    let back: Vec<f32> = buffer.to_vec().unwrap().into_iter().map(f32::from).collect();
    assert_eq!(back, [1.0, 448.0, 448.0, 448.0]);
}

#[cfg(feature = "half")]
#[test]
fn halves_are_elements() {
    use hip::half::{bf16, f16};
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut buffer = DeviceBuffer::from_slice(&device, &[f16::from_f32(1.5), f16::MAX]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [f16::from_f32(1.5), f16::MAX]);
    buffer.fill_async(&stream, f16::from_f32(-0.25)).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [f16::from_f32(-0.25); 2]);
    let other = DeviceBuffer::from_slice(&device, &[bf16::from_f32(3.0)]).unwrap();
    assert_eq!(other.as_slice().cast::<u16>().unwrap().to_vec().unwrap(), [0x4040]);
}

#[cfg(feature = "complex")]
#[test]
fn complex_numbers_are_elements() {
    use hip::num_complex::Complex;
    let Some(device) = device() else { return };
    let numbers = [Complex::new(1.0f32, -2.0), Complex::new(0.0, 3.0)];
    let buffer = DeviceBuffer::from_slice(&device, &numbers).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), numbers);
    assert_eq!(buffer.as_slice().cast::<f32>().unwrap().to_vec().unwrap(), [1.0, -2.0, 0.0, 3.0]);
}

#[test]
fn a_kernel_takes_a_slice_of_another_type() {
    let Some(add) = kernel("add_in_place") else { return };
    let stream = Stream::new(&add.device()).unwrap();
    let mut bytes = DeviceBuffer::<u8>::zeroed(&add.device(), 64 * 4).unwrap();
    let numbers = bytes.as_slice_mut().cast::<i32>().unwrap();
    // SAFETY: 64 elements.
    unsafe { add.launch(&stream, LaunchConfig::new(1, 64), (numbers, 5i32, 64u32)) }.unwrap();
    assert_eq!(bytes.as_slice().cast::<i32>().unwrap().to_vec().unwrap(), [5; 64]);
}

#[test]
fn the_runtime_knows_what_an_address_is_of() {
    use hip::memory::PointerKind;
    use hip::{DevicePtr, ManagedBuffer, PinnedBuffer};
    let Some(device) = device() else { return };
    let buffer = DeviceBuffer::<u32>::zeroed(&device, 100).unwrap();
    let at = buffer.slice(10..).unwrap().as_device_ptr();
    let found = at.attributes().unwrap().unwrap();
    assert_eq!((found.kind, found.device, found.device_address), (PointerKind::Device, device, at.address()));
    assert!(!found.is_managed && found.host_address == 0, "{found:?}");

    let mut pinned = PinnedBuffer::<u32>::zeroed(&device, 100).unwrap();
    let host = pinned.as_mut_slice().unwrap().as_ptr() as u64;
    let found = DevicePtr::<u32>::from_address(host).attributes().unwrap().unwrap();
    assert_eq!((found.kind, found.host_address), (PointerKind::Host, host));

    if let Some(mut managed) = crate::supported(ManagedBuffer::<u32>::zeroed(&device, 100)) {
        let host = managed.as_mut_slice().unwrap().as_ptr() as u64;
        let found = DevicePtr::<u32>::from_address(host).attributes().unwrap().unwrap();
        assert!(found.is_managed && found.kind == PointerKind::Managed, "{found:?}");
    }

    let ours = [0u32; 4];
    assert_eq!(DevicePtr::<u32>::from_address(ours.as_ptr() as u64).attributes().unwrap(), None);
    assert_eq!(DevicePtr::<u32>::null().attributes().unwrap(), None);
    drop(buffer);
}
