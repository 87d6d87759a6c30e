//! Comparison of calls before they are made: a mismatch is an error, not a hang.

use std::sync::Barrier;
use std::time::Duration;

use hip::DeviceBuffer;
use rccl::{Communicator, Config, Error, Op, UniqueId};

use crate::{devices, has_deadlines, world};

/// Two ranks that compare their calls, each on a thread.
fn two(run: impl Fn(&Communicator) + Sync) {
    // One test at a time, as the others.
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let id = UniqueId::new().unwrap();
    let config = Config::new().timeout(Duration::from_secs(100_000)).check_calls(true).name("checked");
    let done = Barrier::new(2);
    std::thread::scope(|scope| {
        for (rank, device) in devices.iter().enumerate().take(2) {
            let (config, run, done) = (&config, &run, &done);
            scope.spawn(move || {
                let communicator = Communicator::init_rank(device, id, rank, 2, config).unwrap();
                run(&communicator);
                done.wait();
            });
        }
    });
}

#[track_caller]
fn mismatch(result: Result<(), Error>, words: [&str; 2]) {
    match result {
        Err(Error::Mismatch { calls, .. }) => {
            assert_eq!(calls.len(), 2);
            for (call, word) in calls.iter().zip(words) {
                assert!(call.contains(word), "{calls:?} without {word}");
            }
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn calls_that_do_not_fit_are_errors_on_all_ranks() {
    two(|communicator| {
        let rank = communicator.rank();
        let buffer = |len| DeviceBuffer::from_slice(&communicator.device(), &vec![rank as f32 + 1.0; len]).unwrap();
        // Sizes.
        let mut memory = buffer(100 + rank);
        mismatch(communicator.all_reduce_in_place(&mut memory, Op::Sum), ["all_reduce of 100", "all_reduce of 101"]);
        // Operators, types, roots, and other collectives.
        let op = if rank == 0 { Op::Sum } else { Op::Max };
        mismatch(communicator.all_reduce_in_place(&mut buffer(7), op), ["sum", "maximum"]);
        let result = if rank == 0 {
            communicator.all_reduce_in_place(&mut buffer(7), Op::Sum)
        } else {
            let mut integers = DeviceBuffer::from_slice(&communicator.device(), &[1_i32; 7]).unwrap();
            communicator.all_reduce_in_place(&mut integers, Op::Sum)
        };
        mismatch(result, ["type 7", "type 2"]);
        mismatch(communicator.broadcast(&mut buffer(7), rank), ["root 0", "root 1"]);
        let result = if rank == 0 {
            communicator.all_reduce_in_place(&mut buffer(8), Op::Sum)
        } else {
            communicator.all_gather_in_place(&mut buffer(8))
        };
        mismatch(result, ["all_reduce", "all_gather"]);
        // None of it was made: the ranks go on.
        let mut memory = buffer(33);
        communicator.all_reduce_in_place(&mut memory, Op::Sum).unwrap();
        assert_eq!(memory.to_vec().unwrap(), [3.0; 33]);
    });
}

#[test]
fn sends_that_do_not_fit_are_errors_on_both_sides() {
    two(|communicator| {
        let rank = communicator.rank();
        let mut memory = DeviceBuffer::from_slice(&communicator.device(), &vec![rank as u8; 100 + rank]).unwrap();
        let result = if rank == 0 { communicator.send(&memory, 1) } else { communicator.receive(&mut memory, 0) };
        mismatch(result, ["[100]", "[101]"]);
        let counts = if rank == 0 { [10, 90] } else { [41, 60] };
        let mut receive = DeviceBuffer::from_slice(&communicator.device(), &vec![9_u8; 100 + rank]).unwrap();
        // Rank 0 sends 90 and rank 1 expects 41.
        mismatch(communicator.all_to_all_v(&memory, &counts, &mut receive, &counts), ["[10, 90]", "[41, 60]"]);
        let half = memory.slice_mut(..50).unwrap();
        if rank == 0 {
            communicator.send(half, 1).unwrap();
        } else {
            communicator.receive(half, 0).unwrap();
            assert_eq!(memory.to_vec().unwrap()[..51], [&[0; 50][..], &[1]].concat());
        }
    });
}
