//! The child of a fork: clear errors, no hangs, and nothing of the parent's is touched.

use std::ffi::c_int;

use hip::{Device, DeviceBuffer, Error, Event, Module, Stream};

use crate::{kernels, module};

unsafe extern "C" {
    fn fork() -> c_int;
    fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn alarm(seconds: u32) -> u32;
}

#[test]
fn a_forked_child_gets_a_clear_error_and_the_parent_goes_on() {
    let Some(module) = module() else { return };
    let device = module.device();
    let stream = Stream::new(&device).unwrap();
    let event = Event::new(&device).unwrap();
    let mut data = DeviceBuffer::<u32>::zeroed(&device, 64).unwrap();
    data.fill_async(&stream, 3).unwrap();
    let code = kernels(&device);
    // SAFETY: the child calls only this crate, which does not call the runtime there, and ends with _exit.
    let child = unsafe { fork() };
    if child == 0 {
        // SAFETY: takes a number: a hang ends the child.
        unsafe { alarm(20) };
        let results = [
            data.to_vec().map(drop),
            data.fill_async(&stream, 4),
            stream.synchronize(),
            stream.is_idle().map(drop),
            event.record(&stream),
            device.memory_info().map(drop),
            device.synchronize(),
            Device::get(0).map(drop),
            Device::count().map(drop),
            Stream::new(&device).map(drop),
            DeviceBuffer::<u8>::zeroed(&device, 1).map(drop),
            Module::load(&device, code).map(drop),
        ];
        let wrong = results.iter().position(|result| !matches!(result, Err(Error::ForkedChild)));
        drop((data, stream, module));
        // SAFETY: ends the process.
        unsafe { _exit(wrong.map_or(0, |at| at as c_int + 1)) }
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
}
