//! Invalid input is an error before the call, which states what is allowed; the ranks stay usable.

use hip::memory::F8E4M3Fnuz;
use hip::{DeviceBuffer, DeviceSlice, Stream};
use rccl::{Communicator, Config, Error, Group, Op, UniqueId};

use crate::{devices, world};

/// The error says all of these.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &[&str]) {
    let error = result.expect_err("bad input");
    let text = error.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    assert!(!matches!(error, Error::Library(_)), "before the call: {text}");
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let Some(world) = world() else { return };
    let (rank, size) = (&world.ranks[0], world.size());
    let device = &world.devices[0];
    let buffer = |len| DeviceBuffer::<f32>::zeroed(device, len).unwrap();
    let (ten, mut nine, mut odd) = (buffer(10), buffer(9), buffer(size * 3 + 1));
    refused(rank.all_reduce(&ten, &mut nine, Op::Sum), &["9", "10, as many as are sent"]);
    refused(rank.reduce(&ten, Some(nine.as_slice_mut()), Op::Sum, 0), &["9", "10"]);
    refused(rank.all_gather(&ten, &mut nine), &["9", &(10 * size).to_string(), "those of all ranks"]);
    refused(rank.all_gather_in_place(&mut odd), &["a multiple of", &size.to_string()]);
    refused(rank.reduce_scatter_in_place(&mut odd, Op::Sum), &["a multiple of"]);
    refused(rank.reduce_scatter(&ten, &mut nine, Op::Sum), &["10", &(9 * size).to_string()]);
    refused(rank.broadcast_to(Some(ten.as_slice()), &mut nine, 0), &["10", "9"]);
    refused(rank.gather(&ten, Some(nine.as_slice_mut()), 0), &["those of all ranks"]);
    refused(rank.scatter(Some(ten.as_slice()), &mut nine, 0), &["a part for each rank"]);
    refused(rank.all_to_all(&ten, &mut nine), &["9", "10"]);
    let mut as_odd = buffer(size * 3 + 1);
    refused(rank.all_to_all(&odd, &mut as_odd), &["a multiple of"]);
    let (good, short) = (vec![0; size], vec![0; size - 1]);
    refused(rank.all_to_all_v(&ten, &short, &mut nine, &good), &["one for each rank"]);
    refused(rank.all_to_all_v(&ten, &good, &mut nine, &good), &["0", "10, in sum"]);
    let huge = vec![usize::MAX; size];
    refused(rank.all_to_all_v(&ten, &huge, &mut nine, &good), &["in sum"]);
}

/// Every way to ask for an average of integers.
fn no_average<T: rccl::Reduce + std::fmt::Debug>(world: &crate::World) {
    let (rank, size) = (&world.ranks[0], world.size());
    let buffer = |len| DeviceBuffer::<T>::zeroed(&world.devices[0], len).unwrap();
    let (few, many, mut to, mut to_many) = (buffer(4), buffer(4 * size), buffer(4), buffer(4 * size));
    let words = ["an average", "with floats"];
    refused(rank.all_reduce(&few, &mut to, Op::Average), &words);
    refused(rank.all_reduce_in_place(&mut to, Op::Average), &words);
    refused(rank.reduce(&few, Some(to.as_slice_mut()), Op::Average, 0), &words);
    refused(rank.reduce_in_place(&mut to, Op::Average, 0), &words);
    refused(rank.reduce_scatter(&many, &mut to, Op::Average), &words);
    refused(rank.reduce_scatter_in_place(&mut to_many, Op::Average), &words);
    let mut group = Group::new();
    refused(group.all_reduce(rank, &few, &mut to, Op::Average), &words);
    drop(group);
    let mut group = Group::new();
    refused(group.reduce_scatter(rank, &many, &mut to, Op::Average), &words);
}

/// RCCL would divide a sum that wrapped: 200 and 201 are 72 on average in 8 bits.
#[test]
fn averages_of_integers_are_refused() {
    let Some(world) = world() else { return };
    no_average::<i8>(&world);
    no_average::<u8>(&world);
    no_average::<i32>(&world);
    no_average::<u32>(&world);
    no_average::<i64>(&world);
    no_average::<u64>(&world);
}

#[test]
fn ranks_that_are_not_there_are_refused() {
    let Some(world) = world() else { return };
    let (rank, size) = (&world.ranks[0], world.size());
    let mut memory = DeviceBuffer::<f32>::zeroed(&world.devices[0], 4).unwrap();
    let words = ["less than", &size.to_string()];
    refused(rank.broadcast(&mut memory, size), &words);
    refused(rank.reduce_in_place(&mut memory, Op::Sum, size + 5), &words);
    refused(rank.send(&memory, size), &words);
    refused(rank.receive(&mut memory, usize::MAX), &words);
    refused(rank.reduce(&memory, None, Op::Sum, 0), &["None on the root"]);
    refused(rank.scatter(None, &mut memory, 0), &["None on the root"]);
    refused(rank.shrink(&[size]), &words);
    refused(rank.shrink(&[0]), &["that of another rank"]);
    refused(rank.shrink(&[1, 1]), &["once"]);
    refused(rank.shrink(&[]), &["empty"]);
}

#[test]
fn memory_and_streams_of_other_devices_are_refused() {
    let Some(mut world) = world() else { return };
    let mut foreign = DeviceBuffer::<f32>::zeroed(&world.devices[1], 4).unwrap();
    let result = world.ranks[0].all_reduce_in_place(&mut foreign, Op::Sum);
    assert!(matches!(result, Err(Error::Hip(hip::Error::WrongDevice { .. }))), "{result:?}");
    let stream = Stream::new(&world.devices[1]).unwrap();
    refused(world.ranks[0].set_stream(&stream), &["the communicator's"]);
}

#[test]
fn operators_that_cannot_be_are_refused() {
    let Some(world) = world() else { return };
    let (rank, device) = (&world.ranks[0], &world.devices[0]);
    let mut memory = DeviceBuffer::<f32>::zeroed(device, 4).unwrap();
    let none = DeviceBuffer::<f32>::zeroed(device, 0).unwrap();
    refused(rank.all_reduce_in_place(&mut memory, Op::ScaledBy(DeviceSlice::from(&none))), &["no elements"]);
    if device.properties().unwrap().arch.name() == "gfx90a" {
        let mut small = DeviceBuffer::from_slice(device, &[F8E4M3Fnuz::default(); 4]).unwrap();
        let word = if rccl::version().unwrap() < (2, 24, 0) { "8 bits" } else { "OCP on gfx90a" };
        refused(rank.all_reduce_in_place(&mut small, Op::Sum), &[word]);
    }
}

#[test]
fn communicators_that_cannot_be_are_refused() {
    let Some(devices) = devices() else { return };
    let config = Config::new();
    refused(Communicator::init_all(&[], &config), &["empty"]);
    refused(Communicator::init_all(&[devices[0], devices[0]], &config), &["once in the list"]);
    let id = UniqueId::new().unwrap();
    refused(Communicator::init_rank(&devices[0], id, 2, 2, &config), &["less than 2"]);
    refused(Communicator::init_rank(&devices[0], id, 0, 0, &config), &["less than 0"]);
    if crate::has_deadlines() {
        refused(Communicator::init_rank(&devices[0], id, 0, 1, &Config::new().name("a\0b")), &["zero bytes"]);
        refused(Communicator::init_rank(&devices[0], id, 0, 1, &Config::new().max_ctas(0)), &["1 or more"]);
    }
}

#[test]
fn a_call_that_is_refused_leaves_the_others_of_its_group_out() {
    let Some(world) = world() else { return };
    let mut memory = world.buffers(|rank| vec![rank as f32; 10]);
    let result = rccl::group(|group| {
        for (rank, memory) in world.ranks.iter().zip(&mut memory) {
            group.all_reduce_in_place(rank, memory, Op::Sum)?;
        }
        // One too many.
        Err(Error::from(hip::Error::NoDevice))
    });
    assert!(result.is_err());
    for (rank, memory) in memory.iter().enumerate() {
        assert_eq!(memory.to_vec().unwrap(), vec![rank as f32; 10]);
    }
    let group = Group::new();
    group.end().unwrap();
}
