//! Displays. The X library's macros read their fields (`X11/Xlib.h`).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use crate::state::{Gpu, lock};

/// A screen, up to the last field that is read.
#[repr(C)]
pub(crate) struct Screen {
    ext_data: *mut c_void,
    display: *mut Display,
    /// Its root window.
    root: u64,
    rest: [u64; 13],
}

/// A connection to a display, with the fields that are read.
#[repr(C)]
pub(crate) struct Display {
    before: [u64; 27],
    /// The name that it was opened with.
    display_name: *const c_char,
    default_screen: c_int,
    nscreens: c_int,
    screens: *mut Screen,
    rest: [u64; 7],
}

const _: () = {
    assert!(std::mem::offset_of!(Screen, root) == 16 && size_of::<Screen>() == 128);
    assert!(std::mem::offset_of!(Display, display_name) == 216 && std::mem::offset_of!(Display, default_screen) == 224);
    assert!(std::mem::offset_of!(Display, screens) == 232 && size_of::<Display>() == 296);
};

/// The number of the root window.
const ROOT: u64 = 0x51;

/// The GPU of a display: `:N` (and `:N.0`) is on the N-th software GPU.
fn gpu_of(name: &CStr) -> Gpu {
    let number = name.to_str().ok().and_then(|name| name.strip_prefix(':')?.split('.').next()?.parse().ok());
    number.map_or(Gpu::Other, Gpu::Software)
}

/// Opens a display; the first one without a name.
///
/// # Safety
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XOpenDisplay(name: *const c_char) -> *mut Display {
    // SAFETY: the caller vouches for it.
    let name = if name.is_null() { c":0" } else { unsafe { CStr::from_ptr(name) } };
    let gpu = gpu_of(name);
    let display = Box::into_raw(Box::new(Display {
        before: [0; 27],
        display_name: CString::from(name).into_raw(),
        default_screen: 0,
        nscreens: 1,
        screens: ptr::null_mut(),
        rest: [0; 7],
    }));
    let screen = Screen { ext_data: ptr::null_mut(), display, root: ROOT, rest: [0; 13] };
    // SAFETY: made above, and its address is not known to anyone yet.
    unsafe { (*display).screens = Box::into_raw(Box::new(screen)) };
    lock().displays.insert(display as usize, gpu);
    display
}

/// Closes a display. Its memory is kept, since HIP's runtime keeps displays longer than programs do.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn XCloseDisplay(display: *mut Display) -> c_int {
    lock().displays.remove(&(display as usize));
    0
}

/// Returns the name that a display was opened with.
///
/// # Safety
/// The display is one.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn XDisplayString(display: *mut Display) -> *const c_char {
    // SAFETY: the caller vouches for it.
    unsafe { (*display).display_name }
}

/// The only screen.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn XDefaultScreen(_: *mut Display) -> c_int {
    0
}

/// Its root window.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn XDefaultRootWindow(_: *mut Display) -> u64 {
    ROOT
}

/// Frees an object of the library. Does nothing, as no object needs it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn XFree(_: *mut c_void) -> c_int {
    1
}
