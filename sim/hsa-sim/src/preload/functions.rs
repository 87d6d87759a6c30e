//! The C library's functions that take a path, as far as programs of ROCm use them.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::place;

/// A file's status, which is only passed on.
type Status = c_void;
type Select = Option<unsafe extern "C" fn(*const c_void) -> c_int>;
type Compare = Option<unsafe extern "C" fn(*mut *const c_void, *mut *const c_void) -> c_int>;
type GlobError = Option<unsafe extern "C" fn(*const c_char, c_int) -> c_int>;

rocm_preload::functions! {
    by place::of;
    /// `mode` is a variadic argument in C and is passed like any other. If the caller omits it, it is not read.
    fn open([path], flags: c_int, mode: c_uint) -> c_int;
    /// As `open`.
    fn open64([path], flags: c_int, mode: c_uint) -> c_int;
    /// `open` in fortified programs.
    fn __open_2([path], flags: c_int) -> c_int;
    /// As `__open_2`.
    fn __open64_2([path], flags: c_int) -> c_int;
    /// Only absolute paths are redirected: a folder of the driver's files has itself been opened by a redirected call.
    fn openat(folder: c_int, [path], flags: c_int, mode: c_uint) -> c_int;
    /// As `openat`.
    fn openat64(folder: c_int, [path], flags: c_int, mode: c_uint) -> c_int;
    /// Opens a stream.
    fn fopen([path], mode: *const c_char) -> *mut c_void;
    /// As `fopen`.
    fn fopen64([path], mode: *const c_char) -> *mut c_void;
    /// Opens a folder.
    fn opendir([path]) -> *mut c_void;
    /// Lists a folder.
    fn scandir([path], list: *mut *mut *mut c_void, select: Select, compare: Compare) -> c_int;
    /// As `scandir`.
    fn scandir64([path], list: *mut *mut *mut c_void, select: Select, compare: Compare) -> c_int;
    /// A file's status.
    fn stat([path], status: *mut Status) -> c_int;
    /// As `stat`.
    fn stat64([path], status: *mut Status) -> c_int;
    /// A link's status.
    fn lstat([path], status: *mut Status) -> c_int;
    /// As `lstat`.
    fn lstat64([path], status: *mut Status) -> c_int;
    /// `stat` before glibc 2.33.
    fn __xstat(version: c_int, [path], status: *mut Status) -> c_int;
    /// As `__xstat`.
    fn __xstat64(version: c_int, [path], status: *mut Status) -> c_int;
    /// `lstat` before glibc 2.33.
    fn __lxstat(version: c_int, [path], status: *mut Status) -> c_int;
    /// As `__lxstat`.
    fn __lxstat64(version: c_int, [path], status: *mut Status) -> c_int;
    /// A file's status.
    fn fstatat(folder: c_int, [path], status: *mut Status, flags: c_int) -> c_int;
    /// As `fstatat`.
    fn fstatat64(folder: c_int, [path], status: *mut Status, flags: c_int) -> c_int;
    /// A file's status.
    fn statx(folder: c_int, [path], flags: c_int, mask: c_uint, status: *mut Status) -> c_int;
    /// Checks access to a file.
    fn access([path], mode: c_int) -> c_int;
    /// As `access`.
    fn faccessat(folder: c_int, [path], mode: c_int, flags: c_int) -> c_int;
    /// Reads a link's target. Links among the driver's files are relative.
    fn readlink([path], buffer: *mut c_char, size: usize) -> isize, unless rocm_preload::read_link(path, buffer, size);
    /// As `readlink`.
    fn readlinkat(folder: c_int, [path], buffer: *mut c_char, size: usize) -> isize,
        unless rocm_preload::read_link(path, buffer, size);
    /// `readlink` in fortified programs.
    fn __readlink_chk([path], buffer: *mut c_char, size: usize, room: usize) -> isize,
        unless rocm_preload::read_link(path, buffer, size.min(room));
    /// `readlinkat` in fortified programs.
    fn __readlinkat_chk(folder: c_int, [path], buffer: *mut c_char, size: usize, room: usize) -> isize,
        unless rocm_preload::read_link(path, buffer, size.min(room));
    /// Resolves a path to one without links.
    fn realpath([path], resolved: *mut c_char) -> *mut c_char, then |path| place::strip(path);
    /// `realpath` in fortified programs.
    fn __realpath_chk([path], resolved: *mut c_char, size: usize) -> *mut c_char,
        then |path| place::strip(path);
    /// As `realpath`.
    fn canonicalize_file_name([path]) -> *mut c_char, then |path| place::strip(path);
    /// Finds the paths that match a pattern.
    fn glob([pattern], flags: c_int, error: GlobError, found: *mut libc::glob_t) -> c_int, by place::of_pattern,
        then |status| strip_all(status, found);
    /// As `glob`.
    fn glob64([pattern], flags: c_int, error: GlobError, found: *mut libc::glob_t) -> c_int, by place::of_pattern,
        then |status| strip_all(status, found);
}

/// Removes the folder of the driver's files from the results of `glob`.
///
/// # Safety
/// `found` must be what `glob` wrote, if it returned 0.
unsafe fn strip_all(status: c_int, found: *mut libc::glob_t) {
    if status != 0 || found.is_null() {
        return;
    }
    // SAFETY: as the caller vouches: a list of `gl_pathc` C strings of its own, after `gl_offs` empty places.
    unsafe {
        for at in 0..(*found).gl_pathc {
            place::strip(*(*found).gl_pathv.add((*found).gl_offs + at));
        }
    }
}
