//! Pinned, registered and managed memory.

use std::panic::AssertUnwindSafe;

use hip::memory::{
    Coherence, MemoryAdvice, MemoryAttach, MemoryLocation, PinnedOptions, RegisterOptions, Registered, RegisteredBuffer,
};
use hip::{DeviceBuffer, Error, LaunchConfig, ManagedBuffer, PinnedBuffer, Status, Stream};

use crate::{device, kernel, skipped, supported};

const SLOW: u32 = 20_000;

#[test]
fn every_kind_of_pinned_memory_is_copied_and_seen_in_place() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let all = PinnedOptions::new();
    let kinds = [
        all,
        all.portable(false),
        all.mapped(true),
        all.mapped(true).coherence(Coherence::Coherent),
        all.mapped(true).coherence(Coherence::NonCoherent),
        all.mapped(true).write_combined(true),
        all.numa_user(true),
    ];
    for options in kinds {
        let mut pinned = PinnedBuffer::<u32>::with_options(&device, 64, options).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [0; 64]);
        let mut buffer = DeviceBuffer::from_slice(&device, &[3u32; 64]).unwrap();
        buffer.copy_to_pinned_async(&stream, &mut pinned).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [3; 64], "{options:?}");
        pinned.as_mut_slice().unwrap().fill(4);
        buffer.copy_from_pinned_async(&stream, &pinned).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), [4; 64], "{options:?}");
        match pinned.as_device_slice_mut() {
            Ok(in_place) => {
                // SAFETY: 64 threads, 64 elements.
                unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, 5u32)) }.unwrap();
                assert_eq!(pinned.as_slice().unwrap(), [5; 64], "the host waits for the kernel: {options:?}");
            }
            Err(error) => {
                assert_ne!(options.mapped(true), options, "{error}");
                assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
            }
        }
    }
    let mut none = PinnedBuffer::<u32>::with_options(&device, 0, all.mapped(true)).unwrap();
    assert!(none.as_device_slice().unwrap().is_empty() && none.as_mut_slice().unwrap().is_empty());
    none.as_device_slice_mut().unwrap().fill_async(&stream, 1).unwrap();
}

#[test]
fn a_vector_is_registered_and_given_back() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut elements = Vec::with_capacity(100);
    elements.extend(0..64u32);
    let mut registered = RegisteredBuffer::new(&device, elements, RegisterOptions::new()).unwrap();
    let mut buffer = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    buffer.copy_from_pinned_async(&stream, &registered).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), (0..64).collect::<Vec<u32>>());
    let in_place = registered.as_device_slice_mut().unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, 6u32)) }.unwrap();
    let elements = registered.into_vec().unwrap();
    assert_eq!((elements.len(), elements.capacity()), (64, 100));
    assert_eq!(elements, [6; 64], "the kernel has ended when they come back");
    // The same memory can be registered again, and dropped while it is in use.
    let mut registered = RegisteredBuffer::new(&device, elements, RegisterOptions::new().coarse_grained(true)).unwrap();
    let in_place = registered.as_device_slice_mut().unwrap();
    // SAFETY: as above.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, 7u32)) }.unwrap();
    drop(registered);
    stream.synchronize().unwrap();
    let none = RegisteredBuffer::<u32>::new(&device, Vec::with_capacity(5), RegisterOptions::new()).unwrap();
    assert!(none.into_vec().unwrap().is_empty());
}

#[test]
fn borrowed_memory_is_the_callers_again_after_the_work() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut mine = vec![0u32; 64];
    for value in 1..5u32 {
        Registered::scope(&device, &mut mine, RegisterOptions::new(), |mut registered| {
            let in_place = registered.as_device_slice_mut()?;
            // SAFETY: 64 threads, 64 elements.
            unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, value)) }
        })
        .unwrap()
        .unwrap();
        assert_eq!(mine, [value; 64]);
    }
    // Forgetting the handle has no effect, and neither does a panic.
    Registered::scope(&device, &mut mine, RegisterOptions::new(), |mut registered| {
        let in_place = registered.as_device_slice_mut().unwrap();
        // SAFETY: as above.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, 9u32)) }.unwrap();
        std::mem::forget(Box::new(registered));
    })
    .unwrap();
    assert_eq!(mine, [9; 64]);
    let unwound = std::panic::catch_unwind(AssertUnwindSafe(|| {
        Registered::scope(&device, &mut mine, RegisterOptions::new(), |mut registered| {
            let in_place = registered.as_device_slice_mut().unwrap();
            // SAFETY: as above.
            unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (in_place, SLOW, 10u32)) }.unwrap();
            std::panic::resume_unwind(Box::new("as a panic would"));
        })
    }));
    assert!(unwound.is_err());
    assert_eq!(mine, [10; 64]);
    let empty = Registered::scope(&device, &mut [] as &mut [u32], RegisterOptions::new(), |r| r.len()).unwrap();
    assert_eq!(empty, 0);
    let error = Registered::scope(&device, &mut [(); 3], RegisterOptions::new(), |r| r.len()).unwrap_err();
    assert!(matches!(error, Error::ZeroSizedType { .. }), "{error}");
}

/// Memory that the runtime has allocated or pinned already is not pinned again: unregistering it would affect its other
/// owner.
#[test]
fn memory_that_is_pinned_already_is_not_registered() {
    let Some(device) = device() else { return };
    let scope = |memory: &mut [u32]| Registered::scope(&device, memory, RegisterOptions::new(), |r| r.len());
    let refused = |memory: &mut [u32]| {
        let error = scope(memory).unwrap_err();
        assert!(matches!(error, Error::InvalidValue { what: "host memory to register", .. }), "{error}");
    };
    let mut pinned = PinnedBuffer::<u32>::zeroed(&device, 5000).unwrap();
    refused(pinned.as_mut_slice().unwrap());
    refused(&mut pinned.as_mut_slice().unwrap()[100..4000]);
    if let Some(mut managed) = supported(ManagedBuffer::<u32>::zeroed(&device, 5000)) {
        refused(managed.as_mut_slice().unwrap());
    }
    let mut mine = vec![1u32; 5000];
    Registered::scope(&device, &mut mine, RegisterOptions::new(), |mut registered| {
        refused(&mut registered.as_mut_slice().unwrap()[10..20]);
        refused(registered.as_mut_slice().unwrap());
        let on_device = DeviceBuffer::from_slice(&device, &[3; 5000]).unwrap();
        on_device.copy_to_pinned_async(&device.default_stream(), &mut registered).unwrap();
    })
    .unwrap();
    assert_eq!(mine, [3; 5000]);
    assert_eq!(pinned.as_slice().unwrap(), [0; 5000]);
    // Neighbours that share a page do not prevent it.
    let (low, high) = mine.split_at_mut(2500);
    let inner = Registered::scope(&device, low, RegisterOptions::new(), |_| scope(high)).unwrap();
    assert_eq!(inner.unwrap(), 2500);
}

#[test]
fn managed_memory_is_one_for_host_and_device() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut shared = ManagedBuffer::<u32>::from_slice(&device, &[1; 64]).unwrap();
    assert_eq!(shared.as_slice().unwrap(), [1; 64]);
    for value in 2..6u32 {
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut shared, SLOW, value)) }.unwrap();
        assert_eq!(shared.as_slice().unwrap(), [value; 64], "the host waits for the kernel");
    }
    let mut copy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    copy.copy_from_device_async(&stream, shared.as_device_slice().unwrap()).unwrap();
    shared.as_mut_slice().unwrap().fill(0);
    assert_eq!(copy.to_vec().unwrap(), [5; 64], "the host writes after the copy has read");
    assert!(ManagedBuffer::<u8>::zeroed(&device, 0).unwrap().as_slice().unwrap().is_empty());
    assert!(matches!(ManagedBuffer::<u64>::zeroed(&device, usize::MAX), Err(Error::TooLarge { .. })));
}

/// Migrations and attachments use the memory: the host's write comes after them.
#[test]
fn the_host_waits_for_moves_of_managed_memory() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let stream = Stream::new(&device).unwrap();
    let mut busy = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    for attach in [false, true] {
        let mut shared = ManagedBuffer::<u32>::zeroed(&device, 5000).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut busy, 100_000u32, 1u32)) }.unwrap();
        let queued = match attach {
            false => shared.prefetch_async(&stream, MemoryLocation::Device(device)),
            true => shared.attach_async(&stream, MemoryAttach::Single),
        };
        match queued {
            Ok(()) => {
                shared.as_mut_slice().unwrap()[0] = 1;
                assert!(stream.is_idle().unwrap());
            }
            Err(error) => skipped(&error),
        }
    }
}

#[test]
fn managed_memory_takes_advice() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let mut shared = ManagedBuffer::<u32>::from_slice(&device, &[1; 5000]).unwrap();
    let supported = |result: hip::Result<()>, what: &str| match result {
        Ok(()) => true,
        Err(error) => {
            // Not supported by the software GPU, and rejected by runtimes whose driver has no shared virtual memory.
            let known = [Status::NOT_SUPPORTED, Status::INVALID_VALUE, Status::UNKNOWN, Status::OUT_OF_MEMORY];
            assert!(error.status().is_some_and(|status| known.contains(&status)), "{what}: {error}");
            skipped(&format!("{what}: {error}"));
            false
        }
    };
    // Without shared virtual memory in the driver, some runtimes accept advice and ignore it.
    let kept = supported(shared.advise(MemoryAdvice::ReadMostly(true)), "read-mostly advice")
        && shared.is_read_mostly().is_ok_and(|mostly| mostly);
    supported(shared.advise(MemoryAdvice::PreferredLocation(MemoryLocation::Device(device))), "a preferred place");
    let kept = kept && shared.preferred_location().unwrap() == Some(MemoryLocation::Device(device));
    if kept {
        shared.advise(MemoryAdvice::ReadMostly(false)).unwrap();
        assert!(!shared.is_read_mostly().unwrap());
        shared.advise(MemoryAdvice::PreferredLocation(MemoryLocation::Host)).unwrap();
        assert_eq!(shared.preferred_location().unwrap(), Some(MemoryLocation::Host));
        shared.advise(MemoryAdvice::UnsetPreferredLocation).unwrap();
        assert_eq!(shared.preferred_location().unwrap(), None);
        let (here, host) = (MemoryLocation::Device(device), MemoryLocation::Host);
        assert_eq!(shared.accessed_by().unwrap(), []);
        for (advice, by) in [
            (MemoryAdvice::AccessedBy(here, true), vec![here]),
            (MemoryAdvice::AccessedBy(host, true), vec![here, host]),
            (MemoryAdvice::AccessedBy(here, false), vec![host]),
        ] {
            shared.advise(advice).unwrap();
            let found = shared.accessed_by().unwrap();
            assert!(found.len() == by.len() && by.iter().all(|place| found.contains(place)), "{advice:?}: {found:?}");
        }
        assert_eq!(ManagedBuffer::<u32>::zeroed(&device, 0).unwrap().accessed_by().unwrap(), []);
    } else {
        skipped(&"advice for managed memory is not kept here");
    }
    supported(shared.advise(MemoryAdvice::AccessedBy(MemoryLocation::Device(device), true)), "who accesses it");
    if supported(shared.prefetch_async(&stream, MemoryLocation::Device(device)), "prefetch") {
        stream.synchronize().unwrap();
        if kept {
            assert_eq!(shared.last_prefetch_location().unwrap(), Some(MemoryLocation::Device(device)));
        }
        shared.prefetch_async(&stream, MemoryLocation::Host).unwrap();
    }
    supported(shared.attach_async(&stream, MemoryAttach::Single), "attachment");
    // Whatever is supported, the elements do not change.
    assert_eq!(shared.as_slice().unwrap(), vec![1; 5000]);
    shared.as_mut_slice().unwrap()[0] = 2;
    // No call is made for an empty buffer.
    let mut none = ManagedBuffer::<u32>::zeroed(&device, 0).unwrap();
    none.advise(MemoryAdvice::ReadMostly(true)).unwrap();
    none.prefetch_async(&stream, MemoryLocation::Host).unwrap();
    none.attach_async(&stream, MemoryAttach::Global).unwrap();
    assert!(!none.is_read_mostly().unwrap() && none.preferred_location().unwrap().is_none());
}
