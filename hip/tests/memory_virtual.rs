//! Virtual memory management.

#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;

use common::{device, kernel, skipped, supported};
use hip::memory::virtual_memory::{AddressRange, PhysicalMemory};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, Stream};

/// Returns a piece of memory of the minimum size, if the runtime supports virtual memory management.
fn piece(device: &Device) -> Option<PhysicalMemory> {
    match hip::runtime_version().unwrap().0 {
        ..6 if hip::backend().unwrap() != hip::Backend::Sim => {
            skipped(&"the runtime of 5.7 has its own way of virtual memory management, without HSA")
        }
        _ => return supported(PhysicalMemory::new(device, 1)),
    }
    None
}

#[test]
fn a_buffer_grows_in_place() {
    let Some(device) = device() else { return };
    let Some(first) = piece(&device) else { return };
    let unit = first.byte_len();
    let range = AddressRange::reserve(&device, 4 * unit).unwrap();
    assert_eq!(range.byte_len(), 4 * unit);
    let stream = Stream::new(&device).unwrap();
    let mut pieces = vec![first];
    for round in 0..4u32 {
        let mut numbers = range.map::<u32>(0, &pieces.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(numbers.as_device_ptr().address(), range.address());
        assert_eq!((numbers.len(), numbers.device()), (pieces.len() * unit / 4, device));
        // The old content is preserved, and the buffer spans all pieces: fills and copies cross their boundaries.
        for (old, at) in (0..numbers.len()).step_by(unit / 4).enumerate().take(round as usize) {
            assert_eq!(numbers.slice(at + unit / 4 - 2..at + unit / 4).unwrap().to_vec().unwrap(), [old as u32; 2]);
        }
        numbers.slice_mut(round as usize * unit / 4..).unwrap().fill_async(&stream, round).unwrap();
        drop(numbers); // unmapped after the fill, which the next mapping waits for
        pieces.push(PhysicalMemory::new(&device, 1).unwrap());
    }
    pieces.truncate(4);
    let all = range.map::<u32>(0, &pieces.iter().collect::<Vec<_>>()).unwrap();
    let mut want: Vec<u32> = Vec::new();
    (0..4).for_each(|round| want.extend(std::iter::repeat_n(round, unit / 4)));
    assert!(all.to_vec().unwrap() == want, "a copy over all pieces");
    let copy = DeviceBuffer::from_slice(&device, &want).unwrap();
    drop(all);
    let mut all = range.map::<u32>(0, &pieces.iter().rev().collect::<Vec<_>>()).unwrap();
    assert_eq!(all.slice(..1).unwrap().to_vec().unwrap(), [3], "the last piece is the first now");
    all.copy_from_device(&copy).unwrap();
    assert!(all.to_vec().unwrap() == want);
}

/// A kernel still writes when the buffer, its memory and its addresses are dropped, in any order.
#[test]
fn what_work_uses_stays_mapped() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    for order in 0..6u32 {
        let Some(memory) = piece(&device) else { return };
        let range = AddressRange::reserve(&device, memory.byte_len()).unwrap();
        let mut numbers = range.map::<u32>(0, &[&memory]).unwrap();
        // SAFETY: 64 threads, and more elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut numbers, 100_000u32, order)) }.unwrap();
        let mut things: Vec<Box<dyn std::any::Any>> = vec![Box::new(memory), Box::new(range), Box::new(numbers)];
        drop(things.remove(order as usize % 3));
        drop(things.remove(order as usize / 3));
    }
    stream.synchronize().unwrap();
}

#[test]
fn memory_and_addresses_are_mapped_once_at_a_time() {
    let Some(device) = device() else { return };
    let Some(memory) = piece(&device) else { return };
    let other = PhysicalMemory::new(&device, 1).unwrap();
    let unit = memory.byte_len();
    let range = AddressRange::reserve(&device, 2 * unit).unwrap();
    let error = range.map::<u8>(0, &[&memory, &memory]).unwrap_err();
    assert!(error.to_string().contains("mapped already"), "{error}");
    assert!(!memory.is_mapped(), "undone");
    let numbers = range.map::<u8>(unit, &[&memory]).unwrap();
    assert!(memory.is_mapped());
    let error = range.map::<u8>(0, &[&memory]).unwrap_err();
    assert!(error.to_string().contains("mapped already"), "{error}");
    let error = range.map::<u8>(unit, &[&other]).unwrap_err();
    assert!(error.to_string().contains("nothing is mapped"), "{error}");
    let low = range.map::<u8>(0, &[&other]).unwrap();
    drop(numbers);
    let third = PhysicalMemory::new(&device, 1).unwrap();
    let high = range.map::<u8>(unit, &[&third]).unwrap();
    // If the buffer is forgotten, both stay mapped.
    std::mem::forget(high);
    assert!(third.is_mapped() && range.map::<u8>(unit, &[&memory]).is_err());
    drop(low);
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let Some(memory) = piece(&device) else { return };
    let unit = memory.byte_len();
    let range = AddressRange::reserve(&device, 1).unwrap();
    assert_eq!(range.byte_len(), unit);
    assert!(matches!(range.map::<u8>(unit, &[&memory]), Err(Error::Range { .. })));
    assert!(matches!(range.map::<u8>(usize::MAX, &[&memory]), Err(Error::Range { .. })));
    assert!(matches!(range.map::<u8>(0, &[]), Err(Error::InvalidValue { .. })));
    assert!(matches!(range.map::<()>(0, &[&memory]), Err(Error::ZeroSizedType { .. })));
    let error = range.map::<[u8; 3]>(0, &[&memory]).unwrap_err();
    assert!(error.to_string().contains("a multiple of 3 bytes"), "{error}");
    assert!(!memory.is_mapped());
    assert!(matches!(PhysicalMemory::new(&device, usize::MAX), Err(Error::TooLarge { .. })));
    assert!(matches!(AddressRange::reserve(&device, usize::MAX), Err(Error::TooLarge { .. })));
    assert!(PhysicalMemory::new(&device, 1 << 45).is_err());
    assert!(memory.export().is_err(), "not made to be shared");
}

/// Importing the descriptor yields the same memory, as in another process.
#[cfg(unix)]
#[test]
fn memory_is_shared_by_descriptor() {
    use std::os::fd::AsFd as _;
    let Some(device) = device() else { return };
    if piece(&device).is_none() {
        return;
    }
    let Some(memory) = supported(PhysicalMemory::new_shareable(&device, 1)) else { return };
    let Some(fd) = supported(memory.export()) else { return };
    let unit = memory.byte_len();
    // SAFETY: a descriptor of this memory, which is used alternately.
    let imported = unsafe { PhysicalMemory::import(&device, fd.as_fd(), unit) };
    let Some(imported) = supported(imported) else { return };
    drop(fd);
    let range = AddressRange::reserve(&device, 2 * unit).unwrap();
    let mut ours = range.map::<u32>(0, &[&memory]).unwrap();
    let mut theirs = range.map::<u32>(unit, &[&imported]).unwrap();
    ours.fill(7).unwrap();
    assert_eq!(theirs.to_vec().unwrap(), vec![7; unit / 4]);
    theirs.fill(8).unwrap();
    drop(theirs);
    drop(imported);
    assert_eq!(ours.to_vec().unwrap(), vec![8; unit / 4]);
}
