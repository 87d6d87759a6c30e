//! The handle, errors, and the random number state.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Mutex;

use hipgraph_sys::*;

use super::function::{ErrorObject, at, functions, give, run, take};
use crate::random::Random;

/// The object behind a `hipgraph_resource_handle_t`.
struct Handle;

/// The object behind a `hipgraph_rng_state_t`.
pub(super) struct State(pub(super) Mutex<Random>);

unsafe extern "C" fn hipgraph_create_resource_handle(raft_handle: *mut c_void) -> *mut hipgraph_resource_handle_t {
    // A RAFT handle with communicators means several GPUs, which the engine does not support.
    if raft_handle.is_null() { give(Handle) } else { std::ptr::null_mut() }
}

unsafe extern "C" fn hipgraph_free_resource_handle(handle: *mut hipgraph_resource_handle_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(handle) }
}

unsafe extern "C" fn hipgraph_resource_handle_get_rank(_handle: *const hipgraph_resource_handle_t) -> c_int {
    0
}

unsafe extern "C" fn hipgraph_resource_handle_get_comm_size(_handle: *const hipgraph_resource_handle_t) -> c_int {
    1
}

unsafe extern "C" fn hipgraph_error_message(error: *const hipgraph_error_t) -> *const c_char {
    // SAFETY: the pointer is C's.
    unsafe { at::<ErrorObject, _>(error, "error") }.map_or(std::ptr::null(), |error| error.message.as_ptr())
}

unsafe extern "C" fn hipgraph_error_free(error: *mut hipgraph_error_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(error) }
}

unsafe extern "C" fn hipgraph_rng_state_create(
    _handle: *const hipgraph_resource_handle_t,
    seed: u64,
    state: *mut *mut hipgraph_rng_state_t,
    error: *mut *mut hipgraph_error_t,
) -> hipgraph_error_code_t {
    // SAFETY: the pointers are C's.
    unsafe { run(state, error, || Ok(State(Mutex::new(Random::new(seed))))) }
}

unsafe extern "C" fn hipgraph_rng_state_free(p: *mut hipgraph_rng_state_t) {
    // SAFETY: the pointer is C's.
    unsafe { take(p) }
}

functions! {
    hipgraph_create_resource_handle, hipgraph_free_resource_handle, hipgraph_resource_handle_get_rank,
    hipgraph_resource_handle_get_comm_size, hipgraph_error_message, hipgraph_error_free, hipgraph_rng_state_create,
    hipgraph_rng_state_free,
}
