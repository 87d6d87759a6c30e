//! Prefetches and discards of managed memory in batches.

use hip::memory::{DiscardBatch, MemoryLocation, PrefetchBatch};
use hip::{Device, Error, LaunchConfig, ManagedBuffer, PinnedBuffer, Stream};

use super::{device, kernel, supported};

/// The location to which memory was last migrated, if the runtime reports it.
fn last(buffer: &ManagedBuffer<u32>) -> Option<MemoryLocation> {
    buffer.last_prefetch_location().unwrap()
}

#[test]
fn each_piece_of_a_batch_goes_to_its_place() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let there = MemoryLocation::Device(device);
    let first = ManagedBuffer::<u32>::from_slice(&device, &[1; 3000]).unwrap();
    let second = ManagedBuffer::<u32>::from_slice(&device, &[2; 3000]).unwrap();
    let third = ManagedBuffer::<u32>::from_slice(&device, &[3; 3000]).unwrap();
    let mut batch = PrefetchBatch::new();
    batch.add(&first, there).unwrap();
    batch.add(second.slice(1000..).unwrap(), MemoryLocation::Host).unwrap();
    batch.add(third.slice(5..5).unwrap(), there).unwrap();
    assert_eq!(batch.len(), 2, "no elements are left out");
    if supported(batch.queue(&stream)).is_none() {
        return;
    }
    stream.synchronize().unwrap();
    if device.is_simulated() {
        assert_eq!((last(&first), last(&second), last(&third)), (Some(there), None, None), "a part is not all");
    }
    let mut batch = PrefetchBatch::new();
    for (buffer, place) in [(&first, MemoryLocation::Host), (&second, there), (&third, there)] {
        batch.add(buffer, place).unwrap();
    }
    batch.queue(&stream).unwrap();
    stream.synchronize().unwrap();
    if device.is_simulated() {
        assert_eq!((last(&first), last(&second), last(&third)), (Some(MemoryLocation::Host), Some(there), Some(there)));
    }
    for (buffer, value) in [(first, 1), (second, 2), (third, 3)] {
        assert_eq!(buffer.as_slice().unwrap(), [value; 3000], "a move changes no element");
    }
}

#[test]
fn what_is_discarded_is_gone_and_the_rest_stays_in_the_order_of_streams() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let mut data = ManagedBuffer::<u32>::from_slice(&device, &[5; 64]).unwrap();
    for round in 0..4u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&other, LaunchConfig::new(1, 64), (&mut data, 20_000u32, round)) }.unwrap();
        let mut batch = DiscardBatch::new();
        batch.add(data.slice_mut(32..).unwrap()).unwrap();
        let queued = match round % 2 {
            0 => batch.queue(&stream),
            _ => batch.queue_and_prefetch(&stream, MemoryLocation::Device(device)),
        };
        if supported(queued).is_none() {
            return;
        }
        if device.is_simulated() {
            // It comes after the launch, and the host's read comes after it. The other elements are arbitrary.
            assert_eq!(data.as_slice().unwrap()[31..33], [round, 0xdddd_dddd]);
        }
        data.as_device_slice_mut().unwrap().slice_mut(32..).unwrap().fill_async(&other, 100 + round).unwrap();
        let now = data.as_slice().unwrap();
        assert_eq!((&now[..32], &now[32..]), (&[round; 32][..], &[100 + round; 32][..]));
    }
    if device.is_simulated() {
        let mut batch = DiscardBatch::new();
        batch.add(&mut data).unwrap();
        batch.queue_and_prefetch(&stream, MemoryLocation::Host).unwrap();
        stream.synchronize().unwrap();
        assert_eq!(last(&data), Some(MemoryLocation::Host));
    }
}

#[test]
fn batches_take_managed_memory_alone_and_may_be_of_nothing() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    PrefetchBatch::new().queue(&stream).unwrap();
    DiscardBatch::new().queue(&stream).unwrap();
    DiscardBatch::new().queue_and_prefetch(&stream, MemoryLocation::Host).unwrap();
    let pinned = PinnedBuffer::<u32>::zeroed(&device, 10).unwrap();
    let mut other = PinnedBuffer::<u32>::zeroed(&device, 10).unwrap();
    let (mut prefetch, mut discard) = (PrefetchBatch::new(), DiscardBatch::new());
    let error = prefetch.add(&pinned, MemoryLocation::Host).unwrap_err();
    assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
    assert!(matches!(discard.add(&mut other), Err(Error::InvalidValue { .. })));
    let mut none = ManagedBuffer::<u32>::zeroed(&device, 0).unwrap();
    discard.add(&mut none).unwrap();
    assert!(discard.is_empty() && prefetch.is_empty());
}

#[test]
fn the_arrays_of_c_are_checked_by_the_software_gpu() {
    use hip::sys::*;
    let Some(device) = device() else { return };
    if !device.is_simulated() {
        return;
    }
    let memory = ManagedBuffer::<u32>::zeroed(&device, 100).unwrap();
    let start = memory.as_slice().unwrap().as_ptr().cast_mut().cast::<std::ffi::c_void>();
    let here = hipMemLocation { type_: hipMemLocationTypeDevice, id: 0 };
    let no_device = hipMemLocation { type_: hipMemLocationTypeDevice, id: Device::count().unwrap() as i32 };
    let nowhere = hipMemLocation { type_: hipMemLocationTypeInvalid, id: 0 };
    let call = |starts: &mut [*mut std::ffi::c_void],
                sizes: &mut [usize],
                places: &mut [hipMemLocation],
                at: &mut [usize],
                flags| {
        assert_eq!((starts.len(), places.len()), (sizes.len(), at.len()));
        let (n, k) = (starts.len(), places.len());
        let (starts, sizes) = (starts.as_mut_ptr(), sizes.as_mut_ptr());
        let (places, at) = (places.as_mut_ptr(), at.as_mut_ptr());
        // SAFETY: the arrays are as long as is said; hip-sim checks what is in them.
        unsafe { hipMemPrefetchBatchAsync(starts, sizes, n, places, at, k, flags, std::ptr::null_mut()) }
    };
    let two = &mut [start, start];
    assert_eq!(call(two, &mut [400, 4], &mut [here, here], &mut [0, 1], 0), hipSuccess);
    assert_eq!(call(two, &mut [400, 4], &mut [here], &mut [0], 0), hipSuccess, "one place for both");
    assert_eq!(call(two, &mut [400, 4], &mut [here], &mut [0], 1), hipErrorInvalidValue, "flags");
    assert_eq!(call(two, &mut [401, 4], &mut [here], &mut [0], 0), hipErrorInvalidValue, "past the end");
    assert_eq!(call(two, &mut [0, 4], &mut [here], &mut [0], 0), hipErrorInvalidValue, "no bytes");
    assert_eq!(call(two, &mut [4, usize::MAX], &mut [here], &mut [0], 0), hipErrorInvalidValue);
    assert_eq!(call(&mut [std::ptr::null_mut()], &mut [4], &mut [here], &mut [0], 0), hipErrorInvalidValue);
    assert_eq!(call(two, &mut [4, 4], &mut [], &mut [], 0), hipErrorInvalidValue, "no place");
    assert_eq!(call(two, &mut [4, 4], &mut [here], &mut [1], 0), hipErrorInvalidValue, "not from the first on");
    assert_eq!(call(two, &mut [4, 4], &mut [here, here], &mut [0, 2], 0), hipErrorInvalidValue, "past the last");
    assert_eq!(call(two, &mut [4, 4], &mut [here, here], &mut [0, 0], 0), hipErrorInvalidValue, "not ascending");
    assert_eq!(call(two, &mut [4, 4], &mut [nowhere], &mut [0], 0), hipErrorInvalidValue);
    assert_eq!(call(two, &mut [4, 4], &mut [no_device], &mut [0], 0), hipErrorInvalidDevice);
    assert_eq!(call(&mut [], &mut [], &mut [here], &mut [0], 0), hipErrorInvalidValue, "of nothing");
    hip::runtime::take_last_error();
}
