//! The child of a fork: clear errors, no hangs, and no access to the parent's resources.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use hip::stream::Signal;
use hip::{Device, DeviceBuffer, Error, Event, Stream};

use crate::refused::Things;
use crate::{SetOnDrop, device};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn alarm(seconds: u32) -> u32;
}

/// An object of each type, and the results of a child's calls on them.
struct Parents {
    things: Things,
    stream: Stream,
    event: Event,
    signal: Option<Signal>,
    data: DeviceBuffer<u32>,
}

impl Parents {
    fn new() -> Option<Self> {
        let things = Things::new()?;
        let device = device()?;
        let stream = Stream::new(&device).unwrap();
        let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
        data.fill_async(&stream, 3).unwrap();
        let (event, signal) = (Event::new(&device).unwrap(), Signal::new(&device, 5).ok());
        Some(Self { things, stream, event, signal, data })
    }

    /// Makes all calls in a forked child, and drops the objects. Returns the index of the first call that is not
    /// rejected, if there is one.
    fn call(mut self) -> Option<usize> {
        let found = [Device::get(0).map(drop), Device::count().map(drop), self.data.as_slice().to_vec().map(drop)];
        // The child may not have its memory: an unchecked access would crash the child.
        let signals = self.signal.iter().flat_map(|signal| [signal.load().map(drop), signal.store(6)]);
        let results = self.things.call().into_iter().map(|(_, result)| result).chain(found).chain(signals);
        let wrong = results.enumerate().find(|(_, result)| !matches!(result, Err(Error::ForkedChild)));
        let shown = format!("{:?} {:?} {:?} {:?}", self.signal, self.stream, self.event, self.data);
        drop((self, shown));
        wrong.map(|(at, _)| at)
    }
}

/// Makes all calls on `parents` in the child of a fork.
fn fork_and_call(parents: Parents) -> Parents {
    // SAFETY: the child calls only this crate, which does not call the runtime there, and ends with _exit.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: takes a number. The alarm ends a child that hangs.
        unsafe { alarm(20) };
        let wrong = catch_unwind(AssertUnwindSafe(|| parents.call().map_or(0, |at| at as c_int + 1)));
        // SAFETY: ends the process.
        unsafe { _exit(wrong.unwrap_or(255)) }
    }
    assert!(child > 0);
    let mut status = -1;
    // SAFETY: `status` is valid for a write.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(
        status, 0,
        "the child ended with {status:#x}: the number of the call that went wrong, in the second byte; ff for a panic"
    );
    parents
}

#[test]
fn a_forked_child_gets_a_clear_error_and_the_parent_goes_on() {
    let Some(parents) = Parents::new() else { return };
    let parents = fork_and_call(parents);
    assert_eq!(parents.data.to_vec().unwrap(), [3; 64]);
    assert!(parents.signal.is_none_or(|signal| signal.load().unwrap() == 5), "the child has not written to it");
}

/// Other threads may hold any locks at the time of the fork.
#[test]
fn children_are_forked_while_other_threads_are_at_work() {
    let Some(mut parents) = Parents::new() else { return };
    let device = device().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Stops the threads also if a child fails.
        let _stop = SetOnDrop(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let stream = Stream::new(&device).unwrap();
                    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
                    data.fill_async(&stream, 1).unwrap();
                    stream.launch_host_function(|| {}).unwrap();
                    device.synchronize().unwrap();
                }
            });
        }
        for _ in 0..24 {
            parents = fork_and_call(parents);
        }
    });
}
