//! The child of a fork: clear errors, no hangs, and nothing of the parent's is touched.

use std::ffi::c_int;

use hip::stream::Signal;
use hip::{Device, DeviceBuffer, Error, Event, Stream};

use crate::device;
use crate::refused::Things;

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn alarm(seconds: u32) -> u32;
}

#[test]
fn a_forked_child_gets_a_clear_error_and_the_parent_goes_on() {
    let Some(mut things) = Things::new() else { return };
    let device = device().unwrap();
    let stream = Stream::new(&device).unwrap();
    let event = Event::new(&device).unwrap();
    let signal = Signal::new(&device, 5).ok();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    data.fill_async(&stream, 3).unwrap();
    // SAFETY: the child calls only this crate, which does not call the runtime there, and ends with _exit.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: takes a number: a hang ends the child.
        unsafe { alarm(20) };
        let found = [Device::get(0).map(drop), Device::count().map(drop), data.as_slice().to_vec().map(drop)];
        // Its memory may not be there, which a call without a check ends the child for.
        let signals = signal.iter().flat_map(|signal| [signal.load().map(drop), signal.store(6)]);
        let results = things.call().into_iter().map(|(_, result)| result).chain(found).chain(signals);
        let shown = format!("{signal:?}");
        let wrong = results.enumerate().find(|(_, result)| !matches!(result, Err(Error::ForkedChild)));
        // Nothing of it is the child's to give back.
        drop((things, data, stream, event, signal, shown));
        // SAFETY: ends the process.
        unsafe { _exit(wrong.map_or(0, |(at, _)| at as c_int + 1)) }
    }
    assert!(child > 0);
    let mut status = -1;
    // SAFETY: `status` is valid for a write.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(
        status, 0,
        "the child ended with {:#x}: the number of the call that went wrong, in the second byte",
        status
    );
    assert_eq!(data.to_vec().unwrap(), [3; 64]);
    assert!(signal.is_none_or(|signal| signal.load().unwrap() == 5), "the child has not written to it");
}
