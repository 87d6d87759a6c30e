//! The C library's functions that programs use to read and open `/proc/self/exe`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use rocm_preload::{Place, read_link};

rocm_preload::functions! {
    by Place::of_this_program;
    /// `mode` is the C function's variable argument, which is passed like any other; if it is missing, it is not read.
    fn open([path], flags: c_int, mode: c_uint) -> c_int;
    /// Like `open`.
    fn open64([path], flags: c_int, mode: c_uint) -> c_int;
    /// `open` in fortified programs.
    fn __open_2([path], flags: c_int) -> c_int;
    /// Like `__open_2`.
    fn __open64_2([path], flags: c_int) -> c_int;
    /// Like `open`.
    fn openat(folder: c_int, [path], flags: c_int, mode: c_uint) -> c_int;
    /// Like `openat`.
    fn openat64(folder: c_int, [path], flags: c_int, mode: c_uint) -> c_int;
    /// Opens a stream.
    fn fopen([path], mode: *const c_char) -> *mut c_void;
    /// Like `fopen`.
    fn fopen64([path], mode: *const c_char) -> *mut c_void;
    /// Returns a file's status.
    fn stat([path], status: *mut c_void) -> c_int;
    /// Like `stat`.
    fn stat64([path], status: *mut c_void) -> c_int;
    /// Returns the target of a link.
    fn readlink([path], buffer: *mut c_char, size: usize) -> isize, unless read_link(path, buffer, size);
    /// Like `readlink`.
    fn readlinkat(folder: c_int, [path], buffer: *mut c_char, size: usize) -> isize, unless read_link(path, buffer, size);
    /// `readlink` in fortified programs.
    fn __readlink_chk([path], buffer: *mut c_char, size: usize, room: usize) -> isize,
        unless read_link(path, buffer, size.min(room));
    /// `readlinkat` in fortified programs.
    fn __readlinkat_chk(folder: c_int, [path], buffer: *mut c_char, size: usize, room: usize) -> isize,
        unless read_link(path, buffer, size.min(room));
    /// Returns a path without links.
    fn realpath([path], resolved: *mut c_char) -> *mut c_char;
    /// `realpath` in fortified programs.
    fn __realpath_chk([path], resolved: *mut c_char, size: usize) -> *mut c_char;
    /// Like `realpath`.
    fn canonicalize_file_name([path]) -> *mut c_char;
}
