//! The driver's paths, and the location of its files.

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use rocm_preload::Place;

/// Paths that belong to the driver alone: the machine's own files there are hidden, with everything below. (PCI devices
/// are linked.)
const OURS: [&[u8]; 7] = [
    b"/sys/bus/pci/devices",
    b"/sys/class/kfd",
    b"/sys/devices/virtual/kfd",
    b"/sys/class/drm",
    b"/sys/module/amdgpu",
    b"/dev/kfd",
    b"/dev/dri",
];
/// Prefixes of other paths that may refer to driver files which the machine lacks.
const PERHAPS: [&[u8]; 2] = [b"/sys/", b"/dev/"];
/// The folder of the driver's files, without a trailing slash.
pub(crate) fn folder() -> Option<&'static [u8]> {
    static FOLDER: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    let read = || {
        // SAFETY: the name is a C string. The program cannot have changed its environment yet: its loader opens files first.
        let value = unsafe { libc::getenv(c"HIP_SIM_DRIVER_FILES".as_ptr()) };
        if value.is_null() {
            return None;
        }
        // SAFETY: the environment's values are C strings.
        let folder = unsafe { CStr::from_ptr(value) }.to_bytes();
        let folder = folder.strip_suffix(b"/").unwrap_or(folder);
        folder.starts_with(b"/").then(|| folder.to_vec())
    };
    FOLDER.get_or_init(read).as_deref()
}

/// Returns whether a path exists, using a system call directly.
fn exists(path: *const c_char) -> bool {
    // SAFETY: all zero is a value of the struct.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let (at, flags): (c_int, c_int) = (libc::AT_FDCWD, libc::AT_SYMLINK_NOFOLLOW);
    // SAFETY: the path is a C string, `stat` is valid for the write.
    unsafe { libc::syscall(libc::SYS_newfstatat, at, path, &raw mut stat, flags) == 0 }
}

fn is_below(path: &[u8], top: &[u8]) -> bool {
    path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

/// The redirected place of a path, if it is one of the driver's or `/proc/self/exe`.
///
/// # Safety
/// `path` must be null or a C string.
pub(crate) unsafe fn of(path: *const c_char) -> Option<Place> {
    if path.is_null() {
        return None;
    }
    // SAFETY: not null, so the caller vouches for it.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes();
    if !PERHAPS.iter().any(|start| text.starts_with(start)) {
        // SAFETY: as the caller vouches.
        return unsafe { Place::of_this_program(path) };
    }
    let place = Place::new(folder()?, text)?;
    let ours = OURS.iter().any(|top| is_below(text, top));
    (ours || exists(place.as_ptr()) && !exists(path)).then_some(place)
}

/// The redirected place of a pattern, by its folders up to the first wildcard.
///
/// # Safety
/// As of [`of`].
pub(crate) unsafe fn of_pattern(pattern: *const c_char) -> Option<Place> {
    if pattern.is_null() {
        return None;
    }
    // SAFETY: not null, so the caller vouches for it.
    let text = unsafe { CStr::from_ptr(pattern) }.to_bytes();
    if !PERHAPS.iter().any(|start| text.starts_with(start)) {
        return None;
    }
    let plain = text.iter().position(|c| b"*?[\\".contains(c)).unwrap_or(text.len());
    let fixed = &text[..text[..plain].iter().rposition(|c| *c == b'/')?];
    let start = Place::new(b"", fixed)?;
    // SAFETY: a C string.
    unsafe { of(start.as_ptr()) }?;
    Place::new(folder()?, text)
}

/// Removes the folder of the driver's files from the front of a path that the C library returned.
///
/// # Safety
/// `path` must be null or a C string that may be written.
pub(crate) unsafe fn strip(path: *mut c_char) {
    let Some(folder) = folder().filter(|_| !path.is_null()) else { return };
    // SAFETY: not null, so the caller vouches for it.
    let text = unsafe { CStr::from_ptr(path) }.to_bytes_with_nul();
    let Some(rest) = text.strip_prefix(folder).filter(|rest| rest[0] == b'/') else { return };
    // SAFETY: `rest` is the end of the text, with its zero; the beginning has room for it.
    unsafe { std::ptr::copy(rest.as_ptr().cast::<c_char>(), path, rest.len()) };
}
