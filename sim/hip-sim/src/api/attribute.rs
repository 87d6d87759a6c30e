//! Stream attributes (since 7.1): the synchronisation policy. It is stored but has no effect: threads always wait in
//! the same way.

use std::ffi::{c_int, c_uint};

use hip_sys::rocm_7_2::*;

use super::hip_functions;
use crate::runtime::{Runtime, runtime};
use crate::status::{Outcome, ensure};

/// `hipLaunchAttributeSynchronizationPolicy` and `hipLaunchAttributePriority`.
const POLICY: c_uint = 3;
const PRIORITY: c_uint = 8;
/// `hipSyncPolicyAuto` to `hipSyncPolicyBlockingSync`.
const POLICIES: std::ops::RangeInclusive<c_uint> = AUTO..=4;
const AUTO: c_uint = 1;

/// `hipLaunchAttributeValue`: 64 bytes, of which each attribute uses a part.
#[derive(Clone, Copy)]
#[repr(C)]
struct Value([u32; 16]);

/// The synchronisation policy of a stream.
fn policy(runtime: &Runtime, stream: hipStream_t) -> Result<c_uint, crate::status::Refusal> {
    let queue = runtime.target(stream)?.queue;
    Ok(runtime.wait_policies().get(&queue).copied().unwrap_or(AUTO))
}

fn set_policy(runtime: &Runtime, stream: hipStream_t, policy: c_uint) -> Outcome {
    ensure(POLICIES.contains(&policy), hipErrorInvalidValue)?;
    let queue = runtime.target(stream)?.queue;
    runtime.wait_policies().insert(queue, policy);
    Ok(())
}

hip_functions! {
    since:

    fn hipStreamGetAttribute(stream: hipStream_t, attribute: c_uint, to: *mut Value) {
        let runtime = runtime()?;
        ensure(!to.is_null(), hipErrorInvalidValue)?;
        let value = match attribute {
            POLICY => policy(runtime, stream)?,
            PRIORITY => {
                runtime.target(stream)?;
                runtime.streams.get(stream.cast()).map_or(0, |stream| stream.priority) as c_uint
            }
            _ => return Err(hipErrorInvalidValue.into()),
        };
        // Both attributes are this large; the caller may have room for no more.
        to.cast::<c_uint>().write(value);
        Ok(())
    }

    fn hipStreamSetAttribute(stream: hipStream_t, attribute: c_uint, value: *const Value) {
        let runtime = runtime()?;
        ensure(!value.is_null() && attribute == POLICY, hipErrorInvalidValue)?;
        set_policy(runtime, stream, value.cast::<c_uint>().read())
    }

    fn hipStreamCopyAttributes(to: hipStream_t, from: hipStream_t) {
        let runtime = runtime()?;
        let device = |stream| runtime.target(stream).map(|target| target.device as c_int);
        ensure(device(to)? == device(from)?, hipErrorInvalidValue)?;
        set_policy(runtime, to, policy(runtime, from)?)
    }
}
