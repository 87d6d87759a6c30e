//! Collectives that move elements: to the bit, of any type.

use hip::{DeviceBuffer, Pod};
use rccl::Group;

use crate::{World, random, world};

/// Elements of 12 bytes, such as points.
type Point = [f32; 3];

trait Element: Pod + PartialEq + std::fmt::Debug {
    fn of(bits: u64) -> Self;
}

impl Element for u8 {
    fn of(bits: u64) -> Self {
        bits as u8
    }
}

impl Element for half::f16 {
    fn of(bits: u64) -> Self {
        Self::from_bits(bits as u16 & 0x7bff)
    }
}

impl Element for f64 {
    fn of(bits: u64) -> Self {
        bits as Self / 3.0
    }
}

impl Element for Point {
    fn of(bits: u64) -> Self {
        [bits as f32, (bits >> 8) as f32, (bits >> 16) as f32]
    }
}

fn elements<T: Element>(rank: usize, count: usize) -> Vec<T> {
    let mut next = random(rank * 31 + count);
    (0..count).map(|_| T::of(next())).collect()
}

fn all<T: Element>(world: &World, count: usize) {
    let size = world.size();
    let what = format!("{count} {}", std::any::type_name::<T>());
    let inputs: Vec<Vec<T>> = (0..size).map(|rank| elements(rank, count)).collect();
    let gathered = inputs.concat();
    let large: Vec<Vec<T>> = (0..size).map(|rank| elements(rank + size, count * size)).collect();
    let send = world.buffers(|rank| inputs[rank].clone());
    let send_large = world.buffers(|rank| large[rank].clone());

    // Broadcasts, from each root: in place, and apart.
    for root in 0..size {
        let mut memory = world.buffers(|rank| inputs[rank].clone());
        let mut apart = world.buffers(|_| vec![T::of(9); count]);
        let mut group = Group::new();
        for (rank, (memory, apart)) in memory.iter_mut().zip(&mut apart).enumerate() {
            group.broadcast(&world.ranks[rank], memory, root).unwrap();
            let send = (rank == root).then(|| send[rank].as_slice());
            group.broadcast_to(&world.ranks[rank], send, apart, root).unwrap();
        }
        group.end().unwrap();
        for rank in 0..size {
            assert_eq!(memory[rank].to_vec().unwrap(), inputs[root], "broadcast of {what} from {root} to {rank}");
            assert_eq!(apart[rank].to_vec().unwrap(), inputs[root], "broadcast apart of {what} from {root} to {rank}");
        }
    }

    // All-gather, apart and in place.
    let mut receive = world.buffers(|_| vec![T::of(9); count * size]);
    let mut in_place = world.buffers(|rank| {
        let mut whole = vec![T::of(5); count * size];
        whole[rank * count..][..count].copy_from_slice(&inputs[rank]);
        whole
    });
    let mut group = Group::new();
    for (rank, (receive, in_place)) in receive.iter_mut().zip(&mut in_place).enumerate() {
        group.all_gather(&world.ranks[rank], &send[rank], receive).unwrap();
        group.all_gather_in_place(&world.ranks[rank], in_place).unwrap();
    }
    group.end().unwrap();
    for rank in 0..size {
        assert_eq!(receive[rank].to_vec().unwrap(), gathered, "all-gather of {what} to {rank}");
        assert_eq!(in_place[rank].to_vec().unwrap(), gathered, "all-gather in place of {what} to {rank}");
    }

    // Gather and scatter.
    let root = size / 2;
    let mut collected = DeviceBuffer::from_slice(&world.devices[root], &vec![T::of(9); count * size]).unwrap();
    let mut parts = world.buffers(|_| vec![T::of(9); count]);
    let mut to_root = Some(collected.as_slice_mut());
    let mut group = Group::new();
    for (rank, part) in parts.iter_mut().enumerate() {
        let receive = if rank == root { to_root.take() } else { None };
        group.gather(&world.ranks[rank], &send[rank], receive, root).unwrap();
        let whole = (rank == root).then(|| send_large[rank].as_slice());
        group.scatter(&world.ranks[rank], whole, part, root).unwrap();
    }
    group.end().unwrap();
    assert_eq!(collected.to_vec().unwrap(), gathered, "gather of {what}");
    for (rank, part) in parts.iter().enumerate() {
        assert_eq!(part.to_vec().unwrap(), large[root][rank * count..][..count], "scatter of {what} to {rank}");
    }

    // All-to-all.
    let mut receive = world.buffers(|_| vec![T::of(9); count * size]);
    let mut group = Group::new();
    for (rank, receive) in receive.iter_mut().enumerate() {
        group.all_to_all(&world.ranks[rank], &send_large[rank], receive).unwrap();
    }
    group.end().unwrap();
    for (rank, receive) in receive.iter().enumerate() {
        let expected: Vec<T> = large.iter().flat_map(|large| large[rank * count..][..count].to_vec()).collect();
        assert_eq!(receive.to_vec().unwrap(), expected, "all-to-all of {what} to {rank}");
    }

    // Each rank sends to the next, and receives from the one before.
    let mut receive = world.buffers(|_| vec![T::of(9); count]);
    let mut group = Group::new();
    for (rank, receive) in receive.iter_mut().enumerate() {
        group.send(&world.ranks[rank], &send[rank], (rank + 1) % size).unwrap();
        group.receive(&world.ranks[rank], receive, (rank + size - 1) % size).unwrap();
    }
    group.end().unwrap();
    for (rank, receive) in receive.iter().enumerate() {
        assert_eq!(receive.to_vec().unwrap(), inputs[(rank + size - 1) % size], "ring of {what} to {rank}");
    }
}

#[test]
fn elements_of_any_type_are_moved() {
    let Some(world) = world() else { return };
    all::<u8>(&world, 77);
    all::<half::f16>(&world, 33);
    all::<f64>(&world, 20);
    all::<Point>(&world, 15);
}

#[test]
fn one_element_and_none_are_moved() {
    let Some(world) = world() else { return };
    all::<u8>(&world, 1);
    all::<f64>(&world, 0);
}

#[test]
fn large_pieces_are_moved() {
    let Some(world) = world() else { return };
    all::<u8>(&world, 150_001);
}

#[test]
fn parts_of_different_sizes_are_exchanged() {
    let Some(world) = world() else { return };
    let size = world.size();
    // From one rank to another: nothing from some, and different to each.
    let count = |from: usize, to: usize| (from * 5 + to * 3) % 7 * 10;
    let counts_from = |from| (0..size).map(|to| count(from, to)).collect::<Vec<_>>();
    let counts_to = |to| (0..size).map(|from| count(from, to)).collect::<Vec<_>>();
    let inputs: Vec<Vec<Point>> = (0..size).map(|rank| elements(rank, counts_from(rank).iter().sum())).collect();
    let send = world.buffers(|rank| inputs[rank].clone());
    let mut receive = world.buffers(|rank| vec![Point::of(9); counts_to(rank).iter().sum()]);
    let mut group = Group::new();
    for (rank, receive) in receive.iter_mut().enumerate() {
        let (sent, received) = (counts_from(rank), counts_to(rank));
        group.all_to_all_v(&world.ranks[rank], &send[rank], &sent, receive, &received).unwrap();
    }
    group.end().unwrap();
    for (to, receive) in receive.iter().enumerate() {
        let mut expected = Vec::new();
        for (from, input) in inputs.iter().enumerate() {
            let start: usize = counts_from(from)[..to].iter().sum();
            expected.extend_from_slice(&input[start..][..count(from, to)]);
        }
        assert_eq!(receive.to_vec().unwrap(), expected, "to {to}");
    }
}
