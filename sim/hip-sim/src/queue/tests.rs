use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::time::Duration;

use super::*;

type Log = Arc<Mutex<Vec<&'static str>>>;

fn scheduler() -> Arc<Scheduler> {
    Arc::new(Scheduler::new(None))
}

fn write(log: &Log, text: &'static str) -> Work {
    let log = Arc::clone(log);
    Work::Device(Box::new(move || {
        log.lock().unwrap().push(text);
        Ok(())
    }))
}

/// Device work that holds its queue until the sender is used or dropped.
fn gate(log: &Log, text: &'static str) -> (Work, mpsc::Sender<()>) {
    let (open, opened) = mpsc::channel();
    let log = Arc::clone(log);
    let work = Work::Host(Box::new(move |_| {
        let _ = opened.recv();
        log.lock().unwrap().push(text);
    }));
    (work, open)
}

fn fail(text: &str) -> Work {
    let failure = Failure::new(hip_sys::hipErrorIllegalAddress, text);
    Work::Device(Box::new(move || Err(failure)))
}

#[test]
fn a_queue_keeps_its_order_whoever_runs_it() {
    let scheduler = scheduler();
    let key = scheduler.open(0, Order::Free, Priority::Normal);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for n in 0..1000 {
        let seen = Arc::clone(&seen);
        let work = Work::Device(Box::new(move || {
            seen.lock().unwrap().push(n);
            Ok(())
        }));
        scheduler.submit(key, work, &[]).unwrap();
        if n % 100 == 0 {
            scheduler.wait(&[scheduler.last(key).unwrap()]);
        }
    }
    scheduler.wait(&[scheduler.last(key).unwrap()]);
    assert_eq!(*seen.lock().unwrap(), (0..1000).collect::<Vec<_>>());
}

#[test]
fn work_runs_without_anybody_waiting() {
    let scheduler = scheduler();
    let key = scheduler.open(0, Order::Free, Priority::Normal);
    let (tell, told) = mpsc::channel();
    let work = Work::Device(Box::new(move || {
        tell.send(()).unwrap();
        Ok(())
    }));
    scheduler.submit(key, work, &[]).unwrap();
    told.recv().unwrap();
}

#[test]
fn a_wait_orders_queues_that_are_otherwise_free() {
    let (scheduler, log) = (scheduler(), Log::default());
    let first = scheduler.open(0, Order::Free, Priority::Normal);
    let second = scheduler.open(1, Order::Free, Priority::Normal);
    let (gate, open) = gate(&log, "first");
    let point = scheduler.submit(first, gate, &[]).unwrap();
    let last = scheduler.submit(second, write(&log, "second"), &[point]).unwrap();
    assert!(!scheduler.reached(last));
    open.send(()).unwrap();
    scheduler.wait(&[last]);
    assert_eq!(*log.lock().unwrap(), ["first", "second"]);
}

#[test]
fn the_null_queue_and_blocking_ones_wait_for_each_other_and_free_ones_do_not() {
    let (scheduler, log) = (scheduler(), Log::default());
    let null = scheduler.open(0, Order::Null, Priority::Normal);
    let blocking = scheduler.open(0, Order::Blocking, Priority::Normal);
    let free = scheduler.open(0, Order::Free, Priority::Normal);
    let other_device = scheduler.open(1, Order::Null, Priority::Normal);
    let (gate, open) = gate(&log, "blocking");
    scheduler.submit(blocking, gate, &[]).unwrap();
    scheduler.submit(null, write(&log, "null"), &[]).unwrap();
    let last = scheduler.submit(blocking, write(&log, "blocking again"), &[]).unwrap();
    let beside = scheduler.submit(free, write(&log, "free"), &[]).unwrap();
    let elsewhere = scheduler.submit(other_device, write(&log, "other device"), &[]).unwrap();
    scheduler.wait(&[beside]);
    scheduler.wait(&[elsewhere]);
    let mut beside = log.lock().unwrap().clone();
    beside.sort_unstable(); // between themselves they have no order
    assert_eq!(beside, ["free", "other device"]);
    open.send(()).unwrap();
    scheduler.wait(&[last]);
    assert_eq!(log.lock().unwrap()[2..], ["blocking", "null", "blocking again"]);
}

#[test]
fn a_host_function_may_wait_for_work_of_another_queue() {
    let (scheduler, log) = (scheduler(), Log::default());
    // More concurrent host functions than workers for device work.
    let count = 4 * scheduler.device_workers;
    let gates: Vec<_> = (0..count)
        .map(|_| {
            let key = scheduler.open(0, Order::Free, Priority::Normal);
            let (work, open) = gate(&log, "host");
            (scheduler.submit(key, work, &[]).unwrap(), open)
        })
        .collect();
    let key = scheduler.open(0, Order::Free, Priority::Normal);
    let (tell, told) = mpsc::channel();
    let work = Work::Device(Box::new(move || {
        tell.send(()).unwrap();
        Ok(())
    }));
    scheduler.submit(key, work, &[]).unwrap();
    told.recv().unwrap();
    for (point, open) in gates {
        open.send(()).unwrap();
        scheduler.wait(&[point]);
    }
}

#[test]
fn a_failure_drops_what_is_behind_it_and_is_told_once() {
    let (scheduler, log) = (scheduler(), Log::default());
    let key = scheduler.open(0, Order::Blocking, Priority::Normal);
    scheduler.submit(key, fail("bad"), &[]).unwrap();
    scheduler.submit(key, write(&log, "behind"), &[]).unwrap();
    let stamped = Arc::new(AtomicBool::new(false));
    let stamp = Arc::clone(&stamped);
    let always = Work::Always(Box::new(move || stamp.store(true, Ordering::Relaxed)));
    let last = scheduler.submit(key, always, &[]).unwrap();
    scheduler.wait(&[last]);
    assert!(log.lock().unwrap().is_empty());
    assert!(stamped.load(Ordering::Relaxed));
    let other = Point { queue: key, ticket: 0 };
    assert!(scheduler.take_failure(Scope::Named(other)).is_none(), "before the failure");
    assert_eq!(scheduler.take_failure(Scope::Named(last)).unwrap().text, "bad");
    assert!(scheduler.take_failure(Scope::Named(last)).is_none());
    let next = scheduler.submit(key, write(&log, "next"), &[]).unwrap();
    scheduler.wait(&[next]);
    assert_eq!(*log.lock().unwrap(), ["next"]);
}

#[test]
fn a_failure_spreads_through_waits_alone() {
    let (scheduler, log) = (scheduler(), Log::default());
    let null = scheduler.open(0, Order::Null, Priority::Normal);
    let failing = scheduler.open(0, Order::Blocking, Priority::Normal);
    let waiting = scheduler.open(0, Order::Free, Priority::Normal);
    let point = scheduler.submit(failing, fail("bad"), &[]).unwrap();
    let spoiled = scheduler.submit(waiting, write(&log, "waiting"), &[point]).unwrap();
    let ordered = scheduler.submit(null, write(&log, "null"), &[]).unwrap();
    scheduler.wait(&[spoiled, ordered]);
    assert_eq!(*log.lock().unwrap(), ["null"]);
    assert!(scheduler.take_failure(Scope::Named(ordered)).is_none());
    assert!(scheduler.take_failure(Scope::Named(spoiled)).is_some());
    assert!(scheduler.take_failure(Scope::Named(point)).is_some());
}

#[test]
fn another_threads_failure_stays_for_it_to_hear() {
    let scheduler = scheduler();
    let key = scheduler.open(0, Order::Blocking, Priority::Normal);
    let point = scheduler.submit(key, fail("bad"), &[]).unwrap();
    scheduler.wait(&[point]);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            assert!(scheduler.take_failure(Scope::Device(0)).is_some());
            assert!(scheduler.take_failure(Scope::NullStream(0)).is_some());
            assert!(scheduler.take_failure(Scope::Device(1)).is_none());
        });
    });
    assert!(scheduler.take_failure(Scope::Device(0)).is_some());
    assert!(scheduler.take_failure(Scope::Device(0)).is_none());
}

#[test]
fn the_failure_of_a_closed_queue_is_kept_for_its_device() {
    let scheduler = scheduler();
    let key = scheduler.open(0, Order::Free, Priority::Normal);
    scheduler.submit(key, fail("bad"), &[]).unwrap();
    scheduler.close(key);
    assert!(scheduler.submit(key, Work::Always(Box::new(|| {})), &[]).is_none());
    assert!(scheduler.take_failure(Scope::NullStream(0)).is_some());
    assert!(scheduler.take_failure(Scope::Device(0)).is_none());
}

#[test]
fn a_panic_of_the_simulator_is_a_failure() {
    let scheduler = scheduler();
    let key = scheduler.open(0, Order::Free, Priority::Normal);
    let work = Work::Device(Box::new(|| panic!("oh")));
    let point = scheduler.submit(key, work, &[]).unwrap();
    scheduler.wait(&[point]);
    let failure = scheduler.take_failure(Scope::Named(point)).unwrap();
    assert_eq!(failure.status, hip_sys::hipErrorUnknown);
    assert!(failure.text.contains("oh"));
}

#[test]
fn many_threads_and_queues_with_random_waits_all_end() {
    let scheduler = scheduler();
    let keys: Vec<_> = (0..12)
        .map(|n| {
            let order = [Order::Null, Order::Blocking, Order::Free][n.min(1 + n % 2)];
            scheduler.open(0, order, Priority::Normal)
        })
        .collect();
    let done = Arc::new(AtomicU64::new(0));
    std::thread::scope(|threads| {
        for seed in 1..=8_u64 {
            let (scheduler, keys, done) = (&scheduler, &keys, &done);
            threads.spawn(move || {
                let mut random = seed;
                for _ in 0..500 {
                    random ^= random << 13;
                    random ^= random >> 7;
                    random ^= random << 17;
                    let key = keys[random as usize % keys.len()];
                    let other = keys[(random >> 8) as usize % keys.len()];
                    let waits: Vec<_> = scheduler.last(other).into_iter().collect();
                    let done = Arc::clone(done);
                    let count = move || {
                        done.fetch_add(1, Ordering::Relaxed);
                    };
                    let work = match random >> 16 & 7 {
                        0 => Work::Host(Box::new(move |_| count())),
                        1 => Work::Always(Box::new(count)),
                        _ => Work::Device(Box::new(move || {
                            count();
                            Ok(())
                        })),
                    };
                    let point = scheduler.submit(key, work, &waits).unwrap();
                    if random >> 20 & 15 == 0 {
                        scheduler.wait(&[point]);
                    }
                }
            });
        }
    });
    scheduler.wait(&scheduler.points(Scope::Device(0)));
    assert_eq!(done.load(Ordering::Relaxed), 8 * 500);
}

#[test]
fn commands_that_wait_for_later_ones_of_other_queues_get_them() {
    let scheduler = scheduler();
    // Many more kernels than there are worker places initially. Each occupies its place until the next one runs.
    let count = 4 * scheduler.device_workers + 16;
    let flags: Arc<Vec<AtomicBool>> = Arc::new((0..=count).map(|_| AtomicBool::new(false)).collect());
    let points: Vec<_> = (0..count)
        .map(|n| {
            let flags = Arc::clone(&flags);
            let work = Work::Device(Box::new(move || {
                flags[n].store(true, Ordering::Relaxed);
                while !flags[n + 1].load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_micros(100));
                }
                Ok(())
            }));
            let key = scheduler.open(0, Order::Free, Priority::Normal);
            scheduler.submit(key, work, &[]).unwrap()
        })
        .collect();
    // Polled, since a waiting thread would run one of them itself.
    while !flags[count - 1].load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    flags[count].store(true, Ordering::Relaxed);
    scheduler.wait(&points);
    // Afterwards the extra places are removed.
    while scheduler.lock().workers.extra_places() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn who_waits_for_work_learns_that_it_was_left_out_though_another_was_told() {
    let (scheduler, log) = (scheduler(), Log::default());
    let key = scheduler.open(0, Order::Null, Priority::Normal);
    let (gate, open) = gate(&log, "first");
    scheduler.submit(key, gate, &[]).unwrap();
    let failed = scheduler.submit(key, fail("bad"), &[]).unwrap();
    let [left_out, done] = [LeftOut::default(), LeftOut::default()];
    let awaited = |left_out: &LeftOut| Work::Awaited(Box::new(|| Ok(())), LeftOut::clone(left_out));
    let behind = scheduler.submit(key, awaited(&left_out), &[]).unwrap();
    open.send(()).unwrap();
    scheduler.wait(&[failed]);
    assert!(scheduler.take_failure(Scope::Named(failed)).is_some());
    scheduler.wait(&[behind]);
    assert!(scheduler.take_failure(Scope::NullStream(0)).is_none(), "it has been told");
    assert_eq!(left_out.get().unwrap().text, "bad");
    let after = scheduler.submit(key, awaited(&done), &[]).unwrap();
    scheduler.wait(&[after]);
    assert!(done.get().is_none());
}
