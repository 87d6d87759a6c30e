//! GLX: contexts, and the current context of a thread.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use crate::procs;
use crate::state::{CURRENT, Context, Current, lock};
use crate::x11::Display;

/// The handle of a context: its number, which is not a valid address.
fn handle(context: usize) -> *mut c_void {
    ptr::without_provenance_mut(context)
}

/// A visual. Its contents do not matter, since nothing is drawn (`XVisualInfo`).
static VISUAL: [u64; 8] = [0; 8];

/// Returns a visual for a context.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXChooseVisual(_: *mut Display, _: c_int, _: *mut c_int) -> *mut c_void {
    (&raw const VISUAL).cast_mut().cast()
}

/// Creates a context, which may share the objects of another one. Null if the display or the other context does not
/// exist.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXCreateContext(
    display: *mut Display,
    visual: *mut c_void,
    share: *mut c_void,
    _direct: c_int,
) -> *mut c_void {
    let mut state = lock();
    let Some(&gpu) = state.displays.get(&(display as usize)).filter(|_| !visual.is_null()) else {
        return ptr::null_mut();
    };
    let group = match share.addr() {
        0 => Arc::default(),
        share => match state.contexts.get(&share) {
            Some(other) if other.gpu == gpu => Arc::clone(&other.group),
            _ => return ptr::null_mut(),
        },
    };
    // Widely spaced, so that a small number is never valid by chance.
    state.last_context += 0x1000;
    let number = state.last_context;
    state.contexts.insert(number, Context { gpu, group, error: 0, bound: BTreeMap::new() });
    handle(number)
}

/// Destroys a context. Its objects live as long as another context of its group.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXDestroyContext(_: *mut Display, context: *mut c_void) {
    lock().contexts.remove(&context.addr());
}

/// Makes a context, or none, current on the thread. Returns whether that was possible.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXMakeCurrent(display: *mut Display, drawable: u64, context: *mut c_void) -> c_int {
    if context.is_null() {
        CURRENT.set(Current::default());
        return 1;
    }
    if drawable == 0 || !lock().contexts.contains_key(&context.addr()) {
        return 0;
    }
    CURRENT.set(Current { display: display as usize, drawable, context: context.addr() });
    1
}

/// The thread's context.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXGetCurrentContext() -> *mut c_void {
    handle(CURRENT.get().context)
}

/// The display of the thread's context.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXGetCurrentDisplay() -> *mut c_void {
    ptr::with_exposed_provenance_mut(CURRENT.get().display)
}

/// The drawable of the thread's context.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn glXGetCurrentDrawable() -> u64 {
    CURRENT.get().drawable
}

/// Returns the address of a function. For every name that starts with `gl` there is one.
///
/// # Safety
/// `name` is a string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn glXGetProcAddress(name: *const c_char) -> *const c_void {
    // SAFETY: the caller vouches for it.
    unsafe { procs::address(name) }
}
