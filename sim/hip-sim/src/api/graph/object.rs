//! User objects: data of the program that lives as long as the graphs that retain it.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use hip_sys::rocm_7_2::*;

use super::handles::graph_of;
use crate::api::{hip_functions, put};
use crate::graph::{Hold, UserObject};
use crate::runtime::{Runtime, runtime};
use crate::status::{Refusal, ensure};

/// `hipUserObjectNoDestructorSync`: the destructor cannot be waited for. The flag is mandatory.
const NO_SYNC: c_uint = 1;
/// `hipGraphUserObjectMove`: takes over the caller's references.
const MOVE: c_uint = 1;
/// The maximum number of references.
const MOST: c_uint = i32::MAX as c_uint;

fn object_of(runtime: &Runtime, object: hipUserObject_t, count: c_uint) -> Result<Arc<UserObject>, Refusal> {
    ensure(count > 0 && count <= MOST, hipErrorInvalidValue)?;
    runtime.objects.get(object.cast()).ok_or_else(|| hipErrorInvalidValue.into())
}

hip_functions! {
    fn hipUserObjectCreate(
        to: *mut hipUserObject_t, data: *mut c_void, destroy: hipHostFn_t, count: c_uint, flags: c_uint,
    ) {
        let runtime = runtime()?;
        let destroy = destroy.ok_or(hipErrorInvalidValue)?;
        ensure(!to.is_null() && flags == NO_SYNC && count > 0 && count <= MOST, hipErrorInvalidValue)?;
        let handle = runtime.objects.insert(UserObject::new(data, destroy, count)).ok_or(hipErrorOutOfMemory)?;
        if let Some(object) = runtime.objects.get(handle) {
            object.named(&runtime.objects, handle.addr());
        }
        put(to, handle.cast())
    }

    fn hipUserObjectRetain(object: hipUserObject_t, count: c_uint) {
        let object = object_of(runtime()?, object, count)?;
        ensure(object.retain(count), hipErrorInvalidValue)
    }

    fn hipUserObjectRelease(object: hipUserObject_t, count: c_uint) {
        let object = object_of(runtime()?, object, count)?;
        ensure(object.release(count), hipErrorInvalidValue)
    }

    fn hipGraphRetainUserObject(graph: hipGraph_t, object: hipUserObject_t, count: c_uint, flags: c_uint) {
        let runtime = runtime()?;
        let graph = graph_of(runtime, graph)?;
        let object = object_of(runtime, object, count)?;
        ensure(flags <= MOVE, hipErrorInvalidValue)?;
        ensure(flags == MOVE || object.retain(count), hipErrorInvalidValue)?;
        graph.objects().push(Hold { object, count });
        Ok(())
    }

    fn hipGraphReleaseUserObject(graph: hipGraph_t, object: hipUserObject_t, count: c_uint) {
        let runtime = runtime()?;
        let graph = graph_of(runtime, graph)?;
        let object = object_of(runtime, object, count)?;
        let mut objects = graph.objects();
        let held = |hold: &Hold| Arc::ptr_eq(&hold.object, &object);
        let all: u64 = objects.iter().filter(|hold| held(hold)).map(|hold| u64::from(hold.count)).sum();
        ensure(u64::from(count) <= all, hipErrorInvalidValue)?;
        let mut left = count;
        for hold in objects.iter_mut().filter(|hold| held(hold)) {
            let taken = left.min(hold.count);
            hold.count -= taken;
            left -= taken;
        }
        objects.retain(|hold| hold.count > 0);
        drop(objects);
        // Released outside the lock: the destructor calls the program.
        ensure(object.release(count), hipErrorInvalidValue)
    }
}
