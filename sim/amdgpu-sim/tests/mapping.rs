//! Reserved addresses, physical memory mapped there, and memory shared between address spaces.
#![cfg(target_os = "linux")]

mod common;

use std::os::fd::OwnedFd;
use std::thread;
use std::time::Duration;

use amdgpu_sim::{
    Agents, AllocKind, Config, Denied, Fault, FaultKind, Gpu, MAX_ALIGN, Memory, MemoryError, PAGE, Request, Rights,
    SharedName,
};
use common::*;

static FAULTS: &[u8] = include_bytes!("kernels/faults.co");
static WAITING: &[u8] = include_bytes!("kernels/waiting.co");
const EVERYONE: Rights = Rights::full(Agents::ALL);

/// A kernel writes 0 to 63 at `address`.
fn write_ids(gpu: &Gpu, address: u64) -> Result<(), Fault> {
    let args = Args::default().value(address).value(0_i32);
    launch(gpu, &load(gpu, FAULTS), "out_of_bounds", [1, 1, 1], [64, 1, 1], &args).map(drop)
}

fn why(fault: &Fault) -> Denied {
    match fault.kind {
        FaultKind::Memory { why, .. } => why,
        _ => panic!("not a memory fault: {fault}"),
    }
}

fn words(memory: &Memory, address: u64, count: usize) -> Vec<u32> {
    let mut bytes = vec![0; 4 * count];
    memory.read(address, &mut bytes).unwrap();
    bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn one_piece_of_memory_at_two_addresses() {
    let gpu = Gpu::new(Config::default());
    let memory = gpu.memory();
    let range = memory.reserve(8 * PAGE, 1 << 21, 0).unwrap();
    assert_eq!(range % (1 << 21), 0);
    assert!(matches!(memory.read(range, &mut [0]), Err(MemoryError::NotAllocated { .. })), "there is no memory yet");
    assert_eq!(why(&write_ids(&gpu, range).unwrap_err()), Denied::OutOfBounds);

    let physical = memory.create_physical(2 * PAGE, Some(gpu.agent())).unwrap();
    memory.map(range, 2 * PAGE, &physical, 0).unwrap();
    memory.map(range + 4 * PAGE, PAGE, &physical, PAGE).unwrap();
    assert_eq!(memory.used(), 3 * PAGE);
    assert!(matches!(why(&write_ids(&gpu, range).unwrap_err()), Denied::NoAccess { .. }), "no rights yet");
    memory.set_rights(range, EVERYONE).unwrap();
    memory.set_rights(range + 4 * PAGE, EVERYONE).unwrap();
    write_ids(&gpu, range + PAGE).unwrap();
    assert_eq!(words(memory, range + 4 * PAGE, 64), (0..64).collect::<Vec<u32>>());
    assert_eq!(words(memory, range, 1), [0]);

    // Unmapped and mapped again: the bytes are those of the physical memory.
    memory.unmap(range).unwrap();
    assert_eq!(why(&write_ids(&gpu, range).unwrap_err()), Denied::Freed);
    memory.map(range, PAGE, &physical, PAGE).unwrap();
    assert_eq!(words(memory, range, 2), [0, 1]);
    assert!(matches!(memory.unreserve(range), Err(MemoryError::Overlap { .. })));
    memory.unmap(range).unwrap();
    memory.unmap(range + 4 * PAGE).unwrap();
    memory.unreserve(range).unwrap();
    assert_eq!(memory.used(), 0);
    assert!(matches!(memory.unreserve(range), Err(MemoryError::NotReserved { .. })));
}

#[test]
fn mappings_side_by_side_are_one_range_for_the_host_and_for_kernels() {
    let gpu = Gpu::new(Config::default());
    let memory = gpu.memory();
    let range = memory.reserve(3 * PAGE, 0, 0).unwrap();
    for page in 0..2 {
        let physical = memory.create_physical(PAGE, None).unwrap();
        memory.map(range + page * PAGE, PAGE, &physical, 0).unwrap();
        memory.set_rights(range + page * PAGE, EVERYONE).unwrap();
    }
    // Half of the wave on each side.
    write_ids(&gpu, range + PAGE - 128).unwrap();
    assert_eq!(words(memory, range + PAGE - 128, 64), (0..64).collect::<Vec<u32>>());
    memory.fill(range, &[7], 2 * PAGE).unwrap();
    assert!(matches!(memory.fill(range, &[7], 2 * PAGE + 1), Err(MemoryError::PastTheEnd { .. })));
    assert_eq!(memory.used(), 0, "host memory");
}

#[test]
fn a_running_kernel_keeps_what_is_unmapped_and_sees_what_is_mapped_instead() {
    let gpu = Gpu::new(Config::default());
    let memory = gpu.memory();
    let module = load(&gpu, WAITING);
    let range = memory.reserve(2 * PAGE, 0, 0).unwrap();
    let [first, second] = [0, 1].map(|_| memory.create_physical(2 * PAGE, None).unwrap());
    memory.map(range, 2 * PAGE, &first, 0).unwrap();
    memory.set_rights(range, EVERYONE).unwrap();
    // The word holds the current turn. The kernel takes turns 0 and 2, and passes both on; turn 1 is the host's.
    let log = zeros::<u32>(&gpu, 4);
    let args = Args::default().value(range).value(0_u32).value(2_u32).value(2_u32).pointer(&log);
    thread::scope(|scope| {
        let running = scope.spawn(|| launch(&gpu, &module, "ping_pong", [1, 1, 1], [64, 1, 1], &args));
        while words(memory, range, 1) != [1] && !running.is_finished() {
            thread::yield_now();
        }
        // It waits for turn 2, and polls the word meanwhile.
        memory.unmap(range).unwrap();
        // It is running throughout. The pause lets it read the unmapped address.
        thread::sleep(Duration::from_millis(2));
        assert!(!running.is_finished());
        memory.map(range, PAGE, &second, 0).unwrap();
        memory.set_rights(range, EVERYONE).unwrap();
        memory.write(range, &[2]).unwrap();
        running.join().unwrap().unwrap();
    });
    // The end of the old mapping does not affect the new one.
    assert_eq!(words(memory, range, 1), [3]);
    memory.unmap(range).unwrap();
    memory.map(range, 2 * PAGE, &first, 0).unwrap();
    assert_eq!(words(memory, range, 1), [1]);
}

#[test]
fn memory_goes_to_another_process_by_a_file_descriptor() {
    // Another address space represents another process: the two share only the descriptor.
    let (ours, theirs) = (Gpu::new(Config::default()), Gpu::new(Config::default()));
    let request = Request { rights: EVERYONE, ..Request::new(3000, AllocKind::Device, Some(ours.agent())) };
    let address = ours.memory().allocate_shareable(&request).unwrap();
    ours.memory().write(address, &[1, 2, 3]).unwrap();
    let shared = ours.memory().share(address).unwrap();
    assert_eq!((shared.size(), shared.owner()), (PAGE, Some(ours.agent())));
    let file: OwnedFd = shared.export().unwrap();

    let physical = theirs.memory().import_physical(file, Some(theirs.agent())).unwrap();
    let there = theirs.memory().attach(&physical, AllocKind::Device, EVERYONE).unwrap();
    let mut bytes = [0; 4];
    theirs.memory().read(there, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 2, 3, 0], "what was there before it was shared");
    write_ids(&theirs, there).unwrap();
    assert_eq!(words(ours.memory(), address, 64), (0..64).collect::<Vec<u32>>());
    // The same memory again, without using more.
    assert_eq!(ours.memory().share(address).unwrap().size(), PAGE);
    assert_eq!((ours.memory().used(), theirs.memory().used()), (3000, PAGE));
    theirs.memory().free(there).unwrap();
    write_ids(&ours, address).unwrap();
    ours.memory().free(address).unwrap();
    assert_eq!(why(&write_ids(&ours, address).unwrap_err()), Denied::Freed);
}

/// Memory that was allocated normally can be shared too. Its contents are inaccessible after it has been freed.
#[test]
fn plain_memory_is_shared_by_name() {
    let (ours, theirs) = (Gpu::new(Config::default()), Gpu::new(Config::default()));
    for size in [100, 3 * PAGE, 300 << 10] {
        let address = ours.memory().alloc(size, 0, AllocKind::Device).unwrap();
        let next = ours.memory().alloc(size, 0, AllocKind::Device).unwrap();
        ours.memory().fill(address, &[7], size).unwrap();
        ours.memory().fill(next, &[9], size).unwrap();
        let name = ours.memory().share(address).unwrap().name().unwrap();
        assert_eq!(ours.memory().share(address).unwrap().name().unwrap(), name);
        let open = || SharedName::from_words(name.words()).open();
        let physical = theirs.memory().import_physical(open().unwrap(), None).unwrap();
        let there = theirs.memory().attach(&physical, AllocKind::Device, EVERYONE).unwrap();
        let bytes = |memory: &Memory, address: u64| {
            let mut bytes = vec![1; size as usize];
            memory.read(address, &mut bytes).unwrap();
            bytes
        };
        assert_eq!(bytes(theirs.memory(), there), vec![7; size as usize]);
        theirs.memory().fill(there, &[8], physical.size()).unwrap();
        assert_eq!(bytes(ours.memory(), address), vec![8; size as usize]);
        assert_eq!(bytes(ours.memory(), next), vec![9; size as usize], "what lies beside it is not shared");
        ours.memory().free(address).unwrap();
        assert!(open().is_none(), "freed");
        // The next user of the addresses finds zeros, and does not write to other memory.
        for _ in 0..6 {
            let again = ours.memory().alloc(size, 0, AllocKind::Device).unwrap();
            assert_eq!(bytes(ours.memory(), again), vec![0; size as usize]);
            ours.memory().fill(again, &[5], size).unwrap();
            ours.memory().free(again).unwrap();
        }
        assert_eq!(bytes(theirs.memory(), there), vec![8; size as usize]);
        theirs.memory().free(there).unwrap();
        ours.memory().free(next).unwrap();
    }
}

#[test]
fn bad_requests_are_errors() {
    let gpu = Gpu::new(Config { memory_bytes: 4 * PAGE, ..Config::default() });
    let memory = gpu.memory();
    assert_eq!(memory.reserve(0, 0, 0), Err(MemoryError::Empty));
    assert!(matches!(memory.reserve(100, 0, 0), Err(MemoryError::NotWholePages { .. })));
    assert!(matches!(memory.reserve(PAGE, 2 * MAX_ALIGN, 0), Err(MemoryError::Alignment { .. })));
    assert!(matches!(memory.reserve(u64::MAX - PAGE + 1, 0, 0), Err(MemoryError::NoPages { .. })));
    let range = memory.reserve(2 * PAGE, 0, 0).unwrap();
    let physical = memory.create_physical(2 * PAGE, None).unwrap();
    for (address, size, offset) in [
        (range, 3 * PAGE, 0),
        (range, 2 * PAGE, PAGE),
        (range, PAGE, u64::MAX - PAGE + 1),
        (range, PAGE, 1),
        (range + 1, PAGE, 0),
        (range + PAGE, 2 * PAGE, 0),
        (range - PAGE, PAGE, 0),
        (u64::MAX - PAGE + 1, PAGE, 0),
        (0, PAGE, 0),
    ] {
        let error = memory.map(address, size, &physical, offset).unwrap_err();
        let expected = matches!(error, MemoryError::NotWholePages { .. } | MemoryError::NotReserved { .. });
        assert!(expected, "{address:#x} {size} {offset}: {error}");
    }
    memory.map(range, PAGE, &physical, 0).unwrap();
    assert!(matches!(memory.map(range, PAGE, &physical, PAGE), Err(MemoryError::Overlap { .. })));
    assert!(matches!(memory.unmap(range + 8), Err(MemoryError::NotTheStart { .. })));
    let refused = memory.create_physical(8 * PAGE, Some(gpu.agent())).unwrap_err();
    assert!(matches!(refused, MemoryError::OutOfMemory { .. }), "{refused}");
    // Other memory can neither be shared nor unmapped.
    let plain = memory.alloc(100, 0, AllocKind::Managed).unwrap();
    assert!(matches!(memory.share(plain), Err(MemoryError::NotOwned { .. })));
    assert!(matches!(memory.unmap(plain), Err(MemoryError::NotOwned { .. })));
    // A file that could shrink while a kernel uses it.
    let file = tempfile::tempfile().unwrap();
    file.set_len(PAGE).unwrap();
    let refused = memory.import_physical(file.into(), None).unwrap_err();
    assert!(matches!(refused, MemoryError::NoPages { .. }), "{refused}");
}

/// In a separate process, since other tests also reserve addresses.
#[test]
fn a_wished_address_is_granted_if_it_is_free() {
    if in_own_process("a_wished_address_is_granted_if_it_is_free") {
        return;
    }
    let gpu = Gpu::new(Config::default());
    let memory = gpu.memory();
    // The system may give the address to another thread of this process first, such as a thread of the software GPU.
    let granted = (0..100).find_map(|_| {
        let wish = memory.reserve(PAGE, 0, 0).unwrap();
        memory.unreserve(wish).unwrap();
        (memory.reserve(PAGE, 0, wish).unwrap() == wish).then_some(wish)
    });
    let free = granted.expect("a wish that is granted once");
    // If the address is in use, another one is returned.
    assert_ne!(memory.reserve(PAGE, 0, free).unwrap(), free);
    // Two ranges right beside each other.
    let beside = (0..100).any(|_| {
        let free = memory.reserve(4 * PAGE, 0, 0).unwrap();
        memory.unreserve(free).unwrap();
        let wishes = [free, free + 2 * PAGE];
        wishes.map(|wish| memory.reserve(2 * PAGE, 0, wish).unwrap()) == wishes
    });
    assert!(beside);
}
