//! The allocation table: allocations, refusals, and error messages.

use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_sim::{AllocKind, Config, Gpu, MemoryError};

fn gpu(memory_bytes: u64) -> Gpu {
    Gpu::new(Config { memory_bytes, ..Config::default() })
}

#[test]
fn allocations_are_aligned_zero_and_apart() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    let all: Vec<u64> = (0..50).map(|i| memory.alloc(1 + i * 7, 1 << (i % 13), AllocKind::Device).unwrap()).collect();
    for (i, &a) in all.iter().enumerate() {
        assert_eq!(a % (1_u64 << (i % 13)).max(256), 0);
        let mut bytes = vec![1; 1 + i * 7];
        memory.read(a, &mut bytes).unwrap();
        assert!(bytes.iter().all(|b| *b == 0));
        assert!(memory.find(a - 1).is_none() && memory.find(a + bytes.len() as u64).is_none());
    }
    assert_eq!(memory.used(), (0..50).map(|i| 1 + i * 7).sum::<u64>());
    all.into_iter().for_each(|a| memory.free(a).unwrap());
    assert_eq!((memory.used(), memory.allocations().len()), (0, 0));
}

#[test]
fn limits_and_bad_requests_are_errors() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    assert_eq!(memory.alloc(0, 0, AllocKind::Device), Err(MemoryError::Empty));
    assert_eq!(memory.alloc(8, 384, AllocKind::Device), Err(MemoryError::Alignment { align: 384 }));
    let a = memory.alloc(1 << 19, 0, AllocKind::Device).unwrap();
    let error = memory.alloc((1 << 19) + 1, 0, AllocKind::Device).unwrap_err();
    assert_eq!(error, MemoryError::OutOfMemory { requested: (1 << 19) + 1, used: 1 << 19, total: 1 << 20 });
    assert!(memory.alloc(u64::MAX, 0, AllocKind::Device).is_err());
    memory.free(a).unwrap();
    let b = memory.alloc(1 << 20, 0, AllocKind::Device).unwrap();
    assert!(matches!(memory.free(b + 1), Err(MemoryError::NotTheStart { .. })));
    memory.free(b).unwrap();
    assert!(matches!(memory.free(b), Err(MemoryError::NotAllocated { .. })));
}

#[test]
fn a_limit_beyond_the_host_is_out_of_memory_not_an_abort() {
    let gpu = gpu(u64::MAX);
    assert!(matches!(
        gpu.memory().alloc(1 << 62, 0, AllocKind::Device),
        Err(MemoryError::OutOfHostMemory { .. } | MemoryError::OutOfMemory { .. })
    ));
    assert!(matches!(
        gpu.memory().alloc(u64::MAX, 0, AllocKind::Device),
        Err(MemoryError::OutOfHostMemory { .. } | MemoryError::OutOfMemory { .. })
    ));
}

#[test]
fn copies_are_checked_whole_and_overlap_like_memmove() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    let len = 10_000_u64;
    let a = memory.alloc(len, 0, AllocKind::Device).unwrap();
    let data: Vec<u8> = (0..len).map(|i| (i * 7 % 251) as u8).collect();
    for (from, to, n) in [(0, 3, 9990), (5, 0, 9995), (1, 4097, 5000), (4097, 2, 5003), (7, 7, 100)] {
        memory.write(a, &data).unwrap();
        let mut expected = data.clone();
        expected.copy_within(from..from + n, to);
        memory.copy(a + to as u64, a + from as u64, n as u64).unwrap();
        let mut got = vec![0; len as usize];
        memory.read(a, &mut got).unwrap();
        assert!(got == expected, "{from} {to} {n}");
    }
    let error = memory.write(a + 9_999, &[1, 2]).unwrap_err();
    assert!(matches!(error, MemoryError::PastTheEnd { len: 2, .. }), "{error}");
    let mut last = [0];
    memory.read(a + 9_999, &mut last).unwrap();
    assert_eq!(last[0], data[9_999], "a refused write writes nothing");
    memory.read(a + len, &mut []).unwrap();
}

#[test]
fn fill_repeats_the_pattern() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    let a = memory.alloc(30_003, 0, AllocKind::Device).unwrap();
    memory.fill(a + 1, &[1, 2, 3], 10_000).unwrap();
    let mut got = vec![0; 30_003];
    memory.read(a, &mut got).unwrap();
    assert_eq!((got[0], &got[1..4], &got[29_998..]), (0, &[1, 2, 3][..], &[1, 2, 3, 0, 0][..]));
    assert!(memory.fill(a, &[0; 4], u64::MAX / 2).is_err());
    memory.fill(a, &[], 5).unwrap();
}

#[test]
fn messages_name_the_nearest_allocation_and_whether_it_is_freed() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    assert_eq!(memory.nearest(1234), None);
    let a = memory.alloc(1000, 0, AllocKind::Device).unwrap();
    let text = memory.read(a + 1004, &mut [0]).unwrap_err().to_string();
    assert!(text.contains("4 bytes past the end of 1000 bytes of device memory"), "{text}");
    let text = memory.read(a - 8, &mut [0]).unwrap_err().to_string();
    assert!(text.contains("8 bytes before 1000 bytes"), "{text}");
    memory.free(a).unwrap();
    let text = memory.read(a + 10, &mut [0]).unwrap_err().to_string();
    assert!(text.contains("at byte 10 of freed 1000 bytes of device memory"), "{text}");
    let b = memory.alloc(1000, 0, AllocKind::Host).unwrap();
    assert_ne!(a, b, "what is freed is not handed out again at once");
    assert_eq!(memory.nearest(u64::MAX).unwrap().allocation.base, b.max(a));
}

#[test]
fn registered_host_memory_is_reached_at_its_own_address() {
    let gpu = gpu(1 << 20);
    let memory = gpu.memory();
    let mut host = vec![7_u8; 100];
    let address = host.as_ptr() as u64;
    // SAFETY: `host` lives until it is unregistered, and is not touched in between.
    unsafe { memory.register_host(host.as_mut_ptr(), 100) }.unwrap();
    // SAFETY: refused.
    let again = unsafe { memory.register_host(host.as_mut_ptr().wrapping_add(50), 100) };
    assert!(matches!(again, Err(MemoryError::Overlap { .. })));
    memory.write(address + 1, &[9]).unwrap();
    assert_eq!(memory.used(), 0, "it is not device memory");
    assert!(matches!(memory.free(address), Err(MemoryError::NotOwned { .. })));
    memory.unregister_host(address).unwrap();
    assert!(memory.unregister_host(address).is_err());
    assert_eq!(host[..3], [7, 9, 7]);
    let a = memory.alloc(8, 0, AllocKind::Device).unwrap();
    assert!(matches!(memory.unregister_host(a), Err(MemoryError::NotOwned { .. })));
}

#[test]
fn threads_allocate_write_and_free_at_once() {
    let gpu = gpu(1 << 30);
    std::thread::scope(|scope| {
        for t in 0..8_u8 {
            let memory = gpu.memory();
            scope.spawn(move || {
                for i in 0..300_u64 {
                    let a = memory.alloc(64 + i, 0, AllocKind::Device).unwrap();
                    memory.fill(a, &[t], 64 + i).unwrap();
                    let mut back = vec![0; 64 + i as usize];
                    memory.read(a, &mut back).unwrap();
                    assert!(back.iter().all(|b| *b == t));
                    memory.free(a).unwrap();
                }
            });
        }
    });
    assert_eq!(gpu.memory().used(), 0);
}

/// A program frees registered memory without unregistering it: the allocator reuses the bytes, and the table must not
/// contain them twice.
#[test]
fn a_registration_of_memory_that_is_gone_gives_way() {
    let gpu = gpu(1 << 30);
    let memory = gpu.memory();
    let first = memory.alloc(1 << 20, 0, AllocKind::Device).unwrap();
    memory.free(first).unwrap();
    // The quarantine releases it to the allocator.
    let all: Vec<u64> = (0..40).map(|_| memory.alloc(1 << 20, 0, AllocKind::Device).unwrap()).collect();
    all.into_iter().for_each(|a| memory.free(a).unwrap());
    // SAFETY: no kernel runs, so the bytes are never accessed.
    unsafe { memory.register_host(std::ptr::with_exposed_provenance_mut(first as usize + 100), 1 << 20) }.unwrap();
    memory.forget_registrations(first + 50, 10);
    assert_eq!(memory.allocations().len(), 1, "it does not reach that far");
    memory.forget_registrations(first + 50, 60);
    memory.forget_registrations(first + 1000, 24);
    let left: Vec<(u64, u64)> = memory.allocations().iter().map(|a| (a.base - first, a.end() - first)).collect();
    assert_eq!(left, [(110, 1000), (1024, 100 + (1 << 20))], "the rest may be in use");
    memory.unregister_host_in(first + 100, 1 << 20);
    assert_eq!(memory.allocations(), []);
}

#[test]
fn a_registration_grows_with_no_moment_without_it() {
    let gpu = Gpu::new(Config::default());
    let memory = gpu.memory();
    let mut host = vec![0_u8; 4096];
    let start = host.as_mut_ptr();
    let base = start.expose_provenance() as u64;
    // SAFETY: inside the bytes, which outlive all registrations; no kernel runs.
    let register = |from: usize, len: u64| unsafe { memory.register_host(start.wrapping_add(from), len) };
    // SAFETY: as above.
    let around = |from: usize, len: u64| unsafe { memory.register_host_around(start.wrapping_add(from), len) };
    register(1000, 100).unwrap();
    register(1200, 100).unwrap();
    // A registration that is only partly inside cannot be merged.
    assert!(matches!(around(1000, 250), Err(MemoryError::Overlap { .. })));
    assert!(matches!(around(1000, 0), Err(MemoryError::Empty)));
    assert_eq!(memory.find(base + 1250).unwrap().size, 100);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                assert!(memory.find(base + 1050).is_some(), "it was registered all the time");
            }
        });
        for grown in 1..=1000 {
            around(1000 - grown, 300 + grown as u64).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(memory.find(base + 1150).map(|a| (a.base, a.size)), Some((base, 1300)));
    memory.unregister_host(base).unwrap();
    assert!(memory.find(base + 1050).is_none() && memory.find(base + 1250).is_none());
}
