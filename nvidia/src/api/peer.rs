//! Access to other devices' memory, and memory of other processes.

use std::ffi::{c_int, c_uint, c_void};

use hip_sys::rocm_7_2::hipStream_t;

use crate::context::{self, Context};
use crate::driver::driver_functions;
use crate::table::hip_functions;

driver_functions! {
    /// Lets the current context reach the memory of another.
    fn cuCtxEnablePeerAccess(peer: Context, flags: c_uint);
    /// Ends the current context's access to the memory of another.
    fn cuCtxDisablePeerAccess(peer: Context);
    /// Copies between devices.
    fn cuMemcpyPeerAsync(
        dst: *mut c_void, dst_context: Context, src: *const c_void, src_context: Context, bytes: usize, stream: hipStream_t,
    );
}

hip_functions! {
    translated fn hipDeviceEnablePeerAccess(peer: c_int, flags: c_uint) {
        context::enter()?;
        cuCtxEnablePeerAccess(context::primary(peer)?, flags)
    }

    translated fn hipDeviceDisablePeerAccess(peer: c_int) {
        context::enter()?;
        cuCtxDisablePeerAccess(context::primary(peer)?)
    }

    translated fn hipMemcpyPeerAsync(
        dst: *mut c_void, dst_device: c_int, src: *const c_void, src_device: c_int, bytes: usize, stream: hipStream_t,
    ) {
        context::enter()?;
        if bytes == 0 {
            return Ok(());
        }
        let (to, from) = (context::primary(dst_device)?, context::primary(src_device)?);
        cuMemcpyPeerAsync(dst, to, src, from, bytes, stream)
    }
}
