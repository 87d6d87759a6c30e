//! The first allocation from a pool, while other threads wait and free. In its own process, because this happens only
//! once per process.

#[path = "gpu/common.rs"]
#[allow(dead_code, reason = "of the tests in tests/gpu too")]
mod common;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use common::{SetOnDrop, Watchdog, device};
use hip::{DeviceBuffer, Event, Stream};

/// HIP 7.2 hung here more often than not: see `Device::prepare_pools`.
#[test]
fn the_first_pool_memory_comes_while_others_wait() {
    let Some(device) = device() else { return };
    let _watchdog = Watchdog::new("the first memory of a pool");
    let streams = [(); 3].map(|()| Stream::new(&device).unwrap());
    // Only calls that do not use the default stream come before the allocations.
    let (waiting, done) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for stream in &streams[1..] {
            scope.spawn(|| {
                let event = Event::new(&device).unwrap();
                while !done.load(Ordering::Relaxed) {
                    event.record(stream).unwrap();
                    event.synchronize().unwrap();
                    waiting.fetch_add(1, Ordering::Relaxed);
                    stream.synchronize().unwrap();
                }
            });
        }
        let _stop = SetOnDrop(&done);
        while waiting.load(Ordering::Relaxed) < 10 {
            thread::yield_now();
        }
        for round in 0..10u32 {
            let mut taken = DeviceBuffer::<u32>::uninit_async(&streams[0], 1 << 10).unwrap();
            taken.fill_async(&streams[0], round).unwrap();
            assert_eq!(taken.to_vec().unwrap(), vec![round; 1 << 10]);
        }
    });
}
