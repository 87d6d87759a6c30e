//! Memory that the library knows: its own, registered, and windows of all ranks.

use std::time::Duration;

use hip::{Device, DeviceBuffer, DevicePtr};
use rccl::memory::{ForeignMemory, Window};
use rccl::{Communicator, Config, Error, Group, Op};

use crate::{World, devices, has_deadlines, world};

/// Returns whether the library has these functions: `result` says so otherwise.
fn lacks<T: std::fmt::Debug>(result: &Result<T, Error>, function: &str) -> bool {
    match result {
        Err(error @ Error::NoSymbol { function: missing, .. }) => {
            assert_eq!(*missing, function);
            assert!(error.to_string().contains(function), "{error}");
            true
        }
        _ => false,
    }
}

/// Returns the sum of the ranks' numbers, from 1 on.
fn expected(world: &World) -> f32 {
    (1..=world.size()).sum::<usize>() as f32
}

fn filled(rank: &Communicator, len: usize) -> DeviceBuffer<f32> {
    let mut memory = rank.allocate::<f32>(len).unwrap();
    memory.fill(rank.rank() as f32 + 1.0).unwrap();
    memory
}

#[test]
fn memory_of_the_library_is_a_buffer() {
    let Some(world) = world() else { return };
    if lacks(&world.ranks[0].allocate::<u8>(1), "ncclMemAlloc") {
        assert!(!has_deadlines());
        return;
    }
    let mut memory: Vec<_> = world.ranks.iter().map(|rank| rank.allocate::<f32>(1000).unwrap()).collect();
    for (memory, device) in memory.iter().zip(&world.devices) {
        assert_eq!((memory.device(), memory.to_vec().unwrap()), (*device, vec![0.0; 1000]));
    }
    for (rank, memory) in memory.iter_mut().enumerate() {
        memory.fill(rank as f32 + 1.0).unwrap();
    }
    let mut group = Group::new();
    for (rank, memory) in world.ranks.iter().zip(&mut memory) {
        group.all_reduce_in_place(rank, memory, Op::Sum).unwrap();
    }
    group.end().unwrap();
    // Dropped while the sum is queued.
    let first = memory.remove(0);
    drop(memory);
    assert_eq!(first.to_vec().unwrap(), vec![expected(&world); 1000]);
    let error = world.ranks[0].allocate::<f64>(usize::MAX / 4).unwrap_err().to_string();
    assert!(error.contains("address space"), "{error}");
    assert!(matches!(world.ranks[0].allocate::<u8>(0), Err(Error::Invalid { .. })));
}

#[test]
fn collectives_use_registered_memory() {
    let Some(world) = world() else { return };
    if lacks(&world.ranks[0].register(DeviceBuffer::<u8>::zeroed(&world.devices[0], 1).unwrap()), "ncclCommRegister") {
        assert!(!has_deadlines());
        return;
    }
    // Of the library and of hip; one that is given back, and those that are dropped with work.
    let mut memory: Vec<_> = world
        .ranks
        .iter()
        .map(|rank| {
            let own = DeviceBuffer::from_slice(&rank.device(), &vec![rank.rank() as f32 + 1.0; 3001]).unwrap();
            rank.register(if rank.rank() == 0 { filled(rank, 3001) } else { own }).unwrap()
        })
        .collect();
    let mut group = Group::new();
    for (rank, memory) in world.ranks.iter().zip(&mut memory) {
        group.all_reduce_in_place(rank, memory.as_slice_mut(), Op::Sum).unwrap();
    }
    group.end().unwrap();
    let last = memory.pop().unwrap();
    drop(memory);
    assert_eq!(last.deregister().unwrap().to_vec().unwrap(), vec![expected(&world); 3001]);
}

#[test]
fn bad_memory_is_not_registered() {
    let Some(world) = world() else { return };
    let (rank, other) = (&world.ranks[0], &world.devices[1]);
    let refused = |result: Result<(), Error>, words: &str| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }) && error.to_string().contains(words), "{error}");
    };
    let empty = |device: &Device| DeviceBuffer::<f32>::zeroed(device, 0).unwrap();
    refused(rank.register(DeviceBuffer::<f32>::zeroed(other, 4).unwrap()).map(drop), "the communicator's");
    refused(rank.register(empty(&world.devices[0])).map(drop), "one element or more");
    refused(rank.window(empty(&world.devices[0]), false).map(drop), "one element or more");
    refused(Communicator::window_all::<f32>([], false).map(drop), "one memory or more");
    refused(ForeignMemory::allocate(0).map(drop), "1 or more");
    let mut memory = DeviceBuffer::<f32>::zeroed(&world.devices[0], 4).unwrap();
    let mut group = Group::new();
    group.all_reduce_in_place(rank, &mut memory, Op::Sum).unwrap();
    let in_group = rank.register(DeviceBuffer::<f32>::zeroed(&world.devices[0], 4).unwrap()).unwrap_err();
    assert!(matches!(in_group, Error::InGroup { .. }), "{in_group}");
}

#[test]
fn collectives_use_windows() {
    let Some(world) = world() else { return };
    for symmetric in [false, true] {
        let memory = world.ranks.iter().map(|rank| {
            (rank, DeviceBuffer::from_slice(&rank.device(), &vec![rank.rank() as f32 + 1.0; 4096]).unwrap())
        });
        let made = Communicator::window_all(memory, symmetric);
        if lacks(&made, "ncclCommWindowRegister") {
            return;
        }
        let mut windows = made.unwrap();
        let mut group = Group::new();
        for (rank, window) in world.ranks.iter().zip(&mut windows) {
            group.all_reduce_in_place(rank, window.as_slice_mut(), Op::Sum).unwrap();
        }
        group.end().unwrap();
        for memory in Window::close_all(windows).unwrap() {
            assert_eq!(memory.to_vec().unwrap(), vec![expected(&world); 4096], "symmetric: {symmetric}");
        }
    }
    // One that is larger than the others: no rank gets a window.
    let memory = world.ranks.iter().map(|rank| (rank, filled(rank, if rank.rank() == 0 { 11 } else { 10 })));
    let error = Communicator::window_all(memory, true).unwrap_err().to_string();
    assert!(error.contains("the same on all ranks") && error.contains("44"), "{error}");
    // One that begins at another place of its allocation: the library would take it for that of the others.
    let inner = |rank: &Communicator| {
        let whole = filled(rank, 100);
        let address = DevicePtr::from_address(whole.as_device_ptr().address() + 128);
        // SAFETY: 10 of its elements, which it keeps.
        unsafe { DeviceBuffer::from_raw_parts_with(&rank.device(), address, 10, whole) }.unwrap()
    };
    let memory = world.ranks.iter().map(|rank| (rank, if rank.rank() == 0 { inner(rank) } else { filled(rank, 10) }));
    let error = Communicator::window_all(memory, true).unwrap_err().to_string();
    assert!(error.contains("the offset") && error.contains("128"), "{error}");
}

/// A rank that waits for the others in vain is aborted; its memory is returned nevertheless.
#[test]
fn memory_is_given_back_after_an_abort() {
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let ranks = Communicator::init_all(&devices[..2], &Config::new().timeout(Duration::from_secs(100_000))).unwrap();
    // Connections are made while all ranks are running.
    let mut first: Vec<_> = ranks.iter().map(|rank| filled(rank, 8)).collect();
    let mut group = Group::new();
    for (rank, memory) in ranks.iter().zip(&mut first) {
        group.all_reduce_in_place(rank, memory, Op::Sum).unwrap();
    }
    group.end().unwrap();
    let windows = match Communicator::window_all(ranks.iter().map(|rank| (rank, filled(rank, 8))), false) {
        result if lacks(&result, "ncclCommWindowRegister") => Vec::new(),
        result => result.unwrap(),
    };
    let mut memory = ranks[0].register(filled(&ranks[0], 8)).unwrap();
    let dropped = ranks[0].register(filled(&ranks[0], 8)).unwrap();
    ranks[0].all_reduce_in_place(memory.as_slice_mut(), Op::Sum).unwrap();
    let error = ranks[0].synchronize_for(Duration::from_millis(200)).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    drop(dropped);
    assert_eq!(memory.deregister().unwrap().len(), 8);
    let refused = ranks[0].register(filled(&ranks[0], 8)).unwrap_err();
    assert!(matches!(refused, Error::Aborted { .. }), "{refused}");
    drop(windows);
    ranks.into_iter().for_each(Communicator::abort);
}

#[cfg(feature = "one-sided")]
#[test]
fn operations_that_the_library_lacks_are_errors() {
    let Some(world) = world() else { return };
    if !has_deadlines() || rccl::version().unwrap() >= (2, 28, 0) {
        return;
    }
    let made = Communicator::window_all(world.ranks.iter().map(|rank| (rank, filled(rank, 8))), true);
    if lacks(&made, "ncclCommWindowRegister") {
        return;
    }
    for window in made.unwrap() {
        assert!(lacks(&window.address(), "ncclWinGetUserPtr"));
        assert!(lacks(&window.into_target(), "ncclPutSignal"));
    }
}
