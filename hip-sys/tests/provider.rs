//! A provider that replaces the library.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use hip_sys::*;

/// A HIP of one function.
struct OneDevice;

unsafe extern "C" fn one_device(count: *mut c_int) -> hipError_t {
    // SAFETY: the caller's pointer is valid for the write.
    unsafe { count.write(1) };
    hipSuccess
}

impl Provider for OneDevice {
    fn name(&self) -> &str {
        "one device"
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        (name == c"hipGetDeviceCount").then(|| NonNull::new(one_device as *mut c_void)).flatten()
    }
}

#[test]
fn functions_come_from_the_provider() {
    static PROVIDER: OneDevice = OneDevice;
    set_provider(&PROVIDER).unwrap();
    let mut count = 0;
    // SAFETY: `count` is valid for the write.
    let status = unsafe { hipGetDeviceCount(&mut count) };
    assert_eq!((status, count), (hipSuccess, 1));
    // SAFETY: takes no pointer.
    assert_eq!(unsafe { hipDeviceSynchronize() }, hipErrorSharedObjectSymbolNotFound);
    assert!(load_error().is_none() && has(c"hipGetDeviceCount") && !has(c"hipInit"));

    static OTHER: OneDevice2 = OneDevice2;
    let error = set_provider(&OTHER).unwrap_err().to_string();
    assert!(error.contains("another") && error.contains("one device"), "{error}");
}

struct OneDevice2;

impl Provider for OneDevice2 {
    fn name(&self) -> &str {
        "another"
    }

    fn symbol(&self, _: &CStr) -> Option<NonNull<c_void>> {
        None
    }
}
