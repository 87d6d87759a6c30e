//! The first allocation from a pool, while other threads wait. In its own process, because this happens only once per
//! process.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use cuda_compat::driver::CudaContext;

/// HIP 7.2 deadlocked here now and then: see [`hip::interop::prepare_pools`].
#[test]
fn the_first_pool_memory_comes_while_others_wait() {
    if linalg_testing::device().is_none() {
        return;
    }
    let context = CudaContext::new(0).unwrap();
    // Only calls that do not use the default stream come before the allocations.
    let streams = [(); 3].map(|()| context.new_stream().unwrap());
    let (waiting, done) = (AtomicU32::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for stream in &streams[1..] {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    stream.synchronize().unwrap();
                    context.synchronize().unwrap();
                    waiting.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while waiting.load(Ordering::Relaxed) < 10 {
            thread::yield_now();
        }
        let memory = streams[0].clone_htod(&[7_u32; 1 << 10]);
        let read = memory.and_then(|memory| streams[0].clone_dtoh(&memory));
        done.store(true, Ordering::Relaxed);
        assert_eq!(read.unwrap(), [7; 1 << 10]);
    });
}
