//! Stream-ordered allocation and pools.

use hip::memory::pool::{MemoryAccess, MemoryPool, PoolOptions, PoolReuse};
use hip::{Device, DeviceBuffer, Error, LaunchConfig, Module, Status, Stream};

use crate::{device, in_child, is_child, kernel, skipped};

/// Returns a pool, if the runtime supports them.
fn pool(device: &Device, options: PoolOptions) -> Option<MemoryPool> {
    match MemoryPool::new(device, options) {
        Ok(pool) => Some(pool),
        Err(error) if error.status() == Some(Status::NOT_SUPPORTED) => {
            skipped(&error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_buffer_of_a_stream_holds_elements() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    for len in [1usize, 1000, 100_000] {
        let mut buffer = DeviceBuffer::<u32>::uninit_async(&stream, len).unwrap();
        assert_eq!((buffer.len(), buffer.device()), (len, device));
        buffer.fill_async(&stream, 7).unwrap();
        assert_eq!(buffer.to_vec().unwrap(), vec![7; len]);
        assert_eq!(DeviceBuffer::<f64>::zeroed_async(&stream, len).unwrap().to_vec().unwrap(), vec![0.0; len]);
    }
    let mut none = DeviceBuffer::<u32>::uninit_async(&stream, 0).unwrap();
    none.fill_async(&stream, 1).unwrap();
    assert!(none.to_vec().unwrap().is_empty());
}

#[test]
fn other_streams_and_the_host_come_after_the_allocation() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for round in 0..5u32 {
        let mut busy = DeviceBuffer::<u32>::uninit_async(&first, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&first, LaunchConfig::new(1, 64), (&mut busy, 20_000u32, round)) }.unwrap();
        // Allocated after the slow kernel, and used on another stream.
        let mut later = DeviceBuffer::<u32>::uninit_async(&first, 64).unwrap();
        later.copy_from_device_async(&second, &busy).unwrap();
        assert_eq!(later.to_vec().unwrap(), [round; 64]);
    }
}

/// Memory that is freed on its stream while another stream still uses it is not reused before that use is over.
#[test]
fn memory_is_freed_behind_its_uses_on_every_stream() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (owner, user) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for round in 0..20u32 {
        let mut used = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed_async(&user, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&user, LaunchConfig::new(1, 64), (&mut used, 20_000u32, round)) }.unwrap();
        copy.copy_from_device_async(&user, &used).unwrap();
        drop(used); // freed in the order of `owner`, which has to wait for `user`
        let mut next = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        next.fill_async(&owner, u32::MAX).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [round; 64], "its memory was given to others too early");
    }
}

/// Memory is reused while earlier work on it is still queued. The allocation comes after that work, also for other
/// streams.
#[test]
fn other_streams_come_after_what_the_memory_was_used_for_before() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (owner, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for _ in 0..5 {
        let mut before = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&owner, LaunchConfig::new(1, 64), (&mut before, 100_000u32, 1u32)) }.unwrap();
        drop(before);
        let mut after = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        after.fill_async(&other, 2).unwrap();
        owner.synchronize().unwrap();
        assert_eq!(after.to_vec().unwrap(), [2; 64]);
    }
}

/// The opt-out of the order between streams does not apply to frees.
#[test]
fn memory_is_freed_in_order_in_any_case() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    let (owner, user) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for round in 0..10u32 {
        let mut used = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        let mut copy = DeviceBuffer::<u32>::zeroed_async(&user, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&user, LaunchConfig::new(1, 64), (&mut used, 100_000u32, round)) }.unwrap();
        copy.copy_from_device_async(&user, &used).unwrap();
        // SAFETY: no work is queued in it that must be ordered with another stream's work.
        unsafe { hip::stream::without_stream_order(|| drop(used)) };
        let mut next = DeviceBuffer::<u32>::uninit_async(&owner, 64).unwrap();
        next.fill_async(&owner, u32::MAX).unwrap();
        assert_eq!(copy.to_vec().unwrap(), [round; 64], "its memory was given to others too early");
    }
}

#[test]
fn dropping_does_not_wait() {
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    // Warm-up: the first allocation of a pool may wait.
    drop(DeviceBuffer::<u32>::uninit_async(&stream, 64).unwrap());
    let mut seen = false;
    for _ in 0..10 {
        let mut buffer = DeviceBuffer::<u32>::uninit_async(&stream, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut buffer, 2_000_000u32, 1u32)) }.unwrap();
        drop(buffer);
        seen |= !stream.is_idle().unwrap();
        stream.synchronize().unwrap();
    }
    assert!(seen, "the stream was always done when the buffer was dropped");
}

#[test]
fn any_order_of_drops_will_do() {
    let Some(slow) = kernel("slow_store") else { return };
    let device = slow.device();
    for order in 0..24u32 {
        let Some(pool) = pool(&device, PoolOptions::new()) else { return };
        let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let mut a = pool.uninit_async::<u32>(&first, 64).unwrap();
        let mut b = pool.uninit_async::<u32>(&second, 64).unwrap();
        // SAFETY: 64 threads, 64 elements.
        unsafe { slow.launch(&first, LaunchConfig::new(1, 64), (&mut a, 20_000u32, 5u32)) }.unwrap();
        b.copy_from_device_async(&second, &a).unwrap();
        let mut things: Vec<Box<dyn std::any::Any>> =
            vec![Box::new(pool), Box::new(first), Box::new(second), Box::new(a), Box::new(b)];
        let mut state = order;
        while !things.is_empty() {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12345);
            drop(things.swap_remove((state >> 16) as usize % things.len()));
        }
    }
    device.synchronize().unwrap();
}

#[test]
fn a_pool_counts_what_is_in_use() {
    // No other thread waits there; see below.
    #[cfg(target_os = "linux")]
    if crate::process::in_own_process("memory_pool::a_pool_counts_what_is_in_use", &[]) {
        return;
    }
    let Some(device) = device() else { return };
    let Some(pool) = pool(&device, PoolOptions::new()) else { return };
    let stream = Stream::new(&device).unwrap();
    pool.set_release_threshold(u64::MAX).unwrap();
    assert_eq!(pool.release_threshold().unwrap(), u64::MAX);
    assert_eq!(pool.usage().unwrap().used, 0);
    // Regardless of the threshold, HIP 7.2 sometimes releases the memory if another thread waits at the same time.
    let kept = (0..10).any(|_| {
        let a = pool.zeroed_async::<u8>(&stream, 1 << 20).unwrap();
        let b = pool.zeroed_async::<u8>(&stream, 1 << 20).unwrap();
        let usage = pool.usage().unwrap();
        assert!(usage.used >= 2 << 20 && usage.reserved >= usage.used, "{usage:?}");
        assert!(usage.used_high >= usage.used && usage.reserved_high >= usage.reserved, "{usage:?}");
        drop((a, b));
        stream.synchronize().unwrap();
        let usage = pool.usage().unwrap();
        assert_eq!(usage.used, 0, "{usage:?}");
        usage.reserved >= 2 << 20
    });
    assert!(kept, "as the threshold says");
    pool.trim(0).unwrap();
    let reserved = pool.usage().unwrap().reserved;
    // 5.7 decrements by numbers that it reads from freed memory.
    assert!(reserved == 0 || hip::runtime_version().unwrap().0 < 6, "{reserved}");
    match pool.reset_high_watermarks() {
        Ok(()) => assert!(pool.usage().unwrap().used_high < 2 << 20),
        // 5.7 does not reset them.
        Err(error) => {
            assert!(hip::runtime_version().unwrap().0 < 6, "{error}");
            assert_eq!(error.status(), Some(Status::INVALID_VALUE), "{error}");
        }
    }
    // A trimmed pool can allocate again.
    assert_eq!(pool.zeroed_async::<u8>(&stream, 5).unwrap().to_vec().unwrap(), [0; 5]);
}

#[test]
fn when_memory_is_reused_can_be_set() {
    let Some(device) = device() else { return };
    let Some(pool) = pool(&device, PoolOptions::new()) else { return };
    for bits in [1, 2, 4, 0, 7] {
        let reuse = PoolReuse {
            event_dependencies: bits & 1 != 0,
            opportunistic: bits & 2 != 0,
            internal_dependencies: bits & 4 != 0,
        };
        pool.set_reuse(reuse).unwrap();
        assert_eq!(pool.reuse().unwrap(), reuse);
    }
}

#[test]
fn the_current_pool_is_the_default_one_unless_set() {
    let Some(device) = device() else { return };
    let Some(other) = pool(&device, PoolOptions::new()) else { return };
    if !is_child() && device.is_simulated() {
        // In a process of its own: other tests allocate from the current pool.
        in_child("memory_pool::the_current_pool_is_the_default_one_unless_set", &[]);
        return;
    }
    let stream = Stream::new(&device).unwrap();
    let default = device.default_memory_pool().unwrap();
    assert_eq!(default, device.default_memory_pool().unwrap());
    assert_eq!(device.memory_pool().unwrap(), default);
    device.set_memory_pool(&other).unwrap();
    assert_eq!(device.memory_pool().unwrap(), other);
    let buffer = DeviceBuffer::<u8>::zeroed_async(&stream, 1 << 20).unwrap();
    assert!(other.usage().unwrap().used >= 1 << 20);
    // This drops our last handle: the device keeps the pool.
    drop(other);
    let again = device.memory_pool().unwrap();
    assert!(again.usage().unwrap().used >= 1 << 20);
    device.set_memory_pool(&default).unwrap();
    assert_eq!(device.memory_pool().unwrap(), default);
    drop(again); // `buffer` keeps it now
    assert_eq!(buffer.to_vec().unwrap(), vec![0; 1 << 20]);
}

#[test]
fn wrong_devices_and_sizes_are_refused() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    assert!(matches!(DeviceBuffer::<u64>::uninit_async(&stream, usize::MAX), Err(Error::TooLarge { .. })));
    assert!(matches!(DeviceBuffer::<()>::uninit_async(&stream, 1), Err(Error::ZeroSizedType { .. })));
    let error = DeviceBuffer::<u8>::uninit_async(&stream, isize::MAX as usize).unwrap_err();
    assert_eq!(error.status(), Some(Status::OUT_OF_MEMORY), "{error}");
    let Some(pool) = pool(&device, PoolOptions::new()) else { return };
    let error = pool.uninit_async::<u8>(&stream, isize::MAX as usize).unwrap_err();
    assert_eq!(error.status(), Some(Status::OUT_OF_MEMORY), "{error}");
    assert!(error.to_string().contains("hipMallocFromPoolAsync"), "{error}");
    let error = pool.set_access(&device, MemoryAccess::ReadWrite).unwrap_err();
    assert!(matches!(error, Error::InvalidValue { .. }), "{error}");
    assert_eq!(pool.access(&device).unwrap(), MemoryAccess::ReadWrite);
    // The pool still works after all of these.
    assert_eq!(pool.zeroed_async::<u8>(&stream, 3).unwrap().to_vec().unwrap(), [0; 3]);
}

#[test]
fn a_pool_on_one_device_and_a_stream_on_another() {
    let test = "memory_pool::a_pool_on_one_device_and_a_stream_on_another";
    let Some((first, second)) = crate::peer::two(test) else { return };
    let devices = [first, second];
    let Some(pool) = pool(&devices[0], PoolOptions::new()) else { return };
    let streams: Vec<Stream> = devices.iter().map(|device| Stream::new(device).unwrap()).collect();
    assert!(matches!(pool.uninit_async::<u8>(&streams[1], 4), Err(Error::WrongDevice { .. })));
    assert!(matches!(devices[1].set_memory_pool(&pool), Err(Error::WrongDevice { .. })));
    let mut buffer = pool.zeroed_async::<i32>(&streams[0], 64).unwrap();
    let add = Module::load(&second, crate::kernels(&second)).unwrap().kernel("add_in_place").unwrap();
    let launch = |buffer: &mut DeviceBuffer<i32>| {
        // SAFETY: 64 threads, 64 elements.
        unsafe { add.launch(&streams[1], LaunchConfig::new(1, 64), (buffer, 7i32, 64u32)) }
    };
    assert!(matches!(launch(&mut buffer), Err(Error::WrongDevice { .. })));
    // Nor may that device use the default pool's memory.
    let own = first.default_memory_pool().unwrap();
    if own.access(&second).unwrap() == MemoryAccess::None {
        let mut scratch = DeviceBuffer::<i32>::zeroed_async(&streams[0], 64).unwrap();
        assert!(matches!(launch(&mut scratch), Err(Error::WrongDevice { .. })));
    }
    pool.set_access(&second, MemoryAccess::ReadWrite).unwrap();
    assert_eq!(pool.access(&second).unwrap(), MemoryAccess::ReadWrite);
    launch(&mut buffer).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [7; 64], "the host waits for the other device's kernel");
}

#[test]
fn memory_that_runs_out_can_be_had_again() {
    if !is_child() {
        in_child("memory_pool::memory_that_runs_out_can_be_had_again", &[("HIP_SIM_MEMORY", "64M")]);
        return;
    }
    let stream = Stream::new(&device().unwrap()).unwrap();
    for _ in 0..3 {
        let mut held = Vec::new();
        let error = loop {
            match DeviceBuffer::<u8>::zeroed_async(&stream, 4 << 20) {
                Ok(buffer) => held.push(buffer),
                Err(error) => break error,
            }
        };
        assert_eq!(error.status(), Some(Status::OUT_OF_MEMORY), "{error}");
        assert!((8..=16).contains(&held.len()), "{} times 4 MiB of 64", held.len());
    }
}

/// A pool is kept for reuse, and then behaves like a new one.
#[test]
fn a_pool_that_is_had_again_is_as_new() {
    let Some(device) = device() else { return };
    // Options that no other test uses.
    let options = PoolOptions::new().max_bytes(123 << 20);
    let Some(first) = pool(&device, options) else { return };
    let raw = first.as_raw();
    first.set_release_threshold(1 << 30).unwrap();
    first.set_reuse(PoolReuse { opportunistic: false, ..PoolReuse::default() }).unwrap();
    drop(first);
    let second = pool(&device, options).unwrap();
    assert_eq!(second.as_raw(), raw, "it is had again");
    assert_eq!((second.release_threshold().unwrap(), second.reuse().unwrap()), (0, PoolReuse::default()));
    drop(second);
    let other = pool(&device, PoolOptions::new().max_bytes(124 << 20)).unwrap();
    assert_ne!(other.as_raw(), raw, "for the same options only");
}

#[test]
fn a_pool_that_gave_access_is_not_had_again() {
    let Some((first, second)) = crate::peer::two("memory_pool::a_pool_that_gave_access_is_not_had_again") else {
        return;
    };
    let options = PoolOptions::new().max_bytes(125 << 20);
    let Some(shared) = pool(&first, options) else { return };
    shared.set_access(&second, MemoryAccess::ReadWrite).unwrap();
    let raw = shared.as_raw();
    drop(shared);
    let next = pool(&first, options).unwrap();
    assert_ne!(next.as_raw(), raw);
    assert_eq!(next.access(&second).unwrap(), MemoryAccess::None);
}

#[cfg(unix)]
#[test]
fn a_buffer_is_exported_after_its_work() {
    let Some(slow) = kernel("slow_store") else { return };
    let stream = Stream::new(&slow.device()).unwrap();
    let Some(pool) = pool(&slow.device(), PoolOptions::new().shareable(true)) else { return };
    let mut buffer = pool.uninit_async::<u32>(&stream, 64).unwrap();
    // SAFETY: 64 threads, 64 elements.
    unsafe { slow.launch(&stream, LaunchConfig::new(1, 64), (&mut buffer, 100_000u32, 1u32)) }.unwrap();
    if crate::supported(pool.export_buffer(&buffer)).is_some() {
        assert!(stream.is_idle().unwrap());
    }
}
