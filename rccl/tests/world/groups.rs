//! Groups: nothing of one that is not ended is left open.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hip::DeviceBuffer;
use rccl::{Error, Group, Op};

use crate::{World, world};

/// The ranks work: a sum over all of them.
fn all_is_well(world: &World) {
    let mut memory = world.buffers(|rank| vec![rank as i32 + 1; 100]);
    let mut group = Group::new();
    for (rank, memory) in world.ranks.iter().zip(&mut memory) {
        group.all_reduce_in_place(rank, memory, Op::Sum).unwrap();
    }
    group.end().unwrap();
    let sum: i32 = (1..=world.size() as i32).sum();
    for memory in &memory {
        assert_eq!(memory.to_vec().unwrap(), [sum; 100]);
    }
}

#[test]
fn a_group_that_is_dropped_makes_no_call() {
    let Some(world) = world() else { return };
    let mut memory = DeviceBuffer::from_slice(&world.devices[0], &[5_i32; 9]).unwrap();
    let mut group = Group::new();
    // Alone: it would wait for the others for ever.
    group.all_reduce_in_place(&world.ranks[0], &mut memory, Op::Sum).unwrap();
    drop(group);
    assert_eq!(memory.to_vec().unwrap(), [5; 9]);
    all_is_well(&world);
}

#[test]
fn a_panic_leaves_no_group_open() {
    let Some(world) = world() else { return };
    let mut memory = DeviceBuffer::from_slice(&world.devices[0], &[5_i32; 9]).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        rccl::group(|group| {
            group.all_reduce_in_place(&world.ranks[0], &mut memory, Op::Sum)?;
            panic!("a test")
        })
    }));
    assert!(panicked.is_err());
    all_is_well(&world);
    // The group is gone: calls that need all ranks are allowed again.
    if crate::has_deadlines() {
        let parents: Vec<_> = world.ranks.iter().map(|rank| (rank, None, 0)).collect();
        assert!(rccl::Communicator::split_all(&parents).unwrap().iter().all(Option::is_none));
    }
}

#[test]
fn calls_that_need_all_ranks_are_refused_in_a_group() {
    let Some(world) = world() else { return };
    let mut memory = DeviceBuffer::from_slice(&world.devices[0], &[5_i32; 9]).unwrap();
    let mut group = Group::new();
    group.all_reduce_in_place(&world.ranks[0], &mut memory, Op::Sum).unwrap();
    let error = world.ranks[0].split(Some(0), 0).unwrap_err();
    assert!(matches!(error, Error::InGroup { what: "split" }), "{error}");
    let error = world.ranks[0].shrink(&[1]).unwrap_err();
    assert!(matches!(error, Error::InGroup { what: "shrink" }), "{error}");
    drop(group);
    all_is_well(&world);
}

#[test]
fn many_calls_are_made_in_their_order() {
    let Some(world) = world() else { return };
    let mut first = world.buffers(|rank| vec![rank as i64; 50]);
    let mut second = world.buffers(|_| vec![0_i64; 50 * world.size()]);
    // The second collective reads the results of the first, on the same streams.
    let mut group = Group::new();
    for (rank, memory) in world.ranks.iter().zip(&mut first) {
        group.all_reduce_in_place(rank, memory, Op::Sum).unwrap();
    }
    group.end().unwrap();
    let mut group = Group::new();
    for ((rank, from), to) in world.ranks.iter().zip(&first).zip(&mut second) {
        group.all_gather(rank, from, to).unwrap();
    }
    group.end().unwrap();
    let sum: i64 = (0..world.size() as i64).sum();
    for memory in &second {
        assert_eq!(memory.to_vec().unwrap(), vec![sum; 50 * world.size()]);
    }
}
