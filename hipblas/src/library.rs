//! The handle of the C library.

use std::ffi::c_void;
use std::ptr;

use hip::sys::hipStream_t;
use hip_linalg::Library;

use crate::raw::{self, Api};
use crate::{Error, Result, check};

pub(crate) struct HipBlas;

impl Library for HipBlas {
    type Error = Error;

    fn create() -> Result<*mut c_void> {
        let mut handle = ptr::null_mut();
        // SAFETY: the function writes a handle through a valid pointer.
        let status = unsafe { raw::hipblasCreate(&mut handle) };
        check(status, "hipblasCreate", || "a handle of the current device".to_owned())?;
        if raw::api() == Api::V5 {
            // Without it, 8-bit integers are read in groups of four.
            const INT8: u32 = 1;
            // SAFETY: the handle.
            let status = unsafe { raw::hipblasSetInt8Datatype(handle, INT8) };
            if let Err(error) = check(status, "hipblasSetInt8Datatype", String::new) {
                // SAFETY: only this function has the handle.
                unsafe { Self::destroy(handle) };
                return Err(error);
            }
        }
        Ok(handle)
    }

    unsafe fn destroy(handle: *mut c_void) {
        // SAFETY: a handle that nothing uses any more.
        let _ = unsafe { raw::hipblasDestroy(handle) };
    }

    unsafe fn set_stream(handle: *mut c_void, stream: hipStream_t) -> Result<()> {
        // SAFETY: a handle that is alive, and a stream of its device.
        check(unsafe { raw::hipblasSetStream(handle, stream) }, "hipblasSetStream", || "a stream".to_owned())
    }

    unsafe fn set_pointer_mode(handle: *mut c_void, device: bool) -> Result<()> {
        // SAFETY: a handle that is alive.
        let status = unsafe { raw::hipblasSetPointerMode(handle, device.into()) };
        check(status, "hipblasSetPointerMode", || format!("on the device: {device}"))
    }
}
