//! Communicators are made, split, shrunk, aborted and made anew.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::task::{Poll, Wake};
use std::time::{Duration, Instant};

use hip::DeviceBuffer;
use rccl::{Communicator, Config, Error, Group, Op, UniqueId};

use crate::{devices, has_deadlines, world};

/// A timeout that no test waits for.
const LONG: Duration = Duration::from_secs(100_000);
/// Timeouts that tests wait for, and in which communicators are made: the first will do, but for a busy machine.
const LONG_ENOUGH: [Duration; 3] = [Duration::from_secs(20), Duration::from_secs(100), Duration::from_secs(500)];

/// Communicators that have completed some work, with the shortest timeout that allows it.
fn connected(devices: &[hip::Device], name: &str) -> (Vec<Communicator>, Duration) {
    made_in_time(|timeout| {
        let ranks = Communicator::init_all(devices, &Config::new().timeout(timeout).name(name))?;
        sum_of(&ranks.iter().collect::<Vec<_>>()).map(|sum| {
            assert_eq!(sum, (1..=ranks.len() as i32).sum::<i32>());
            ranks
        })
    })
}

fn made_in_time(make: impl Fn(Duration) -> Result<Vec<Communicator>, Error>) -> (Vec<Communicator>, Duration) {
    for timeout in LONG_ENOUGH {
        match make(timeout) {
            Err(Error::Timeout { waited, context }) => println!("after {waited:?}: {context}"),
            other => return (other.unwrap(), timeout),
        }
    }
    panic!("no communicator is made in {LONG_ENOUGH:?}");
}

/// Sums the ranks' numbers, from one on, over communicators of this process.
fn sum(ranks: &[&Communicator]) -> i32 {
    sum_of(ranks).unwrap()
}

fn sum_of(ranks: &[&Communicator]) -> Result<i32, Error> {
    let buffer =
        |rank: &&Communicator| DeviceBuffer::from_slice(&rank.device(), &[rank.rank() as i32 + 1; 64]).unwrap();
    let mut memory: Vec<_> = ranks.iter().map(buffer).collect();
    let mut group = Group::new();
    for (rank, memory) in ranks.iter().zip(&mut memory) {
        group.all_reduce_in_place(rank, memory, Op::Sum)?;
    }
    group.end()?;
    let first = memory[0].to_vec().unwrap()[0];
    for memory in &memory {
        assert_eq!(memory.to_vec().unwrap(), [first; 64]);
    }
    Ok(first)
}

fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn ranks_know_themselves() {
    let Some(world) = world() else { return };
    for (index, (rank, device)) in world.ranks.iter().zip(&world.devices).enumerate() {
        assert_eq!((rank.rank(), rank.size(), rank.device()), (index, world.size(), *device));
        assert!(!rank.is_aborted());
        rank.poll_error().unwrap();
    }
}

#[test]
fn a_communicator_is_split_by_colors_and_keys() {
    let Some(world) = world() else { return };
    let size = world.size();
    // The last rank has no color; the others one, and keys that turn their order around.
    let color = |rank: usize| (rank + 1 < size).then_some(7);
    let parents: Vec<_> = world.ranks.iter().enumerate().map(|(rank, of)| (of, color(rank), size - rank)).collect();
    let result = Communicator::split_all(&parents);
    if !has_deadlines() {
        assert!(matches!(result, Err(Error::NoSymbol { .. })), "{result:?}");
        return;
    }
    let made = result.unwrap();
    for (rank, made) in made.iter().enumerate() {
        let found = made.as_ref().map(|made| (made.rank(), made.size()));
        assert_eq!(found, color(rank).map(|_| (size - 2 - rank, size - 1)));
    }
    let made: Vec<Communicator> = made.into_iter().flatten().collect();
    assert_eq!(sum(&made.iter().collect::<Vec<_>>()), (1..size as i32).sum::<i32>());
    Communicator::finalize_all(made).unwrap();
    assert_eq!(sum(&world.ranks.iter().collect::<Vec<_>>()), (1..=size as i32).sum::<i32>(), "the whole is as it was");
}

#[test]
fn a_communicator_is_shrunk() {
    let Some(world) = world() else { return };
    let size = world.size();
    let others: Vec<&Communicator> = world.ranks[1..].iter().collect();
    let result = Communicator::shrink_all(&others, &[0], false);
    if rccl::version().unwrap() < (2, 27, 0) {
        assert!(matches!(result, Err(Error::NoSymbol { .. })), "{result:?}");
        return;
    }
    let made = result.unwrap();
    for (index, made) in made.iter().enumerate() {
        assert_eq!((made.rank(), made.size(), made.device()), (index, size - 1, world.devices[index + 1]));
    }
    assert_eq!(sum(&made.iter().collect::<Vec<_>>()), (1..size as i32).sum::<i32>());
}

#[test]
fn a_rank_that_never_comes_is_a_timeout() {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let config = Config::new().timeout(Duration::from_secs(2));
    let result = Communicator::init_rank(&devices[0], UniqueId::new().unwrap(), 0, 2, &config);
    match result {
        Err(Error::Timeout { context, .. }) => {
            assert_eq!((context.call, context.rank, context.size), ("init_rank", 0, 2));
        }
        other => panic!("{other:?}"),
    }
    // And as a future, which is also given up before its time.
    let patient = Config::new().timeout(LONG);
    let pending = Communicator::begin_init_rank(&devices[0], UniqueId::new().unwrap(), 0, 2, &patient).unwrap();
    assert!(!pending.is_ready().unwrap());
    drop(pending);
    let pending = Communicator::begin_init_rank(&devices[0], UniqueId::new().unwrap(), 0, 2, &config).unwrap();
    assert!(matches!(block_on(pending), Err(Error::Timeout { .. })));
}

#[test]
fn threads_have_a_rank_each() {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    let id = UniqueId::new().unwrap();
    let (size, done) = (devices.len(), Barrier::new(devices.len()));
    let config = Config::new().timeout(LONG);
    std::thread::scope(|scope| {
        for (rank, device) in devices.iter().enumerate() {
            let (done, config) = (&done, &config);
            scope.spawn(move || {
                let pending = Communicator::begin_init_rank(device, id, rank, size, config).unwrap();
                let communicator = block_on(pending).unwrap();
                assert_eq!(sum(&[&communicator]), (1..=size as i32).sum::<i32>());
                let mut memory = DeviceBuffer::from_slice(device, &[rank as f32; 1000]).unwrap();
                communicator.broadcast(&mut memory, size - 1).unwrap();
                block_on(communicator.completion()).unwrap();
                assert_eq!(memory.to_vec().unwrap(), [size as f32 - 1.0; 1000]);
                communicator.barrier().unwrap();
                // Nobody's memory goes away before all have opened it.
                done.wait();
                communicator.finalize().unwrap();
            });
        }
    });
}

#[test]
fn a_collective_that_others_do_not_call_is_a_timeout_and_all_begins_anew() {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let two = &devices[..2];
    let ranks = Communicator::init_all(two, &Config::new().timeout(LONG).name("lonely")).unwrap();
    assert_eq!(sum(&ranks.iter().collect::<Vec<_>>()), 3);
    let [first, second] = <[Communicator; 2]>::try_from(ranks).unwrap();
    let mut memory = DeviceBuffer::from_slice(&two[0], &[1.0_f32; 500]).unwrap();
    first.all_reduce_in_place(&mut memory, Op::Sum).unwrap();
    match first.synchronize_for(Duration::from_millis(500)) {
        Err(Error::Timeout { context, waited }) => {
            assert_eq!((context.call, context.rank, context.size), ("all_reduce", 0, 2));
            assert!(context.asked.contains("500 F32"), "{context}");
            assert!(waited >= Duration::from_millis(500));
        }
        other => panic!("{other:?}"),
    }
    // It is aborted, once and for good, and the work is over.
    assert!(first.is_aborted());
    let mut other = DeviceBuffer::from_slice(&two[0], &[1.0_f32; 5]).unwrap();
    let error = first.all_reduce_in_place(&mut other, Op::Sum).unwrap_err();
    assert!(matches!(error, Error::Aborted { .. }) && error.to_string().contains("all_reduce"), "{error}");
    first.stream().synchronize().unwrap();
    assert_eq!(memory.to_vec().unwrap().len(), 500);
    assert!(matches!(first.poll_error(), Err(Error::Aborted { .. })));
    first.abort();
    second.abort();
    // A new one, of those that are left.
    let ranks = Communicator::init_all(two, &Config::new().timeout(LONG)).unwrap();
    assert_eq!(sum(&ranks.iter().collect::<Vec<_>>()), 3);
}

/// Makes a rank wait for a collective that its peer never calls, while another thread creates and destroys
/// communicators: RCCL waits for whole devices there, and HIP blocks all calls for the collective's stream until it
/// ends. The deadline must hold nevertheless, and the other thread must continue; otherwise both hang. The wait has the
/// given deadline, or that of the communicator.
fn is_late_while_others_wait_for_the_device(
    deadline: Option<Duration>,
    wait: impl FnOnce(&Communicator, DeviceBuffer<f32>) -> Result<(), Error>,
) {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let two = &devices[..2];
    let (ranks, timeout) = connected(two, "lonely");
    let timeout = deadline.unwrap_or(timeout);
    let [first, second] = <[Communicator; 2]>::try_from(ranks).unwrap();
    let [mut memory, more] = [(); 2].map(|()| DeviceBuffer::from_slice(&two[0], &[1.0_f32; 500]).unwrap());
    first.all_reduce_in_place(&mut memory, Op::Sum).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut times = 0;
            while times == 0 || !over.load(Ordering::Relaxed) {
                let ranks = Communicator::init_all(two, &Config::new().timeout(LONG)).unwrap();
                assert_eq!(sum(&ranks.iter().collect::<Vec<_>>()), 3);
                if times % 2 == 0 {
                    Communicator::finalize_all(ranks).unwrap();
                }
                times += 1;
            }
        });
        // The other thread is probably in the middle of it by then; the deadline must hold in any case.
        std::thread::sleep(Duration::from_secs(2));
        let begin = Instant::now();
        let result = wait(&first, more);
        let took = begin.elapsed();
        over.store(true, Ordering::Relaxed);
        match result {
            Err(Error::Timeout { context, waited }) => {
                assert_eq!((context.call, context.rank, context.size), ("all_reduce", 0, 2));
                assert!(context.asked.contains("500 F32"), "{context}");
                assert!(waited >= timeout && waited <= took, "{waited:?} of {took:?}");
            }
            other => panic!("{other:?}"),
        }
        assert!(first.is_aborted());
        others.join().unwrap();
    });
    first.stream().synchronize().unwrap();
    assert!(matches!(first.synchronize(), Err(Error::Aborted { .. })));
    second.abort();
    let ranks = Communicator::init_all(two, &Config::new().timeout(LONG)).unwrap();
    assert_eq!(sum(&ranks.iter().collect::<Vec<_>>()), 3);
}

#[test]
fn synchronize_keeps_its_deadline_while_others_wait_for_the_device() {
    let timeout = Duration::from_secs(2);
    is_late_while_others_wait_for_the_device(Some(timeout), |rank, _| rank.synchronize_for(timeout));
}

#[test]
fn a_future_keeps_its_deadline_while_others_wait_for_the_device() {
    is_late_while_others_wait_for_the_device(None, |rank, _| block_on(rank.completion()));
}

#[test]
fn a_call_keeps_its_deadline_while_others_wait_for_the_device() {
    is_late_while_others_wait_for_the_device(None, |rank, mut memory| rank.all_reduce_in_place(&mut memory, Op::Sum));
}

#[test]
fn connections_that_the_other_side_does_not_make_are_a_timeout() {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    if !has_deadlines() {
        return;
    }
    let (ranks, _) = made_in_time(|timeout| Communicator::init_all(&devices[..2], &Config::new().timeout(timeout)));
    let [first, second] = <[Communicator; 2]>::try_from(ranks).unwrap();
    // The first call between two ranks: the library connects them, and waits for the other one to do the same.
    let mut memory = DeviceBuffer::from_slice(&devices[0], &[1.0_f32; 500]).unwrap();
    let result = first.receive(&mut memory, 1).and_then(|()| first.synchronize());
    match result {
        Err(Error::Timeout { context, .. }) => {
            assert_eq!((context.call, context.rank, context.peer), ("receive", 0, Some(1)));
        }
        other => panic!("{other:?}"),
    }
    assert!(first.is_aborted());
    second.abort();
}

#[test]
fn blocking_communicators_work_too() {
    let Some(_world) = world() else { return };
    let Some(devices) = devices() else { return };
    let ranks = Communicator::init_all(&devices[..2], &Config::new().blocking(true)).unwrap();
    assert_eq!(sum(&ranks.iter().collect::<Vec<_>>()), 3);
    Communicator::finalize_all(ranks).unwrap();
}
