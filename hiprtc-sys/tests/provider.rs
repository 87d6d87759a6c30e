//! A provider that replaces the library.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use hiprtc_sys::*;

/// A HIPRTC of one function.
struct Version;

unsafe extern "C" fn version(major: *mut c_int, minor: *mut c_int) -> hiprtcResult {
    // SAFETY: the caller's pointers are valid for the write.
    unsafe {
        major.write(1);
        minor.write(2);
    }
    HIPRTC_SUCCESS
}

impl Provider for Version {
    fn name(&self) -> &str {
        "version"
    }

    fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        (name == c"hiprtcVersion").then(|| NonNull::new(version as *mut c_void)).flatten()
    }
}

#[test]
fn functions_come_from_the_provider() {
    static PROVIDER: Version = Version;
    set_provider(&PROVIDER).unwrap();
    let (mut major, mut minor) = (0, 0);
    // SAFETY: both are valid for the write.
    let status = unsafe { hiprtcVersion(&mut major, &mut minor) };
    assert_eq!((status, major, minor), (HIPRTC_SUCCESS, 1, 2));
    assert!(load_error().is_none() && has(c"hiprtcVersion") && !has(c"hiprtcGetCode"));
}
